/* SPDX-License-Identifier: Apache-2.0
 *
 * What the evidences of all spaces have in common: importance sampling, and their end.
 */
#include "discover/space.h"
#include "base/mem.h"
#include <math.h>

void evidence_free(struct evidence *e) {
    if (!e) return;
    mem_free(e->open);
    proposal_release(&e->prop);
    is_draws_release(&e->draws);
    if (e->item_free) e->item_free(e->item);
    mem_free(e->text);
    mem_free(e);
}

/* No draw weighs more than 1/sqrt(n) of all: where a few draws hold most of the weight, quantiles
 * of the parameters would be those few (truncated importance sampling, Ionides 2008). The cap c
 * solves c = sum min(w, c) / sqrt(n); weights that are even enough are not touched. */
static void temper_weights(struct draws *d) {
    double cap = INFINITY, root = sqrt((double)d->n);
    for (int it = 0; it < 100; it++) {
        double sum = 0;
        for (size_t i = 0; i < d->n; i++) sum += fmin(d->w[i], cap);
        if (!(sum > 0) || sum / root >= cap * (1 - 1e-9)) break;
        cap = sum / root;
    }
    double sum = 0;
    for (size_t i = 0; i < d->n; i++) sum += d->w[i] = fmin(d->w[i], cap);
    for (size_t i = 0; i < d->n && sum > 0; i++) d->w[i] /= sum;
}

/* A density that counts how often it was evaluated: outside of its domain there is nothing to do.
 */
struct counted {
    const struct density *t;
    long n;
};

static double eval_counted(void *ctx, const double *z, double *grad) {
    struct counted *c = ctx;
    double logp = c->t->eval(c->t->ctx, z, grad);
    c->n += logp > -INFINITY;
    return logp;
}

void evidence_sample(struct evidence *e, size_t n, uint64_t seed, const struct density *t) {
    if (e->rough || e->prop.n == 0) return;
    struct counted count = {t, 0};
    struct density counted = {t->d, eval_counted, &count};
    struct rng r;
    rng_init(&r, seed, (uint32_t)e->hash, (uint32_t)(e->hash >> 32) ^ (uint32_t)n);
    size_t pilot = e->draws.n ? 0 : (n < 200 ? n : 200);
    struct draws d = {0};
    struct is_result res = importance(&counted, &e->prop, pilot, n, &r, &d);
    e->evals += count.n;
    if (!isfinite(res.logz)) {
        is_draws_release(&d);
        return;
    }
    is_draws_release(&e->draws);
    e->draws = d;
    temper_weights(&e->draws);
    e->logz = res.logz;
    e->se = res.se;
    e->ess = res.ess;
}
