/* SPDX-License-Identifier: Apache-2.0
 * Changes after the data (further.h). */
#include "discover/further.h"
#include "gp/kern_class.h"
#include <math.h>

/* Of the rate per span. The prior of structures has a factor exp(-2) for a change, which would be
 * a = 1, b = e^2 - 1; with b = 3 intervals of series whose level shifts now and then, and of M3's
 * training parts, have better scores, and those of series that shift but once are not far wider
 * (docs/structure.md). */
#define RATE_SHAPE 1.0
#define RATE_SPANS 3.0

void further_of(const struct smodel *m, const double *z, struct further *out) {
    out->n = 0;
    for (const struct sterm *e = m->term; e < m->term + m->n_terms; e++) {
        int f = factor_next(e->mask & factors_of(KERN_ROLE_BREAK), -1), sd = e->par[SPAR_SD];
        if (f == FACTOR_MAX) continue;
        const struct kern_motif *row = &factor_class(f)->motif;
        double size = row->unit * smodel_value(m, sd, z[sd]);
        out->at[out->n].bend = row->direction;
        out->at[out->n++].size = size * size;
    }
    out->shape = RATE_SHAPE + out->n;
    out->rate = RATE_SPANS + 1;
}

/* The number of changes is negative binomial. One has a date that is uniform since the data: of a
 * bend the first half of the dates, and the second, E u^2 = 7/12 and 1/12, are parts. Of several
 * the variances add up, on average. */
size_t further_parts(const struct further *f, double after, struct further_part *out) {
    size_t n = 1;
    double x = after / (f->rate + after), none = pow(1 - x, f->shape);
    double one = f->shape * x * none, two = 0.5 * (f->shape + 1) * x * one;
    double rest = fmax(1 - none - one - two, 0), mean = 0;
    double number = f->shape * after / f->rate - one - 2 * two; /* E m [m > 2] */
    out[0] = (struct further_part){none, 0};
    for (int j = 0; j < f->n; j++)
        for (int half = 0; half < 2; half++) {
            double of_bend = (half ? 1.0 : 7.0) / 12 * after * after;
            double more = f->at[j].size * (f->at[j].bend ? of_bend : 1);
            out[n++] = (struct further_part){one / (2 * f->n), more};
            mean += more / (2 * f->n);
        }
    out[n++] = (struct further_part){two, 2 * mean};
    out[n++] = (struct further_part){rest, rest > 0 ? fmax(number / rest, 0) * mean : 0};
    return n;
}

/* Polya's process: with a rate from Gamma(a, b) no change comes within t with the probability
 * (b / (b + t))^a; after one at t the rate is from Gamma(a + 1, b + t). */
void further_draw(const struct further *f, struct rng *r, size_t n, const double *t, bool before,
                  double *level) {
    double shape = f->shape, rate = f->rate, at = 0, end = 0;
    for (size_t i = 0; i < n; i++) end = fmax(end, before ? -t[i] : t[i] - 1);
    while (f->n && end > 0) {
        double wait = rate * expm1(-log(rng_uniform(r)) / shape);
        if (!((at += wait) < end)) break;
        shape++;
        rate += wait;
        int j = (int)(rng_uniform(r) * f->n);
        double change = sqrt(f->at[j].size) * rng_normal(r);
        for (size_t i = 0; i < n; i++) {
            double since = (before ? -t[i] : t[i] - 1) - at;
            if (since > 0) level[i] += change * (f->at[j].bend ? since : 1);
        }
    }
}
