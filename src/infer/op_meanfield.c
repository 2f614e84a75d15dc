/* SPDX-License-Identifier: Apache-2.0
 *
 * Mean-field proposals: independent normals in the unconstrained space of the block's continuous
 * choices, fitted by stochastic gradients of the evidence bound with reparameterised draws and
 * Adam steps (Kucukelbir et al. 2017, Kingma and Ba 2015); then one draw from them, corrected by
 * Metropolis-Hastings:
 *
 *     z_i = centre_i + scale_i (m_i + s_i e_i),  e ~ N(0, 1)
 *     bound(m, s) = E_e log p(z) + sum log s_i + const
 *     log alpha = log p(z') - log p(z) + log q(z) - log q(z')
 *                 + log P(block | new) - log P(block | old)
 *
 * The fit starts at draws from the prior and never looks at the current values, so it is a fixed
 * independence proposal from their point of view and the correction is exact, however badly it is
 * trained. Blocks without continuous choices are proposed from the prior. */
#include "infer/continuous.h"

#include <math.h>
#include <string.h>

enum { PRIOR_DRAWS = 10, DRAWS_PER_STEP = 4 };

struct fit {
    size_t n;
    double *m, *log_s;       /* of the normals, in units of centre and scale */
    double *centre, *scale;  /* of draws from the prior */
    double *adam;            /* 4 n: first and second moments */
    double *z, *g, *e, *sum; /* scratch; sum: 2 n */
    double *all;
};

static void fit_init(struct fit *f, size_t n) {
    double *p = f->all = mem_zalloc((13 * n + 1) * sizeof(double));
    f->n = n;
    f->m = p;
    f->log_s = p + n;
    f->centre = p + 2 * n;
    f->scale = p + 3 * n;
    f->adam = p + 4 * n;
    f->z = p + 8 * n;
    f->g = p + 9 * n;
    f->e = p + 10 * n;
    f->sum = p + 11 * n;
}

/* Units for the fit: mean and spread of a few draws from the prior (Welford 1962), so that m = 0,
 * s = 1 is about the prior. */
static enum gpm_status look_at_prior(struct continuous *c, struct fit *f) {
    double seen = 0;
    double *m2 = mem_zalloc((f->n + 1) * sizeof *m2);
    enum gpm_status st = GPM_OK;
    for (int k = 0; k < PRIOR_DRAWS && st == GPM_OK; k++) {
        bool ok = false;
        st = continuous_prior(c, f->z, NULL, &ok);
        if (st != GPM_OK || !ok) continue;
        seen++;
        for (size_t i = 0; i < f->n; i++) {
            double d = f->z[i] - f->centre[i];
            f->centre[i] += d / seen;
            m2[i] += d * (f->z[i] - f->centre[i]);
        }
    }
    for (size_t i = 0; i < f->n; i++) {
        f->scale[i] = seen > 1 ? sqrt(m2[i] / (seen - 1)) : 1;
        if (!(f->scale[i] > 1e-6)) f->scale[i] = 1;
    }
    mem_free(m2);
    return st;
}

/* Gradient of the bound in m and log s, summed over a few draws into f->sum:
 *
 *     d/dm = g scale,   d/d log s = g scale s e + 1,   g = d log p / dz
 *
 * the 1 from the entropy. Draws where the model is impossible tell no direction and are left out;
 * *used counts the others. */
static enum gpm_status bound_gradient(struct continuous *c, struct fit *f, double *used) {
    memset(f->sum, 0, 2 * f->n * sizeof(double));
    *used = 0;
    for (int k = 0; k < DRAWS_PER_STEP; k++) {
        double logp;
        for (size_t i = 0; i < f->n; i++) {
            f->e[i] = rng_normal(&c->t->rng);
            f->z[i] = f->centre[i] + f->scale[i] * (f->m[i] + exp(f->log_s[i]) * f->e[i]);
        }
        enum gpm_status st = continuous_eval(c, f->z, &logp, f->g);
        if (st != GPM_OK) return st;
        if (logp == -INFINITY) continue;
        ++*used;
        for (size_t i = 0; i < f->n; i++) {
            double g = f->g[i] * f->scale[i];
            f->sum[i] += g;
            f->sum[f->n + i] += g * exp(f->log_s[i]) * f->e[i] + 1;
        }
    }
    return GPM_OK;
}

/* The rate falls to a tenth over the training; decays 0.8 and 0.95 forget faster than Adam's usual
 * ones, as there are about twenty steps. log s is held in [-12, 3]. */
static void adam_step(struct fit *f, double used, double k, double steps) {
    double rate = 0.3 * (1 - 0.9 * k / steps);
    for (size_t i = 0; i < 2 * f->n; i++) {
        double g = f->sum[i] / used, *m = &f->adam[i], *v = &f->adam[2 * f->n + i];
        *m = 0.8 * *m + 0.2 * g;
        *v = 0.95 * *v + 0.05 * g * g;
        double mh = *m / (1 - pow(0.8, k + 1)), vh = *v / (1 - pow(0.95, k + 1));
        double *to = i < f->n ? &f->m[i] : &f->log_s[i - f->n];
        *to += rate * mh / (sqrt(vh) + 1e-8);
        if (i >= f->n) *to = fmax(-12, fmin(3, *to));
    }
}

static enum gpm_status train(struct continuous *c, struct fit *f, double steps) {
    enum gpm_status st = look_at_prior(c, f);
    for (double k = 0; k < steps && st == GPM_OK; k++) {
        double used;
        st = bound_gradient(c, f, &used);
        if (st == GPM_OK && used > 0) adam_step(f, used, k, steps);
    }
    return st;
}

/* Without the constant -n/2 log 2 pi, which cancels in the ratio. */
static double log_q(const struct fit *f, const double *z) {
    double sum = 0;
    for (size_t i = 0; i < f->n; i++) {
        double e = ((z[i] - f->centre[i]) / f->scale[i] - f->m[i]) / exp(f->log_s[i]);
        sum -= e * e / 2 + f->log_s[i] + log(f->scale[i]);
    }
    return sum;
}

static enum gpm_status meanfield_step(struct step *s) {
    struct continuous c;
    struct fit f;
    struct rng *rng = &s->t->rng;
    double logp = -INFINITY;
    enum gpm_status st = continuous_open(s, true, &c);
    if (st != GPM_OK) return st;
    if (!c.n_parts) return move_mh(s);
    fit_init(&f, c.n_z);
    st = train(&c, &f, s->g->extra[0].u.num);
    for (size_t i = 0; i < f.n; i++)
        f.z[i] = f.centre[i] + f.scale[i] * (f.m[i] + exp(f.log_s[i]) * rng_normal(rng));
    if (st == GPM_OK) st = continuous_build(&c, f.z, &logp);
    s->accepted = st == GPM_OK && logp > -INFINITY &&
                  step_accept(s, c.w_old, logp, log_q(&f, c.old) - log_q(&f, f.z));
    mem_free(f.all);
    continuous_close(&c, s->accepted);
    return st;
}

const struct infer_op infer_meanfield_rows[] = {
    {"meanfield",
     "(scope: target, block?: block, training_steps?: count, transitions?: "
     "count) -> action",
     "fits independent proposals for the block, then makes one corrected draw from them",
     STEPS(meanfield_step, "one"), .n_extra = 1, .extra = {20}},
    {0},
};
