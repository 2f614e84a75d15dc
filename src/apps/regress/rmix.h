/* SPDX-License-Identifier: Apache-2.0
 *
 * Predictions as mixtures over draws of the parameters: under each the function is normal, and the
 * outcome what its family (rfamily.h) makes of that.
 */
#ifndef REGRESS_RMIX_H
#define REGRESS_RMIX_H
#include "apps/regress/rfamily.h"
#include "numeric/posterior/mixture.h"
#include <stdint.h>

struct rmix {
    const struct rfamily *family;
    size_t n;                /* draws */
    const double *w;         /* their weights; NULL: equal */
    const double *mean, *sd; /* of the function, `step` apart */
    size_t step;
    const double *size; /* of chances and counts: the likelihood's parameter, one for each draw */
};
/* The function itself, into a cleared mixture. Of each part a share `wild` is as wide as values out
 * of line are (numeric/posterior/wild.h). */
void rmix_normals(const struct rmix *x, double wild, struct mixture *out);

/* Of chances and counts: */

struct rprediction { /* of the function on the outcome's scale, and of a new measurement */
    double mean, median, sd, lo, hi, new_sd, new_lo, new_hi;
};
/* Intervals of measurements come from simulated ones, the same for the same seed and row. */
struct rprediction rmix_predict(const struct rmix *x, double level, uint64_t seed, size_t row);
/* log p(y). */
double rmix_log_density(const struct rmix *x, double y);
/* Probability of values as far out as y, at both ends. */
double rmix_tail(const struct rmix *x, double y);
#endif
