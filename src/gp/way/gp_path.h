/* SPDX-License-Identifier: Apache-2.0
 *
 * Function draws that can be evaluated anywhere (pathwise conditioning, Wilson et al. 2020): a draw
 * of the prior by random features plus the update that makes it agree with the data, f(x) = p(x) +
 * K(x, X) (K + noise)^-1 (y - p(X) - e). The same path gives the same value at the same x (asked
 * with derivatives: up to rounding), at O(n + features) a value.
 *
 * Random features exist for sums of products of rows that have a `wave` (SE, RQ, Matern, PER, COS,
 * mixtures, categories), LIN, C, numbers, RAMP and STEP; other kernels (Wiener, change points,
 * callbacks ...) draw jointly at support points instead and interpolate by the conditional mean.
 * White noise by value is left out of paths: they are draws of the function
 * beneath it.
 */
#ifndef GP_GP_PATH_H
#define GP_GP_PATH_H
#include "gp/process/gp.h"
#include "numeric/special/rng.h"

struct gp_path;

/* features: number of random features (0: 1024), or of support points, which are placed in the
 * range of the data. */
GPM_MUST_USE enum gpm_status gp_path_new(struct gp *g, size_t features, struct rng *rng,
                                         struct gp_path **out);
void gp_path_free(struct gp_path *p);
/* The average of this and of 1/tau^2 - 1 other paths, in distribution: tau times the path plus 1 -
 * tau times the posterior mean. Features only. */
void gp_path_temper(struct gp_path *p, double tau);
/* Values at n points (contiguous coordinates); grad (may be NULL) n x dim derivatives, by central
 * differences of the path itself where it has linear factors or a mean function. */
GPM_MUST_USE enum gpm_status gp_path_eval(struct gp_path *p, const double *x, size_t n, double *f,
                                          double *grad);
/* Values at many points at once, by products of matrices: several times as fast, and the same up to
 * rounding, which depends on what else is asked. */
GPM_MUST_USE enum gpm_status gp_path_eval_block(struct gp_path *p, const double *x, size_t n,
                                                double *f);
/* Values of the path and of the posterior mean at n points, which share the covariances: at another
 * temperature the path is mean + tau (f - mean). Features only. */
GPM_MUST_USE enum gpm_status gp_path_eval_both(struct gp_path *p, const double *x, size_t n,
                                               double *f, double *mean);
#endif
