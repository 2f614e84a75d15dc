/* SPDX-License-Identifier: Apache-2.0
 *
 * Discrete random procedures: coins, counts, ranges. Densities and samplers are those of
 * math/dist_discrete.c. Choices among objects are in choice.c.
 */
#include "base/mem.h"
#include "math/dist.h"
#include "dist/dist_row.h"
#include <math.h>

/* Longest list of values that enumerate gives. */
#define ENUMERATE_MAX 1000000.0

/* ---- coins: flip and its relatives give booleans, bernoulli 0 or 1 */
static enum gpm_status check_log(struct sp_call *c) {
    if (sp_num(c, 0) <= 0) return GPM_OK;
    return sp_bad_arg(c, 0, "logp", "at most 0 (the logarithm of a probability)");
}

static enum gpm_status coin_enumerate(struct sp_call *c, value **vals, size_t *n) {
    bool coin = ((const struct scalar_family *)c->cls->of)->coin;
    return sp_enumerate_two(c, coin ? value_bool(true) : value_num(1),
                            coin ? value_bool(false) : value_num(0), vals, n);
}

/* ---- ranges of whole numbers */
static enum gpm_status enumerate_range(struct sp_call *c, double lo, double hi, value **vals,
                                       size_t *n) {
    if (hi - lo > ENUMERATE_MAX)
        return sp_error(c, DIAG_NOT_ENUMERABLE,
                        "%s: %.0f values are too many to enumerate (limit %.0f)", c->cls->name,
                        hi - lo, ENUMERATE_MAX);
    *n = (size_t)(hi - lo);
    *vals = NEW_ARRAY(value, *n + 1);
    for (size_t i = 0; i < *n; i++) (*vals)[i] = value_num(lo + (double)i);
    return GPM_OK;
}

static enum gpm_status binomial_enumerate(struct sp_call *c, value **vals, size_t *n) {
    double count = sp_num(c, 0), p = sp_num(c, 1);
    if (p == 0) return enumerate_range(c, 0, 1, vals, n);
    if (p == 1) return enumerate_range(c, count, count + 1, vals, n);
    return enumerate_range(c, 0, count + 1, vals, n);
}

static enum gpm_status check_range(struct sp_call *c) {
    double lo = sp_num(c, 0), hi = sp_num(c, 1);
    if (!(lo < hi))
        return sp_error(c, DIAG_DOMAIN, "%s: empty range, low = %g is not below high = %g",
                        c->cls->name, lo, hi);
    if (hi - lo > 0x1p53)
        return sp_error(c, DIAG_DOMAIN, "%s: the range has more than 2^53 values", c->cls->name);
    return GPM_OK;
}

static enum gpm_status uniform_enumerate(struct sp_call *c, value **vals, size_t *n) {
    enum gpm_status st = check_range(c);
    return st == GPM_OK ? enumerate_range(c, sp_num(c, 0), sp_num(c, 1), vals, n) : st;
}

#define COUNT(fn, coin, check)                                                                     \
    SP_SCALAR(fn), .flags = SP_RANDOM | SP_DISCRETE, .support = sp_scalar_support,                 \
                   .log_bound = sp_discrete_bound, .of = &(const struct scalar_family) {           \
        NULL, check, coin, SUPPORT_DISCRETE, 0, 0                                                  \
    }

const struct sp_class sp_discrete_rows[] = {
    {.name = "flip",
     .sig = "(p?: probability) -> bool",
     .doc = "true with probability p, 1/2 unless given",
     .example = "flip(1) => true",
     .enumerate = coin_enumerate,
     COUNT(bernoulli, true, NULL)},
    {.name = "bernoulli",
     .sig = "(p?: probability) -> number",
     .doc = "1 with probability p (1/2 unless given), else 0",
     .example = "bernoulli(0) => 0",
     .enumerate = coin_enumerate,
     COUNT(bernoulli, false, NULL)},
    {.name = "log_flip",
     .sig = "(logp: real) -> bool",
     .doc = "true with probability exp(logp)",
     .example = "log_flip(0) => true",
     .enumerate = coin_enumerate,
     COUNT(log_bernoulli, true, check_log)},
    {.name = "log_odds_flip",
     .sig = "(log_odds: real) -> bool",
     .doc = "true with probability 1 / (1 + exp(-log_odds))",
     .example = "assess(true, log_odds_flip, 0) => -0.6931471805599453",
     .enumerate = coin_enumerate,
     COUNT(logit_bernoulli, true, NULL)},
    {.name = "binomial",
     .sig = "(n: count, p: probability) -> count",
     .doc = "successes among n trials of probability p",
     .example = "binomial(3, 1) => 3",
     .enumerate = binomial_enumerate,
     COUNT(binomial, false, NULL)},
    {.name = "poisson",
     .sig = "(mean: positive) -> count",
     .doc = "Poisson distribution",
     .example = "assess(0, poisson, 2) => -2",
     COUNT(poisson, false, NULL)},
    {.name = "geometric",
     .sig = "(p: probability) -> count",
     .doc = "failures before the first success of probability p > 0",
     .example = "geometric(1) => 0",
     COUNT(geometric, false, NULL)},
    {.name = "negative_binomial",
     .sig = "(successes: positive, p: probability) -> count",
     .doc = "failures before the given number of successes of probability p > 0",
     .example = "negative_binomial(3, 1) => 0",
     COUNT(neg_binomial, false, NULL)},
    {.name = "uniform_discrete",
     .sig = "(low: integer, high: integer) -> integer",
     .doc = "uniform on low, low + 1, ..., high - 1",
     .example = "uniform_discrete(3, 4) => 3",
     .enumerate = uniform_enumerate,
     COUNT(uniform_discrete, false, check_range)},
};
const size_t sp_discrete_count = COUNT_OF(sp_discrete_rows);
