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
#include "gp/kern_plan.h"

struct gp;
struct gp_slot;

/* Most missing points and points with another number of measurements together. */
#define GRID_MAX_SPECIAL 8

/* Where the distinct inputs lie: input i at x0 + place[i] * step. */
struct gp_places {
    bool known;    /* looked at since the inputs changed */
    size_t n;      /* grid length, missing points included; 0: no grid */
    bool in_order; /* place[i] = i */
    bool repeats;  /* two inputs at one place (gp_set_apart) */
    double x0, step;
    size_t *place;
    size_t missing[GRID_MAX_SPECIAL]; /* n - (number of inputs) of them, if so few */
};

const struct gp_places *gp_places(struct gp *g);

/* What a gradient asks for besides the value; see gp_grad_weighted. */
struct gp_slopes {
    double weight;
    double *dkern, *dmean, *dnoise; /* dmean, dnoise may be NULL */
};

/* Sets s->logml and, when want is not NULL, the slopes. *done is false when inputs or kernel do not
 * fit, or the matrix is too ill-conditioned for these recursions: the caller then factors densely.
 */
GPM_MUST_USE enum gpm_status gp_grid_logml(struct gp *g, struct gp_slot *s,
                                           const struct gp_slopes *want, bool *done);

/* ---- the terms of the kernel (gp_grid_terms.c) ---- */
enum grid_kind { GRID_STATIONARY, GRID_WHITE, GRID_CONSTANT, GRID_RANK_ONE, GRID_WALK };
struct grid_term {
    enum grid_kind kind;
    const struct kern *k;
    size_t at;        /* of its first parameter in the flat vector */
    double amp;       /* white noise, constants, walks: variance */
    int order;        /* walks: 1 Wiener, 2 integrated */
    double since;     /* how long it has run at the first point */
    struct plan plan; /* stationary: lags against lag 0; rank one: the inputs */
    bool planned;
};
/* Sorts a term of the kernel; false when it is of none of these kinds. */
bool grid_sort(const struct kern *k, size_t at, double x0, struct grid_term *out);
/* Derivatives of amplitudes; unit = sum of M dK/d(variance). */
void grid_amp_grad(const struct grid_term *t, double unit, double *g);
#endif
