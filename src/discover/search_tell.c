/* SPDX-License-Identifier: Apache-2.0
 *
 * Structures that were fitted before a relative was, or before the relative's better optimum was
 * found, are tried at that optimum. A structure that has a term more than another is nearly that
 * one where the term is faint: it cannot be much worse, unless its own optimum is a lesser one. One
 * or two likelihoods tell; where they say so it starts again from there, and tells its own
 * relatives.
 */
#include "discover/search_relatives.h"
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

static void tell_job(void *ctx, size_t job, int thread) {
    struct relatives *t = ctx;
    struct space *s = t->s->space;
    struct relative *r = &t->pair.at[job];
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

bool search_tell(struct search *s) {
    struct relatives t = {.s = s, .rank = tell_rank};
    bool risen = false;
    for (size_t i = 0; i < s->n; i++) {
        struct evidence *e = s->at[i];
        if (!evidence_fitted(e) || evidence_total(e) < s->top - REACH || e->map < e->told + RISEN)
            continue;
        e->told = e->map;
        relatives_collect(&t, e);
    }
    double *was = NEW_ARRAY(double, t.pair.n + 1);
    for (size_t i = 0; i < t.pair.n; i++) was[i] = t.pair.at[i].e->map;
    relatives_run(&t, "tell", tell_job);
    for (size_t i = 0; i < t.pair.n; i++) risen |= t.pair.at[i].e->map > was[i] + RISEN;
    mem_free(was);
    relatives_release(&t);
    return risen;
}
