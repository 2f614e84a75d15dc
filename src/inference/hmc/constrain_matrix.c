/* SPDX-License-Identifier: Apache-2.0
 *
 * Transforms of correlation and covariance matrices and of their Cholesky factors, d x d, all
 * through the factor L. z is stored row by row.
 *
 * Factor of a correlation matrix. Row i has the canonical partial correlations t_j = tanh z_j,
 * j < i, and with c_j = 1 / cosh z_j, s_j = c_0 ... c_{j-1}
 *
 *     L_ij = t_j s_j,   L_ii = s_i,   log |dL/dz| = sum_j log s_j + 2 log c_j
 *                                                 = sum_j (i + 1 - j) log c_j
 *
 * Matrices. For i > j, dX_ij / dL_ij = L_jj and nothing later enters, so that
 *
 *     correlations   log |dX/dL| = sum_j (d - 1 - j) log L_jj
 *     covariances    log |dX/dL| = d log 2 + sum_j (d - j) log L_jj       (dX_jj = 2 L_jj dL_jj)
 */
#include "inference/hmc/constrain.h"

#include "base/mem.h"
#include "language/rows/dist/matdist.h"
#include "numeric/la/blas.h"
#include "numeric/la/mat.h"
#include <float.h>
#include <math.h>
#include <string.h>

static size_t order_of(const struct constraint *c) {
    return (size_t)rint(sqrt((double)c->n_x));
}

static bool is_product(const struct constraint *c) {
    return c->kind == SUPPORT_CORR || c->kind == SUPPORT_COV;
}

static bool is_corr(const struct constraint *c) {
    return c->kind == SUPPORT_CORR || c->kind == SUPPORT_CORR_FACTOR;
}

/* log(1 / cosh z) */
static double log_sech(double z) {
    double a = fabs(z);
    return M_LN2 - a - log1p(exp(-2 * a));
}

/* The factor of log L_ii in log |dX/dL|. */
static double weight(const struct constraint *c, size_t d, size_t i) {
    if (!is_product(c)) return 0;
    return (double)(is_corr(c) ? d - 1 - i : d - i);
}

static double corr_factor(const struct constraint *c, const double *z, size_t d, double *l) {
    double log_j = 0;
    for (size_t i = 0; i < d; i++) {
        double log_s = 0;
        for (size_t j = 0; j < i; j++, z++) {
            double log_c = log_sech(*z);
            l[i + j * d] = tanh(*z) * exp(log_s);
            log_j += log_s + 2 * log_c;
            log_s += log_c;
        }
        l[i + i * d] = fmax(exp(log_s), DBL_MIN);
        log_j += weight(c, d, i) * log_s;
    }
    return log_j;
}

static double cov_factor(const struct constraint *c, const double *z, size_t d, double *l) {
    double log_j = c->kind == SUPPORT_COV ? (double)d * M_LN2 : 0;
    for (size_t i = 0; i < d; i++) {
        for (size_t j = 0; j < i; j++) l[i + j * d] = *z++;
        l[i + i * d] = fmax(exp(*z), DBL_MIN);
        log_j += (1 + weight(c, d, i)) * *z++;
    }
    return log_j;
}

static double constrain_matrix_factor(const struct constraint *c, const double *z, size_t d,
                                      double *l) {
    memset(l, 0, d * d * sizeof *l);
    return (is_corr(c) ? corr_factor : cov_factor)(c, z, d, l);
}

/* Sets the diagonal of a correlation matrix to exactly 1. */
double matrix_to_x(const struct constraint *c, const double *z, double *x) {
    size_t d = order_of(c);
    if (!is_product(c)) return constrain_matrix_factor(c, z, d, x);
    double *l = NEW_ARRAY(double, d *d + 1), log_j = constrain_matrix_factor(c, z, d, l);
    la_gemm(false, true, d, d, d, 1, l, d, l, d, 0, x, d);
    mat_mirror(x, d, d);
    for (size_t j = 0; is_corr(c) && j < d; j++) x[j + j * d] = 1;
    mem_free(l);
    return log_j;
}

/* From the last to the first: with tail_j = L_ij^2 + ... + L_ii^2, sinh z_j = L_ij / sqrt
 * tail_{j+1}. The length of a row does not matter. */
static bool corr_to_z(const double *l, size_t d, double *z) {
    for (size_t i = 0; i < d; z += i++) {
        double tail = l[i + i * d];
        if (!(tail >= 0)) return false;
        tail = fmax(tail, DBL_MIN);
        for (size_t j = i; j-- > 0;) {
            z[j] = asinh(l[i + j * d] / tail);
            tail = hypot(tail, l[i + j * d]);
        }
        if (!isfinite(tail)) return false;
    }
    return true;
}

static bool cov_to_z(const double *l, size_t d, double *z) {
    for (size_t i = 0; i < d; i++) {
        for (size_t j = 0; j < i; j++) *z++ = l[i + j * d];
        if (!(l[i + i * d] >= 0)) return false;
        *z++ = log(fmax(l[i + i * d], DBL_MIN));
    }
    return true;
}

/* A matrix on the boundary of the positive definite ones gets the smallest jitter that gives a
 * factor. */
bool matrix_to_z(const struct constraint *c, const double *x, struct rng *rng, double *z) {
    size_t d = order_of(c);
    double *l = NEW_ARRAY(double, d *d + 1);
    bool ok = true;
    if (is_product(c))
        ok = covariance_factor(x, d, l) == GPM_OK;
    else
        memcpy(l, x, d * d * sizeof *l);
    ok = ok && (is_corr(c) ? corr_to_z : cov_to_z)(l, d, z);
    for (size_t k = 0; ok && k < c->n_z; k++) ok = isfinite(z[k]);
    mem_free(l);
    return ok;
}

/* `below`: sum over k > j of gL_ik L_ik, diagonal included. Each of these has the factor c_j, whose
 * log has the slope -t_j. */
static void corr_pull(const struct constraint *c, const double *z, const double *l, const double *g,
                      size_t d, bool jacobian, double *gz) {
    for (size_t i = 0; i < d; z += i, gz += i, i++) {
        double below = g[i + i * d] * l[i + i * d], log_s = 0;
        for (size_t j = 0; j < i; j++) log_s += log_sech(z[j]);
        for (size_t j = i; j-- > 0;) {
            double t = tanh(z[j]), log_c = log_sech(z[j]), power = 0;
            log_s -= log_c;
            if (jacobian) power = (double)(i + 1 - j) + weight(c, d, i);
            gz[j] = g[i + j * d] * exp(log_s + 2 * log_c) - t * (below + power);
            below += g[i + j * d] * l[i + j * d];
        }
    }
}

static void cov_pull(const struct constraint *c, const double *l, const double *g, size_t d,
                     bool jacobian, double *gz) {
    for (size_t i = 0; i < d; i++) {
        for (size_t j = 0; j < i; j++) *gz++ = g[i + j * d];
        *gz++ = g[i + i * d] * l[i + i * d] + (jacobian ? 1 + weight(c, d, i) : 0);
    }
}

void matrix_pull(const struct constraint *c, const double *z, const double *x, const double *gx,
                 bool jacobian, double *gz) {
    size_t d = order_of(c);
    double *l = NEW_ARRAY(double, 2 * d * d + 1), *gl = l + d * d;
    const double *g = gx;
    (void)constrain_matrix_factor(c, z, d, l);
    if (is_product(c)) {
        factor_pull(gx, l, d, gl);
        g = gl;
    }
    if (is_corr(c))
        corr_pull(c, z, l, g, d, jacobian, gz);
    else
        cov_pull(c, l, g, d, jacobian, gz);
    mem_free(l);
}
