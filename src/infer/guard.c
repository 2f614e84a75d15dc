/* SPDX-License-Identifier: Apache-2.0
 *
 * Guards: the model of an instruction that fails half way is put back as it was.
 *
 *                    +--- the instruction is one action that makes one transition ---> ATOMIC
 *     begin          |                                                                   |
 *       |            |  transitions                                                      | another
 *       v            |                                                                   v action
 *     FRESH <-> WHOLE, SINGLE ------------------> JOURNAL <------------------------------+
 *       |                                            |
 *       +---------------- a general change ----------+---> COPY
 *
 * In JOURNAL nothing but flats has changed the model, and what they moved is enough to go back. A
 * single transition or directive needs no guard: one that fails puts back what it took; but where a
 * directive gives values to choices of several particles (guard_particles). */
#include "infer/infer.h"

#include "flat/flat.h"

void guard_begin(struct infer_state *x) {
    x->guard = (struct guard){.state = GUARD_FRESH, .model = x->model};
    value_ref(value_box(V_BOX, &x->model->box));
}

void guard_whole(struct infer_state *x, bool whole) {
    if (x->guard.state <= GUARD_SINGLE) x->guard.state = whole ? GUARD_WHOLE : GUARD_FRESH;
}

static void each_journal(const struct guard *g, void (*fn)(struct trace *t)) {
    for (size_t i = 0; g->state == GUARD_JOURNAL && i < g->model->p.n; i++) fn(g->model->p.at[i]);
}

/* share: nobody holds nodes of the model now, so that its traces may share layers with the copy.
 * Else the copy is one, and the model's nodes stay what they are. */
static enum gpm_status copy(struct infer_state *x, bool share) {
    struct guard *g = &x->guard;
    if (!g->model || g->state == GUARD_COPY) return GPM_OK;
    each_journal(g, flat_journal_swap);
    enum gpm_status st = GPM_OK;
    for (size_t i = 0; i < g->model->p.n && st == GPM_OK; i++) {
        struct trace **t = &g->model->p.at[i];
        vec_push(&g->copy, share ? trace_share(t) : trace_clone(*t));
        st = core_poll(x->core, x->at);
    }
    each_journal(g, flat_journal_swap);
    if (st == GPM_OK) st = core_check_memory(x->core, x->at);
    if (st == GPM_OK) {
        each_journal(g, flat_journal_end);
        g->state = GUARD_COPY;
    } else /* the copy may lack what there was no room for; the model is as it was */
        particles_free(&g->copy);
    return st;
}

enum gpm_status guard_action(struct infer_state *x, bool steps, bool changes, bool share) {
    struct guard *g = &x->guard;
    bool whole = g->state == GUARD_WHOLE, fresh = g->state == GUARD_FRESH;
    if (g->state <= GUARD_SINGLE) g->state = whole && steps ? GUARD_SINGLE : GUARD_FRESH;
    return changes && !whole ? copy(x, share && fresh) : GPM_OK;
}

enum gpm_status guard_steps(struct infer_state *x, bool one) {
    struct guard *g = &x->guard;
    if (!g->model || g->state >= GUARD_JOURNAL) return GPM_OK;
    if (g->state == GUARD_SINGLE && one) {
        g->state = GUARD_ATOMIC;
        return GPM_OK;
    }
    if (x->model != g->model) return copy(x, false);
    enum gpm_status st = GPM_OK;
    particles *p = &g->model->p;
    size_t n = 0;
    for (; n < p->n && st == GPM_OK; n++) {
        flat_journal_begin(p->at[n]);
        st = core_poll(x->core, x->at);
    }
    if (st == GPM_OK) g->state = GUARD_JOURNAL;
    while (st != GPM_OK && n) flat_journal_end(p->at[--n]);
    return st;
}

enum gpm_status guard_particles(struct infer_state *x) {
    struct guard *g = &x->guard;
    if (!g->model || g->model != x->model || x->model->p.n < 2) return GPM_OK;
    return copy(x, g->state <= GUARD_SINGLE);
}

enum gpm_status guard_general(struct infer_state *x) {
    return x->guard.state == GUARD_ATOMIC ? GPM_OK : copy(x, false);
}

void guard_end(struct infer_state *x, bool ok) {
    struct guard g = x->guard;
    x->guard = (struct guard){0};
    if (!ok) each_journal(&g, flat_journal_swap);
    each_journal(&g, flat_journal_end);
    if (g.copy.n && !ok) {
        particles_free(&g.model->p);
        g.model->p = g.copy;
    } else
        particles_free(&g.copy);
    value_unref(value_box(V_BOX, &g.model->box));
}
