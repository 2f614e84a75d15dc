/* SPDX-License-Identifier: Apache-2.0
 *
 * The journal of a trace: what the choices that moved by plans were when it began. As long as
 * nothing else changes the trace, that is enough to go back, so guards need no copy. */
#include "trace/plan.h"

#include <assert.h>

void trace_journal_begin(struct trace *t) {
    t->journal.on = true;
    t->journal.structure = t->structure;
    t->journal.rng = t->rng;
}

void trace_journal_end(struct trace *t) {
    for (size_t i = 0; i < t->journal.moved.n; i++) t->journal.moved.at[i].n->plan->noted = 0;
    vec_release(&t->journal.moved);
    t->journal = (struct journal){0};
}

/* Deterministic nodes and copies of one choice's new value; densities are looked up anew. */
static void follow(struct node *principal) {
    struct plan *p = principal->plan;
    const struct form *f = p->form;
    plan_evaluate(p, principal);
    settle_copies(principal);
    for (uint32_t i = 0; i < f->n_det; i++) settle_copies(p->w[f->ops[i].at].n);
    principal->flags &= (uint16_t)~NODE_HAS_LOGP;
    for (uint32_t i = 0; i < f->n_absorb; i++)
        p->w[f->ops[f->n_det + i].at].n->flags &= (uint16_t)~NODE_HAS_LOGP;
}

/* A node that depends on two of the choices is evaluated for each; the second time sees both. */
void trace_journal_swap(struct trace *t) {
    struct rng now = t->rng;
    assert(t->structure == t->journal.structure);
    trace_settle(t);
    for (size_t i = 0; i < t->journal.moved.n; i++) {
        struct moved *m = &t->journal.moved.at[i];
        double x = number_of(&m->n->val);
        number_put(m->n, m->x);
        m->x = x;
    }
    for (size_t i = 0; i < t->journal.moved.n; i++) follow(t->journal.moved.at[i].n);
    t->rng = t->journal.rng;
    t->journal.rng = now;
}
