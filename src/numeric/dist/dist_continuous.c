/* SPDX-License-Identifier: Apache-2.0
 *
 * Continuous scalar distributions: log density, sampler, gradient. The density stands above each
 * family; letters follow it.
 */
#include "numeric/dist/dist.h"
#include "numeric/special/special.h"
#include <float.h>
#include <math.h>

/* ---- normal(m, s):  1 / (s sqrt(2 pi)) exp(-(x - m)^2 / (2 s^2)) */
double dist_normal_lp(double x, const double *a, size_t n) {
    if (!(a[1] > 0)) return NAN;
    double z = standardised(x, a[0], a[1]);
    return -log(a[1]) - LOG_SQRT_2PI - 0.5 * z * z;
}

double dist_normal_draw(struct rng *r, const double *a, size_t n) {
    return a[1] > 0 ? a[0] + a[1] * rng_normal(r) : NAN;
}

void dist_normal_grad(double x, const double *a, size_t n, double *g) {
    double z = (x - a[0]) / a[1];
    g[0] = -z / a[1];
    g[1] = z / a[1];
    g[2] = (z * z - 1) / a[1];
}

/* ---- gamma(k, b):  b^k / Gamma(k) x^(k-1) e^(-b x) */

/* Marsaglia & Tsang 2000 for shape >= 1. */
static double draw_gamma_large(struct rng *r, double shape) {
    double d = shape - 1.0 / 3, c = 1 / sqrt(9 * d);
    for (;;) {
        double x, v;
        do {
            x = rng_normal(r);
            v = 1 + c * x;
        } while (v <= 0);
        v = v * v * v;
        double u = rng_uniform(r), x2 = x * x;
        if (u < 1 - 0.0331 * x2 * x2) return d * v;
        if (log(u) < 0.5 * x2 + d * (1 - v + log(v))) return d * v;
    }
}

/* Below 1: G(k) = G(k + 1) U^(1/k), kept as a logarithm because it underflows for small k. */
double draw_log_gamma(struct rng *r, double shape) {
    if (shape >= 1) return log(draw_gamma_large(r, shape));
    double g = draw_gamma_large(r, shape + 1);
    return log(g) + log(rng_uniform(r)) / shape;
}

double draw_gamma(struct rng *r, double shape) {
    if (shape >= 1) return draw_gamma_large(r, shape);
    return exp(draw_log_gamma(r, shape));
}

double dist_gamma_lp(double x, const double *a, size_t n) {
    if (!(a[0] > 0 && a[1] > 0)) return NAN;
    if (isnan(x)) return NAN;
    if (!(x > 0) || isinf(x)) return -INFINITY;
    return a[0] * log(a[1]) - log_gamma(a[0]) + (a[0] - 1) * log(x) - a[1] * x;
}

double dist_gamma_draw(struct rng *r, const double *a, size_t n) {
    if (!(a[0] > 0 && a[1] > 0)) return NAN;
    return fmax(draw_gamma(r, a[0]) / a[1], DBL_MIN); /* underflow must not leave the support */
}

void dist_gamma_grad(double x, const double *a, size_t n, double *g) {
    g[0] = (a[0] - 1) / x - a[1];
    g[1] = log(a[1]) - digamma(a[0]) + log(x);
    g[2] = a[0] / a[1] - x;
}

/* ---- inv_gamma(k, b):  b^k / Gamma(k) x^(-k-1) e^(-b / x) */
double dist_inv_gamma_lp(double x, const double *a, size_t n) {
    if (!(a[0] > 0 && a[1] > 0)) return NAN;
    if (isnan(x)) return NAN;
    if (!(x > 0) || isinf(x)) return -INFINITY;
    return a[0] * log(a[1]) - log_gamma(a[0]) - (a[0] + 1) * log(x) - a[1] / x;
}

double dist_inv_gamma_draw(struct rng *r, const double *a, size_t n) {
    if (!(a[0] > 0 && a[1] > 0)) return NAN;
    double y = exp(log(a[1]) - draw_log_gamma(r, a[0]));
    return fmin(fmax(y, DBL_MIN), DBL_MAX);
}

void dist_inv_gamma_grad(double x, const double *a, size_t n, double *g) {
    g[0] = -(a[0] + 1) / x + a[1] / (x * x);
    g[1] = log(a[1]) - digamma(a[0]) - log(x);
    g[2] = a[0] / a[1] - 1 / x;
}

/* ---- expon(b):  b e^(-b x), x >= 0 */
double dist_expon_lp(double x, const double *a, size_t n) {
    if (!(a[0] > 0)) return NAN;
    if (x < 0 || isinf(x)) return -INFINITY;
    return log(a[0]) - a[0] * x;
}

double dist_expon_draw(struct rng *r, const double *a, size_t n) {
    return a[0] > 0 ? rng_exponential(r) / a[0] : NAN;
}

void dist_expon_grad(double x, const double *a, size_t n, double *g) {
    g[0] = -a[0];
    g[1] = 1 / a[0] - x;
}

/* ---- beta(a, b):  x^(a-1) (1-x)^(b-1) / B(a, b), 0 < x < 1 */
double dist_beta_lp(double x, const double *a, size_t n) {
    if (!(a[0] > 0 && a[1] > 0)) return NAN;
    if (isnan(x)) return NAN;
    if (!(x > 0 && x < 1)) return -INFINITY;
    return xlogy(a[0] - 1, x) + xlog1py(a[1] - 1, -x) - log_beta_fn(a[0], a[1]);
}

/* log odds of a beta variable: the difference of two log gammas */
double dist_log_odds_beta_draw(struct rng *r, const double *a, size_t n) {
    if (!(a[0] > 0 && a[1] > 0)) return NAN;
    double lx = draw_log_gamma(r, a[0]), y = lx - draw_log_gamma(r, a[1]);
    if (!isnan(y)) return y; /* both underflow: all mass is at the two ends */
    return rng_uniform(r) < 1 / (1 + a[1] / a[0]) ? DBL_MAX : -DBL_MAX;
}

double dist_beta_draw(struct rng *r, const double *a, size_t n) {
    double x = logistic(dist_log_odds_beta_draw(r, a, n));
    if (isnan(x)) return x;
    return fmin(fmax(x, DBL_MIN), 1 - DBL_EPSILON / 2);
}

void dist_beta_grad(double x, const double *a, size_t n, double *g) {
    double both = digamma(a[0] + a[1]);
    g[0] = (a[0] - 1) / x - (a[1] - 1) / (1 - x);
    g[1] = log(x) - digamma(a[0]) + both;
    g[2] = log1p(-x) - digamma(a[1]) + both;
}

/* ---- log_beta(a, b), y = log x < 0:  e^(a y) (1 - e^y)^(b-1) / B(a, b) */
double dist_log_beta_lp(double y, const double *a, size_t n) {
    if (!(a[0] > 0 && a[1] > 0)) return NAN;
    if (isnan(y)) return NAN;
    if (!(y < 0) || isinf(y)) return -INFINITY;
    double log1mx = log1mexp(-y);
    return a[0] * y + (a[1] == 1 ? 0 : (a[1] - 1) * log1mx) - log_beta_fn(a[0], a[1]);
}

double dist_log_beta_draw(struct rng *r, const double *a, size_t n) {
    double odds = dist_log_odds_beta_draw(r, a, n);
    if (isnan(odds)) return odds;
    return fmin(-log1pexp(-odds), -DBL_MIN); /* log of the logistic function */
}

void dist_log_beta_grad(double y, const double *a, size_t n, double *g) {
    double both = digamma(a[0] + a[1]);
    g[0] = a[0] + (a[1] - 1) * exp(y) / expm1(y);
    g[1] = y - digamma(a[0]) + both;
    g[2] = log1mexp(-y) - digamma(a[1]) + both;
}

/* ---- log_odds_beta(a, b), y = log(x / (1 - x)):  x^a (1 - x)^b / B(a, b) */
double dist_log_odds_beta_lp(double y, const double *a, size_t n) {
    if (!(a[0] > 0 && a[1] > 0)) return NAN;
    if (isinf(y)) return -INFINITY;
    return -a[0] * log1pexp(-y) - a[1] * log1pexp(y) - log_beta_fn(a[0], a[1]);
}

void dist_log_odds_beta_grad(double y, const double *a, size_t n, double *g) {
    double both = digamma(a[0] + a[1]);
    g[0] = a[0] * logistic(-y) - a[1] * logistic(y);
    g[1] = -log1pexp(-y) - digamma(a[0]) + both;
    g[2] = -log1pexp(y) - digamma(a[1]) + both;
}

/* ---- log_odds_uniform: the case a = b = 1, e^y / (1 + e^y)^2 */
double dist_log_odds_uniform_lp(double y, const double *a, size_t n) {
    if (isinf(y)) return -INFINITY;
    return -fabs(y) - 2 * log1p(exp(-fabs(y)));
}

double dist_log_odds_uniform_draw(struct rng *r, const double *a, size_t n) {
    double u = rng_uniform(r);
    return log(u) - log1p(-u);
}

void dist_log_odds_uniform_grad(double y, const double *a, size_t n, double *g) {
    g[0] = logistic(-y) - logistic(y);
}

/* ---- uniform(l, h):  1 / (h - l), l <= x <= h */
double dist_uniform_lp(double x, const double *a, size_t n) {
    double width = a[1] - a[0];
    if (!(width > 0) || isinf(width) || isnan(x)) return NAN;
    return x >= a[0] && x <= a[1] ? -log(width) : -INFINITY;
}

double dist_uniform_draw(struct rng *r, const double *a, size_t n) {
    double width = a[1] - a[0];
    if (!(width > 0) || isinf(width)) return NAN;
    return fmin(a[0] + width * rng_uniform(r), a[1]);
}

void dist_uniform_grad(double x, const double *a, size_t n, double *g) {
    g[0] = 0;
    g[1] = 1 / (a[1] - a[0]);
    g[2] = -g[1];
}

/* ---- student_t(v, m, s), z = (x - m) / s:
 *      Gamma((v+1)/2) / (Gamma(v/2) sqrt(v pi) s) (1 + z^2 / v)^(-(v+1)/2) */

/* log(1 + z^2 / v), even where the square overflows. */
static double log_tail(double x, double m, double s, double v) {
    double d = fabs(0.5 * x - 0.5 * m), far = 2 * (log(d) + M_LN2 - log(s)) - log(v);
    if (far > 50) return far;
    double z = standardised(x, m, s);
    return log1p(z / v * z);
}

double dist_student_t_lp(double x, const double *a, size_t n) {
    double v = a[0], m = n > 1 ? a[1] : 0, s = n > 2 ? a[2] : 1;
    if (!(v > 0 && s > 0)) return NAN;
    if (isinf(x)) return -INFINITY;
    /* log B(1/2, v/2) stays accurate for large v, where the two lgammas would cancel. */
    return -log_beta_fn(0.5, 0.5 * v) - 0.5 * log(v) - log(s) -
           0.5 * (v + 1) * log_tail(x, m, s, v);
}

/* A normal over the root of a chi-squared divided by its degrees of freedom. */
double dist_student_t_draw(struct rng *r, const double *a, size_t n) {
    double v = a[0], m = n > 1 ? a[1] : 0, s = n > 2 ? a[2] : 1;
    if (!(v > 0 && s > 0)) return NAN;
    double z = rng_normal(r), half_log_g = 0.5 * (draw_log_gamma(r, 0.5 * v) - log(0.5 * v));
    double x = m + s * z * exp(-half_log_g);
    return fmin(fmax(x, -DBL_MAX), DBL_MAX);
}

void dist_student_t_grad(double x, const double *a, size_t n, double *g) {
    double v = a[0], m = n > 1 ? a[1] : 0, s = n > 2 ? a[2] : 1;
    double z = (x - m) / s, w = (v + 1) / (v + z * z);
    g[0] = -w * z / s;
    g[1] = 0.5 *
           (digamma(0.5 * (v + 1)) - digamma(0.5 * v) - 1 / v - log1p(z * z / v) + w * z * z / v);
    if (n > 1) g[2] = w * z / s;
    if (n > 2) g[3] = (w * z * z - 1) / s;
}

/* ---- lognormal(m, s):  normal density of log x, divided by x */
double dist_lognormal_lp(double x, const double *a, size_t n) {
    if (!(a[1] > 0) || isnan(x)) return NAN;
    if (!(x > 0) || isinf(x)) return -INFINITY;
    double y = log(x);
    return dist_normal_lp(y, a, n) - y;
}

double dist_lognormal_draw(struct rng *r, const double *a, size_t n) {
    if (!(a[1] > 0)) return NAN;
    return fmin(fmax(exp(dist_normal_draw(r, a, n)), DBL_MIN), DBL_MAX);
}

void dist_lognormal_grad(double x, const double *a, size_t n, double *g) {
    dist_normal_grad(log(x), a, n, g);
    g[0] = (g[0] - 1) / x;
}

/* ---- vonmises(m, k):  e^(k cos(x - m)) / (2 pi I0(k)); periodic in x and m */
double dist_vonmises_lp(double x, const double *a, size_t n) {
    if (!(a[1] >= 0)) return NAN;
    double half = sin(0.5 * (x - a[0])); /* k (cos d - 1) = -2 k sin^2(d/2), exact for large k */
    return -2 * a[1] * half * half - log(2 * M_PI * bessel_i0e(a[1]));
}

/* Best & Fisher 1979: rejection from a wrapped Cauchy. Nearly flat and nearly normal cases are
 * separate. */
double dist_vonmises_draw(struct rng *r, const double *a, size_t n) {
    double k = a[1], angle;
    if (!(k >= 0)) return NAN;
    if (k < 1e-8) return M_PI * (2 * rng_uniform(r) - 1);
    if (k > 1e6) return remainder(a[0] + rng_normal(r) / sqrt(k), 2 * M_PI);
    double tau = 1 + sqrt(1 + 4 * k * k), rho = (tau - sqrt(2 * tau)) / (2 * k);
    double s = k < 1e-5 ? 1 / k + k : (1 + rho * rho) / (2 * rho);
    for (;;) {
        double z = cos(M_PI * rng_uniform(r)), f = (1 + s * z) / (s + z), c = k * (s - f);
        double u = rng_uniform(r);
        if (c * (2 - c) > u || log(c / u) + 1 >= c) {
            angle = acos(fmax(-1, fmin(1, f)));
            break;
        }
    }
    if (rng_uniform(r) < 0.5) angle = -angle;
    return remainder(a[0] + angle, 2 * M_PI);
}

void dist_vonmises_grad(double x, const double *a, size_t n, double *g) {
    double d = x - a[0];
    g[0] = -a[1] * sin(d);
    g[1] = a[1] * sin(d);
    g[2] = cos(d) - bessel_i1e(a[1]) / bessel_i0e(a[1]);
}
