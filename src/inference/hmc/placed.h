/* SPDX-License-Identifier: Apache-2.0
 *
 * Inside infer/: parts of a block whose transform follows their arguments. In
 *
 *     y ~ flat(lower=0);  x ~ uniform(0, y)          theta ~ normal(mu, tau), mu and tau unknown
 *
 * z of x says where between the ends x lies, whatever these are, and z of theta may say by how many
 * tau it lies above mu. The model places such a part when its arguments are known (struct placing),
 * and log |dx/dz| and the slopes in the arguments follow. */
#ifndef INFER_PLACED_H
#define INFER_PLACED_H
#include "inference/hmc/continuous.h"

void placed_new(struct continuous *c); /* room for all parts; none is placed yet */
void placed_free(struct continuous *c);
void placed_set(struct continuous *c, size_t i, bool on);
static inline bool placed_is(const struct continuous *c, size_t i) {
    return c->placed && c->placed[i].n;
}
/* Of the state that stands: z of x, false: outside; and x for z in place, with log |dx/dz|. */
bool placed_standing(struct continuous *c, size_t i, const double *x, double *z);
double placed_at_standing(const struct continuous *c, size_t i, double *x);
double placed_log_slopes(const struct continuous *c); /* of all, as they were last placed */
#endif
