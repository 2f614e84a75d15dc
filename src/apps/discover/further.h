/* SPDX-License-Identifier: Apache-2.0
 *
 * Changes after the data. A structure with changes at k dates of its series (STEP, RAMP, the edges
 * of CP and CW) says that such things happen. They go on: with a rate per span whose prior is
 * a mixture of two Gammas, of series that change rarely and of those that do now and again; after k
 * changes in one span Gamma(a, b) becomes Gamma(a + k, b + 1), and its weight is multiplied by the
 * negative binomial probability of k. Each change is like one of those seen, any of them with the
 * same probability, and a draw of the parameters has its spread.
 *
 *   STEP    the level shifts by N(0, s^2)
 *   PULSE   it does so for a time as long as what was seen, and comes back; with a rate of its own
 *   RAMP    the slope changes by N(0, 9 s^2)
 *   an edge the regime switches: what acts ends, and what had ended begins again (smodel_other)
 *
 * Shifts and bends go up as often as down, so that medians stay where they were. */
#ifndef DISCOVER_FURTHER_H
#define DISCOVER_FURTHER_H
#include "apps/discover/smodel.h"
#include "numeric/special/rng.h"

#define FURTHER_KINDS 2 /* of series: those that change rarely, and those that do now and again */

struct further {
    int n;        /* changes seen; 0: there are no further ones */
    int switches; /* those of them that are edges, the others stand in: */
    struct {
        bool bend;   /* of the slope; else of the level */
        double size; /* variance of the change, of a slope per span */
    } at[STRUCTURE_MAX_TERMS];
    int pulses;
    struct {
        double size, width; /* variance of the level, spans */
    } pulse[STRUCTURE_MAX_TERMS];
    struct further_rate {
        double weight, shape, rate; /* of the Gamma distribution of changes per span */
    } kind[FURTHER_KINDS], of_pulse[FURTHER_KINDS];
};
void further_of(const struct smodel *m, const double *z, struct further *out);
/* Changes, pulses per span, in the mean. */
double further_rate(const struct further_rate *kind);

/* What may have happened since the data, `after` spans from them: with probability `share` the
 * level has a further variance, in the regime of the data's end or in the other one. The shares of
 * all parts sum to 1. */
struct further_part {
    double share, more;
    bool other;
};
#define FURTHER_PARTS (3 * STRUCTURE_MAX_TERMS + 6)
/* As many parts at any time, the first of them without a change; returns how many. */
size_t further_parts(const struct further *f, double after, struct further_part *out);

/* One course of events at n times t, after the data or before them: adds to the level, and switches
 * the regime. */
void further_draw(const struct further *f, struct rng *r, size_t n, const double *t, bool before,
                  double *level, bool *other);
#endif
