/* SPDX-License-Identifier: Apache-2.0
 * Chains of Hamiltonian Monte Carlo: see rchains.h. */
#include "regress/rchains.h"
#include "base/mem.h"
#include "infer/diagnostics.h"
#include "la/parallel.h"
#include <math.h>
#include <string.h>

#define TARGET  0.8 /* acceptance that the step is adapted to */
#define LONGEST 0.6 /* step */
#define QUARTER 1.4 /* mean length of trajectories: what a tail adds makes it less than pi / 2 */

enum { MOST_STEPS = 16, WARM = 12 };

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

/* One transition, of a step that is shorter by chance: where the density is narrower than at the
 * mode some get through. The probability with which it was accepted. */
static double transition(struct chain *c) {
    int d = c->f.d;
    double p[PROPOSAL_MAX_DIM], h = -c->logp, eps = c->eps * (0.6 + 0.4 * rng_uniform(&c->r));
    int steps = 1 + (int)((0.5 + rng_uniform(&c->r)) * QUARTER / eps);
    if (steps > MOST_STEPS) steps = MOST_STEPS;
    struct chain old = *c;
    for (int i = 0; i < d; i++) p[i] = rng_normal(&c->r), h += 0.5 * p[i] * p[i];
    for (int s = 0; s < steps && isfinite(c->logp); s++) {
        for (int i = 0; i < d; i++) {
            p[i] += 0.5 * eps * c->g[i];
            c->t[i] += eps * p[i];
        }
        evaluate(c);
        for (int i = 0; i < d && isfinite(c->logp); i++) p[i] += 0.5 * eps * c->g[i];
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
    size_t n, room, round; /* transitions of a chain in a round, in all rounds; the round */
    struct chain of[RCHAINS];
    double *all; /* chains x room x d, after the warm-up */
    double accepted[RCHAINS];
};

/* At a draw of the normal distribution, so that chains begin apart from each other as they should
 * end; half as far from the mode, and again, where the density is nothing. */
static void start(struct chain *c) {
    for (int i = 0; i < c->f.d; i++) c->t[i] = rng_normal(&c->r);
    evaluate(c);
    for (int k = 0; k < 5 && !isfinite(c->logp); k++) {
        for (int i = 0; i < c->f.d; i++) c->t[i] *= k < 4 ? 0.5 : 0;
        evaluate(c);
    }
}

static void warm_up(struct chain *c, size_t n) {
    start(c);
    for (size_t i = 0; i < n; i++) /* Robbins and Monro's way to the target */
        c->eps = fmin(LONGEST, c->eps * exp((transition(c) - TARGET) / sqrt(1 + (double)i / 4)));
}

static void run_chain(void *ctx, size_t number, int thread) {
    struct job *j = ctx;
    struct chain *c = &j->of[number];
    size_t d = (size_t)c->f.d, from = number * j->room + j->round * j->n;
    UNUSED(thread);
    if (!j->round) warm_up(c, WARM + j->n / 5);
    for (size_t i = 0; i < j->n; i++) {
        j->accepted[number] += transition(c);
        memcpy(j->all + (from + i) * d, c->z, d * sizeof c->z[0]);
    }
}

/* R-hat and effective draws of all transitions so far, n of each chain. */
static void judge(const struct job *j, size_t d, size_t n) {
    double *x = NEW_ARRAY(double, RCHAINS *n + 1);
    struct draws_tables *t = draws_tables_new();
    j->c->rhat = 1, j->c->ess = INFINITY;
    for (size_t i = 0; i < d; i++) {
        struct draws_summary s;
        for (size_t k = 0; k < RCHAINS * n; k++) x[k] = j->all[(k / n * j->room + k % n) * d + i];
        draws_summarise(t, x, NULL, RCHAINS, n, &s);
        j->c->rhat = fmax(j->c->rhat, s.rhat), j->c->ess = fmin(j->c->ess, s.ess_bulk);
    }
    draws_tables_free(t);
    mem_free(x);
}

/* Evenly from all rounds, chain after chain. */
static void keep(const struct job *j, size_t d, size_t n) {
    size_t each = j->c->kept / RCHAINS;
    for (size_t k = 0; k < each * RCHAINS; k++) {
        size_t at = k / each * j->room + (k % each + 1) * n / each - 1;
        memcpy(j->c->z + k * d, j->all + at * d, d * sizeof *j->all);
    }
}

void rchains_run(struct rchains *c, const struct proposal *q, rchains_density density, void *ctx,
                 uint64_t seed, int threads) {
    size_t d = (size_t)q->d, n = c->kept / RCHAINS * c->apart, most = c->rounds ? c->rounds : 1;
    struct job j = {.c = c, .n = n, .room = n * most};
    j.all = NEW_ARRAY(double, RCHAINS *j.room *d + 1);
    for (int i = 0; i < RCHAINS; i++) {
        j.of[i] = (struct chain){.m = &q->mode[0], .f = density(ctx, i), .eps = 0.4};
        rng_init(&j.of[i].r, seed, 19, (uint32_t)i);
    }
    bool settled = false;
    for (c->rounds = 0; c->rounds < most && !settled;) {
        j.round = c->rounds++;
        la_parallel(threads, RCHAINS, run_chain, &j);
        judge(&j, d, n * c->rounds);
        settled = (c->rhat < RCHAINS_SETTLED && c->ess >= (double)c->kept / 2) ||
                  stop_asked(j.of[0].f.stop);
    }
    keep(&j, d, n * c->rounds);
    c->acceptance = 0;
    for (int i = 0; i < RCHAINS; i++)
        c->acceptance += j.accepted[i] / (double)(RCHAINS * n * c->rounds);
    mem_free(j.all);
}
