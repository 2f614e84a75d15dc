/* SPDX-License-Identifier: Apache-2.0
 *
 * Discrete random procedures: coins, counts, ranges. The laws that others build on are those of
 * numeric/dist/dist_discrete.c. Choices among objects are in choice.c.
 */
#include "base/mem.h"
#include "numeric/special/special.h"
#include "language/rows/dist/dist_cols.h"
#include "language/rows/dist/dist_row.h"
#include "language/rows/dist/transform.h"
#include <math.h>

/* Longest list of values that enumerate gives. */
#define ENUMERATE_MAX 1000000.0

/* ---- coins: flip and its relatives give booleans, bernoulli 0 or 1 */
static enum gpm_status check_log(struct sp_call *c, const double *a) {
    if (a[0] <= 0) return GPM_OK;
    return sp_bad_arg(c, 0, "logp", "at most 0 (the logarithm of a probability)");
}

/* Sequences of choices are too many to list even where each has few values. */
static enum gpm_status check_one(struct sp_call *c) {
    for (size_t i = 0; i < c->n; i++)
        if (seq_is(c->args[i]))
            return sp_error(c, DIAG_NOT_ENUMERABLE,
                            "%s: the values of a sequence of choices cannot be enumerated",
                            c->cls->name);
    return GPM_OK;
}

static enum gpm_status coin_enumerate(struct sp_call *c, value **vals, size_t *n) {
    bool coin = ((const struct scalar_family *)c->cls->of)->coin;
    enum gpm_status st = check_one(c);
    if (st != GPM_OK) return st;
    return sp_enumerate_two(c, coin ? value_bool(true) : value_num(1),
                            coin ? value_bool(false) : value_num(0), vals, n);
}

/* ---- ranges of whole numbers, those of positive probability from lo to hi - 1 */
static enum gpm_status enumerate_range(struct sp_call *c, double lo, double hi, value **vals,
                                       size_t *n) {
    enum gpm_status st = GPM_OK;
    if (hi - lo > ENUMERATE_MAX)
        return sp_error(c, DIAG_NOT_ENUMERABLE,
                        "%s: %.0f values are too many to enumerate (limit %.0f)", c->cls->name,
                        hi - lo, ENUMERATE_MAX);
    *n = 0;
    *vals = NEW_ARRAY(value, (size_t)(hi - lo) + 1);
    for (double k = lo; k < hi && st == GPM_OK; k++) {
        double lp;
        st = c->cls->log_density(c, value_num(k), &lp);
        if (st == GPM_OK && lp > -INFINITY) (*vals)[(*n)++] = value_num(k);
    }
    if (st != GPM_OK) mem_free(*vals);
    return st;
}

/* From 0 to the first argument. */
static enum gpm_status trials_enumerate(struct sp_call *c, value **vals, size_t *n) {
    enum gpm_status st = check_one(c);
    return st == GPM_OK ? enumerate_range(c, 0, sp_num(c, 0) + 1, vals, n) : st;
}

static enum gpm_status check_range(struct sp_call *c, const double *a) {
    double lo = a[0], hi = a[1];
    if (!(lo < hi))
        return sp_error(c, DIAG_DOMAIN, "%s: empty range, low = %g is not below high = %g",
                        c->cls->name, lo, hi);
    if (hi - lo > 0x1p53)
        return sp_error(c, DIAG_DOMAIN, "%s: the range has more than 2^53 values", c->cls->name);
    return GPM_OK;
}

static enum gpm_status check_draws(struct sp_call *c, const double *a) {
    if (a[0] <= a[1] + a[2]) return GPM_OK;
    return sp_error(c, DIAG_DOMAIN, "%s: %g draws from %g", c->cls->name, a[0], a[1] + a[2]);
}

static enum gpm_status uniform_enumerate(struct sp_call *c, value **vals, size_t *n) {
    enum gpm_status st = check_one(c);
    if (st == GPM_OK) st = check_range(c, (double[]){sp_num(c, 0), sp_num(c, 1)});
    return st == GPM_OK ? enumerate_range(c, sp_num(c, 0), sp_num(c, 1), vals, n) : st;
}

/* ---- counts by log odds, log rate or mean, and mixtures of others */

/* log (Gamma(k + r) / (k! Gamma(r))) */
static double log_ways(double k, double r) {
    return k == 0 ? 0 : -log_beta_fn(r, k) - log(k);
}

/* ---- binomial_logit(n, l):  C(n, k) e^(k l) / (1 + e^l)^n */
static double dist_binomial_logit_lp(double k, const double *a, size_t n) {
    if (!is_count(a[0]) || isnan(a[1])) return NAN;
    if (!is_count(k) || k > a[0]) return -INFINITY;
    double lose = a[0] - k;
    return log_choose(a[0], k) - (k > 0 ? k * log1pexp(-a[1]) : 0) -
           (lose > 0 ? lose * log1pexp(a[1]) : 0);
}

static double dist_binomial_logit_draw(struct rng *r, const double *a, size_t n) {
    return dist_binomial_draw(r, (double[]){a[0], logistic(a[1])}, 2);
}

static void dist_binomial_logit_grad(double k, const double *a, size_t n, double *g) {
    g[0] = g[1] = 0;
    g[2] = k - a[0] * logistic(a[1]);
}

/* ---- poisson_log(l):  e^(k l - e^l) / k! */
static double dist_poisson_log_lp(double k, const double *a, size_t n) {
    if (isnan(a[0]) || isinf(a[0])) return NAN;
    return is_count(k) ? k * a[0] - exp(a[0]) - log_factorial(k) : -INFINITY;
}

static double dist_poisson_log_draw(struct rng *r, const double *a, size_t n) {
    double mean = exp(a[0]);
    if (mean == 0) return 0;
    return dist_poisson_draw(r, &mean, 1);
}

static void dist_poisson_log_grad(double k, const double *a, size_t n, double *g) {
    g[0] = 0;
    g[1] = k - exp(a[0]);
}

/* A Poisson whose mean is `mean` times a gamma variable of mean 1. */
static double draw_mixed_poisson(struct rng *r, double shape, double mean) {
    if (!(shape > 0 && mean >= 0)) return NAN;
    double m = mean / shape * draw_gamma(r, shape);
    return m > 0 ? dist_poisson_draw(r, &m, 1) : isnan(m) ? NAN : 0;
}

/* ---- neg_binomial(r, b):  W(k, r) (b / (b+1))^r (b+1)^-k,  W as above */
static double dist_neg_binomial_rate_lp(double k, const double *a, size_t n) {
    if (!(a[0] > 0 && a[1] > 0)) return NAN;
    if (!is_count(k)) return -INFINITY;
    return log_ways(k, a[0]) - a[0] * log1p(1 / a[1]) - k * log1p(a[1]);
}

static double dist_neg_binomial_rate_draw(struct rng *r, const double *a, size_t n) {
    return a[1] > 0 ? draw_mixed_poisson(r, a[0], a[0] / a[1]) : NAN;
}

static void dist_neg_binomial_rate_grad(double k, const double *a, size_t n, double *g) {
    g[0] = 0;
    g[1] = digamma(k + a[0]) - digamma(a[0]) - log1p(1 / a[1]);
    g[2] = a[0] / a[1] - (a[0] + k) / (1 + a[1]);
}

/* ---- neg_binomial_2(m, f):  W(k, f) (m / (m+f))^k (f / (m+f))^f */
static double dist_neg_binomial_2_lp(double k, const double *a, size_t n) {
    double m = a[0], f = a[1];
    if (!(m > 0 && f > 0) || isinf(m)) return NAN;
    if (!is_count(k)) return -INFINITY;
    return log_ways(k, f) - k * log1p(f / m) - f * log1p(m / f);
}

static double dist_neg_binomial_2_draw(struct rng *r, const double *a, size_t n) {
    return a[0] > 0 ? draw_mixed_poisson(r, a[1], a[0]) : NAN;
}

static void dist_neg_binomial_2_grad(double k, const double *a, size_t n, double *g) {
    double m = a[0], f = a[1];
    g[0] = 0;
    g[1] = (k - m) / m * (f / (m + f));
    g[2] = digamma(k + f) - digamma(f) - log1p(m / f) + (m - k) / (m + f);
}

/* ---- neg_binomial_2_log(l, f): the same with m = e^l */
static double dist_neg_binomial_2_log_lp(double k, const double *a, size_t n) {
    double f = a[1];
    if (!(f > 0) || isnan(a[0]) || isinf(a[0])) return NAN;
    if (!is_count(k)) return -INFINITY;
    double odds = a[0] - log(f); /* log(m / f) */
    return log_ways(k, f) - (k > 0 ? k * log1pexp(-odds) : 0) - f * log1pexp(odds);
}

static double dist_neg_binomial_2_log_draw(struct rng *r, const double *a, size_t n) {
    return draw_mixed_poisson(r, a[1], exp(a[0]));
}

static void dist_neg_binomial_2_log_grad(double k, const double *a, size_t n, double *g) {
    double f = a[1], odds = a[0] - log(f), share = logistic(odds); /* m / (m + f) */
    g[0] = 0;
    g[1] = k * logistic(-odds) - f * share;
    g[2] = digamma(k + f) - digamma(f) - log1pexp(odds) + share - k / f * logistic(-odds);
}

/* ---- beta_binomial(n, a, b):  C(n, k) B(k + a, n - k + b) / B(a, b) */
static double dist_beta_binomial_lp(double k, const double *a, size_t n) {
    if (!is_count(a[0]) || !(a[1] > 0 && a[2] > 0)) return NAN;
    if (!is_count(k) || k > a[0]) return -INFINITY;
    return log_choose(a[0], k) + log_beta_fn(k + a[1], a[0] - k + a[2]) - log_beta_fn(a[1], a[2]);
}

static double dist_beta_binomial_draw(struct rng *r, const double *a, size_t n) {
    double p = dist_beta_draw(r, a + 1, 2);
    return dist_binomial_draw(r, (double[]){a[0], p}, 2);
}

static void dist_beta_binomial_grad(double k, const double *a, size_t n, double *g) {
    double both = digamma(a[1] + a[2]) - digamma(a[0] + a[1] + a[2]);
    g[0] = g[1] = 0;
    g[2] = digamma(k + a[1]) - digamma(a[1]) + both;
    g[3] = digamma(a[0] - k + a[2]) - digamma(a[2]) + both;
}

/* ---- beta_neg_binomial(r, a, b):  W(k, r) B(a + r, b + k) / B(a, b) */
static double dist_beta_neg_binomial_lp(double k, const double *a, size_t n) {
    if (!(a[0] > 0 && a[1] > 0 && a[2] > 0)) return NAN;
    if (!is_count(k)) return -INFINITY;
    return log_ways(k, a[0]) + log_beta_fn(a[1] + a[0], a[2] + k) - log_beta_fn(a[1], a[2]);
}

static double dist_beta_neg_binomial_draw(struct rng *r, const double *a, size_t n) {
    double p = dist_beta_draw(r, a + 1, 2);
    return dist_neg_binomial_draw(r, (double[]){a[0], p}, 2);
}

static void dist_beta_neg_binomial_grad(double k, const double *a, size_t n, double *g) {
    double all = digamma(a[0] + a[1] + a[2] + k), both = digamma(a[1] + a[2]);
    g[0] = 0;
    g[1] = digamma(k + a[0]) - digamma(a[0]) + digamma(a[1] + a[0]) - all;
    g[2] = digamma(a[1] + a[0]) - digamma(a[1]) + both - all;
    g[3] = digamma(a[2] + k) - digamma(a[2]) + both - all;
}

/* ---- hypergeometric(n, a, b):  C(a, k) C(b, n - k) / C(a + b, n)
 * Of large counts the logarithms of these agree in all digits but the last ones: then by
 * binomial(k; a, p) binomial(n - k; b, p) / binomial(n; a + b, p), p = n / (a + b), each by
 * deviances from its mean (Loader 2000). */
enum { LARGE_COUNT = 1000000 };

static double deviance(double k, double mean) {
    if (k == 0) return mean;
    double d = (mean - k) / k;
    return k * (fabs(d) < 0.5 ? d - log1p(d) : d - log(mean / k));
}

/* log k! beyond Stirling's formula; the series is for large k. */
static double beyond_stirling(double k) {
    return k > 100 ? stirling_rest(k)
                   : log_factorial(k) - (k + 0.5) * log(k) + k - 0.5 * log(2 * M_PI);
}

static double binomial_large(double k, double n, double p, double q) {
    double far = deviance(k, n * p) + deviance(n - k, n * q);
    if (k == 0 || k == n) return -far;
    return beyond_stirling(n) - beyond_stirling(k) - beyond_stirling(n - k) - far +
           0.5 * (log(n) - log(k) - log(n - k) - log(2 * M_PI));
}

static double hypergeometric_large(double k, double n, double a, double b) {
    double p = n / (a + b), q = (a + b - n) / (a + b);
    return binomial_large(k, a, p, q) + binomial_large(n - k, b, p, q) -
           binomial_large(n, a + b, p, q);
}

static double dist_hypergeometric_lp(double k, const double *a, size_t n) {
    if (!is_count(a[0]) || !is_count(a[1]) || !is_count(a[2])) return NAN;
    if (a[0] > a[1] + a[2]) return NAN;
    if (!is_count(k) || k > a[1] || k > a[0] || a[0] - k > a[2]) return -INFINITY;
    if (a[1] + a[2] >= LARGE_COUNT && a[0] > 0 && a[0] < a[1] + a[2])
        return hypergeometric_large(k, a[0], a[1], a[2]);
    return log_choose(a[1], k) + log_choose(a[2], a[0] - k) - log_choose(a[1] + a[2], a[0]);
}

/* Probabilities whose logarithms are concave, of which none is above exp(top), that of the mode
 * (Devroye 1987): a flat middle and two exponential tails hold them. */
static double hypergeometric_reject(struct rng *r, const double *a, double mode, double top) {
    double p = exp(top), w = 1 + p / 2;
    for (;;) {
        bool middle = rng_uniform(r) * (1 + w) <= w;
        double v = rng_uniform(r), y = middle ? v * w / p : (w - log(v)) / p, x = floor(y + 0.5);
        double k = rng_uniform(r) < 0.5 ? mode - x : mode + x;
        double over = fmin(0, w - p * y);
        if (log(rng_uniform(r)) + over <= dist_hypergeometric_lp(k, a, 3) - top) return k;
    }
}

/* By inversion, taking values in turn from below and above the mode, where these are few. */
static double dist_hypergeometric_draw(struct rng *r, const double *a, size_t n) {
    double least = fmax(0, a[0] - a[2]), most = fmin(a[0], a[1]);
    double mode = floor((a[0] + 1) * (a[1] + 1) / (a[1] + a[2] + 2));
    if (isnan(dist_hypergeometric_lp(least, a, n))) return NAN;
    double low = fmin(fmax(mode, least), most), top = dist_hypergeometric_lp(low, a, n);
    if (top < log(1e-3)) return hypergeometric_reject(r, a, low, top);
    double high = low + 1, u = rng_uniform(r);
    while (low >= least || high <= most) {
        if (low >= least) {
            u -= exp(dist_hypergeometric_lp(low--, a, n));
            if (u <= 0) return low + 1;
        }
        if (high <= most) {
            u -= exp(dist_hypergeometric_lp(high++, a, n));
            if (u <= 0) return high - 1;
        }
    }
    return mode; /* the probabilities add up to a little less than 1 */
}

static void dist_hypergeometric_grad(double k, const double *a, size_t n, double *g) {
    g[0] = g[1] = g[2] = g[3] = 0;
}

/* ---- distribution functions, t[0] = log F, t[1] = log (1 - F); k is whole */

/* Nothing is below `least`, all is at most `most`; false: neither. */
static bool outside(double x, double least, double most, double *t) {
    if (x >= least && x < most) return false;
    put_tails(t, x < least ? -INFINITY : 0, x < least ? 0 : -INFINITY);
    return true;
}

static void dist_poisson_tails(double k, const double *a, size_t n, double *t) {
    double u[2];
    if (outside(k, 0, INFINITY, t)) return;
    gamma_tails(k + 1, a[0], u);
    put_tails(t, u[1], u[0]);
}

static void dist_binomial_tails(double k, const double *a, size_t n, double *t) {
    if (!outside(k, 0, a[0], t)) beta_tails(a[0] - k, k + 1, 1 - a[1], a[1], t);
}

static void dist_neg_binomial_tails(double k, const double *a, size_t n, double *t) {
    if (!outside(k, 0, INFINITY, t)) beta_tails(a[0], k + 1, a[1], 1 - a[1], t);
}

static void dist_geometric_tails(double k, const double *a, size_t n, double *t) {
    if (!outside(k, 0, INFINITY, t)) put_exponential(t, -(k + 1) * log1p(-a[0]));
}

static void dist_uniform_discrete_tails(double k, const double *a, size_t n, double *t) {
    double width = a[1] - a[0];
    if (outside(k, a[0], a[1] - 1, t)) return;
    put_tails(t, log((k + 1 - a[0]) / width), log((a[1] - 1 - k) / width));
}

static void dist_binomial_logit_tails(double k, const double *a, size_t n, double *t) {
    if (!outside(k, 0, a[0], t)) beta_tails(a[0] - k, k + 1, logistic(-a[1]), logistic(a[1]), t);
}

static void dist_poisson_log_tails(double k, const double *a, size_t n, double *t) {
    double mean = exp(a[0]);
    dist_poisson_tails(k, &mean, 1, t);
}

/* Failures before success number r, given the odds of a success. */
static void put_failures(double *t, double k, double r, double log_odds) {
    if (!outside(k, 0, INFINITY, t))
        beta_tails(r, k + 1, logistic(log_odds), logistic(-log_odds), t);
}

static void dist_neg_binomial_rate_tails(double k, const double *a, size_t n, double *t) {
    put_failures(t, k, a[0], log(a[1]));
}

static void dist_neg_binomial_2_tails(double k, const double *a, size_t n, double *t) {
    put_failures(t, k, a[1], log(a[1] / a[0]));
}

static void dist_neg_binomial_2_log_tails(double k, const double *a, size_t n, double *t) {
    put_failures(t, k, a[1], log(a[1]) - a[0]);
}

/* Sums of the probabilities from least to k and from k + 1 to most; NaN when they are too many. */
enum { TERMS = 100000 };

static void put_sums(double *t, dist_lp_fn *lp, double k, const double *a, double least,
                     double most) {
    if (outside(k, least, most, t)) return;
    put_tails(t, -INFINITY, -INFINITY);
    for (double j = least; j <= most && most - least < TERMS; j++)
        t[j > k] = logaddexp(t[j > k], lp(j, a, 3));
    if (!(most - least < TERMS)) put_tails(t, NAN, NAN);
}

static void dist_beta_binomial_tails(double k, const double *a, size_t n, double *t) {
    put_sums(t, dist_beta_binomial_lp, k, a, 0, a[0]);
}

static void dist_hypergeometric_tails(double k, const double *a, size_t n, double *t) {
    put_sums(t, dist_hypergeometric_lp, k, a, fmax(0, a[0] - a[2]), fmin(a[0], a[1]));
}

#define COUNT(fn, ...)                                                                             \
    SP_SCALAR(fn), .flags = SP_RANDOM | SP_DISCRETE | SP_LIFTS | SP_LACKS,                         \
                   .log_bound = sp_discrete_bound, .of = &(const struct scalar_family) {           \
        .support = SUPPORT_DISCRETE, __VA_ARGS__                                                   \
    }

static const double half = 0.5;

const struct sp_class sp_discrete_rows[] = {
    {.name = "flip",
     .sig = "(p?: probability) -> bool",
     .doc = "true with probability p, 1/2 unless given",
     .example = "flip(1) => true",
     .enumerate = coin_enumerate,
     COUNT(bernoulli, .coin = true, .absent = &half)},
    {.name = "bernoulli",
     .sig = "(p?: probability) -> number",
     .doc = "1 with probability p (1/2 unless given), else 0",
     .example = "bernoulli(0) => 0",
     .enumerate = coin_enumerate,
     COUNT(bernoulli, .absent = &half)},
    {.name = "log_flip",
     .sig = "(logp: real) -> bool",
     .doc = "true with probability exp(logp)",
     .example = "log_flip(0) => true",
     .enumerate = coin_enumerate,
     COUNT(log_bernoulli, .coin = true, .check = check_log)},
    {.name = "log_odds_flip",
     .sig = "(log_odds: real) -> bool",
     .doc = "true with probability 1 / (1 + exp(-log_odds))",
     .example = "assess(true, log_odds_flip, 0) => -0.6931471805599453",
     .enumerate = coin_enumerate,
     .cols = cols_logit,
     COUNT(logit_bernoulli, .coin = true)},
    {.name = "bernoulli_logit",
     .sig = "(log_odds: real) -> number",
     .doc = "1 with probability 1 / (1 + exp(-log_odds)), else 0",
     .example = "assess(1, bernoulli_logit, 0) => -0.6931471805599453",
     .enumerate = coin_enumerate,
     .cols = cols_logit,
     COUNT(logit_bernoulli)},
    {.name = "binomial",
     .sig = "(n: count, p: probability" SP_BOUNDS ") -> count",
     .doc = "successes among n trials of probability p",
     .example = "binomial(3, 1) => 3",
     .enumerate = trials_enumerate,
     .num_args = 2,
     COUNT(binomial, .tails = dist_binomial_tails)},
    {.name = "binomial_logit",
     .sig = "(n: count, log_odds: real" SP_BOUNDS ") -> count",
     .doc = "successes among n trials of probability 1 / (1 + exp(-log_odds))",
     .example = "assess(1, binomial_logit, 1, 0) => -0.6931471805599453",
     .enumerate = trials_enumerate,
     .num_args = 2,
     COUNT(binomial_logit, .tails = dist_binomial_logit_tails)},
    {.name = "beta_binomial",
     .sig = "(n: count, a: positive, b: positive" SP_BOUNDS ") -> count",
     .doc = "successes among n trials whose common probability is beta(a, b)",
     .example = "assess(1, beta_binomial, 1, 2, 2) => -0.6931471805599453",
     .enumerate = trials_enumerate,
     .num_args = 3,
     COUNT(beta_binomial, .tails = dist_beta_binomial_tails)},
    {.name = "hypergeometric",
     .sig = "(draws: count, good: count, bad: count" SP_BOUNDS ") -> count",
     .doc = "good ones among draws without replacement from good and bad ones",
     .example = "hypergeometric(3, 3, 0) => 3",
     .enumerate = trials_enumerate,
     .num_args = 3,
     COUNT(hypergeometric, .tails = dist_hypergeometric_tails, .check = check_draws)},
    {.name = "poisson",
     .sig = "(mean: amount" SP_BOUNDS ") -> count",
     .doc = "Poisson distribution; of mean 0 it is 0",
     .example = "assess(0, poisson, 2) => -2",
     .num_args = 1,
     COUNT(poisson, .tails = dist_poisson_tails)},
    {.name = "geometric",
     .sig = "(p: probability" SP_BOUNDS ") -> count",
     .doc = "failures before the first success of probability p > 0",
     .example = "geometric(1) => 0",
     .num_args = 1,
     COUNT(geometric, .tails = dist_geometric_tails)},
    {.name = "negative_binomial",
     .sig = "(successes: positive, p: probability" SP_BOUNDS ") -> count",
     .doc = "failures before the given number of successes of probability p > 0",
     .example = "negative_binomial(3, 1) => 0",
     .num_args = 2,
     COUNT(neg_binomial, .tails = dist_neg_binomial_tails)},
    {.name = "poisson_log",
     .sig = "(log_mean: real" SP_BOUNDS ") -> count",
     .doc = "Poisson distribution with mean exp(log_mean)",
     .example = "assess(0, poisson_log, 0) => -1",
     .num_args = 1,
     .cols = cols_poisson_log,
     COUNT(poisson_log, .tails = dist_poisson_log_tails)},
    {.name = "neg_binomial",
     .sig = "(shape: positive, rate: positive" SP_BOUNDS ") -> count",
     .doc = "Poisson with a gamma(shape, rate) mean",
     .example = "assess(0, neg_binomial, 1, 1) => -0.6931471805599453",
     .num_args = 2,
     COUNT(neg_binomial_rate, .tails = dist_neg_binomial_rate_tails)},
    {.name = "neg_binomial_2",
     .sig = "(mean: positive, precision: positive" SP_BOUNDS ") -> count",
     .doc = "negative binomial with variance mean + mean^2 / precision",
     .example = "assess(0, neg_binomial_2, 1, 1) => -0.6931471805599453",
     .num_args = 2,
     COUNT(neg_binomial_2, .tails = dist_neg_binomial_2_tails)},
    {.name = "neg_binomial_2_log",
     .sig = "(log_mean: real, precision: positive" SP_BOUNDS ") -> count",
     .doc = "neg_binomial_2 with the logarithm of its mean",
     .example = "assess(0, neg_binomial_2_log, 0, 1) => -0.6931471805599453",
     .num_args = 2,
     COUNT(neg_binomial_2_log, .tails = dist_neg_binomial_2_log_tails)},
    {.name = "beta_neg_binomial",
     .sig = "(successes: positive, a: positive, b: positive) -> count",
     .doc = "negative_binomial whose probability is beta(a, b)",
     .example = "assess(0, beta_neg_binomial, 1, 1, 1) => -0.6931471805599453",
     COUNT(beta_neg_binomial)},
    {.name = "uniform_discrete",
     .sig = "(low: integer, high: integer" SP_BOUNDS ") -> integer",
     .doc = "uniform on low, low + 1, ..., high - 1",
     .example = "uniform_discrete(3, 4) => 3",
     .enumerate = uniform_enumerate,
     .num_args = 2,
     COUNT(uniform_discrete, .tails = dist_uniform_discrete_tails, .check = check_range)},
};
const size_t sp_discrete_count = COUNT_OF(sp_discrete_rows);
