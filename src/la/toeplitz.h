/* SPDX-License-Identifier: Apache-2.0
 *
 * Symmetric positive definite Toeplitz systems in O(n^2): Levinson-Durbin with any number of right
 * hand sides, and the sums of the inverse along its diagonals (for gradients of likelihoods).
 */
#ifndef LA_TOEPLITZ_H
#define LA_TOEPLITZ_H
#include "gpmem/status.h"
#include <stddef.h>

/* First column r[0..n-1]. Solves T x = b for nrhs columns in place (leading dimension n). u
 * receives the first column of T^-1, *logdet the log determinant. scratch: 3n doubles. GPM_E_NOT_PD
 * when a prediction error is not clearly positive (below 1e-13 of r[0]). */
GPM_MUST_USE enum gpm_status toeplitz_solve(size_t n, const double *r, size_t nrhs, double *b,
                                            double *u, double *logdet, double *scratch);
/* s[l] = sum_i (T^-1)_{i,i+l} from the first column u of the inverse. scratch: 3n doubles.
 * Gohberg-Semencul: s_l = 1/u_1 sum_a (n-l-a+1)(u_a u_{a+l} - v_a v_{a+l}), v = (0, u_n .. u_2). */
void toeplitz_inverse_sums(size_t n, const double *u, double *s, double *scratch);
/* s[l] += f * sum_i x_i x_{i+l}. */
void toeplitz_add_correlation(size_t n, double f, const double *x, double *s);
#endif
