/* SPDX-License-Identifier: Apache-2.0
 * Chains of Hamiltonian Monte Carlo: see rchains.h. */
#include "apps/regress/rchains.h"
#include "base/mem.h"
#include "numeric/posterior/diagnostics.h"
#include "numeric/la/blas.h"
#include "numeric/la/parallel.h"
#include "numeric/special/special.h"
#include <math.h>
#include <string.h>

#define TARGET  0.8 /* acceptance that the step is adapted to */
#define LONGEST 0.6 /* step */
#define QUARTER 1.4 /* mean length of trajectories: what a tail adds makes it less than pi / 2 */

#define LOST 10.0 /* nats of evidence below the best place of a chain */

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
    size_t n, room;      /* transitions of a chain in a round, in all rounds */
    size_t first, round; /* that counts, and the one at hand */
    struct chain of[RCHAINS];
    double *all; /* chains x room x (d + 1), after the warm-up: parameters, log density */
};

/* Far below what a normal distribution has at t: a trajectory from there may end anywhere. */
static bool too_low(const struct chain *c) {
    double square = 0;
    for (int i = 0; i < c->f.d; i++) square += c->t[i] * c->t[i];
    return !(c->logp > c->m->logp - square - 2);
}

/* At a draw of the normal distribution, so that chains begin apart from each other as they should
 * end; half as far from the mode, and again, where the density is next to nothing. */
static void start(struct chain *c) {
    for (int i = 0; i < c->f.d; i++) c->t[i] = rng_normal(&c->r);
    evaluate(c);
    for (int k = 0; k < 5 && too_low(c); k++) {
        for (int i = 0; i < c->f.d; i++) c->t[i] *= k < 4 ? 0.5 : 0;
        evaluate(c);
    }
}

static void warm_up(struct chain *c, size_t n) {
    for (size_t i = 0; i < n; i++) /* Robbins and Monro's way to the target */
        c->eps = fmin(LONGEST, c->eps * exp((transition(c) - TARGET) / sqrt(1 + (double)i / 4)));
}

static void run_chain(void *ctx, size_t number, int thread) {
    struct job *j = ctx;
    struct chain *c = &j->of[number];
    size_t d = (size_t)c->f.d, from = number * j->room + j->round * j->n;
    if (!j->round) start(c);
    if (j->round == j->first) warm_up(c, WARM + j->n / 5);
    for (size_t i = 0; i < j->n; i++) {
        double *row = j->all + (from + i) * (d + 1);
        (void)transition(c);
        memcpy(row, c->z, d * sizeof *row);
        row[d] = c->logp;
    }
}

/* The log evidence of where a chain is, by its draws: the mean log density and the entropy, that of
 * a normal distribution whose coordinates are, in those of the chain's mode, independent. */
static double evidence_of(const struct job *j, int number) {
    const struct chain *c = &j->of[number];
    size_t d = (size_t)c->f.d, n = (j->round + 1 - j->first) * j->n;
    const double *row = j->all + ((size_t)number * j->room + j->first * j->n) * (d + 1);
    double sum = c->m->log_scale, first[PROPOSAL_MAX_DIM] = {0}, second[PROPOSAL_MAX_DIM] = {0};
    for (size_t i = 0; i < n; i++, row += d + 1) {
        double t[PROPOSAL_MAX_DIM];
        for (size_t k = 0; k < d; k++) t[k] = row[k] - c->m->z[k];
        la_trsv(false, d, c->m->scale, d, t);
        for (size_t k = 0; k < d; k++) first[k] += t[k], second[k] += t[k] * t[k];
        sum += row[d] / (double)n;
    }
    for (size_t k = 0; k < d; k++) {
        double mean = first[k] / (double)n, var = second[k] / (double)n - mean * mean;
        sum += 0.5 * log(2 * M_PI * M_E * fmax(var, 1e-6));
    }
    return sum;
}

/* A chain at a place with almost no evidence continues from the best chain's place; then all chains
 * start counting again. */
static bool leave_lost(struct job *j) {
    const double *evidence = j->c->evidence;
    int best = 0;
    bool lost = false;
    for (int i = 1; i < RCHAINS; i++) best = evidence[i] > evidence[best] ? i : best;
    for (int i = 0; i < RCHAINS; i++) {
        struct chain *c = &j->of[i], own = *c;
        if (evidence[i] > evidence[best] - LOST) continue;
        *c = j->of[best];
        c->r = own.r, c->f = own.f;
        lost = true;
    }
    if (lost) j->first = j->round + 1;
    return lost;
}

/* R-hat and effective draws of all transitions that count, n of each chain. */
static void judge(const struct job *j, size_t d, size_t n) {
    const double *all = j->all + j->first * j->n * (d + 1);
    double *x = NEW_ARRAY(double, RCHAINS *n + 1);
    struct draws_tables *t = draws_tables_new();
    j->c->rhat = 1, j->c->ess = INFINITY;
    for (size_t i = 0; i < d; i++) {
        struct draws_summary s;
        for (size_t k = 0; k < RCHAINS * n; k++)
            x[k] = all[(k / n * j->room + k % n) * (d + 1) + i];
        draws_summarise(t, x, NULL, RCHAINS, n, &s);
        if (s.rhat > j->c->rhat) j->c->rhat = s.rhat, j->c->worst = (int)i;
        j->c->ess = fmin(j->c->ess, s.ess_bulk);
    }
    draws_tables_free(t);
    mem_free(x);
}

/* Evenly from all rounds that count, chain after chain: from each as much as from the others where
 * they tell the same, else by the evidence of where it is, which the chains of a mode share. */
static void keep(const struct job *j, size_t d, size_t n) {
    const double *all = j->all + j->first * j->n * (d + 1);
    double w[RCHAINS], sum = 0, total;
    for (int i = 0; i < RCHAINS; i++) {
        int alike = 0;
        for (int k = 0; k < RCHAINS; k++) alike += j->of[k].m == j->of[i].m;
        w[i] = j->c->rhat < RCHAINS_SETTLED ? 0 : j->c->evidence[i] - log(alike);
    }
    total = logsumexp(w, RCHAINS);
    for (size_t i = 0, k = 0; i < RCHAINS; i++) {
        sum += exp(w[i] - total);
        size_t from = k, to = (size_t)floor(sum * (double)j->c->kept + 0.5), each = to - from;
        for (; k < to; k++) {
            size_t past = (k - from + 1) * n / each; /* 0: more draws are kept than there are */
            size_t at = i * j->room + (past ? past - 1 : 0);
            memcpy(j->c->z + k * d, all + at * (d + 1), d * sizeof *all);
        }
    }
}

void rchains_run(struct rchains *c, const struct proposal *q, rchains_density density, void *ctx,
                 uint64_t seed, int threads) {
    size_t d = (size_t)q->d, n = c->kept / RCHAINS, most = c->rounds ? c->rounds : 1;
    struct job j = {.c = c, .n = n, .room = n * most};
    j.all = NEW_ARRAY(double, RCHAINS *j.room *(d + 1) + 1);
    for (int i = 0; i < RCHAINS; i++) {
        j.of[i] = (struct chain){
            .m = proposal_mode_at(q, (i + 0.5) / RCHAINS), .f = density(ctx, i), .eps = 0.4};
        rng_init(&j.of[i].r, seed, 19, (uint32_t)i);
    }
    bool settled = false;
    for (size_t k = 0; k < most && !settled; k++) {
        j.round = k, c->rounds = k + 1;
        la_parallel(threads, RCHAINS, run_chain, &j);
        for (int i = 0; i < RCHAINS; i++) c->evidence[i] = evidence_of(&j, i);
        if (k + 1 < most && leave_lost(&j)) continue;
        size_t counts = n * (c->rounds - j.first);
        judge(&j, d, counts);
        settled = (c->rhat < RCHAINS_SETTLED && c->ess >= (double)c->kept / 2) ||
                  stop_asked(j.of[0].f.stop);
    }
    keep(&j, d, n * (c->rounds - j.first));
    mem_free(j.all);
}
