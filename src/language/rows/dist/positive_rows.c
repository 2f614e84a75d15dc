/* SPDX-License-Identifier: Apache-2.0
 *
 * Continuous random procedures on positive numbers and parts of them, with their laws.
 */
#include "language/rows/dist/dist_row.h"
#include "language/rows/dist/transform.h"
#include <float.h>
#include <math.h>

static void range_from_first(const double *a, double *lo, double *hi) {
    *lo = a[0];
    *hi = INFINITY;
}

static enum gpm_status check_open_unit(struct sp_call *c, const double *a) {
    if (a[0] > 0 && a[0] < 1) return GPM_OK;
    return sp_error(c, DIAG_DOMAIN, "%s: mean must be above 0 and below 1, got %g", c->cls->name,
                    a[0]);
}

/* ---- weibull(k, s): (x / s)^k is expon(1); frechet(k, s): (x / s)^-k is; loglogistic(s, k):
 * k log(x / s) is standard logistic; pareto(s, k): it is expon(1) */
SCALE_SHAPE(weibull, least, 1, 0, a[1] * pow(rng_exponential(r), 1 / a[0]))
SCALE_SHAPE(frechet, gumbel, 1, 0, a[1] * pow(rng_exponential(r), -1 / a[0]))
SCALE_SHAPE(loglogistic, logistic, 0, 1, a[0] * exp(standard_logistic.draw(r) / a[1]))
SCALE_SHAPE(pareto, expon, 0, 1, a[0] * exp(rng_exponential(r) / a[1]))

/* ---- rayleigh(s) is weibull(2, s sqrt(2)) */
LAW_LP(rayleigh, dist_weibull_lp(x, PARAMETERS(2, M_SQRT2 *a[0]), 2))
LAW_TAILS(rayleigh, put_exponential(t, 0.5 * (x / a[0]) * (x / a[0])))
LAW_DRAW(rayleigh, a[0] > 0 ? positive_double(a[0] * sqrt(2 * rng_exponential(r))) : NAN)
RENAMED_GRAD(rayleigh, weibull, 2, (2, M_SQRT2 *a[0]), g[1] = M_SQRT2 * d[2])

/* ---- pareto_type_2(m, s, k), y = x - m >= 0:  k/s (1 + y/s)^(-k-1) */
static double dist_pareto_type_2_lp(double x, const double *a, size_t n) {
    if (!(a[1] > 0 && a[2] > 0)) return NAN;
    if (isnan(x)) return NAN;
    if (!(x >= a[0]) || isinf(x)) return -INFINITY;
    return log(a[2] / a[1]) - (a[2] + 1) * log1p((x - a[0]) / a[1]);
}

static double dist_pareto_type_2_draw(struct rng *r, const double *a, size_t n) {
    if (!(a[1] > 0 && a[2] > 0)) return NAN;
    return fmin(a[0] + a[1] * expm1(rng_exponential(r) / a[2]), DBL_MAX);
}

static void dist_pareto_type_2_grad(double x, const double *a, size_t n, double *g) {
    double y = x - a[0], all = a[1] + y;
    g[0] = -(a[2] + 1) / all;
    g[1] = -g[0];
    g[2] = ((a[2] + 1) * y / all - 1) / a[1];
    g[3] = 1 / a[2] - log1p(y / a[1]);
}

static void dist_pareto_type_2_tails(double x, const double *a, size_t n, double *t) {
    put_exponential(t, x > a[0] ? a[2] * log1p((x - a[0]) / a[1]) : 0);
}

static void slopes_pareto_type_2(double x, const double *a, size_t n, double *d) {
    double y = x - a[0];
    d[0] = -1;
    d[1] = -y / a[1];
    d[2] = (a[1] + y) * log1p(y / a[1]) / a[2];
}

/* ---- gamma and inv_gamma, beta under other parameters */
RENAMED(chi_square, gamma, 2, (0.5 * a[0], 0.5), g[1] = 0.5 * d[1])
RENAMED(inv_chi_square, inv_gamma, 2, (0.5 * a[0], 0.5), g[1] = 0.5 * d[1])
RENAMED(scaled_inv_chi_square, inv_gamma, 2, (0.5 * a[0], 0.5 * a[0] * a[1] * fabs(a[1])),
        g[1] = 0.5 * (d[1] + a[1] * a[1] * d[2]);
        g[2] = a[0] * a[1] * d[2])
RENAMED(beta_proportion, beta, 2, (a[0] * a[1], (1 - a[0]) * a[1]), g[1] = a[1] * (d[1] - d[2]);
        g[2] = a[0] * d[1] + (1 - a[0]) * d[2])

const struct sp_class sp_positive_rows[] = {
    {.name = "weibull",
     .sig = "(shape: positive, scale: positive" SP_BOUNDS ") -> positive",
     .doc = "Weibull distribution: (x / scale)^shape is expon(1)",
     .example = "assess(1, weibull, 1, 1) => -1",
     .num_args = 2,
     SP_CONTINUOUS(weibull, SP_POSITIVE, .tails = dist_weibull_tails,
                   .slopes = slopes_shape_scale)},
    {.name = "frechet",
     .sig = "(shape: positive, scale: positive" SP_BOUNDS ") -> positive",
     .doc = "Frechet distribution: (x / scale)^-shape is expon(1)",
     .example = "assess(1, frechet, 1, 1) => -1",
     .num_args = 2,
     SP_CONTINUOUS(frechet, SP_POSITIVE, .tails = dist_frechet_tails,
                   .slopes = slopes_shape_scale)},
    {.name = "rayleigh",
     .sig = "(scale: positive" SP_BOUNDS ") -> positive",
     .doc = "length of a vector with two independent normal(0, scale) coordinates",
     .example = "assess(1, rayleigh, 1) => -0.5",
     .num_args = 1,
     SP_CONTINUOUS(rayleigh, SP_POSITIVE, .tails = dist_rayleigh_tails, .slopes = slopes_scale)},
    {.name = "loglogistic",
     .sig = "(scale: positive, shape: positive" SP_BOUNDS ") -> positive",
     .doc = "exp of a logistic_distribution(log(scale), 1 / shape) variable",
     .example = "assess(1, loglogistic, 1, 1) => -1.3862943611198906",
     .num_args = 2,
     SP_CONTINUOUS(loglogistic, SP_POSITIVE, .tails = dist_loglogistic_tails,
                   .slopes = slopes_scale_shape)},
    {.name = "pareto",
     .sig = "(least: positive, shape: positive" SP_BOUNDS ") -> positive",
     .doc = "Pareto distribution: log(x / least) is expon(shape)",
     .example = "assess(1, pareto, 1, 1) => 0",
     .num_args = 2,
     SP_CONTINUOUS(pareto, SP_POSITIVE, .range = range_from_first, .tails = dist_pareto_tails,
                   .slopes = slopes_scale_shape)},
    {.name = "pareto_type_2",
     .sig = "(least: real, scale: positive, shape: positive" SP_BOUNDS ") -> real",
     .doc = "Pareto distribution of type 2: log(1 + (x - least) / scale) is expon(shape)",
     .example = "assess(2, pareto_type_2, 2, 1, 1) => 0",
     .num_args = 3,
     SP_CONTINUOUS(pareto_type_2, SP_REAL, .range = range_from_first,
                   .tails = dist_pareto_type_2_tails, .slopes = slopes_pareto_type_2)},
    {.name = "chi_square",
     .sig = "(nu: positive" SP_BOUNDS ") -> positive",
     .doc = "chi-square distribution with nu degrees of freedom",
     .example = "floor(1e6 * assess(2, chi_square, 2)) => -1693148",
     .num_args = 1,
     SP_CONTINUOUS(chi_square, SP_POSITIVE, .tails = dist_chi_square_tails)},
    {.name = "inv_chi_square",
     .sig = "(nu: positive" SP_BOUNDS ") -> positive",
     .doc = "inverse of a chi_square(nu) variable",
     .example = "floor(1e6 * assess(1, inv_chi_square, 2)) => -1193148",
     .num_args = 1,
     SP_CONTINUOUS(inv_chi_square, SP_POSITIVE, .tails = dist_inv_chi_square_tails)},
    {.name = "scaled_inv_chi_square",
     .sig = "(nu: positive, scale: positive" SP_BOUNDS ") -> positive",
     .doc = "nu scale^2 times an inv_chi_square(nu) variable",
     .example = "assess(1, scaled_inv_chi_square, 2, 1) => -1",
     .num_args = 2,
     SP_CONTINUOUS(scaled_inv_chi_square, SP_POSITIVE, .tails = dist_scaled_inv_chi_square_tails)},
    {.name = "beta_proportion",
     .sig = "(mean: probability, precision: positive" SP_BOUNDS ") -> probability",
     .doc = "beta(mean precision, (1 - mean) precision)",
     .example = "assess(0.3, beta_proportion, 0.5, 2) => 0",
     .num_args = 2,
     SP_CONTINUOUS(beta_proportion, SP_BETWEEN(0, 1), .check = check_open_unit,
                   .tails = dist_beta_proportion_tails)},
};
const size_t sp_positive_count = COUNT_OF(sp_positive_rows);
