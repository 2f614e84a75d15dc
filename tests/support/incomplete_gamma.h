/* SPDX-License-Identifier: Apache-2.0
 *
 * Distribution functions of gamma and chi-squared variables, which tests of samplers need: the
 * regularised incomplete gamma function by its series, DLMF 8.11.4,
 *     P(a, x) = x^a e^-x / Gamma(a) * sum_n x^n / (a (a+1) ... (a+n)).
 */
#ifndef SUPPORT_INCOMPLETE_GAMMA_H
#define SUPPORT_INCOMPLETE_GAMMA_H
#include <math.h>

static inline double gamma_p(double a, double x) {
    if (x <= 0) return 0;
    double term = 1 / a, sum = term;
    if (x > a + 40 * (1 + sqrt(a))) return 1; /* beyond the doubles below 1 */
    for (double n = a + 1; term > sum * 1e-17; n++) sum += term *= x / n;
    return fmin(1, exp(a * log(x) - x - lgamma(a) + log(sum)));
}

static inline double gamma_q(double a, double x) {
    return 1 - gamma_p(a, x);
}
#endif
