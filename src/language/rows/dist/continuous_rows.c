/* SPDX-License-Identifier: Apache-2.0
 *
 * Continuous random procedures on which others build. Densities, samplers and gradients are those
 * of numeric/dist/dist_continuous.c, distribution functions those of numeric/dist/dist_tails.c;
 * here are domains that a signature cannot say, supports, and bounds for rejection.
 */
#include "numeric/dist/dist.h"
#include "numeric/special/special.h"
#include "language/rows/dist/dist_cols.h"
#include "language/rows/dist/dist_row.h"
#include "language/rows/dist/transform.h"
#include <math.h>

/* Bits of `varies` in log_bound. */
#define VARIES_VALUE  1u
#define VARIES_ARG(i) (2u << (i))

/* ---- bounds: the density at its mode in the coordinates that vary (at least one does), with the
 * others at x and a; NaN if unbounded. */
static double at(const struct sp_call *c, double x, const double *a) {
    return c->cls->num_log_density(x, a, c->n);
}

/* Location-scale families with mode at the location: normal, laplace, student_t. `loc` and `scale`
 * number the arguments. Only the scale varies: its best value is found from |x - location|. */
static double loc_scale(const struct sp_call *c, uint64_t varies, double x, double *a, size_t loc,
                        size_t scale) {
    double m = loc < c->n ? a[loc] : 0;
    if (varies & ~(uint64_t)(VARIES_VALUE | VARIES_ARG(loc) | VARIES_ARG(scale))) return NAN;
    if (scale >= c->n || !(varies & VARIES_ARG(scale)))
        return at(c, m, a); /* value or location vary: they meet */
    if (varies != VARIES_ARG(scale) || x == m) return NAN;
    a[scale] = fabs(x - m); /* d/ds (-log s - h(|d|/s)) = 0 at s = |d| for all three */
    return at(c, x, a);
}

double best_loc_scale(const struct sp_call *c, uint64_t varies, double x, double *a) {
    return loc_scale(c, varies, x, a, 0, 1);
}

static double best_student_t(const struct sp_call *c, uint64_t varies, double x, double *a) {
    return loc_scale(c, varies, x, a, 1, 2);
}

/* Shape at least 1: the mode in x is (k-1)/b. x fixed and only the rate varies: b = k/x. */
static double best_gamma(const struct sp_call *c, uint64_t varies, double x, double *a) {
    if (varies == VARIES_ARG(1) && x > 0) {
        a[1] = a[0] / x;
        return at(c, x, a);
    }
    if (varies != VARIES_VALUE || !(a[0] >= 1)) return NAN;
    return a[0] > 1 ? at(c, (a[0] - 1) / a[1], a) : log(a[1]); /* the supremum, at 0 */
}

static double best_inv_gamma(const struct sp_call *c, uint64_t varies, double x, double *a) {
    if (varies == VARIES_ARG(1) && x > 0) {
        a[1] = a[0] * x;
        return at(c, x, a);
    }
    return varies == VARIES_VALUE ? at(c, a[1] / (a[0] + 1), a) : NAN;
}

static double best_expon(const struct sp_call *c, uint64_t varies, double x, double *a) {
    if (varies == VARIES_ARG(0) && x > 0)
        a[0] = 1 / x;
    else if (varies & VARIES_ARG(0))
        return NAN;
    return at(c, varies & VARIES_VALUE ? 0 : x, a);
}

static double best_beta(const struct sp_call *c, uint64_t varies, double x, double *a) {
    if (varies != VARIES_VALUE || !(a[0] >= 1 && a[1] >= 1)) return NAN;
    double p = a[0] - 1, q = a[1] - 1, mode = p + q > 0 ? p / (p + q) : 0.5;
    return xlogy(p, mode) + xlog1py(q, -mode) - log_beta_fn(a[0], a[1]);
}

/* log odds: p^a (1-p)^b is greatest at p = a / (a+b) */
static double best_log_odds_beta(const struct sp_call *c, uint64_t varies, double x, double *a) {
    return varies == VARIES_VALUE ? at(c, c->n ? log(a[0] / a[1]) : 0, a) : NAN;
}

/* y^a (1-y)^(b-1) in y = e^x, b >= 1: greatest at y = a / (a+b-1) */
static double best_log_beta(const struct sp_call *c, uint64_t varies, double x, double *a) {
    if (varies != VARIES_VALUE || !(a[1] >= 1)) return NAN;
    double y = a[0] / (a[0] + a[1] - 1);
    return xlogy(a[0], y) + xlog1py(a[1] - 1, -y) - log_beta_fn(a[0], a[1]);
}

static double best_uniform(const struct sp_call *c, uint64_t varies, double x, double *a) {
    return varies == VARIES_VALUE ? at(c, a[0], a) : NAN;
}

/* Mode e^(m - s^2). x fixed: as the normal of log x. */
static double best_lognormal(const struct sp_call *c, uint64_t varies, double x, double *a) {
    if (varies == VARIES_VALUE) return -log(a[1]) - LOG_SQRT_2PI - a[0] + 0.5 * a[1] * a[1];
    if (varies == VARIES_ARG(0) && x > 0)
        a[0] = log(x);
    else if (varies == VARIES_ARG(1) && x > 0 && log(x) != a[0])
        a[1] = fabs(log(x) - a[0]);
    else
        return NAN;
    return at(c, x, a);
}

static double best_vonmises(const struct sp_call *c, uint64_t varies, double x, double *a) {
    return varies & VARIES_ARG(1) ? NAN : at(c, a[0], a);
}

/* ---- uniform_continuous: low < high is not in the signature */
static enum gpm_status check_range(struct sp_call *c, const double *a) {
    double lo = a[0], hi = a[1];
    if (lo < hi && isfinite(hi - lo)) return GPM_OK;
    if (lo < hi)
        return sp_error(c, DIAG_DOMAIN, "%s: the range from %g to %g is not finite", c->cls->name,
                        lo, hi);
    return sp_error(c, DIAG_DOMAIN, "%s: empty range, low = %g is not below high = %g",
                    c->cls->name, lo, hi);
}

static void range_of_uniform(const double *a, double *lo, double *hi) {
    *lo = a[0];
    *hi = a[1];
}

LOCATION_SCALE(laplace, laplace)

static const double standard_t[] = {NAN, 0, 1};

const struct sp_class sp_continuous_rows[] = {
    {.name = "normal",
     .sig = "(mean: real, sd: positive" SP_BOUNDS ") -> real",
     .doc = "normal distribution",
     .example = "floor(1e6 * assess(1, normal, 1, 1)) => -918939",
     .code = SP_CODE_NORMAL,
     .normal = true,
     .num_args = 2,
     .cols = cols_normal,
     SP_CONTINUOUS(normal, .best = best_loc_scale, SP_REAL, .tails = dist_normal_tails,
                   .slopes = slopes_loc_scale)},
    {.name = "gamma",
     .sig = "(shape: positive, rate: positive" SP_BOUNDS ") -> positive",
     .doc = "gamma distribution with mean shape / rate",
     .example = "assess(2, gamma, 1, 1) => -2",
     .num_args = 2,
     SP_CONTINUOUS(gamma, .best = best_gamma, SP_POSITIVE, .tails = dist_gamma_tails,
                   .slopes = slopes_rate)},
    {.name = "inv_gamma",
     .sig = "(shape: positive, scale: positive" SP_BOUNDS ") -> positive",
     .doc = "inverse of a gamma(shape, rate = scale) variable",
     .example = "assess(1, inv_gamma, 1, 1) => -1",
     .num_args = 2,
     SP_CONTINUOUS(inv_gamma, .best = best_inv_gamma, SP_POSITIVE, .tails = dist_inv_gamma_tails,
                   .slopes = slopes_scale)},
    {.name = "expon",
     .sig = "(rate: positive" SP_BOUNDS ") -> nonneg",
     .doc = "exponential distribution with mean 1 / rate",
     .example = "assess(3, expon, 1) => -3",
     .num_args = 1,
     SP_CONTINUOUS(expon, .best = best_expon, SP_POSITIVE, .tails = dist_expon_tails,
                   .slopes = slopes_rate)},
    {.name = "beta",
     .sig = "(a: positive, b: positive" SP_BOUNDS ") -> probability",
     .doc = "beta distribution on (0, 1) with mean a / (a + b)",
     .example = "assess(0.3, beta, 1, 1) => 0",
     .num_args = 2,
     SP_CONTINUOUS(beta, .best = best_beta, SP_BETWEEN(0, 1), .tails = dist_beta_tails)},
    {.name = "log_beta",
     .sig = "(a: positive, b: positive" SP_BOUNDS ") -> real",
     .doc = "logarithm of a beta(a, b) variable",
     .example = "assess(-2, log_beta, 1, 1) => -2",
     .num_args = 2,
     SP_CONTINUOUS(log_beta, .best = best_log_beta, SP_BETWEEN(-INFINITY, 0),
                   .tails = dist_log_beta_tails)},
    {.name = "log_odds_beta",
     .sig = "(a: positive, b: positive" SP_BOUNDS ") -> real",
     .doc = "log odds of a beta(a, b) variable",
     .example = "assess(0, log_odds_beta, 1, 1) => -1.3862943611198906",
     .num_args = 2,
     SP_CONTINUOUS(log_odds_beta, .best = best_log_odds_beta, SP_REAL,
                   .tails = dist_log_odds_beta_tails)},
    {.name = "log_odds_uniform",
     .sig = "() -> real",
     .doc = "log odds of a uniform variable: the standard logistic distribution",
     .example = "assess(0, log_odds_uniform) => -1.3862943611198906",
     SP_CONTINUOUS(log_odds_uniform, .best = best_log_odds_beta, SP_REAL)},
    {.name = "uniform_continuous",
     .sig = "(low: real, high: real" SP_BOUNDS ") -> real",
     .doc = "uniform distribution on the interval from low to high",
     .example = "assess(3, uniform_continuous, 2, 4) => -0.6931471805599453",
     .num_args = 2,
     SP_CONTINUOUS(uniform, .best = best_uniform, SP_REAL, .tails = dist_uniform_tails,
                   .slopes = slopes_ends, .check = check_range, .range = range_of_uniform)},
    {.name = "student_t",
     .sig = "(nu: positive, loc?: real, scale?: positive" SP_BOUNDS ") -> real",
     .doc = "Student's t with nu degrees of freedom, location 0 and scale 1 unless given",
     .example = "floor(1e6 * assess(0, student_t, 1)) => -1144730",
     .num_args = 3,
     SP_CONTINUOUS(student_t, .best = best_student_t, SP_REAL, .tails = dist_student_t_tails,
                   .slopes = slopes_shape_loc_scale, .absent = standard_t)},
    {.name = "laplace",
     .sig = "(loc: real, scale: positive" SP_BOUNDS ") -> real",
     .doc = "Laplace (double exponential) distribution",
     .example = "assess(2, laplace, 0, 0.5) => -4",
     .num_args = 2,
     SP_CONTINUOUS(laplace, .best = best_loc_scale, SP_REAL, .tails = dist_laplace_tails,
                   .slopes = slopes_loc_scale)},
    {.name = "lognormal",
     .sig = "(mu: real, sigma: positive" SP_BOUNDS ") -> positive",
     .doc = "exp of a normal(mu, sigma) variable",
     .example = "floor(1e6 * assess(1, lognormal, 0, 1)) => -918939",
     .num_args = 2,
     SP_CONTINUOUS(lognormal, .best = best_lognormal, SP_POSITIVE, .tails = dist_lognormal_tails,
                   .slopes = slopes_log_loc_scale)},
    {.name = "vonmises",
     .sig = "(mu: real, kappa: nonneg) -> real",
     .doc = "von Mises distribution on angles; draws lie in [-pi, pi], densities are periodic",
     .example = "floor(1e6 * assess(1, vonmises, 0, 0)) => -1837878",
     SP_CONTINUOUS(vonmises, .best = best_vonmises, SP_BETWEEN(-M_PI, M_PI))},
};
const size_t sp_continuous_count = COUNT_OF(sp_continuous_rows);
