/* SPDX-License-Identifier: Apache-2.0
 *
 * Special functions on doubles, to about 1e-14 relative on the ranges that densities need. Pure:
 * no global state (lgamma's signgam included), no error codes; poles and bad arguments give
 * infinities or NaN as in <math.h>.
 */
#ifndef MATH_SPECIAL_H
#define MATH_SPECIAL_H
#include <stddef.h>

#define LOG_2PI      1.83787706640934548356 /* log(2 pi) */
#define LOG_SQRT_2PI 0.91893853320467274178
#define LOG_PI       1.14472988584940017414

double log_gamma(double x); /* log |Gamma(x)| */
double log_gamma_multi(double a,
                       size_t p);       /* log of the multivariate gamma function, dimension p */
double log_beta_fn(double a, double b); /* log B(a, b); accurate when one argument is large */
/* Remainder of Stirling's series, lgamma(x) - (x - 1/2) log x + x - log sqrt(2 pi), x >= 10. */
double stirling_rest(double x);
double log_factorial(double k); /* of a count */
double log_choose(double n, double k);
double digamma(double x);
double trigamma(double x); /* its derivative */

double logsumexp(const double *x, size_t n); /* -inf for n == 0 */
double logaddexp(double a, double b);
double log1mexp(double x);          /* log(1 - exp(-x)), x > 0 */
double log1pexp(double x);          /* log(1 + exp(x)) */
double logistic(double x);          /* 1 / (1 + exp(-x)) */
double xlogy(double x, double y);   /* x log y, and 0 when x == 0 */
double xlog1py(double x, double y); /* x log(1 + y), and 0 when x == 0 */

double erfcx(double x); /* exp(x^2) erfc(x) */
double norm_cdf(double x);
double norm_log_cdf(double x);  /* accurate far into the lower tail */
double norm_quantile(double p); /* inverse of norm_cdf on [0, 1] */

double beta_inc(double a, double b, double x); /* regularised incomplete beta I_x(a, b) */
/* Logarithms t[0] of the lower and t[1] of the upper part (incomplete.c): P(k, x) and Q(k, x), or
 * I_x(a, b) and I_y(b, a). y = 1 - x is passed separately so that neither end cancels. */
void gamma_tails(double k, double x, double *t);
void beta_tails(double a, double b, double x, double y, double *t);

double bessel_i0e(double x); /* exp(-|x|) I_0(x) */
double bessel_i1e(double x); /* exp(-|x|) I_1(x) */
#endif
