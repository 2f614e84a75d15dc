/* SPDX-License-Identifier: Apache-2.0
 *
 * Guards: the model of an instruction that fails half way is put back as it was. */
#include "infer/infer.h"

void guard_begin(struct infer_state *x) {
    x->guard = (struct guard){.model = x->model};
    value_ref(value_box(V_BOX, &x->model->box));
}

static void free_all(struct trace *const *at, size_t n) {
    for (size_t i = 0; i < n; i++) trace_free(at[i]);
}

static void end_journals(struct guard *g) {
    for (size_t i = 0; g->journal && i < g->model->p.n; i++) trace_journal_end(g->model->p.at[i]);
    g->journal = false;
}

static void swap_journals(const struct guard *g) {
    for (size_t i = 0; g->journal && i < g->model->p.n; i++) trace_journal_swap(g->model->p.at[i]);
}

enum gpm_status guard_steps(struct infer_state *x) {
    struct guard *g = &x->guard;
    if (!g->by_plans || x->model != g->model) return guard_copy(x);
    if (g->copy || g->journal) return GPM_OK;
    for (size_t i = 0; i < g->model->p.n; i++) trace_journal_begin(g->model->p.at[i]);
    g->journal = true;
    return GPM_OK;
}

enum gpm_status guard_copy(struct infer_state *x) {
    struct guard *g = &x->guard;
    if (!g->model || g->copy) return GPM_OK;
    g->n = g->model->p.n;
    g->copy = NEW_ARRAY(struct trace *, g->n + 1);
    swap_journals(g);
    for (size_t i = 0; i < g->n; i++) g->copy[i] = trace_clone(g->model->p.at[i]);
    swap_journals(g);
    enum gpm_status st = core_check_memory(x->core, x->at);
    if (st == GPM_OK)
        end_journals(g);
    else { /* the copy may lack what there was no room for; the model is as it was */
        free_all(g->copy, g->n);
        mem_free(g->copy);
        g->copy = NULL;
    }
    return st;
}

void guard_end(struct infer_state *x, bool ok) {
    struct guard g = x->guard;
    x->guard = (struct guard){0};
    if (!ok) swap_journals(&g);
    end_journals(&g);
    if (g.copy && ok) free_all(g.copy, g.n);
    if (g.copy && !ok) {
        free_all(g.model->p.at, g.model->p.n);
        vec_clear(&g.model->p);
        for (size_t i = 0; i < g.n; i++) vec_push(&g.model->p, g.copy[i]);
    }
    mem_free(g.copy);
    value_unref(value_box(V_BOX, &g.model->box));
}
