/* SPDX-License-Identifier: Apache-2.0
 *
 * Guards undo the changes of a failed instruction, except transitions.
 *
 *     FRESH <-> WHOLE ---- transitions ----> MOVED
 *          \________________________________/
 *                           | a change that a failure may leave half done
 *                           v
 *                          COPY
 *
 * A failing transition restores its own changes. An interrupted chain therefore keeps its last
 * complete state and needs no guard. A single directive needs none, either, unless it constrains
 * choices of several particles (guard_particles). */
#include "inference/run/infer.h"

void guard_begin(struct infer_state *x) {
    x->guard = (struct guard){.state = GUARD_FRESH, .model = x->model};
    value_ref(value_box(V_BOX, &x->model->box));
}

void guard_whole(struct infer_state *x, bool whole) {
    if (x->guard.state <= GUARD_WHOLE) x->guard.state = whole ? GUARD_WHOLE : GUARD_FRESH;
}

void guard_moved(struct infer_state *x) {
    if (x->guard.state <= GUARD_WHOLE) x->guard.state = GUARD_MOVED;
}

/* share: no caller holds nodes of the model now, so its traces may share layers with the copy.
 * Otherwise the copy is a full one, and the model's nodes stay valid. */
static enum gpm_status copy(struct infer_state *x, bool share) {
    struct guard *g = &x->guard;
    if (!g->model || g->state == GUARD_COPY) return GPM_OK;
    enum gpm_status st = GPM_OK;
    for (size_t i = 0; i < g->model->p.n && st == GPM_OK; i++) {
        struct trace **t = &g->model->p.at[i];
        vec_push(&g->copy, share ? trace_share(t) : trace_clone(*t));
        st = core_poll(x->core, x->at);
    }
    if (st == GPM_OK) st = core_check_memory(x->core, x->at);
    g->rng = x->core->rng;
    if (st == GPM_OK)
        g->state = GUARD_COPY;
    else /* the copy may be incomplete for lack of memory; the model is unchanged */
        particles_free(&g->copy);
    return st;
}

enum gpm_status guard_action(struct infer_state *x, bool changes, bool share) {
    enum guard_state was = x->guard.state;
    guard_whole(x, false);
    return changes && was != GUARD_WHOLE ? copy(x, share && was == GUARD_FRESH) : GPM_OK;
}

enum gpm_status guard_particles(struct infer_state *x) {
    struct guard *g = &x->guard;
    if (!g->model || g->model != x->model || x->model->p.n < 2) return GPM_OK;
    return copy(x, g->state <= GUARD_WHOLE);
}

void guard_end(struct infer_state *x, bool ok) {
    struct guard g = x->guard;
    x->guard = (struct guard){0};
    if (g.copy.n && !ok) {
        particles_free(&g.model->p);
        g.model->p = g.copy;
        x->core->rng = g.rng;
    } else
        particles_free(&g.copy);
    value_unref(value_box(V_BOX, &g.model->box));
}
