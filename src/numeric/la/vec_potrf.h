/* SPDX-License-Identifier: Apache-2.0
 *
 * Cholesky factor and inverse by register tiles; part of vec_body.h, compiled per instruction set.
 *
 * A tile is MR rows by NR columns held in vector registers. Rows of the factor are kept packed, MR
 * at a time: tile t holds, for k = 0, 1, ..., the MR values L[t*MR .. t*MR+MR-1, k] one after
 * another, so the inner loop reads both operands in order. A panel of up to NB columns is factored
 * column block by column block (left-looking: every element is loaded and stored once), then the
 * trailing matrix is updated with it. For n <= SINGLE there is only one panel.
 *
 * On this kind of machine library routines reach a third of peak speed at n = 150 to 500; this is
 * where short series and Bayesian optimisation live.
 */
#ifndef LA_VEC_POTRF_H
#define LA_VEC_POTRF_H
#include "base/mem.h"

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

#if defined(__AVX512F__)
enum { VL = 8, MV = 3, NR = 8 };
#elif defined(__AVX2__)
enum { VL = 4, MV = 3, NR = 4 };
#elif defined(__aarch64__)
enum { VL = 2, MV = 4, NR = 4 };
#else
enum { VL = 2, MV = 2, NR = 4 };
#endif
enum { MR = VL * MV, NB = MR * (144 / MR), SINGLE = 320, GROUP = 12 };

typedef double vd __attribute__((vector_size(VL * 8)));
typedef double vdu __attribute__((vector_size(VL * 8), aligned(8), may_alias));
typedef long long vl __attribute__((vector_size(VL * 8)));
typedef vd tile[NR][MV];

#define ALWAYS static inline __attribute__((always_inline))
#if defined(__clang__)
#define UNROLL _Pragma("unroll")
#define PLAIN  _Pragma("nounroll")
#else
#define UNROLL _Pragma("GCC unroll 8")
#define PLAIN  _Pragma("GCC unroll 1")
#endif

ALWAYS void tile_load(tile c, const double *a, size_t ld) {
    UNROLL for (int j = 0; j < NR; j++) UNROLL for (int v = 0; v < MV; v++) c[j][v] =
        *(const vdu *)(a + (size_t)j * ld + v * VL);
}

ALWAYS void tile_store(tile c, double *a, size_t ld) {
    UNROLL for (int j = 0; j < NR; j++) UNROLL for (int v = 0; v < MV; v++) *
        (vdu *)(a + (size_t)j * ld + v * VL) = c[j][v];
}

/* Stores the part on or below the diagonal that starts at row lo. */
ALWAYS void tile_store_lower(tile c, double *a, size_t ld, size_t lo) {
    vl lane;
    UNROLL for (int i = 0; i < VL; i++) lane[i] = i;
    UNROLL for (int j = 0; j < NR; j++) UNROLL for (int v = 0; v < MV; v++) {
        vdu *at = (vdu *)(a + (size_t)j * ld + v * VL);
        vl keep = lane + v * VL >= (long long)lo + j;
        *at = (vdu)((keep & (vl)c[j][v]) | (~keep & (vl)(vd)*at));
    }
}

/* c += A B', or -= (minus, a constant): a packed MR wide, b the NR values of step k at b + k ldb.
 */
ALWAYS void tile_update(tile c, bool minus, size_t kb, const double *a, const double *b,
                        size_t ldb) {
    for (size_t k = 0; k < kb; k++) {
        vd x[MV];
        UNROLL for (int v = 0; v < MV; v++) x[v] = *(const vdu *)(a + k * MR + v * VL);
        UNROLL for (int j = 0; j < NR; j++) UNROLL for (int v = 0; v < MV; v++) {
            vd y = x[v] * b[k * ldb + (size_t)j];
            c[j][v] = minus ? c[j][v] - y : c[j][v] + y;
        }
    }
}

/* c = c T^-T, T the NR x NR lower triangle t[i + j * NR], inv its reciprocal diagonal. */
ALWAYS void tile_solve(tile c, const double *t, const double *inv) {
    UNROLL for (int j = 0; j < NR; j++) { /* right-looking: short chains of dependent operations */
        UNROLL for (int v = 0; v < MV; v++) c[j][v] *= inv[j];
        UNROLL for (int q = j + 1; q < NR; q++) UNROLL for (int v = 0; v < MV; v++) c[q][v] -=
            c[j][v] * t[q + j * NR];
    }
}

/* NR x NR Cholesky of the block at a (leading dimension ld, n valid columns; the rest is identity).
 * Returns 0 or 1 + the failing column. */
static size_t corner(const double *a, size_t ld, size_t n, double *t, double *inv) {
    for (size_t j = 0; j < NR; j++)
        for (size_t i = 0; i < NR; i++) t[i + j * NR] = i < n && j < n ? a[i + j * ld] : i == j;
    for (size_t j = 0; j < NR; j++) { /* whole columns: what lands above the diagonal is not read */
        double d = t[j + j * NR];
        if (!(d > 0)) return j + 1;
        double r = 1 / d; /* division and root run side by side */
        d = sqrt(d);
        inv[j] = d * r;
        for (size_t i = 0; i < NR; i++) t[i + j * NR] *= inv[j];
        t[j + j * NR] = d;
        for (size_t q = j + 1; q < NR; q++) {
            double f = t[q + j * NR];
            for (size_t i = 0; i < NR; i++) t[i + q * NR] -= t[i + j * NR] * f;
        }
    }
    return 0;
}

static size_t least2(size_t a, size_t b) {
    return a < b ? a : b;
}

/* Rows and columns of a tile that exist; others are read as 0 and not written. */
ALWAYS void edge_load(tile c, const double *a, size_t ld, size_t rows, size_t cols) {
    double buf[MR * NR];
    memset(buf, 0, sizeof buf);
    for (size_t j = 0; j < cols; j++) memcpy(buf + j * MR, a + j * ld, rows * sizeof *buf);
    tile_load(c, buf, MR);
}

/* A whole tile, or the part of it that exists. */
ALWAYS void fetch(tile c, bool whole, const double *a, size_t ld, size_t rows, size_t cols) {
    if (whole)
        tile_load(c, a, ld);
    else
        edge_load(c, a, ld, rows, cols);
}

/* Writes the columns that exist: all their rows, or those on or below the diagonal at (lo, 0). */
static void edge_store(const double *from, double *a, size_t ld, bool diagonal, size_t lo,
                       size_t rows, size_t cols) {
    for (size_t j = 0; j < cols; j++) {
        size_t first = diagonal ? lo + j : 0;
        if (first < rows)
            memcpy(a + j * ld + first, from + j * MR + first, (rows - first) * sizeof *from);
    }
}

/* Column block j0 (width cols) of the tile that holds its diagonal, rows j0 - lo .. : updates it
 * with the columns before, factors the corner, solves. p: this tile packed. */
static size_t diagonal_tile(double *a, size_t ld, size_t j0, size_t lo, size_t rows, size_t cols,
                            double *p, double *t, double *inv) {
    double buf[MR * NR];
    tile c;
    double *at = a + (j0 - lo) + j0 * ld;
    bool whole = rows == MR && cols == NR;
    fetch(c, whole, at, ld, rows, cols); /* also above the diagonal, which is never stored */
    tile_update(c, true, j0, p, p + lo, MR);
    tile_store(c, buf, MR);
    size_t bad = corner(buf + lo, MR, cols, t, inv);
    if (bad) return j0 + bad;
    tile_solve(c, t, inv);
    tile_store(c, p + j0 * MR, MR);
    if (whole)
        tile_store_lower(c, at, ld, lo);
    else
        edge_store(p + j0 * MR, at, ld, true, lo, rows, cols);
    return 0;
}

/* One tile below the diagonal, column block j0. b: the packed rows of the column block. */
static void panel_tile(double *at, size_t ld, size_t j0, size_t rows, size_t cols, double *p,
                       const double *b, const double *t, const double *inv) {
    tile c;
    bool whole = rows == MR && cols == NR;
    fetch(c, whole, at, ld, rows, cols);
    tile_update(c, true, j0, p, b, MR);
    tile_solve(c, t, inv);
    tile_store(c, p + j0 * MR, MR);
    if (whole)
        tile_store(c, at, ld);
    else
        edge_store(p + j0 * MR, at, ld, false, 0, rows, cols);
}

/* Panel of m rows and nb columns. pack: tiles of `stride` doubles; tri: corners and reciprocals of
 * every column block, for the rows below. */
static size_t panel(double *a, size_t ld, size_t m, size_t nb, double *pack, size_t stride,
                    double *tri) {
    size_t top = least2((nb + MR - 1) / MR * MR, m), width = NR * NR + NR;
    for (size_t j0 = 0; j0 < nb; j0 += NR) {
        size_t d = j0 / MR, cols = least2(NR, nb - j0);
        double *t = tri + j0 / NR * width, *inv = t + NR * NR, *pd = pack + d * stride;
        size_t lo = j0 - d * MR;
        size_t bad = diagonal_tile(a, ld, j0, lo, least2(MR, m - d * MR), cols, pd, t, inv);
        if (bad) return bad;
        for (size_t r = d + 1; r * MR < top; r++)
            panel_tile(a + r * MR + j0 * ld, ld, j0, least2(MR, m - r * MR), cols,
                       pack + r * stride, pd + lo, t, inv);
    }
    for (size_t r = (top + MR - 1) / MR; r * MR < m; r++)
        for (size_t j0 = 0; j0 < nb; j0 += NR) {
            const double *t = tri + j0 / NR * width;
            size_t d = j0 / MR;
            panel_tile(a + r * MR + j0 * ld, ld, j0, least2(MR, m - r * MR), least2(NR, nb - j0),
                       pack + r * stride, pack + d * stride + (j0 - d * MR), t, t + NR * NR);
        }
    return 0;
}

/* One tile of a product of packed rows, added to the present content or (fresh) to zero. */
ALWAYS void product_tile(bool minus, double *at, size_t ld, size_t kb, size_t rows, size_t cols,
                         const double *pr, const double *pq, bool fresh, bool diagonal, size_t lo) {
    tile c;
    bool whole = rows == MR && cols == NR && !diagonal;
    if (fresh)
        memset(c, 0, sizeof c);
    else
        fetch(c, whole, at, ld, rows, cols);
    tile_update(c, minus, kb, pr, pq, MR);
    if (whole) {
        tile_store(c, at, ld);
        return;
    }
    double buf[MR * NR];
    tile_store(c, buf, MR);
    edge_store(buf, at, ld, diagonal, lo, rows, cols);
}

/* The lower triangle of the n x n matrix at a, as far as `tiles` rows of tiles go, plus or minus P
 * P' over columns [k, end) of the packed rows P; tiles are visited in groups of rows that stay in
 * the second cache. upper: row tile r of P begins at column r * MR, so the part that holds it is
 * the first to write there. */
ALWAYS void product(bool minus, bool upper, size_t n, size_t tiles, const double *pack,
                    size_t stride, size_t k, size_t end, double *a, size_t lda) {
    for (size_t g = 0; g < tiles; g += GROUP)
        for (size_t q = 0; q < least2(g + GROUP, tiles); q++)
            for (size_t r = g > q ? g : q; r < least2(g + GROUP, tiles); r++) {
                size_t from = upper && r * MR > k ? r * MR : k;
                for (size_t lo = 0; lo < MR && q * MR + lo < n; lo += NR)
                    product_tile(minus, a + r * MR + (q * MR + lo) * lda, lda, end - from,
                                 least2(MR, n - r * MR), least2(NR, n - q * MR - lo),
                                 pack + r * stride + from * MR, pack + q * stride + from * MR + lo,
                                 upper && r * MR >= k, r == q, lo);
            }
}

/* Covariances of distant points underflow, and arithmetic on denormal numbers is a hundred times
 * slower. They count as zero while a factor is computed; the caller's mode is restored. */
#if defined(__x86_64__)
static unsigned flush_on(void) {
    unsigned old = _mm_getcsr();
    _mm_setcsr(old | 0x8040);
    return old;
}
static void flush_restore(unsigned old) {
    _mm_setcsr(old);
}
#else
static unsigned flush_on(void) {
    return 0;
}
static void flush_restore(unsigned old) {}
#endif

/* Element (i, j) minus the contribution of earlier columns. */
ALWAYS double tiny_left(const double *a, size_t lda, size_t i, size_t j) {
    double s = a[i + j * lda];
    PLAIN for (size_t k = 0; k < j; k++) s -= a[i + k * lda] * a[j + k * lda];
    return s;
}

/* Rows i .. i + 2 pairs - 1 of column j of the factor, pairs a constant: sums stay in registers. */
typedef double pair __attribute__((vector_size(16), aligned(8), may_alias));
ALWAYS void tiny_rows(int pairs, double *a, size_t lda, size_t i, size_t j, double inverse) {
    pair s[2], *at = (pair *)(a + i + j * lda);
    UNROLL for (int r = 0; r < pairs; r++) s[r] = at[r];
    PLAIN for (size_t k = 0; k < j; k++) {
        const pair *from = (const pair *)(a + i + k * lda);
        UNROLL for (int r = 0; r < pairs; r++) s[r] -= a[j + k * lda] * from[r];
    }
    UNROLL for (int r = 0; r < pairs; r++) at[r] = s[r] * inverse;
}

/* Below this size packing is not worthwhile: columns from left to right. */
static size_t tiny_potrf(size_t n, double *a, size_t lda) {
    for (size_t j = 0; j < n; j++) {
        double d = tiny_left(a, lda, j, j);
        size_t i = j + 1;
        if (!(d > 0)) return j + 1;
        a[j + j * lda] = d = sqrt(d);
        for (; i + 4 <= n; i += 4) tiny_rows(2, a, lda, i, j, 1 / d);
        for (; i + 2 <= n; i += 2) tiny_rows(1, a, lda, i, j, 1 / d);
        if (i < n) a[i + j * lda] = tiny_left(a, lda, i, j) / d;
    }
    return 0;
}

/* Returns 0, 1 + the failing pivot, or SIZE_MAX when out of memory. */
static size_t v_potrf(size_t n, double *a, size_t lda) {
    if (n <= 40) return tiny_potrf(n, a, lda);
    unsigned mode = flush_on();
    size_t nb = n <= SINGLE ? (n + NR - 1) / NR * NR : NB, stride = nb * MR;
    size_t tiles = (n + MR - 1) / MR, width = NR * NR + NR, bad = 0;
    double *pack = mem_try_doubles(tiles * stride + (nb / NR) * width);
    if (!pack) bad = SIZE_MAX;
    for (size_t o = 0; o < n && !bad; o += nb) {
        size_t w = least2(nb, n - o), m = n - o;
        double *at = a + o + o * lda;
        bad = panel(at, lda, m, w, pack, stride, pack + tiles * stride);
        if (bad)
            bad += o;
        else if (m > w) /* w == NB, a multiple of MR: the tiles below start at w / MR */
            product(true, false, m - w, (m - w + MR - 1) / MR, pack + w / MR * stride, stride, 0, w,
                    at + w + w * lda, lda);
    }
    mem_free(pack);
    flush_restore(mode);
    return bad;
}
#endif
