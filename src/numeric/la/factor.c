/* SPDX-License-Identifier: Apache-2.0
 *
 * Cholesky factor and inverse of any size. Factor: register tiles (vec_ops.h) up to the size where
 * they are faster. Above it, block columns by tiles and the trailing matrix by BLAS or, with narrow
 * tiles, recursive halving (L11, then L21 = K21 L11^-T, then the factor of K22 - L21 L21').
 * Inverse: register tiles, or LAPACK above their size. */
#include "base/mem.h"
#include "base/work.h"
#include "numeric/la/blas.h"
#include "numeric/la/vec_ops.h"

#include <cblas.h>
#include <stdint.h>
#include <string.h>

void dpotri_(const char *uplo, const int *n, double *a, const int *lda, int *info);

enum { COLUMNS = 256, LONG_INVERSE = 3000 }; /* LONG_INVERSE takes LAPACK a second */

/* Halves that keep the first one a multiple of 8, so that columns stay aligned. */
static size_t half(size_t n) {
    return (n / 2 + 7) & ~(size_t)7;
}

/* Block columns by register tiles, the trailing matrix by BLAS. */
static size_t blocked(const struct vec_ops *v, size_t n, double *a, size_t lda) {
    for (size_t o = 0; o < n; o += v->block) {
        size_t w = n - o < v->block ? n - o : v->block, m = n - o - w;
        double *at = a + o + o * lda;
        size_t bad = v->potrf(w, at, lda);
        if (bad) return bad == SIZE_MAX ? bad : o + bad;
        if (m == 0) break;
        if (work_ends()) return SIZE_MAX;
        if (v->solve_rows(w, at, lda, m, at + w, lda)) return SIZE_MAX;
        la_syrk(false, m, w, -1, at + w, lda, 1, at + w + w * lda, lda);
    }
    return 0;
}

static size_t factor(const struct vec_ops *v, size_t n, double *a, size_t lda) {
    if (n <= v->potrf_max) return v->potrf(n, a, lda);
    if (v->block) return blocked(v, n, a, lda);
    size_t h = half(n), m = n - h;
    double *a21 = a + h, *a22 = a + h + h * lda;
    size_t bad = factor(v, h, a, lda);
    if (bad) return bad;
    if (n > v->potrf_max * 8 && work_ends()) return SIZE_MAX;
    la_trsm_right(true, m, h, a, lda, a21, lda);
    la_syrk(false, m, h, -1, a21, lda, 1, a22, lda);
    bad = factor(v, m, a22, lda);
    return bad == 0 || bad == SIZE_MAX ? bad : h + bad;
}

enum gpm_status la_potrf(size_t n, double *a, size_t lda, size_t *pivot) {
    la_init();
    size_t bad = factor(vec_ops(), n, a, lda);
    if (bad == 0) return GPM_OK;
    if (bad == SIZE_MAX) return GPM_E_NOMEM;
    *pivot = bad - 1;
    return GPM_E_NOT_PD;
}

/* In place, by columns of the identity. The lower triangle of the inverse from column o on needs
 * only the factor from row and column o on. */
static void inverse_by_columns(size_t n, double *a, size_t lda) {
    double *b = mem_try_doubles(n * COLUMNS);
    for (size_t o = 0; b && o < n && !work_ends(); o += COLUMNS) {
        size_t m = n - o, w = m < COLUMNS ? m : COLUMNS;
        memset(b, 0, m * w * sizeof *b);
        for (size_t j = 0; j < w; j++) b[j + j * m] = 1;
        la_trsm(false, m, w, a + o + o * lda, lda, b, m);
        la_trsm(true, m, w, a + o + o * lda, lda, b, m);
        for (size_t j = 0; j < w; j++)
            memcpy(a + o + j + (o + j) * lda, b + j + j * m, (m - j) * sizeof *b);
    }
    int in = (int)n, il = (int)lda, info = 0;
    if (!b) dpotri_("L", &in, a, &il, &info);
    mem_free(b);
}

/* Without memory for the packed tiles, or above the size where they are faster, LAPACK inverts in
 * place. */
void la_inverse(size_t n, const double *l, size_t ldl, double *a, size_t lda) {
    const struct vec_ops *v = vec_ops();
    la_init();
    if (n == 0 || (n <= v->potri_max && v->potri(n, l, ldl, a, lda) == 0)) return;
    for (size_t j = 0; j < n && a != l; j++)
        memcpy(a + j + j * lda, l + j + j * ldl, (n - j) * sizeof *a);
    int in = (int)n, il = (int)lda, info = 0;
    if (n > LONG_INVERSE)
        inverse_by_columns(n, a, lda);
    else
        dpotri_("L", &in, a, &il, &info);
}

/* Few rows do not repay packing the factor. */
void la_solve_rows(size_t n, size_t m, const double *l, size_t ldl, double *b, size_t ldb) {
    const struct vec_ops *v = vec_ops();
    la_init();
    if (n == 0 || m == 0) return;
    if (m >= 16 && n <= v->potrf_max && v->solve_rows(n, l, ldl, m, b, ldb) == 0) return;
    la_trsm_right(true, m, n, l, ldl, b, ldb);
}

void la_solve_rows_t(size_t n, size_t m, const double *l, size_t ldl, double *b, size_t ldb) {
    la_init();
    if (n == 0 || m == 0) return;
    la_trsm_right(false, m, n, l, ldl, b, ldb);
}
