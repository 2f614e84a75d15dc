/* SPDX-License-Identifier: Apache-2.0
 *
 * Ascent of the local log joint in the choices' own space: gradient_ascent with a fixed rate, and
 * nesterov with momentum. A step is halved while it leaves the support, makes the model impossible
 * or goes downhill (a rate suitable for one parameter overshoots another). The ascent ends after 40
 * halvings without success. */
#include "inference/hmc/continuous.h"

#include <math.h>
#include <string.h>

enum { PLAIN, MOMENTUM };
enum { MAX_HALVINGS = 40 };

/* Moves from `at` along g to a point *to whose log density *logp is at least `floor` and not -inf.
 * *moved is false if `tries` attempts find no such point. */
static enum gpm_status op_ascent_step(struct continuous *c, const double *at, const double *g,
                                      double rate, double floor, int tries, double *to,
                                      double *logp, bool *moved) {
    *moved = false;
    for (int k = 0; k < tries && !*moved; k++, rate /= 2) {
        for (size_t i = 0; i < c->n_z; i++) to[i] = at[i] + rate * g[i];
        enum gpm_status st = continuous_eval(c, to, logp, NULL);
        if (st != GPM_OK) return st;
        *moved = *logp > -INFINITY && *logp >= floor;
    }
    return GPM_OK;
}

/* z_k is the present point, y_k the point of the gradient; momentum (Nesterov 1983):
 *
 *     z_{k+1} = y_k + rate grad(y_k)
 *     t_{k+1} = (1 + sqrt(1 + 4 t_k^2)) / 2
 *     y_{k+1} = z_{k+1} + (t_k - 1) / t_{k+1} (z_{k+1} - z_k)
 *
 * Without momentum y = z. If momentum leads downhill or out of the support it is reset: y = z and t
 * = 1 (O'Donoghue and Candes 2015). Otherwise it would leave narrow maxima forever. */
static enum gpm_status climb(struct continuous *c, const struct target *how, double *z) {
    size_t n = c->n_z;
    double *g = NEW_ARRAY(double, 3 * n + 1), *y = g + n, *next = y + n;
    double t = 1, here, there, at_z, rate = how->extra[0].u.num, steps = how->extra[1].u.num;
    bool moved = true, momentum = how->op->how == MOMENTUM;
    enum gpm_status st = continuous_eval(c, z, &at_z, NULL);
    memcpy(y, z, n * sizeof *y);
    for (double k = 0; k < steps && moved && st == GPM_OK; k++) {
        moved = false;
        for (bool carried = t > 1; !moved && st == GPM_OK; carried = false) {
            st = continuous_eval(c, y, &here, g);
            if (st == GPM_OK && here > -INFINITY)
                st = op_ascent_step(c, y, g, rate, at_z, carried ? 1 : MAX_HALVINGS, next, &there,
                                    &moved);
            if (!carried || moved) break;
            memcpy(y, z, n * sizeof *y);
            t = 1;
        }
        if (st != GPM_OK || !moved) break;
        double t_next = (1 + sqrt(1 + 4 * t * t)) / 2, push = momentum ? (t - 1) / t_next : 0;
        for (size_t i = 0; i < n; i++) y[i] = next[i] + push * (next[i] - z[i]);
        memcpy(z, next, n * sizeof *z);
        at_z = there;
        t = momentum ? t_next : 1;
    }
    mem_free(g);
    return st;
}

/* An optimiser, not a sampler: it only rejects an impossible end, and the posterior is not left
 * invariant. */
static enum gpm_status ascent_step(struct step *s) {
    struct continuous c;
    enum gpm_status st = continuous_open(s, false, &c);
    if (st != GPM_OK || !c.n_parts) return st;
    double *z = NEW_ARRAY(double, c.n_z + 1), logp = -INFINITY;
    memcpy(z, c.old, c.n_z * sizeof *z);
    st = climb(&c, s->g, z);
    if (st == GPM_OK) {
        struct rng now = s->t->rng;
        s->t->rng = c.frozen; /* the brush used during the climb */
        st = continuous_build(&c, z, &logp);
        s->t->rng = now;
    }
    s->accepted = st == GPM_OK && logp > -INFINITY;
    mem_free(z);
    continuous_close(&c, s->accepted);
    return st;
}

#define ASCENT_SIG                                                                                 \
    "(scope: target, block?: block, rate?: nonneg, steps?: count, transitions?: count) -> action"
#define ASCENT                                                                                     \
    STEPS(ascent_step, "all"), .n_extra = 2, .extra = {0.01, 1}, .needs = NEEDS_CONTINUOUS
const struct infer_op infer_ascent_rows[] = {
    {"gradient_ascent", ASCENT_SIG,
     "moves the block uphill by rate times the gradient, `steps` times", ASCENT, .how = PLAIN},
    {"grad_ascent", ASCENT_SIG, "the same as gradient_ascent", ASCENT, .how = PLAIN},
    {"nesterov", ASCENT_SIG,
     "gradient ascent with Nesterov's momentum: `steps` of rate times the gradient", ASCENT,
     .how = MOMENTUM},
    {0},
};
