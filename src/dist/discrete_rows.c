/* SPDX-License-Identifier: Apache-2.0
 *
 * Discrete random procedures: coins, counts, ranges. Densities and samplers are those of
 * math/dist_discrete.c. Choices among objects are in choice.c.
 */
#include "base/mem.h"
#include "math/dist.h"
#include "dist/dist_cols.h"
#include "dist/dist_row.h"
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
