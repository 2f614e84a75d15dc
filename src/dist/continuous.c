/* SPDX-License-Identifier: Apache-2.0
 *
 * Continuous random procedures whose value is a number. Densities, samplers and gradients are
 * those of math/dist_continuous.c; here are domains that a signature cannot say, supports, bounds
 * for rejection, and `normal` on vectors.
 */
#include "base/mem.h"
#include "math/dist.h"
#include "math/special.h"
#include "dist/dist_row.h"
#include <math.h>

/* Bits of `varies` in log_bound. */
#define VARIES_VALUE  1u
#define VARIES_ARG(i) (2u << (i))

static enum gpm_status support(struct sp_support *out, enum sp_support_kind kind, double lo,
                               double hi) {
    *out = (struct sp_support){kind, lo, hi};
    return GPM_OK;
}

static enum gpm_status support_positive(struct sp_call *c, struct sp_support *out) {
    return support(out, SUPPORT_POSITIVE, 0, INFINITY);
}

static enum gpm_status support_unit(struct sp_call *c, struct sp_support *out) {
    return support(out, SUPPORT_INTERVAL, 0, 1);
}

static enum gpm_status support_circle(struct sp_call *c, struct sp_support *out) {
    return support(out, SUPPORT_INTERVAL, -M_PI, M_PI);
}

static enum gpm_status support_range(struct sp_call *c, struct sp_support *out) {
    return support(out, SUPPORT_INTERVAL, sp_num(c, 0), sp_num(c, 1));
}

/* ---- bounds: the density at its mode in the coordinates that vary; GPM_E_NOT_FOUND where there is
 * none. Every one starts with this: nothing varies, or the density at x with parameters a. */
static enum gpm_status at(struct sp_call *c, double x, const double *a, double *out) {
    *out = c->cls->num_log_density(x, a, c->n);
    return isnan(*out) ? GPM_E_NOT_FOUND : GPM_OK;
}

static enum gpm_status start_bound(struct sp_call *c, value v, uint64_t varies, double *a,
                                   double *x) {
    *x = NAN;
    sp_args(c, a);
    if (!(varies & VARIES_VALUE) && !sp_as_number(v, x)) return sp_bad_value(c, v, "a number");
    return GPM_OK;
}

/* Location-scale families with mode at the location: normal, laplace, student_t. `loc` and `scale`
 * number the arguments. Only the scale varies: its best value is found from |x - location|. */
static enum gpm_status bound_loc_scale(struct sp_call *c, value v, uint64_t varies, size_t loc,
                                       size_t scale, double *out) {
    double a[SP_MAX_PARAMS], x;
    enum gpm_status st = start_bound(c, v, varies, a, &x);
    if (st != GPM_OK) return st;
    if (varies & ~(uint64_t)(VARIES_VALUE | VARIES_ARG(loc) | VARIES_ARG(scale)))
        return GPM_E_NOT_FOUND;
    double m = loc < c->n ? a[loc] : 0;
    if (scale >= c->n || !(varies & VARIES_ARG(scale)))
        return at(c, varies ? m : x, a, out); /* value or location vary: they meet */
    if (varies != VARIES_ARG(scale) || x == m) return GPM_E_NOT_FOUND;
    a[scale] = fabs(x - m); /* d/ds (-log s - h(|d|/s)) = 0 at s = |d| for all three */
    return at(c, x, a, out);
}

static enum gpm_status bound_laplace(struct sp_call *c, value v, uint64_t varies, double *out) {
    return bound_loc_scale(c, v, varies, 0, 1, out);
}

static enum gpm_status bound_student_t(struct sp_call *c, value v, uint64_t varies, double *out) {
    return bound_loc_scale(c, v, varies, 1, 2, out);
}

/* Shape at least 1: the mode in x is (k-1)/b. x fixed and only the rate varies: b = k/x. */
static enum gpm_status bound_gamma(struct sp_call *c, value v, uint64_t varies, double *out) {
    double a[SP_MAX_PARAMS], x;
    enum gpm_status st = start_bound(c, v, varies, a, &x);
    if (st != GPM_OK) return st;
    if (varies == 0) return at(c, x, a, out);
    if (varies == VARIES_ARG(1) && x > 0) {
        a[1] = a[0] / x;
        return at(c, x, a, out);
    }
    if (varies != VARIES_VALUE || !(a[0] >= 1)) return GPM_E_NOT_FOUND;
    if (a[0] > 1) return at(c, (a[0] - 1) / a[1], a, out);
    *out = log(a[1]); /* the supremum, at 0 */
    return GPM_OK;
}

static enum gpm_status bound_inv_gamma(struct sp_call *c, value v, uint64_t varies, double *out) {
    double a[SP_MAX_PARAMS], x;
    enum gpm_status st = start_bound(c, v, varies, a, &x);
    if (st != GPM_OK) return st;
    if (varies == 0) return at(c, x, a, out);
    if (varies == VARIES_ARG(1) && x > 0) {
        a[1] = a[0] * x;
        return at(c, x, a, out);
    }
    if (varies != VARIES_VALUE) return GPM_E_NOT_FOUND;
    return at(c, a[1] / (a[0] + 1), a, out);
}

static enum gpm_status bound_expon(struct sp_call *c, value v, uint64_t varies, double *out) {
    double a[SP_MAX_PARAMS], x;
    enum gpm_status st = start_bound(c, v, varies, a, &x);
    if (st != GPM_OK) return st;
    if (varies == VARIES_ARG(0) && x > 0)
        a[0] = 1 / x;
    else if (varies & VARIES_ARG(0))
        return GPM_E_NOT_FOUND;
    return at(c, varies & VARIES_VALUE ? 0 : x, a, out);
}

static enum gpm_status bound_beta(struct sp_call *c, value v, uint64_t varies, double *out) {
    double a[SP_MAX_PARAMS], x;
    enum gpm_status st = start_bound(c, v, varies, a, &x);
    if (st != GPM_OK) return st;
    if (varies == 0) return at(c, x, a, out);
    if (varies != VARIES_VALUE || !(a[0] >= 1 && a[1] >= 1)) return GPM_E_NOT_FOUND;
    double p = a[0] - 1, q = a[1] - 1, mode = p + q > 0 ? p / (p + q) : 0.5;
    *out = xlogy(p, mode) + xlog1py(q, -mode) - log_beta_fn(a[0], a[1]);
    return GPM_OK;
}

/* log odds: p^a (1-p)^b is greatest at p = a / (a+b) */
static enum gpm_status bound_log_odds_beta(struct sp_call *c, value v, uint64_t varies,
                                           double *out) {
    double a[SP_MAX_PARAMS] = {1, 1}, x;
    enum gpm_status st = start_bound(c, v, varies, a, &x);
    if (st != GPM_OK) return st;
    if (varies & ~(uint64_t)VARIES_VALUE) return GPM_E_NOT_FOUND;
    return at(c, varies ? log(a[0] / a[1]) : x, a, out);
}

/* y^a (1-y)^(b-1) in y = e^x, b >= 1: greatest at y = a / (a+b-1) */
static enum gpm_status bound_log_beta(struct sp_call *c, value v, uint64_t varies, double *out) {
    double a[SP_MAX_PARAMS], x;
    enum gpm_status st = start_bound(c, v, varies, a, &x);
    if (st != GPM_OK) return st;
    if (varies == 0) return at(c, x, a, out);
    if (varies != VARIES_VALUE || !(a[1] >= 1)) return GPM_E_NOT_FOUND;
    double y = a[0] / (a[0] + a[1] - 1);
    *out = xlogy(a[0], y) + xlog1py(a[1] - 1, -y) - log_beta_fn(a[0], a[1]);
    return GPM_OK;
}

static enum gpm_status bound_uniform(struct sp_call *c, value v, uint64_t varies, double *out) {
    double a[SP_MAX_PARAMS], x;
    enum gpm_status st = start_bound(c, v, varies, a, &x);
    if (st != GPM_OK) return st;
    if (varies & ~(uint64_t)VARIES_VALUE) return GPM_E_NOT_FOUND;
    return at(c, varies ? a[0] : x, a, out);
}

/* Mode e^(m - s^2). x fixed: as the normal of log x. */
static enum gpm_status bound_lognormal(struct sp_call *c, value v, uint64_t varies, double *out) {
    double a[SP_MAX_PARAMS], x;
    enum gpm_status st = start_bound(c, v, varies, a, &x);
    if (st != GPM_OK) return st;
    if (varies == 0) return at(c, x, a, out);
    if (varies == VARIES_VALUE) {
        *out = -log(a[1]) - LOG_SQRT_2PI - a[0] + 0.5 * a[1] * a[1];
        return GPM_OK;
    }
    if (varies & VARIES_VALUE || !(x > 0)) return GPM_E_NOT_FOUND;
    if (varies == VARIES_ARG(0))
        a[0] = log(x);
    else if (varies == VARIES_ARG(1) && log(x) != a[0])
        a[1] = fabs(log(x) - a[0]);
    else
        return GPM_E_NOT_FOUND;
    return at(c, x, a, out);
}

static enum gpm_status bound_vonmises(struct sp_call *c, value v, uint64_t varies, double *out) {
    double a[SP_MAX_PARAMS], x;
    enum gpm_status st = start_bound(c, v, varies, a, &x);
    if (st != GPM_OK) return st;
    if (varies & VARIES_ARG(1)) return GPM_E_NOT_FOUND;
    return at(c, varies ? a[0] : x, a, out);
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

static enum gpm_status uniform_simulate(struct sp_call *c, value *out) {
    enum gpm_status st = check_range(c);
    return st == GPM_OK ? sp_scalar_simulate(c, out) : st;
}

static enum gpm_status uniform_log_density(struct sp_call *c, value v, double *out) {
    enum gpm_status st = check_range(c);
    return st == GPM_OK ? sp_scalar_log_density(c, v, out) : st;
}

/* ---- normal: numbers, or sequences elementwise (the density sums) */
struct normal_args {
    double *mean, *sd; /* owned; one element when the argument is a number */
    size_t n_mean, n_sd;
    size_t n;    /* elements of the value */
    bool scalar; /* both are numbers */
};

static void normal_args_release(struct normal_args *a) {
    mem_free(a->mean);
    mem_free(a->sd);
}

static enum gpm_status normal_arg(struct sp_call *c, size_t i, const char *name, double **out,
                                  size_t *n, bool *number) {
    double x;
    *out = NULL;
    *number = sp_as_number(c->args[i], &x);
    if (!*number) {
        if (!seq_is(c->args[i]))
            return sp_bad_type(c, i, name, "a number or a sequence of numbers");
        return sp_numbers_arg(c, i, name, out, n);
    }
    if (isnan(x)) return sp_bad_arg(c, i, name, "a number other than NaN");
    *out = NEW_ARRAY(double, 1);
    (*out)[0] = x;
    *n = 1;
    return GPM_OK;
}

static enum gpm_status normal_args_init(struct sp_call *c, struct normal_args *a) {
    bool mean_number = false, sd_number = false;
    *a = (struct normal_args){0};
    enum gpm_status st = normal_arg(c, 0, "mean", &a->mean, &a->n_mean, &mean_number);
    if (st == GPM_OK) st = normal_arg(c, 1, "sd", &a->sd, &a->n_sd, &sd_number);
    if (st == GPM_OK && !mean_number && !sd_number && a->n_mean != a->n_sd)
        st = sp_error(c, DIAG_SHAPE, "normal: mean has %zu elements but sd has %zu", a->n_mean,
                      a->n_sd);
    for (size_t i = 0; st == GPM_OK && i < a->n_sd; i++)
        if (!(a->sd[i] > 0)) st = sp_bad_arg(c, 1, "sd", "positive");
    a->scalar = mean_number && sd_number;
    a->n = mean_number ? a->n_sd : a->n_mean;
    if (st != GPM_OK) normal_args_release(a);
    return st;
}

/* Mean and sd of element i. */
static void normal_element(const struct normal_args *a, size_t i, double *out) {
    out[0] = a->mean[a->n_mean == 1 ? 0 : i];
    out[1] = a->sd[a->n_sd == 1 ? 0 : i];
}

static bool both_numbers(struct sp_call *c) {
    double m, s;
    return sp_as_number(c->args[0], &m) && sp_as_number(c->args[1], &s) && s > 0 && !isnan(m);
}

/* Values keep the kind of the argument that is a sequence: vectors for vectors, else arrays. */
static value numbers_like(struct sp_call *c, const double *x, size_t n) {
    bool vector = c->args[0].tag == V_VECTOR || c->args[1].tag == V_VECTOR;
    if (vector) return value_vector(x, n);
    value out = value_array_new(n);
    for (size_t i = 0; i < n; i++) out.u.array->at[i] = value_num(x[i]);
    return out;
}

static enum gpm_status normal_simulate(struct sp_call *c, value *out) {
    struct normal_args a;
    if (both_numbers(c)) return sp_scalar_simulate(c, out);
    enum gpm_status st = normal_args_init(c, &a);
    if (st != GPM_OK) return st;
    double *x = NEW_ARRAY(double, a.n + 1), ms[2];
    for (size_t i = 0; i < a.n; i++) {
        normal_element(&a, i, ms);
        x[i] = dist_normal_draw(c->rng, ms, 2);
    }
    *out = numbers_like(c, x, a.n);
    mem_free(x);
    normal_args_release(&a);
    return GPM_OK;
}

/* The elements of a value; a value of another length has density zero only by an error. */
static enum gpm_status normal_value(struct sp_call *c, const struct normal_args *a, value v,
                                    double **x) {
    size_t n;
    if (!seq_numbers(v, x, &n)) return sp_bad_value(c, v, "a sequence of numbers");
    if (n == a->n) return GPM_OK;
    mem_free(*x);
    return sp_error(c, DIAG_SHAPE, "normal: the value has %zu elements, the parameters have %zu", n,
                    a->n);
}

static enum gpm_status normal_log_density(struct sp_call *c, value v, double *out) {
    struct normal_args a;
    double *x, ms[2];
    if (both_numbers(c)) return sp_scalar_log_density(c, v, out);
    enum gpm_status st = normal_args_init(c, &a);
    if (st != GPM_OK) return st;
    st = normal_value(c, &a, v, &x);
    if (st == GPM_OK) {
        *out = 0;
        for (size_t i = 0; i < a.n; i++) {
            normal_element(&a, i, ms);
            *out += dist_normal_lp(x[i], ms, 2);
        }
        if (isnan(*out)) *out = -INFINITY;
        mem_free(x);
    }
    normal_args_release(&a);
    return st;
}

/* Elementwise derivatives; those with respect to a number shared by all elements add up. */
static enum gpm_status normal_grad(struct sp_call *c, value v, value *dv, value *dargs) {
    struct normal_args a;
    double *x, ms[2], g[3];
    if (both_numbers(c)) return sp_scalar_grad(c, v, dv, dargs);
    enum gpm_status st = normal_args_init(c, &a);
    if (st != GPM_OK) return st;
    st = normal_value(c, &a, v, &x);
    if (st != GPM_OK) {
        normal_args_release(&a);
        return st;
    }
    value d[3] = {value_vector_new(a.n), value_vector_new(a.n), value_vector_new(a.n)};
    double sum[3] = {0};
    for (size_t i = 0; i < a.n; i++) {
        normal_element(&a, i, ms);
        dist_normal_grad(x[i], ms, 2, g);
        for (int k = 0; k < 3; k++) sum[k] += d[k].u.vector->at[i] = g[k];
    }
    if (dv) *dv = value_ref(d[0]);
    for (size_t k = 0; k < 2; k++) {
        double number;
        dargs[k] = sp_as_number(c->args[k], &number) ? value_num(sum[k + 1]) : value_ref(d[k + 1]);
    }
    for (int k = 0; k < 3; k++) value_unref(d[k]);
    mem_free(x);
    normal_args_release(&a);
    return GPM_OK;
}

static enum gpm_status bound_normal(struct sp_call *c, value v, uint64_t varies, double *out) {
    struct normal_args a;
    if (both_numbers(c)) return bound_loc_scale(c, v, varies, 0, 1, out);
    if (varies == 0) return normal_log_density(c, v, out);
    if (varies & VARIES_ARG(1)) return GPM_E_NOT_FOUND;
    enum gpm_status st = normal_args_init(c, &a);
    if (st != GPM_OK) return st;
    *out = 0;
    for (size_t i = 0; i < a.n; i++) *out -= log(a.sd[a.n_sd == 1 ? 0 : i]) + LOG_SQRT_2PI;
    normal_args_release(&a);
    return GPM_OK;
}

#define NUMERIC(fn)                                                                                \
    .num_log_density = dist_##fn##_lp, .num_sample = dist_##fn##_draw, .num_grad = dist_##fn##_grad
#define SCALAR(fn)                                                                                 \
    .simulate = sp_scalar_simulate, .log_density = sp_scalar_log_density,                          \
    .grad_density = sp_scalar_grad, .flags = SP_RANDOM, NUMERIC(fn)

const struct sp_class sp_continuous_rows[] = {
    {.name = "normal",
     .sig = "(mean: any, sd: any) -> real",
     .doc = "normal distribution; sequences of means or sds give independent elements",
     .example = "floor(1e6 * assess(1, normal, 1, 1)) => -918939",
     .flags = SP_RANDOM,
     .code = SP_CODE_NORMAL,
     .simulate = normal_simulate,
     .log_density = normal_log_density,
     .grad_density = normal_grad,
     NUMERIC(normal),
     .support = sp_support_real,
     .log_bound = bound_normal},
    {.name = "gamma",
     .sig = "(shape: positive, rate: positive) -> positive",
     .doc = "gamma distribution with mean shape / rate",
     .example = "assess(2, gamma, 1, 1) => -2",
     SCALAR(gamma),
     .support = support_positive,
     .log_bound = bound_gamma},
    {.name = "inv_gamma",
     .sig = "(shape: positive, scale: positive) -> positive",
     .doc = "inverse of a gamma(shape, rate = scale) variable",
     .example = "assess(1, inv_gamma, 1, 1) => -1",
     SCALAR(inv_gamma),
     .support = support_positive,
     .log_bound = bound_inv_gamma},
    {.name = "expon",
     .sig = "(rate: positive) -> nonneg",
     .doc = "exponential distribution with mean 1 / rate",
     .example = "assess(3, expon, 1) => -3",
     SCALAR(expon),
     .support = support_positive,
     .log_bound = bound_expon},
    {.name = "beta",
     .sig = "(a: positive, b: positive) -> probability",
     .doc = "beta distribution on (0, 1) with mean a / (a + b)",
     .example = "assess(0.3, beta, 1, 1) => 0",
     SCALAR(beta),
     .support = support_unit,
     .log_bound = bound_beta},
    {.name = "log_beta",
     .sig = "(a: positive, b: positive) -> real",
     .doc = "logarithm of a beta(a, b) variable",
     .example = "assess(-2, log_beta, 1, 1) => -2",
     SCALAR(log_beta),
     .support = sp_support_real,
     .log_bound = bound_log_beta},
    {.name = "log_odds_beta",
     .sig = "(a: positive, b: positive) -> real",
     .doc = "log odds of a beta(a, b) variable",
     .example = "assess(0, log_odds_beta, 1, 1) => -1.3862943611198906",
     SCALAR(log_odds_beta),
     .support = sp_support_real,
     .log_bound = bound_log_odds_beta},
    {.name = "log_odds_uniform",
     .sig = "() -> real",
     .doc = "log odds of a uniform variable: the standard logistic distribution",
     .example = "assess(0, log_odds_uniform) => -1.3862943611198906",
     SCALAR(log_odds_uniform),
     .support = sp_support_real,
     .log_bound = bound_log_odds_beta},
    {.name = "uniform_continuous",
     .sig = "(low: real, high: real) -> real",
     .doc = "uniform distribution on the interval from low to high",
     .example = "assess(3, uniform_continuous, 2, 4) => -0.6931471805599453",
     .flags = SP_RANDOM,
     .simulate = uniform_simulate,
     .log_density = uniform_log_density,
     .grad_density = sp_scalar_grad,
     NUMERIC(uniform),
     .support = support_range,
     .log_bound = bound_uniform},
    {.name = "student_t",
     .sig = "(nu: positive, loc?: real, scale?: positive) -> real",
     .doc = "Student's t with nu degrees of freedom, location 0 and scale 1 unless given",
     .example = "floor(1e6 * assess(0, student_t, 1)) => -1144730",
     SCALAR(student_t),
     .support = sp_support_real,
     .log_bound = bound_student_t},
    {.name = "laplace",
     .sig = "(loc: real, scale: positive) -> real",
     .doc = "Laplace (double exponential) distribution",
     .example = "assess(2, laplace, 0, 0.5) => -4",
     SCALAR(laplace),
     .support = sp_support_real,
     .log_bound = bound_laplace},
    {.name = "lognormal",
     .sig = "(mu: real, sigma: positive) -> positive",
     .doc = "exp of a normal(mu, sigma) variable",
     .example = "floor(1e6 * assess(1, lognormal, 0, 1)) => -918939",
     SCALAR(lognormal),
     .support = support_positive,
     .log_bound = bound_lognormal},
    {.name = "vonmises",
     .sig = "(mu: real, kappa: nonneg) -> real",
     .doc = "von Mises distribution on angles; draws lie in [-pi, pi], densities are periodic",
     .example = "floor(1e6 * assess(1, vonmises, 0, 0)) => -1837878",
     SCALAR(vonmises),
     .support = support_circle,
     .log_bound = bound_vonmises},
};
const size_t sp_continuous_count = COUNT_OF(sp_continuous_rows);
