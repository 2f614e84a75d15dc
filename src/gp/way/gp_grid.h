/* SPDX-License-Identifier: Apache-2.0
 *
 * Exact likelihood and gradient in O(N^2) on a regular grid of N points, some of which may be
 * missing and some of which may carry more measurements than others.
 *
 * Fits kernels that are sums of stationary terms, terms of rank one (kern_plan.h) and Wiener or
 * integrated Wiener processes that have started by the first input.
 */
#ifndef GP_GP_GRID_H
#define GP_GP_GRID_H
#include "gp/kernel/kern_plan.h"

struct gp;
struct gp_slot;

/* Most missing points and points with another number of measurements together: each costs another
 * O(N^2), so that many of them pay in long series alone. */
#define GRID_MAX_SPECIAL 32
#define GRID_ANY_SPECIAL 8
static inline size_t grid_most_special(size_t n) {
    size_t most = n / 16 < GRID_MAX_SPECIAL ? n / 16 : GRID_MAX_SPECIAL;
    return most > GRID_ANY_SPECIAL ? most : GRID_ANY_SPECIAL;
}

/* Where the distinct inputs lie: input i at x0 + place[i] * step. */
struct gp_places {
    bool known;    /* looked at since the inputs changed */
    size_t n;      /* grid length, missing points included; 0: no grid */
    bool in_order; /* place[i] = i */
    bool repeats;  /* two inputs at one place (gp_set_apart, other columns) */
    double x0, step;
    size_t *place;
    size_t missing[GRID_MAX_SPECIAL]; /* n - (number of inputs) of them, if they are few */
};

/* Of inputs with several columns the first one counts. */
const struct gp_places *gp_places(struct gp *g);

/* What a gradient asks for besides the value; see gp_grad_weighted. */
struct gp_slopes {
    double weight;
    double *dkern, *dmean, *dnoise; /* dmean, dnoise may be NULL */
};
#endif
