/* SPDX-License-Identifier: Apache-2.0
 *
 * Laws that are another one seen through a change of the value or of the parameters. Density,
 * slopes and distribution function follow from the other law.
 *
 * A standard law has no parameters. z = (x - m) / s makes a family of location and scale of it,
 * z = k log(x / s) one of scale and shape. With h the log density of the standard law:
 *
 *     location and scale   log p = h(z) - log s
 *                          d/dx = h'(z) / s,   d/dm = -d/dx,   d/ds = -(1 + z h'(z)) / s
 *     scale and shape      log p = h(z) + log k - log x
 *                          d/dx = (k h'(z) - 1) / x,   d/ds = -k h'(z) / s,
 *                          d/dk = 1 / k + h'(z) z / k
 */
#ifndef DIST_TRANSFORM_H
#define DIST_TRANSFORM_H
#include "numeric/dist/tails.h"

/* The functions of a law, from an expression or statements in x (or r), a and n. */
#define LAW_LP(NAME, VALUE)                                                                        \
    static double dist_##NAME##_lp(double x, const double *a, size_t n) {                          \
        return VALUE;                                                                              \
    }
#define LAW_DRAW(NAME, VALUE)                                                                      \
    static double dist_##NAME##_draw(struct rng *r, const double *a, size_t n) {                   \
        return VALUE;                                                                              \
    }
#define LAW_GRAD(NAME, ...)                                                                        \
    static void dist_##NAME##_grad(double x, const double *a, size_t n, double *g) {               \
        __VA_ARGS__;                                                                               \
    }
#define LAW_TAILS(NAME, ...)                                                                       \
    static void dist_##NAME##_tails(double x, const double *a, size_t n, double *t) {              \
        __VA_ARGS__;                                                                               \
    }

struct standard {
    double (*lp)(double z), (*slope)(double z); /* h, h' */
    void (*tails)(double z, double *t);
    double (*draw)(struct rng *r);
};
extern const struct standard standard_logistic, standard_cauchy, standard_laplace;
extern const struct standard standard_gumbel; /* of largest values */
extern const struct standard standard_least;  /* of smallest values: -z is gumbel */
extern const struct standard standard_expon;  /* of rate 1 */

double location_lp(const struct standard *of, double x, const double *a);
void location_grad(const struct standard *of, double x, const double *a, double *g);
/* Its three derivatives from h'(z). */
void loc_scale_grad(double z, double slope, double s, double *g);
double location_draw(const struct standard *of, struct rng *r, const double *a);
double power_lp(const struct standard *of, double x, double scale, double shape);
void power_tails(const struct standard *of, double x, double scale, double shape, double *t);
/* The derivatives in x, scale and shape. */
void power_grad(const struct standard *of, double x, double scale, double shape, double *dx,
                double *dscale, double *dshape);
double positive_double(double x); /* the nearest positive number */

/* Of location a[0] and scale a[1]. */
#define LOCATION_SCALE(NAME, OF)                                                                   \
    LAW_LP(NAME, location_lp(&standard_##OF, x, a))                                                \
    LAW_GRAD(NAME, location_grad(&standard_##OF, x, a, g))                                         \
    LAW_TAILS(NAME, standard_##OF.tails((x - a[0]) / a[1], t))                                     \
    LAW_DRAW(NAME, location_draw(&standard_##OF, r, a))

/* SCALE and SHAPE are the places of these parameters, 0 and 1. */
#define SCALE_SHAPE(NAME, OF, SCALE, SHAPE, DRAW)                                                  \
    LAW_LP(NAME, power_lp(&standard_##OF, x, a[SCALE], a[SHAPE]))                                  \
    LAW_GRAD(NAME,                                                                                 \
             power_grad(&standard_##OF, x, a[SCALE], a[SHAPE], g, g + 1 + SCALE, g + 1 + SHAPE))   \
    LAW_TAILS(NAME, power_tails(&standard_##OF, x, a[SCALE], a[SHAPE], t))                         \
    LAW_DRAW(NAME, a[0] > 0 && a[1] > 0 ? positive_double(DRAW) : NAN)

/* NAME is BASE, of N parameters, with OF for them, an array. Parameters outside the domain of NAME
 * are outside that of BASE. The last argument fills g[1], .. from d[], the derivatives of BASE. */
#define RENAMED_GRAD(NAME, BASE, N, OF, ...)                                                       \
    LAW_GRAD(NAME, double d[N + 1]; dist_##BASE##_grad(x, PARAMETERS OF, N, d); g[0] = d[0];       \
             __VA_ARGS__)
#define RENAMED(NAME, BASE, N, OF, ...)                                                            \
    LAW_LP(NAME, dist_##BASE##_lp(x, PARAMETERS OF, N))                                            \
    LAW_DRAW(NAME, dist_##BASE##_draw(r, PARAMETERS OF, N))                                        \
    LAW_TAILS(NAME, dist_##BASE##_tails(x, PARAMETERS OF, N, t))                                   \
    RENAMED_GRAD(NAME, BASE, N, OF, __VA_ARGS__)
#define PARAMETERS(...) ((double[]){__VA_ARGS__})
#endif
