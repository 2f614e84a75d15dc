/* SPDX-License-Identifier: Apache-2.0
 *
 * The rows of gp_likelihood.h. Counts have the logarithm, proportions the logit of their mean as
 * the function. */
#include "gp/process/gp_likelihood.h"

#include "base/mem.h"
#include "numeric/dist/dist.h"
#include "numeric/special/special.h"
#include <math.h>
#include <string.h>

static bool fits_count(double y, const double *par) {
    return is_count(y);
}

/* ---- Poisson: l = y f - e^f - log y! ---- */

static void poisson_at(double y, double f, const double *par, struct gp_likely *out) {
    double rate = exp(f);
    *out = (struct gp_likely){.l = y * f - rate - log_gamma(y + 1), .slope = y - rate};
    out->w = out->safe = rate;
    out->third = -rate;
}

static double poisson_draw(struct rng *rng, double f, const double *par) {
    double rate = exp(f);
    return isfinite(rate) ? dist_poisson_draw(rng, &rate, 1) : INFINITY;
}

/* ---- binomial: l = log C(n, y) + y f - n log(1 + e^f) ---- */

static bool fits_share(double y, const double *par) {
    return fits_count(y, par) && y <= par[0];
}

static bool fits_truth(double y, const double *par) {
    return y == 0 || y == 1;
}

static void binomial_of(double n, double y, double f, struct gp_likely *out) {
    double p = logistic(f), q = logistic(-f);
    *out = (struct gp_likely){.l = log_gamma(n + 1) - log_gamma(y + 1) - log_gamma(n - y + 1) +
                                   y * f - n * log1pexp(f),
                              .slope = y * q - (n - y) * p};
    out->w = out->safe = n * p * q;
    out->third = -n * p * q * (q - p);
}

static void binomial_at(double y, double f, const double *par, struct gp_likely *out) {
    binomial_of(par[0], y, f, out);
}

static void bernoulli_at(double y, double f, const double *par, struct gp_likely *out) {
    binomial_of(1, y, f, out);
}

static double binomial_draw(struct rng *rng, double f, const double *par) {
    double a[] = {par[0], logistic(f)};
    return dist_binomial_draw(rng, a, 2);
}

static double bernoulli_draw(struct rng *rng, double f, const double *par) {
    return rng_uniform(rng) < logistic(f);
}

/* ---- negative binomial of mean e^f and size r; q = e^f / (e^f + r), dq/df = -r dq/dr = q (1 - q)
 *
 *     l = log Gamma(y + r) - log Gamma(r) - log y! + y log q + r log(1 - q) ---- */

static void negative_binomial_at(double y, double f, const double *par, struct gp_likely *out) {
    double r = par[0], x = f - log(r), q = logistic(x), p = logistic(-x);
    *out = (struct gp_likely){.slope = y * p - r * q, .third = -(y + r) * q * p * (p - q)};
    /* of a large size the gammas are far larger than what they differ by */
    out->l = (y > 0 ? -log(y) - log_beta_fn(r, y) : 0) - y * log1pexp(-x) - r * log1pexp(x);
    out->w = out->safe = (y + r) * q * p;
    out->by[0].l = digamma(y + r) - digamma(r) - log1pexp(x) - out->slope / r;
    out->by[0].slope = -q + (y + r) * q * p / r;
    out->by[0].w = q * p - (y + r) * (p - q) * q * p / r;
}

/* A Poisson count whose rate is gamma with mean e^f. */
static double negative_binomial_draw(struct rng *rng, double f, const double *par) {
    return poisson_draw(rng, f + log(draw_gamma(rng, par[0]) / par[0]), par);
}

/* ---- Student-t of df v and scale s around f: e = y - f, a = v s^2, d = a + e^2
 *
 *     l = log Gamma((v + 1) / 2) - log Gamma(v / 2) - log(pi a) / 2 - (v + 1) / 2 log(d / a) ----
 */

static bool fits_number(double y, const double *par) {
    return isfinite(y);
}

static void student_at(double y, double f, const double *par, struct gp_likely *out) {
    double v = par[0], s = par[1], e = y - f, a = v * s * s, d = a + e * e, u = v + 1;
    *out = (struct gp_likely){.slope = u * e / d, .w = u * (a - e * e) / (d * d), .safe = u / d};
    out->l = log_gamma(u / 2) - log_gamma(v / 2) - 0.5 * log(3.14159265358979323846 * a) -
             u / 2 * log1p(e * e / a);
    out->third = -2 * e * u * (3 * a - e * e) / (d * d * d);
    out->by[0].l = 0.5 * (digamma(u / 2) - digamma(v / 2) - 1 / v - log1p(e * e / a) +
                          u * (1 / v - s * s / d));
    out->by[0].slope = e / d - u * e * s * s / (d * d);
    out->by[0].w = (a - e * e) / (d * d) + u * s * s * (d - 2 * (a - e * e)) / (d * d * d);
    out->by[1].l = -1 / s + u * e * e / (d * s);
    out->by[1].slope = -2 * v * s * u * e / (d * d);
    out->by[1].w = 2 * v * s * u * (3 * e * e - a) / (d * d * d);
}

static double student_draw(struct rng *rng, double f, const double *par) {
    double a[] = {par[0], f, par[1]};
    return dist_student_t_draw(rng, a, 3);
}

static const struct gp_likelihood rows[] = {
    {.name = "poisson", .fits = fits_count, .at = poisson_at, .draw = poisson_draw},
    {.name = "bernoulli", .fits = fits_truth, .at = bernoulli_at, .draw = bernoulli_draw},
    {.name = "binomial",
     .n = 1,
     .parameters = {"n"},
     .whole = {true},
     .fits = fits_share,
     .at = binomial_at,
     .draw = binomial_draw},
    {.name = "negative_binomial",
     .n = 1,
     .parameters = {"size"},
     .fits = fits_count,
     .at = negative_binomial_at,
     .draw = negative_binomial_draw},
    {.name = "student_t",
     .n = 2,
     .parameters = {"df", "scale"},
     .fits = fits_number,
     .at = student_at,
     .draw = student_draw},
};

const struct gp_likelihood *gp_likelihood_at(size_t i) {
    return i < COUNT_OF(rows) ? &rows[i] : NULL;
}

const struct gp_likelihood *gp_likelihood_find(const char *name) {
    for (size_t i = 0; i < COUNT_OF(rows); i++)
        if (!strcmp(rows[i].name, name)) return &rows[i];
    return NULL;
}
