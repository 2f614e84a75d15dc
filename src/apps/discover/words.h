/* SPDX-License-Identifier: Apache-2.0
 *
 * Small words: how numbers, durations, rates and probabilities are written in reports. Units are
 * those that a person uses: 49 minutes, not 0.0343 days.
 */
#ifndef DISCOVER_WORDS_H
#define DISCOVER_WORDS_H
#include "apps/discover/discovery.h"

/* Three digits, whole from 1000 to 999999, between two texts. */
void words_number(const char *before, double v, const char *after, struct buf *out);
/* A value of the series with at least so many digits, and so many that a tenth of the values'
 * standard deviation shows: amounts around 1e9 that differ by 3 remain distinct. */
void words_value(const struct discovery *d, double v, int least, struct buf *out);
/* How a value is written in the user's units. */
typedef void quantity(const struct discovery *d, double v, struct buf *out);
quantity words_duration; /* v in units of x */
/* An end of an interval about `mid`: in the unit of that, unless it is far from it. */
void words_duration_about(const struct discovery *d, double v, double mid, struct buf *out);
quantity words_period; /* the same after "every": "year", "7.3 days" */
/* A standard deviation on the scale of the transform: in units, as a percentage, or a factor. */
quantity words_amount;
quantity words_date; /* v in [0,1] of the data's span */
/* "12%", "4.1%", "below 0.1%": with a decimal where it is less than `fine`. */
void words_share(double share, double fine, struct buf *out);
void words_probability(double p, struct buf *out);

bool words_log(const struct discovery *d); /* the top structure models logarithms */
/* The unit for changes of this series ("year", "hour"), and its length in x. */
const char *words_rate_unit(const struct discovery *d, double *x);
/* "rises by 3.2 per year (95%: 2.1 to 4.3)": a slope per unit of x on the scale of the transform,
 * with its standard deviation; past: "rose". */
void words_rate(const struct discovery *d, double slope, double sd, bool past, struct buf *out);
#endif
