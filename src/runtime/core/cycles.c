/* SPDX-License-Identifier: Apache-2.0
 *
 * Frees frames kept only by cycles. Reference counting frees everything except cycles: a local
 * procedure whose frame holds it, or a model in a slot of the frame that its own expressions were
 * written in.
 *
 * Trial deletion: for every frame, and every object reachable from frames, references found on the
 * way are subtracted from its count. An object with references left is held from elsewhere (the
 * evaluator's C stack, definitions, objects without a visit function). It is live, and so is
 * everything it refers to. The rest are cycles, which are opened and freed. An object that does not
 * show its references can keep a cycle alive but never free an object in use. One that shows a
 * reference twice could, so visit functions must name each counted reference exactly once.
 *
 * A collection walks everything reachable from frames; the next one waits until as many frames were
 * made. If memory for the walk is short, it is abandoned before anything was changed. */
#include "runtime/core/bindings.h"
#include "runtime/core/plain.h"

/* A frame, a value, or another object that shows its references: statistics, a part of a trace. */
struct held {
    struct frame *frame;
    value v;
    void *part;
    void (*visit)(void *part, struct visitor *v);
    int64_t left; /* references not yet found */
    bool live;
};

struct collection {
    struct visitor visitor; /* first member: visit functions pass it on */
    VEC(struct held) items;
    struct map found;    /* address -> index + 1 */
    VEC(size_t) pending; /* live items whose references are not yet live */
    bool marking;        /* references mark objects live; otherwise they are subtracted */
    bool given_up;       /* out of memory */
};

/* Is there memory for this many more items and their bookkeeping? */
static bool has_room(struct collection *c, size_t items, size_t slots) {
    void *probe = mem_try_alloc(items * sizeof(struct held) + slots * sizeof *c->found.slots, 1);
    c->given_up |= !probe;
    mem_free(probe);
    return probe;
}

/* Adds an item; false if there is no room. */
static bool add_item(struct collection *c, const void *address, struct held fresh) {
    enum { MANY = 4096 };
    bool grows = c->items.n == c->items.cap || 2 * (c->found.n + 1) > c->found.cap;
    if (c->given_up ||
        (grows && c->items.n > MANY && !has_room(c, 2 * c->items.cap, 2 * c->found.cap)))
        return false;
    vec_push(&c->items, fresh);
    map_put(&c->found, MAP_PTR(address), (void *)(uintptr_t)c->items.n);
    return true;
}

/* Notes one reference to the object at `address`; with `once` only the first of several counts. */
static void meet(struct collection *c, const void *address, bool once, struct held fresh) {
    size_t at = (size_t)(uintptr_t)map_get(&c->found, MAP_PTR(address));
    if (!at && c->marking) return; /* impossible: all objects were found */
    if (!at) {
        if (!add_item(c, address, fresh)) return;
        at = c->items.n;
    } else if (once && !c->marking)
        return;
    struct held *it = &c->items.at[at - 1];
    if (!c->marking)
        it->left--;
    else if (!it->live) {
        it->live = true;
        vec_push(&c->pending, at - 1);
    }
}

static void meet_frame(struct visitor *v, struct frame *f) {
    if (f) meet((struct collection *)v, f, false, (struct held){.frame = f, .left = f->refs});
}

static void meet_value(struct visitor *v, value x) {
    bool shows = x.tag == V_PAIR || x.tag == V_ARRAY || x.tag == V_DICT || x.tag == V_REF ||
                 (x.tag >= V_ENV && (x.u.box->cls->visit || sp_made_of(x)));
    struct held fresh = {.v = x, .left = shows ? x.u.obj->refs : 0};
    if (shows) meet((struct collection *)v, x.u.obj, false, fresh);
}

static void meet_part(struct visitor *v, void *part, uint32_t refs,
                      void (*visit)(void *, struct visitor *)) {
    struct held fresh = {.part = part, .visit = visit, .left = refs ? refs : 1};
    meet((struct collection *)v, part, !refs, fresh);
}

static void visit_frame(struct collection *c, struct frame *f) {
    meet_frame(&c->visitor, f->parent);
    for (uint32_t i = 0; i < f->n; i++) {
        meet_value(&c->visitor, f->s[i].v);
        if (f->s[i].own) meet_value(&c->visitor, ((struct cell *)f->s[i].node)->val);
    }
    for (size_t i = 0; f->made_with && i < f->made_with->all.n; i++) {
        const struct meaning *m = &f->made_with->all.at[i];
        if (m->kind == MEANS_CONSTANT) meet_value(&c->visitor, m->cell->val);
    }
}

static void visit_value(struct collection *c, value x) {
    struct visitor *v = &c->visitor;
    struct sp_proc *made = sp_made_of(x);
    size_t n;
    const value *part = value_parts(x, &n);
    for (size_t i = 0; i < n; i++) v->value(v, part[i]);
    if (part) return;
    const struct sp_state *state = made ? made->state : NULL;
    if (!state)
        x.u.box->cls->visit(x.u.box, v);
    else if (state->cls->visit) {
        struct held fresh = {.part = state->data, .visit = state->cls->visit, .left = state->refs};
        meet(c, state, false, fresh);
    }
}

static void visit_item(struct collection *c, size_t i) {
    struct held it = c->items.at[i]; /* the array may move */
    if (it.frame)
        visit_frame(c, it.frame);
    else if (it.visit)
        it.visit(it.part, &c->visitor);
    else
        visit_value(c, it.v);
}

/* Marks items with references not found, and everything they refer to. */
static void mark_live(struct collection *c) {
    c->marking = true;
    for (size_t i = 0; i < c->items.n; i++) {
        if (c->items.at[i].left == 0) continue;
        c->items.at[i].live = true;
        vec_push(&c->pending, i);
    }
    while (c->pending.n) visit_item(c, vec_pop(&c->pending));
}

/* Opens cycles. Boxes with a way to do so (models, whose nodes still read the frames) come before
 * frames. Everything is held until all are open. */
static void free_dead(struct collection *c) {
    VEC(struct held) dead = {0};
    for (size_t i = 0; i < c->items.n; i++) {
        struct held *it = &c->items.at[i];
        bool opens = it->frame || (it->v.tag >= V_ENV && it->v.u.box->cls->clear);
        if (it->live || !opens) continue;
        frame_ref(it->frame);
        value_ref(it->v);
        vec_push(&dead, *it);
    }
    for (size_t i = 0; i < dead.n; i++)
        if (!dead.at[i].frame) dead.at[i].v.u.box->cls->clear(dead.at[i].v.u.box);
    for (size_t i = 0; i < dead.n; i++)
        if (dead.at[i].frame) frame_clear(dead.at[i].frame);
    for (size_t i = 0; i < dead.n; i++) {
        frame_unref(dead.at[i].frame);
        value_unref(dead.at[i].v);
    }
    vec_release(&dead);
}

enum { COLLECT_AFTER = 1000 }; /* minimum number of frames made */

void frames_collect(struct session_core *core) {
    struct collection c = {.visitor = {meet_value, meet_frame, meet_part}};
    for (struct frame *f = core->frames; f && !c.given_up; f = f->next)
        add_item(&c, f, (struct held){.frame = f, .left = f->refs});
    for (size_t i = 0; i < c.items.n && !c.given_up; i++) visit_item(&c, i); /* grows on the way */
    /* Live and dead items together are no more than all items. */
    if (!c.given_up && has_room(&c, 2 * c.items.n, 0)) {
        mark_live(&c);
        free_dead(&c);
    }
    core->frames_made = 0;
    core->collect_at = c.items.n > COLLECT_AFTER ? c.items.n : COLLECT_AFTER;
    vec_release(&c.items);
    vec_release(&c.pending);
    map_release(&c.found);
}
