/* SPDX-License-Identifier: Apache-2.0
 *
 * Arithmetic: scalar functions, lifted elementwise to vectors, arrays, lists and matrices.
 */
#include "language/rows/lib/lift.h"

#include "base/mem.h"
#include "numeric/special/special.h"
#include <math.h>

/* ---- folds over any number of arguments ----------------------------------------------------- */

static double num_add(const double *x, size_t n) {
    double s = 0;
    for (size_t i = 0; i < n; i++) s = i ? s + x[i] : x[0];
    return s;
}

static double num_mul(const double *x, size_t n) {
    double p = 1;
    for (size_t i = 0; i < n; i++) p = i ? p * x[i] : x[0];
    return p;
}

static void back_add(double v, const double *x, size_t n, double d, double *out) {
    for (size_t i = 0; i < n; i++) out[i] = d;
}

/* The product of the others, by prefixes and suffixes so that zeros do no harm. */
static void back_mul(double v, const double *x, size_t n, double d, double *out) {
    double left = 1, right = 1;
    for (size_t i = 0; i < n; i++, left *= x[i - 1]) out[i] = left;
    for (size_t i = n; i--; right *= x[i]) out[i] = out[i] * right * d;
}

/* ---- of several arguments, or of one sequence ----------------------------------------------- */

static size_t best_at(const double *x, size_t n, double sign) {
    size_t best = 0;
    for (size_t i = 1; i < n; i++)
        if (!isnan(x[best]) && (isnan(x[i]) || sign * x[i] > sign * x[best])) best = i;
    return best;
}

static double num_min(const double *x, size_t n) {
    return x[best_at(x, n, -1)];
}

static double num_max(const double *x, size_t n) {
    return x[best_at(x, n, 1)];
}

static void back_best(const double *x, size_t n, double sign, double d, double *out) {
    for (size_t i = 0; i < n; i++) out[i] = 0;
    if (n) out[best_at(x, n, sign)] = d;
}

static void back_min(double v, const double *x, size_t n, double d, double *out) {
    back_best(x, n, -1, d, out);
}

static void back_max(double v, const double *x, size_t n, double d, double *out) {
    back_best(x, n, 1, d, out);
}

static double num_log_sum_exp(const double *x, size_t n) {
    return logsumexp(x, n);
}

/* Each one counts by its share. */
static void back_log_sum_exp(double v, const double *x, size_t n, double d, double *out) {
    for (size_t i = 0; i < n; i++) out[i] = isfinite(v) ? exp(x[i] - v) * d : 0;
}

/* ---- whole-number division --------------------------------------------------------------------
 */

/* Floor semantics: the remainder has the sign of the divisor. */
static double floor_mod(double x, double y) {
    double m = fmod(x, y);
    return m != 0 && (m < 0) != (y < 0) ? m + y : m + 0.0;
}

static double num_int_mod(const double *a, size_t n) {
    return floor_mod(a[0], a[1]);
}

static double num_int_div(const double *a, size_t n) {
    return rint((a[0] - floor_mod(a[0], a[1])) / a[1]);
}

static enum gpm_status simulate_int(struct sp_call *c, value *out) {
    double a[2] = {sp_num(c, 0), sp_num(c, 1)};
    if (a[1] == 0) return sp_error(c, DIAG_ZERO_DIVISION, "%s: the divisor y is 0", c->cls->name);
    *out = value_num(c->cls->num(a, 2));
    return GPM_OK;
}

/* ---- functions of one and two numbers ----------------------------------------------------------
 */

static double sign_of(double x) {
    return (x > 0) - (x < 0);
}

/* logit(e^x) for x <= 0: x - log(1 - e^x) */
static double logit_exp(double x) {
    return x > -0.6931471805599453 ? x - log(-expm1(x)) : x - log1p(-exp(x));
}

/* d x^y / dy = x^y log x, 0 where x^y does not depend on y. */
static double pow_dy(double x, double y) {
    if (x == 0 && y > 0) return 0;
    return pow(x, y) * log(x);
}

LIFT2(sub, x - y, 1, -1)
LIFT2(div, x / y, 1 / y, -x / (y * y))
LIFT2(pow, y == 2 ? x * x : pow(x, y), y == 0 ? 0 : y * pow(x, y - 1), pow_dy(x, y))
LIFT2(atan2, atan2(x, y), y / (x * x + y * y), -x / (x * x + y * y))
LIFT2(hypot, hypot(x, y), x / hypot(x, y), y / hypot(x, y))
LIFT1(negate, -x, -1)
LIFT1(abs, fabs(x), sign_of(x))
LIFT1(sqrt, sqrt(x), 0.5 / y)
LIFT1(exp, exp(x), y)
LIFT1(expm1, expm1(x), y + 1)
LIFT1(log, log(x), 1 / x)
LIFT1(log1p, log1p(x), 1 / (1 + x))
LIFT1(log10, log10(x), 0.4342944819032518 / x)
LIFT1(log2, log2(x), 1.4426950408889634 / x)
LIFT1(sin, sin(x), cos(x))
LIFT1(cos, cos(x), -sin(x))
LIFT1(tan, tan(x), 1 + y * y)
LIFT1(asin, asin(x), 1 / sqrt(1 - x * x))
LIFT1(acos, acos(x), -1 / sqrt(1 - x * x))
LIFT1(atan, atan(x), 1 / (1 + x * x))
LIFT1(sinh, sinh(x), cosh(x))
LIFT1(cosh, cosh(x), sinh(x))
LIFT1(tanh, tanh(x), 1 - y * y)
LIFT1(logistic, logistic(x), y *logistic(-x))
LIFT1(log_logistic, -log1pexp(-x), logistic(-x))
LIFT1(logit, log(x) - log1p(-x), 1 / (x * (1 - x)))
LIFT1(logit_exp, logit_exp(x), -1 / expm1(x))
LIFT1(lgamma, log_gamma(x), digamma(x))
LIFT1(floor, floor(x), 0)
LIFT1(ceil, ceil(x), 0)
LIFT1(round, floor(x + 0.5), 0)
LIFT1(signum, sign_of(x), 0)

#define X1 "(x: any) -> any"
#define X2 "(x: any, y: any) -> any"

const struct sp_class sp_arith_rows[] = {
    {LIFT_ROW(
         add, add, "(...xs: any) -> any",
         "The sum of any number of arguments, elementwise on sequences and matrices; also `x + y`.",
         "add(1, 2, 3) => 6"),
     .code = SP_CODE_ADD, .variant = LIFT_FOLD},
    {LIFT_ROW(mul, mul, "(...xs: any) -> any",
              "The product of any number of arguments, elementwise on sequences and matrices; also "
              "`x * y`.",
              "mul(2, vector(1, 2)) => [2, 4]"),
     .code = SP_CODE_MUL, .variant = LIFT_FOLD},
    {LIFT_ROW(sub, sub, X2, "The difference x - y, elementwise on sequences and matrices.",
              "vector(4, 7) - 1 => [3, 6]"),
     .code = SP_CODE_SUB},
    {LIFT_ROW(div, div, X2, "The quotient x / y; a divisor of 0 gives inf, -inf or nan.",
              "7 / 2 => 3.5"),
     .code = SP_CODE_DIV},
    {LIFT_ROW(pow, pow, X2, "x to the power y; also `x ** y`.", "2 ** 10 => 1024"),
     .code = SP_CODE_POW},
    {REDUCE_ROW(min, min, "(x: any, ...more: any) -> any",
                "The least of its arguments, elementwise; of one sequence, its least element.",
                "min(3, 4) => 3"),
     .flags = SP_LIFTS | SP_FOLDS, .variant = LIFT_FOLD},
    {REDUCE_ROW(
         max, max, "(x: any, ...more: any) -> any",
         "The greatest of its arguments, elementwise; of one sequence, its greatest element.",
         "max([3, 9, 2]) => 9"),
     .flags = SP_LIFTS | SP_FOLDS, .variant = LIFT_FOLD},
    {REDUCE_ROW(
         log_sum_exp, log_sum_exp, "(x: any, ...more: any) -> any",
         "log(exp(x) + exp(y) + ...) of its arguments, elementwise, without overflow; of one "
         "sequence, over its elements (-inf of none).",
         "log_sum_exp([-1000]) => -1000"),
     .flags = SP_LIFTS | SP_FOLDS, .variant = LIFT_FOLD | LIFT_OF_NONE},
    {REDUCE_ROW(prod, mul, "(xs: numbers) -> number", "The product of a sequence of numbers.",
                "prod([2, 3, 4]) => 24"),
     .flags = SP_FOLDS, .variant = LIFT_OF_NONE},
    {REDUCE_ROW(logsumexp, log_sum_exp, "(xs: numbers) -> number",
                "log(sum(exp(x))) without overflow; -inf of an empty sequence.",
                "logsumexp([-1000]) => -1000"),
     .flags = SP_FOLDS, .variant = LIFT_OF_NONE},
    {LIFT_ROW(atan2, atan2, "(y: any, x: any) -> any",
              "The angle of the point (x, y), from -pi to pi.", "atan2(0, 1) => 0")},
    {LIFT_ROW(hypot, hypot, X2, "The length of the vector (x, y).", "hypot(3, 4) => 5")},
    {SP_ROW(int_div, int, "(x: real, y: real) -> number",
            "The quotient rounded towards minus infinity; a divisor of 0 is an error.",
            "int_div(-7, 2) => -4"),
     .num = num_int_div},
    {SP_ROW(int_mod, int, "(x: real, y: real) -> number",
            "The remainder of int_div, with the sign of the divisor.", "int_mod(-7, 3) => 2"),
     .num = num_int_mod},
    {LIFT_ROW(floor, floor, X1, "The greatest integer that is not above x.", "floor(-1.5) => -2")},
    {LIFT_ROW(ceil, ceil, X1, "The least integer that is not below x.", "ceil(1.2) => 2")},
    {LIFT_ROW(round, round, X1, "The nearest integer, halves upwards.", "round(2.5) => 3")},
    {LIFT_ROW(abs, abs, X1, "The absolute value.", "abs(-2.5) => 2.5")},
    {LIFT_ROW(signum, signum, X1, "The sign: -1, 0 or 1.", "signum(-3) => -1")},
    {LIFT_ROW(negate, negate, X1, "Minus x.", "negate(5) => -5")},
    {LIFT_ROW(sqrt, sqrt, X1, "The square root; nan below 0.", "sqrt(9) => 3")},
    {LIFT_ROW(exp, exp, X1, "e to the power x.", "exp(0) => 1")},
    {LIFT_ROW(expm1, expm1, X1, "exp(x) - 1, exact for small x.", "expm1(0) => 0")},
    {LIFT_ROW(log, log, X1, "The natural logarithm; log(0) is -inf, below 0 nan.",
              "log(0) => -inf")},
    {LIFT_ROW(log1p, log1p, X1, "log(1 + x), exact for small x.", "log1p(0) => 0")},
    {LIFT_ROW(log10, log10, X1, "The logarithm to base 10.", "log10(1000) => 3")},
    {LIFT_ROW(log2, log2, X1, "The logarithm to base 2.", "log2(8) => 3")},
    {LIFT_ROW(sin, sin, X1, "The sine of an angle in radians.", "sin(0) => 0")},
    {LIFT_ROW(cos, cos, X1, "The cosine of an angle in radians.", "cos(0) => 1")},
    {LIFT_ROW(tan, tan, X1, "The tangent of an angle in radians.", "tan(0) => 0")},
    {LIFT_ROW(asin, asin, X1, "The angle whose sine is x.", "asin(0) => 0")},
    {LIFT_ROW(acos, acos, X1, "The angle whose cosine is x.", "acos(1) => 0")},
    {LIFT_ROW(atan, atan, X1, "The angle whose tangent is x.", "atan(0) => 0")},
    {LIFT_ROW(sinh, sinh, X1, "The hyperbolic sine.", "sinh(0) => 0")},
    {LIFT_ROW(cosh, cosh, X1, "The hyperbolic cosine.", "cosh(0) => 1")},
    {LIFT_ROW(tanh, tanh, X1, "The hyperbolic tangent.", "tanh(0) => 0")},
    {LIFT_ROW(logistic, logistic, X1, "1 / (1 + exp(-x)).", "logistic(0) => 0.5")},
    {LIFT_ROW(log_logistic, log_logistic, X1, "log(logistic(x)), exact in both tails.",
              "log_logistic(-1000) => -1000")},
    {LIFT_ROW(inv_logit, logistic, X1, "The same as logistic: 1 / (1 + exp(-x)).",
              "inv_logit(0) => 0.5")},
    {LIFT_ROW(log_inv_logit, log_logistic, X1, "The same as log_logistic: log(inv_logit(x)).",
              "log_inv_logit(-1000) => -1000")},
    {LIFT_ROW(logit, logit, X1, "log(x / (1 - x)), the inverse of logistic.", "logit(0.5) => 0")},
    {LIFT_ROW(logit_exp, logit_exp, X1, "logit(exp(x)) for x < 0, exact near 0.",
              "logit_exp(log(0.5)) => 0")},
    {LIFT_ROW(lgamma, lgamma, X1, "The logarithm of the gamma function.", "lgamma(1) => 0")},
};
const size_t sp_arith_count = COUNT_OF(sp_arith_rows);
