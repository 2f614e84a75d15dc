/* SPDX-License-Identifier: Apache-2.0
 *
 * Makers of coins and counts: beta-Bernoulli, gamma-Poisson, their uncollapsed forms, and the ones
 * that keep sufficient statistics of fixed parameters. Statistics: coins (trues, falses); counts
 * (n, sum, sum of log x!).
 */
#include "base/mem.h"
#include "numeric/dist/dist.h"
#include "numeric/special/special.h"
#include "language/rows/makers/conj.h"
#include <math.h>

/* Both keep two statistics for the user. */
static value stats_two(const struct conj *s) {
    value items[] = {value_num(s->stat[0]), value_num(s->stat[1])};
    return value_list(items, 2);
}

/* ---- coins: par (a, b) or (p); stat (t, f); latent (p) */
enum { TRUES, FALSES };

/* Probability of true for the next application, and of false (without cancellation). */
static void beta_bernoulli_next(const struct conj *s, double *p) {
    double a = s->par[0] + s->stat[TRUES], b = s->par[1] + s->stat[FALSES];
    p[0] = a / (a + b);
    p[1] = b / (a + b);
}

static double coin_lp(double x, const double *p, size_t n) {
    return x == 1 ? log(p[0]) : x == 0 ? log(n > 1 ? p[1] : 1 - p[0]) : -INFINITY;
}

static enum gpm_status coin_value(struct sp_call *c, value v, double *x) {
    return value_number(v, x) ? GPM_OK : sp_bad_value(c, v, "a boolean");
}

static enum gpm_status coin_draw(struct sp_call *c, value *out) {
    double p[2];
    conj_of(c)->cls->num.next(conj_of(c), p);
    *out = value_bool(rng_uniform(c->rng) < p[0]);
    return GPM_OK;
}

static enum gpm_status coin_count(struct sp_call *c, value v, double by) {
    double x;
    enum gpm_status st = coin_value(c, v, &x);
    struct conj *s = conj_of(c);
    if (st == GPM_OK)
        *(x == 1 ? &s->stat[TRUES] : x == 0 ? &s->stat[FALSES] : &s->impossible) += by;
    return st;
}

static enum gpm_status coin_enumerate(struct sp_call *c, value **vals, size_t *n) {
    return sp_enumerate_two(c, value_bool(true), value_bool(false), vals, n);
}

/* B(a + t, b + f) / B(a, b) */
static double beta_bernoulli_joint(const struct conj *s) {
    double a = s->par[0], b = s->par[1];
    return log_beta_fn(a + s->stat[TRUES], b + s->stat[FALSES]) - log_beta_fn(a, b);
}

static void beta_bernoulli_gradient(const struct conj *s, const struct sp_call *c, value *d) {
    double a = s->par[0], b = s->par[1], t = s->stat[TRUES], f = s->stat[FALSES];
    double both = digamma(a + b) - digamma(a + b + t + f);
    d[0] = value_num(digamma(a + t) - digamma(a) + both);
    d[1] = value_num(digamma(b + f) - digamma(b) + both);
}

static double suff_bernoulli_joint(const struct conj *s) {
    return xlogy(s->stat[TRUES], s->par[0]) + xlog1py(s->stat[FALSES], -s->par[0]);
}

static void suff_bernoulli_gradient(const struct conj *s, const struct sp_call *c, value *d) {
    double p = s->par[0], t = s->stat[TRUES], f = s->stat[FALSES];
    d[0] = value_num((t > 0 ? t / p : 0) - (f > 0 ? f / (1 - p) : 0));
}

static void beta_bernoulli_latent(struct conj *s, struct rng *r) {
    double post[] = {s->par[0] + s->stat[TRUES], s->par[1] + s->stat[FALSES]};
    s->latent[0] = dist_beta_draw(r, post, 2);
}

static double beta_latent_lp(const struct conj *s, const double *latent) {
    return dist_beta_lp(latent[0], s->par, 2);
}

#define COIN(title, rule, n, after)                                                                \
    .made = {CONJ_MADE(title, "() -> bool"), CONJ_DISCRETE, .simulate = coin_draw,                 \
             .log_density = conj_density, .enumerate = coin_enumerate},                            \
    .read = conj_read_numbers, .n_stat = 2, .n_latent = 1, .count = coin_count,                    \
    .stats = stats_two, .log_joint = rule##_joint, .gradient = rule##_gradient,                    \
    .num = {n, 0, after, NULL, coin_lp, NULL, coin_value}

static const struct conj_class beta_bernoulli = {
    COIN("beta_bernoulli", beta_bernoulli, 2, beta_bernoulli_next)};
static const struct conj_class suff_bernoulli = {
    COIN("suff_stat_bernoulli", suff_bernoulli, 1, conj_fixed)};
static const struct conj_class uc_beta_bernoulli = {
    COIN("uc_beta_bernoulli", beta_bernoulli, 1, conj_latent), .draw_latent = beta_bernoulli_latent,
    .latent_lp = beta_latent_lp};

/* ---- counts: par (shape, rate) or (mean); stat (n, sum, sum log x!); latent (mean) */
enum { COUNT_N, COUNT_SUM, COUNT_LOGFACT };

/* Next application: negative binomial with r = shape + sum, p = (rate + n) / (rate + n + 1). */
static void gamma_poisson_next(const struct conj *s, double *a) {
    double rate = s->par[1] + s->stat[COUNT_N];
    a[0] = s->par[0] + s->stat[COUNT_SUM];
    a[1] = rate / (rate + 1);
}

static enum gpm_status count_value(struct sp_call *c, value v, double *x) {
    return value_number(v, x) ? GPM_OK : sp_bad_value(c, v, "a number");
}

static enum gpm_status count_add(struct sp_call *c, value v, double by) {
    double x, *stat = conj_of(c)->stat;
    enum gpm_status st = count_value(c, v, &x);
    if (st != GPM_OK) return st;
    if (!(x >= 0 && x == floor(x) && isfinite(x))) {
        conj_of(c)->impossible += by;
        return GPM_OK;
    }
    stat[COUNT_N] += by;
    stat[COUNT_SUM] += by * x;
    stat[COUNT_LOGFACT] += by * log_gamma(x + 1);
    if (stat[COUNT_N] == 0) stat[COUNT_LOGFACT] = 0; /* no rounding left behind */
    return GPM_OK;
}

/* b^k / Gamma(k) * Gamma(k + S) / (b + n)^(k + S) / prod x! */
static double gamma_poisson_joint(const struct conj *s) {
    double k = s->par[0], b = s->par[1], n = s->stat[COUNT_N], sum = s->stat[COUNT_SUM];
    return log_gamma(k + sum) - log_gamma(k) - k * log1p(n / b) - xlogy(sum, b + n) -
           s->stat[COUNT_LOGFACT];
}

static void gamma_poisson_gradient(const struct conj *s, const struct sp_call *c, value *d) {
    double k = s->par[0], b = s->par[1], n = s->stat[COUNT_N], sum = s->stat[COUNT_SUM];
    d[0] = value_num(digamma(k + sum) - digamma(k) - log1p(n / b));
    d[1] = value_num(k / b - (k + sum) / (b + n));
}

static double suff_poisson_joint(const struct conj *s) {
    return xlogy(s->stat[COUNT_SUM], s->par[0]) - s->stat[COUNT_N] * s->par[0] -
           s->stat[COUNT_LOGFACT];
}

static void suff_poisson_gradient(const struct conj *s, const struct sp_call *c, value *d) {
    d[0] = value_num(s->stat[COUNT_SUM] / s->par[0] - s->stat[COUNT_N]);
}

static void gamma_poisson_latent(struct conj *s, struct rng *r) {
    double post[] = {s->par[0] + s->stat[COUNT_SUM], s->par[1] + s->stat[COUNT_N]};
    s->latent[0] = dist_gamma_draw(r, post, 2);
}

static double gamma_latent_lp(const struct conj *s, const double *latent) {
    return dist_gamma_lp(latent[0], s->par, 2);
}

#define COUNT(title, rule, n, after, dist)                                                         \
    .made = {CONJ_MADE(title, "() -> count"), CONJ_DISCRETE, CONJ_NUMBER},                         \
    .read = conj_read_numbers, .n_stat = 3, .n_latent = 1, .count = count_add, .stats = stats_two, \
    .log_joint = rule##_joint, .gradient = rule##_gradient,                                        \
    .num = {n, 0, after, dist_##dist##_draw, dist_##dist##_lp, NULL, count_value}

static const struct conj_class gamma_poisson = {
    COUNT("gamma_poisson", gamma_poisson, 2, gamma_poisson_next, neg_binomial)};
static const struct conj_class suff_poisson = {
    COUNT("suff_stat_poisson", suff_poisson, 1, conj_fixed, poisson)};
static const struct conj_class uc_gamma_poisson = {
    COUNT("uc_gamma_poisson", gamma_poisson, 1, conj_latent, poisson),
    .draw_latent = gamma_poisson_latent, .latent_lp = gamma_latent_lp};

const struct sp_class sp_makers_rows[] = {
    {.name = "make_beta_bernoulli",
     .sig = "(a: positive, b: positive) -> proc",
     .doc = "a coin whose weight has a beta(a, b) prior, integrated out",
     .example = "assess(true, make_beta_bernoulli(1, 3)) => -1.3862943611198906",
     CONJ_MAKER(beta_bernoulli)},
    {.name = "make_uc_beta_bernoulli",
     .sig = "(a: positive, b: positive) -> proc",
     .doc = "a coin whose weight is drawn from beta(a, b) and kept",
     CONJ_UC_MAKER(uc_beta_bernoulli)},
    {.name = "make_suff_stat_bernoulli",
     .sig = "(p: probability) -> proc",
     .doc = "a coin of weight p that keeps counts, so that changing p costs the same for any data",
     .example = "assess(false, make_suff_stat_bernoulli(0.5)) => -0.6931471805599453",
     CONJ_MAKER(suff_bernoulli)},
    {.name = "make_gamma_poisson",
     .sig = "(shape: positive, rate: positive) -> proc",
     .doc = "Poisson counts whose mean has a gamma prior, integrated out",
     .example = "assess(0, make_gamma_poisson(1, 1)) => -0.6931471805599453",
     CONJ_MAKER(gamma_poisson)},
    {.name = "make_uc_gamma_poisson",
     .sig = "(shape: positive, rate: positive) -> proc",
     .doc = "Poisson counts whose mean is drawn from gamma(shape, rate) and kept",
     CONJ_UC_MAKER(uc_gamma_poisson)},
    {.name = "make_suff_stat_poisson",
     .sig = "(mean: positive) -> proc",
     .doc = "Poisson counts that keep their sum, so that changing the mean costs the same for any "
            "data",
     .example = "assess(0, make_suff_stat_poisson(2)) => -2",
     CONJ_MAKER(suff_poisson)},
};
const size_t sp_makers_count = COUNT_OF(sp_makers_rows);
