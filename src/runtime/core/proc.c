/* SPDX-License-Identifier: Apache-2.0
 *
 * Frames, compound procedures, memo tables, environments as values.
 *
 * All are reference counted. A closure holds its frame; a frame holds its parent and the values in
 * its slots. A closure in a slot of the frame it closes over makes a cycle, which frames_collect
 * (cycles.c) frees. For the collector every frame is in the session's list, and the visit functions
 * of boxes show each counted reference once.
 *
 * Slots of a traced frame hold borrowed nodes, so no cycle goes through them: their family owns
 * both. */
#include "runtime/core/bindings.h"
#include "runtime/core/plain.h"
#include "runtime/core/pure.h"

struct frame *frame_new(struct session_core *core, struct frame *parent, size_t n,
                        struct sym **names, struct code *code) {
    struct frame *f = mem_zalloc(sizeof *f + n * sizeof(struct slot));
    f->refs = 1;
    f->n = (uint32_t)n;
    f->parent = parent ? frame_ref(parent) : NULL;
    f->names = names;
    f->code = code_ref(code);
    f->lexical = parent ? parent->lexical : 0;
    f->next = core->frames;
    f->link = &core->frames;
    if (f->next) f->next->link = &f->next;
    core->frames = f;
    core->frames_made++;
    return f;
}

/* A frame of extend_environment stores its one name itself, and so must its copy. */
struct frame *frame_like(struct session_core *core, struct frame *parent, const struct frame *f) {
    struct frame *g = frame_new(core, parent, f->n, f->names, f->code);
    g->name = f->name;
    g->owner = f->owner;
    g->lexical = f->lexical;
    if (f->names == &f->name) g->names = &g->name;
    return g;
}

struct frame *frame_ref(struct frame *f) {
    if (f) f->refs++;
    return f;
}

/* Empties a slot before releasing its value, since that may lead back to this frame. */
void frame_clear(struct frame *f) {
    struct bindings *b = f->made_with;
    f->made_with = NULL;
    bindings_free(b);
    for (uint32_t i = 0; i < f->n; i++) {
        struct slot *s = &f->s[i];
        if (s->own) cell_free((struct cell *)s->node);
        value v = s->v;
        s->node = NULL;
        s->own = false;
        s->v = NIL;
        value_unref(v);
    }
}

void frame_unref(struct frame *f) {
    while (f && --f->refs == 0) { /* a loop, as chains of frames can be long */
        struct frame *parent = f->parent;
        f->refs = 1; /* clearing may lead back here */
        frame_clear(f);
        code_unref(f->code);
        *f->link = f->next;
        if (f->next) f->next->link = f->link;
        mem_free(f);
        f = parent;
    }
}

/* Clears all values while every frame is held. Then each frame leaves the list, and the last one
 * inside it frees it. */
void frames_free_all(struct session_core *core) {
    frames_collect(core);
    for (struct frame *f = core->frames; f; f = f->next) f->refs++;
    for (struct frame *f = core->frames; f; f = f->next) frame_clear(f);
    while (core->frames) {
        struct frame *f = core->frames;
        core->frames = f->next;
        if (f->next) f->next->link = &core->frames;
        f->next = NULL;
        f->link = &f->next;
        frame_unref(f);
    }
}

struct cell *slot_cell(struct slot *s) {
    if (!s->node) {
        s->own = true;
        s->node = (struct node *)cell_new(value_ref(s->v));
    }
    return (struct cell *)s->node;
}

/* Compound procedures. */

static void closure_release(struct box *b) {
    struct closure *c = (struct closure *)b;
    pure_free(c->pure);
    code_unref(c->lambda->code);
    frame_unref(c->env);
}

static void closure_print(const struct box *b, struct buf *out) {
    const struct closure *c = (const struct closure *)b;
    const struct sym *self = c->lambda->u.lambda.self;
    buf_printf(out, "<procedure%s%s>", self ? " " : "", self ? self->text : "");
}

static void closure_visit(struct box *b, struct visitor *v) {
    v->frame(v, ((struct closure *)b)->env);
}

const struct box_class closure_class = {.name = "procedure",
                                        .size = sizeof(struct closure),
                                        .release = closure_release,
                                        .print = closure_print,
                                        .visit = closure_visit,
                                        .pack = closure_pack};

value closure_value(const struct ast *lambda, struct frame *env) {
    struct closure *c = box_new(&closure_class);
    c->lambda = lambda;
    code_ref(lambda->code);
    c->env = frame_ref(env);
    return value_box(V_PROC, &c->box);
}

/* Memoized procedures. A trace owns the families and removes their entries before freeing them, so
 * a table being freed only holds values. */

static void memo_release(struct box *b) {
    struct memo_proc *m = (struct memo_proc *)b;
    for (size_t i = 0; i < m->table.cap; i++) {
        struct memo_entry *e = m->table.slots[i].val, *next;
        for (; e; e = next) {
            next = e->next;
            value_unref(e->key);
            value_unref(e->val);
            mem_free(e);
        }
    }
    map_release(&m->table);
    value_unref(m->proc);
}

static void memo_visit(struct box *b, struct visitor *v) {
    struct memo_proc *m = (struct memo_proc *)b;
    v->value(v, m->proc);
    for (size_t i = 0; i < m->table.cap; i++)
        for (struct memo_entry *e = m->table.slots[i].val; e; e = e->next) {
            v->value(v, e->key);
            v->value(v, e->val);
        }
}

const struct box_class memo_class = {.name = "memoized procedure",
                                     .size = sizeof(struct memo_proc),
                                     .release = memo_release,
                                     .visit = memo_visit,
                                     .pack = memo_pack};

value memo_value(value proc, uint16_t owner) {
    struct memo_proc *m = box_new(&memo_class);
    m->proc = value_ref(proc);
    m->owner = owner;
    return value_box(V_PROC, &m->box);
}

/* Chains of entries with the same hash. Keys are arrays of arguments, compared by value. */
static struct memo_entry *memo_find(struct memo_proc *m, value key) {
    struct memo_entry *e = map_get(&m->table, value_hash(key));
    while (e && !value_equal(e->key, key)) e = e->next;
    return e;
}

struct memo_entry *memo_insert(struct memo_proc *m, value key) {
    uint64_t h = value_hash(key);
    struct memo_entry *e = NEW(struct memo_entry);
    e->key = value_ref(key);
    e->next = map_get(&m->table, h);
    map_put(&m->table, h, e);
    return e;
}

void memo_remove(struct memo_proc *m, value key) {
    uint64_t h = value_hash(key);
    struct memo_entry *first = map_get(&m->table, h), **at = &first;
    while (*at && !value_equal((*at)->key, key)) at = &(*at)->next;
    struct memo_entry *e = *at;
    if (!e) return;
    *at = e->next;
    if (first)
        map_put(&m->table, h, first);
    else
        map_del(&m->table, h);
    value_unref(e->key);
    value_unref(e->val);
    mem_free(e);
}

/* Entries above the procedure, by the hash of procedure and key, or the next free number. A removed
 * entry leaves a mark, and the search continues past it. */
static struct memo_entry gone;

static uint64_t place_of(const struct memo_proc *m, value key) {
    return hash_mix(MAP_PTR(m) ^ value_hash(key));
}

/* The entry and its position; NULL if missing, with a position where it may go. */
static struct memo_entry *find_above(const struct world *w, const struct memo_proc *m, value key,
                                     uint64_t *place) {
    for (*place = place_of(m, key);; ++*place) {
        struct memo_entry *e = pmap_get(w->entries, *place);
        if (!e || (e->of == m && value_equal(e->key, key))) return e;
    }
}

struct memo_entry *world_memo_find(const struct world *w, struct memo_proc *m, value key) {
    uint64_t place;
    struct memo_entry *e =
        w && w->entries && m->born < w->first ? find_above(w, m, key, &place) : NULL;
    return e ? e : memo_find(m, key);
}

struct memo_entry *world_memo_insert(struct world *w, struct memo_proc *m, value key) {
    if (m->born >= w->first) return memo_insert(m, key);
    uint64_t place;
    struct memo_entry *e = NEW(struct memo_entry);
    e->of = m;
    e->key = value_ref(key);
    find_above(w, m, key, &place);
    w->entries = pmap_put(w->entries, place, e);
    vec_push(&w->added, e);
    return e;
}

void world_memo_remove(struct world *w, struct memo_proc *m, value key) {
    if (m->born >= w->first) {
        memo_remove(m, key);
        return;
    }
    uint64_t place;
    struct memo_entry *e = find_above(w, m, key, &place);
    if (!e) return;
    w->entries = pmap_put(w->entries, place, &gone);
    size_t i = w->added.n - 1;
    while (w->added.at[i] != e) i--;
    vec_swap_out(&w->added, i);
    value_unref(e->key);
    mem_free(e);
}

/* Environments as values. */

static void env_release(struct box *b) {
    frame_unref(((struct env_box *)b)->frame);
}

static void env_visit(struct box *b, struct visitor *v) {
    v->frame(v, ((struct env_box *)b)->frame);
}

const struct box_class env_class = {.name = "environment",
                                    .size = sizeof(struct env_box),
                                    .copies = true,
                                    .release = env_release,
                                    .visit = env_visit,
                                    .pack = env_pack};
