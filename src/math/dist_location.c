/* SPDX-License-Identifier: Apache-2.0
 *
 * Continuous distributions by location and scale, those of one sign that come of them, and skewed
 * ones. z = (x - m) / s throughout; with h(z) the log density of the standard one,
 *
 *     d/dx = h'(z) / s,    d/dm = -d/dx,    d/ds = -(1 + z h'(z)) / s
 */
#include "math/dist.h"
#include "math/special.h"
#include <float.h>
#include <math.h>

/* The three derivatives from h'. */
static void loc_scale_grad(double z, double slope, double s, double *g) {
    g[0] = slope / s;
    g[1] = -slope / s;
    g[2] = -(1 + z * slope) / s;
}

static double within_doubles(double x) {
    return fmin(fmax(x, -DBL_MAX), DBL_MAX);
}

/* ---- cauchy(m, s):  1 / (pi s (1 + z^2)) */
double dist_cauchy_lp(double x, const double *a, size_t n) {
    if (!(a[1] > 0)) return NAN;
    double z = fabs(x - a[0]) / a[1];
    return -LOG_PI - log(a[1]) - (z > 1e10 ? 2 * log(z) : log1p(z * z));
}

double dist_cauchy_draw(struct rng *r, const double *a, size_t n) {
    if (!(a[1] > 0)) return NAN;
    return within_doubles(a[0] + a[1] * tan(M_PI * (rng_uniform(r) - 0.5)));
}

void dist_cauchy_grad(double x, const double *a, size_t n, double *g) {
    double z = (x - a[0]) / a[1];
    loc_scale_grad(z, fabs(z) > 1e10 ? -2 / z : -2 * z / (1 + z * z), a[1], g);
}

/* ---- logistic(m, s):  e^-z / (s (1 + e^-z)^2) */
double dist_logistic_lp(double x, const double *a, size_t n) {
    if (!(a[1] > 0)) return NAN;
    double z = fabs(x - a[0]) / a[1];
    return -z - 2 * log1p(exp(-z)) - log(a[1]);
}

double dist_logistic_draw(struct rng *r, const double *a, size_t n) {
    double u = rng_uniform(r);
    return a[1] > 0 ? a[0] + a[1] * (log(u) - log1p(-u)) : NAN;
}

void dist_logistic_grad(double x, const double *a, size_t n, double *g) {
    double z = (x - a[0]) / a[1];
    loc_scale_grad(z, -tanh(0.5 * z), a[1], g);
}

/* ---- gumbel(m, s):  e^(-z - e^-z) / s */
double dist_gumbel_lp(double x, const double *a, size_t n) {
    if (!(a[1] > 0)) return NAN;
    double z = (x - a[0]) / a[1];
    return isinf(z) ? -INFINITY : -z - exp(-z) - log(a[1]);
}

double dist_gumbel_draw(struct rng *r, const double *a, size_t n) {
    return a[1] > 0 ? a[0] - a[1] * log(rng_exponential(r)) : NAN;
}

void dist_gumbel_grad(double x, const double *a, size_t n, double *g) {
    double z = (x - a[0]) / a[1];
    loc_scale_grad(z, expm1(-z), a[1], g);
}

/* ---- half_X(..., s):  twice the density of X with location 0, x >= 0 */
static double half_lp(dist_lp_fn *of, double x, const double *a, size_t n) {
    double lp = of(x, a, n);
    return isnan(lp) || isnan(x) ? NAN : x >= 0 ? lp + M_LN2 : -INFINITY;
}

double dist_half_normal_lp(double x, const double *a, size_t n) {
    return half_lp(dist_normal_lp, x, (double[]){0, a[0]}, 2);
}

double dist_half_normal_draw(struct rng *r, const double *a, size_t n) {
    return fabs(dist_normal_draw(r, (double[]){0, a[0]}, 2));
}

void dist_half_normal_grad(double x, const double *a, size_t n, double *g) {
    double of[3];
    dist_normal_grad(x, (double[]){0, a[0]}, 2, of);
    g[0] = of[0];
    g[1] = of[2];
}

double dist_half_cauchy_lp(double x, const double *a, size_t n) {
    return half_lp(dist_cauchy_lp, x, (double[]){0, a[0]}, 2);
}

double dist_half_cauchy_draw(struct rng *r, const double *a, size_t n) {
    return fabs(dist_cauchy_draw(r, (double[]){0, a[0]}, 2));
}

void dist_half_cauchy_grad(double x, const double *a, size_t n, double *g) {
    double of[3];
    dist_cauchy_grad(x, (double[]){0, a[0]}, 2, of);
    g[0] = of[0];
    g[1] = of[2];
}

double dist_half_student_t_lp(double x, const double *a, size_t n) {
    return half_lp(dist_student_t_lp, x, (double[]){a[0], 0, a[1]}, 3);
}

double dist_half_student_t_draw(struct rng *r, const double *a, size_t n) {
    return fabs(dist_student_t_draw(r, (double[]){a[0], 0, a[1]}, 3));
}

void dist_half_student_t_grad(double x, const double *a, size_t n, double *g) {
    double of[4];
    dist_student_t_grad(x, (double[]){a[0], 0, a[1]}, 3, of);
    g[0] = of[0];
    g[1] = of[1];
    g[2] = of[3];
}

/* Phi'(v) / Phi(v) */
static double inverse_mills(double v) {
    return v < 0 ? M_2_SQRTPI * M_SQRT1_2 / erfcx(-v * M_SQRT1_2)
                 : exp(-0.5 * v * v - LOG_SQRT_2PI) / norm_cdf(v);
}

/* ---- skew_normal(m, s, k):  2 / s phi(z) Phi(k z) */
double dist_skew_normal_lp(double x, const double *a, size_t n) {
    if (!(a[1] > 0) || isnan(a[2])) return NAN;
    double z = (x - a[0]) / a[1];
    return M_LN2 - log(a[1]) - LOG_SQRT_2PI - 0.5 * z * z + norm_log_cdf(a[2] * z);
}

/* Azzalini 1985: d |u| + sqrt(1 - d^2) v with d = k / sqrt(1 + k^2). */
double dist_skew_normal_draw(struct rng *r, const double *a, size_t n) {
    if (!(a[1] > 0) || isnan(a[2])) return NAN;
    double root = hypot(1, a[2]), u = fabs(rng_normal(r)), v = rng_normal(r);
    double d = isinf(a[2]) ? copysign(1, a[2]) : a[2] / root;
    return a[0] + a[1] * (d * u + v / root);
}

void dist_skew_normal_grad(double x, const double *a, size_t n, double *g) {
    double z = (x - a[0]) / a[1], ratio = inverse_mills(a[2] * z);
    loc_scale_grad(z, -z + a[2] * ratio, a[1], g);
    g[3] = z * ratio;
}

/* ---- skew_double_exponential(m, s, t), d = x - m:
 *      2 t (1 - t) / s exp(-2 w / s),   w = -(1 - t) d below m, t d above */
static double tilted(double d, double tau) {
    return d < 0 ? (tau - 1) * d : tau * d;
}

double dist_skew_double_exponential_lp(double x, const double *a, size_t n) {
    double s = a[1], tau = a[2];
    if (!(s > 0 && tau > 0 && tau < 1)) return NAN;
    return M_LN2 + log(tau) + log1p(-tau) - log(s) - 2 * tilted(x - a[0], tau) / s;
}

/* Below m with probability t. */
double dist_skew_double_exponential_draw(struct rng *r, const double *a, size_t n) {
    double s = a[1], tau = a[2];
    if (!(s > 0 && tau > 0 && tau < 1)) return NAN;
    double e = 0.5 * s * rng_exponential(r);
    return rng_uniform(r) < tau ? a[0] - e / (1 - tau) : a[0] + e / tau;
}

void dist_skew_double_exponential_grad(double x, const double *a, size_t n, double *g) {
    double s = a[1], tau = a[2], d = x - a[0];
    double slope = d < 0 ? 2 * (1 - tau) : d > 0 ? -2 * tau : 0; /* 0 at the kink */
    loc_scale_grad(d / s, slope, s, g);
    g[3] = 1 / tau - 1 / (1 - tau) - 2 * d / s;
}

/* ---- exp_mod_normal(m, s, l), a normal plus an exponential; k = l s, v = z - k:
 *      l e^(-k z + k^2 / 2) Phi(v),   and -k z + k^2 / 2 = (v^2 - z^2) / 2 */
double log_exp_mod(double z, double k) {
    double v = z - k;
    return v < 0 ? -0.5 * z * z + log(0.5 * erfcx(-v * M_SQRT1_2))
                 : k * (0.5 * k - z) + norm_log_cdf(v);
}

double dist_exp_mod_normal_lp(double x, const double *a, size_t n) {
    if (!(a[1] > 0 && a[2] > 0)) return NAN;
    if (isinf(x)) return -INFINITY;
    return log(a[2]) + log_exp_mod((x - a[0]) / a[1], a[2] * a[1]);
}

double dist_exp_mod_normal_draw(struct rng *r, const double *a, size_t n) {
    if (!(a[1] > 0 && a[2] > 0)) return NAN;
    return a[0] + a[1] * rng_normal(r) + rng_exponential(r) / a[2];
}

void dist_exp_mod_normal_grad(double x, const double *a, size_t n, double *g) {
    double s = a[1], z = (x - a[0]) / s, k = a[2] * s, ratio = inverse_mills(z - k);
    double dz = ratio - k, dk = k - z - ratio;
    g[0] = dz / s;
    g[1] = -dz / s;
    g[2] = (-z * dz + k * dk) / s;
    g[3] = 1 / a[2] + s * dk;
}
