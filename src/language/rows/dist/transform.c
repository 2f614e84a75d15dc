/* SPDX-License-Identifier: Apache-2.0
 *
 * Standard laws, and the families that they make; the formulas stand in transform.h.
 */
#include "language/rows/dist/transform.h"

#include "numeric/special/special.h"
#include <float.h>

/* A standard law: h, h', log F and log(1 - F), expressions in z; a draw by r. */
#define STANDARD(NAME, LP, SLOPE, LOWER, UPPER, DRAW)                                              \
    static double NAME##_lp(double z) {                                                            \
        return LP;                                                                                 \
    }                                                                                              \
    static double NAME##_slope(double z) {                                                         \
        return SLOPE;                                                                              \
    }                                                                                              \
    static void NAME##_tails(double z, double *t) {                                                \
        t[0] = LOWER;                                                                              \
        t[1] = UPPER;                                                                              \
    }                                                                                              \
    static double NAME##_draw(struct rng *r) {                                                     \
        return DRAW;                                                                               \
    }                                                                                              \
    const struct standard standard_##NAME = {NAME##_lp, NAME##_slope, NAME##_tails, NAME##_draw};

static double draw_logistic(double u) {
    return log(u) - log1p(-u);
}
STANDARD(logistic, -fabs(z) - 2 * log1p(exp(-fabs(z))), -tanh(0.5 * z), -log1pexp(-z), -log1pexp(z),
         draw_logistic(rng_uniform(r)))

/* Distribution function: the angle to the far side, as a share of the half turn. */
STANDARD(cauchy, -LOG_PI - (fabs(z) > 1e10 ? 2 * log(fabs(z)) : log1p(z * z)),
         fabs(z) > 1e10 ? -2 / z : -2 * z / (1 + z * z), log(atan2(1, -z)) - LOG_PI,
         log(atan2(1, z)) - LOG_PI, tan(M_PI *(rng_uniform(r) - 0.5)))

/* The part beyond z, and the rest. */
static double beyond(double z) {
    return z > 0 ? -z - M_LN2 : log1p(-0.5 * exp(z));
}
static double draw_laplace(double u) { /* u from -1/2 to 1/2 */
    return -copysign(log1p(-2 * fabs(u)), u);
}
STANDARD(laplace, -M_LN2 - fabs(z), (z < 0) - (z > 0) /* 0 at the kink */, beyond(-z), beyond(z),
         draw_laplace(rng_uniform(r) - 0.5))

STANDARD(gumbel, isinf(z) ? -INFINITY : -z - exp(-z), expm1(-z), -exp(-z), log1mexp(exp(-z)),
         -log(rng_exponential(r)))
STANDARD(least, z - exp(z), -expm1(z), log1mexp(exp(z)), 0 - exp(z), log(rng_exponential(r)))
STANDARD(expon, z >= 0 ? -z : -INFINITY, -1, z > 0 ? log1mexp(z) : -INFINITY, z > 0 ? -z : 0,
         rng_exponential(r))

double location_lp(const struct standard *of, double x, const double *a) {
    return a[1] > 0 ? of->lp(standardised(x, a[0], a[1])) - log(a[1]) : NAN;
}

void loc_scale_grad(double z, double slope, double s, double *g) {
    g[0] = slope / s;
    g[1] = -slope / s;
    g[2] = -(1 + z * slope) / s;
}

void location_grad(const struct standard *of, double x, const double *a, double *g) {
    double z = (x - a[0]) / a[1];
    loc_scale_grad(z, of->slope(z), a[1], g);
}

double location_draw(const struct standard *of, struct rng *r, const double *a) {
    return a[1] > 0 ? fmin(fmax(a[0] + a[1] * of->draw(r), -DBL_MAX), DBL_MAX) : NAN;
}

/* h(z) and log(x / s) may be near each other: they meet first. */
double power_lp(const struct standard *of, double x, double scale, double shape) {
    if (!(scale > 0 && shape > 0) || isnan(x)) return NAN;
    if (!(x > 0) || isinf(x)) return -INFINITY;
    double l = log(x / scale);
    return log(shape / scale) + (of->lp(shape * l) - l);
}

void power_tails(const struct standard *of, double x, double scale, double shape, double *t) {
    of->tails(x > 0 ? shape * log(x / scale) : -INFINITY, t);
}

void power_grad(const struct standard *of, double x, double scale, double shape, double *dx,
                double *dscale, double *dshape) {
    double l = log(x / scale), slope = of->slope(shape * l);
    *dx = (shape * slope - 1) / x;
    *dscale = -shape * slope / scale;
    *dshape = 1 / shape + l * slope;
}

double positive_double(double x) {
    return fmin(fmax(x, DBL_MIN), DBL_MAX);
}
