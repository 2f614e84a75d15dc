/* SPDX-License-Identifier: Apache-2.0
 *
 * Ascent of the local log joint in the choices' own space: gradient_ascent with a fixed rate, and
 * nesterov with momentum. A step that leaves the support or makes the model impossible is halved
 * until it does not; so is a step of gradient_ascent that leads downhill (a rate that suits one
 * parameter overshoots another). When 40 halvings do not help the ascent ends there. */
#include "infer/continuous.h"

#include <math.h>
#include <string.h>

struct ascent {
    double rate, steps;
    bool momentum;
};

enum { MAX_HALVINGS = 40 };

/* From `at` along g to a place whose log density is at least `floor` and not -inf: *to. *moved
 * false: there is none. */
static enum gpm_status step(struct continuous *c, const double *at, const double *g, double rate,
                            double floor, double *to, bool *moved) {
    *moved = false;
    for (int k = 0; k < MAX_HALVINGS && !*moved; k++, rate /= 2) {
        double logp;
        for (size_t i = 0; i < c->n_z; i++) to[i] = at[i] + rate * g[i];
        enum gpm_status st = continuous_eval(c, to, &logp, NULL);
        if (st != GPM_OK) return st;
        *moved = logp > -INFINITY && logp >= floor;
    }
    return GPM_OK;
}

/* z_k is the place, y_k where the gradient is taken; momentum (Nesterov 1983):
 *
 *     z_{k+1} = y_k + rate grad(y_k)
 *     t_{k+1} = (1 + sqrt(1 + 4 t_k^2)) / 2
 *     y_{k+1} = z_{k+1} + (t_k - 1) / t_{k+1} (z_{k+1} - z_k)
 *
 * Without momentum y = z. Nesterov's steps may lead downhill for a while, so they have no floor. */
static enum gpm_status climb(struct continuous *c, const struct ascent *a, double *z) {
    size_t n = c->n_z;
    double *g = NEW_ARRAY(double, n + 1), *y = NEW_ARRAY(double, n + 1),
           *next = NEW_ARRAY(double, n + 1);
    double t = 1, logp;
    bool moved = true;
    enum gpm_status st = GPM_OK;
    memcpy(y, z, n * sizeof *y);
    for (double k = 0; k < a->steps && moved && st == GPM_OK; k++) {
        st = continuous_eval(c, y, &logp, g);
        if (st == GPM_OK &&
            logp == -INFINITY) { /* momentum left the support: start anew from here */
            memcpy(y, z, n * sizeof *y);
            t = 1;
            st = continuous_eval(c, y, &logp, g);
        }
        if (st == GPM_OK) st = step(c, y, g, a->rate, a->momentum ? -INFINITY : logp, next, &moved);
        if (st != GPM_OK || !moved) break;
        double t_next = (1 + sqrt(1 + 4 * t * t)) / 2, push = a->momentum ? (t - 1) / t_next : 0;
        for (size_t i = 0; i < n; i++) y[i] = next[i] + push * (next[i] - z[i]);
        memcpy(z, next, n * sizeof *z);
        t = t_next;
    }
    mem_free(g);
    mem_free(y);
    mem_free(next);
    return st;
}

/* An optimiser, not a sampler: nothing is accepted or rejected but an impossible end, and the
 * posterior is not left invariant. */
static enum gpm_status ascent_transition(struct infer_state *x, struct trace *t, struct node **at,
                                         size_t n, const struct mh_extra *extra, void *ctx,
                                         bool *accepted) {
    struct continuous c;
    enum gpm_status st = continuous_open(x, t, at, n, false, &c);
    if (st != GPM_OK || !c.n_parts) return st;
    double *z = NEW_ARRAY(double, c.n_z + 1), logp = -INFINITY;
    memcpy(z, c.old, c.n_z * sizeof *z);
    st = climb(&c, ctx, z);
    if (st == GPM_OK) {
        struct rng now = t->rng;
        t->rng = c.frozen; /* the brush that was climbed on */
        st = continuous_build(&c, z, &logp);
        t->rng = now;
    }
    *accepted = st == GPM_OK && logp > -INFINITY;
    mem_free(z);
    continuous_close(&c, *accepted);
    return st;
}

static enum gpm_status ascending(struct infer_state *x, const char *op, bool momentum,
                                 const value *args, size_t n, value *out) {
    struct target g;
    struct ascent a = {.momentum = momentum};
    value extra[2] = {value_num(0.01), value_num(1)};
    const struct target_form form = {op, "all", 2, false};
    enum gpm_status st = infer_target(x, &form, args, n, extra, &g);
    a.rate = extra[0].u.num;
    a.steps = extra[1].u.num;
    if (st == GPM_OK) st = infer_transitions(x, &g, ascent_transition, &a);
    if (st == GPM_OK) *out = NIL;
    return st;
}

static enum gpm_status op_gradient_ascent(struct infer_state *x, const value *args, size_t n,
                                          value *out) {
    return ascending(x, "gradient_ascent", false, args, n, out);
}

static enum gpm_status op_nesterov(struct infer_state *x, const value *args, size_t n, value *out) {
    return ascending(x, "nesterov", true, args, n, out);
}

#define ASCENT_SIG                                                                                 \
    "(scope: target, block?: block, rate?: nonneg, steps?: count, transitions?: count) -> action"
const struct infer_op infer_ascent_rows[] = {
    {"gradient_ascent", ASCENT_SIG,
     "moves the block uphill by rate times the gradient, `steps` times", NULL, OP_STEPS,
     op_gradient_ascent},
    {"grad_ascent", ASCENT_SIG, "the same as gradient_ascent", NULL, OP_STEPS, op_gradient_ascent},
    {"nesterov", ASCENT_SIG, "gradient ascent with Nesterov's momentum", NULL, OP_STEPS,
     op_nesterov},
};
const size_t infer_ascent_count = COUNT_OF(infer_ascent_rows);
