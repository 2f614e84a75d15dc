/* SPDX-License-Identifier: Apache-2.0
 *
 * A mixture of Student-t distributions fitted to the conditional distribution of the continuous
 * choices of a block: starts from the prior (fit.h), Laplace's method at the best modes, importance
 * sampling to mend it. Operators propose from it and integrate with it.
 *
 * A fit is a function of that conditional alone, not of the current values of the choices; it has
 * its own random numbers. So a proposal from it is an independence proposal, the same whenever the
 * same structure recurs. Fits are cached; a conditional is recognised by its values at two
 * points. */
#ifndef INFER_LAPLACE_FIT_H
#define INFER_LAPLACE_FIT_H
#include "inference/hmc/continuous.h"
#include "numeric/posterior/fit.h"

#define FIT_KEYS 4

/* Location and scale of the choices' prior: z = centre + spread u. */
struct fit_place {
    double centre[PROPOSAL_MAX_DIM], spread[PROPOSAL_MAX_DIM];
    double log_spread; /* sum of log spread */
};
/* The conditional as a density of u. */
struct conditional {
    struct objective of;
    struct fit_place at;
};
struct density conditional_density(struct conditional *q);
extern const struct fit_rules laplace_fit_rules;
/* Draws from the prior with the generator `own`: sets the place and returns the number of draws,
 * which are starts u. u has room for LAPLACE_STARTS(d) of them. */
#define LAPLACE_STARTS(d) (32 + 8 * (int)(d))
int conditional_starts(struct conditional *q, struct rng *own, double *u);
/* Does the weight depend on draws made in evaluation? Tests two points with two generators each. A
 * brush with only deterministic parts makes no difference. */
enum gpm_status conditional_random(struct continuous *c, bool *out) GPM_MUST_USE;
/* Equal up to the rounding of another order of nodes. */
bool nearly_same(double a, double b);
bool conditional_same(const double *a, const double *b);

struct laplace_fit {
    struct laplace_fit *next;
    size_t draws;         /* of the importance sampling */
    double key[FIT_KEYS]; /* NaN: a random conditional, never found again */
    struct fit_place at;
    struct proposal p;   /* of u; p.n == 0: no fit */
    struct is_result is; /* log integral of the block's weight over its choices */
};

/* The fit for the choices c has taken out, cached in the session. If choices drawn in evaluation
 * make the conditional random, it is valid only until the next call. */
enum gpm_status laplace_fit_find(struct continuous *c, size_t draws,
                                 const struct laplace_fit **out) GPM_MUST_USE;
void laplace_fit_draw(const struct laplace_fit *f, struct rng *r, double *z);
/* A random-walk step from z with the posterior's shape. */
void laplace_fit_walk(const struct laplace_fit *f, struct rng *r, double *z);
double laplace_fit_log_density(const struct laplace_fit *f, const double *z);
#endif
