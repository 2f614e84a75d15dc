/* SPDX-License-Identifier: Apache-2.0
 * Chains of Hamiltonian Monte Carlo: see rchains.h. */
#include "regress/rchains.h"
#include "base/mem.h"
#include "infer/diagnostics.h"
#include "la/parallel.h"
#include <math.h>
#include <string.h>

#define TARGET 0.8 /* acceptance that the step is adapted to */

struct chain { /* a point of phase space in standard coordinates, and the way back */
    const struct mode *m;
    struct density f;
    struct rng r;
    double t[PROPOSAL_MAX_DIM], g[PROPOSAL_MAX_DIM], z[PROPOSAL_MAX_DIM], logp;
    double eps;
};

/* logp, z and g = d logp / dt = scale' d logp / dz at t. */
static void evaluate(struct chain *c) {
    int d = c->f.d;
    double dz[PROPOSAL_MAX_DIM];
    for (int i = 0; i < d; i++) {
        c->z[i] = c->m->z[i];
        for (int j = 0; j < d; j++) c->z[i] += c->m->scale[i + j * d] * c->t[j];
    }
    c->logp = density_eval(&c->f, c->z, dz);
    if (!isfinite(c->logp)) return;
    for (int j = 0; j < d; j++) {
        c->g[j] = 0;
        for (int i = 0; i < d; i++) c->g[j] += c->m->scale[i + j * d] * dz[i];
    }
}

/* One transition; the probability with which it was accepted. */
static double transition(struct chain *c) {
    int d = c->f.d, steps = 4 + (int)rng_below(&c->r, 7);
    double p[PROPOSAL_MAX_DIM], h = -c->logp;
    struct chain old = *c;
    for (int i = 0; i < d; i++) p[i] = rng_normal(&c->r), h += 0.5 * p[i] * p[i];
    for (int s = 0; s < steps && isfinite(c->logp); s++) {
        for (int i = 0; i < d; i++) {
            p[i] += 0.5 * c->eps * c->g[i];
            c->t[i] += c->eps * p[i];
        }
        evaluate(c);
        for (int i = 0; i < d && isfinite(c->logp); i++) p[i] += 0.5 * c->eps * c->g[i];
    }
    double end = -c->logp;
    for (int i = 0; i < d; i++) end += 0.5 * p[i] * p[i];
    double accept = isfinite(end) ? fmin(1, exp(h - end)) : 0;
    old.r = c->r;
    if (!(rng_uniform(&old.r) < accept)) {
        *c = old;
        return accept;
    }
    c->r = old.r;
    return accept;
}

struct job {
    struct rchains *c;
    const struct proposal *q;
    rchains_density density;
    void *ctx;
    uint64_t seed;
    double accepted[RCHAINS];
};

static void run_chain(void *ctx, size_t number, int thread) {
    struct job *j = ctx;
    size_t keep = j->c->kept / RCHAINS, warm = 20 + keep * j->c->apart / 4;
    struct chain c = {.m = &j->q->mode[0], .f = j->density(j->ctx, (int)number), .eps = 0.3};
    size_t d = (size_t)c.f.d;
    UNUSED(thread);
    rng_init(&c.r, j->seed, 19, (uint32_t)number);
    for (size_t i = 0; i < d; i++) c.t[i] = 0.3 * rng_normal(&c.r);
    evaluate(&c);
    if (!isfinite(c.logp)) {
        memset(c.t, 0, sizeof c.t);
        evaluate(&c);
    }
    for (size_t i = 0; i < warm; i++) /* Robbins and Monro's way to the target */
        c.eps *= exp((transition(&c) - TARGET) / sqrt(1 + (double)i / 4));
    c.eps = fmin(c.eps, 0.6);
    for (size_t i = 0; i < keep; i++) {
        for (size_t k = 0; k < j->c->apart; k++)
            j->accepted[number] += transition(&c) / (double)(keep * j->c->apart);
        memcpy(j->c->z + (number * keep + i) * d, c.z, d * sizeof c.z[0]);
    }
}

static double worst_rhat(const struct rchains *c, size_t d) {
    double worst = 1, *x = NEW_ARRAY(double, c->kept);
    struct draws_tables *t = draws_tables_new();
    for (size_t i = 0; i < d; i++) {
        struct draws_summary s;
        for (size_t k = 0; k < c->kept; k++) x[k] = c->z[k * d + i];
        draws_summarise(t, x, RCHAINS, c->kept / RCHAINS, &s);
        worst = fmax(worst, s.rhat);
    }
    draws_tables_free(t);
    mem_free(x);
    return worst;
}

void rchains_run(struct rchains *c, const struct proposal *q, rchains_density density, void *ctx,
                 uint64_t seed, int threads) {
    struct job j = {c, q, density, ctx, seed, {0}};
    la_parallel(threads, RCHAINS, run_chain, &j);
    c->acceptance = 0;
    for (int i = 0; i < RCHAINS; i++) c->acceptance += j.accepted[i] / RCHAINS;
    c->rhat = worst_rhat(c, (size_t)q->d);
}
