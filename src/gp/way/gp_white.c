/* SPDX-License-Identifier: Apache-2.0
 *
 * Whitened Gaussian processes; contracts in gp_white.h. Reverse mode through the factor (Murray
 * 2016, Differentiation of the Cholesky decomposition): with the adjoint D of L,
 *
 *     P = tril(L' D), its diagonal halved,    adjoint of K = 1/2 L^-T (P + P') L^-1. */
#include "gp/way/gp_white.h"

#include "base/mem.h"
#include "numeric/la/blas.h"
#include "numeric/la/mat.h"
#include <float.h>
#include <math.h>
#include <string.h>

static enum gpm_status fill(void *ctx, double *a, size_t n, size_t ld) {
    const struct gp_white *w = ctx;
    return kern_fill(w->kern, w->at, a, ld);
}

/* Detects a regular grid in order in points of one column, to 1e-10 of a step or rounding. Kernels
 * are then evaluated by lag. */
static void find_grid(struct kern_pts *x) {
    if (x->dim != 1 || x->n < 3) return;
    double lo = x->x[0], step = (x->x[x->n - 1] - lo) / (double)(x->n - 1);
    double largest = fmax(fabs(lo), fabs(x->x[x->n - 1]));
    double off = fmax(1e-10 * step, fmin(4 * DBL_EPSILON * largest, 1e-6 * step));
    for (size_t i = 0; i < x->n; i++)
        if (!(step > 0) || fabs(x->x[i] - (lo + (double)i * step)) > off) return;
    x->step = step;
    x->grid = x->n;
    x->distinct = true;
}

enum gpm_status gp_white_init(struct gp_white *w, const struct kern *k, const struct mean *mean,
                              const double *x, size_t n, int dim) {
    size_t d = (size_t)dim;
    *w = (struct gp_white){.kern = k, .mean = mean};
    if (kern_check_dim(k, dim, NULL) != GPM_OK) return GPM_E_ARG;
    w->x = NEW_ARRAY(double, n *d + 1);
    w->m = NEW_ARRAY(double, n + 1);
    for (size_t i = 0; i < n * d; i++) w->x[i / d + i % d * n] = x[i];
    w->at = (struct kern_pts){.x = w->x, .n = n, .ld = n, .dim = dim};
    find_grid(&w->at);
    enum gpm_status st = mean_eval(mean, w->at, w->m);
    return st == GPM_OK ? chol_build(&w->f, n, fill, w) : st;
}

void gp_white_release(struct gp_white *w) {
    chol_release(&w->f);
    mem_free(w->x);
    mem_free(w->m);
}

void gp_white_times(const struct gp_white *w, bool transposed, double *v) {
    if (w->at.n) la_trmv(transposed, w->at.n, w->f.l, w->f.ld, v);
}

void gp_white_values(const struct gp_white *w, const double *z, double *f) {
    size_t n = w->at.n;
    if (n) memcpy(f, z, n * sizeof *f);
    gp_white_times(w, false, f);
    for (size_t i = 0; i < n; i++) f[i] += w->m[i];
}

/* The adjoint of K from that of L, which is the lower triangle of d z'; a: n x n. */
static void factor_back(const struct gp_white *w, const double *z, const double *d, double *a,
                        size_t ld) {
    size_t n = w->at.n;
    for (size_t j = 0; j < n; j++)
        for (size_t i = 0; i < n; i++) a[i + j * ld] = i < j ? 0 : d[i] * z[j];
    for (size_t j = 0; j < n; j++) la_trmv(true, n, w->f.l, w->f.ld, a + j * ld);
    mat_mirror(a, n, ld); /* P + P': the diagonal is halved and doubled */
    la_trsm(true, n, n, w->f.l, w->f.ld, a, ld);
    la_solve_rows_t(n, n, w->f.l, w->f.ld, a, ld);
    for (size_t j = 0; j < n; j++)
        for (size_t i = 0; i < n; i++) a[i + j * ld] *= 0.5;
}

enum gpm_status gp_white_back(const struct gp_white *w, const double *z, const double *d,
                              double *dz, double *dkern, double *dmean) {
    size_t n = w->at.n, ld = mat_ld(n);
    memset(dkern, 0, kern_nparam(w->kern) * sizeof *dkern);
    if (w->mean) mean_grad(w->mean, w->at, d, dmean);
    if (!n) return GPM_OK;
    memcpy(dz, d, n * sizeof *dz);
    gp_white_times(w, true, dz);
    double *a = mem_try_doubles(ld * n);
    if (!a) return GPM_E_NOMEM;
    factor_back(w, z, d, a, ld);
    enum gpm_status st = kern_grad_add(w->kern, w->at, NULL, a, ld, dkern);
    mem_free(a);
    return st;
}
