/* SPDX-License-Identifier: Apache-2.0
 *
 * The scalar functions that densities are written with: logarithms of sums and of complements, the
 * gamma family, the normal distribution function, link functions. All are lifted elementwise
 * (lift.h) with their derivatives beside them.
 */
#include "language/rows/lib/lift.h"

#include "base/mem.h"
#include "numeric/special/special.h"
#include <math.h>

/* ---- logarithms of sums ------------------------------------------------------------------------
 */

/* log(e^x - e^y) for x >= y; equal ones, also of minus infinity, give minus infinity. */
static double log_diff_exp(double x, double y) {
    if (x == y && x < INFINITY) return -INFINITY;
    return x < y ? NAN : x + log1mexp(x - y);
}

LIFT2(log_diff_exp, log_diff_exp(x, y), -1 / expm1(y - x), -1 / expm1(x - y))
LIFT1(log1m, log1p(-x), -1 / (1 - x))
LIFT1(log1m_exp, log1mexp(-x), -1 / expm1(-x))
LIFT1(log1p_exp, log1pexp(x), logistic(x))
LIFT1(log1m_inv_logit, -log1pexp(x), -logistic(x))

/* log(theta e^a + (1 - theta) e^b); at the ends the other term does not count, whatever it is */
static double num_log_mix(const double *x, size_t n) {
    if (!(x[0] >= 0 && x[0] <= 1)) return NAN;
    if (x[0] == 0) return x[2];
    if (x[0] == 1) return x[1];
    return logaddexp(log(x[0]) + x[1], log1p(-x[0]) + x[2]);
}

static void back_log_mix(double v, const double *x, size_t n, double d, double *out) {
    double a = exp(x[1] - v), b = exp(x[2] - v); /* v is -inf only when both are: no slope */
    bool none = v == -INFINITY;
    out[0] = none ? 0 : d * (a - b);
    out[1] = none || x[0] == 0 ? 0 : d * x[0] * a;
    out[2] = none || x[0] == 1 ? 0 : d * (1 - x[0]) * b;
}

/* ---- the gamma family --------------------------------------------------------------------------
 */

/* d log C(n, k) with real n and k, as continued by the gamma function. */
static double lchoose_dn(double n, double k) {
    return digamma(n + 1) - digamma(n - k + 1);
}

static double lchoose_dk(double n, double k) {
    return digamma(n - k + 1) - digamma(k + 1);
}

/* Outside 0 <= k <= n by the gamma function, too. */
static double lchoose(double n, double k) {
    if (k >= 0 && k <= n) return log_choose(n, k);
    return log_gamma(n + 1) - log_gamma(k + 1) - log_gamma(n - k + 1);
}

LIFT1(digamma, digamma(x), trigamma(x))
LIFT1(tgamma, tgamma(x), y *digamma(x))
LIFT2(lbeta, log_beta_fn(x, y), digamma(x) - digamma(x + y), digamma(y) - digamma(x + y))
LIFT2(lchoose, lchoose(x, y), lchoose_dn(x, y), lchoose_dk(x, y))
LIFT2(choose, round(exp(lchoose(x, y))), 0, 0)
LIFT2(log_rising_factorial, log_gamma(x + y) - log_gamma(x), digamma(x + y) - digamma(x),
      digamma(x + y))
LIFT2(log_falling_factorial, log_gamma(x + 1) - log_gamma(x - y + 1),
      digamma(x + 1) - digamma(x - y + 1), digamma(x - y + 1))
LIFT2(lmultiply, xlogy(x, y), x == 0 && y == 0 ? 0 : log(y), x == 0 ? 0 : x / y)

static double num_trigamma(const double *x, size_t n) {
    return trigamma(x[0]);
}

SP_SIMPLE(trigamma, value_num(trigamma(sp_num(c, 0))))

/* ---- the normal distribution function, and other links ------------------------------------------
 */

static double phi(double x) {
    return exp(-0.5 * x * x - LOG_SQRT_2PI);
}

LIFT1(Phi, norm_cdf(x), phi(x))
LIFT1(log_Phi, norm_log_cdf(x), exp(-0.5 * x * x - LOG_SQRT_2PI - y))
LIFT1(inv_Phi, norm_quantile(x), 1 / phi(y))
LIFT1(Phi_approx, logistic((0.07056 * x * x + 1.5976) * x),
      y *(1 - y) * (3 * 0.07056 * x * x + 1.5976))
LIFT1(inv_cloglog, -expm1(-exp(x)), exp(x - exp(x)))
LIFT1(cloglog, log(-log1p(-x)), -1 / ((1 - x) * log1p(-x)))
LIFT1(erf, erf(x), 2 / sqrt(M_PI) * exp(-x * x))
LIFT1(erfc, erfc(x), -2 / sqrt(M_PI) * exp(-x * x))

/* ---- powers, steps, and the rest ----------------------------------------------------------------
 */

LIFT1(square, x *x, 2 * x)
LIFT1(cbrt, cbrt(x), 1 / (3 * y * y))
LIFT1(inv, 1 / x, -y *y)
LIFT1(inv_sqrt, 1 / sqrt(x), -0.5 * y / x)
LIFT1(inv_square, 1 / (x * x), -2 * y / x)
LIFT1(exp2, exp2(x), y *M_LN2)
LIFT1(asinh, asinh(x), 1 / sqrt(x * x + 1))
LIFT1(acosh, acosh(x), 1 / sqrt(x * x - 1))
LIFT1(atanh, atanh(x), 1 / (1 - x * x))
LIFT1(step, x >= 0, 0)
LIFT1(trunc, trunc(x), 0)
LIFT2(fdim, isnan(x) || isnan(y) ? NAN : fdim(x, y), x > y, -(x > y))
LIFT2(fmod, fmod(x, y), 1, -trunc(x / y))

static double num_fma(const double *x, size_t n) {
    return fma(x[0], x[1], x[2]);
}

static void back_fma(double v, const double *x, size_t n, double d, double *out) {
    out[0] = d * x[1];
    out[1] = d * x[0];
    out[2] = d;
}

#define X1 "(x: any) -> any"
#define X2 "(x: any, y: any) -> any"
#define NK "(n: any, k: any) -> any"

const struct sp_class sp_functions_rows[] = {
    {LIFT_ROW(log_diff_exp, log_diff_exp, X2, "log(exp(x) - exp(y)) for x >= y, without overflow.",
              "log_diff_exp(1000, 1000) => -inf")},
    {LIFT_ROW(log_mix, log_mix, "(theta: any, a: any, b: any) -> any",
              "log(theta exp(a) + (1 - theta) exp(b)): the log density of a mixture of two.",
              "log_mix(0.25, -3, -3) => -3")},
    {LIFT_ROW(log1m, log1m, X1, "log(1 - x), exact for small x.", "log1m(0) => 0")},
    {LIFT_ROW(log1m_exp, log1m_exp, X1, "log(1 - exp(x)) for x < 0, exact near 0.",
              "log1m_exp(-1000) => 0")},
    {LIFT_ROW(log1p_exp, log1p_exp, X1, "log(1 + exp(x)) without overflow.",
              "log1p_exp(1000) => 1000")},
    {LIFT_ROW(log1m_inv_logit, log1m_inv_logit, X1, "log(1 - inv_logit(x)), exact in both tails.",
              "log1m_inv_logit(1000) => -1000")},
    {LIFT_ROW(cloglog, cloglog, X1, "log(-log(1 - x)), the complementary log-log link.",
              "round(100 * cloglog(0.5)) => -37")},
    {LIFT_ROW(inv_cloglog, inv_cloglog, X1, "1 - exp(-exp(x)), the inverse of cloglog.",
              "round(100 * inv_cloglog(0)) => 63")},
    {LIFT_ROW(Phi, Phi, X1, "The distribution function of the standard normal.", "Phi(0) => 0.5")},
    {LIFT_ROW(log_Phi, log_Phi, X1, "log(Phi(x)), exact far into the lower tail.",
              "round(log_Phi(-40)) => -805")},
    {LIFT_ROW(inv_Phi, inv_Phi, X1, "The quantile of the standard normal, the inverse of Phi.",
              "round(1e6 * inv_Phi(0.975)) => 1959964")},
    {LIFT_ROW(Phi_approx, Phi_approx, X1, "A logistic approximation of Phi, within 0.00014.",
              "Phi_approx(0) => 0.5")},
    {LIFT_ROW(erf, erf, X1, "The error function.", "erf(0) => 0")},
    {LIFT_ROW(erfc, erfc, X1, "1 - erf(x), exact in the upper tail.", "erfc(0) => 1")},
    {LIFT_ROW(tgamma, tgamma, X1, "The gamma function.", "tgamma(5) => 24")},
    {LIFT_ROW(digamma, digamma, X1, "The derivative of lgamma.",
              "round(1e6 * digamma(1)) => -577216")},
    {SP_ROW(trigamma, trigamma, "(x: real) -> number", "The derivative of digamma.",
            "round(1e6 * trigamma(1)) => 1644934"),
     .num = num_trigamma},
    {LIFT_ROW(lbeta, lbeta, "(a: any, b: any) -> any", "The logarithm of the beta function.",
              "lbeta(1, 1) => 0")},
    {LIFT_ROW(lchoose, lchoose, NK, "The logarithm of n over k, for real n and k.",
              "lchoose(5, 5) => 0")},
    {LIFT_ROW(choose, choose, NK, "The number of ways to take k of n things.",
              "choose(5, 2) => 10")},
    {LIFT_ROW(log_rising_factorial, log_rising_factorial, X2,
              "log of x (x + 1) ... (x + y - 1), by the gamma function.",
              "log_rising_factorial(1, 1) => 0")},
    {LIFT_ROW(log_falling_factorial, log_falling_factorial, X2,
              "log of x (x - 1) ... (x - y + 1), by the gamma function.",
              "log_falling_factorial(1, 1) => 0")},
    {LIFT_ROW(lmultiply, lmultiply, X2, "x log(y), and 0 where x is 0.", "lmultiply(0, 0) => 0")},
    {LIFT_ROW(square, square, X1, "x * x.", "square(3) => 9")},
    {LIFT_ROW(cbrt, cbrt, X1, "The cube root.", "cbrt(-8) => -2")},
    {LIFT_ROW(inv, inv, X1, "1 / x.", "inv(4) => 0.25")},
    {LIFT_ROW(inv_sqrt, inv_sqrt, X1, "1 / sqrt(x).", "inv_sqrt(4) => 0.5")},
    {LIFT_ROW(inv_square, inv_square, X1, "1 / (x * x).", "inv_square(2) => 0.25")},
    {LIFT_ROW(exp2, exp2, X1, "2 to the power x.", "exp2(3) => 8")},
    {LIFT_ROW(asinh, asinh, X1, "The inverse of sinh.", "asinh(0) => 0")},
    {LIFT_ROW(acosh, acosh, X1, "The inverse of cosh.", "acosh(1) => 0")},
    {LIFT_ROW(atanh, atanh, X1, "The inverse of tanh.", "atanh(0) => 0")},
    {LIFT_ROW(step, step, X1, "1 from 0 up, 0 below.", "step(-0.1) => 0")},
    {LIFT_ROW(trunc, trunc, X1, "x without its fractional part.", "trunc(-1.5) => -1")},
    {LIFT_ROW(fdim, fdim, X2, "x - y where that is positive, else 0.", "fdim(5, 2) => 3")},
    {LIFT_ROW(fmod, fmod, X2, "The remainder of x / y, with the sign of x.", "fmod(-7, 3) => -1")},
    {LIFT_ROW(fma, fma, "(x: any, y: any, z: any) -> any", "x * y + z, rounded once.",
              "fma(2, 3, 4) => 10")},
};
const size_t sp_functions_count = COUNT_OF(sp_functions_rows);
