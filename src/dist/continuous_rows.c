/* SPDX-License-Identifier: Apache-2.0
 *
 * Continuous random procedures whose value is a number. Densities, samplers and gradients are
 * those of math/dist_continuous.c; here are domains that a signature cannot say, supports, bounds
 * for rejection, and `normal` on vectors.
 */
#include "base/mem.h"
#include "math/dist.h"
#include "math/special.h"
#include "dist/dist_cols.h"
#include "dist/dist_row.h"
#include "dist/matdist.h"
#include <math.h>

/* Bits of `varies` in log_bound. */
#define VARIES_VALUE  1u
#define VARIES_ARG(i) (2u << (i))

static enum gpm_status support_range(struct sp_call *c, struct sp_support *out) {
    *out = (struct sp_support){SUPPORT_INTERVAL, sp_num(c, 0), sp_num(c, 1), true};
    return GPM_OK;
}

/* ---- bounds: the density at its mode in the coordinates that vary (at least one does), with the
 * others at x and a; NaN where there is none. */
static double at(struct sp_call *c, double x, const double *a) {
    return c->cls->num_log_density(x, a, c->n);
}

/* Location-scale families with mode at the location: normal, laplace, student_t. `loc` and `scale`
 * number the arguments. Only the scale varies: its best value is found from |x - location|. */
static double loc_scale(struct sp_call *c, uint64_t varies, double x, double *a, size_t loc,
                        size_t scale) {
    double m = loc < c->n ? a[loc] : 0;
    if (varies & ~(uint64_t)(VARIES_VALUE | VARIES_ARG(loc) | VARIES_ARG(scale))) return NAN;
    if (scale >= c->n || !(varies & VARIES_ARG(scale)))
        return at(c, m, a); /* value or location vary: they meet */
    if (varies != VARIES_ARG(scale) || x == m) return NAN;
    a[scale] = fabs(x - m); /* d/ds (-log s - h(|d|/s)) = 0 at s = |d| for all three */
    return at(c, x, a);
}

static double best_normal(struct sp_call *c, uint64_t varies, double x, double *a) {
    return loc_scale(c, varies, x, a, 0, 1);
}

static double best_student_t(struct sp_call *c, uint64_t varies, double x, double *a) {
    return loc_scale(c, varies, x, a, 1, 2);
}

/* Shape at least 1: the mode in x is (k-1)/b. x fixed and only the rate varies: b = k/x. */
static double best_gamma(struct sp_call *c, uint64_t varies, double x, double *a) {
    if (varies == VARIES_ARG(1) && x > 0) {
        a[1] = a[0] / x;
        return at(c, x, a);
    }
    if (varies != VARIES_VALUE || !(a[0] >= 1)) return NAN;
    return a[0] > 1 ? at(c, (a[0] - 1) / a[1], a) : log(a[1]); /* the supremum, at 0 */
}

static double best_inv_gamma(struct sp_call *c, uint64_t varies, double x, double *a) {
    if (varies == VARIES_ARG(1) && x > 0) {
        a[1] = a[0] * x;
        return at(c, x, a);
    }
    return varies == VARIES_VALUE ? at(c, a[1] / (a[0] + 1), a) : NAN;
}

static double best_expon(struct sp_call *c, uint64_t varies, double x, double *a) {
    if (varies == VARIES_ARG(0) && x > 0)
        a[0] = 1 / x;
    else if (varies & VARIES_ARG(0))
        return NAN;
    return at(c, varies & VARIES_VALUE ? 0 : x, a);
}

static double best_beta(struct sp_call *c, uint64_t varies, double x, double *a) {
    if (varies != VARIES_VALUE || !(a[0] >= 1 && a[1] >= 1)) return NAN;
    double p = a[0] - 1, q = a[1] - 1, mode = p + q > 0 ? p / (p + q) : 0.5;
    return xlogy(p, mode) + xlog1py(q, -mode) - log_beta_fn(a[0], a[1]);
}

/* log odds: p^a (1-p)^b is greatest at p = a / (a+b) */
static double best_log_odds_beta(struct sp_call *c, uint64_t varies, double x, double *a) {
    return varies == VARIES_VALUE ? at(c, c->n ? log(a[0] / a[1]) : 0, a) : NAN;
}

/* y^a (1-y)^(b-1) in y = e^x, b >= 1: greatest at y = a / (a+b-1) */
static double best_log_beta(struct sp_call *c, uint64_t varies, double x, double *a) {
    if (varies != VARIES_VALUE || !(a[1] >= 1)) return NAN;
    double y = a[0] / (a[0] + a[1] - 1);
    return xlogy(a[0], y) + xlog1py(a[1] - 1, -y) - log_beta_fn(a[0], a[1]);
}

static double best_uniform(struct sp_call *c, uint64_t varies, double x, double *a) {
    return varies == VARIES_VALUE ? at(c, a[0], a) : NAN;
}

/* Mode e^(m - s^2). x fixed: as the normal of log x. */
static double best_lognormal(struct sp_call *c, uint64_t varies, double x, double *a) {
    if (varies == VARIES_VALUE) return -log(a[1]) - LOG_SQRT_2PI - a[0] + 0.5 * a[1] * a[1];
    if (varies == VARIES_ARG(0) && x > 0)
        a[0] = log(x);
    else if (varies == VARIES_ARG(1) && x > 0 && log(x) != a[0])
        a[1] = fabs(log(x) - a[0]);
    else
        return NAN;
    return at(c, x, a);
}

static double best_vonmises(struct sp_call *c, uint64_t varies, double x, double *a) {
    return varies & VARIES_ARG(1) ? NAN : at(c, a[0], a);
}

/* ---- uniform_continuous: low < high is not in the signature */
static enum gpm_status check_range(struct sp_call *c) {
    double lo = sp_num(c, 0), hi = sp_num(c, 1);
    if (lo < hi && isfinite(hi - lo)) return GPM_OK;
    if (lo < hi)
        return sp_error(c, DIAG_DOMAIN, "%s: the range from %g to %g is not finite", c->cls->name,
                        lo, hi);
    return sp_error(c, DIAG_DOMAIN, "%s: empty range, low = %g is not below high = %g",
                    c->cls->name, lo, hi);
}

/* ---- normal: numbers, or sequences elementwise (the density sums). Of a sequence, q->a are the
 * means and q->l the sds; a number stands for all elements. */
static bool both_numbers(struct sp_call *c) {
    double m, s;
    return sp_as_number(c->args[0], &m) && sp_as_number(c->args[1], &s) && s > 0 && !isnan(m);
}

/* *out stays NULL for a number. */
static enum gpm_status normal_arg(struct sp_call *c, size_t i, double **out, size_t *n) {
    const char *name = i ? "sd" : "mean";
    double x;
    if (sp_as_number(c->args[i], &x))
        return isnan(x) ? sp_bad_arg(c, i, name, "a number other than NaN") : GPM_OK;
    if (!seq_is(c->args[i]))
        return sp_type_error(c, c->args[i], "%s must be a number or a sequence of numbers", name);
    return sp_numbers_arg(c, i, name, out, n);
}

static enum gpm_status normal_read(struct sp_call *c, struct mat_dist *q) {
    double **at[2] = {&q->a, &q->l};
    size_t n[2] = {1, 1};
    for (size_t k = 0; k < 2; k++) {
        enum gpm_status st = normal_arg(c, k, at[k], &n[k]);
        if (st != GPM_OK) return st;
    }
    if (q->a && q->l && n[0] != n[1])
        return sp_error(c, DIAG_SHAPE, "normal: mean has %zu elements but sd has %zu", n[0], n[1]);
    q->p = n[q->a ? 0 : 1];
    for (size_t k = 0; k < 2; k++) {
        if (*at[k]) continue;
        *at[k] = NEW_ARRAY(double, q->p + 1);
        for (size_t i = 0; i < q->p; i++) (*at[k])[i] = sp_num(c, k);
    }
    for (size_t i = 0; i < q->p; i++)
        if (!(q->l[i] > 0)) return sp_bad_arg(c, 1, "sd", "positive");
    return GPM_OK;
}

static void normals_draw(struct rng *r, const struct mat_dist *q, double *out) {
    for (size_t i = 0; i < q->p; i++) out[i] = dist_normal_draw(r, (double[]){q->a[i], q->l[i]}, 2);
}

static double normals_lp(const double *x, const struct mat_dist *q) {
    double sum = 0;
    for (size_t i = 0; i < q->p; i++) sum += dist_normal_lp(x[i], (double[]){q->a[i], q->l[i]}, 2);
    return sum;
}

static void normals_grad(const double *x, const struct mat_dist *q, double *dx, value *dargs) {
    dargs[0] = value_vector_new(q->p);
    dargs[1] = value_vector_new(q->p);
    for (size_t i = 0; i < q->p; i++) {
        double g[3];
        dist_normal_grad(x[i], (double[]){q->a[i], q->l[i]}, 2, g);
        dx[i] = g[0];
        dargs[0].u.vector->at[i] = g[1];
        dargs[1].u.vector->at[i] = g[2];
    }
}

/* Values keep the kind of the argument that is a sequence: vectors for vectors, else arrays. */
static enum gpm_status normal_simulate(struct sp_call *c, value *out) {
    if (both_numbers(c)) return sp_scalar_simulate(c, out);
    enum gpm_status st = vector_simulate(c, out);
    if (st != GPM_OK || c->args[0].tag == V_VECTOR || c->args[1].tag == V_VECTOR) return st;
    value items = value_array_new(out->u.vector->n);
    for (size_t i = 0; i < out->u.vector->n; i++)
        items.u.array->at[i] = value_num(out->u.vector->at[i]);
    value_set_take(out, items);
    return GPM_OK;
}

static enum gpm_status normal_log_density(struct sp_call *c, value v, double *out) {
    return (both_numbers(c) ? sp_scalar_log_density : vector_log_density)(c, v, out);
}

/* Derivatives with respect to a number shared by all elements add up. */
static enum gpm_status normal_grad(struct sp_call *c, value v, value *dv, value *dargs) {
    if (both_numbers(c)) return sp_scalar_grad(c, v, dv, dargs);
    enum gpm_status st = vector_grad(c, v, dv, dargs);
    for (size_t k = 0; k < 2 && st == GPM_OK; k++)
        if (!seq_is(c->args[k])) vector_sum(&dargs[k]);
    return st;
}

static enum gpm_status normal_bound(struct sp_call *c, value v, uint64_t varies, double *out) {
    return (both_numbers(c) ? sp_scalar_bound : vector_centre_bound)(c, v, varies, out);
}

/* Densities of dist_FN, bounds of best_BEST, and the support. */
#define SCALAR(fn, best, ...)                                                                      \
    SP_SCALAR(fn), .flags = SP_RANDOM, .log_bound = sp_scalar_bound, .support = sp_scalar_support, \
                   .of = &(const struct scalar_family) {                                           \
        best_##best, NULL, false, __VA_ARGS__                                                      \
    }
#define REAL     SUPPORT_REAL, -INFINITY, INFINITY
#define POSITIVE SUPPORT_POSITIVE, 0, INFINITY

static const struct vector_kind normal = {
    {best_normal, NULL, false, REAL}, false, normal_read, normals_draw, normals_lp, normals_grad};
static const struct scalar_family uniform = {.best = best_uniform, .check = check_range};

const struct sp_class sp_continuous_rows[] = {
    {.name = "normal",
     .sig = "(mean: any, sd: any) -> real",
     .doc = "normal distribution; sequences of means or sds give independent elements",
     .example = "floor(1e6 * assess(1, normal, 1, 1)) => -918939",
     .of = &normal,
     .flags = SP_RANDOM | SP_LIFTS,
     .code = SP_CODE_NORMAL,
     SP_NUMERIC(normal),
     .cols = cols_normal,
     .support = sp_scalar_support,
     .simulate = normal_simulate,
     .log_density = normal_log_density,
     .grad_density = normal_grad,
     .log_bound = normal_bound},
    {.name = "gamma",
     .sig = "(shape: positive, rate: positive) -> positive",
     .doc = "gamma distribution with mean shape / rate",
     .example = "assess(2, gamma, 1, 1) => -2",
     SCALAR(gamma, gamma, POSITIVE)},
    {.name = "inv_gamma",
     .sig = "(shape: positive, scale: positive) -> positive",
     .doc = "inverse of a gamma(shape, rate = scale) variable",
     .example = "assess(1, inv_gamma, 1, 1) => -1",
     SCALAR(inv_gamma, inv_gamma, POSITIVE)},
    {.name = "expon",
     .sig = "(rate: positive) -> nonneg",
     .doc = "exponential distribution with mean 1 / rate",
     .example = "assess(3, expon, 1) => -3",
     SCALAR(expon, expon, POSITIVE)},
    {.name = "beta",
     .sig = "(a: positive, b: positive) -> probability",
     .doc = "beta distribution on (0, 1) with mean a / (a + b)",
     .example = "assess(0.3, beta, 1, 1) => 0",
     SCALAR(beta, beta, SUPPORT_INTERVAL, 0, 1)},
    {.name = "log_beta",
     .sig = "(a: positive, b: positive) -> real",
     .doc = "logarithm of a beta(a, b) variable",
     .example = "assess(-2, log_beta, 1, 1) => -2",
     SCALAR(log_beta, log_beta, REAL)},
    {.name = "log_odds_beta",
     .sig = "(a: positive, b: positive) -> real",
     .doc = "log odds of a beta(a, b) variable",
     .example = "assess(0, log_odds_beta, 1, 1) => -1.3862943611198906",
     SCALAR(log_odds_beta, log_odds_beta, REAL)},
    {.name = "log_odds_uniform",
     .sig = "() -> real",
     .doc = "log odds of a uniform variable: the standard logistic distribution",
     .example = "assess(0, log_odds_uniform) => -1.3862943611198906",
     SCALAR(log_odds_uniform, log_odds_beta, REAL)},
    {.name = "uniform_continuous",
     .sig = "(low: real, high: real) -> real",
     .doc = "uniform distribution on the interval from low to high",
     .example = "assess(3, uniform_continuous, 2, 4) => -0.6931471805599453",
     .of = &uniform,
     .flags = SP_RANDOM,
     SP_SCALAR(uniform),
     .log_bound = sp_scalar_bound,
     .support = support_range},
    {.name = "student_t",
     .sig = "(nu: positive, loc?: real, scale?: positive) -> real",
     .doc = "Student's t with nu degrees of freedom, location 0 and scale 1 unless given",
     .example = "floor(1e6 * assess(0, student_t, 1)) => -1144730",
     SCALAR(student_t, student_t, REAL)},
    {.name = "laplace",
     .sig = "(loc: real, scale: positive) -> real",
     .doc = "Laplace (double exponential) distribution",
     .example = "assess(2, laplace, 0, 0.5) => -4",
     SCALAR(laplace, normal, REAL)},
    {.name = "lognormal",
     .sig = "(mu: real, sigma: positive) -> positive",
     .doc = "exp of a normal(mu, sigma) variable",
     .example = "floor(1e6 * assess(1, lognormal, 0, 1)) => -918939",
     SCALAR(lognormal, lognormal, POSITIVE)},
    {.name = "vonmises",
     .sig = "(mu: real, kappa: nonneg) -> real",
     .doc = "von Mises distribution on angles; draws lie in [-pi, pi], densities are periodic",
     .example = "floor(1e6 * assess(1, vonmises, 0, 0)) => -1837878",
     SCALAR(vonmises, vonmises, SUPPORT_INTERVAL, -M_PI, M_PI)},
};
const size_t sp_continuous_count = COUNT_OF(sp_continuous_rows);
