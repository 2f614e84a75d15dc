/* SPDX-License-Identifier: Apache-2.0
 *
 * Solving with general square matrices (LU with partial pivoting).
 */
#ifndef LA_LU_H
#define LA_LU_H
#include "gpmem/status.h"
#include <stddef.h>

/* B = A^-1 B; A (n x n) is overwritten by its factors. GPM_E_NOT_PD if A is singular: a pivot is
 * zero, or below n eps times the largest one. GPM_E_NOMEM. */
GPM_MUST_USE enum gpm_status la_gesv(size_t n, size_t nrhs, double *a, size_t lda, double *b,
                                     size_t ldb);
/* Determinant; A is overwritten. Singular matrices give 0. */
GPM_MUST_USE enum gpm_status la_det(size_t n, double *a, size_t lda, double *out);
#endif
