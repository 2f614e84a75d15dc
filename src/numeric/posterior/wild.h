/* SPDX-License-Identifier: Apache-2.0
 *
 * Outliers: a mixture of a model's prediction and a distribution WIDTH times as wide, with a prior
 * SHARE of the values. The odds of the two classify a value, given the others' prediction for it. A
 * few outliers may have any size. Otherwise a misplaced decimal point, thousands of standard
 * deviations away, would fit the wide distribution even worse than the prediction. All code that
 * sets values aside uses this rule. */
#ifndef INFER_WILD_H
#define INFER_WILD_H
#include <stdbool.h>
#include <stddef.h>

#define WILD_SHARE 0.005 /* prior share of outliers */
#define WILD_WIDTH 10.0  /* their spread in standard deviations of the prediction */

/* Log odds that a value belongs to the wide distribution; > 0: it does. `far`: standard deviations
 * sd from the centre of its prediction; logp: its log density there. */
double wild_log_odds(double logp, double far, double sd);
static inline bool wild_is(double logp, double far, double sd) {
    return wild_log_odds(logp, far, sd) > 0;
}
/* Its log density in the wide distribution with Cauchy tails of the same scale, for errors of any
 * size (a misplaced decimal point). For evidences, where the odds of single values do not
 * suffice. */
double wild_log_density(double far, double sd);
/* The log density of the wide distribution at r of its own standard deviations, in their units. */
double wild_log_wide(double r);
/* The expected share of outliers among future values, if `out` of n were outliers. */
double wild_share(size_t out, size_t n);
#endif
