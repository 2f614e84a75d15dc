/* SPDX-License-Identifier: Apache-2.0
 *
 * run(a) in a model: inference inside the model (runtime/core/nest.h). The application is a
 * function of the values that the run reads from this model and of its stream of random numbers.
 * The stream is a choice of the model:
 *
 *     value = f(values read, stream),  stream ~ uniform
 *
 * The stream is the root of a family that the application requests. The nodes it reads become extra
 * parents as the run reads them. When one of them changes, the run is repeated with a new family,
 * like the branch of an `if`. So a proposal draws a new stream along with the change (the
 * pseudo-marginal method), and a rejection restores the old stream and value. A run that uses no
 * random numbers (an exact posterior) has no stream and is deterministic.
 *
 * The application also requests the memoized procedures of this model that the run calls. Their
 * families belong to the model and are shared and counted as usual. */
#include "runtime/trace/node.h"

#include "runtime/core/nest.h"
#include <string.h>

struct run {
    struct nest nest; /* first member: its functions receive this */
    struct trace *t;
    struct node *n;
};

/* A parent is brought up to date when it is added. */
static enum gpm_status read_node(struct nest *nest, struct cell *cell) {
    struct run *r = (struct run *)nest;
    struct node *p = (struct node *)cell;
    for (uint32_t i = 0; i < r->n->req->n_xin; i++)
        if (r->n->req->xin[i].node == p) return GPM_OK;
    struct nest_pause pause = nest_pause(r->t->core, nest);
    enum gpm_status st = regen_ensure(r->t, p);
    nest_resume(r->t->core, pause);
    if (st == GPM_OK) request_add_parent(r->t, r->n, p);
    return st;
}

static bool is_requested(const struct node *n, const struct family *f) {
    uint32_t i = 0;
    while (i < n->req->n_fam && n->req->fam[i] != f) i++;
    return i < n->req->n_fam;
}

static enum gpm_status call_memo(struct nest *nest, struct memo_proc *m, value key, struct span at,
                                 value *out) {
    struct run *r = (struct run *)nest;
    struct memo_entry *e = world_memo_find(&r->t->world, m, key);
    enum gpm_status st = GPM_OK;
    if (!e || !e->family || !is_requested(r->n, e->family)) {
        struct nest_pause pause = nest_pause(r->t->core, nest);
        st = apply_memo(r->t, r->n, m, key);
        nest_resume(r->t->core, pause);
        if (st != GPM_OK) diag_add_call(r->t->core->diags, at, "in a call inside run(...)");
    }
    if (st == GPM_OK) *out = value_ref(world_memo_find(&r->t->world, m, key)->family->root->val);
    return st;
}

static enum gpm_status request_stream(struct trace *t, struct node *n, uint64_t *stream) {
    struct node *op = map_get(&t->core->builtins, MAP_PTR(sym_cstr(t->core->syms, "_stream")));
    struct family *f = family_new(t, n->ctx);
    enum gpm_status st = eval_application(t, f, n->ast, n->ctx, &op, 1, &f->root);
    st = request_family(t, n, f, st);
    if (st == GPM_OK) *stream = (uint64_t)f->root->val.u.num;
    return st;
}

/* Withdraws the first request. Links store positions, so they are removed and made again. */
static void release_stream(struct trace *t, struct node *n) {
    struct request *r = n->req;
    struct family *f = r->fam[0];
    request_unlink(t, n);
    r->n_xin--;
    r->n_fam--;
    memmove(r->xin, r->xin + 1, r->n_xin * sizeof *r->xin);
    memmove(r->fam, r->fam + 1, r->n_fam * sizeof(struct family *));
    for (uint32_t i = 0; i < r->n_xin; i++) link_in(t, n, XIN | i);
    family_drop(t, f, n->ctx);
    families_free_dead(t, &f, 1);
}

enum gpm_status apply_run(struct trace *t, struct node *n, value *out) {
    struct run r = {.t = t, .n = n};
    r.nest = (struct nest){.world = &t->world,
                           .depth = (uint16_t)(nest_level(t->core) - 1),
                           .read = read_node,
                           .memo = call_memo};
    enum gpm_status st = request_stream(t, n, &r.nest.stream);
    if (st == GPM_OK)
        st = t->core->run_nested(t->core, &r.nest, n->ast->kids[1], n->req->frame, out);
    if (st == GPM_OK && !r.nest.drawn) release_stream(t, n);
    return st;
}
