/* SPDX-License-Identifier: Apache-2.0
 *
 * Values out of line: a mixture of the model and of a wide distribution, in which each value
 * belongs to one of the two. Values that stand out from their neighbours, and later from what was
 * found, are left out of the search; the posterior that it gives then decides about each of them by
 * the odds of the two distributions. Those that belong to the wide one stay out and are named;
 * forecasts keep a share for values like them.
 */
#ifndef DISCOVER_OUTLIERS_H
#define DISCOVER_OUTLIERS_H
#include "apps/discover/predict.h"
#include "apps/discover/series.h"

#define OUTLIERS_MAX 12

struct outlier {
    size_t at;            /* number of the value in the series */
    double x, y;          /* the value */
    double expected, sds; /* what the others lead to expect; distance in standard deviations */
    bool edge;            /* like those on one side of it: a level ends or begins there */
};
struct outliers {
    struct outlier at[OUTLIERS_MAX];
    size_t n;
    size_t freed[OUTLIERS_MAX], n_freed; /* numbers of values accepted as part of the series; they
                                            are not suspected again */
};
/* Values that deviate from their neighbours and from values of the same season (`lag` steps apart;
 * 1: no season) by more than the series' other columns explain; never the last value. */
void outliers_suspect(struct outliers *o, const struct series *s, size_t lag);
/* Keeps those that the posterior of the other values finds out of line, with what was expected;
 * *back: values that belong to the series after all, as those do at the edge of a stretch, which
 * are left out of a first search alone: it finds changes the better without them. Where the others
 * predict nothing all of them belong to it. */
GPM_MUST_USE enum gpm_status outliers_judge(struct outliers *o, const struct posterior *p,
                                            bool *back);
/* A second look, by what the search found rather than by neighbours, which a season leaves a noisy
 * guess: adds values that the best structure finds as far out, given all others; whether there are
 * any. Of long series, none: a matrix of all values would be needed. */
bool outliers_more(struct outliers *o, const struct series *s, size_t lag,
                   const struct posterior *p);
/* x and y without the outliers, each of which has room for all; the number left. */
size_t outliers_without(const struct outliers *o, const struct series *s, double *x, double *y);
/* The share of such values among those to come, and their spread, in the data's units. */
void outliers_spread(const struct outliers *o, struct smodel_data *d);
/* How far the last value lies from those right before it, the season taken out, in robust standard
 * deviations of such distances; the smaller one of values and logarithms. It is not set aside: it
 * may be the first of what is to come. */
double outliers_last(const struct series *s, size_t lag);
#endif
