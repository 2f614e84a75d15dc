/* SPDX-License-Identifier: Apache-2.0
 *
 * Makers of coins and counts: beta-Bernoulli, gamma-Poisson, their uncollapsed forms, and the ones
 * that keep sufficient statistics of fixed parameters. Statistics: coins (trues, falses); counts
 * (n, sum, sum of log x!).
 */
#include "base/mem.h"
#include "math/dist.h"
#include "math/special.h"
#include "makers/conj.h"
#include <math.h>

static value list_of(const double *a, size_t n) {
    value items[4];
    for (size_t i = 0; i < n; i++) items[i] = value_num(a[i]);
    return value_list(items, n);
}

static value stats_two(const struct conj *s) {
    return list_of(s->stat, 2);
}

/* ---- coins: par (a, b) or (p); stat (t, f); latent (p) */
enum { TRUES, FALSES };

static enum gpm_status read_coin(struct sp_call *c, struct conj *s) {
    return conj_read_numbers(c, s, 2, 1);
}

/* Probability of true for the next application, and of false (without cancellation). */
static void beta_bernoulli_p(const struct conj *s, double *p, double *q) {
    double a = s->par[0] + s->stat[TRUES], b = s->par[1] + s->stat[FALSES];
    *p = a / (a + b);
    *q = b / (a + b);
}

static void fixed_p(const struct conj *s, double *p, double *q) {
    *p = s->par[0];
    *q = 1 - *p;
}

static void latent_p(const struct conj *s, double *p, double *q) {
    *p = s->latent[0];
    *q = 1 - *p;
}

typedef void coin_fn(const struct conj *s, double *p, double *q);

static enum gpm_status coin_draw(struct sp_call *c, coin_fn *coin, value *out) {
    double p, q;
    coin(conj_of(c), &p, &q);
    *out = value_bool(rng_uniform(c->rng) < p);
    return GPM_OK;
}

static enum gpm_status coin_density(struct sp_call *c, coin_fn *coin, value v, double *out) {
    double p, q, x;
    if (!sp_as_number(v, &x)) return sp_bad_value(c, v, "a boolean");
    coin(conj_of(c), &p, &q);
    *out = x == 1 ? log(p) : x == 0 ? log(q) : -INFINITY;
    return GPM_OK;
}

static enum gpm_status coin_count(struct sp_call *c, value v, double by) {
    double x;
    if (!sp_as_number(v, &x)) return sp_bad_value(c, v, "a boolean");
    struct conj *s = conj_of(c);
    *(x == 1 ? &s->stat[TRUES] : x == 0 ? &s->stat[FALSES] : &s->impossible) += by;
    return GPM_OK;
}

static enum gpm_status coin_incorporate(struct sp_call *c, value v) {
    return coin_count(c, v, 1);
}

static enum gpm_status coin_unincorporate(struct sp_call *c, value v) {
    return coin_count(c, v, -1);
}

static enum gpm_status coin_enumerate(struct sp_call *c, value **vals, size_t *n) {
    *vals = NEW_ARRAY(value, 2);
    *n = 0;
    for (int i = 0; i < 2; i++) {
        double lp;
        value v = value_bool(i == 0);
        if (c->cls->log_density(c, v, &lp) == GPM_OK && lp > -INFINITY) (*vals)[(*n)++] = v;
    }
    return GPM_OK;
}

#define COIN_ROW(fn)                                                                               \
    static enum gpm_status fn##_draw(struct sp_call *c, value *out) {                              \
        return coin_draw(c, fn, out);                                                              \
    }                                                                                              \
    static enum gpm_status fn##_density(struct sp_call *c, value v, double *out) {                 \
        return coin_density(c, fn, v, out);                                                        \
    }
COIN_ROW(beta_bernoulli_p)
COIN_ROW(fixed_p)
COIN_ROW(latent_p)

#define MADE_COIN(title, fn)                                                                       \
    {                                                                                              \
        .name = title, .sig = "() -> bool", .doc = "made by make_" title,                          \
        .flags = SP_RANDOM | SP_DISCRETE, .simulate = fn##_draw, .log_density = fn##_density,      \
        .incorporate = coin_incorporate, .unincorporate = coin_unincorporate,                      \
        .enumerate = coin_enumerate, .support = sp_support_discrete,                               \
        .log_bound = sp_discrete_bound                                                             \
    }
static const struct sp_class made_beta_bernoulli = MADE_COIN("beta_bernoulli", beta_bernoulli_p);
static const struct sp_class made_suff_bernoulli = MADE_COIN("suff_stat_bernoulli", fixed_p);
static const struct sp_class made_uc_beta_bernoulli = MADE_COIN("uc_beta_bernoulli", latent_p);

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

static const struct conj_class beta_bernoulli = {.read = read_coin,
                                                 .log_joint = beta_bernoulli_joint,
                                                 .gradient = beta_bernoulli_gradient,
                                                 .stats = stats_two};
static const struct conj_class uc_beta_bernoulli = {.read = read_coin,
                                                    .log_joint = beta_bernoulli_joint,
                                                    .gradient = beta_bernoulli_gradient,
                                                    .stats = stats_two,
                                                    .draw_latent = beta_bernoulli_latent,
                                                    .latent_lp = beta_latent_lp};
static const struct conj_class suff_bernoulli = {.read = read_coin,
                                                 .log_joint = suff_bernoulli_joint,
                                                 .gradient = suff_bernoulli_gradient,
                                                 .stats = stats_two};

/* ---- counts: par (shape, rate) or (mean); stat (n, sum, sum log x!); latent (mean) */
enum { COUNT_N, COUNT_SUM, COUNT_LOGFACT };

static enum gpm_status read_count(struct sp_call *c, struct conj *s) {
    return conj_read_numbers(c, s, 3, 1);
}

/* Next application: negative binomial with r = shape + sum, p = (rate + n) / (rate + n + 1). */
static void predictive(const struct conj *s, double *a) {
    double rate = s->par[1] + s->stat[COUNT_N];
    a[0] = s->par[0] + s->stat[COUNT_SUM];
    a[1] = rate / (rate + 1);
}

static enum gpm_status count_value(struct sp_call *c, value v, double *x) {
    return sp_as_number(v, x) ? GPM_OK : sp_bad_value(c, v, "a number");
}

static enum gpm_status gamma_poisson_draw(struct sp_call *c, value *out) {
    double a[2];
    predictive(conj_of(c), a);
    *out = value_num(dist_neg_binomial_draw(c->rng, a, 2));
    return GPM_OK;
}

static enum gpm_status gamma_poisson_density(struct sp_call *c, value v, double *out) {
    double a[2], x;
    enum gpm_status st = count_value(c, v, &x);
    if (st != GPM_OK) return st;
    predictive(conj_of(c), a);
    *out = dist_neg_binomial_lp(x, a, 2);
    if (isnan(*out)) *out = -INFINITY; /* counts so large that the rate left the doubles */
    return GPM_OK;
}

static enum gpm_status poisson_draw(struct sp_call *c, const double *mean, value *out) {
    *out = value_num(dist_poisson_draw(c->rng, mean, 1));
    return GPM_OK;
}

static enum gpm_status poisson_density(struct sp_call *c, const double *mean, value v,
                                       double *out) {
    double x;
    enum gpm_status st = count_value(c, v, &x);
    if (st == GPM_OK) *out = isfinite(*mean) ? dist_poisson_lp(x, mean, 1) : -INFINITY;
    return st;
}

static enum gpm_status fixed_mean_draw(struct sp_call *c, value *out) {
    return poisson_draw(c, conj_of(c)->par, out);
}
static enum gpm_status fixed_mean_density(struct sp_call *c, value v, double *out) {
    return poisson_density(c, conj_of(c)->par, v, out);
}
static enum gpm_status latent_mean_draw(struct sp_call *c, value *out) {
    return poisson_draw(c, conj_of(c)->latent, out);
}
static enum gpm_status latent_mean_density(struct sp_call *c, value v, double *out) {
    return poisson_density(c, conj_of(c)->latent, v, out);
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

static enum gpm_status count_incorporate(struct sp_call *c, value v) {
    return count_add(c, v, 1);
}
static enum gpm_status count_unincorporate(struct sp_call *c, value v) {
    return count_add(c, v, -1);
}

#define MADE_COUNT(title, fn)                                                                      \
    {                                                                                              \
        .name = title, .sig = "() -> count", .doc = "made by make_" title,                         \
        .flags = SP_RANDOM | SP_DISCRETE, .simulate = fn##_draw, .log_density = fn##_density,      \
        .incorporate = count_incorporate, .unincorporate = count_unincorporate,                    \
        .support = sp_support_discrete, .log_bound = sp_discrete_bound                             \
    }
static const struct sp_class made_gamma_poisson = MADE_COUNT("gamma_poisson", gamma_poisson);
static const struct sp_class made_suff_poisson = MADE_COUNT("suff_stat_poisson", fixed_mean);
static const struct sp_class made_uc_gamma_poisson = MADE_COUNT("uc_gamma_poisson", latent_mean);

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

static const struct conj_class gamma_poisson = {.read = read_count,
                                                .log_joint = gamma_poisson_joint,
                                                .gradient = gamma_poisson_gradient,
                                                .stats = stats_two};
static const struct conj_class uc_gamma_poisson = {.read = read_count,
                                                   .log_joint = gamma_poisson_joint,
                                                   .gradient = gamma_poisson_gradient,
                                                   .stats = stats_two,
                                                   .draw_latent = gamma_poisson_latent,
                                                   .latent_lp = gamma_latent_lp};
static const struct conj_class suff_poisson = {.read = read_count,
                                               .log_joint = suff_poisson_joint,
                                               .gradient = suff_poisson_gradient,
                                               .stats = stats_two};

#define MAKER(fn, cls, made)                                                                       \
    static enum gpm_status fn(struct sp_call *c, value *out) {                                     \
        return conj_make(c, &cls, &made, out);                                                     \
    }
#define UC_MAKER(fn, cls, made)                                                                    \
    MAKER(fn, cls, made)                                                                           \
    static enum gpm_status fn##_density(struct sp_call *c, value v, double *out) {                 \
        return conj_latent_density(c, &cls, v, out);                                               \
    }
MAKER(make_beta_bernoulli, beta_bernoulli, made_beta_bernoulli)
MAKER(make_suff_bernoulli, suff_bernoulli, made_suff_bernoulli)
UC_MAKER(make_uc_beta_bernoulli, uc_beta_bernoulli, made_uc_beta_bernoulli)
MAKER(make_gamma_poisson, gamma_poisson, made_gamma_poisson)
MAKER(make_suff_poisson, suff_poisson, made_suff_poisson)
UC_MAKER(make_uc_gamma_poisson, uc_gamma_poisson, made_uc_gamma_poisson)

const struct sp_class sp_makers_rows[] = {
    {.name = "make_beta_bernoulli",
     .sig = "(a: positive, b: positive) -> proc",
     .doc = "a coin whose weight has a beta(a, b) prior, integrated out",
     .example = "assess(true, make_beta_bernoulli(1, 3)) => -1.3862943611198906",
     .flags = SP_MAKER,
     .simulate = make_beta_bernoulli,
     .aaa = &conj_aaa},
    {.name = "make_uc_beta_bernoulli",
     .sig = "(a: positive, b: positive) -> proc",
     .doc = "a coin whose weight is drawn from beta(a, b) and kept",
     .flags = SP_MAKER | SP_RANDOM,
     .simulate = make_uc_beta_bernoulli,
     .log_density = make_uc_beta_bernoulli_density,
     .aaa = &conj_aaa},
    {.name = "make_suff_stat_bernoulli",
     .sig = "(p: probability) -> proc",
     .doc = "a coin of weight p that keeps counts, so that changing p costs the same for any data",
     .example = "assess(false, make_suff_stat_bernoulli(0.5)) => -0.6931471805599453",
     .flags = SP_MAKER,
     .simulate = make_suff_bernoulli,
     .aaa = &conj_aaa},
    {.name = "make_gamma_poisson",
     .sig = "(shape: positive, rate: positive) -> proc",
     .doc = "Poisson counts whose mean has a gamma prior, integrated out",
     .example = "assess(0, make_gamma_poisson(1, 1)) => -0.6931471805599453",
     .flags = SP_MAKER,
     .simulate = make_gamma_poisson,
     .aaa = &conj_aaa},
    {.name = "make_uc_gamma_poisson",
     .sig = "(shape: positive, rate: positive) -> proc",
     .doc = "Poisson counts whose mean is drawn from gamma(shape, rate) and kept",
     .flags = SP_MAKER | SP_RANDOM,
     .simulate = make_uc_gamma_poisson,
     .log_density = make_uc_gamma_poisson_density,
     .aaa = &conj_aaa},
    {.name = "make_suff_stat_poisson",
     .sig = "(mean: positive) -> proc",
     .doc = "Poisson counts that keep their sum, so that changing the mean costs the same for any "
            "data",
     .example = "assess(0, make_suff_stat_poisson(2)) => -2",
     .flags = SP_MAKER,
     .simulate = make_suff_poisson,
     .aaa = &conj_aaa},
};
const size_t sp_makers_count = COUNT_OF(sp_makers_rows);
