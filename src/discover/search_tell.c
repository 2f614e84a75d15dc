/* SPDX-License-Identifier: Apache-2.0
 *
 * Structures that were fitted before a relative was, or before the relative's better optimum was
 * found, are tried at that optimum. A structure that has a term more than another is nearly that
 * one where the term is faint: it cannot be much worse, unless its own optimum is a lesser one. One
 * or two likelihoods tell; where they say so it starts again from there, and tells its own
 * relatives.
 */
#include "discover/search.h"
#include "discover/journal.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/vec.h"
#include <math.h>

#define REACH  6.0 /* nats below the top: what a relative leads to expect is of interest there */
#define LAG    3.0 /* nats below that: what an optimum's neighbours have without being lesser ones */
#define RISEN  0.5 /* nats by which an optimum has become better: its neighbours are tried again */
#define BETTER 1.0 /* nats by which a relative's optimum is better than a structure's own */

struct trial {
    struct evidence *e;
    const struct evidence *from;
    double expected; /* total log evidence of e by that of `from` */
};

struct telling {
    struct search *s;
    const struct evidence *from; /* whose neighbours are collected */
    VEC(struct trial) trial;
    struct map at; /* structure -> number of its trial + 1 */
};

/* Of several relatives the best one. */
static void collect(void *ctx, size_t id) {
    struct telling *t = ctx;
    const struct evidence *from = t->from;
    struct evidence *e = id < t->s->n_of ? t->s->of[id] : NULL;
    if (!e || e == from || e->group != from->group || !e->prop.n) return;
    double expected = evidence_total(from) + (e->log_prior - from->log_prior);
    if (expected < t->s->top - REACH || evidence_total(e) > expected - LAG) return;
    size_t at = (size_t)(uintptr_t)map_get(&t->at, id);
    if (!at) {
        vec_push(&t->trial, ((struct trial){e, from, expected}));
        map_put(&t->at, id, (void *)(uintptr_t)t->trial.n);
    } else if (expected > t->trial.at[at - 1].expected) {
        t->trial.at[at - 1] = (struct trial){e, from, expected};
    }
}

static void tell_job(void *ctx, size_t job, int thread) {
    struct telling *t = ctx;
    struct space *s = t->s->space;
    struct trial *r = &t->trial.at[job];
    if (search_late(t->s)) return;
    struct density d = s->ops->density(s, r->e, thread, false);
    double z[2][PROPOSAL_MAX_DIM], best = -INFINITY;
    int n = 0, first = 0;
    n += s->ops->carry(s, r->e, r->from, z[n]);
    if (s->ops->faint) n += s->ops->faint(s, r->e, r->from, z[n]);
    d.evals = &r->e->evals;
    for (int k = 0; k < n && s->st == GPM_OK; k++) {
        double logp = density_eval(&d, z[k], NULL);
        if (logp > best) best = logp, first = k;
    }
    if (s->st == GPM_OK && best > r->e->map + BETTER) evidence_improve(r->e, d, z[first]);
}

static uint64_t tell_key(void *ctx, size_t job) {
    return ((struct telling *)ctx)->trial.at[job].e->hash;
}

static void tell_pack(struct pack *p, void *ctx, size_t job) {
    evidence_pack(p, ((struct telling *)ctx)->trial.at[job].e);
}

static bool tell_late(const void *ctx) {
    return search_late(((const struct telling *)ctx)->s);
}

static const struct journal_step tell_step = {"tell", tell_job, tell_key, tell_pack, tell_late};

bool search_tell(struct search *s) {
    struct telling t = {.s = s};
    double *was = NULL;
    bool risen = false;
    for (size_t i = 0; i < s->n; i++) {
        struct evidence *e = s->at[i];
        if (!evidence_fitted(e) || evidence_total(e) < s->top - REACH || e->map < e->told + RISEN)
            continue;
        e->told = e->map;
        t.from = e;
        s->space->ops->neighbours(s->space, e, collect, &t);
    }
    was = NEW_ARRAY(double, t.trial.n + 1);
    for (size_t i = 0; i < t.trial.n; i++) was[i] = t.trial.at[i].e->map;
    journal_step(s->opt.journal, s->opt.threads, t.trial.n, &tell_step, &t);
    for (size_t i = 0; i < t.trial.n; i++) risen |= t.trial.at[i].e->map > was[i] + RISEN;
    search_find_top(s);
    mem_free(was);
    map_release(&t.at);
    vec_release(&t.trial);
    return risen;
}
