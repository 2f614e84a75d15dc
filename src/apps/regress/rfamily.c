/* SPDX-License-Identifier: Apache-2.0
 * The table of families, and integrals over the function: see rfamily.h. */
#include "apps/regress/rfamily.h"
#include "base/mem.h"
#include "numeric/special/special.h"
#include <math.h>

/* ---- the families ---- */

static double same(double f) {
    return f;
}

static double rate(double f) {
    return exp(fmin(f, 700));
}

static double no_variance(double mean, const double *par) {
    return 0;
}

static double variance_of_chance(double mean, const double *par) {
    return mean * (1 - mean);
}

static double variance_of_count(double mean, const double *par) {
    return mean;
}

static double variance_of_crowd(double mean, const double *par) {
    return mean + mean * mean / par[0];
}

static void tails_of_chance(double y, double f, const double *par, double *t) {
    t[0] = y > 0.5 ? 0 : -log1pexp(f);
    t[1] = y > 0.5 ? -log1pexp(-f) : 0;
}

/* P(Y <= y) = Q(y + 1, rate), P(Y >= y) = P(y, rate). */
static void tails_of_count(double y, double f, const double *par, double *t) {
    double below[2], above[2] = {0, 0};
    gamma_tails(y + 1, rate(f), below);
    if (y > 0) gamma_tails(y, rate(f), above);
    t[0] = below[1], t[1] = above[0];
}

/* P(Y <= y) = I_p(size, y + 1), p = size / (size + mean). */
static void tails_of_crowd(double y, double f, const double *par, double *t) {
    double x = f - log(par[0]), p = logistic(-x), q = logistic(x), below[2], above[2] = {0, 0};
    beta_tails(par[0], y + 1, p, q, below);
    if (y > 0) beta_tails(par[0], y, p, q, above);
    t[0] = below[0], t[1] = above[1];
}

static const struct rfamily families[RFAMILY_END] = {
    [RFAMILY_NORMAL] = {.name = "normal",
                        .lines = "linear regression",
                        .none = "the mean",
                        .constant = 1,
                        .scale = 1,
                        .mean = same,
                        .variance = no_variance},
    [RFAMILY_CHANCE] = {.name = "bernoulli",
                        .likelihood = "bernoulli",
                        .lines = "logistic regression",
                        .none = "the share alone",
                        .constant = 2,
                        .scale = 2,
                        .mean = logistic,
                        .variance = variance_of_chance,
                        .tails = tails_of_chance},
    [RFAMILY_POISSON] = {.name = "poisson",
                         .likelihood = "poisson",
                         .lines = "log-linear",
                         .none = "the mean",
                         .constant = 5,
                         .scale = 1,
                         .mean = rate,
                         .variance = variance_of_count,
                         .tails = tails_of_count},
    [RFAMILY_NEGATIVE_BINOMIAL] = {.name = "negative_binomial",
                                   .likelihood = "negative_binomial",
                                   .lines = "log-linear",
                                   .none = "the mean",
                                   .constant = 5,
                                   .scale = 1,
                                   .size = 5,
                                   .mean = rate,
                                   .variance = variance_of_crowd,
                                   .tails = tails_of_crowd},
};

const struct rfamily *rfamily_of(enum rfamily_kind kind) {
    return &families[kind];
}

/* ---- integrals ---- */

/* The trapezoid rule on z = -6 .. 6: of smooth functions times exp(-z^2/2) the error is below 1e-8
 * where their scale is that of z. */
enum { NODES = 25 };
#define STEP 0.5

static double node(int i) {
    return STEP * (double)(i - NODES / 2);
}

struct rresponse rfamily_response(const struct rfamily *f, const double *par, double m, double s) {
    double sum = 0, mean = 0, sq = 0, own = 0;
    for (int i = 0; i < NODES; i++) {
        double z = node(i), w = exp(-0.5 * z * z), g = f->mean(m + s * z);
        sum += w, mean += w * g, sq += w * g * g, own += w * f->variance(g, par);
    }
    mean /= sum, sq /= sum, own /= sum;
    double var = fmax(0, sq - mean * mean);
    return (struct rresponse){mean, var, var + own};
}

/* exp(l(f)) N(f; m, s^2) has its mode where l'(f) = (f - m) / s^2, found by Newton's steps with
 * safe weights, and about the curvature w + 1 / s^2 there. */
double rfamily_given(const struct rfamily *f, const double *par, double y, double m, double s,
                     double *mean, double *var) {
    const struct gp_likelihood *l = gp_likelihood_find(f->likelihood);
    struct gp_likely at;
    double v = s * s, g = m, logs[NODES], sum = 0, first = 0, second = 0;
    for (int k = 0; k < 100; k++) {
        l->at(y, g, par, &at);
        double step = (at.slope - (g - m) / v) / (at.safe + 1 / v);
        g += fmax(-2, fmin(2, step));
        if (fabs(step) < 1e-9 * (1 + fabs(g))) break;
    }
    l->at(y, g, par, &at);
    double unit = 1 / sqrt(at.safe + 1 / v);
    for (int i = 0; i < NODES; i++) {
        double here = g + unit * node(i), t = (here - m) / s;
        l->at(y, here, par, &at);
        logs[i] = at.l - 0.5 * t * t;
    }
    double total = logsumexp(logs, NODES);
    for (int i = 0; i < NODES; i++) {
        double w = exp(logs[i] - total), z = node(i);
        sum += w, first += w * z, second += w * z * z;
    }
    if (mean) *mean = g + unit * first / sum;
    if (var) *var = unit * unit * (second / sum - first * first / (sum * sum));
    return total + log(STEP * unit / s) - LOG_SQRT_2PI;
}

double rfamily_log_density(const struct rfamily *f, const double *par, double y, double m,
                           double s) {
    return rfamily_given(f, par, y, m, s, NULL, NULL);
}
