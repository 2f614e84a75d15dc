/* SPDX-License-Identifier: Apache-2.0
 *
 * Inside inference/: all transforms between the support of a choice, x, and an unconstrained space
 * z, where samplers and optimisers work:
 *
 *     real             x = z
 *     above lo         x = lo + exp z
 *     below hi         x = hi - exp -z
 *     lo .. hi         x = lo + (hi - lo) / (1 + exp -z)
 *     ordered          the first as above, x_k = x_{k-1} + exp z_k; with an upper bound each of
 *                      the ascending numbers as above
 *     simplex of k     isometric log ratios: x = softmax(V z), V k x (k - 1) orthonormal, 1'V = 0
 *     numbers that sum to 0   x = V z
 *     unit vector      x = z / |z|; the length of z is an auxiliary variable
 *     factor of a correlation matrix   rows on the half sphere: tanh z are their canonical partial
 *                      correlations (Lewandowski, Kurowicka and Joe 2009)
 *     factor of a covariance matrix    z below the diagonal, exp z on it
 *     correlation, covariance matrix   LL' of such a factor L
 *
 * Densities of x are with respect to Lebesgue measure on the free numbers. These are all but the
 * last number of a simplex or of numbers that sum to 0, the strict lower triangle of a correlation
 * matrix and of its factor, and the lower triangle of a covariance matrix and of its factor. For a
 * unit vector the measure is the area of the sphere. log |dx/dz| below turns them into densities of
 * z.
 *
 * Ends of an interval may be arguments that change with other choices; then x at a given z changes,
 * too. Real numbers with a location m and a scale s can be centred by degrees (Papaspiliopoulos,
 * Roberts and Skold 2007; Gorinova, Moore and Hoffman 2020):
 *
 *     centred by c     x = m + s^(1-c) (z - c m); c = 1: x = z, c = 0: x = m + s z
 *
 * Why log ratios instead of stick breaking: they treat all shares of a simplex alike, so the order
 * of the shares does not matter. Shares near 0 cost no digits of the others, and Dirichlet
 * posteriors are closer to normal. */
#ifndef INFER_CONSTRAIN_H
#define INFER_CONSTRAIN_H
#include "language/rows/protocol/sp.h"

struct constraint {
    enum sp_support_kind kind;
    double lo, hi;   /* of every number; infinite: unbounded */
    size_t n_x, n_z; /* numbers in x and in z */
};

/* The transform of a value with n numbers. */
struct constraint constraint_of(const struct sp_support *s, size_t n);
/* Can the transform handle ends that are arguments (constraint_pull_ends)? */
bool constraint_follows(const struct sp_support *s);
/* False if more than bounds of single numbers ties the numbers together. Then almost no step in x
 * stays in the support. */
bool constraint_separates(const struct constraint *c);
/* x of z, and returns log |dx/dz|. x is strictly inside the bounds for all z (where sums would
 * round to a bound). */
double constraint_to_x(const struct constraint *c, const double *z, double *x);
/* z of x; a number on a bound is moved to the next one inside. The length of a unit vector's z is
 * drawn, which leaves the joint distribution of x and z invariant. False: x is outside, and z is a
 * point near the middle. */
bool constraint_to_z(const struct constraint *c, const double *x, struct rng *rng, double *z);
/* For one number between moving ends: adds to *glo and *ghi the derivative through x, whose slope
 * is gx, and (with `jacobian`) that of log |dx/dz|. */
void constraint_pull_ends(const struct constraint *c, double z, double gx, bool jacobian,
                          double *glo, double *ghi);
/* Numbers with degrees of centring; log |dx/dz| = (1 - by) log s. */
struct centring {
    double by, m, s;
};
double centring_to_x(struct centring c, double z);
double centring_to_z(struct centring c, double x);
double centring_log_slope(struct centring c);
/* Turns *gx into the slope in z; *gm and *gs get the slopes in m and s, log |dx/dz| included. */
void centring_pull(struct centring c, double x, double *gx, double *gm, double *gs);
/* gz = d f(x(z)) / dz from gx = df / dx, taken as if all numbers of x were free. With `jacobian`,
 * adds d log |dx/dz| / dz. */
void constraint_pull(const struct constraint *c, const double *z, const double *x, const double *gx,
                     bool jacobian, double *gz);

/* The matrices, in constrain_matrix.c; square, column-major. */
double matrix_to_x(const struct constraint *c, const double *z, double *x);
bool matrix_to_z(const struct constraint *c, const double *x, struct rng *rng, double *z);
void matrix_pull(const struct constraint *c, const double *z, const double *x, const double *gx,
                 bool jacobian, double *gz);
#endif
