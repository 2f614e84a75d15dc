/* SPDX-License-Identifier: Apache-2.0
 *
 * Mean-field proposals: independent normals in the unconstrained space of the block's continuous
 * choices, fitted by stochastic gradients of the evidence bound with reparameterised draws and Adam
 * steps (Kucukelbir et al. 2017, Kingma and Ba 2015); then one draw from them, corrected by
 * Metropolis-Hastings:
 *
 *     z_i = centre_i + scale_i (m_i + s_i e_i),  e ~ N(0, 1)
 *     bound(m, s) = E_e log p(z) + sum log s_i + const
 *     log alpha = log p(z') - log p(z) + log q(z) - log q(z')
 *                 + log P(block | new) - log P(block | old)
 *
 * The fit starts at draws from the prior and never uses the current values. So it is a fixed
 * independence proposal, and the correction is exact however badly it is trained. Blocks without
 * continuous choices are proposed from the prior. */
#include "inference/hmc/continuous.h"

#include <math.h>

enum { PRIOR_DRAWS = 10, DRAWS_PER_STEP = 4 };

/* One coordinate of the fitted normal, in units from draws of the prior. */
struct coordinate {
    double centre, scale, m2; /* mean, spread and squared deviations of draws from the prior */
    double at[2];             /* mean and log s of the normal, in these units */
    double sum[2], first[2], second[2]; /* gradient of the bound in `at`; Adam's moments of it */
    double e;                           /* standard normal draw behind z */
};
struct fit {
    size_t n;
    struct coordinate *of;
    double *z, *g; /* scratch */
};

static double to_z(const struct coordinate *k, double e) {
    return k->centre + k->scale * (k->at[0] + exp(k->at[1]) * e);
}

/* Units for the fit: mean and spread of a few draws from the prior (Welford 1962), so m = 0, s = 1
 * approximates the prior. */
static enum gpm_status look_at_prior(struct continuous *c, struct fit *f) {
    double seen = 0;
    enum gpm_status st = GPM_OK;
    for (int k = 0; k < PRIOR_DRAWS && st == GPM_OK; k++) {
        bool ok = false;
        st = continuous_prior(c, f->z, NULL, &ok);
        if (st != GPM_OK || !ok) continue;
        seen++;
        for (size_t i = 0; i < f->n; i++) {
            struct coordinate *q = &f->of[i];
            double d = f->z[i] - q->centre;
            q->centre += d / seen;
            q->m2 += d * (f->z[i] - q->centre);
        }
    }
    for (size_t i = 0; i < f->n; i++) {
        f->of[i].scale = seen > 1 ? sqrt(f->of[i].m2 / (seen - 1)) : 1;
        if (!(f->of[i].scale > 1e-6)) f->of[i].scale = 1;
    }
    return st;
}

/* Gradient of the bound in m and log s, summed over a few draws:
 *
 *     d/dm = g scale,   d/d log s = g scale s e + 1,   g = d log p / dz
 *
 * where the 1 is from the entropy. Draws at which the model is impossible give no direction and are
 * left out; *used counts the others. */
static enum gpm_status bound_gradient(struct continuous *c, struct fit *f, double *used) {
    *used = 0;
    for (size_t i = 0; i < f->n; i++) f->of[i].sum[0] = f->of[i].sum[1] = 0;
    for (int k = 0; k < DRAWS_PER_STEP; k++) {
        double logp;
        for (size_t i = 0; i < f->n; i++) {
            f->of[i].e = rng_normal(&c->t->rng);
            f->z[i] = to_z(&f->of[i], f->of[i].e);
        }
        enum gpm_status st = continuous_eval(c, f->z, &logp, f->g);
        if (st != GPM_OK) return st;
        if (logp == -INFINITY) continue;
        ++*used;
        for (size_t i = 0; i < f->n; i++) {
            struct coordinate *q = &f->of[i];
            double g = f->g[i] * q->scale;
            q->sum[0] += g;
            q->sum[1] += g * exp(q->at[1]) * q->e + 1;
        }
    }
    return GPM_OK;
}

/* The rate falls to a tenth over the training. Decays 0.8 and 0.95 forget faster than Adam's usual
 * ones, since there are only about twenty steps. log s is clamped to [-12, 3]. */
static void adam_step(struct coordinate *q, double used, double k, double steps) {
    double rate = 0.3 * (1 - 0.9 * k / steps);
    for (int i = 0; i < 2; i++) {
        double g = q->sum[i] / used;
        q->first[i] = 0.8 * q->first[i] + 0.2 * g;
        q->second[i] = 0.95 * q->second[i] + 0.05 * g * g;
        double mh = q->first[i] / (1 - pow(0.8, k + 1)), vh = q->second[i] / (1 - pow(0.95, k + 1));
        q->at[i] += rate * mh / (sqrt(vh) + 1e-8);
    }
    q->at[1] = fmax(-12, fmin(3, q->at[1]));
}

static enum gpm_status train(struct continuous *c, struct fit *f, double steps) {
    enum gpm_status st = look_at_prior(c, f);
    for (double k = 0; k < steps && st == GPM_OK; k++) {
        double used;
        st = bound_gradient(c, f, &used);
        for (size_t i = 0; i < f->n && st == GPM_OK && used > 0; i++)
            adam_step(&f->of[i], used, k, steps);
    }
    return st;
}

/* Without the constant -n/2 log 2 pi, which cancels in the ratio. */
static double log_q(const struct fit *f, const double *z) {
    double sum = 0;
    for (size_t i = 0; i < f->n; i++) {
        const struct coordinate *q = &f->of[i];
        double e = ((z[i] - q->centre) / q->scale - q->at[0]) / exp(q->at[1]);
        sum -= e * e / 2 + q->at[1] + log(q->scale);
    }
    return sum;
}

static enum gpm_status meanfield_step(struct step *s) {
    struct continuous c;
    double logp = -INFINITY;
    enum gpm_status st = continuous_open(s, true, &c);
    if (st != GPM_OK) return st;
    if (!c.n_parts) return move_mh(s);
    struct fit f = {c.n_z, mem_zalloc((c.n_z + 1) * sizeof *f.of), NEW_ARRAY(double, 2 * c.n_z + 1),
                    NULL};
    f.g = f.z + f.n;
    st = train(&c, &f, s->g->extra[0].u.num);
    for (size_t i = 0; i < f.n; i++) f.z[i] = to_z(&f.of[i], rng_normal(&s->t->rng));
    if (st == GPM_OK) st = continuous_build(&c, f.z, &logp);
    s->accepted = st == GPM_OK && move_built(&c.m) &&
                  step_accept(s, c.w_old, logp, log_q(&f, c.old) - log_q(&f, f.z));
    mem_free(f.of);
    mem_free(f.z);
    continuous_close(&c, s->accepted);
    return st;
}

const struct infer_op infer_meanfield_rows[] = {
    {"meanfield",
     "(scope: target, block?: block, training_steps?: count, transitions?: "
     "count) -> action",
     "fits independent proposals for the block in training_steps (20), then makes one corrected "
     "draw from them",
     STEPS(meanfield_step, "one"), .n_extra = 1, .extra = {20}, .needs = NEEDS_CONTINUOUS},
    {0},
};
