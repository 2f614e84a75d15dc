/* SPDX-License-Identifier: Apache-2.0
 *
 * Thin wrappers over BLAS and LAPACK: size_t dimensions, lower triangles, column-major. Only this
 * folder includes a BLAS header.
 *
 * One BLAS thread per process: parallelism over chains and structures beats threads inside small
 * factorisations. la_init sets this once and calls dgemm to warm it up; before the first call small
 * factorisations take twice as long. Every relevant wrapper calls la_init. */
#ifndef LA_BLAS_H
#define LA_BLAS_H
#include "gpmem/status.h"
#include <stdbool.h>
#include <stddef.h>

void la_init(void); /* idempotent, thread-safe */
/* The processor whose code OpenBLAS runs: "SkylakeX", "Prescott", ... */
const char *la_blas_core(void);
/* If that core is older than this machine's, hence several times slower: the better one. Causes are
 * OPENBLAS_CORETYPE set by the user, or a shared OpenBLAS. NULL if the core is right. */
const char *la_blas_better_core(void);

/* Announces `threads` more threads inside BLAS until la_leave. False if the address space lacks
 * room for their work buffers. OpenBLAS itself would retry forever, so no thread may call it
 * without entering. */
GPM_MUST_USE bool la_enter(size_t threads);
void la_leave(size_t threads);

void la_gemv(size_t m, size_t n, double alpha, const double *a, size_t lda, const double *x,
             double beta, double *y); /* y = alpha A x + beta y */
void la_symv(size_t n, double alpha, const double *a, size_t lda, const double *x, double beta,
             double *y); /* lower triangle of A */
void la_gemm(bool ta, bool tb, size_t m, size_t n, size_t k, double alpha, const double *a,
             size_t lda, const double *b, size_t ldb, double beta, double *c, size_t ldc);
/* C = alpha A'A + beta C (trans) or alpha AA' + beta C; lower triangle of the n x n matrix C. */
void la_syrk(bool trans, size_t n, size_t k, double alpha, const double *a, size_t lda, double beta,
             double *c, size_t ldc);
/* B = L^-1 B or L^-T B, L lower triangular n x n, B n x nrhs. */
void la_trsm(bool trans, size_t n, size_t nrhs, const double *l, size_t ldl, double *b, size_t ldb);
/* B = B L^-T, B m x n: every row solved with L. Faster than la_trsm for many right-hand sides. */
void la_solve_rows(size_t n, size_t m, const double *l, size_t ldl, double *b, size_t ldb);
/* B = B L^-1, B m x n. */
void la_solve_rows_t(size_t n, size_t m, const double *l, size_t ldl, double *b, size_t ldb);
/* b = b L^-1 or b L^-T, b of m rows and n columns */
void la_trsm_right(bool trans, size_t m, size_t n, const double *l, size_t ldl, double *b,
                   size_t ldb);
void la_trsv(bool trans, size_t n, const double *l, size_t ldl, double *x);
void la_trmv(bool trans, size_t n, const double *l, size_t ldl, double *x); /* x = L x or L'x */

/* Cholesky factor of the lower triangle, in place. GPM_E_NOT_PD if a pivot is not positive: *pivot
 * is its index from 0, and the triangle is garbage. Hand-written tiles for small n, recursion on
 * BLAS above. The upper triangle is scratch. */
GPM_MUST_USE enum gpm_status la_potrf(size_t n, double *a, size_t lda, size_t *pivot);
/* Lower triangle of (LL')^-1 into a, which may be l. The upper triangle is scratch. */
void la_inverse(size_t n, const double *l, size_t ldl, double *a, size_t lda);

/* Eigenvalues (ascending) and vectors of a symmetric matrix, lower triangle in a; the vectors
 * replace a. */
GPM_MUST_USE enum gpm_status la_syev(size_t n, double *a, size_t lda, double *w);
#endif
