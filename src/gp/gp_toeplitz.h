/* SPDX-License-Identifier: Apache-2.0
 *
 * Exact O(n^2) likelihood on a regular grid: K = T + B B', T Toeplitz (the stationary terms and the
 * noise), B a few columns (LIN, RAMP, STEP and products of them with constants).
 */
#ifndef GP_GP_TOEPLITZ_H
#define GP_GP_TOEPLITZ_H
#include "gp/kernel.h"

/* Quadratic form r'K^-1 r and log|K| for points with step > 0. *done is false when the kernel has
 * other terms or T is too ill-conditioned for this algorithm (the caller then factors densely). */
GPM_MUST_USE enum gpm_status gp_toeplitz(const struct kern *k, struct kern_pts x, double noise,
                                         const double *r, bool *done, double *quad, double *logdet);
#endif
