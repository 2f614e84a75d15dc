/* SPDX-License-Identifier: Apache-2.0
 *
 * Symmetric positive definite Toeplitz systems T = L L' in O(n^2), T given by its first column
 * r[0..n-1]. Two recursions: Schur's runs through the columns of L and is used for likelihoods;
 * Levinson's gives solutions and the first column of the inverse, for gradients.
 *
 * Both stop with GPM_E_NOT_PD if a pivot L_kk^2 (the variance of value k given the earlier ones) is
 * not above `least`. */
#ifndef LA_TOEPLITZ_H
#define LA_TOEPLITZ_H
#include "gpmem/status.h"
#include <stddef.h>

/* b = L^-1 b for nrhs >= 1 columns (leading dimension n). scratch: 2n doubles. */
GPM_MUST_USE enum gpm_status toeplitz_half_solve(size_t n, const double *r, double least,
                                                 size_t nrhs, double *b, double *logdet,
                                                 double *scratch);
/* b = T^-1 b; u receives the first column of T^-1. scratch: 3n doubles. */
GPM_MUST_USE enum gpm_status toeplitz_solve(size_t n, const double *r, double least, size_t nrhs,
                                            double *b, double *u, double *logdet, double *scratch);
/* s[l] = sum_i (T^-1)_{i,i+l} from the first column u of the inverse; scratch: n doubles. By
 * Gohberg and Semencul T^-1_{ij} is a sum of products of u with itself and with its mirror image;
 * along a diagonal both are autocorrelations of u, and what is left is
 *   s_l = 1/u_0 sum_i (n - l - 2i) u_i u_{i+l}. */
void toeplitz_inverse_sums(size_t n, const double *u, double *s, double *scratch);
/* s[l] += f * sum_i x_i x_{i+l}. */
void toeplitz_add_correlation(size_t n, double f, const double *x, double *s);
#endif
