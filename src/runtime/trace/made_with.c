/* SPDX-License-Identifier: Apache-2.0
 *
 * The bindings a directive is made with (runtime/core/bindings.h). They are the names in its
 * branches, in the bodies of its procedures and in its inner runs, found in its text before
 * evaluation. All other names are evaluated once and linked.
 *
 * Procedures of the inference program keep no bindings: they are lent. The trace remembers the
 * names of the program or the model that a lent procedure reads, directly or through others (lent).
 * Those names must keep their meaning while the trace may call the procedure. */
#include "runtime/core/nest.h"
#include "runtime/trace/node.h"
#include "runtime/core/lookup.h"

#include <string.h>

/* ---- procedures that are lent -------------------------------------------------------------- */

static void lend_ast(struct trace *t, const struct ast *a, struct frame *f, int inner_frames);

/* Keys of texts are odd. False: already noted. */
static bool remember_text(struct trace *t, const struct ast *a) {
    if (map_get(&inner(t)->lent, MAP_PTR(a) + 1)) return false;
    map_put(&inner(t)->lent, MAP_PTR(a) + 1, (void *)(uintptr_t)a);
    code_ref(a->code);
    return true;
}

void lent_release(struct map *lent) {
    for (size_t i = 0; i < lent->cap; i++)
        if (lent->slots[i].val && (lent->slots[i].key & 1))
            code_unref(((struct ast *)lent->slots[i].val)->code);
    map_release(lent);
}

/* Adds the names that another layer or trace has lent. */
void lent_join(struct trace *t, const struct trace *from) {
    const struct map *lent = &inner(from)->lent;
    for (size_t i = 0; i < lent->cap; i++) {
        const struct map_slot *s = &lent->slots[i];
        if (s->val && (s->key & 1))
            (void)remember_text(t, s->val);
        else if (s->val)
            map_put(&inner(t)->lent, s->key, s->val);
    }
}

static void lend_closure(struct trace *t, const struct closure *c) {
    if (!frame_bindings(c->env) && remember_text(t, c->lambda))
        lend_ast(t, c->lambda->kids[0], c->env, 1);
}

static bool lend_part(value v, void *ctx) {
    struct memo_proc *m = memo_of(v);
    struct closure *c = closure_of(m ? m->proc : v);
    if (c) lend_closure(ctx, c);
    return false;
}

void trace_lend(struct trace *t, value v) {
    (void)value_any(v, lend_part, t);
}

static void lend_name(struct trace *t, const struct ast *a, struct frame *f, int inner_frames) {
    struct sym *s = a->u.name.sym;
    if (a->u.name.depth >= inner_frames) {
        const struct slot *slot = &frame_up(f, a->u.name.depth - inner_frames)->s[a->u.name.slot];
        if (!slot->unset) trace_lend(t, slot_value(slot));
    }
    if (a->u.name.builtin || (a->u.name.depth >= 0 && !a->u.name.global_first)) return;
    if (map_get(&inner(t)->lent, MAP_PTR(s))) return;
    map_put(&inner(t)->lent, MAP_PTR(s), s);
    const struct define_slot *d = map_get(&t->core->defines, MAP_PTR(s));
    if (d) trace_lend(t, d->v);
}

/* inner_frames: number of frames open between f and the expression. */
static void lend_ast(struct trace *t, const struct ast *a, struct frame *f, int inner_frames) {
    if (!a || a->kind == AST_MODEL || a->kind == AST_QUASI) return; /* of an inner run */
    if (a->kind == AST_NAME) {
        lend_name(t, a, f, inner_frames);
        return;
    }
    if (a->kind == AST_LAMBDA || (a->kind == AST_BLOCK && a->u.block.n_slots)) inner_frames++;
    for (uint32_t i = 0; i < a->n; i++) lend_ast(t, a->kids[i], f, inner_frames);
}

void trace_lend_branches(struct trace *t, const struct ast *a, struct frame *f) {
    if (frame_bindings(f) || !remember_text(t, a)) return;
    for (uint32_t i = 1; i < a->n; i++) lend_ast(t, a->kids[i], f, 0);
}

static bool is_lent(const struct trace *t, const struct sym *name) {
    for (; t; t = inner(t)->below)
        if (map_get(&inner(t)->lent, MAP_PTR(name))) return true;
    return false;
}

/* ---- what a directive is made with --------------------------------------------------------- */

struct making {
    struct trace *t;
    struct frame *f;
    struct bindings *b;     /* NULL until the first */
    struct sym *const *own; /* names that the directive binds */
    size_t n_own;
    bool procedure, quoted; /* the expression is a procedure; it may evaluate quoted code */
};

static void made_with_put(struct making *m, struct meaning of) {
    if (!m->b) m->b = NEW(struct bindings);
    bindings_put(m->b, of);
}

static void put_kind(struct making *m, struct sym *s, enum meaning_kind kind, struct cell *cell) {
    made_with_put(m, (struct meaning){s, cell, kind});
}

static bool is_own(const struct making *m, const struct sym *s) {
    for (size_t i = 0; i < m->n_own; i++)
        if (m->own[i] == s) return true;
    return false;
}

/* A directive's own name has its previous meaning, except inside a procedure that calls itself. */
static void keep_name(struct making *m, const struct ast *a) {
    struct trace *t = m->t;
    struct sym *s = a->u.name.sym;
    struct cell *cell = (struct cell *)world_find(&t->world, s);
    if (bindings_find(m->b, s)) return;
    bool frozen = cell && (cell->flags & NODE_FROZEN);
    const value *v = cell ? &cell->val : NULL;
    if ((cell && !frozen) || (!cell && m->procedure && is_own(m, s)))
        put_kind(m, s, MEANS_LOOKUP, NULL);
    else if (a->u.name.depth >= 0 && !cell)
        put_kind(m, s, MEANS_VARIABLE, NULL);
    else if (!frozen && !(v = core_global(t->core, &t->world, a, NULL, &cell)))
        put_kind(m, s, MEANS_LOOKUP, NULL);
    else if (!frozen && cell)
        put_kind(m, s, MEANS_BUILTIN, cell);
    else {
        put_kind(m, s, MEANS_CONSTANT, cell_new(value_ref(*v)));
        trace_lend(t, *v);
    }
}

static void keep_symbol(struct making *m, struct sym *s) {
    struct ast a = {.kind = AST_NAME, .u.name = {.sym = s, .depth = -1}};
    keep_name(m, &a);
}

/* Names in spliced or quoted code. */
static void keep_code(struct making *m, value v) {
    size_t n;
    if (v.tag == V_SYM) keep_symbol(m, v.u.sym);
    const value *part = value_parts(v, &n);
    for (size_t i = 0; i < n; i++) keep_code(m, part[i]);
}

static void keep_quoted(struct making *m, const struct ast *a) {
    if (a->kind == AST_NAME && !a->u.name.builtin) keep_symbol(m, a->u.name.sym);
    for (uint32_t i = 0; i < a->n; i++)
        if (a->kids[i]) keep_quoted(m, a->kids[i]);
}

static bool calls(const struct ast *a, const char *name) {
    return a->kind == AST_CALL && a->kids[0]->kind == AST_NAME &&
           !strcmp(a->kids[0]->u.name.sym->text, name);
}

/* later: evaluated again after the directive. models: nesting depth of inner runs' expressions. */
static void keep(struct making *m, const struct ast *a, bool later, int models) {
    if (!a) return;
    switch (a->kind) {
    case AST_NAME:
        if (later && !a->u.name.builtin && (a->u.name.depth < 0 || a->u.name.global_first > models))
            keep_name(m, a);
        return;
    case AST_UNQUOTE: {
        if (models) return; /* belongs to the enclosing expression */
        value v = m->f->s[a->u.unquote.slot].v;
        if (v.tag == V_SYM || (v.tag == V_ARRAY && (v.u.obj->flags & OBJ_CODE))) keep_code(m, v);
        return;
    }
    case AST_QUASI:
    case AST_QUOTE:
        if (m->quoted) keep_quoted(m, a->kids[0]);
        return;
    case AST_MODEL:
        keep(m, a->kids[0], true, models + 1);
        for (uint32_t i = 0; i < a->u.model.n_splices; i++)
            keep(m, a->u.model.splices[i]->kids[0], true, models);
        return;
    case AST_DIRECTIVE:
        keep(m, a->u.dir.label_expr, later, models);
        keep(m, a->u.dir.name_expr, later, models);
        break;
    default: break;
    }
    later |= a->kind == AST_LAMBDA || calls(a, "run");
    for (uint32_t i = 0; i < a->n; i++)
        keep(m, a->kids[i], later || (a->kind == AST_IF && i > 0), models);
}

/* Does it evaluate code as data? */
static bool evaluates(const struct ast *a) {
    if (!a) return false;
    if (a->kind == AST_NAME)
        return !strcmp(a->u.name.sym->text, "eval") ||
               !strcmp(a->u.name.sym->text, "get_current_environment");
    for (uint32_t i = 0; i < a->n; i++)
        if (evaluates(a->kids[i])) return true;
    return false;
}

/* Does the expression give a procedure: proc(...) ..., possibly memoized, or at the end of a
 * block? */
static bool gives_procedure(const struct ast *a) {
    while (a->kind == AST_BLOCK && a->n) a = a->kids[a->n - 1];
    if (calls(a, "mem") && a->n == 2) a = a->kids[1];
    return a->kind == AST_LAMBDA;
}

struct frame *bindings_make(struct trace *t, const struct ast *a, struct frame *f,
                            struct sym *const *own, size_t n_own) {
    struct making m = {t, f, NULL, own, n_own, gives_procedure(a), evaluates(a)};
    if (t->core->nest || !f) return frame_ref(f); /* an inner run starts over each time */
    keep(&m, a, false, 0);
    if (!m.b) return frame_ref(f);
    struct frame *g = frame_like(t->core, f->parent, f);
    g->owner = nest_level(t->core);
    g->made_with = m.b;
    for (uint32_t i = 0; i < f->n; i++) {
        g->s[i].v = value_ref(f->s[i].v);
        g->s[i].unset = f->s[i].unset;
    }
    return g;
}

/* ---- changes ------------------------------------------------------------------------------- */

typedef bool binding_fn(void *ctx, const struct record *r, struct meaning *m);

/* Visits all meanings that directives keep, until fn returns true. */
static bool each_meaning(struct trace *t, binding_fn *fn, void *ctx) {
    for (; t; t = inner(t)->below)
        for (size_t i = 0; i < t->records.n; i++) {
            const struct record *r = t->records.at[i];
            for (size_t j = 0; j < r->family->frames.n; j++) {
                struct bindings *b = r->family->frames.at[j]->made_with;
                for (size_t k = 0; b && k < b->all.n; k++)
                    if (fn(ctx, r, &b->all.at[k])) return true;
            }
        }
    return false;
}

struct lookup {
    const struct record *of;
    bool others; /* leave out its own lookups */
};

static bool looks_up(void *ctx, const struct record *q, struct meaning *m) {
    const struct lookup *l = ctx;
    for (size_t k = 0; m->kind == MEANS_LOOKUP && k < l->of->names.n; k++)
        if (m->name == l->of->names.at[k].name && !(l->others && q == l->of)) return true;
    return false;
}

bool bindings_read(struct trace *t, const struct record *r, bool others) {
    struct lookup l = {r, others};
    return each_meaning(t, looks_up, &l);
}

/* The present value of a name; NULL if unbound. */
static const value *meaning_of(struct trace *t, struct sym *name, struct cell **cell) {
    struct ast a = {.kind = AST_NAME, .u.name = {.sym = name, .depth = -1}};
    return core_global(t->core, &t->world, &a, NULL, cell);
}

struct settling {
    struct trace *t;
    struct sym *name;
};

static bool settle_one(void *ctx, const struct record *r, struct meaning *m) {
    const struct settling *s = ctx;
    if (m->kind != MEANS_LOOKUP || m->name != s->name) return false;
    struct cell *cell;
    const value *v = meaning_of(s->t, m->name, &cell);
    *m = (struct meaning){m->name, cell_new(value_ref(*v)), MEANS_CONSTANT};
    trace_lend(s->t, *v);
    return false;
}

enum gpm_status trace_change_name(struct trace *t, struct sym *name, bool defines, struct span at) {
    struct settling s = {t, name};
    struct cell *cell;
    if (!meaning_of(t, name, &cell)) return GPM_OK;
    const struct define_slot *d = map_get(&t->core->defines, MAP_PTR(name));
    bool own = d && !d->library; /* lent procedures read it before the model's names */
    if (is_lent(t, name) && (defines || !own)) {
        diag_raise(t->core->diags, DIAG_NAME_LENT, at,
                   "`%s` cannot change: a procedure of the program that the model calls reads it",
                   name->text);
        return diag_set_help(t->core->diags, "choose another name, or hand the value to the "
                                             "procedure as an argument");
    }
    /* A live node keeps its name in the model; definitions take second place. */
    bool lives = world_find(&t->world, name) && !(cell->flags & NODE_FROZEN);
    if (!lives) (void)each_meaning(t, settle_one, &s);
    return GPM_OK;
}
