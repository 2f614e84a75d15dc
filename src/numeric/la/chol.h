/* SPDX-License-Identifier: Apache-2.0
 *
 * Cholesky factor object: K + jitter I = L L', n x n, lower triangle, column-major. Build from a
 * fill callback with a jitter ladder; append rows, delete a row, rank-1 update and downdate in
 * O(n^2); solve; log determinant. The leading dimension doubles, so appends copy rarely.
 *
 * Jitter ladder: the matrix is tried without jitter, then with 1e-10 of the mean diagonal, then ten
 * times more at each step up to 1e-4. A factor whose smallest pivot is rounding noise (of the order
 * of n * eps * the largest diagonal element) counts as failed, since its log determinant would be
 * meaningless.
 *
 * The appended or updated factor keeps the jitter it was built with; a pivot that is not clearly
 * positive gives GPM_E_NOT_PD and leaves the factor as it was, so that the caller can rebuild. */
#ifndef LA_CHOL_H
#define LA_CHOL_H
#include "gpmem/status.h"
#include <stdbool.h>
#include <stddef.h>

/* All zero: the factor of an empty matrix. */
struct chol {
    double *l;             /* owned; lower triangle valid, the rest is scratch */
    size_t n, ld;          /* ld is also the capacity */
    double jitter;         /* absolute amount on the diagonal; 0 in the normal case */
    int steps;             /* number of rungs of the ladder used */
    size_t pivot;          /* after GPM_E_NOT_PD: the row that failed */
    unsigned long changes; /* grows with every change; earlier solutions are valid until then */
};

#define CHOL_JITTER_FIRST 1e-10
#define CHOL_JITTER_LAST  1e-4

/* Fills the lower triangle (diagonal included) of the n x n matrix; may be called once per rung. */
typedef enum gpm_status (*chol_fill_fn)(void *ctx, double *a, size_t n, size_t ld);

void chol_release(struct chol *c);
GPM_MUST_USE enum gpm_status chol_copy(struct chol *dst,
                                       const struct chol *src);      /* dst may be zero */
GPM_MUST_USE enum gpm_status chol_reserve(struct chol *c, size_t n); /* keeps the factor */

/* GPM_E_NOT_PD when the last rung fails; c->n is then 0. */
GPM_MUST_USE enum gpm_status chol_build(struct chol *c, size_t n, chol_fill_fn fill, void *ctx);
/* The same from a stored lower triangle, which is not changed. */
GPM_MUST_USE enum gpm_status chol_build_from(struct chol *c, size_t n, const double *k, size_t ldk);

/* Appends m rows: cross is the n x m block K(old, new), corner the m x m lower triangle K(new,
 * new). Both are overwritten. */
GPM_MUST_USE enum gpm_status chol_append(struct chol *c, size_t m, double *cross, size_t ldcross,
                                         double *corner, size_t ldcorner);
/* The same for one row, whose v = L^-1 K(old, new) is already known. */
GPM_MUST_USE enum gpm_status chol_append_solved(struct chol *c, const double *v, double corner);
void chol_delete(struct chol *c, size_t i);
/* Factor of LL' + xx'; x is overwritten. */
void chol_update(struct chol *c, double *x);
/* Factor of LL' - xx'; GPM_E_NOT_PD (factor unchanged) if that is not positive definite. */
GPM_MUST_USE enum gpm_status chol_downdate(struct chol *c, double *x);

void chol_solve_l(const struct chol *c, double *b, size_t nrhs, size_t ldb);  /* b = L^-1 b */
void chol_solve_lt(const struct chol *c, double *b, size_t nrhs, size_t ldb); /* b = L^-T b */
void chol_solve(const struct chol *c, double *b, size_t nrhs, size_t ldb);    /* b = K^-1 b */
double chol_logdet(const struct chol *c);                                     /* log |LL'| */
double chol_condition(const struct chol *c); /* estimated 2-norm condition number, O(n^2) */
/* Lower triangle of K^-1 into a (n x n, lda). */
void chol_inverse(const struct chol *c, double *a, size_t lda);

/* Soundness tests for a factor of n rows computed elsewhere. Either its least pivot is clear of
 * rounding given the largest variance, or L^-1 times the signs shows that rounding changes
 * nothing. */
bool chol_pivot_clear(size_t n, double least, double max);
void chol_signs(size_t n, double *s);
bool chol_rounding_small(size_t n, const double *solved, double max);
#endif
