/* SPDX-License-Identifier: Apache-2.0
 * Schur's and Levinson's recursions with contiguous loops; contracts in toeplitz.h. */
#include "numeric/la/toeplitz.h"

#include "base/mem.h"
#include "numeric/la/blas.h"
#include "numeric/la/vec_ops.h"

#include <math.h>
#include <string.h>

/* With u = r / sqrt(r_0), v = u but v_0 = 0, the columns of L are, for k = 0, 1, ...:
 * L(k.., k) = u; shift u down by one row; rho = v_k / u_k; u = (u - rho v) / sqrt(1 - rho^2),
 * v = sqrt(1 - rho^2) v - rho u (the mixed form, which is stable). L is never stored: each
 * right-hand side is eliminated meanwhile, z_k = y_k / L_kk, y -= z_k L(., k). */
enum gpm_status toeplitz_half_solve(size_t n, const double *r, double least, size_t nrhs, double *b,
                                    double *logdet, double *scratch) {
    const struct vec_ops *ops = vec_ops();
    double *u = scratch, *v = scratch + n, root = sqrt(r[0]), sum = log(root);
    if (!(r[0] > 0)) return GPM_E_NOT_PD;
    for (size_t i = 0; i < n; i++) v[i] = u[i] = r[i] / root;
    for (size_t c = 0; c < nrhs; c++) {
        double z = b[c * n] /= root;
        ops->axpy(n - 1, -z, u + 1, b + c * n + 1);
    }
    for (size_t k = 1; k < n; k++) {
        double rho = v[k] / u[0], q = (1 - rho) * (1 + rho);
        if (!(q > 0)) return GPM_E_NOT_PD;
        double f = 1 / sqrt(q), pivot = (u[0] - rho * v[k]) * f;
        if (!(pivot * pivot > least)) return GPM_E_NOT_PD;
        /* Row k + i of the new column is at u[i]; b + k is the rest of a right-hand side. */
        double z = b[k] / pivot;
        ops->schur(n - k, rho, f, z, u, v + k, b + k);
        b[k] = z;
        for (size_t c = 1; c < nrhs; c++) {
            double *y = b + c * n + k;
            z = y[0] / pivot;
            if (z != 0) ops->axpy(n - k, -z, u, y); /* a column may start with zeros */
            y[0] = z;
        }
        sum += log(pivot);
    }
    *logdet = 2 * sum;
    return GPM_OK;
}

/* f = (1, a_1 .. a_k) is the filter of order k with error variance e. g, its mirror image, grows at
 * the front, so the previous one is g[1..]. The column is stored mirrored, so every inner product
 * runs forward. */
struct filters {
    const struct vec_ops *ops;
    const double *mirror;
    double *f, *g, e, logdet;
    size_t n;
};

static bool filters_init(struct filters *w, size_t n, const double *r, double *scratch) {
    *w = (struct filters){vec_ops(), scratch, scratch + n, scratch + 3 * n - 1, r[0], log(r[0]), n};
    if (!(r[0] > 0)) return false;
    for (size_t i = 0; i < n; i++) scratch[n - 1 - i] = r[i];
    w->f[0] = w->g[0] = 1;
    return true;
}

/* r_k, r_k-1, ..., r_1 */
static const double *back(const struct filters *w, size_t k) {
    return w->mirror + w->n - 1 - k;
}

static bool filters_grow(struct filters *w, size_t k, double least) {
    double c = -w->ops->dot(k, back(w, k), w->f) / w->e;
    w->e *= 1 - c * c;
    if (!(w->e > least)) return false;
    w->logdet += log(w->e);
    w->f[k] = *--w->g = 0;
    w->ops->reflect(k + 1, c, w->f, w->g);
    return true;
}

/* zeros: nrhs numbers, the leading zeros of each right-hand side, which cost nothing. */
static enum gpm_status levinson(struct filters *w, double least, size_t nrhs, double *b,
                                size_t *zeros) {
    const struct vec_ops *ops = w->ops;
    size_t n = w->n;
    for (size_t q = 0; q < nrhs; q++) zeros[q] = (b[q * n] /= w->e) == 0;
    for (size_t k = 1; k < n; k++) {
        if (!filters_grow(w, k, least)) return GPM_E_NOT_PD;
        for (size_t q = 0; q < nrhs; q++) {
            double *x = b + q * n;
            if (zeros[q] == k && x[k] == 0) {
                zeros[q]++;
                continue;
            }
            double mu = (x[k] - (zeros[q] < k ? ops->dot(k, back(w, k), x) : 0)) / w->e;
            x[k] = 0;
            ops->axpy(k + 1, mu, w->g, x);
        }
    }
    return GPM_OK;
}

/* The filters g_k are the rows of L^-1 up to scaling: T^-1 b = sum_k g_k (g_k' b) / e_k. With many
 * right-hand sides a block of rows is multiplied with all of them. */
#define ROWS    32
#define SEVERAL 4   /* right-hand sides */
#define LONG    192 /* rows */

static enum gpm_status levinson_blocks(struct filters *w, double least, size_t nrhs, double *b) {
    size_t n = w->n;
    double *x = mem_try_doubles(n * nrhs + ROWS * n + ROWS * nrhs), *rows, *z, e[ROWS];
    if (!x) return GPM_E_NOMEM;
    rows = x + n * nrhs;
    z = rows + ROWS * n;
    memset(x, 0, n * nrhs * sizeof *x);
    enum gpm_status st = GPM_OK;
    for (size_t k = 0, first = 0; k < n && !st; k++) {
        size_t c = k - first, len = first + ROWS < n ? first + ROWS : n;
        if (k && !filters_grow(w, k, least)) st = GPM_E_NOT_PD;
        memcpy(rows + c * n, w->g, (k + 1) * sizeof *rows);
        memset(rows + c * n + k + 1, 0, (len - k - 1) * sizeof *rows);
        e[c] = w->e;
        if (k + 1 < len || st) continue;
        la_gemm(true, false, c + 1, nrhs, len, 1, rows, n, b, n, 0, z, ROWS);
        for (size_t q = 0; q < nrhs; q++)
            for (size_t i = 0; i <= c; i++) z[i + q * ROWS] /= e[i];
        la_gemm(false, false, len, nrhs, c + 1, 1, rows, n, z, ROWS, 1, x, n);
        first = len;
    }
    if (!st) memcpy(b, x, n * nrhs * sizeof *x);
    mem_free(x);
    return st;
}

enum gpm_status toeplitz_solve(size_t n, const double *r, double least, size_t nrhs, double *b,
                               double *u, double *logdet, double *scratch) {
    struct filters w;
    enum gpm_status st = GPM_OK;
    if (!filters_init(&w, n, r, scratch)) return GPM_E_NOT_PD;
    if (nrhs >= SEVERAL && n >= LONG) {
        st = levinson_blocks(&w, least, nrhs, b);
    } else {
        size_t *zeros = mem_zalloc((nrhs + 1) * sizeof *zeros);
        st = levinson(&w, least, nrhs, b, zeros);
        mem_free(zeros);
    }
    for (size_t i = 0; i < n && !st; i++) u[i] = w.f[i] / w.e;
    *logdet = w.logdet;
    return st;
}

void toeplitz_inverse_sums(size_t n, const double *u, double *s, double *scratch) {
    const struct vec_ops *ops = vec_ops();
    for (size_t i = 0; i < n; i++) scratch[i] = ((double)n - 2 * (double)i) * u[i];
    for (size_t l = 0; l < n; l++) {
        size_t m = n - l;
        s[l] = (ops->dot(m, scratch, u + l) - (double)l * ops->dot(m, u, u + l)) / u[0];
    }
}

void toeplitz_add_correlation(size_t n, double f, const double *x, double *s) {
    const struct vec_ops *ops = vec_ops();
    for (size_t l = 0; l < n; l++) s[l] += f * ops->dot(n - l, x, x + l);
}
