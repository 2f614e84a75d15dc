/* SPDX-License-Identifier: Apache-2.0
 *
 * Inside infer/: how far choices around others are centred. A choice theta ~ normal(mu, tau), mu
 * and tau unknown, is easy to sample as it stands where data tell much about it, and by (theta -
 * mu) / tau where they tell little (a funnel: theta is as narrow as tau is small); between the two
 * there are degrees (constrain.h). Which is best is learned in the warm-up, number by number.
 *
 * In good coordinates a number z is normal given the others: its gradient g is then a straight line
 * in z, and
 *
 *     var(z) var(g) >= cov(z, g)^2 = 1
 *
 * (E g = 0, E z g = -1 for every smooth density) is an equality. The degree whose product of
 * variances is the smallest wins. All of them can be told from the same points, since with x = m +
 * s^(1-c) (z - c m) the slope in z is s^(1-c) times that in x.
 */
#ifndef INFER_CENTRED_H
#define INFER_CENTRED_H
#include "inference/hmc/continuous.h"
#include "inference/hmc/metric.h"

struct centred {
    size_t n;
    double *by; /* n: the degree of each number; owns the sums */
    double *sums;
    double seen;
};
void centred_init(struct centred *k, size_t n); /* all as they stand, 1 */
void centred_release(struct centred *k);
/* A point that was built in c, with the gradient there. */
void centred_note(struct centred *k, const struct continuous *c, const double *z, const double *g);
/* The window is over; the scales of numbers whose degree has changed are known, too, and go into
 * the metric. True: some have, and z are other coordinates from now on. */
bool centred_learn(struct centred *k, struct metric *m);
void centred_pack(struct pack *p, struct centred *k); /* read into one of the same size */
#endif
