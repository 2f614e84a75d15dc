/* SPDX-License-Identifier: Apache-2.0
 *
 * Inside inference/: parts of a block whose transform follows their arguments. In
 *
 *     y ~ flat(lower=0);  x ~ uniform(0, y)          theta ~ normal(mu, tau), mu and tau unknown
 *
 * z of x is its relative position between the ends, and z of theta may be its distance from mu in
 * units of tau. The model places such a part once its arguments are known (struct placing). log
 * |dx/dz| and the slopes in the arguments are computed then. */
#ifndef INFER_PLACED_H
#define INFER_PLACED_H
#include "inference/hmc/continuous.h"

void placed_new(struct continuous *c); /* room for all parts; no part is placed */
void placed_free(struct continuous *c);
void placed_set(struct continuous *c, size_t i, bool on);
static inline bool placed_is(const struct continuous *c, size_t i) {
    return c->placed && c->placed[i].n;
}
/* For the current state: z of x (false: outside), or x of z and log |dx/dz|. */
bool placed_standing(struct continuous *c, size_t i, const double *x, double *z);
double placed_at_standing(const struct continuous *c, size_t i, double *x);
double placed_log_slopes(const struct continuous *c); /* sum over the parts, when last placed */
#endif
