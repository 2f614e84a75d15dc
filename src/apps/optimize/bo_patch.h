/* SPDX-License-Identifier: Apache-2.0
 *
 * The local arm's model: a small Gaussian process around a point whose kernel is a Bayesian
 * quadratic plus a smooth remainder,
 *
 *   k(x,y) = 10 + 10 x.y + 3 (x.y)^2 + 0.3 exp(-|x-y|^2/8),   nugget 1e-11,
 *
 * in coordinates divided by the radius rho. Values are taken relative to those at the centre and
 * scaled by their local spread, so precision is relative to the region: it converges to the last
 * bits. All numbers of an evaluation share the factor, each has its own weights.
 */
#ifndef OPTIMIZE_BO_PATCH_H
#define OPTIMIZE_BO_PATCH_H
#include "apps/optimize/bo_priv.h"

struct bo_patch {
    struct bo *b;
    int d;                     /* coordinates that move */
    int *coord;                /* owned; their places in u */
    double *scale;             /* owns what follows; rho * l_j/geomean l */
    const double *center, *y0; /* the point, its numbers */
    double idle;               /* see bo_idle */
    size_t n, near;            /* points used; of them within 2 rho */
    double *x;                 /* n x d */
    double *t;                 /* values, then weights: K times n */
    double *row, *L;
    double *unit;                    /* K: y per unit of t; 0: all are the same */
    double *lo, *hi, *trial, *slope; /* the box; a point of it; gradients, K of d each */
    double *z;                       /* K: values of the model */
};

void bo_patch_init(struct bo_patch *p, struct bo *b); /* around the local arm's centre */
void bo_patch_release(struct bo_patch *p);
/* Loads the points of the region and its factor; false: impossible. */
GPM_MUST_USE bool bo_patch_load(struct bo_patch *p);
bool bo_patch_flat(const struct bo_patch *p); /* every value is the same */
/* The point of which least is known. */
void bo_patch_probe(struct bo_patch *p, struct rng *r, double *x);
/* The point to try: least value within the bounds. Returns by how much the merit will decrease as
 * the model sees it; sets what the local arm remembers of the step. */
double bo_patch_minimise(struct bo_patch *p, struct rng *r, double *x);
#endif
