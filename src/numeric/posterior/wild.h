/* SPDX-License-Identifier: Apache-2.0
 *
 * Values out of line: a mixture of a model's prediction and of a distribution WIDE times as wide,
 * to which a SHARE of the values belongs before the data. The odds of the two decide about a value,
 * given what the others predict for it. A few of these are of any size, or a slip of the decimal
 * point, thousands of standard deviations out, would be even less of theirs than of the prediction.
 * The one rule of all who set values aside.
 */
#ifndef INFER_WILD_H
#define INFER_WILD_H
#include <stdbool.h>
#include <stddef.h>

#define WILD_SHARE 0.005 /* of values out of line, before the data */
#define WILD_WIDTH 10.0  /* their spread in standard deviations of the prediction */

/* Log odds that a value that lies `far` standard deviations sd from the centre of its prediction,
 * where it has the log density logp, belongs to the wide distribution; above 0 it does. */
double wild_log_odds(double logp, double far, double sd);
static inline bool wild_is(double logp, double far, double sd) {
    return wild_log_odds(logp, far, sd) > 0;
}
/* Its log density in the wide distribution with tails for errors of any size (a point at the wrong
 * place): of Cauchy, with the same scale. For evidences, where odds of one value are not enough. */
double wild_log_density(double far, double sd);
/* The log density of the mixture, with this share of the wide distribution. */
double wild_log_mixture(double logp, double far, double sd, double share);
/* The share of such values among those to come, where `out` of n were. */
double wild_share(size_t out, size_t n);
#endif
