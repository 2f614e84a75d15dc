/* SPDX-License-Identifier: Apache-2.0
 *
 * Continuous distributions on the positive numbers and on parts of them, and those that are
 * others under another name for their parameters.
 */
#include "math/dist.h"
#include "math/special.h"
#include <float.h>
#include <math.h>

/* What lp is at a value that is no positive number. */
static double no_density(double x) {
    return isnan(x) ? NAN : -INFINITY;
}

static bool inside(double x) {
    return x > 0 && !isinf(x);
}

static double positive_double(double x) {
    return fmin(fmax(x, DBL_MIN), DBL_MAX);
}

/* ---- weibull(k, s), e = (x/s)^k:  k/s (x/s)^(k-1) e^-e */
double dist_weibull_lp(double x, const double *a, size_t n) {
    if (!(a[0] > 0 && a[1] > 0)) return NAN;
    if (!inside(x)) return no_density(x);
    double l = log(x / a[1]);
    return log(a[0] / a[1]) + (a[0] - 1) * l - exp(a[0] * l);
}

double dist_weibull_draw(struct rng *r, const double *a, size_t n) {
    if (!(a[0] > 0 && a[1] > 0)) return NAN;
    return positive_double(a[1] * pow(rng_exponential(r), 1 / a[0]));
}

void dist_weibull_grad(double x, const double *a, size_t n, double *g) {
    double l = log(x / a[1]), e = exp(a[0] * l);
    g[0] = (a[0] - 1 - a[0] * e) / x;
    g[1] = 1 / a[0] + l * (1 - e);
    g[2] = a[0] * (e - 1) / a[1];
}

/* ---- frechet(k, s), e = (x/s)^-k:  k/s (x/s)^(-k-1) e^-e */
double dist_frechet_lp(double x, const double *a, size_t n) {
    if (!(a[0] > 0 && a[1] > 0)) return NAN;
    if (!inside(x)) return no_density(x);
    double l = log(x / a[1]);
    return log(a[0] / a[1]) - (a[0] + 1) * l - exp(-a[0] * l);
}

double dist_frechet_draw(struct rng *r, const double *a, size_t n) {
    if (!(a[0] > 0 && a[1] > 0)) return NAN;
    return positive_double(a[1] * pow(rng_exponential(r), -1 / a[0]));
}

void dist_frechet_grad(double x, const double *a, size_t n, double *g) {
    double l = log(x / a[1]), e = exp(-a[0] * l);
    g[0] = (a[0] * e - a[0] - 1) / x;
    g[1] = 1 / a[0] - l * (1 - e);
    g[2] = a[0] * (1 - e) / a[1];
}

/* ---- rayleigh(s):  x/s^2 e^(-x^2 / 2 s^2) */
double dist_rayleigh_lp(double x, const double *a, size_t n) {
    if (!(a[0] > 0)) return NAN;
    if (!inside(x)) return no_density(x);
    double z = x / a[0];
    return log(z) - log(a[0]) - 0.5 * z * z;
}

double dist_rayleigh_draw(struct rng *r, const double *a, size_t n) {
    return a[0] > 0 ? positive_double(a[0] * sqrt(2 * rng_exponential(r))) : NAN;
}

void dist_rayleigh_grad(double x, const double *a, size_t n, double *g) {
    double z = x / a[0];
    g[0] = 1 / x - z / a[0];
    g[1] = (z * z - 2) / a[0];
}

/* ---- loglogistic(m, k), z = k log(x/m):  k/x e^-z / (1 + e^-z)^2 */
double dist_loglogistic_lp(double x, const double *a, size_t n) {
    if (!(a[0] > 0 && a[1] > 0)) return NAN;
    if (!inside(x)) return no_density(x);
    double z = fabs(a[1] * log(x / a[0]));
    return log(a[1]) - log(x) - z - 2 * log1p(exp(-z));
}

double dist_loglogistic_draw(struct rng *r, const double *a, size_t n) {
    if (!(a[0] > 0 && a[1] > 0)) return NAN;
    double u = rng_uniform(r);
    return positive_double(a[0] * exp((log(u) - log1p(-u)) / a[1]));
}

void dist_loglogistic_grad(double x, const double *a, size_t n, double *g) {
    double l = log(x / a[0]), slope = tanh(0.5 * a[1] * l);
    g[0] = -(1 + a[1] * slope) / x;
    g[1] = a[1] * slope / a[0];
    g[2] = 1 / a[1] - l * slope;
}

/* ---- pareto(m, k):  k m^k x^(-k-1), x >= m */
double dist_pareto_lp(double x, const double *a, size_t n) {
    if (!(a[0] > 0 && a[1] > 0)) return NAN;
    if (!(x >= a[0]) || isinf(x)) return no_density(x);
    return log(a[1]) - a[1] * log(x / a[0]) - log(x);
}

double dist_pareto_draw(struct rng *r, const double *a, size_t n) {
    if (!(a[0] > 0 && a[1] > 0)) return NAN;
    return positive_double(a[0] * exp(rng_exponential(r) / a[1]));
}

void dist_pareto_grad(double x, const double *a, size_t n, double *g) {
    g[0] = -(a[1] + 1) / x;
    g[1] = a[1] / a[0];
    g[2] = 1 / a[1] - log(x / a[0]);
}

/* ---- pareto_type_2(m, s, k), y = x - m >= 0:  k/s (1 + y/s)^(-k-1) */
double dist_pareto_type_2_lp(double x, const double *a, size_t n) {
    if (!(a[1] > 0 && a[2] > 0)) return NAN;
    if (!(x >= a[0]) || isinf(x)) return no_density(x);
    return log(a[2] / a[1]) - (a[2] + 1) * log1p((x - a[0]) / a[1]);
}

double dist_pareto_type_2_draw(struct rng *r, const double *a, size_t n) {
    if (!(a[1] > 0 && a[2] > 0)) return NAN;
    return fmin(a[0] + a[1] * expm1(rng_exponential(r) / a[2]), DBL_MAX);
}

void dist_pareto_type_2_grad(double x, const double *a, size_t n, double *g) {
    double y = x - a[0], all = a[1] + y;
    g[0] = -(a[2] + 1) / all;
    g[1] = -g[0];
    g[2] = ((a[2] + 1) * y / all - 1) / a[1];
    g[3] = 1 / a[2] - log1p(y / a[1]);
}

/* ---- chi_square(v) is gamma(v/2, 1/2), its inverse inv_gamma(v/2, 1/2), the scaled one
 * inv_gamma(v/2, v s^2 / 2) */
double dist_chi_square_lp(double x, const double *a, size_t n) {
    return dist_gamma_lp(x, (double[]){0.5 * a[0], 0.5}, 2);
}

double dist_chi_square_draw(struct rng *r, const double *a, size_t n) {
    return dist_gamma_draw(r, (double[]){0.5 * a[0], 0.5}, 2);
}

void dist_chi_square_grad(double x, const double *a, size_t n, double *g) {
    double of[3];
    dist_gamma_grad(x, (double[]){0.5 * a[0], 0.5}, 2, of);
    g[0] = of[0];
    g[1] = 0.5 * of[1];
}

double dist_inv_chi_square_lp(double x, const double *a, size_t n) {
    return dist_inv_gamma_lp(x, (double[]){0.5 * a[0], 0.5}, 2);
}

double dist_inv_chi_square_draw(struct rng *r, const double *a, size_t n) {
    return dist_inv_gamma_draw(r, (double[]){0.5 * a[0], 0.5}, 2);
}

void dist_inv_chi_square_grad(double x, const double *a, size_t n, double *g) {
    double of[3];
    dist_inv_gamma_grad(x, (double[]){0.5 * a[0], 0.5}, 2, of);
    g[0] = of[0];
    g[1] = 0.5 * of[1];
}

double dist_scaled_inv_chi_square_lp(double x, const double *a, size_t n) {
    if (!(a[1] > 0)) return NAN;
    return dist_inv_gamma_lp(x, (double[]){0.5 * a[0], 0.5 * a[0] * a[1] * a[1]}, 2);
}

double dist_scaled_inv_chi_square_draw(struct rng *r, const double *a, size_t n) {
    if (!(a[1] > 0)) return NAN;
    return dist_inv_gamma_draw(r, (double[]){0.5 * a[0], 0.5 * a[0] * a[1] * a[1]}, 2);
}

void dist_scaled_inv_chi_square_grad(double x, const double *a, size_t n, double *g) {
    double of[3];
    dist_inv_gamma_grad(x, (double[]){0.5 * a[0], 0.5 * a[0] * a[1] * a[1]}, 2, of);
    g[0] = of[0];
    g[1] = 0.5 * (of[1] + a[1] * a[1] * of[2]);
    g[2] = a[0] * a[1] * of[2];
}

/* ---- beta_proportion(m, k) is beta(m k, (1 - m) k) */
static bool as_beta(const double *a, double *of) {
    of[0] = a[0] * a[1];
    of[1] = (1 - a[0]) * a[1];
    return a[0] > 0 && a[0] < 1 && a[1] > 0;
}

double dist_beta_proportion_lp(double x, const double *a, size_t n) {
    double of[2];
    return as_beta(a, of) ? dist_beta_lp(x, of, 2) : NAN;
}

double dist_beta_proportion_draw(struct rng *r, const double *a, size_t n) {
    double of[2];
    return as_beta(a, of) ? dist_beta_draw(r, of, 2) : NAN;
}

void dist_beta_proportion_grad(double x, const double *a, size_t n, double *g) {
    double of[2], d[3];
    (void)as_beta(a, of);
    dist_beta_grad(x, of, 2, d);
    g[0] = d[0];
    g[1] = a[1] * (d[1] - d[2]);
    g[2] = a[0] * d[1] + (1 - a[0]) * d[2];
}
