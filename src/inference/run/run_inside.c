/* SPDX-License-Identifier: Apache-2.0
 *
 * Inference inside models: the program of one run (runtime/core/nest.h). It begins in a fresh model
 * while the session's state is set aside. Random numbers come from the run's stream, and new models
 * draw from streams derived from it. So the run is a function of the stream and of what it reads.
 *
 * A run works on models that it made itself, and its value contains no models, since they could
 * change without the trace noticing. nil replaces them. */
#include "runtime/core/nest.h"
#include "inference/run/infer.h"

/* The session's state during a run, restored afterwards. */
struct waiting {
    struct guard guard;
    struct model *model;
    struct span at;
    uint32_t next_stream;
    void (*draw)(void *user, const char *const *names, const double *row, size_t n);
    struct op_states *own;
    bool each_particle, busy, wrote, dropping;
    struct rng rng;
    struct world *world;
};

static void run_inside_begin(struct infer_state *x, struct nest *n, struct waiting *w) {
    struct session_core *core = x->core;
    *w = (struct waiting){.guard = x->guard,
                          .model = x->model,
                          .at = x->at,
                          .next_stream = x->next_stream,
                          .draw = x->draw,
                          .own = x->own,
                          .each_particle = x->each_particle,
                          .busy = x->progress.busy,
                          .wrote = x->wrote,
                          .dropping = core->dropping,
                          .rng = core->rng,
                          .world = core->model};
    n->outer = core->nest;
    n->number = ++x->runs;
    core->nest = n;
    core->model = NULL;
    core->dropping = false;
    rng_init(&core->rng, n->stream, core->rng.chain, 0);
    x->guard = (struct guard){0};
    x->next_stream = 0;
    x->draw = NULL;
    x->own = op_states_new();
    x->each_particle = false;
    x->progress.busy = true;
    x->model = model_of(model_new(core));
}

static void end(struct infer_state *x, const struct nest *n, const struct waiting *w) {
    struct session_core *core = x->core;
    value_unref(value_box(V_BOX, &x->model->box));
    op_states_free(x->own);
    x->guard = w->guard;
    x->model = w->model;
    x->at = w->at;
    x->next_stream = w->next_stream;
    x->draw = w->draw;
    x->own = w->own;
    x->each_particle = w->each_particle;
    x->progress.busy = w->busy;
    x->wrote |= w->wrote;
    core->rng = w->rng;
    core->model = w->world;
    core->nest = n->outer;
    core->dropping = w->dropping;
}

static bool same_place(const struct rng *a, const struct rng *b) {
    return a->counter == b->counter && a->left == b->left && a->has_spare == b->has_spare;
}

static bool is_model(value v, void *ctx) {
    return model_of(v) != NULL;
}

static value without_models(value v_taken) {
    value *items;
    size_t n;
    if (!value_any(v_taken, is_model, NULL)) return v_taken;
    if (v_taken.tag == V_PAIR) {
        value first = without_models(value_ref(v_taken.u.pair->first));
        value rest = without_models(value_ref(v_taken.u.pair->rest));
        value_unref(v_taken);
        return value_pair_take(first, rest);
    }
    if (v_taken.tag == V_ARRAY && seq_items(v_taken, &items, &n)) {
        for (size_t i = 0; i < n; i++) items[i] = without_models(items[i]);
        value_unref(v_taken);
        value v = value_array(items, n);
        values_free(items, n);
        return v;
    }
    value_unref(v_taken);
    return NIL;
}

enum gpm_status infer_run_nested(struct session_core *core, struct nest *n, const struct ast *a,
                                 struct frame *f, value *out) {
    struct infer_state *x = infer_of(core);
    struct waiting w;
    value action;
    enum gpm_status st = core_poll(core, a->span);
    if (st != GPM_OK) return st;
    if (n->depth >= NEST_MAX)
        return diag_raise(core->diags, DIAG_RECURSION, a->span,
                          "models run inference in each other without end");
    size_t said = core->diags->list.n;
    run_inside_begin(x, n, &w);
    struct rng first = core->rng;
    st = plain_eval(core, a, f, &action);
    if (st == GPM_OK) {
        st = action_run(core, action, a->span, out);
        value_unref(action);
    }
    if (st == GPM_OK) *out = without_models(*out);
    enum gpm_status closed = infer_close(x, st == GPM_OK);
    if (st == GPM_OK && closed != GPM_OK) value_unref(*out);
    if (st == GPM_OK) st = closed;
    n->drawn |= !same_place(&first, &core->rng);
    end(x, n, &w);
    /* Drops its warnings: the run is repeated for every proposed state of the enclosing model. */
    if (st == GPM_OK) diags_rewind(core->diags, said);
    return st;
}
