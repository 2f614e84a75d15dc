/* SPDX-License-Identifier: Apache-2.0
 *
 * See infer_pack.h. */
#include "inference/run/infer_pack.h"

#include "language/rows/dist/finite.h"
#include "language/rows/emu/emulator.h"
#include "inference/run/dataset.h"
#include "language/rows/makers/conj.h"
#include "language/rows/source/evaluations.h"
#include "language/rows/source/plugin.h"
#include "language/rows/source/srcfn.h"
#include "language/rows/protocol/kernel_value.h"
#include "language/rows/protocol/sp_options.h"

#include <string.h>

/* A new field of these structs must be written, or set by the reader. */
PACK_SIZE(struct model, 56, "struct model: see model_pack");
PACK_SIZE(struct action, 136, "struct action: see action_pack");
PACK_SIZE(struct infer_state, 344, "struct infer_state: see infer_pack");

/* All classes of boxes. The format fixes their order, so new ones go to the end. */
static const struct box_class *const boxes[] = {
    &sp_proc_class, &closure_class, &memo_class,  &env_class,        &kernel_class,  &mean_class,
    &action_class,  &dataset_class, &model_class, &subproblem_class, &proposal_class};
static const struct sp_state_class *const states[] = {&conj_state_class, &finite_state,
                                                      &memoizer_state,   &evaluations_state,
                                                      &srcfn_state,      &plugged_state};

void infer_pack_begin(struct pack *p, struct session_core *core) {
    static const struct pack_links links = {.node = trace_pack_node,
                                            .maker = trace_pack_maker,
                                            .family = trace_pack_family,
                                            .boxes = boxes,
                                            .n_boxes = COUNT_OF(boxes),
                                            .states = states,
                                            .n_states = COUNT_OF(states)};
    core_pack_begin(p, core, &links);
}

enum gpm_status infer_open(const struct session_core *core, const char *data, size_t n,
                           const char *kind, const char **body, size_t *len, struct buf *why) {
    const struct sp_options *o = core->host.options;
    return pack_open(data, n, kind, o && o->allow_run, body, len, why);
}

/* ---- models ---- */

void model_pack(struct pack *p, struct box *b) {
    struct model *m = (struct model *)b;
    size_t n = m->p.n;
    pack_count(p, &n, 1);
    for (size_t i = 0; i < n && pack_ok(p); i++) {
        struct trace *t = p->reading ? NULL : m->p.at[i];
        trace_pack(p, &t);
        if (p->reading && t) vec_push(&m->p, t);
    }
    pack_bool(p, &m->begun);
    pack_u64(p, &m->made_by);
    if (!m->p.n) pack_fail(p, "a model in it has no trace");
}

void pack_model(struct pack *p, struct model **m) {
    value v = *m ? value_box(V_BOX, &(*m)->box) : NIL;
    pack_value(p, &v);
    if (!p->reading) return;
    *m = model_of(v);
    if (!*m) pack_fail(p, "it holds no model");
}

void pack_dataset(struct pack *p, struct dataset **d) {
    value v = *d && !p->reading ? value_box(V_BOX, &(*d)->box) : NIL;
    pack_value(p, &v);
    if (!p->reading) return;
    if (!dataset_of(v)) {
        pack_fail(p, "what it keeps is no dataset");
        value_set_take(&v, value_box(V_BOX, &dataset_new(NULL, 0)->box));
    }
    if (*d) value_unref(value_box(V_BOX, &(*d)->box));
    *d = dataset_of(v);
}

/* ---- actions and other values ---- */

const struct infer_op *pack_op(struct pack *p, const struct infer_op *op) {
    uint32_t i = 0, n = (uint32_t)sp_index_count();
    while (op && i < n && infer_op_of(sp_index_at(i)) != op) i++;
    i = pack_choice(p, op ? i : n, n + 1);
    op = i < n ? infer_op_of(sp_index_at(i)) : NULL;
    if (i < n && !op) pack_fail(p, "an operator in it is unknown");
    return op;
}

void action_pack(struct pack *p, struct box *b) {
    struct action *a = (struct action *)b;
    size_t args = a->n, splices = a->n_splices;
    a->kind = (enum action_kind)pack_choice(p, a->kind, ACTION_EVAL + 1);
    pack_span(p, &a->at);
    a->op = pack_op(p, a->op);
    pack_count(p, &args, 1);
    pack_count(p, &splices, 1);
    if (p->reading) {
        a->args = mem_zalloc((args + 1) * sizeof *a->args);
        a->splices = mem_zalloc((splices + 1) * sizeof *a->splices);
        a->n = args;
        a->n_splices = splices;
    }
    pack_values(p, a->args, args);
    for (size_t i = 0; i < splices; i++) pack_frame(p, &a->splices[i]);
    pack_ast(p, &a->ast);
    if (p->reading && a->ast) code_ref(a->ast->code);
    pack_frame(p, &a->frame);
    pack_value(p, &a->val);
    pack_value(p, &a->label);
    pack_value(p, &a->name);
    if (a->kind == ACTION_OP ? !a->op : !a->ast) pack_fail(p, "an action in it is empty");
}

void dataset_pack(struct pack *p, struct box *b) {
    struct dataset *d = (struct dataset *)b;
    pack_count(p, &d->n_columns, 1);
    if (p->reading && d->n_columns) d->names = mem_zalloc(d->n_columns * sizeof *d->names);
    for (size_t i = 0; i < d->n_columns; i++) pack_text(p, &d->names[i]);
    size_t n = d->cells.n;
    pack_count(p, &n, 1);
    vec_reserve(&d->cells, n);
    for (size_t i = 0; i < n; i++) {
        if (p->reading) d->cells.at[i] = NIL;
        d->cells.n = i + 1;
        pack_value(p, &d->cells.at[i]);
    }
}

void subproblem_pack(struct pack *p, struct box *b) {
    struct subproblem *s = (struct subproblem *)b;
    s->kind = (enum sub_kind)pack_choice(p, s->kind, SUB_CHOSEN + 1);
    pack_value(p, &s->a);
    pack_value(p, &s->b);
}

/* ---- the state ---- */

static void pack_counts(struct pack *p, struct infer_state *x) {
    size_t n = x->n_stats;
    pack_count(p, &n, 3);
    if (p->reading) x->stats = mem_zalloc((n + 1) * sizeof *x->stats);
    x->n_stats = n;
    for (size_t i = 0; i < n; i++) {
        pack_value(p, &x->stats[i].scope);
        pack_u64(p, &x->stats[i].proposed);
        pack_u64(p, &x->stats[i].accepted);
    }
}

static void pack_scopes(struct pack *p, struct infer_state *x) {
    size_t n = x->known_scopes.n;
    pack_count(p, &n, 1);
    for (size_t i = 0; i < n && pack_ok(p); i++) {
        value v = p->reading ? NIL : x->known_scopes.at[i];
        pack_value(p, &v);
        if (p->reading) vec_push(&x->known_scopes, v);
    }
}

void infer_pack(struct pack *p, struct infer_state *x) {
    pack_bool(p, &x->each_particle);
    struct model *m = p->reading ? NULL : x->model;
    pack_model(p, &m);
    if (p->reading && m) {
        value_unref(value_box(V_BOX, &x->model->box));
        x->model = m;
    }
    pack_u32(p, &x->next_stream);
    pack_u64(p, &x->runs);
    pack_scopes(p, x);
    pack_counts(p, x);
    op_states_pack(p, x);
}
