/* SPDX-License-Identifier: Apache-2.0
 *
 * Random-walk Metropolis on the continuous choices of a block, in their unconstrained space:
 *
 *     z' = z + scale e,  e ~ N(0, 1) for every number
 *
 * The proposal is symmetric in z, so the ratio is that of the densities of z, log Jacobians
 * included. No step can leave the support. A brush is drawn from its prior. */
#include "inference/hmc/continuous.h"

#include <math.h>

static enum gpm_status drift_step(struct step *s) {
    struct continuous c;
    double logp = -INFINITY;
    s->redraws = true;
    enum gpm_status st = continuous_open(s, true, &c);
    if (st != GPM_OK || !c.n_parts) return st;
    double *z = NEW_ARRAY(double, c.n_z + 1), scale = s->g->extra[0].u.num;
    for (size_t i = 0; i < c.n_z; i++) z[i] = c.old[i] + scale * rng_normal(&s->t->rng);
    st = continuous_build(&c, z, &logp);
    s->accepted = st == GPM_OK && move_built(&c.m) && step_accept(s, c.w_old, logp, 0);
    mem_free(z);
    continuous_close(&c, s->accepted);
    return st;
}

const struct infer_op infer_drift_rows[] = {
    {"drift", "(scope: target, block?: block, scale?: positive, transitions?: count) -> action",
     "random-walk Metropolis on the continuous choices of the block: normal steps of standard "
     "deviation `scale` (0.5) in their unconstrained space",
     STEPS(drift_step, "one"), .n_extra = 1, .extra = {0.5}, .needs = NEEDS_CONTINUOUS},
    {0},
};
