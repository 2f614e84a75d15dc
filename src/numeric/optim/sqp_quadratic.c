/* SPDX-License-Identifier: Apache-2.0
 * Quadratic programs by the dual active-set method of Goldfarb and Idnani (Mathematical Programming
 * 27, 1983). B = L L'. The first q columns of Z = L^-T Q span the active rows, the others the
 * complement. R (upper triangular, q x q) holds their normals: Z' N = [R; 0]. It starts at the
 * unconstrained minimum. The most violated row is made active, and rows whose multipliers would
 * become negative are dropped, until no row is violated. */
#include "base/mem.h"
#include "numeric/la/blas.h"
#include "numeric/optim/sqp.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

struct quad {
    size_t n, q;    /* unknowns; active rows */
    double *Z;      /* n x n by columns */
    double *R;      /* n x n by columns */
    double *d, *z;  /* Z' of the new normal; the step in x */
    double *r;      /* the step in the multipliers */
    double *u;      /* multipliers of active rows, and of the entering one */
    size_t *active; /* indexes of the active rows */
};

/* Rotates columns i, j of M so that with (a, b)' goes to (hypot, 0)'. */
static void rotate(double *M, size_t n, size_t i, size_t j, double c, double s) {
    double *p = M + i * n, *q = M + j * n;
    for (size_t k = 0; k < n; k++) {
        double t = p[k];
        p[k] = c * t + s * q[k];
        q[k] = c * q[k] - s * t;
    }
}

/* Z = L^-T from the factor in B (lower, by columns; B is symmetric, so rows are columns). */
static void invert_transposed(size_t n, const double *L, double *Z) {
    memset(Z, 0, n * n * sizeof *Z);
    for (size_t j = 0; j < n; j++) {
        Z[j * n + j] = 1;
        la_trsv(true, n, L, n, Z + j * n);
    }
}

static void directions(struct quad *w, const double *normal) {
    size_t n = w->n;
    for (size_t j = 0; j < n; j++) {
        w->d[j] = 0;
        for (size_t i = 0; i < n; i++) w->d[j] += w->Z[j * n + i] * normal[i];
    }
    memset(w->z, 0, n * sizeof *w->z);
    for (size_t j = w->q; j < n; j++)
        for (size_t i = 0; i < n; i++) w->z[i] += w->Z[j * n + i] * w->d[j];
    for (size_t i = w->q; i-- > 0;) {
        double t = w->d[i];
        for (size_t j = i + 1; j < w->q; j++) t -= w->R[j * n + i] * w->r[j];
        w->r[i] = t / w->R[i * n + i];
    }
}

/* Makes the row whose d is known active; false if it depends on active ones. */
static bool add_row(struct quad *w, size_t row) {
    size_t n = w->n, q = w->q;
    for (size_t j = n - 1; j > q; j--) { /* d[q+1..] to zero */
        double h = hypot(w->d[j - 1], w->d[j]);
        if (h == 0) continue;
        double c = w->d[j - 1] / h, s = w->d[j] / h;
        w->d[j - 1] = h;
        w->d[j] = 0;
        rotate(w->Z, n, j - 1, j, c, s);
    }
    if (!(fabs(w->d[q]) > 1e-14)) return false;
    for (size_t i = 0; i <= q; i++) w->R[q * n + i] = w->d[i];
    w->active[q] = row;
    w->q++;
    return true;
}

static void drop_row(struct quad *w, size_t at) {
    size_t n = w->n;
    for (size_t j = at + 1; j < w->q; j++) {
        memcpy(w->R + (j - 1) * n, w->R + j * n, (j + 1) * sizeof(double));
        w->active[j - 1] = w->active[j];
        w->u[j - 1] = w->u[j];
    }
    w->u[w->q - 1] = w->u[w->q]; /* the entering row's multiplier follows */
    w->q--;
    for (size_t j = at; j < w->q; j++) { /* R is upper Hessenberg from here on */
        double a = w->R[j * n + j], b = w->R[j * n + j + 1], h = hypot(a, b);
        if (h == 0) continue;
        double c = a / h, s = b / h;
        for (size_t k = j; k < w->q; k++) {
            double *p = w->R + k * n + j, t = p[0];
            p[0] = c * t + s * p[1];
            p[1] = c * p[1] - s * t;
        }
        rotate(w->Z, n, j, j + 1, c, s);
    }
}

/* Makes row `row` active, whose normal is given and which p violates by `lack` > 0. */
static enum gpm_status enter(struct quad *w, const double *normal, size_t row, double lack,
                             double *p) {
    w->u[w->q] = 0;
    for (;;) {
        size_t blocking = SIZE_MAX;
        double dual = INFINITY, slope = 0, size = 0;
        directions(w, normal);
        for (size_t j = 0; j < w->q; j++)
            if (w->r[j] > 0 && w->u[j] / w->r[j] < dual) dual = w->u[j] / w->r[j], blocking = j;
        for (size_t j = 0; j < w->n; j++) { /* slope = z'n = |d2|^2 */
            size += w->d[j] * w->d[j];
            if (j >= w->q) slope += w->d[j] * w->d[j];
        }
        double primal = slope > 1e-14 * size ? lack / slope : INFINITY;
        double t = fmin(dual, primal);
        if (isinf(t)) return GPM_E_NOT_FOUND;
        if (isfinite(primal))
            for (size_t i = 0; i < w->n; i++) p[i] += t * w->z[i];
        for (size_t j = 0; j < w->q; j++) w->u[j] -= t * w->r[j];
        w->u[w->q] += t;
        if (t == primal) return add_row(w, row) ? GPM_OK : GPM_E_NOT_FOUND;
        if (isfinite(primal)) lack -= t * slope;
        drop_row(w, blocking);
    }
}

static enum gpm_status solve(struct quad *w, size_t k, const double *A, const double *b,
                             double *p) {
    size_t n = w->n;
    for (size_t round = 0; round < 10 * (n + k); round++) {
        double worst = 0;
        size_t row = SIZE_MAX;
        for (size_t i = 0; i < k; i++) {
            double lack = b[i], size = fabs(b[i]);
            for (size_t j = 0; j < n; j++) {
                lack -= A[i * n + j] * p[j];
                size += fabs(A[i * n + j] * p[j]);
            }
            if (lack > worst && lack > 1e-12 * size) worst = lack, row = i;
        }
        for (size_t j = 0; j < w->q; j++)
            if (w->active[j] == row) return GPM_OK; /* satisfied up to rounding */
        if (row == SIZE_MAX) return GPM_OK;
        enum gpm_status s = enter(w, A + row * n, row, worst, p);
        if (s) return s;
    }
    return GPM_E_NOT_FOUND;
}

enum gpm_status sqp_quadratic(size_t n, double *B, const double *g, size_t k, const double *A,
                              const double *b, double *p, double *u) {
    size_t pivot;
    if (la_potrf(n, B, n, &pivot)) return GPM_E_NOT_PD;
    double *block = mem_zalloc(sizeof(double) * (2 * n * n + 5 * n + 2));
    struct quad w = {.n = n, .Z = block, .R = block + n * n};
    w.d = w.R + n * n, w.z = w.d + n, w.r = w.z + n, w.u = w.r + n;
    w.active = NEW_ARRAY(size_t, n + 1);
    invert_transposed(n, B, w.Z);
    for (size_t i = 0; i < n; i++) p[i] = -g[i];
    la_trsv(false, n, B, n, p);
    la_trsv(true, n, B, n, p);
    enum gpm_status s = solve(&w, k, A, b, p);
    memset(u, 0, k * sizeof *u);
    for (size_t j = 0; !s && j < w.q; j++) u[w.active[j]] = w.u[j];
    mem_free(block);
    mem_free(w.active);
    return s;
}
