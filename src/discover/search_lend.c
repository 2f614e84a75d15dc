/* SPDX-License-Identifier: Apache-2.0
 *
 * What was given up early and may count after all. A structure with a term more than one that fits
 * has nearly its optimum and the prior of the new term beside it: where the data say nothing of
 * the term, the density at the optimum falls with every parameter, and the integral does not. So
 * each of those that were given up is given the shape of its best relative, as wide as the prior
 * where a parameter is new. That alone says whether it can be near the top; where it can, a few
 * importance draws say how near. They are few, but the mean of the weights is right whatever their
 * number, and errors of many structures cancel: what matters is the probability of them all.
 */
#include "discover/search.h"
#include "discover/journal.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/vec.h"
#include <math.h>

#define REACH 6.0 /* nats below the top: what relatives have, and what may count */
#define DRAWS 12  /* of each */
#define MORE  40  /* of those so many nats below the top */
#define CLOSE 3.0

struct loan {
    struct evidence *e;
    const struct evidence *from;
};

struct lending {
    struct search *s;
    const struct evidence *from; /* whose neighbours are collected */
    VEC(struct loan) loan;
    struct map at; /* structure -> number of its loan + 1 */
};

/* Of several relatives the best one. */
static void collect(void *ctx, size_t id) {
    struct lending *t = ctx;
    const struct evidence *from = t->from;
    struct evidence *e = id < t->s->n_of ? t->s->of[id] : NULL;
    if (!e || e->group != from->group || !e->rough || !e->prop.n) return;
    size_t at = (size_t)(uintptr_t)map_get(&t->at, id);
    if (!at) {
        vec_push(&t->loan, ((struct loan){e, from}));
        map_put(&t->at, id, (void *)(uintptr_t)t->loan.n);
    } else if (evidence_total(from) > evidence_total(t->loan.at[at - 1].from)) {
        t->loan.at[at - 1].from = from;
    }
}

static void lend_job(void *ctx, size_t job, int thread) {
    struct lending *t = ctx;
    struct space *s = t->s->space;
    struct evidence *e = t->loan.at[job].e;
    const struct evidence *from = t->loan.at[job].from;
    int source[PROPOSAL_MAX_DIM];
    double faint[PROPOSAL_MAX_DIM], floor = t->s->top - REACH - e->log_prior;
    if (search_late(t->s) || !s->ops->related(s, e, from, source)) return;
    bool any = s->ops->faint && s->ops->faint(s, e, from, faint);
    struct density d = s->ops->density(s, e, thread, false);
    if (!evidence_lend(e, d, from, source, any ? faint : NULL, floor)) return;
    d = s->ops->density(s, e, thread, true);
    evidence_glance(e, DRAWS, t->s->opt.seed, d);
    if (evidence_total(e) > t->s->top - CLOSE) evidence_glance(e, MORE, t->s->opt.seed, d);
    if (evidence_total(e) > t->s->top - SEARCH_LENT) space_refit(s, e, thread);
}

static uint64_t lend_key(void *ctx, size_t job) {
    return ((struct lending *)ctx)->loan.at[job].e->hash;
}

static void lend_pack(struct pack *p, void *ctx, size_t job) {
    evidence_pack(p, ((struct lending *)ctx)->loan.at[job].e);
}

static bool lend_late(const void *ctx) {
    return search_late(((const struct lending *)ctx)->s);
}

static const struct journal_step lend_step = {"lend", lend_job, lend_key, lend_pack, lend_late};

void search_lend(struct search *s, const struct evidence *parent) {
    struct lending t = {.s = s};
    if (!s->space->ops->related || s->opt.brief || s->cut || search_late(s)) return;
    for (size_t i = 0; i < (parent ? 1 : s->n); i++) {
        t.from = parent ? parent : s->at[i];
        if (evidence_fitted(t.from) && evidence_total(t.from) > s->top - REACH)
            s->space->ops->neighbours(s->space, t.from, collect, &t);
    }
    journal_step(s->opt.journal, s->opt.threads, t.loan.n, &lend_step, &t);
    search_find_top(s);
    map_release(&t.at);
    vec_release(&t.loan);
}
