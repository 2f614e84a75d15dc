/* SPDX-License-Identifier: Apache-2.0
 *
 * Random procedures whose values are tied together: correlation matrices and their factors, unit
 * vectors, and flat priors on such supports. What their supports are called, and the measure of
 * their densities, stands in inference/hmc/constrain.h.
 */
#include "base/mem.h"
#include "base/number.h"
#include "language/rows/dist/matdist.h"
#include "numeric/dist/dist.h"
#include "numeric/special/special.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Vectors and matrices of an order that the user chose. */
static enum gpm_status order_arg(struct sp_call *c, double most, size_t *p) {
    if (sp_num(c, 0) < 1 || sp_num(c, 0) > most)
        return sp_error(c, DIAG_DOMAIN, "%s: %g rows; 1 to %g are possible", c->cls->name,
                        sp_num(c, 0), most);
    *p = (size_t)sp_num(c, 0);
    return GPM_OK;
}

/* ---- lkj_corr(d, eta): density c |X|^(eta-1) in the d (d-1) / 2 correlations (Lewandowski,
 * Kurowicka and Joe 2009). With L the factor of X and t_ij the canonical partial correlations of
 * its rows (inference/hmc/constrain_matrix.c), that of L has L_jj^(d-1-j+2 (eta-1)) for each j, and
 * that of t_ij is (1 - t^2)^(b_j - 1) / B(1/2, b_j), b_j = eta + (d - 2 - j) / 2, independently: so
 * draws are made, and so the constant is found.
 *
 * flat_corr is eta = 1; flat_corr_cholesky the same density for every factor: row i is then uniform
 * in the ball of i dimensions, its last number what the length 1 leaves. */
enum { MATRIX, FACTOR = 1, FLAT = 2 }; /* variants */

static enum gpm_status lkj_read(struct sp_call *c, struct mat_dist *q) {
    q->factor = c->cls->variant & FACTOR;
    q->dof = c->cls->variant & FLAT ? 1 : sp_num(c, 1);
    return order_arg(c, 1000, &q->p);
}

static double lkj_b(const struct mat_dist *q, size_t j) {
    return q->dof + 0.5 * ((double)q->p - 2 - (double)j);
}

/* The sum over j of (d - 1 - j) log B(1/2, b_j), or its derivative in eta */
static double lkj_norm(const struct mat_dist *q, bool slope) {
    double sum = 0;
    for (size_t j = 0; j + 1 < q->p; j++) {
        double b = lkj_b(q, j);
        double term = slope ? digamma(b) - digamma(b + 0.5) : log_beta_fn(0.5, b);
        sum += (double)(q->p - 1 - j) * term;
    }
    return sum;
}

static void times_transpose(double *l, size_t d) {
    for (size_t j = d; j-- > 0;) /* from the last on: what is overwritten is not read again */
        for (size_t i = d; i-- > j;) {
            double sum = 0;
            for (size_t k = 0; k <= j; k++) sum += l[i + k * d] * l[j + k * d];
            l[i + j * d] = sum;
        }
    for (size_t j = 0; j < d; j++) {
        l[j + j * d] = 1;
        for (size_t i = 0; i < j; i++) l[i + j * d] = l[j + i * d];
    }
}

/* 1 - t^2 = 4 u (1 - u) for t = 2 u - 1, u ~ beta(b, b): by gammas, whose ratio keeps the digits.
 */
static void lkj_draw(struct rng *r, const struct mat_dist *q, double *out) {
    size_t d = q->p;
    memset(out, 0, d * d * sizeof *out);
    for (size_t i = 0; i < d; i++) {
        double left = 1;
        for (size_t j = 0; j < i; j++) {
            double g = draw_log_gamma(r, lkj_b(q, j)), h = draw_log_gamma(r, lkj_b(q, j));
            out[i + j * d] = left * tanh(0.5 * (g - h));
            left /= cosh(0.5 * (g - h));
        }
        out[i + i * d] = left;
    }
    if (!q->factor) times_transpose(out, d);
}

/* Rows of length 1? */
static bool has_unit_rows(const double *l, size_t d) {
    for (size_t i = 0; i < d; i++) {
        double sum = 0;
        for (size_t j = 0; j <= i; j++) sum += l[i + j * d] * l[i + j * d];
        if (!(fabs(sum - 1) < 1e-8)) return false;
    }
    return true;
}

/* The factor of x into l; false: x is no correlation matrix, or no factor of one. */
static bool corr_factor(const double *x, const struct mat_dist *q, double *l) {
    size_t d = q->p;
    if (!q->factor)
        return matrix_is_symmetric(x, d) && matrix_factor(x, d, l) == GPM_OK && has_unit_rows(l, d);
    memcpy(l, x, d * d * sizeof *l);
    return matrix_is_factor(x, d) && has_unit_rows(x, d);
}

/* Times log L_jj in the log density */
static double lkj_power(const struct mat_dist *q, size_t j) {
    return 2 * (q->dof - 1) + (q->factor ? (double)(q->p - 1 - j) : 0);
}

static double lkj_lp(const double *x, const struct mat_dist *q) {
    size_t d = q->p;
    double *l = NEW_ARRAY(double, d *d + 1), lp = -INFINITY;
    if (corr_factor(x, q, l)) {
        lp = -lkj_norm(q, false);
        for (size_t j = 0; j < d; j++) lp += lkj_power(q, j) * log(l[j + j * d]);
    }
    mem_free(l);
    return lp;
}

/* d log |X| / dX = X^-1 */
static void lkj_grad(const double *x, const struct mat_dist *q, double *dx, value *dargs) {
    size_t d = q->p;
    double *l = NEW_ARRAY(double, d *d + 1), deta = -lkj_norm(q, true);
    memset(dx, 0, d * d * sizeof *dx);
    if (corr_factor(x, q, l)) {
        deta += factor_logdet(l, d);
        if (!q->factor) factor_inverse(l, d, dx);
        for (size_t k = 0; k < d * d; k++) dx[k] *= q->dof - 1;
        for (size_t j = 0; q->factor && j < d; j++) dx[j + j * d] = lkj_power(q, j) / l[j + j * d];
    }
    dargs[0] = NIL;
    dargs[1] = value_num(deta);
    mem_free(l);
}

static const struct vector_kind corr = {
    {.support = SUPPORT_CORR}, true, lkj_read, lkj_draw, lkj_lp, lkj_grad};
static const struct vector_kind corr_cholesky = {
    {.support = SUPPORT_CORR_FACTOR}, true, lkj_read, lkj_draw, lkj_lp, lkj_grad};

/* A point of the unit sphere. */
static void direction(struct rng *r, size_t n, double *x, size_t stride) {
    double sum = 0;
    for (size_t i = 0; i < n; i++) {
        x[i * stride] = rng_normal(r);
        sum += x[i * stride] * x[i * stride];
    }
    for (size_t i = 0; i < n; i++) x[i * stride] /= sqrt(sum);
}

static void balls_draw(struct rng *r, const struct mat_dist *q, double *out) {
    size_t d = q->p;
    memset(out, 0, d * d * sizeof *out);
    for (size_t i = 0; i < d; i++) {
        double radius = i ? pow(rng_uniform(r), 1 / (double)i) : 0;
        direction(r, i, out + i, d);
        for (size_t j = 0; j < i; j++) out[i + j * d] *= radius;
        out[i + i * d] = sqrt((1 - radius) * (1 + radius));
    }
}

/* The ball of i dimensions has the volume pi^(i/2) / Gamma(i/2 + 1). */
static double balls_lp(const double *x, const struct mat_dist *q) {
    double lp = 0;
    if (!matrix_is_factor(x, q->p) || !has_unit_rows(x, q->p)) return -INFINITY;
    for (size_t i = 1; i < q->p; i++)
        lp += log_gamma(0.5 * (double)i + 1) - 0.5 * (double)i * LOG_PI;
    return lp;
}

static const struct vector_kind balls = {
    {.support = SUPPORT_CORR_FACTOR}, true, lkj_read, balls_draw, balls_lp, NULL};

/* ---- flat_unit_vector(n): the sphere has the area 2 pi^(n/2) / Gamma(n/2) */
static enum gpm_status sphere_read(struct sp_call *c, struct mat_dist *q) {
    return order_arg(c, 1e7, &q->p);
}

static void sphere_draw(struct rng *r, const struct mat_dist *q, double *out) {
    direction(r, q->p, out, 1);
}

static double sphere_lp(const double *x, const struct mat_dist *q) {
    double sum = 0, half = 0.5 * (double)q->p;
    for (size_t i = 0; i < q->p; i++) sum += x[i] * x[i];
    return fabs(sum - 1) < 1e-8 ? log_gamma(half) - half * LOG_PI - M_LN2 : -INFINITY;
}

static const struct vector_kind sphere = {
    {.support = SUPPORT_UNIT_VECTOR}, false, sphere_read, sphere_draw, sphere_lp, NULL};

/* ---- zero_sum_normal(n, sd): draws of normal(0, sd) less their mean, a normal distribution on the
 * numbers that sum to 0; in the first n - 1 of them its density is
 * sqrt(n) (2 pi sd^2)^(-(n-1)/2) exp(-x'x / 2 sd^2) */
static enum gpm_status zero_sum_read(struct sp_call *c, struct mat_dist *q) {
    if (!(c->cls->flags & SP_IMPROPER)) q->dof = sp_num(c, 1);
    return order_arg(c, 1e7, &q->p);
}

static void zero_sum_draw(struct rng *r, const struct mat_dist *q, double *out) {
    double mean = 0, sd = q->dof > 0 ? q->dof : 1;
    for (size_t i = 0; i < q->p; i++) mean += (out[i] = sd * rng_normal(r)) / (double)q->p;
    for (size_t i = 0; i < q->p; i++) out[i] -= mean;
}

static bool sums_to_zero(const double *x, size_t n) {
    double sum = 0, size = 0;
    for (size_t i = 0; i < n; i++) sum += x[i], size += fabs(x[i]);
    return fabs(sum) <= 1e-8 * size;
}

static double zero_sum_lp(const double *x, const struct mat_dist *q) {
    double squares = 0, n = (double)q->p;
    if (!sums_to_zero(x, q->p)) return -INFINITY;
    for (size_t i = 0; i < q->p; i++) squares += x[i] / q->dof * (x[i] / q->dof);
    return 0.5 * log(n) - (n - 1) * (LOG_SQRT_2PI + log(q->dof)) - 0.5 * squares;
}

static void zero_sum_grad(const double *x, const struct mat_dist *q, double *dx, value *dargs) {
    double squares = 0, sd = q->dof;
    for (size_t i = 0; i < q->p; i++) {
        dx[i] = -x[i] / (sd * sd);
        squares += x[i] / sd * (x[i] / sd);
    }
    dargs[0] = NIL;
    dargs[1] = value_num((squares - (double)q->p + 1) / sd);
}

static double flat_zero_sum_lp(const double *x, const struct mat_dist *q) {
    return sums_to_zero(x, q->p) ? 0 : -INFINITY;
}

static const struct vector_kind zero_sum = {
    {.support = SUPPORT_ZERO_SUM}, false, zero_sum_read, zero_sum_draw, zero_sum_lp, zero_sum_grad};
static const struct vector_kind flat_zero_sum = {
    {.support = SUPPORT_ZERO_SUM}, false, zero_sum_read, zero_sum_draw, flat_zero_sum_lp, NULL};

/* ---- improper ones: log density 0 on the whole support, which is not bounded. What is drawn is a
 * place to begin from, of order 1. */
static void ordered_start(struct rng *r, const struct mat_dist *q, double *out) {
    for (size_t i = 0; i < q->p; i++) out[i] = rng_normal(r);
    qsort(out, q->p, sizeof *out, number_compare);
}

static void positive_start(struct rng *r, const struct mat_dist *q, double *out) {
    for (size_t i = 0; i < q->p; i++) out[i] = rng_exponential(r);
    qsort(out, q->p, sizeof *out, number_compare);
}

static double ordered_lp(const double *x, const struct mat_dist *q) {
    for (size_t i = 1; i < q->p; i++)
        if (!(x[i - 1] <= x[i])) return -INFINITY;
    return 0;
}

static double positive_lp(const double *x, const struct mat_dist *q) {
    return x[0] > 0 ? ordered_lp(x, q) : -INFINITY;
}

/* A wishart matrix of mean 1, or its factor. */
static void cov_start(struct rng *r, const struct mat_dist *q, double *out) {
    size_t d = q->p;
    double *l = mem_zalloc((d * d + 1) * sizeof *l), dof = (double)d + 2;
    for (size_t j = 0; j < d; j++) l[j + j * d] = 1 / sqrt(dof);
    struct mat_dist w = {.p = d, .l = l, .dof = dof};
    (q->factor ? factor_draw : wishart_draw)(r, &w, out);
    mem_free(l);
}

static double cov_lp(const double *x, const struct mat_dist *q) {
    double *l = NEW_ARRAY(double, q->p * q->p + 1);
    bool ok = q->factor ? matrix_is_factor(x, q->p)
                        : matrix_is_symmetric(x, q->p) && matrix_factor(x, q->p, l) == GPM_OK;
    mem_free(l);
    return ok ? 0 : -INFINITY;
}

static const struct vector_kind ascending = {
    {.support = SUPPORT_ORDERED, .lo = -INFINITY, .hi = INFINITY},
    false,
    sphere_read,
    ordered_start,
    ordered_lp,
    NULL};
static const struct vector_kind positive = {{.support = SUPPORT_ORDERED, .hi = INFINITY},
                                            false,
                                            sphere_read,
                                            positive_start,
                                            positive_lp,
                                            NULL};
static const struct vector_kind cov = {
    {.support = SUPPORT_COV}, true, lkj_read, cov_start, cov_lp, NULL};
static const struct vector_kind cov_cholesky = {
    {.support = SUPPORT_COV_FACTOR}, true, lkj_read, cov_start, cov_lp, NULL};

#define LEVEL(kind)                                                                                \
    .of = &kind, .log_density = vector_log_density, .simulate = vector_simulate,                   \
    .grad_density = level_grad, .support = sp_scalar_support
#define UNIFORM(kind)  LEVEL(kind), .flags = SP_RANDOM | SP_VECTOR
#define IMPROPER(kind) LEVEL(kind), .flags = SP_RANDOM | SP_VECTOR | SP_IMPROPER

const struct sp_class sp_constrained_rows[] = {
    {.name = "lkj_corr",
     .sig = "(d: count, eta: positive) -> matrix",
     .doc = "d x d correlation matrices with density in proportion to |X|^(eta - 1)",
     .example = "lkj_corr(1, 2) => [[1]]",
     .variant = MATRIX,
     VECTOR(corr)},
    {.name = "lkj_corr_cholesky",
     .sig = "(d: count, eta: positive) -> matrix",
     .doc = "lower Cholesky factor of a correlation matrix of lkj_corr(d, eta)",
     .example = "lkj_corr_cholesky(1, 2) => [[1]]",
     .variant = FACTOR,
     VECTOR(corr_cholesky)},
    {.name = "flat_corr",
     .sig = "(d: count) -> matrix",
     .doc = "d x d correlation matrices, all equally likely",
     .example = "flat_corr(1) => [[1]]",
     .variant = FLAT | MATRIX,
     UNIFORM(corr)},
    {.name = "flat_corr_cholesky",
     .sig = "(d: count) -> matrix",
     .doc = "lower Cholesky factors of d x d correlation matrices, all factors equally likely",
     .example = "flat_corr_cholesky(1) => [[1]]",
     .variant = FLAT | FACTOR,
     UNIFORM(balls)},
    {.name = "flat_unit_vector",
     .sig = "(n: count) -> vector",
     .doc = "vectors of n numbers and length 1, all directions equally likely",
     .example = "abs(flat_unit_vector(1)) => [1]",
     UNIFORM(sphere)},
    {.name = "zero_sum_normal",
     .sig = "(n: count, sd: positive) -> vector",
     .doc = "n numbers that sum to 0: draws of normal(0, sd) less their mean",
     .example = "zero_sum_normal(1, 2) => [0]",
     VECTOR(zero_sum)},
    {.name = "flat_zero_sum",
     .sig = "(n: count) -> vector",
     .doc = "n numbers that sum to 0, density 1 everywhere: an improper prior",
     .example = "flat_zero_sum(1) => [0]",
     IMPROPER(flat_zero_sum)},
    {.name = "flat_ordered",
     .sig = "(n: count) -> vector",
     .doc = "n numbers in ascending order, density 1 everywhere: an improper prior",
     .example = "size(flat_ordered(3)) => 3",
     IMPROPER(ascending)},
    {.name = "flat_positive_ordered",
     .sig = "(n: count) -> vector",
     .doc = "n positive numbers in ascending order, density 1 everywhere: an improper prior",
     .example = "size(flat_positive_ordered(3)) => 3",
     IMPROPER(positive)},
    {.name = "flat_cov",
     .sig = "(d: count) -> matrix",
     .doc = "d x d covariance matrices, density 1 everywhere: an improper prior",
     .example = "is_matrix(flat_cov(2)) => true",
     .variant = FLAT | MATRIX,
     IMPROPER(cov)},
    {.name = "flat_cov_cholesky",
     .sig = "(d: count) -> matrix",
     .doc =
         "lower Cholesky factors of covariance matrices, density 1 everywhere: an improper prior",
     .example = "is_matrix(flat_cov_cholesky(2)) => true",
     .variant = FLAT | FACTOR,
     IMPROPER(cov_cholesky)},
};
const size_t sp_constrained_count = COUNT_OF(sp_constrained_rows);
