/* SPDX-License-Identifier: Apache-2.0
 *
 * Structures that were fitted before a relative was, or before the relative's better optimum was
 * found, are tried at that optimum. A structure that has a term more than another is nearly that
 * one where the term is faint: it cannot be much worse, unless its own optimum is a lesser one. One
 * or two likelihoods tell; where they say so it starts again from there, and tells its own
 * relatives.
 */
#include "apps/discover/search_relatives.h"
#include "base/mem.h"
#include <math.h>

#define REACH  6.0 /* nats below the top: what a relative leads to expect is of interest there */
#define LAG    3.0 /* nats below that: what an optimum's neighbours have without being lesser ones */
#define RISEN  0.5 /* nats by which an optimum has become better: its neighbours are tried again */
#define BETTER 1.0 /* nats by which a relative's optimum is better than a structure's own */

/* By the total log evidence that `from` lets expect. */
static double tell_rank(const struct search *s, const struct evidence *e,
                        const struct evidence *from) {
    double expected = evidence_total(from) + (e->log_prior - from->log_prior);
    bool behind = expected >= s->top - REACH && evidence_total(e) <= expected - LAG;
    return behind ? expected : -INFINITY;
}

/* Where each structure starts, by its coordinates. */
struct telling {
    struct relatives of; /* first: what jobs get */
    struct start {
        int n;
        double *z;
    } * start;
};

/* Before the jobs run: a giver may also receive, and changes when it does. */
static void find_starts(struct telling *t) {
    struct space *s = t->of.s->space;
    t->start = NEW_ARRAY(struct start, t->of.pair.n + 1);
    for (size_t i = 0; i < t->of.pair.n; i++) {
        const struct relative *r = &t->of.pair.at[i];
        size_t d = (size_t)r->e->prop.d;
        struct start *at = &t->start[i];
        *at = (struct start){0, NEW_ARRAY(double, 2 * d + 1)};
        at->n += s->ops->carry(s, r->e, r->from, at->z);
        if (s->ops->faint) at->n += s->ops->faint(s, r->e, r->from, at->z + (size_t)at->n * d);
    }
}

static void tell_job(void *ctx, size_t job, int thread) {
    struct telling *t = ctx;
    struct space *s = t->of.s->space;
    struct evidence *e = t->of.pair.at[job].e;
    const struct start *at = &t->start[job];
    if (search_late(t->of.s)) return;
    struct density d = s->ops->density(s, e, thread, false);
    double best = -INFINITY, *first = at->z;
    d.evals = &e->evals;
    for (int k = 0; k < at->n && s->st == GPM_OK; k++) {
        double *z = at->z + k * e->prop.d, logp = density_eval(&d, z, NULL);
        if (logp > best) best = logp, first = z;
    }
    if (s->st == GPM_OK && best > e->map + BETTER) evidence_improve(e, d, first);
}

bool search_tell(struct search *s) {
    struct telling t = {.of = {.s = s, .rank = tell_rank}};
    bool risen = false;
    for (size_t i = 0; i < s->n; i++) {
        struct evidence *e = s->at[i];
        if (!evidence_fitted(e) || evidence_total(e) < s->top - REACH || e->map < e->told + RISEN)
            continue;
        e->told = e->map;
        relatives_collect(&t.of, e);
    }
    size_t n = t.of.pair.n;
    double *was = NEW_ARRAY(double, n + 1);
    for (size_t i = 0; i < n; i++) was[i] = t.of.pair.at[i].e->map;
    find_starts(&t);
    relatives_run(&t.of, "tell", tell_job);
    for (size_t i = 0; i < n; i++) {
        risen |= t.of.pair.at[i].e->map > was[i] + RISEN;
        mem_free(t.start[i].z);
    }
    mem_free(t.start);
    mem_free(was);
    relatives_release(&t.of);
    return risen;
}
