/* SPDX-License-Identifier: Apache-2.0
 *
 * A variable that sets what an evaluation costs (epochs, a grid's width, a share of the data). The
 * model has it as a coordinate s of its own kind (bo_model.h); points are chosen for s = 1, the
 * function meant, and then the s that takes most of the variance at (x, 1) away for its cost:
 *
 *   corr^2(f(x, 1), f(x, s)) / (cost(s) + overhead),    correlations of the posterior
 *
 * Only s = 1 can be an answer, so that less has to have twice its ratio. Where little cost tells
 * little, it does not. */
#include "apps/optimize/bo_priv.h"

#include <math.h>
#include <string.h>

#define OVERHEAD   0.05 /* of a full evaluation: nothing is for free */
#define CHEAP_MOST 5    /* in a row */
#define PAYS       2.0  /* less than the full cost: this many times its ratio */

/* The share of the full cost at coordinate s. */
static double cost_at(const struct bo *b, double s) {
    const struct bo_var *v = &b->space->vars[b->space->var_at[b->fidelity]];
    return bo_space_relaxed(b->space, b->fidelity, s) / v->hi;
}

/* Squared correlation of what is believed at the points u and v. */
static double correlation2(struct bo_output *o, const double *u, const double *v) {
    size_t D = (size_t)o->b->D;
    double *both = NEW_ARRAY(double, 2 * D), mean[2], cov[4], c = 0;
    memcpy(both, u, D * sizeof *both);
    memcpy(both + D, v, D * sizeof *both);
    if (!gp_predict_cov(o->model.gp, both, 2, GP_LATENT, mean, cov, 2) && cov[0] > 0 && cov[3] > 0)
        c = cov[1] * cov[1] / (cov[0] * cov[3]);
    mem_free(both);
    return c;
}

void bo_choose_fidelity(struct bo *b, double *u) {
    enum { LEVELS = 10 };
    if (b->fidelity < 0) return;
    double *t = NEW_ARRAY(double, (size_t)b->D), most = PAYS / (1 + OVERHEAD), chosen = 1;
    for (int i = 0; i < LEVELS && b->cheap < CHEAP_MOST; i++) {
        memcpy(t, u, (size_t)b->D * sizeof *t);
        t[b->fidelity] = (double)i / LEVELS;
        bo_space_snap(b->space, t);
        double worth = correlation2(bo_lead(b), u, t) / (cost_at(b, t[b->fidelity]) + OVERHEAD);
        if (!(worth > most) || bo_duplicate(b, t)) continue;
        most = worth;
        chosen = t[b->fidelity];
    }
    u[b->fidelity] = chosen;
    b->cheap = chosen < 1 ? b->cheap + 1 : 0;
    mem_free(t);
}
