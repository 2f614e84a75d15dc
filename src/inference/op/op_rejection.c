/* SPDX-License-Identifier: Apache-2.0
 *
 * Rejection sampling: a draw x from the prior is kept with probability p(r | x) / max p(r | .),
 * where r is what absorbs. So what is kept is an exact draw from the local conditional. Also
 * bogo_possibilize, which redraws a state of probability zero until it is possible. */
#include "inference/run/move.h"

#include <math.h>

enum { MAX_BOGO = 1000000 };

/* The sum of the rows' bounds (runtime/trace/bound.c), before the block is taken out. */
static enum gpm_status bound_of(struct infer_state *x, struct scaffold *s, double *bound) {
    size_t before = x->core->diags->list.n;
    enum gpm_status st = scaffold_log_bound(s, bound);
    if (st != GPM_E_NOT_FOUND) return st;
    if (!diags_failed_since(x->core->diags, before))
        infer_error(x, DIAG_NO_BOUND, "rejection: the density has no known bound");
    diag_set_help(x->core->diags, "give one: rejection(scope, block, log_bound, 1)");
    return GPM_E_USER;
}

/* Accepts a draw from the prior with log probability w - bound, whatever the old state. A weight
 * above the bound by more than rounding would make draws inexact and is an error. If bound is NaN,
 * every possible state is accepted. */
static enum gpm_status attempt(struct step *s, struct scaffold *part, double bound,
                               double attempts) {
    enum gpm_status st = GPM_OK;
    for (double i = 0; i < attempts && st == GPM_OK; i++) {
        double w;
        st = core_poll(s->x->core, s->x->at);
        if (st == GPM_OK) st = scaffold_regen(part, SCAFFOLD_PRIOR, NULL, &w);
        if (st != GPM_OK) break;
        if (w > bound + 1e-9 * (1 + fabs(bound)))
            return infer_error(s->x, DIAG_NO_BOUND,
                               "rejection: the log weight %g exceeds the bound %g", w, bound);
        s->accepted = scaffold_built(part) &&
                      (isnan(bound) ? w > -INFINITY : log(rng_uniform(&s->t->rng)) < w - bound);
        if (s->accepted) break;
        scaffold_unregen(part);
    }
    return st;
}

/* A draw from the conditional needs no ratio, except for the block's pick as in gibbs: log alpha =
 * log P(block | new) - log P(block | old). */
static enum gpm_status rejection_step(struct step *s) {
    struct scaffold *part = move_scaffold(s);
    value given = s->g->extra[0], most = s->g->extra[1];
    double w_old, bound = given.tag == V_NUM ? given.u.num : NAN;
    enum gpm_status st = GPM_OK;
    if (isnan(bound)) st = bound_of(s->x, part, &bound);
    if (st != GPM_OK) {
        scaffold_close(part, false);
        return st;
    }
    st = scaffold_detach(part, SCAFFOLD_PRIOR, &w_old);
    if (st != GPM_OK) return st;
    st = attempt(s, part, bound, most.tag == V_NUM ? most.u.num : INFINITY);
    s->accepted = s->accepted && step_accept(s, 0, 0, 0);
    scaffold_close(part, s->accepted);
    return st;
}

static enum gpm_status op_conditional(struct infer_state *x, const struct action *a, value *out) {
    struct target g = infer_aim(x, infer_name(x, "default"), infer_name(x, "all"));
    return infer_transitions(x, &g, rejection_step, NULL);
}

/* Not a sampler: any possible state is a valid start for one. */
static enum gpm_status bogo_step(struct step *s) {
    struct scaffold *part = move_scaffold(s);
    double w;
    enum gpm_status st = scaffold_detach(part, SCAFFOLD_PRIOR, &w);
    if (st != GPM_OK) return st;
    bool look = w == -INFINITY;
    if (look) st = attempt(s, part, NAN, MAX_BOGO);
    scaffold_close(part, s->accepted);
    if (st != GPM_OK || !look || s->accepted) return st;
    return infer_error(s->x, DIAG_IMPOSSIBLE,
                       "bogo_possibilize: %d draws from the prior, none possible", MAX_BOGO);
}

const struct infer_op infer_rejection_rows[] = {
    {"rejection",
     "(scope: target, block?: block, bound?: number|null, attempts?: nonneg|null, steps?: count) "
     "-> action",
     "draws the block from its exact conditional by rejection; bound: of the log weight, where "
     "the densities have none of their own; attempts: at most that many, then the old state "
     "stays. A single number after the block is `steps`",
     STEPS(rejection_step, "one"), .n_extra = 2, .extra = {NAN, INFINITY}, .steps_last = true},
    {"conditional", "() -> action", "rejection(default, all, 1): an exact draw from the posterior",
     .flags = OP_VALUE, .run = op_conditional},
    {"bogo_possibilize", "(scope: target, block?: block, steps?: count) -> action",
     "redraws the block from its prior until the state is possible", STEPS(bogo_step, "one")},
    {0},
};
