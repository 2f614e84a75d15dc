/* SPDX-License-Identifier: Apache-2.0
 *
 * Operators based on the shape of a conditional (laplace_fit.h): independence proposals of
 * parameters, moves between structures with their parameters, and evidences with parameters
 * integrated out. They offer the structure learner's methods to any model. */
#include "inference/hmc/laplace_fit.h"

#include "base/mem.h"
#include <math.h>
#include <string.h>

enum { MH_DRAWS = 100, EVIDENCE_DRAWS = 1000 };

/* ---- laplace_mh ---- */

/* Half of the proposals are drawn from the fit g; half are random-walk steps with g's shape. Each
 * kind leaves the conditional invariant. Draws have log_q = log g(old) - log g(z); a walk is
 * symmetric, as its shape is the same at both ends. g must not depend on the current state
 * (laplace_fit.h), or g(old) would not be the density of the way back. */
static enum gpm_status propose_fit(struct continuous *c, const struct laplace_fit *f,
                                   struct step *s) {
    double z[PROPOSAL_MAX_DIM], logp, log_q = 0;
    struct rng *r = &c->t->rng;
    /* A walk from a state of weight zero would hardly ever succeed. */
    bool walk = c->w_old > -INFINITY && rng_uniform(r) < 0.5;
    memcpy(z, c->old, c->n_z * sizeof *z);
    if (walk)
        laplace_fit_walk(f, r, z);
    else {
        laplace_fit_draw(f, r, z);
        log_q = laplace_fit_log_density(f, c->old) - laplace_fit_log_density(f, z);
    }
    enum gpm_status st = continuous_build(c, z, &logp);
    s->accepted = st == GPM_OK && move_built(&c->m) && step_accept(s, c->w_old, logp, log_q);
    return st;
}

/* Without a fit (p.n == 0: no mode, or no finite integral) nothing is proposed; staying is also a
 * valid transition. */
static enum gpm_status laplace_step(struct step *s) {
    struct continuous c;
    const struct laplace_fit *f = NULL;
    enum gpm_status st = continuous_open(s, true, &c);
    if (st != GPM_OK || !c.n_parts) return st;
    st = laplace_fit_find(&c, MH_DRAWS, &f);
    if (st == GPM_OK && f->p.n) st = propose_fit(&c, f, s);
    continuous_close(&c, s->accepted);
    return st;
}

/* ---- log_evidence ---- */

/* log of the integral of exp(weight) over the block's choices, by the fit's importance sampling.
 * The weight is the density of the choices and of everything that depends on them, so with all
 * choices in the block it is the evidence. is.ess is a share of the draws. The trace and its
 * generator stay unchanged. */
static enum gpm_status block_evidence(struct step *s, double draws, struct is_result *is) {
    struct continuous c;
    const struct laplace_fit *f = NULL;
    struct rng now = s->t->rng;
    enum gpm_status st = continuous_open(s, true, &c);
    if (st != GPM_OK || !c.n_parts) return st;
    if (c.n_parts < s->n)
        st = infer_error(s->x, DIAG_BAD_OPERATOR_ARG,
                         "log_evidence: the block holds choices that are not continuous");
    const struct sp_class *improper = continuous_improper(&c);
    if (improper)
        st = infer_error(s->x, DIAG_IMPROPER,
                         "log_evidence: %s is an improper prior, and its constant is arbitrary",
                         improper->name);
    if (st == GPM_OK) st = laplace_fit_find(&c, (size_t)draws, &f);
    if (st == GPM_OK) *is = f->is;
    continuous_close(&c, false);
    s->t->rng = now;
    return st;
}

/* The last argument, which infer_target reads as transitions, is here the number of draws. */
static enum gpm_status log_evidence(struct infer_state *x, const struct action *a, struct trace *t,
                                    value *out) {
    static const char *const keys[] = {"log_evidence", "error", "ess"};
    struct target g;
    struct node_set all;
    struct is_result is = {0, 0, 1}; /* no choices: the empty integral is 1 */
    enum gpm_status st = infer_target(x, a, &g);
    if (st != GPM_OK) return st;
    bool given = a->n > 2 && !is_absent(a->args[a->n - 1]);
    double draws = given ? g.transitions : EVIDENCE_DRAWS;
    if (draws < 10 || draws > 1e6)
        return infer_error(x, DIAG_BAD_OPERATOR_ARG,
                           "log_evidence: the number of draws must be 10 to 1000000");
    st = infer_target_all(x, t, &g, &all);
    struct step s = {.x = x, .t = t, .at = all.at, .n = all.n};
    if (st == GPM_OK && all.n) st = block_evidence(&s, draws, &is);
    mem_free(all.at);
    double vals[] = {is.logz, is.se, fmin(draws, is.ess * draws)};
    if (st == GPM_OK) *out = infer_numbers(keys, vals, 3);
    return st;
}

const struct infer_op infer_laplace_rows[] = {
    {"laplace_mh", "(scope: target, block?: block, steps?: count) -> action",
     "Metropolis-Hastings on the continuous choices of the block: proposals from a mixture of "
     "Student-t distributions fitted to their conditional, in turn with steps of its shape",
     STEPS(laplace_step, "all"), .needs = NEEDS_CONTINUOUS},
    {"log_evidence", "(scope: target, block?: block, draws?: count) -> action",
     "log of the integral over the block's continuous choices of what they weigh, everything else "
     "as it is: per particle a dictionary of log_evidence, error (its standard error) and ess; by "
     "importance sampling (1000 draws) around the modes that Laplace's method finds. Always the "
     "same for the same model",
     .run = infer_each, .block = "all", .each = log_evidence},
    {0},
};
