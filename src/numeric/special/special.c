/* SPDX-License-Identifier: Apache-2.0
 *
 * Gamma family, log-domain sums, normal distribution function, modified Bessel functions. Formula
 * numbers: NIST Digital Library of Mathematical Functions (DLMF).
 */
#include "numeric/special/special.h"
#include <float.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

/* Caches the last results: shapes of priors are constants and occur in every density. */
enum { KEPT_BITS = 3 };
struct kept {
    double x, y; /* x = 0: empty */
};

static struct kept *kept_at(struct kept *all, double x) {
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    return &all[bits * 0x9e3779b97f4a7c15u >> (64 - KEPT_BITS)];
}

double log_gamma(double x) {
    static _Thread_local struct kept all[1 << KEPT_BITS];
    int sign;
    if (!(x > 0)) return lgamma_r(x, &sign);
    struct kept *k = kept_at(all, x);
    if (k->x != x) *k = (struct kept){x, lgamma_r(x, &sign)};
    return k->y;
}

/* log Gamma_p(a) = p(p-1)/4 log pi + sum_j log Gamma(a - j/2) */
double log_gamma_multi(double a, size_t p) {
    double s = 0.25 * (double)p * ((double)p - 1) * LOG_PI;
    for (size_t j = 0; j < p; j++) s += log_gamma(a - 0.5 * (double)j);
    return s;
}

/* DLMF 5.11.1; x >= 10: the first omitted term is below 3e-17. */
double stirling_rest(double x) {
    static const double c[] = {1.0 / 12,   -1.0 / 360,      1.0 / 1260, -1.0 / 1680,
                               1.0 / 1188, -691.0 / 360360, 1.0 / 156,  -3617.0 / 122400};
    double y = 1 / (x * x), s = 0;
    for (int i = 7; i >= 0; i--) s = s * y + c[i];
    return s / x;
}

/* For a large argument the three lgammas cancel; here their leading terms are cancelled
 * analytically:
 * log B(a, b) = lgamma(a) + r(b) - r(a+b) - (a+b-1/2) log1p(a/b) + a - a log b, b >= 10. */
double log_beta_fn(double a, double b) {
    double small = fmin(a, b), large = fmax(a, b);
    if (!(small > 0) || isinf(large)) return log_gamma(a) + log_gamma(b) - log_gamma(a + b);
    if (large < 10) return log_gamma(a) + log_gamma(b) - log_gamma(a + b);
    double sum = small + large;
    double rest = stirling_rest(large) - stirling_rest(sum);
    if (small < 10) {
        return log_gamma(small) + rest - (sum - 0.5) * log1p(small / large) + small -
               small * log(large);
    }
    /* both large: log B = log sqrt(2 pi) + r + (a - 1/2) log(a/(a+b)) + b log(b/(a+b)) - log(b)/2
     */
    return LOG_SQRT_2PI + rest + stirling_rest(small) + (small - 0.5) * log(small / sum) -
           large * log1p(small / large) - 0.5 * log(large);
}

/* Counts are small, or large enough for Stirling's series. */
double log_factorial(double k) {
    static const double small[] = {0.0,
                                   0.0,
                                   0.693147180559945,
                                   1.7917594692280554,
                                   3.178053830347945,
                                   4.787491742782047,
                                   6.579251212010102,
                                   8.525161361065415,
                                   10.604602902745249,
                                   12.801827480081467,
                                   15.104412573075514,
                                   17.502307845873887,
                                   19.987214495661885,
                                   22.55216385312342,
                                   25.191221182738683,
                                   27.89927138384089};
    if (k < (double)(sizeof small / sizeof *small)) return small[(size_t)k];
    return (k + 0.5) * log(k) - k + LOG_SQRT_2PI + stirling_rest(k);
}

double log_choose(double n, double k) {
    if (k <= 0 || k >= n) return 0;
    return -log1p(n) - log_beta_fn(k + 1, n - k + 1);
}

/* Recurrence psi(x) = psi(x+1) - 1/x up to x >= 10, then DLMF 5.11.2; reflection 5.5.4 below 0. */
static double digamma_of(double x) {
    static const double c[] = {1.0 / 12,  -1.0 / 120,     1.0 / 252, -1.0 / 240,
                               1.0 / 132, -691.0 / 32760, 1.0 / 12,  -3617.0 / 8160};
    if (x <= 0) {
        if (x == floor(x)) return NAN;
        return digamma_of(1 - x) - M_PI / tan(M_PI * x);
    }
    double shift = 0;
    for (; x < 10; x++) shift -= 1 / x;
    double y = 1 / (x * x), s = 0;
    for (int i = 7; i >= 0; i--) s = s * y + c[i];
    return shift + log(x) - 0.5 / x - s * y;
}

double digamma(double x) {
    static _Thread_local struct kept all[1 << KEPT_BITS];
    if (!(x > 0)) return digamma_of(x);
    struct kept *k = kept_at(all, x);
    if (k->x != x) *k = (struct kept){x, digamma_of(x)};
    return k->y;
}

/* psi'(x) = psi'(x+1) + 1/x^2 up to x >= 15, then DLMF 5.15.8 with the Bernoulli numbers of 5.11.2;
 * below 0 by the derivative of the reflection 5.5.4: psi'(1-x) + psi'(x) = (pi / sin(pi x))^2. */
double trigamma(double x) {
    static const double b[] = {1.0 / 6,  -1.0 / 30,     1.0 / 42, -1.0 / 30,
                               5.0 / 66, -691.0 / 2730, 7.0 / 6,  -3617.0 / 510};
    if (x <= 0) {
        if (x == floor(x)) return x == 0 ? INFINITY : NAN;
        double s = M_PI / sin(M_PI * x);
        return s * s - trigamma(1 - x);
    }
    double shift = 0;
    for (; x < 15; x++) shift += 1 / (x * x);
    double y = 1 / (x * x), s = 0;
    for (int i = 7; i >= 0; i--) s = s * y + b[i];
    return shift + 1 / x + 0.5 * y + s * y / x;
}

double logsumexp(const double *x, size_t n) {
    double m = -INFINITY, s = 0;
    for (size_t i = 0; i < n; i++) {
        if (isnan(x[i])) return NAN;
        m = fmax(m, x[i]);
    }
    if (isinf(m)) return m;
    for (size_t i = 0; i < n; i++) s += exp(x[i] - m);
    return m + log(s);
}

double logaddexp(double a, double b) {
    if (a == b) return a + M_LN2; /* covers equal infinities */
    return fmax(a, b) + log1p(exp(-fabs(a - b)));
}

/* Maechler 2012: expm1 for small x, log1p for large. */
double log1mexp(double x) {
    return x <= M_LN2 ? log(-expm1(-x)) : log1p(-exp(-x));
}

double log1pexp(double x) {
    return x > 0 ? x + log1p(exp(-x)) : log1p(exp(x));
}

double logistic(double x) {
    if (x >= 0) return 1 / (1 + exp(-x));
    double e = exp(x);
    return e / (1 + e);
}

double xlogy(double x, double y) {
    return x == 0 ? 0 : x * log(y);
}

double xlog1py(double x, double y) {
    return x == 0 ? 0 : x * log1p(y);
}

/* exp(x^2) loses x^2 eps relative accuracy; splitting x = h + l with h of few bits makes h^2 exact:
 * x^2 = h^2 + l (x + h). Beyond 25, erfc underflows: asymptotic series DLMF 7.12.1. */
double erfcx(double x) {
    if (x < 25) {
        if (x < -26.7) return INFINITY;
        double h = rint(x * 1024) / 1024, l = x - h;
        return exp(h * h) * exp(l * (x + h)) * erfc(x);
    }
    double y = 1 / (2 * x * x), term = 1, s = 1;
    for (int k = 1; k < 12; k++) s += (term *= -(2 * k - 1) * y);
    return s / (x * sqrt(M_PI));
}

double norm_cdf(double x) {
    return 0.5 * erfc(-x * M_SQRT1_2);
}

double norm_log_cdf(double x) {
    if (x > 0) return log1p(-0.5 * erfc(x * M_SQRT1_2));
    if (x > -5) return log(norm_cdf(x));
    if (isinf(x)) return -INFINITY;
    return -0.5 * x * x + log(0.5 * erfcx(-x * M_SQRT1_2));
}

/* Starts from Abramowitz & Stegun 26.2.23 (error 5e-4), then takes Halley steps on Phi(x) = p. In
 * the lower tail they use ratios to the density, which do not underflow. */
double norm_quantile(double p) {
    if (isnan(p) || p < 0 || p > 1) return NAN;
    if (p == 0) return -INFINITY;
    if (p == 1) return INFINITY;
    if (p > 0.5) return -norm_quantile(1 - p); /* 1 - p is exact */
    double logp = log(p), t = sqrt(-2 * logp);
    double x = (2.515517 + t * (0.802853 + t * 0.010328)) /
                   (1 + t * (1.432788 + t * (0.189269 + t * 0.001308))) -
               t;
    for (int i = 0; i < 3; i++) {
        double ratio = sqrt(M_PI / 2) * erfcx(-x * M_SQRT1_2); /* Phi(x) / phi(x) */
        double e = ratio - exp(logp + 0.5 * x * x + LOG_SQRT_2PI);
        x -= e / (1 + 0.5 * x * e);
    }
    return x;
}

/* Power series DLMF 10.25.2 (all terms positive) up to 20, Hankel's expansion 10.40.1 beyond. */
static double bessel_ie(int order, double x) {
    double s = 1, term = 1;
    if (x < 20) {
        double q = 0.25 * x * x;
        for (int k = 1; term > s * DBL_EPSILON / 4; k++) s += (term *= q / (k * (k + order)));
        return exp(-x) * s * (order ? 0.5 * x : 1);
    }
    double mu = 4.0 * order * order;
    for (int k = 1; k < 40; k++) {
        double odd = 2 * k - 1, next = term * -(mu - odd * odd) / (8 * k * x);
        if (fabs(next) > fabs(term) || next == 0) break;
        s += (term = next);
    }
    return s / sqrt(2 * M_PI * x);
}

double bessel_i0e(double x) {
    return bessel_ie(0, fabs(x));
}

double bessel_i1e(double x) {
    return copysign(bessel_ie(1, fabs(x)), x);
}
