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
#include "apps/discover/search_relatives.h"
#include <math.h>

#define REACH 6.0 /* nats below the top: what relatives have, and what may count */
#define DRAWS 12  /* of each */
#define MORE  40  /* of those so many nats below the top */
#define CLOSE 3.0

static double lend_rank(const struct search *s, const struct evidence *e,
                        const struct evidence *from) {
    (void)s;
    return e->rough ? evidence_total(from) : -INFINITY;
}

static void lend_job(void *ctx, size_t job, int thread) {
    struct relatives *t = ctx;
    struct space *s = t->s->space;
    struct evidence *e = t->pair.at[job].e;
    const struct evidence *from = t->pair.at[job].from;
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

void search_lend(struct search *s, const struct evidence *parent) {
    struct relatives t = {.s = s, .rank = lend_rank};
    if (!s->space->ops->related || s->opt.brief || s->cut || search_late(s)) return;
    for (size_t i = 0; i < (parent ? 1 : s->n); i++) {
        const struct evidence *from = parent ? parent : s->at[i];
        if (evidence_fitted(from) && evidence_total(from) > s->top - REACH)
            relatives_collect(&t, from);
    }
    relatives_run(&t, "lend", lend_job);
    relatives_release(&t);
}
