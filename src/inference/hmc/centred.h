/* SPDX-License-Identifier: Apache-2.0
 *
 * Inside inference/: learns how far to centre choices with a location and a scale. A choice theta ~
 * normal(mu, tau) with unknown mu and tau is easy to sample directly if the data determine it well.
 * If they do not, (theta - mu) / tau is better (a funnel: theta is as narrow as tau is small).
 * There are degrees between the two (constrain.h). The warm-up learns the best degree for each
 * number.
 *
 * In good coordinates a number z is normal given the others. Its gradient g is then linear in z,
 * and
 *
 *     var(z) var(g) >= cov(z, g)^2 = 1
 *
 * (E g = 0, E z g = -1 for every smooth density) is an equality. The degree with the smallest
 * product of variances is chosen. All degrees can be compared on the same points, since with x = m
 * + s^(1-c) (z - c m) the slope in z is s^(1-c) times that in x. */
#ifndef INFER_CENTRED_H
#define INFER_CENTRED_H
#include "inference/hmc/continuous.h"
#include "inference/hmc/metric.h"

struct centred {
    size_t n;
    double *by; /* n: degree of each number; owns the sums */
    double *sums;
    double seen;
};
void centred_init(struct centred *k, size_t n); /* all degrees 1: x = z */
void centred_release(struct centred *k);
/* Adds a point that was built in c, with its gradient. */
void centred_note(struct centred *k, const struct continuous *c, const double *z, const double *g);
/* Ends a window. For numbers whose degree changed, the new scale is known and goes into the metric.
 * True: some degree changed, and z has other coordinates from now on. */
bool centred_learn(struct centred *k, struct metric *m);
void centred_pack(struct pack *p, struct centred *k); /* reads into one of the same size */
#endif
