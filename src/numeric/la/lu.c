/* SPDX-License-Identifier: Apache-2.0
 * LU factorisation of LAPACK behind size_t; see lu.h. */
#include "numeric/la/lu.h"

#include "base/mem.h"
#include "numeric/la/blas.h"
#include <float.h>
#include <math.h>

void dgetrf_(const int *m, const int *n, double *a, const int *lda, int *ipiv, int *info);
void dgetrs_(const char *trans, const int *n, const int *nrhs, const double *a, const int *lda,
             const int *ipiv, double *b, const int *ldb, int *info);

static bool pivots_fit(size_t n, const double *a, size_t lda) {
    double least = INFINITY, most = 0;
    for (size_t i = 0; i < n; i++) {
        double u = fabs(a[i + i * lda]);
        if (!isfinite(u)) return false;
        least = fmin(least, u);
        most = fmax(most, u);
    }
    return n == 0 || least > (double)n * DBL_EPSILON * most;
}

/* Factors in place; returns the row exchanges (counted from 1), owned, or NULL without memory. */
static int *factor(size_t n, double *a, size_t lda, int *info) {
    int in = (int)n, ia = (int)lda, *pivots = mem_try_alloc(n, sizeof *pivots);
    la_init();
    if (pivots) dgetrf_(&in, &in, a, &ia, pivots, info);
    return pivots;
}

enum gpm_status la_gesv(size_t n, size_t nrhs, double *a, size_t lda, double *b, size_t ldb) {
    int in = (int)n, ir = (int)nrhs, ia = (int)lda, ib = (int)ldb, info = 0;
    if (n == 0 || nrhs == 0) return GPM_OK;
    int *pivots = factor(n, a, lda, &info);
    if (!pivots) return GPM_E_NOMEM;
    enum gpm_status st = info || !pivots_fit(n, a, lda) ? GPM_E_NOT_PD : GPM_OK;
    if (!st) dgetrs_("N", &in, &ir, a, &ia, pivots, b, &ib, &info);
    mem_free(pivots);
    return st;
}

enum gpm_status la_det(size_t n, double *a, size_t lda, double *out) {
    int info = 0, *pivots = n ? factor(n, a, lda, &info) : NULL;
    if (n && !pivots) return GPM_E_NOMEM;
    *out = 1;
    for (size_t i = 0; i < n; i++) /* each exchange flips the sign */
        *out *= pivots[i] == (int)i + 1 ? a[i + i * lda] : -a[i + i * lda];
    mem_free(pivots);
    return GPM_OK;
}
