/* SPDX-License-Identifier: Apache-2.0
 *
 * Discrete scalar distributions by log odds, log rate or mean, and mixtures of others.
 */
#include "math/dist.h"
#include "math/special.h"
#include <math.h>

/* log (Gamma(k + r) / (k! Gamma(r))) */
static double log_ways(double k, double r) {
    return k == 0 ? 0 : -log_beta_fn(r, k) - log(k);
}

/* ---- binomial_logit(n, l):  C(n, k) e^(k l) / (1 + e^l)^n */
double dist_binomial_logit_lp(double k, const double *a, size_t n) {
    if (!is_count(a[0]) || isnan(a[1])) return NAN;
    if (!is_count(k) || k > a[0]) return -INFINITY;
    double lose = a[0] - k;
    return log_choose(a[0], k) - (k > 0 ? k * log1pexp(-a[1]) : 0) -
           (lose > 0 ? lose * log1pexp(a[1]) : 0);
}

double dist_binomial_logit_draw(struct rng *r, const double *a, size_t n) {
    return dist_binomial_draw(r, (double[]){a[0], logistic(a[1])}, 2);
}

void dist_binomial_logit_grad(double k, const double *a, size_t n, double *g) {
    g[0] = g[1] = 0;
    g[2] = k - a[0] * logistic(a[1]);
}

/* ---- poisson_log(l):  e^(k l - e^l) / k! */
double dist_poisson_log_lp(double k, const double *a, size_t n) {
    if (isnan(a[0]) || isinf(a[0])) return NAN;
    return is_count(k) ? k * a[0] - exp(a[0]) - log_factorial(k) : -INFINITY;
}

double dist_poisson_log_draw(struct rng *r, const double *a, size_t n) {
    double mean = exp(a[0]);
    if (mean == 0) return 0;
    return dist_poisson_draw(r, &mean, 1);
}

void dist_poisson_log_grad(double k, const double *a, size_t n, double *g) {
    g[0] = 0;
    g[1] = k - exp(a[0]);
}

/* A Poisson whose mean is `mean` times a gamma variable of mean 1. */
static double draw_mixed_poisson(struct rng *r, double shape, double mean) {
    if (!(shape > 0 && mean >= 0)) return NAN;
    double m = mean / shape * draw_gamma(r, shape);
    return m > 0 ? dist_poisson_draw(r, &m, 1) : isnan(m) ? NAN : 0;
}

/* ---- neg_binomial(r, b):  W(k, r) (b / (b+1))^r (b+1)^-k,  W as above */
double dist_neg_binomial_rate_lp(double k, const double *a, size_t n) {
    if (!(a[0] > 0 && a[1] > 0)) return NAN;
    if (!is_count(k)) return -INFINITY;
    return log_ways(k, a[0]) - a[0] * log1p(1 / a[1]) - k * log1p(a[1]);
}

double dist_neg_binomial_rate_draw(struct rng *r, const double *a, size_t n) {
    return a[1] > 0 ? draw_mixed_poisson(r, a[0], a[0] / a[1]) : NAN;
}

void dist_neg_binomial_rate_grad(double k, const double *a, size_t n, double *g) {
    g[0] = 0;
    g[1] = digamma(k + a[0]) - digamma(a[0]) - log1p(1 / a[1]);
    g[2] = a[0] / a[1] - (a[0] + k) / (1 + a[1]);
}

/* ---- neg_binomial_2(m, f):  W(k, f) (m / (m+f))^k (f / (m+f))^f */
double dist_neg_binomial_2_lp(double k, const double *a, size_t n) {
    double m = a[0], f = a[1];
    if (!(m > 0 && f > 0) || isinf(m)) return NAN;
    if (!is_count(k)) return -INFINITY;
    return log_ways(k, f) - k * log1p(f / m) - f * log1p(m / f);
}

double dist_neg_binomial_2_draw(struct rng *r, const double *a, size_t n) {
    return a[0] > 0 ? draw_mixed_poisson(r, a[1], a[0]) : NAN;
}

void dist_neg_binomial_2_grad(double k, const double *a, size_t n, double *g) {
    double m = a[0], f = a[1];
    g[0] = 0;
    g[1] = (k - m) / m * (f / (m + f));
    g[2] = digamma(k + f) - digamma(f) - log1p(m / f) + (m - k) / (m + f);
}

/* ---- neg_binomial_2_log(l, f): the same with m = e^l */
double dist_neg_binomial_2_log_lp(double k, const double *a, size_t n) {
    double f = a[1];
    if (!(f > 0) || isnan(a[0]) || isinf(a[0])) return NAN;
    if (!is_count(k)) return -INFINITY;
    double odds = a[0] - log(f); /* log(m / f) */
    return log_ways(k, f) - (k > 0 ? k * log1pexp(-odds) : 0) - f * log1pexp(odds);
}

double dist_neg_binomial_2_log_draw(struct rng *r, const double *a, size_t n) {
    return draw_mixed_poisson(r, a[1], exp(a[0]));
}

void dist_neg_binomial_2_log_grad(double k, const double *a, size_t n, double *g) {
    double f = a[1], odds = a[0] - log(f), share = logistic(odds); /* m / (m + f) */
    g[0] = 0;
    g[1] = k * logistic(-odds) - f * share;
    g[2] = digamma(k + f) - digamma(f) - log1pexp(odds) + share - k / f * logistic(-odds);
}

/* ---- beta_binomial(n, a, b):  C(n, k) B(k + a, n - k + b) / B(a, b) */
double dist_beta_binomial_lp(double k, const double *a, size_t n) {
    if (!is_count(a[0]) || !(a[1] > 0 && a[2] > 0)) return NAN;
    if (!is_count(k) || k > a[0]) return -INFINITY;
    return log_choose(a[0], k) + log_beta_fn(k + a[1], a[0] - k + a[2]) - log_beta_fn(a[1], a[2]);
}

double dist_beta_binomial_draw(struct rng *r, const double *a, size_t n) {
    double p = dist_beta_draw(r, a + 1, 2);
    return dist_binomial_draw(r, (double[]){a[0], p}, 2);
}

void dist_beta_binomial_grad(double k, const double *a, size_t n, double *g) {
    double both = digamma(a[1] + a[2]) - digamma(a[0] + a[1] + a[2]);
    g[0] = g[1] = 0;
    g[2] = digamma(k + a[1]) - digamma(a[1]) + both;
    g[3] = digamma(a[0] - k + a[2]) - digamma(a[2]) + both;
}

/* ---- beta_neg_binomial(r, a, b):  W(k, r) B(a + r, b + k) / B(a, b) */
double dist_beta_neg_binomial_lp(double k, const double *a, size_t n) {
    if (!(a[0] > 0 && a[1] > 0 && a[2] > 0)) return NAN;
    if (!is_count(k)) return -INFINITY;
    return log_ways(k, a[0]) + log_beta_fn(a[1] + a[0], a[2] + k) - log_beta_fn(a[1], a[2]);
}

double dist_beta_neg_binomial_draw(struct rng *r, const double *a, size_t n) {
    double p = dist_beta_draw(r, a + 1, 2);
    return dist_neg_binomial_draw(r, (double[]){a[0], p}, 2);
}

void dist_beta_neg_binomial_grad(double k, const double *a, size_t n, double *g) {
    double all = digamma(a[0] + a[1] + a[2] + k), both = digamma(a[1] + a[2]);
    g[0] = 0;
    g[1] = digamma(k + a[0]) - digamma(a[0]) + digamma(a[1] + a[0]) - all;
    g[2] = digamma(a[1] + a[0]) - digamma(a[1]) + both - all;
    g[3] = digamma(a[2] + k) - digamma(a[2]) + both - all;
}

/* ---- hypergeometric(n, a, b):  C(a, k) C(b, n - k) / C(a + b, n)
 * Of large counts the logarithms of these agree in all digits but the last ones: then by
 * binomial(k; a, p) binomial(n - k; b, p) / binomial(n; a + b, p), p = n / (a + b), each by
 * deviances from its mean (Loader 2000). */
enum { LARGE_COUNT = 1000000 };

static double deviance(double k, double mean) {
    if (k == 0) return mean;
    double d = (mean - k) / k;
    return k * (fabs(d) < 0.5 ? d - log1p(d) : d - log(mean / k));
}

/* log k! beyond Stirling's formula; the series is for large k. */
static double beyond_stirling(double k) {
    return k > 100 ? stirling_rest(k)
                   : log_factorial(k) - (k + 0.5) * log(k) + k - 0.5 * log(2 * M_PI);
}

static double binomial_large(double k, double n, double p, double q) {
    double far = deviance(k, n * p) + deviance(n - k, n * q);
    if (k == 0 || k == n) return -far;
    return beyond_stirling(n) - beyond_stirling(k) - beyond_stirling(n - k) - far +
           0.5 * (log(n) - log(k) - log(n - k) - log(2 * M_PI));
}

static double hypergeometric_large(double k, double n, double a, double b) {
    double p = n / (a + b), q = (a + b - n) / (a + b);
    return binomial_large(k, a, p, q) + binomial_large(n - k, b, p, q) -
           binomial_large(n, a + b, p, q);
}

double dist_hypergeometric_lp(double k, const double *a, size_t n) {
    if (!is_count(a[0]) || !is_count(a[1]) || !is_count(a[2])) return NAN;
    if (a[0] > a[1] + a[2]) return NAN;
    if (!is_count(k) || k > a[1] || k > a[0] || a[0] - k > a[2]) return -INFINITY;
    if (a[1] + a[2] >= LARGE_COUNT && a[0] > 0 && a[0] < a[1] + a[2])
        return hypergeometric_large(k, a[0], a[1], a[2]);
    return log_choose(a[1], k) + log_choose(a[2], a[0] - k) - log_choose(a[1] + a[2], a[0]);
}

/* Probabilities whose logarithms are concave, of which none is above exp(top), that of the mode
 * (Devroye 1987): a flat middle and two exponential tails hold them. */
static double hypergeometric_reject(struct rng *r, const double *a, double mode, double top) {
    double p = exp(top), w = 1 + p / 2;
    for (;;) {
        bool middle = rng_uniform(r) * (1 + w) <= w;
        double v = rng_uniform(r), y = middle ? v * w / p : (w - log(v)) / p, x = floor(y + 0.5);
        double k = rng_uniform(r) < 0.5 ? mode - x : mode + x;
        double over = fmin(0, w - p * y);
        if (log(rng_uniform(r)) + over <= dist_hypergeometric_lp(k, a, 3) - top) return k;
    }
}

/* By inversion, taking values in turn from below and above the mode, where these are few. */
double dist_hypergeometric_draw(struct rng *r, const double *a, size_t n) {
    double least = fmax(0, a[0] - a[2]), most = fmin(a[0], a[1]);
    double mode = floor((a[0] + 1) * (a[1] + 1) / (a[1] + a[2] + 2));
    if (isnan(dist_hypergeometric_lp(least, a, n))) return NAN;
    double low = fmin(fmax(mode, least), most), top = dist_hypergeometric_lp(low, a, n);
    if (top < log(1e-3)) return hypergeometric_reject(r, a, low, top);
    double high = low + 1, u = rng_uniform(r);
    while (low >= least || high <= most) {
        if (low >= least) {
            u -= exp(dist_hypergeometric_lp(low--, a, n));
            if (u <= 0) return low + 1;
        }
        if (high <= most) {
            u -= exp(dist_hypergeometric_lp(high++, a, n));
            if (u <= 0) return high - 1;
        }
    }
    return mode; /* the probabilities add up to a little less than 1 */
}

void dist_hypergeometric_grad(double k, const double *a, size_t n, double *g) {
    g[0] = g[1] = g[2] = g[3] = 0;
}
