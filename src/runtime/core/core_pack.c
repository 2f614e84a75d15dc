/* SPDX-License-Identifier: Apache-2.0
 *
 * See core_pack.h.
 */
#include "runtime/core/core_pack.h"

#include <stdlib.h>
#include <string.h>

/* The syntax trees of one code, numbered. */
struct pieces {
    struct code *code; /* counted */
    VEC(const struct ast *) at;
    struct map numbers; /* tree -> 1 + its number */
};
struct core_pack {
    struct map pieces;          /* code -> struct pieces */
    VEC(struct pieces *) all;   /* the same, owned */
    VEC(value) kept;            /* values read, held until the end since numbers refer to them */
    VEC(struct frame *) frames; /* frames read, held as well */
    struct map constant;        /* cells read and not yet owned; each -> itself */
};

static void preset_value(struct pack *p, value v) {
    pack_preset(p, IS_OBJ(v) ? (void *)v.u.obj : NULL);
}

/* Builtins and the library, which are the same in all sessions. */
static void preset(struct pack *p, struct session_core *core) {
    for (size_t i = 0; i < sp_index_count(); i++) {
        struct sym *name = sym_cstr(core->syms, sp_index_at(i)->name);
        struct cell *c = map_get(&core->builtins, MAP_PTR(name));
        pack_preset(p, c);
        preset_value(p, c ? c->val : NIL);
    }
    for (size_t i = 0; i < core->library.n; i++) preset_value(p, core->library.at[i]);
}

void core_pack_begin(struct pack *p, struct session_core *core, const struct pack_links *links) {
    p->core = core;
    p->host = &core->host;
    p->diags = core->diags;
    p->syms = core->syms;
    p->links = links;
    p->stack_limit = core->stack_limit;
    p->above = NEW(struct core_pack);
    preset(p, core);
}

void core_pack_end(struct pack *p) {
    struct core_pack *c = p->above;
    struct session_core *core = p->core;
    for (size_t i = 0; i < c->constant.cap; i++)
        if (c->constant.slots[i].val)
            vec_push(&core->texts.at[0]->literals, c->constant.slots[i].val);
    map_release(&c->constant);
    for (size_t i = 0; i < c->kept.n; i++) value_unref(c->kept.at[i]);
    for (size_t i = 0; i < c->frames.n; i++) frame_unref(c->frames.at[i]);
    vec_release(&c->kept);
    vec_release(&c->frames);
    for (size_t i = 0; i < c->all.n; i++) {
        struct pieces *s = c->all.at[i];
        code_unref(s->code);
        vec_release(&s->at);
        map_release(&s->numbers);
        mem_free(s);
    }
    vec_release(&c->all);
    map_release(&c->pieces);
    mem_free(c);
    pack_release(p);
}

void pack_keep_value(struct pack *p, value v_taken) {
    struct core_pack *c = p->above;
    vec_push(&c->kept, v_taken);
}

void pack_keep_frame(struct pack *p, struct frame *f_taken) {
    struct core_pack *c = p->above;
    vec_push(&c->frames, f_taken);
}

/* ---- syntax ---- */

static void number_pieces(struct pieces *s, const struct ast *a) {
    if (!a) return;
    vec_push(&s->at, a);
    if (!map_get(&s->numbers, MAP_PTR(a)))
        map_put(&s->numbers, MAP_PTR(a), (void *)(uintptr_t)s->at.n);
    for (uint32_t i = 0; i < a->n; i++) number_pieces(s, a->kids[i]);
    if (a->kind != AST_DIRECTIVE) return;
    number_pieces(s, a->u.dir.label_expr);
    number_pieces(s, a->u.dir.name_expr);
}

static struct pieces *pieces_of(struct pack *p, struct code *k) {
    struct core_pack *c = p->above;
    struct pieces *s = map_get(&c->pieces, MAP_PTR(k));
    if (s) return s;
    s = NEW(struct pieces);
    s->code = code_ref(k);
    number_pieces(s, k->root);
    map_put(&c->pieces, MAP_PTR(k), s);
    vec_push(&c->all, s);
    return s;
}

static void pack_syms(struct pack *p, struct arena *arena, struct sym ***names, uint32_t *n) {
    size_t count = *n;
    bool there = *names != NULL;
    pack_bool(p, &there);
    pack_count(p, &count, 1);
    *n = (uint32_t)count;
    if (p->reading) *names = there ? ARENA_ARRAY(arena, struct sym *, count + 1) : NULL;
    for (size_t i = 0; there && i < count; i++) pack_sym(p, &(*names)[i]);
}

static void pack_tree(struct pack *p, struct code *k, struct ast **at);

static void pack_string(struct pack *p, struct code *k, struct ast *a) {
    size_t n = a->u.string.len;
    pack_count(p, &n, 1);
    a->u.string.len = (uint32_t)n;
    if (!p->reading) {
        pack_raw(p, (char *)(uintptr_t)a->u.string.text, n);
        return;
    }
    a->u.string.text = arena_strndup(&k->arena, p->at, n);
    p->at += n;
}

static void pack_call(struct pack *p, struct code *k, struct ast *a) {
    uint32_t n = a->n ? a->n - 1 : 0, count = n;
    bool real = a->u.call.kw_real != NULL;
    pack_syms(p, &k->arena, &a->u.call.kw, &count);
    pack_bool(p, &real);
    if (p->reading) a->u.call.kw_real = real ? ARENA_ARRAY(&k->arena, bool, n + 1) : NULL;
    for (uint32_t i = 0; real && i < n; i++) pack_bool(p, &a->u.call.kw_real[i]);
}

/* The unquotes inside a model expression are found again by their slots. */
static void find_splices(struct ast *model, struct ast *a) {
    if (!a) return;
    if (a->kind == AST_UNQUOTE && a->u.unquote.slot < model->u.model.n_splices &&
        !model->u.model.splices[a->u.unquote.slot])
        model->u.model.splices[a->u.unquote.slot] = a;
    if (a->kind == AST_MODEL || a->kind == AST_QUASI) return; /* has its own */
    for (uint32_t i = 0; i < a->n; i++) find_splices(model, a->kids[i]);
}

/* A constant without a literal form is an empty quote with the value in its cache. */
static void pack_constant(struct pack *p, struct code *k, struct ast *a) {
    bool constant = !p->reading && a->n == 0 && a->cache;
    pack_bool(p, &constant);
    if (!constant) return;
    value v = p->reading ? NIL : ((struct cell *)a->cache)->val;
    pack_value(p, &v);
    if (!p->reading) return;
    a->cache = cell_new(v);
    vec_push(&k->literals, a->cache);
}

static void pack_name(struct pack *p, struct ast *a) {
    pack_sym(p, &a->u.name.sym);
    pack_int(p, &a->u.name.depth);
    pack_int(p, &a->u.name.slot);
    pack_bool(p, &a->u.name.builtin);
    pack_u8(p, &a->u.name.global_first);
    pack_bool(p, &a->u.name.inference);
}

static void pack_directive(struct pack *p, struct code *k, struct ast *a) {
    a->u.dir.kind = (enum directive)pack_choice(p, a->u.dir.kind, DIR_CALL_BACK + 1);
    pack_syms(p, &k->arena, &a->u.dir.names, &a->u.dir.n_names);
    pack_sym(p, &a->u.dir.label);
    pack_tree(p, k, &a->u.dir.label_expr);
    pack_tree(p, k, &a->u.dir.name_expr);
}

/* Fields of a node's kind, before its children. */
static void pack_own(struct pack *p, struct code *k, struct ast *a) {
    switch (a->kind) {
    case AST_NUMBER:
    case AST_ATOM: pack_double(p, &a->u.number); break;
    case AST_BOOL: pack_bool(p, &a->u.boolean); break;
    case AST_STRING:
    case AST_LOAD: pack_string(p, k, a); break;
    case AST_NAME: pack_name(p, a); break;
    case AST_CALL: pack_call(p, k, a); break;
    case AST_LAMBDA:
        pack_syms(p, &k->arena, &a->u.lambda.params, &a->u.lambda.n_params);
        pack_sym(p, &a->u.lambda.self);
        break;
    case AST_BLOCK:
        pack_bool(p, &a->u.block.action);
        pack_syms(p, &k->arena, &a->u.block.slot_names, &a->u.block.n_slots);
        break;
    case AST_LET:
    case AST_LETREC:
    case AST_BIND:
    case AST_FOR:
    case AST_DEFINE:
        pack_syms(p, &k->arena, &a->u.bind.names, &a->u.bind.n_names);
        pack_u32(p, &a->u.bind.slot);
        break;
    case AST_UNQUOTE:
        pack_u32(p, &a->u.unquote.slot);
        pack_int(p, &a->u.unquote.depth);
        pack_bool(p, &a->u.unquote.constant);
        break;
    case AST_MODEL:
    case AST_QUASI: pack_u32(p, &a->u.model.n_splices); break;
    case AST_DIRECTIVE: pack_directive(p, k, a); break;
    case AST_QUOTE: pack_constant(p, k, a); break;
    default: break;
    }
}

static void pack_tree(struct pack *p, struct code *k, struct ast **at) {
    bool there = *at != NULL;
    pack_bool(p, &there);
    if (!there) {
        *at = NULL;
        return;
    }
    struct ast *a = p->reading ? ARENA_NEW(&k->arena, struct ast) : *at;
    size_t n = a->n;
    a->kind = (enum ast_kind)pack_choice(p, a->kind, AST_PROGRAM + 1);
    pack_span(p, &a->span);
    pack_count(p, &n, 1);
    pack_u32(p, &a->height);
    if (p->reading) {
        a->n = (uint32_t)n;
        a->code = k;
        a->kids = ARENA_ARRAY(&k->arena, struct ast *, n + 1);
    }
    pack_own(p, k, a);
    for (size_t i = 0; i < n; i++) pack_tree(p, k, &a->kids[i]);
    if (p->reading && (a->kind == AST_MODEL || a->kind == AST_QUASI)) {
        a->u.model.splices = ARENA_ARRAY(&k->arena, struct ast *, a->u.model.n_splices + 1);
        find_splices(a, n ? a->kids[0] : NULL);
        for (uint32_t i = 0; i < a->u.model.n_splices; i++)
            if (!a->u.model.splices[i]) pack_fail(p, "code in it lacks a part");
    }
    *at = a;
}

/* ---- code ---- */

/* The code of an existing text, or of one parsed now; owned. */
static struct code *text_code(struct pack *p, const char *name, const char *text, size_t len) {
    struct session_core *core = p->core;
    for (size_t i = 0; i < core->texts.n; i++) {
        struct code *k = core->texts.at[i];
        const struct source *s = core->diags->sources->units.at[k->unit];
        if (k->root && s->len == len && !memcmp(s->text, text, len) && !strcmp(s->name, name))
            return code_ref(k);
    }
    struct code *k;
    struct ast *root;
    if (core_parse(core, name, text, len, false, &k, &root) == GPM_OK) return k;
    pack_fail(p, "a text in it cannot be parsed: %s", name);
    return NULL;
}

static struct code *pack_text_code(struct pack *p, struct code *k) {
    struct session_core *core = p->core;
    const struct source *s = k ? core->diags->sources->units.at[k->unit] : NULL;
    char *name = s ? s->name : NULL;
    size_t len = s ? s->len : 0;
    pack_text(p, &name);
    pack_count(p, &len, 1);
    if (!p->reading) {
        pack_raw(p, s->text, len);
        return k;
    }
    const char *text = p->at;
    p->at += len;
    k = pack_ok(p) ? text_code(p, name ? name : "", text, len) : NULL;
    mem_free(name);
    return k;
}

void pack_code(struct pack *p, struct code **k) {
    size_t number = pack_object(p, (void **)k);
    if (!number) return;
    struct code *was = p->reading ? NULL : *k;
    bool made = was && was->unit == NO_SPAN_UNIT;
    pack_bool(p, &made);
    if (was && !was->root) pack_fail(p, "code in it has no root");
    if (!made) {
        *k = pack_text_code(p, was);
        if (p->reading && !*k) return;
        pack_made(p, number, *k);
    } else {
        struct code *c = p->reading ? code_new(NO_SPAN_UNIT) : was;
        pack_made(p, number, c);
        pack_tree(p, c, &c->root);
        *k = c;
    }
    (void)pieces_of(p, *k); /* keeps it while the pack is open */
    if (p->reading) code_unref(*k);
}

void pack_ast(struct pack *p, const struct ast **a) {
    if (p->copying) {
        pack_raw(p, a, sizeof *a);
        return;
    }
    struct code *k = p->reading || !*a ? NULL : (*a)->code;
    if (!p->reading && *a && !k) pack_fail(p, "code in it belongs to no text");
    pack_code(p, &k);
    if (!k) {
        *a = NULL;
        return;
    }
    struct pieces *s = pieces_of(p, k);
    size_t i = p->reading ? 0 : (size_t)(uintptr_t)map_get(&s->numbers, MAP_PTR(*a));
    if (!p->reading && !i) pack_fail(p, "code in it was made on the way");
    pack_size(p, &i);
    if (p->reading && (!i || i > s->at.n)) pack_fail(p, "code in it is unknown");
    if (p->reading) *a = pack_ok(p) ? s->at.at[i - 1] : NULL;
}

/* The code of a text by unit; NULL if it was freed. */
static struct code *code_of_unit(struct session_core *core, uint32_t unit) {
    for (size_t i = core->texts.n; unit != NO_SPAN_UNIT && i-- > 0;)
        if (core->texts.at[i]->unit == unit) return core->texts.at[i];
    return NULL;
}

void pack_span(struct pack *p, struct span *at) {
    if (p->copying) {
        pack_raw(p, at, sizeof *at);
        return;
    }
    struct code *k = p->reading ? NULL : code_of_unit(p->core, at->unit);
    pack_code(p, &k);
    if (!k) {
        if (p->reading) *at = NO_SPAN;
        return;
    }
    if (p->reading) at->unit = k->unit;
    pack_u32(p, &at->start);
    pack_u32(p, &at->end);
}

void pack_rng(struct pack *p, struct rng *r) {
    PACK_SIZE(struct rng, 64, "a generator has other fields: say them here");
    pack_u64(p, &r->seed);
    pack_u32(p, &r->chain);
    pack_u32(p, &r->stream);
    pack_u64(p, &r->counter);
    for (int i = 0; i < 4; i++) pack_u32(p, &r->block[i]);
    pack_u32(p, &r->left);
    pack_double(p, &r->spare);
    pack_int(p, &r->has_spare);
}

/* ---- frames ---- */

void pack_cell(struct pack *p, void **cell) {
    struct core_pack *c = p->above;
    size_t number = pack_object(p, cell);
    if (!number) return;
    struct cell *k = *cell;
    if (k && k->kind != 0) { /* NODE_CONST; other nodes belong to a trace */
        pack_fail(p, "something in it belongs to another model");
        return;
    }
    if (p->reading) {
        *cell = k = cell_new(NIL);
        pack_made(p, number, k);
        map_put(&c->constant, MAP_PTR(k), k);
    }
    pack_value(p, &k->val);
    pack_u16(p, &k->flags);
}

static void pack_slot(struct pack *p, struct slot *s) {
    struct core_pack *c = p->above;
    bool own = s->own;
    pack_value(p, &s->v);
    pack_bool(p, &s->unset);
    pack_bool(p, &own);
    pack_cell(p, (void **)&s->node);
    if (!p->reading || !own || !s->node) return;
    s->own = map_del(&c->constant, MAP_PTR(s->node)) != NULL; /* belongs to the slot */
    if (!s->own) pack_fail(p, "a constant in it has two owners");
}

/* Names point into the syntax tree, or come from extend_environment. When read they are stored in
 * the code. */
static void pack_names(struct pack *p, struct frame *f) {
    uint32_t kind = !f->names ? 0 : f->names == &f->name ? 1 : 2, n = f->n;
    pack_sym(p, &f->name);
    kind = pack_choice(p, kind, 3);
    if (kind == 2 && !f->code) pack_fail(p, "a frame in it has names of nowhere");
    if (!pack_ok(p)) return;
    if (p->reading) f->names = kind == 1 ? &f->name : NULL;
    if (kind == 2) pack_syms(p, &f->code->arena, &f->names, &n);
}

static void pack_bindings(struct pack *p, struct bindings **b) {
    struct core_pack *c = p->above;
    bool there = *b;
    pack_bool(p, &there);
    if (!there) return;
    if (p->reading) *b = NEW(struct bindings);
    size_t n = (*b)->all.n;
    pack_count(p, &n, 3);
    for (size_t i = 0; i < n && pack_ok(p); i++) {
        struct meaning m = p->reading ? (struct meaning){0} : (*b)->all.at[i];
        pack_sym(p, &m.name);
        m.kind = (enum meaning_kind)pack_choice(p, m.kind, MEANS_VARIABLE + 1);
        pack_cell(p, (void **)&m.cell);
        if (!p->reading) continue;
        bool own = m.kind == MEANS_CONSTANT, cell = own || m.kind == MEANS_BUILTIN;
        if (cell != (m.cell != NULL) || (own && !map_del(&c->constant, MAP_PTR(m.cell))))
            pack_fail(p, "what a directive was made with is out of order");
        else if (pack_ok(p))
            bindings_put(*b, m);
    }
}

void pack_frame(struct pack *p, struct frame **f) {
    if (p->copying) {
        p->links->frame(p, f);
        return;
    }
    size_t number = pack_object(p, (void **)f);
    if (!number) {
        if (p->reading) frame_ref(*f);
        return;
    }
    size_t n = p->reading ? 0 : (*f)->n;
    pack_count(p, &n, 3);
    if (p->reading) {
        *f = frame_new(p->core, NULL, n, NULL, NULL);
        pack_made(p, number, *f);
    }
    struct frame *g = *f;
    struct code *k = g->code;
    pack_code(p, &k);
    if (p->reading) g->code = code_ref(k);
    pack_names(p, g);
    pack_u16(p, &g->owner);
    pack_u16(p, &g->lexical);
    pack_frame(p, &g->parent);
    for (size_t i = 0; i < n; i++) pack_slot(p, &g->s[i]);
    pack_bindings(p, &g->made_with);
}

/* ---- procedures ---- */

void closure_pack(struct pack *p, struct box *b) {
    struct closure *c = (struct closure *)b;
    PACK_SIZE(struct closure, 40, "a closure has other fields: say them here");
    if (p->reading) c->lambda = pack_core(p)->texts.at[0]->root; /* placeholder until known */
    const struct ast *lambda = c->lambda;
    pack_ast(p, &lambda);
    if (p->reading && lambda && lambda->kind == AST_LAMBDA) c->lambda = lambda;
    if (c->lambda != lambda) pack_fail(p, "a procedure in it has no text");
    if (p->reading) code_ref(c->lambda->code);
    pack_frame(p, &c->env);
}

static int by_key(const void *a, const void *b) {
    const struct memo_entry *const *x = a, *const *y = b;
    return value_compare((*x)->key, (*y)->key);
}

static void pack_entry(struct pack *p, struct memo_entry *e) {
    if (e->busy) pack_fail(p, "a memoized procedure is at work");
    pack_value(p, &e->key);
    pack_value(p, &e->val);
    p->links->family(p, e);
}

void memo_pack(struct pack *p, struct box *b) {
    struct memo_proc *m = (struct memo_proc *)b;
    PACK_SIZE(struct memo_proc, 72, "a memoized procedure has other fields: say them here");
    VEC(struct memo_entry *) all = {0};
    pack_value(p, &m->proc);
    pack_u16(p, &m->owner);
    pack_u64(p, &m->born);
    for (size_t i = 0; i < m->table.cap; i++)
        for (struct memo_entry *e = m->table.slots[i].val; e; e = e->next) vec_push(&all, e);
    if (all.n) qsort(all.at, all.n, sizeof *all.at, by_key);
    size_t n = all.n;
    pack_count(p, &n, 3);
    for (size_t i = 0; !p->reading && i < n; i++) pack_entry(p, all.at[i]);
    vec_release(&all);
    for (size_t i = 0; p->reading && i < n && pack_ok(p); i++) {
        struct memo_entry read = {.key = NIL, .val = NIL};
        pack_entry(p, &read);
        struct memo_entry *e = memo_insert(m, read.key);
        value_unref(read.key);
        e->val = read.val;
        e->family = read.family;
        e->root = read.root;
    }
}

void env_pack(struct pack *p, struct box *b) {
    pack_frame(p, &((struct env_box *)b)->frame);
}
