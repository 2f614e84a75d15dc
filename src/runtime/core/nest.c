/* SPDX-License-Identifier: Apache-2.0
 *
 * How a run inside models reads their names and values; see nest.h. */
#include "runtime/core/nest.h"

struct world *nest_world(struct session_core *core, struct world *w, int depth) {
    struct nest *n = core->nest;
    if (depth == (n ? n->depth + 1 : 0)) return w;
    while (n && n->depth != depth) n = n->outer;
    return n ? n->world : NULL;
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

/* A constant never changes, so it creates no dependency. */
enum gpm_status nest_read(struct session_core *core, int depth, struct cell *node,
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
