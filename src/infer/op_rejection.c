/* SPDX-License-Identifier: Apache-2.0
 *
 * Rejection: draws x from the prior are kept with probability p(r | x) / max p(r | .), r what
 * absorbs, so what is kept is an exact draw from the local conditional; and bogo_possibilize, which
 * redraws a state of probability zero until it has some. */
#include "infer/move.h"

#include <math.h>

enum { MAX_BOGO = 1000000 };

struct rejection {
    double bound; /* NaN: found from the procedures' own bounds */
    double attempts;
};

/* From the rows' own bounds (trace/bound.c), before the block is taken out. */
static enum gpm_status bound_of(struct infer_state *x, struct scaffold *s, double *bound) {
    size_t before = x->core->diags->list.n;
    enum gpm_status st = scaffold_log_bound(s, bound);
    if (st != GPM_E_NOT_FOUND) return st;
    if (!diags_failed_since(x->core->diags, before))
        infer_error(x, DIAG_NO_BOUND, "rejection: the density has no known bound");
    diag_set_help(x->core->diags, "give one: rejection(scope, block, log_bound, 1)");
    return GPM_E_USER;
}

/* A draw from the prior is accepted with log probability w - bound, whatever the old state was. A
 * weight above the bound would make the draws inexact: that is an error, but for rounding. */
static enum gpm_status attempt(struct infer_state *x, struct trace *t, struct scaffold *s,
                               const struct rejection *r, bool *accepted) {
    enum gpm_status st = GPM_OK;
    for (double i = 0; i < r->attempts && st == GPM_OK; i++) {
        double w;
        st = core_poll(x->core, x->at);
        if (st == GPM_OK) st = scaffold_regen(s, SCAFFOLD_PRIOR, NULL, &w);
        if (st != GPM_OK) break;
        if (w > r->bound + 1e-9 * (1 + fabs(r->bound)))
            return infer_error(x, DIAG_NO_BOUND,
                               "rejection: the log weight %g exceeds the bound %g", w, r->bound);
        if (scaffold_built(s) && log(rng_uniform(&t->rng)) < w - r->bound) {
            *accepted = true;
            break;
        }
        scaffold_unregen(s);
    }
    return st;
}

/* A draw from the conditional needs no ratio, but for the pick of the block, as in gibbs:
 * log alpha = log P(block | new) - log P(block | old). */
static enum gpm_status rejection_transition(struct infer_state *x, struct trace *t,
                                            struct node **at, size_t n,
                                            const struct mh_extra *extra, void *ctx,
                                            bool *accepted) {
    struct rejection r = *(struct rejection *)ctx;
    struct scaffold *s;
    double w_old, pick = extra ? -extra->log_pick(extra->ctx, t) : 0;
    enum gpm_status st = move_scaffold(x, t, at, n, &s);
    if (st != GPM_OK) return st;
    if (isnan(r.bound)) st = bound_of(x, s, &r.bound);
    if (st == GPM_OK)
        st = scaffold_detach(s, SCAFFOLD_PRIOR, &w_old);
    else
        scaffold_end(s);
    if (st == GPM_OK) {
        st = attempt(x, t, s, &r, accepted);
        if (*accepted && extra) {
            pick += extra->log_pick(extra->ctx, t);
            if (pick < 0 && log(rng_uniform(&t->rng)) >= pick) *accepted = false;
        }
        if (*accepted)
            scaffold_commit(s);
        else
            scaffold_restore(s);
    }
    scaffold_free(s);
    return st;
}

static enum gpm_status read_bound(struct infer_state *x, value v, double *out) {
    if (v.tag == V_NUM)
        *out = v.u.num;
    else if (v.tag != V_NIL)
        return infer_error(x, DIAG_BAD_OPERATOR_ARG,
                           "rejection: the log bound must be a number or nil, got a %s",
                           value_type_name(v));
    return GPM_OK;
}

static enum gpm_status op_rejection(struct infer_state *x, const value *args, size_t n,
                                    value *out) {
    struct target g;
    struct rejection r = {NAN, INFINITY};
    static const struct target_form form = {"rejection", "one", 2, true};
    value extra[2] = {ABSENT, NIL};
    enum gpm_status st = infer_target(x, &form, args, n, extra, &g);
    if (st == GPM_OK && !is_absent(extra[0])) st = read_bound(x, extra[0], &r.bound);
    if (extra[1].tag == V_NUM) r.attempts = extra[1].u.num;
    if (st == GPM_OK) st = infer_transitions(x, &g, rejection_transition, &r);
    if (st == GPM_OK) *out = NIL;
    return st;
}

static enum gpm_status op_conditional(struct infer_state *x, const value *args, size_t n,
                                      value *out) {
    value all[3] = {infer_name(x, "default"), infer_name(x, "all"), value_num(1)};
    return op_rejection(x, all, 3, out);
}

/* Not a sampler: any possible state will do as a start for one. */
static enum gpm_status redraw(struct infer_state *x, struct scaffold *s, bool *found) {
    double w = -INFINITY;
    enum gpm_status st = GPM_OK;
    for (int i = 0; i < MAX_BOGO && st == GPM_OK; i++) {
        st = core_poll(x->core, x->at);
        if (st == GPM_OK) st = scaffold_regen(s, SCAFFOLD_PRIOR, NULL, &w);
        *found = st == GPM_OK && w > -INFINITY;
        if (*found || st != GPM_OK) return st;
        scaffold_unregen(s);
    }
    return st == GPM_OK
               ? infer_error(x, DIAG_IMPOSSIBLE,
                             "bogo_possibilize: %d draws from the prior, none possible", MAX_BOGO)
               : st;
}

static enum gpm_status bogo_transition(struct infer_state *x, struct trace *t, struct node **at,
                                       size_t n, const struct mh_extra *extra, void *ctx,
                                       bool *accepted) {
    struct scaffold *s;
    double w;
    enum gpm_status st = move_scaffold(x, t, at, n, &s);
    if (st != GPM_OK) return st;
    st = scaffold_detach(s, SCAFFOLD_PRIOR, &w);
    if (st == GPM_OK) {
        if (w == -INFINITY) st = redraw(x, s, accepted);
        if (*accepted)
            scaffold_commit(s);
        else
            scaffold_restore(s);
    }
    scaffold_free(s);
    return st;
}

static enum gpm_status op_bogo(struct infer_state *x, const value *args, size_t n, value *out) {
    struct target g;
    static const struct target_form form = {"bogo_possibilize", "one", 0, false};
    enum gpm_status st = infer_target(x, &form, args, n, NULL, &g);
    if (st == GPM_OK) st = infer_transitions(x, &g, bogo_transition, NULL);
    if (st == GPM_OK) *out = NIL;
    return st;
}

const struct infer_op infer_rejection_rows[] = {
    {"rejection",
     "(scope: target, block?: block, bound?: any, attempts?: nonneg|null, steps?: count) -> action",
     "draws the block from its exact conditional by rejection", NULL, OP_STEPS, op_rejection},
    {"conditional", "() -> action", "rejection(default, all, 1): an exact draw from the posterior",
     NULL, OP_VALUE, op_conditional},
    {"bogo_possibilize", "(scope: target, block?: block, steps?: count) -> action",
     "redraws the block from its prior until the state is possible", NULL, OP_STEPS, op_bogo},
};
const size_t infer_rejection_count = COUNT_OF(infer_rejection_rows);
