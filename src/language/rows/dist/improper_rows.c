/* SPDX-License-Identifier: Apache-2.0
 *
 * Improper priors: density 1 everywhere between their bounds. They have no distribution to draw
 * from. What simulate gives is a start, a number that is uniform between -2 and 2 in unconstrained
 * space; proposals from the prior are refused where they are made (SP_IMPROPER).
 */
#include "base/mem.h"
#include "language/rows/dist/dist_row.h"
#include "numeric/dist/dist.h"
#include "numeric/special/special.h"
#include <math.h>

static double lower_of(const double *a, size_t n) {
    return n > 0 ? a[0] : -INFINITY;
}

static double upper_of(const double *a, size_t n) {
    return n > 1 ? a[1] : INFINITY;
}

static double flat_lp(double x, const double *a, size_t n) {
    if (!(lower_of(a, n) < upper_of(a, n)) || isnan(x)) return NAN;
    return x >= lower_of(a, n) && x <= upper_of(a, n) && !isinf(x) ? 0 : -INFINITY;
}

static double flat_start(struct rng *r, const double *a, size_t n) {
    double lo = lower_of(a, n), hi = upper_of(a, n), u = 4 * rng_uniform(r) - 2;
    if (!(lo < hi)) return NAN;
    return isfinite(lo) && isfinite(hi) ? lo + (hi - lo) * logistic(u)
           : isfinite(lo)               ? lo + exp(u)
           : isfinite(hi)               ? hi - exp(u)
                                        : u;
}

static void flat_grad(double x, const double *a, size_t n, double *g) {
    for (size_t i = 0; i <= n; i++) g[i] = 0;
}

static double positive_lp(double x, const double *a, size_t n) {
    return flat_lp(x, (double[]){0, INFINITY}, 2);
}

static double positive_start(struct rng *r, const double *a, size_t n) {
    return flat_start(r, (double[]){0, INFINITY}, 2);
}

static void range_of_flat(const double *a, double *lo, double *hi) {
    *lo = a[0];
    *hi = a[1];
}

static enum gpm_status check_range(struct sp_call *c, const double *a) {
    if (lower_of(a, c->n) < upper_of(a, c->n)) return GPM_OK;
    return sp_error(c, DIAG_DOMAIN, "%s: lower = %g is not below upper = %g", c->cls->name,
                    lower_of(a, c->n), upper_of(a, c->n));
}

/* The last argument says how many elements; without it the value is a number, or has the elements
 * of the bounds. */
static bool elements(const struct sp_call *c, size_t at, size_t *n) {
    if (!sp_given(c, at)) return false;
    *n = (size_t)sp_num(c, at);
    return true;
}

static enum gpm_status flat_simulate(struct sp_call *c, value *out) {
    size_t n, at = c->cls->num_args;
    if (!elements(c, at, &n)) return sp_scalar_simulate(c, out);
    enum gpm_status st = sp_check_size(c, (double)n, sizeof(double));
    struct sp_call one = *c;
    one.n = at;
    value v = st == GPM_OK ? value_vector_new(n) : NIL;
    for (size_t i = 0; i < n && st == GPM_OK; i++) {
        value x;
        st = sp_scalar_simulate(&one, &x);
        if (st == GPM_OK && x.tag != V_NUM) {
            value_unref(x);
            st = sp_error(c, DIAG_SHAPE, "%s: with n the bounds are numbers", c->cls->name);
        }
        if (st == GPM_OK) v.u.vector->at[i] = x.u.num;
    }
    if (st == GPM_OK)
        *out = v;
    else
        value_unref(v);
    return st;
}

static enum gpm_status flat_log_density(struct sp_call *c, value v, double *out) {
    size_t n, got;
    if (elements(c, c->cls->num_args, &n) && (!seq_length(v, &got) || got != n))
        return sp_error(c, DIAG_SHAPE, "%s: the value must have %zu elements, got %s", c->cls->name,
                        n, SHOW(v));
    return sp_scalar_log_density(c, v, out);
}

static const double no_bounds[] = {-INFINITY, INFINITY, 0};

#define FLAT(fn, ...)                                                                              \
    .flags = SP_RANDOM | SP_LIFTS | SP_LACKS | SP_IMPROPER, .simulate = flat_simulate,             \
    .log_density = flat_log_density, .grad_density = sp_scalar_grad, .support = sp_scalar_support, \
    .num_log_density = fn##_lp, .num_sample = fn##_start, .num_grad = flat_grad,                   \
    .of = &(const struct scalar_family) {                                                          \
        .absent = no_bounds, __VA_ARGS__                                                           \
    }

const struct sp_class sp_improper_rows[] = {
    {.name = "flat",
     .sig = "(lower?: real, upper?: real, n?: count) -> real",
     .doc = "an improper prior: density 1 between the bounds, if any; with n, of each element of a "
            "vector. Not for operators that draw from the prior",
     .example = "assess(3, flat) => 0",
     .num_args = 2,
     FLAT(flat, SP_REAL, .range = range_of_flat, .check = check_range)},
    {.name = "flat_positive",
     .sig = "(n?: count) -> positive",
     .doc = "an improper prior: density 1 above 0; with n, of each element of a vector",
     .example = "assess(3, flat_positive) => 0",
     FLAT(positive, SP_POSITIVE)},
};
const size_t sp_improper_count = COUNT_OF(sp_improper_rows);
