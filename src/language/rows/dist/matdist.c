/* SPDX-License-Identifier: Apache-2.0
 *
 * Factors; Wishart and inverse Wishart.
 */
#include "language/rows/dist/matdist.h"
#include "base/mem.h"
#include "numeric/la/blas.h"
#include "numeric/la/chol.h"
#include "numeric/la/mat.h"
#include "numeric/dist/dist.h"
#include "numeric/special/special.h"
#include <math.h>
#include <string.h>

bool matrix_is_symmetric(const double *a, size_t p) {
    double top = mat_max_abs(a, p * p);
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
    struct chol f = {0};
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
    la_inverse(p, inv, p, inv, p);
    mat_mirror(inv, p, p);
}

bool matrix_is_factor(const double *l, size_t p) {
    for (size_t j = 0; j < p; j++) {
        if (!(l[j + j * p] > 0)) return false;
        for (size_t i = 0; i < j; i++)
            if (l[i + j * p] != 0) return false;
    }
    return true;
}

void factor_pull(const double *g, const double *l, size_t p, double *dl) {
    la_gemm(false, false, p, p, p, 1, g, p, l, p, 0, dl, p);
    la_gemm(true, false, p, p, p, 1, g, p, l, p, 1, dl, p);
    zero_upper(dl, p);
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

/* With A from Bartlett and LL' the scale: X = (LA)(LA)'; the inverse one is X = L A^-T A^-1 L' =
 * Y'Y with A Y = L'. */
void wishart_draw(struct rng *r, const struct mat_dist *q, double *out) {
    size_t p = q->p;
    double *a = NEW_ARRAY(double, 2 * p * p + 1), *y = a + p * p;
    bartlett(r, q->dof, p, a);
    if (q->inverse) {
        for (size_t j = 0; j < p; j++)
            for (size_t i = 0; i < p; i++) y[i + j * p] = q->l[j + i * p];
        la_trsm(false, p, p, a, p, y, p);
    } else {
        la_gemm(false, false, p, p, p, 1, q->l, p, a, p, 0, y, p);
    }
    la_gemm(q->inverse, !q->inverse, p, p, p, 1, y, p, y, p, 0, out, p);
    mem_free(a);
}

/* Both densities are, up to a constant, e^(alpha log |A| - beta log |B| - tr(B^-1 A) / 2): A = X
 * and B = V for wishart, A = S and B = X for inv_wishart. */
struct form {
    double *work; /* owned: the factor of X, S */
    const double *a, *la, *lb;
    double alpha, beta;
};

/* False: X is not positive definite. */
static bool form_init(struct form *f, const double *x, const struct mat_dist *q) {
    size_t p = q->p;
    double *lx = NEW_ARRAY(double, 2 * p * p + 1), *s = lx + p * p, n = (double)p + 1;
    *f = (struct form){lx, x, lx, q->l, 0.5 * (q->dof - n), 0.5 * q->dof};
    if (q->inverse) {
        la_gemm(false, true, p, p, p, 1, q->l, p, q->l, p, 0, s, p);
        *f = (struct form){lx, s, q->l, lx, 0.5 * q->dof, 0.5 * (q->dof + n)};
    }
    return matrix_factor(x, p, lx) == GPM_OK;
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

double wishart_lp(const double *x, const struct mat_dist *q) {
    struct form f;
    size_t p = q->p;
    double lp = -INFINITY,
           norm = 0.5 * q->dof * (double)p * M_LN2 + log_gamma_multi(0.5 * q->dof, p);
    if (form_init(&f, x, q) && matrix_is_symmetric(x, p))
        lp = f.alpha * factor_logdet(f.la, p) - f.beta * factor_logdet(f.lb, p) -
             0.5 * trace_solve(f.lb, f.a, p) - norm;
    mem_free(f.work);
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

/* d/dA = alpha A^-1 - B^-1 / 2;  d/dB = B^-1 A B^-1 / 2 - beta B^-1; all 0 when X is not positive
 * definite. */
void wishart_grad(const double *x, const struct mat_dist *q, double *dx, value *dargs) {
    struct form f;
    size_t p = q->p;
    dargs[0] = value_matrix_new(p, p);
    dargs[1] = value_num(0);
    memset(dx, 0, p * p * sizeof *dx);
    if (form_init(&f, x, q)) {
        double *da = q->inverse ? dargs[0].u.matrix->at : dx;
        double *db = q->inverse ? dx : dargs[0].u.matrix->at;
        double *ai = NEW_ARRAY(double, 2 * p * p + 1), *bi = ai + p * p;
        factor_inverse(f.la, p, ai);
        factor_inverse(f.lb, p, bi);
        sandwich(bi, f.a, p, db);
        for (size_t i = 0; i < p * p; i++) {
            da[i] = f.alpha * ai[i] - 0.5 * bi[i];
            db[i] = 0.5 * db[i] - f.beta * bi[i];
        }
        mem_free(ai);
        dargs[1].u.num =
            0.5 * (factor_logdet(f.la, p) - factor_logdet(f.lb, p) - (double)p * M_LN2) -
            half_digammas(q->dof, p);
    }
    mem_free(f.work);
}

/* LL' of the factor x */
static double *product(const double *x, size_t p) {
    double *full = NEW_ARRAY(double, p *p + 1);
    la_gemm(false, true, p, p, p, 1, x, p, x, p, 0, full, p);
    mat_mirror(full, p, p);
    return full;
}

/* A draw whose matrix is singular in doubles has a factor with jitter, or none: NaN then. */
void factor_draw(struct rng *r, const struct mat_dist *q, double *out) {
    size_t p = q->p;
    double *x = NEW_ARRAY(double, p *p + 1);
    wishart_draw(r, q, x);
    if (covariance_factor(x, p, out) != GPM_OK)
        for (size_t k = 0; k < p * p; k++) out[k] = NAN;
    mem_free(x);
}

double factor_lp(const double *x, const struct mat_dist *q) {
    size_t p = q->p;
    if (!matrix_is_factor(x, p)) return -INFINITY;
    double *full = product(x, p), lp = wishart_lp(full, q) + (double)p * M_LN2;
    for (size_t j = 0; j < p; j++) lp += (double)(p - j) * log(x[j + j * p]);
    mem_free(full);
    return lp;
}

void factor_grad(const double *x, const struct mat_dist *q, double *dx, value *dargs) {
    size_t p = q->p;
    double *full = product(x, p), *g = NEW_ARRAY(double, p *p + 1);
    wishart_grad(full, q, g, dargs);
    factor_pull(g, x, p, dx);
    for (size_t j = 0; j < p; j++) dx[j + j * p] += (double)(p - j) / x[j + j * p];
    memcpy(g, dargs[0].u.matrix->at, p * p * sizeof *g);
    factor_pull(g, q->l, p, dargs[0].u.matrix->at);
    mem_free(full);
    mem_free(g);
}
