/* SPDX-License-Identifier: Apache-2.0
 *
 * Incomplete gamma and beta functions, as logarithms of both parts. The smaller part is computed,
 * so far tails keep their digits; the other is its complement. */
#include "numeric/special/special.h"
#include <float.h>
#include <math.h>
#include <stdbool.h>

/* Series and fractions take a multiple of the root of their parameters; NaN if exceeded. */
enum { STEPS = 100000 };

/* Clamps a log probability that rounding put above 0; NaN stays. */
static double rounded(double log_p) {
    return log_p > 0 ? 0 : log_p;
}

/* log(x^k e^-x / Gamma(k + 1)); for large k the three terms cancel, and with x = k (1 + m) it is
 * -k (m - log(1 + m)) - log sqrt(2 pi k) - r(k). */
static double gamma_front(double k, double x) {
    if (k < 10) return k * log(x) - x - log_gamma(k + 1);
    double m = (x - k) / k;
    return -k * (m - log1p(m)) - LOG_SQRT_2PI - 0.5 * log(k) - stirling_rest(k);
}

/* DLMF 8.11.4: P = front * sum_j x^j / ((k+1) ... (k+j)) */
static double gamma_series(double k, double x) {
    double s = 1, term = 1, j = 1;
    for (; j < STEPS && term > s * DBL_EPSILON / 4; j++) s += (term *= x / (k + j));
    return j < STEPS ? s : NAN;
}

/* DLMF 8.9.2 by Lentz's method: Q = front * k * fraction */
static double gamma_fraction(double k, double x) {
    double b = x + 1 - k, c = 1e300, d = 1 / b, h = d;
    for (double j = 1; j < STEPS; j++) {
        double an = -j * (j - k);
        b += 2;
        d = an * d + b;
        if (fabs(d) < 1e-300) d = 1e-300;
        c = b + an / c;
        if (fabs(c) < 1e-300) c = 1e-300;
        d = 1 / d;
        h *= c * d;
        if (fabs(c * d - 1) < DBL_EPSILON) return h;
    }
    return NAN;
}

/* Temme's expansion, DLMF 8.12.3, to its first term: relative error about 1 / k. */
static void gamma_uniform(double k, double x, double *t) {
    double m = (x - k) / k, half = m - log1p(m), eta = copysign(sqrt(2 * half), m);
    double z = eta * sqrt(k), rest = fabs(m) < 1e-4 ? -1.0 / 3 : 1 / m - 1 / eta;
    double by = rest * exp(-k * half - LOG_SQRT_2PI - 0.5 * log(k));
    t[0] = norm_log_cdf(z);
    t[1] = norm_log_cdf(-z);
    t[0] += log1p(fmax(-by * exp(-t[0]), -1));
    t[1] += log1p(fmax(by * exp(-t[1]), -1));
}

void gamma_tails(double k, double x, double *t) {
    t[0] = t[1] = NAN;
    if (!(k > 0) || isnan(x) || isinf(k)) return;
    if (x <= 0 || isinf(x)) {
        t[0] = x <= 0 ? -INFINITY : 0;
        t[1] = x <= 0 ? 0 : -INFINITY;
    } else if (k > 1e8)
        gamma_uniform(k, x, t);
    else if (x < k + 1) {
        t[0] = rounded(gamma_front(k, x) + log(gamma_series(k, x)));
        t[1] = log1mexp(-t[0]);
    } else {
        t[1] = rounded(gamma_front(k, x) + log(k * gamma_fraction(k, x)));
        t[0] = log1mexp(-t[1]);
    }
}

/* The continued fraction of DLMF 8.17.22, by Lentz's method. */
static double beta_fraction(double a, double b, double x) {
    const double tiny = 1e-300;
    double c = 1, d = 1 - (a + b) * x / (a + 1);
    if (fabs(d) < tiny) d = tiny;
    d = 1 / d;
    double h = d;
    for (int m = 1; m < STEPS; m++) {
        double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
        double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
        for (int half = 0; half < 2; half++) {
            double e = half ? odd : even;
            d = 1 + e * d;
            if (fabs(d) < tiny) d = tiny;
            c = 1 + e / c;
            if (fabs(c) < tiny) c = tiny;
            d = 1 / d;
            h *= c * d;
        }
        if (fabs(c * d - 1) < DBL_EPSILON) return h;
    }
    return NAN;
}

void beta_tails(double a, double b, double x, double y, double *t) {
    t[0] = t[1] = NAN;
    if (!(a > 0) || !(b > 0) || isnan(x)) return;
    if (x <= 0 || y <= 0) {
        t[0] = x <= 0 ? -INFINITY : 0;
        t[1] = x <= 0 ? 0 : -INFINITY;
        return;
    }
    double front = a * (x < 0.5 ? log(x) : log1p(-y)) + b * (y < 0.5 ? log(y) : log1p(-x));
    front -= log_beta_fn(a, b);
    bool low = x < (a + 1) / (a + b + 2);
    double part = low ? beta_fraction(a, b, x) / a : beta_fraction(b, a, y) / b;
    t[low ? 0 : 1] = rounded(front + log(part));
    t[low ? 1 : 0] = log1mexp(-t[low ? 0 : 1]);
}

double beta_inc(double a, double b, double x) {
    double t[2];
    beta_tails(a, b, x, 1 - x, t);
    return exp(t[0]);
}
