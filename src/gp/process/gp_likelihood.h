/* SPDX-License-Identifier: Apache-2.0
 *
 * Distributions of measurements given the value of a function: one row each, for the Laplace
 * approximation (gp_laplace.h).
 */
#ifndef GP_GP_LIKELIHOOD_H
#define GP_GP_LIKELIHOOD_H
#include "numeric/special/rng.h"
#include <stdbool.h>
#include <stddef.h>

enum { LIKELIHOOD_PARAMETERS = 2 };

/* The log density l(f) of one measurement, and derivatives. */
struct gp_likely {
    double l, slope, w, third; /* l, l', -l'', l''' */
    double safe;               /* a weight at or above w that is positive: for steps to the mode */
    struct {
        double l, slope, w; /* their derivatives in parameter p */
    } by[LIKELIHOOD_PARAMETERS];
};

struct gp_likelihood {
    const char *name;
    size_t n; /* parameters */
    const char *parameters[LIKELIHOOD_PARAMETERS];
    bool whole[LIKELIHOOD_PARAMETERS]; /* it counts: no derivative */
    bool (*fits)(double y, const double *par);
    void (*at)(double y, double f, const double *par, struct gp_likely *out);
    double (*draw)(struct rng *rng, double f, const double *par);
};

const struct gp_likelihood *gp_likelihood_find(const char *name); /* NULL: none */
const struct gp_likelihood *gp_likelihood_at(size_t i);           /* NULL past the last */
#endif
