/* SPDX-License-Identifier: Apache-2.0
 *
 * Continuous random procedures by location and scale, those of one sign that come of them, and
 * skewed ones, with their laws. z = (x - m) / s throughout.
 */
#include "language/rows/dist/dist_row.h"
#include "language/rows/dist/transform.h"
#include "numeric/special/special.h"
#include <math.h>

static enum gpm_status check_share(struct sp_call *c, const double *a) {
    if (a[2] > 0 && a[2] < 1) return GPM_OK;
    return sp_error(c, DIAG_DOMAIN, "%s: beta must be above 0 and below 1, got %g", c->cls->name,
                    a[2]);
}

LOCATION_SCALE(cauchy, cauchy)
LOCATION_SCALE(logistic, logistic)
LOCATION_SCALE(gumbel, gumbel)

/* ---- half_X(..., s):  twice the density of X with location 0, x >= 0 */
static double half_lp(dist_lp_fn *of, double x, const double *a, size_t n) {
    double lp = of(x, a, n);
    return isnan(lp) || isnan(x) ? NAN : x >= 0 ? lp + M_LN2 : -INFINITY;
}

#define HALF(NAME, BASE, N, OF, ...)                                                               \
    LAW_LP(NAME, half_lp(dist_##BASE##_lp, x, PARAMETERS OF, N))                                   \
    LAW_DRAW(NAME, fabs(dist_##BASE##_draw(r, PARAMETERS OF, N)))                                  \
    RENAMED_GRAD(NAME, BASE, N, OF, __VA_ARGS__)
HALF(half_normal, normal, 2, (0, a[0]), g[1] = d[2])
HALF(half_cauchy, cauchy, 2, (0, a[0]), g[1] = d[2])
HALF(half_student_t, student_t, 3, (a[0], 0, a[1]), g[1] = d[1]; g[2] = d[3])

/* Twice the upper tail; below x what is left. */
static void put_half(double *t, double upper) {
    put_exponential(t, -fmin(upper + M_LN2, 0));
}

static void dist_half_normal_tails(double x, const double *a, size_t n, double *t) {
    put_half(t, norm_log_cdf(-x / a[0]));
    if (x < a[0]) t[0] = x > 0 ? log(erf(x / a[0] * M_SQRT1_2)) : -INFINITY;
}

static void dist_half_cauchy_tails(double x, const double *a, size_t n, double *t) {
    put_half(t, log(atan2(1, x / a[0])) - LOG_PI);
    if (x < a[0]) t[0] = x > 0 ? log(atan(x / a[0]) * M_2_PI) : -INFINITY;
}

static void dist_half_student_t_tails(double x, const double *a, size_t n, double *t) {
    double u[2];
    dist_student_t_tails(x, (double[]){a[0], 0, a[1]}, 3, u);
    put_half(t, u[1]);
}

/* Phi'(v) / Phi(v) */
static double inverse_mills(double v) {
    return v < 0 ? M_2_SQRTPI * M_SQRT1_2 / erfcx(-v * M_SQRT1_2)
                 : exp(-0.5 * v * v - LOG_SQRT_2PI) / norm_cdf(v);
}

/* ---- skew_normal(m, s, k):  2 / s phi(z) Phi(k z) */
static double dist_skew_normal_lp(double x, const double *a, size_t n) {
    if (!(a[1] > 0) || isnan(a[2])) return NAN;
    double z = (x - a[0]) / a[1];
    return M_LN2 - log(a[1]) - LOG_SQRT_2PI - 0.5 * z * z + norm_log_cdf(a[2] * z);
}

/* Azzalini 1985: d |u| + sqrt(1 - d^2) v with d = k / sqrt(1 + k^2). */
static double dist_skew_normal_draw(struct rng *r, const double *a, size_t n) {
    if (!(a[1] > 0) || isnan(a[2])) return NAN;
    double root = hypot(1, a[2]), u = fabs(rng_normal(r)), v = rng_normal(r);
    double d = isinf(a[2]) ? copysign(1, a[2]) : a[2] / root;
    return a[0] + a[1] * (d * u + v / root);
}

static void dist_skew_normal_grad(double x, const double *a, size_t n, double *g) {
    double z = (x - a[0]) / a[1], ratio = inverse_mills(a[2] * z);
    loc_scale_grad(z, -z + a[2] * ratio, a[1], g);
    g[3] = z * ratio;
}

/* ---- skew_double_exponential(m, s, t), d = x - m:
 *      2 t (1 - t) / s exp(-2 w / s),   w = -(1 - t) d below m, t d above */
static double tilted(double d, double tau) {
    return d < 0 ? (tau - 1) * d : tau * d;
}

static double dist_skew_double_exponential_lp(double x, const double *a, size_t n) {
    double s = a[1], tau = a[2];
    if (!(s > 0 && tau > 0 && tau < 1)) return NAN;
    return M_LN2 + log(tau) + log1p(-tau) - log(s) - 2 * tilted(x - a[0], tau) / s;
}

/* Below m with probability t. */
static double dist_skew_double_exponential_draw(struct rng *r, const double *a, size_t n) {
    double s = a[1], tau = a[2];
    if (!(s > 0 && tau > 0 && tau < 1)) return NAN;
    double e = 0.5 * s * rng_exponential(r);
    return rng_uniform(r) < tau ? a[0] - e / (1 - tau) : a[0] + e / tau;
}

static void dist_skew_double_exponential_grad(double x, const double *a, size_t n, double *g) {
    double s = a[1], tau = a[2], d = x - a[0];
    double slope = d < 0 ? 2 * (1 - tau) : d > 0 ? -2 * tau : 0; /* 0 at the kink */
    loc_scale_grad(d / s, slope, s, g);
    g[3] = 1 / tau - 1 / (1 - tau) - 2 * d / s;
}

/* ---- exp_mod_normal(m, s, l), a normal plus an exponential; k = l s, v = z - k:
 *      l e^(-k z + k^2 / 2) Phi(v),   and -k z + k^2 / 2 = (v^2 - z^2) / 2 */
static double log_exp_mod(double z, double k) {
    double v = z - k;
    return v < 0 ? -0.5 * z * z + log(0.5 * erfcx(-v * M_SQRT1_2))
                 : k * (0.5 * k - z) + norm_log_cdf(v);
}

static double dist_exp_mod_normal_lp(double x, const double *a, size_t n) {
    if (!(a[1] > 0 && a[2] > 0)) return NAN;
    if (isinf(x)) return -INFINITY;
    return log(a[2]) + log_exp_mod((x - a[0]) / a[1], a[2] * a[1]);
}

static double dist_exp_mod_normal_draw(struct rng *r, const double *a, size_t n) {
    if (!(a[1] > 0 && a[2] > 0)) return NAN;
    return a[0] + a[1] * rng_normal(r) + rng_exponential(r) / a[2];
}

static void dist_exp_mod_normal_grad(double x, const double *a, size_t n, double *g) {
    double s = a[1], z = (x - a[0]) / s, k = a[2] * s, ratio = inverse_mills(z - k);
    double dz = ratio - k, dk = k - z - ratio;
    g[0] = dz / s;
    g[1] = -dz / s;
    g[2] = (-z * dz + k * dk) / s;
    g[3] = 1 / a[2] + s * dk;
}

static void dist_skew_double_exponential_tails(double x, const double *a, size_t n, double *t) {
    double d = 2 * (x - a[0]) / a[1], tau = a[2];
    double far = d < 0 ? log(tau) + (1 - tau) * d : log1p(-tau) - tau * d, near = log1p(-exp(far));
    put_tails(t, d < 0 ? far : near, d < 0 ? near : far);
}

/* F = Phi(z) - E, 1 - F = Phi(-z) + E with E = e^log_exp_mod */
static void dist_exp_mod_normal_tails(double x, const double *a, size_t n, double *t) {
    double z = (x - a[0]) / a[1], e = log_exp_mod(z, a[2] * a[1]), below = norm_log_cdf(z);
    put_tails(t, below > e ? below + log1mexp(below - e) : -INFINITY,
              fmin(logaddexp(norm_log_cdf(-z), e), 0));
}

const struct sp_class sp_location_rows[] = {
    {.name = "cauchy",
     .sig = "(loc: real, scale: positive" SP_BOUNDS ") -> real",
     .doc = "Cauchy distribution",
     .example = "floor(1e6 * assess(0, cauchy, 0, 1)) => -1144730",
     .num_args = 2,
     SP_CONTINUOUS(cauchy, SP_REAL, .best = best_loc_scale, .tails = dist_cauchy_tails,
                   .slopes = slopes_loc_scale)},
    {.name = "logistic_distribution",
     .sig = "(loc: real, scale: positive" SP_BOUNDS ") -> real",
     .doc = "logistic distribution; its distribution function is logistic((x - loc) / scale)",
     .example = "assess(0, logistic_distribution, 0, 1) => -1.3862943611198906",
     .num_args = 2,
     SP_CONTINUOUS(logistic, SP_REAL, .tails = dist_logistic_tails, .slopes = slopes_loc_scale)},
    {.name = "gumbel",
     .sig = "(loc: real, scale: positive" SP_BOUNDS ") -> real",
     .doc = "Gumbel distribution of largest values",
     .example = "assess(0, gumbel, 0, 1) => -1",
     .num_args = 2,
     SP_CONTINUOUS(gumbel, SP_REAL, .tails = dist_gumbel_tails, .slopes = slopes_loc_scale)},
    {.name = "half_normal",
     .sig = "(scale: positive" SP_BOUNDS ") -> nonneg",
     .doc = "absolute value of a normal(0, scale) variable",
     .example = "floor(1e6 * assess(0, half_normal, 1)) => -225792",
     .num_args = 1,
     SP_CONTINUOUS(half_normal, SP_POSITIVE, .tails = dist_half_normal_tails,
                   .slopes = slopes_scale)},
    {.name = "half_cauchy",
     .sig = "(scale: positive" SP_BOUNDS ") -> nonneg",
     .doc = "absolute value of a cauchy(0, scale) variable",
     .example = "floor(1e6 * assess(0, half_cauchy, 1)) => -451583",
     .num_args = 1,
     SP_CONTINUOUS(half_cauchy, SP_POSITIVE, .tails = dist_half_cauchy_tails,
                   .slopes = slopes_scale)},
    {.name = "half_student_t",
     .sig = "(nu: positive, scale: positive" SP_BOUNDS ") -> nonneg",
     .doc = "absolute value of a student_t(nu, 0, scale) variable",
     .example = "floor(1e6 * assess(0, half_student_t, 1, 1)) => -451583",
     .num_args = 2,
     SP_CONTINUOUS(half_student_t, SP_POSITIVE, .tails = dist_half_student_t_tails,
                   .slopes = slopes_scale)},
    {.name = "skew_normal",
     .sig = "(loc: real, scale: positive, shape: real) -> real",
     .doc = "skew normal distribution, with density 2 / scale phi(z) Phi(shape z)",
     .example = "floor(1e6 * assess(0, skew_normal, 0, 1, 5)) => -918939",
     SP_CONTINUOUS(skew_normal, SP_REAL)},
    {.name = "skew_double_exponential",
     .sig = "(loc: real, scale: positive, tau: probability" SP_BOUNDS ") -> real",
     .doc = "Laplace distribution with the share tau of its probability below loc",
     .example = "assess(0, skew_double_exponential, 0, 0.5, 0.5) => 0",
     .num_args = 3,
     SP_CONTINUOUS(skew_double_exponential, SP_REAL, .tails = dist_skew_double_exponential_tails)},
    {.name = "exp_mod_normal",
     .sig = "(mean: real, sd: positive, rate: positive" SP_BOUNDS ") -> real",
     .doc = "sum of a normal(mean, sd) and an expon(rate) variable",
     .example = "floor(1e6 * assess(0, exp_mod_normal, 0, 1, 1)) => -1341022",
     .num_args = 3,
     SP_CONTINUOUS(exp_mod_normal, SP_REAL, .tails = dist_exp_mod_normal_tails)},
    {.name = "wiener",
     .sig = "(alpha: positive, tau: nonneg, beta: probability, delta: real) -> real",
     .doc = "when and where a Wiener process that drifts by delta leaves between two boundaries at "
            "the distance alpha, begun at the share beta of it after a delay tau: the time, with a "
            "minus for the lower boundary",
     .example = "floor(1e6 * assess(1, wiener, 2, 0.2, 0.5, 0.3)) => -965643",
     .num_args = 4,
     SP_CONTINUOUS(wiener, SP_REAL, .check = check_share)},
};
const size_t sp_location_count = COUNT_OF(sp_location_rows);
