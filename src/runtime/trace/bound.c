/* SPDX-License-Identifier: Apache-2.0
 *
 * Upper bounds of the weight of a proposal from the prior: the sum of the bounds of everything that
 * absorbs, over all values of the arguments that may change. Let M be that sum. Accepting a draw
 * from the prior with probability exp(weight - M) gives a draw from the conditional
 * (op_rejection.c). So M must hold for every state the proposal can reach, not only near the
 * current one. */
#include "runtime/trace/scaffold.h"

static enum gpm_status unbounded(struct scaffold *s, struct node *n, const char *name) {
    diag_raise(s->t->core->diags, DIAG_NO_BOUND, node_span(n),
               "the density of %s has no upper bound here", name);
    return GPM_E_NOT_FOUND;
}

/* Bit i + 1 is set if argument i may change. Arguments beyond 63 have no bit. `everything` is for
 * choices inside the brush, where any argument may change. */
static uint64_t varying(struct scaffold *s, const struct node *n, bool everything) {
    uint64_t bits = 0;
    for (uint32_t i = 1; i < n->n_in && i < 64; i++) {
        struct entry *e = entry_of(s, n->in[i].node);
        if (everything || (e && (e->role == ROLE_D || e->brush))) bits |= UINT64_C(1) << i;
    }
    return bits;
}

static enum gpm_status bound_of_choice(struct scaffold *s, struct node *n, bool everything,
                                       double *out) {
    const struct sp_class *cls = node_class(n);
    if (!cls) return unbounded(s, n, "this");
    if (cls->flags & SP_DISCRETE) { /* a probability is at most 1 */
        *out = 0;
        return GPM_OK;
    }
    if (!cls->log_bound) return unbounded(s, n, cls->name);
    struct node_call k;
    call_begin(s->t, n, &k);
    enum gpm_status st = cls->log_bound(&k.c, n->val, varying(s, n, everything), out);
    bool none = st == GPM_E_NOT_FOUND;
    st = call_end(s->t, n, &k, none ? GPM_OK : st);
    return none ? unbounded(s, n, cls->name) : st;
}

/* The joint density of discrete data is at most 1. */
static enum gpm_status bound_of_maker(struct scaffold *s, struct node *n, double *out) {
    struct sp_proc *m = first_made(n->val);
    *out = 0;
    return m && (m->cls->flags & SP_DISCRETE) ? GPM_OK : unbounded(s, n, node_class(n)->name);
}

enum gpm_status scaffold_log_bound(struct scaffold *s, double *bound) {
    *bound = 0;
    for (size_t i = 0; i < s->torus.n; i++) {
        struct entry *e = &s->e.at[s->torus.at[i]];
        double b = 0;
        enum gpm_status st = GPM_OK;
        if (e->role == ROLE_A)
            st = bound_of_choice(s, e->n, false, &b);
        else if (e->role == ROLE_M)
            st = bound_of_maker(s, e->n, &b);
        else if (e->n->flags & NODE_OBS_ROOT) {
            struct node *end = chase(e->n);
            struct entry *ee = entry_of(s, end);
            bool brush = family_is_brush(end->family);
            if ((end->flags & NODE_OBSERVED) && (brush || (ee && ee->role == ROLE_D)))
                st = bound_of_choice(s, end, brush, &b);
        }
        if (st != GPM_OK) return st;
        *bound += b;
    }
    return GPM_OK;
}
