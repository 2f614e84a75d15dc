/* SPDX-License-Identifier: Apache-2.0
 *
 * Triangular solves and the inverse by the register tiles of vec_potrf.h; part of vec_body.h.
 *
 * The factor is packed once (tiles of MR rows, corners with reciprocal diagonals), then rows are
 * solved MR at a time, X L' = B, column blocks from left to right; GATHER tiles share what was read
 * of L.
 */
#ifndef LA_VEC_SOLVE_H
#define LA_VEC_SOLVE_H
#include "numeric/la/vec_potrf.h"

enum { GATHER = 4, CORNER = NR * NR + NR, KC = 12 * MR, DIRECT = 600 };

/* L y = x or L' y = x in place, for small sizes. */
static void v_trsv(bool trans, size_t n, const double *l, size_t ld, double *__restrict__ x) {
    size_t k = 0;
    for (; k + 1 < n && !trans; k += 2) { /* two columns at a time */
        const double *a = l + k * ld, *b = a + ld;
        double x0 = x[k] /= a[k], x1 = x[k + 1] = (x[k + 1] - a[k + 1] * x0) / b[k + 1];
        PLAIN for (size_t i = k + 2; i < n; i++) x[i] -= a[i] * x0 + b[i] * x1;
    }
    if (k < n && !trans) x[k] /= l[k + k * ld];
    for (size_t j = n; j-- > 0 && trans;) {
        double sum = x[j];
        PLAIN for (size_t i = j + 1; i < n; i++) sum -= l[i + j * ld] * x[i];
        x[j] = sum / l[j + j * ld];
    }
}

/* Where the solver reads L: packed tiles, or the matrix itself while that is small enough not to
 * tire the address translation. */
struct factor_view {
    const double *l;
    size_t ld, stride; /* stride > 0: packed */
    const double *tri; /* corners */
};

/* The NR rows from j0 on, at column k; the step to the next column in *ldb. Rows past the end are
 * whatever follows: they only reach columns that are never read. */
ALWAYS const double *factor_rows(const struct factor_view *f, size_t j0, size_t k, size_t *ldb) {
    *ldb = f->stride ? (size_t)MR : f->ld;
    if (!f->stride) return f->l + j0 + k * f->ld;
    size_t q = j0 / MR;
    return f->l + q * f->stride + (j0 - q * MR) + k * MR;
}

static void pack_corners(size_t n, const double *l, size_t ld, double *tri) {
    for (size_t j0 = 0; j0 < n; j0 += NR) {
        double *t = tri + j0 / NR * CORNER;
        size_t cols = least2(NR, n - j0);
        for (size_t j = 0; j < NR; j++) {
            for (size_t i = 0; i < NR; i++)
                t[i + j * NR] = i < cols && j < cols && i >= j ? l[j0 + i + (j0 + j) * ld] : i == j;
            t[NR * NR + j] = 1 / t[j + j * NR];
        }
    }
}

/* lp: tiles of stride doubles. */
static void pack_factor(size_t n, const double *l, size_t ld, double *lp, size_t stride) {
    for (size_t r = 0; r * MR < n; r++) {
        size_t rows = least2(MR, n - r * MR);
        for (size_t k = 0; k < least2(r * MR + MR, n); k++) {
            double *to = lp + r * stride + k * MR;
            memcpy(to, l + r * MR + k * ld, rows * sizeof *to);
            if (rows < MR) memset(to + rows, 0, (MR - rows) * sizeof *to);
        }
    }
}

/* Column block j0 of the packed rows x (column k at x + k * MR), whose columns before k0 are zero.
 * The right-hand side stands in x, or is zero. */
static void solve_block(const struct factor_view *f, size_t j0, size_t k0, bool zero, double *x) {
    tile c;
    size_t ldb;
    const double *t = f->tri + j0 / NR * CORNER, *b = factor_rows(f, j0, k0, &ldb);
    if (zero)
        memset(c, 0, sizeof c);
    else
        tile_load(c, x + j0 * MR, MR);
    tile_update(c, true, j0 - k0, x + k0 * MR, b, ldb);
    tile_solve(c, t, t + NR * NR);
    tile_store(c, x + j0 * MR, MR);
}

/* Scratch of the solver: corners, the packed factor when it is large, then `extra` doubles. */
static double *solver_init(struct factor_view *f, size_t n, const double *l, size_t ld,
                           size_t extra, double **rest) {
    size_t tiles = (n + MR - 1) / MR, padded = tiles * MR, stride = padded * MR;
    size_t corners = padded / NR * CORNER, packed = n > DIRECT || ld < 2 * NR ? tiles * stride : 0;
    double *work = mem_try_doubles(corners + packed + extra);
    if (!work) return NULL;
    pack_corners(n, l, ld, work);
    if (packed) pack_factor(n, l, ld, work + corners, stride);
    *f = (struct factor_view){packed ? work + corners : l, ld, packed ? stride : 0, work};
    *rest = work + corners + packed;
    return work;
}

/* B = B L^-T in place; B is m x n. Returns 0, or SIZE_MAX when out of memory. */
static size_t v_solve_rows(size_t n, const double *l, size_t ld, size_t m, double *b, size_t ldb) {
    size_t stride = (n + MR - 1) / MR * MR * MR;
    struct factor_view f;
    double *x, *work = solver_init(&f, n, l, ld, GATHER * stride, &x);
    if (!work) return SIZE_MAX;
    unsigned mode = flush_on();
    memset(x, 0, GATHER * stride * sizeof *x);
    for (size_t i0 = 0; i0 < m; i0 += GATHER * MR) {
        size_t here = least2(GATHER * MR, m - i0), used = (here + MR - 1) / MR;
        for (size_t k = 0; k < n; k++)
            for (size_t t = 0; t < used; t++)
                memcpy(x + t * stride + k * MR, b + i0 + t * MR + k * ldb,
                       least2(MR, here - t * MR) * sizeof *x);
        for (size_t j0 = 0; j0 < n; j0 += NR)
            for (size_t t = 0; t < used; t++) solve_block(&f, j0, 0, false, x + t * stride);
        for (size_t k = 0; k < n; k++)
            for (size_t t = 0; t < used; t++)
                memcpy(b + i0 + t * MR + k * ldb, x + t * stride + k * MR,
                       least2(MR, here - t * MR) * sizeof *x);
    }
    flush_restore(mode);
    mem_free(work);
    return 0;
}

/* Rows of U = L^-T: X L' = I. Row tile r is zero before column r * MR. */
static void inverse_rows(size_t n, const struct factor_view *f, size_t stride, double *u) {
    size_t tiles = (n + MR - 1) / MR;
    for (size_t g = 0; g < tiles; g += GATHER) {
        size_t last = least2(g + GATHER, tiles);
        for (size_t r = g; r < last; r++) {
            double *block = u + r * stride + r * MR * MR;
            memset(block, 0, MR * MR * sizeof *u);
            for (size_t i = 0; i < MR; i++) block[i * MR + i] = 1;
        }
        for (size_t j0 = g * MR; j0 < n; j0 += NR)
            for (size_t r = g; r < last && r * MR <= j0; r++)
                solve_block(f, j0, r * MR, j0 >= (r + 1) * MR, u + r * stride);
    }
}

/* Lower triangle of (LL')^-1 = UU', the sum over columns of U in chunks that stay in the cache. */
static size_t v_potri(size_t n, const double *l, size_t ldl, double *a, size_t lda) {
    size_t tiles = (n + MR - 1) / MR, stride = tiles * MR * MR;
    struct factor_view f;
    double *u, *work = solver_init(&f, n, l, ldl, tiles * stride, &u);
    if (!work) return SIZE_MAX;
    unsigned mode = flush_on();
    inverse_rows(n, &f, stride, u);
    for (size_t k = 0, end; k < n; k = end) {
        end = least2(n, k + KC);
        product(false, true, n, (end + MR - 1) / MR, u, stride, k, end, a, lda);
    }
    flush_restore(mode);
    mem_free(work);
    return 0;
}
#endif
