/* SPDX-License-Identifier: Apache-2.0
 *
 * Multivariate normal, Wishart and inverse Wishart.
 */
#include "dist/matdist.h"
#include "base/mem.h"
#include "la/blas.h"
#include "la/chol.h"
#include "la/mat.h"
#include "math/dist.h"
#include "math/special.h"
#include <math.h>
#include <string.h>

bool matrix_is_symmetric(const double *a, size_t p) {
    double top = 0;
    for (size_t i = 0; i < p * p; i++) top = fmax(top, fabs(a[i]));
    for (size_t j = 0; j < p; j++)
        for (size_t i = j + 1; i < p; i++)
            if (!(fabs(a[i + j * p] - a[j + i * p]) <= 1e-8 * top)) return false;
    return true;
}

static void zero_upper(double *l, size_t p) {
    for (size_t j = 1; j < p; j++) memset(l + j * p, 0, j * sizeof *l);
}

enum gpm_status matrix_factor(const double *a, size_t p, double *l) {
    size_t pivot;
    memcpy(l, a, p * p * sizeof *l);
    enum gpm_status st = la_potrf(p, l, p, &pivot);
    if (st == GPM_OK) zero_upper(l, p);
    return st;
}

enum gpm_status covariance_factor(const double *a, size_t p, double *l) {
    struct chol f;
    chol_init(&f);
    enum gpm_status st = chol_build_from(&f, p, a, p);
    for (size_t j = 0; st == GPM_OK && j < p; j++) memcpy(l + j * p, f.l + j * f.ld, p * sizeof *l);
    if (st == GPM_OK) zero_upper(l, p);
    chol_release(&f);
    return st;
}

double factor_logdet(const double *l, size_t p) {
    double s = 0;
    for (size_t i = 0; i < p; i++) s += log(l[i + i * p]);
    return 2 * s;
}

void factor_inverse(const double *l, size_t p, double *inv) {
    memcpy(inv, l, p * p * sizeof *inv);
    la_potri(p, inv, p);
    mat_mirror(inv, p, p);
}

void mvn_draw(struct rng *r, const double *m, const double *l, size_t p, double *out) {
    for (size_t i = 0; i < p; i++) out[i] = rng_normal(r);
    la_trmv(false, p, l, p, out);
    for (size_t i = 0; i < p; i++) out[i] += m[i];
}

double mvn_lp(const double *x, const double *m, const double *l, size_t p) {
    double *z = NEW_ARRAY(double, p + 1), s = 0;
    for (size_t i = 0; i < p; i++) z[i] = x[i] - m[i];
    la_trsv(false, p, l, p, z);
    for (size_t i = 0; i < p; i++) s += z[i] * z[i];
    mem_free(z);
    return -0.5 * (s + factor_logdet(l, p) + (double)p * LOG_2PI);
}

void mvn_grad(const double *x, const double *m, const double *l, size_t p, double *dx, double *dk) {
    double *z = NEW_ARRAY(double, p + 1);
    for (size_t i = 0; i < p; i++) z[i] = m[i] - x[i];
    la_trsv(false, p, l, p, z);
    la_trsv(true, p, l, p, z);
    if (dx) memcpy(dx, z, p * sizeof *dx);
    if (dk) {
        factor_inverse(l, p, dk);
        for (size_t j = 0; j < p; j++)
            for (size_t i = 0; i < p; i++) dk[i + j * p] = 0.5 * (z[i] * z[j] - dk[i + j * p]);
    }
    mem_free(z);
}

/* tr((LL')^-1 X) */
static double trace_solve(const double *l, const double *x, size_t p) {
    double *b = NEW_ARRAY(double, p *p + 1), s = 0;
    memcpy(b, x, p * p * sizeof *b);
    la_trsm(false, p, p, l, p, b, p);
    la_trsm(true, p, p, l, p, b, p);
    for (size_t i = 0; i < p; i++) s += b[i + i * p];
    mem_free(b);
    return s;
}

/* Bartlett's decomposition: A lower, A_ii^2 ~ chi-squared(dof - i), below it standard normals; AA'
 * is wishart(I, dof). */
static void bartlett(struct rng *r, double dof, size_t p, double *a) {
    memset(a, 0, p * p * sizeof *a);
    for (size_t j = 0; j < p; j++) {
        a[j + j * p] = sqrt(2 * draw_gamma(r, 0.5 * (dof - (double)j)));
        for (size_t i = j + 1; i < p; i++) a[i + j * p] = rng_normal(r);
    }
}

/* V = LL': X = (LA)(LA)' */
void wishart_draw(struct rng *r, const double *l, double dof, size_t p, double *out) {
    double *a = NEW_ARRAY(double, 2 * p * p + 1), *la = a + p * p;
    bartlett(r, dof, p, a);
    la_gemm(false, false, p, p, p, 1, l, p, a, p, 0, la, p);
    la_gemm(false, true, p, p, p, 1, la, p, la, p, 0, out, p);
    mem_free(a);
}

static double log_norm(double dof, size_t p) {
    return 0.5 * dof * (double)p * M_LN2 + log_gamma_multi(0.5 * dof, p);
}

double wishart_lp(const double *x, const double *l, double dof, size_t p) {
    double *lx = NEW_ARRAY(double, p *p + 1), lp = -INFINITY;
    if (matrix_is_symmetric(x, p) && matrix_factor(x, p, lx) == GPM_OK)
        lp = 0.5 * (dof - (double)p - 1) * factor_logdet(lx, p) - 0.5 * trace_solve(l, x, p) -
             0.5 * dof * factor_logdet(l, p) - log_norm(dof, p);
    mem_free(lx);
    return lp;
}

/* sum_j psi((dof - j) / 2) / 2, the derivative of log Gamma_p(dof / 2) */
static double half_digammas(double dof, size_t p) {
    double s = 0;
    for (size_t j = 0; j < p; j++) s += 0.5 * digamma(0.5 * (dof - (double)j));
    return s;
}

/* out = A B A for symmetric A, B */
static void sandwich(const double *a, const double *b, size_t p, double *out) {
    double *t = NEW_ARRAY(double, p *p + 1);
    la_gemm(false, false, p, p, p, 1, a, p, b, p, 0, t, p);
    la_gemm(false, false, p, p, p, 1, t, p, a, p, 0, out, p);
    mem_free(t);
}

/* d/dX = (dof-p-1)/2 X^-1 - V^-1/2;  d/dV = (V^-1 X V^-1 - dof V^-1)/2 */
void wishart_grad(const double *x, const double *l, double dof, size_t p, double *dx, double *dv,
                  double *ddof) {
    double *work = NEW_ARRAY(double, 3 * p * p + 1);
    double *lx = work, *xi = work + p * p, *vi = xi + p * p;
    if (matrix_factor(x, p, lx) != GPM_OK) {
        memset(dx, 0, p * p * sizeof *dx);
        memset(dv, 0, p * p * sizeof *dv);
        *ddof = 0;
        mem_free(work);
        return;
    }
    factor_inverse(lx, p, xi);
    factor_inverse(l, p, vi);
    sandwich(vi, x, p, dv);
    for (size_t i = 0; i < p * p; i++) {
        dx[i] = 0.5 * ((dof - (double)p - 1) * xi[i] - vi[i]);
        dv[i] = 0.5 * (dv[i] - dof * vi[i]);
    }
    *ddof = 0.5 * (factor_logdet(lx, p) - factor_logdet(l, p) - (double)p * M_LN2) -
            half_digammas(dof, p);
    mem_free(work);
}

/* S = LL', A from Bartlett: X = L A^-T A^-1 L' = Y'Y with A Y = L'. */
void inv_wishart_draw(struct rng *r, const double *l, double dof, size_t p, double *out) {
    double *a = NEW_ARRAY(double, 2 * p * p + 1), *y = a + p * p;
    bartlett(r, dof, p, a);
    for (size_t j = 0; j < p; j++)
        for (size_t i = 0; i < p; i++) y[i + j * p] = l[j + i * p];
    la_trsm(false, p, p, a, p, y, p);
    la_gemm(true, false, p, p, p, 1, y, p, y, p, 0, out, p);
    mem_free(a);
}

double inv_wishart_lp(const double *x, const double *l, double dof, size_t p) {
    double *work = NEW_ARRAY(double, 2 * p * p + 1), *lx = work, *s = work + p * p;
    double lp = -INFINITY;
    if (matrix_is_symmetric(x, p) && matrix_factor(x, p, lx) == GPM_OK) {
        la_gemm(false, true, p, p, p, 1, l, p, l, p, 0, s, p);
        lp = 0.5 * dof * factor_logdet(l, p) - 0.5 * (dof + (double)p + 1) * factor_logdet(lx, p) -
             0.5 * trace_solve(lx, s, p) - log_norm(dof, p);
    }
    mem_free(work);
    return lp;
}

/* d/dX = (X^-1 S X^-1 - (dof+p+1) X^-1)/2;  d/dS = (dof S^-1 - X^-1)/2 */
void inv_wishart_grad(const double *x, const double *l, double dof, size_t p, double *dx,
                      double *ds, double *ddof) {
    double *work = NEW_ARRAY(double, 4 * p * p + 1);
    double *lx = work, *xi = work + p * p, *si = xi + p * p, *s = si + p * p;
    if (matrix_factor(x, p, lx) != GPM_OK) {
        memset(dx, 0, p * p * sizeof *dx);
        memset(ds, 0, p * p * sizeof *ds);
        *ddof = 0;
        mem_free(work);
        return;
    }
    factor_inverse(lx, p, xi);
    factor_inverse(l, p, si);
    la_gemm(false, true, p, p, p, 1, l, p, l, p, 0, s, p);
    sandwich(xi, s, p, dx);
    for (size_t i = 0; i < p * p; i++) {
        dx[i] = 0.5 * (dx[i] - (dof + (double)p + 1) * xi[i]);
        ds[i] = 0.5 * (dof * si[i] - xi[i]);
    }
    *ddof = 0.5 * (factor_logdet(l, p) - factor_logdet(lx, p) - (double)p * M_LN2) -
            half_digammas(dof, p);
    mem_free(work);
}
