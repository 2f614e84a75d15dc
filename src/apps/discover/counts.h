/* SPDX-License-Identifier: Apache-2.0
 *
 * The distribution of a count to come whose rate is known as a list of rates with weights: a
 * mixture of negative binomial distributions.
 */
#ifndef DISCOVER_COUNTS_H
#define DISCOVER_COUNTS_H
#include "base/vec.h"
#include <stddef.h>

#define COUNTS_TABLE 1024 /* counts below have their probability in a table */

struct count_rate {
    double rate, size, weight; /* variance: rate + rate^2 / size */
};
/* Zeroed: nothing yet. */
struct count_mixture {
    double *p;     /* probability of 0, 1, ... times the weight, of rates that fit the table */
    double *below; /* the same summed up to each, once asked for */
    double total;  /* weight */
    double mean;   /* times the weight */
    VEC(struct count_rate) rates;
};
void counts_clear(struct count_mixture *c);
void counts_add(struct count_mixture *c, struct count_rate r);
void counts_release(struct count_mixture *c);

double counts_mean(const struct count_mixture *c);
double counts_log_probability(const struct count_mixture *c,
                              double k); /* -inf for what is no count */
/* The least count at or below which at least q of the probability lies; it may be infinite. */
double counts_quantile(struct count_mixture *c, double q);
#endif
