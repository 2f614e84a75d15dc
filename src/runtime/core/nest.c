/* SPDX-License-Identifier: Apache-2.0
 *
 * How a run inside models reads their names and values; see nest.h. */
#include "runtime/core/nest.h"

/* The model of this depth: w (the current one), or the model of an enclosing run. */
static struct world *world_at(struct session_core *core, struct world *w, int depth) {
    struct nest *n = core->nest;
    if (depth == n->depth + 1) return w;
    while (n && n->depth != depth) n = n->outer;
    return n ? n->world : NULL;
}

static struct cell *assumed(struct session_core *core, struct world *w, int depth,
                            const struct ast *name, struct frame *f) {
    while (f && !(f->made_with && f->owner == depth + 1)) f = f->parent;
    const struct meaning *m = frame_meaning(f, name->u.name.sym);
    if (m) return m->cell;
    struct world *at = world_at(core, w, depth);
    return at ? (struct cell *)world_find(at, name->u.name.sym) : NULL;
}

/* Statistics count only draws of their own model; a run's draws would go uncounted, so this is
 * refused. */
static bool keeps_statistics(value v, void *ctx) {
    struct sp_proc *made = sp_made_of(v);
    return made && made->cls->incorporate;
}

struct reading {
    struct nest *n;
    enum gpm_status st;
};

/* References lead to further nodes, whose values are read along with them. */
static bool read_reference(value v, void *ctx) {
    struct reading *r = ctx;
    if (v.tag != V_REF || !v.u.ref->node) return false;
    struct cell *to = v.u.ref->node;
    r->st = r->n->read(r->n, to);
    return r->st != GPM_OK || value_any(to->val, read_reference, r);
}

/* Reads a node of the enclosing model at `depth`. A constant never changes, so it creates no
 * dependency. */
static enum gpm_status read_around(struct session_core *core, int depth, struct cell *node,
                                   const struct ast *name) {
    struct nest *n = core->nest;
    while (n && n->depth != depth) n = n->outer;
    if (!n) return GPM_OK;
    struct reading r = {n, GPM_OK};
    if (node->kind && n->read) r.st = n->read(n, node);
    if (r.st == GPM_OK && n->read) value_any(node->val, read_reference, &r);
    if (r.st != GPM_OK || !value_any(node->val, keeps_statistics, NULL)) return r.st;
    diag_raise(core->diags, DIAG_ACTION_IN_MODEL, name->span,
               "`%s` keeps statistics of the model around; inference inside it cannot use it",
               name->u.name.sym->text);
    return diag_set_help(core->diags,
                         "draw from it outside run(...) and use the value, or make one inside");
}

/* A name has the meaning it had where it was written: the model of that place is searched first,
 * then the enclosing ones. Code from the program outside all models belongs to none; it sees the
 * current model first. */
enum gpm_status nest_find(struct session_core *core, struct world *w, const struct ast *name,
                          struct frame *f, struct slot **slot, struct cell **cell,
                          const value **v) {
    int inner = core->nest->depth + (w ? 1 : 0), at = inner, found = -1;
    uint64_t key = MAP_PTR(name->u.name.sym);
    struct cell *node = NULL;
    *slot = NULL;
    *cell = NULL;
    *v = NULL;
    if (f && f->lexical && f->lexical - 1 < at) at = f->lexical - 1;
    if (!name->u.name.builtin) {
        struct define_slot *d = map_get(&core->defines, key);
        bool local = name->u.name.depth >= 0;
        bool own = !local && name->u.name.inference && d && !d->library;
        int last = local ? at - name->u.name.global_first + 1 : 0;
        for (int i = at; i >= last && i >= 0 && !own && !node; i--)
            if ((node = assumed(core, w, i, name, f)) != NULL) found = i;
        if (!node && local) {
            struct frame *from = frame_up(f, name->u.name.depth);
            struct slot *s = &from->s[name->u.name.slot];
            bool around = s->node && !s->own && from->owner && from->owner - 1 <= core->nest->depth;
            if (!around) {
                *slot = s;
                return GPM_OK;
            }
            node = (struct cell *)s->node;
            found = from->owner - 1;
        }
        if (!node && d) {
            *v = &d->v;
            return GPM_OK;
        }
    }
    if (node && found <= core->nest->depth) {
        enum gpm_status st = read_around(core, found, node, name);
        if (st != GPM_OK) return st;
        *v = &node->val;
        return GPM_OK;
    }
    *cell = node ? node : map_get(&core->builtins, key);
    if (*cell) *v = &(*cell)->val;
    return GPM_OK;
}

struct nest *nest_of_memo(struct session_core *core, const struct memo_proc *m) {
    struct nest *n = core->nest;
    while (n && n->depth + 1 != m->owner) n = n->outer;
    return n;
}

struct nest_pause nest_pause(struct session_core *core, struct nest *n) {
    struct nest_pause p = {core->nest, core->model};
    core->nest = n->outer;
    core->model = NULL;
    return p;
}

void nest_resume(struct session_core *core, struct nest_pause p) {
    core->nest = p.nest;
    core->model = p.model;
}
