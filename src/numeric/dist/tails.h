/* SPDX-License-Identifier: Apache-2.0
 *
 * Distribution functions of the scalar distributions, as logarithms of both tails. From these
 * follow the mass of an interval with its gradient, quantiles and truncated draws. Nothing cancels
 * far out in either tail. */
#ifndef MATH_TAILS_H
#define MATH_TAILS_H
#include "numeric/dist/dist.h"
#include "numeric/special/special.h"
#include <stdbool.h>

/* t[0] = log P(X <= x), t[1] = log P(X > x). */
typedef void dist_tails_fn(double x, const double *a, size_t n, double *t);
/* d[i] = (dF(x) / d a[i]) / f(x), the fall of x when a[i] grows at constant probability; NaN
 * without closed form, where differences of the tails are used. */
typedef void dist_slopes_fn(double x, const double *a, size_t n, double *d);

static inline void put_tails(double *t, double lower, double upper) {
    t[0] = lower;
    t[1] = upper;
}

/* From an upper tail with logarithm -e, e >= 0. */
static inline void put_exponential(double *t, double e) {
    put_tails(t, e > 0 ? log1mexp(e) : -INFINITY, e > 0 ? -e : 0);
}

/* A distribution with parameters a[0..n-1], for the functions below. */
struct law {
    dist_lp_fn *lp;
    dist_tails_fn *tails;
    dist_slopes_fn *slopes; /* NULL: all NaN */
    bool whole;             /* values are whole numbers */
    double lo, hi;          /* bounds of the values for all parameters */
    const double *a;
    size_t n;
};
enum { LAW_PARAMS = 8 }; /* at most */

/* log P(lo <= X <= hi); -inf for an empty interval. */
double law_log_mass(const struct law *w, double lo, double hi);
/* Its gradient: g[i] in a[i], g[n] in lo, g[n+1] in hi. log_mass: the result of law_log_mass. */
void law_mass_grad(const struct law *w, double lo, double hi, double log_mass, double *g);
/* The x with log P(X <= x) = lower and log P(X > x) = upper; the smaller of the two is used. For
 * whole numbers: the first whose cumulative probability is at least that. */
double law_quantile(const struct law *w, double lower, double upper);
/* A draw given lo <= X <= hi; NaN for an empty interval. */
double law_draw_between(struct rng *r, const struct law *w, double lo, double hi);

dist_tails_fn dist_normal_tails, dist_gamma_tails, dist_inv_gamma_tails, dist_expon_tails,
    dist_beta_tails, dist_log_beta_tails, dist_log_odds_beta_tails, dist_uniform_tails,
    dist_student_t_tails, dist_lognormal_tails;

/* Slopes of families, by the roles of their parameters. */
dist_slopes_fn slopes_loc_scale;       /* location, scale */
dist_slopes_fn slopes_shape_loc_scale; /* a shape, location, scale */
dist_slopes_fn slopes_log_loc_scale;   /* of the logarithm of the value */
dist_slopes_fn slopes_rate;            /* the last one is a rate */
dist_slopes_fn slopes_scale;           /* the last one is a scale */
dist_slopes_fn slopes_shape_scale;     /* of the power (x / scale)^shape */
dist_slopes_fn slopes_scale_shape;     /* the same in the other order */
dist_slopes_fn slopes_ends;            /* both ends of a uniform */
#endif
