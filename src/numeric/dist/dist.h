/* SPDX-License-Identifier: Apache-2.0
 *
 * Distributions on plain doubles. Each scalar one has three functions of one shape, so that they
 * fit the rows of the procedure tables and the compiled transition loop:
 *
 *     dist_X_lp(x, a, n)        log density at x with parameters a[0..n-1]
 *     dist_X_draw(rng, a, n)    one draw
 *     dist_X_grad(x, a, n, g)   g[0] = d lp / dx, g[1 + i] = d lp / d a[i], inside the support
 *
 * lp is -inf outside the support; parameters outside their domain give NaN from lp and draw. A
 * discrete distribution has g[0] = 0. Parameters are those of the language's procedures; the .c
 * files give the formula above each family.
 */
#ifndef MATH_DIST_H
#define MATH_DIST_H
#include "numeric/special/rng.h"
#include <math.h>
#include <stdbool.h>
#include <stddef.h>

typedef double dist_lp_fn(double x, const double *a, size_t n);
typedef double dist_draw_fn(struct rng *r, const double *a, size_t n);
typedef void dist_grad_fn(double x, const double *a, size_t n, double *g);

#define DIST_DECLARE(name)                                                                         \
    dist_lp_fn dist_##name##_lp;                                                                   \
    dist_draw_fn dist_##name##_draw;                                                               \
    dist_grad_fn dist_##name##_grad

DIST_DECLARE(normal);           /* mean, sd */
DIST_DECLARE(gamma);            /* shape, rate */
DIST_DECLARE(inv_gamma);        /* shape, scale */
DIST_DECLARE(expon);            /* rate */
DIST_DECLARE(beta);             /* a, b */
DIST_DECLARE(log_beta);         /* a, b: log of a beta variable */
DIST_DECLARE(log_odds_beta);    /* a, b: log odds of a beta variable */
DIST_DECLARE(log_odds_uniform); /* no parameters: the standard logistic distribution */
DIST_DECLARE(uniform);          /* low, high */
DIST_DECLARE(student_t);        /* degrees of freedom [, location, scale] */
DIST_DECLARE(lognormal);        /* mu, sigma */
DIST_DECLARE(vonmises); /* mu, kappa; angles are taken modulo 2 pi, draws lie in [-pi, pi] */

DIST_DECLARE(wiener); /* distance of the boundaries, delay, share of the way, drift */

DIST_DECLARE(bernoulli);        /* [p = 1/2]; 0 or 1 */
DIST_DECLARE(log_bernoulli);    /* log p */
DIST_DECLARE(logit_bernoulli);  /* log odds */
DIST_DECLARE(binomial);         /* n, p */
DIST_DECLARE(poisson);          /* mean */
DIST_DECLARE(uniform_discrete); /* low, high; high excluded */
DIST_DECLARE(neg_binomial);     /* r, p: failures before the r-th success */
DIST_DECLARE(geometric);        /* p: failures before the first success */

/* (x - m) / s; the difference of two large numbers of opposite sign may be beyond the doubles. */
static inline double standardised(double x, double m, double s) {
    double d = x - m;
    return isinf(d) ? x / s - m / s : d / s;
}

static inline bool is_count(double k) {
    return k >= 0 && k == floor(k) && !isinf(k);
}

/* Standard draws from which others are built. */
double draw_gamma(struct rng *r, double shape);     /* rate 1; 0 < shape */
double draw_log_gamma(struct rng *r, double shape); /* its log; no underflow for small shapes */

/* Index drawn with probability w[i] / sum w; the weights are not negative, their sum positive. */
size_t draw_index(struct rng *r, const double *w, size_t n);
/* The same from logarithms of unnormalised weights; not all -inf. */
size_t draw_log_index(struct rng *r, const double *logw, size_t n);
/* Uniform random permutation of 0..n-1. */
void draw_permutation(struct rng *r, size_t *p, size_t n);

/* Dirichlet(alpha_1..alpha_n), density with respect to the first n - 1 coordinates. */
double dirichlet_lp(const double *x, const double *alpha, size_t n);
void dirichlet_draw(struct rng *r, const double *alpha, size_t n, double *out);
/* dx and dalpha: n each, may be NULL. */
void dirichlet_grad(const double *x, const double *alpha, size_t n, double *dx, double *dalpha);
#endif
