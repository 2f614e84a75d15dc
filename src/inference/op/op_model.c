/* SPDX-License-Identifier: Apache-2.0
 *
 * Models and labels: new_model, fork_model, in_model, forget, freeze, report, num_blocks,
 * likelihoods, reset_to_prior. */
#include "runtime/core/nest.h"
#include "inference/run/infer.h"
#include "inference/run/infer_pack.h"

#include <math.h>

enum { FRESH, COPY };

static enum gpm_status op_make_model(struct infer_state *x, const struct action *a, value *out) {
    if (a->op->how == COPY) return model_fork(x, x->model, out);
    *out = model_new(x->core);
    return GPM_OK;
}

/* The place: the action that gives the model, or inside the model. */
struct in_model_place {
    value m;             /* owned; NIL: not yet made */
    struct model *outer; /* counted: the previous current model, while m is current */
    bool dropped;
};

static void pack_in_model(struct pack *p, void *ctx) {
    struct in_model_place *w = ctx;
    bool inside = w->outer != NULL;
    pack_bool(p, &w->dropped);
    pack_bool(p, &inside);
    if (!inside) return;
    pack_value(p, &w->m);
    pack_model(p, &w->outer);
}

/* The model, or the result of an action: in_model(new_model(), a). */
static enum gpm_status find_model(struct infer_state *x, const struct action *a, value *m) {
    if (!action_of(a->args[0])) {
        *m = value_ref(a->args[0]);
    } else {
        place_hand(x->core);
        value v;
        enum gpm_status st = action_run(x->core, a->args[0], x->at, &v);
        if (st != GPM_OK) return st;
        *m = v;
    }
    if (!model_of(*m))
        return infer_error(x, DIAG_TYPE, "in_model: m must be a model, got %s", SHOW(*m));
    if (model_of(*m)->made_by != (x->core->nest ? x->core->nest->number : 0))
        return infer_error(x, DIAG_ACTION_IN_MODEL,
                           "inference inside a model works on models that it makes itself");
    return GPM_OK;
}

/* The guard protects the model that was current at the start of the instruction. m belongs to the
 * program, and a failing action leaves it as it is. */
static enum gpm_status op_in_model(struct infer_state *x, const struct action *a, value *out) {
    struct in_model_place w = {.m = NIL, .dropped = x->dropped};
    struct waypoint here = {PLACE_OPERATOR, pack_in_model, &w, NULL, false};
    enum gpm_status st = GPM_OK;
    value v;
    (void)place_enter(x->core, &here);
    if (!w.outer) {
        st = find_model(x, a, &w.m);
        if (st == GPM_OK) {
            w.outer = x->model;
            x->model = model_of(value_ref(w.m));
        }
    }
    if (st == GPM_OK) {
        x->core->dropping = w.dropped;
        place_hand(x->core);
        st = action_run(x->core, a->args[1], x->at, &v);
    }
    place_leave(x->core, &here);
    if (w.outer) {
        value_unref(value_box(V_BOX, &x->model->box));
        x->model = w.outer;
    }
    if (st == GPM_OK)
        *out = value_pair_take(v, w.m);
    else
        value_unref(w.m);
    return st;
}

static enum gpm_status forget(struct infer_state *x, const struct action *a, struct trace *t,
                              value *out) {
    struct sym *label;
    double weight;
    enum gpm_status st = infer_label(x, a->args[0], &label);
    if (st == GPM_OK) st = trace_forget(t, label, x->at, &weight);
    if (st == GPM_OK) *out = value_num(weight);
    return st;
}

static enum gpm_status freeze(struct infer_state *x, const struct action *a, struct trace *t,
                              value *out) {
    struct sym *label;
    enum gpm_status st = infer_label(x, a->args[0], &label);
    return st == GPM_OK ? trace_freeze(t, label, x->at) : st;
}

static enum gpm_status op_report(struct infer_state *x, const struct action *a, value *out) {
    struct sym *label;
    enum gpm_status st = infer_label(x, a->args[0], &label);
    return st == GPM_OK ? trace_report(x->model->p.at[0], label, x->at, out) : st;
}

static enum gpm_status num_blocks(struct infer_state *x, const struct action *a, struct trace *t,
                                  value *out) {
    struct scope *s = trace_scope(t, a->args[0]);
    size_t n = s ? scope_live(s) : 0;
    *out = value_num((double)(infer_is_name(a->args[0], "default") ? t->choices.n : n));
    return GPM_OK;
}

/* Redraws everything from the prior. The particle's weight becomes the likelihood, w_new = sum log
 * p(observed | choices): every free choice is a principal, so only data absorb. */
static enum gpm_status reset(struct infer_state *x, const struct action *a, struct trace *t,
                             value *out) {
    double w_old, w_new;
    enum gpm_status st = trace_redraw(t, t->choices.at, t->choices.n, &w_old, &w_new);
    if (st != GPM_OK || w_new == -INFINITY) return st;
    t->log_weight = w_new;
    x->model->begun = false;
    return GPM_OK;
}

enum { JOINT, LIKELIHOOD };

static enum gpm_status log_density(struct infer_state *x, const struct action *a, struct trace *t,
                                   value *out) {
    double joint, like;
    enum gpm_status st = trace_log_joint(t, &joint, &like);
    if (st == GPM_OK) *out = value_num(a->op->how == JOINT ? joint : like);
    return st;
}

struct numbers {
    VEC(double) at;
};

/* The weight that detaching the block would give: log p(block and all that absorbs), or only what
 * absorbs. */
static enum gpm_status local_density(struct step *s) {
    struct numbers *found = s->ctx;
    struct scaffold *part;
    double w;
    enum scaffold_mode mode = s->g->op->how == JOINT ? SCAFFOLD_FIXED : SCAFFOLD_PRIOR;
    enum gpm_status st = scaffold_open(s->t, s->at, s->n, mode, &w, &part);
    if (st != GPM_OK) return st;
    scaffold_close(part, false);
    vec_push(&found->at, w);
    return GPM_OK;
}

static enum gpm_status op_density_at(struct infer_state *x, const struct action *a, value *out) {
    struct target g;
    struct numbers found = {0};
    enum gpm_status st = infer_target(x, a, &g);
    if (st == GPM_OK) st = infer_transitions(x, &g, local_density, &found);
    if (st == GPM_OK) *out = value_numbers(found.at.at, found.at.n);
    vec_release(&found.at);
    return st;
}

static enum gpm_status check(struct infer_state *x, const struct action *a, struct trace *t,
                             value *out) {
    struct buf why = BUF_INIT;
    bool sound = trace_check(t, &why);
    if (!sound) infer_error(x, DIAG_NAN, "trace check: %s", why.data);
    buf_release(&why);
    return sound ? GPM_OK : GPM_E_USER;
}

/* Memory of the traces: number of applications, and bytes of everything that belongs to them. */
static enum gpm_status op_memory(struct infer_state *x, const struct action *a, value *out) {
    static const char *const keys[] = {"applications", "bytes", "bytes per application"};
    size_t apps = 0, bytes = 0;
    struct map seen = {0}; /* shared layers count once */
    for (size_t i = 0; i < x->model->p.n; i++) {
        size_t more;
        bytes += trace_memory(x->model->p.at[i], &seen, &more);
        apps += more;
    }
    map_release(&seen);
    double vals[] = {(double)apps, (double)bytes, apps ? floor((double)bytes / (double)apps) : 0};
    *out = infer_numbers(keys, vals, 3);
    return GPM_OK;
}

const struct infer_op infer_model_rows[] = {
    {"new_model", "() -> action", "a fresh model", .flags = OP_EXACT | OP_SHARED | OP_ATOMIC,
     .run = op_make_model, .how = FRESH},
    {"fork_model", "() -> action", "a copy of the current model", .flags = OP_SHARED | OP_ATOMIC,
     .run = op_make_model, .how = COPY},
    {"in_model", "(m: any, a: action) -> action",
     "runs a in model m, or in the one that the action m gives; pair of its result and the model",
     .flags = OP_EXACT | OP_SHARED | OP_RESUMES, .run = op_in_model},
    {"forget", "(label: label) -> action", "removes a directive; the log density it had",
     EACH(forget)},
    {"freeze", "(label: label) -> action",
     "replaces a directive by its current value; its name may then be assumed again, from that",
     .flags = OP_MOVES, EACH(freeze)},
    {"report", "(label: label) -> action", "the current value of a directive",
     .flags = OP_SHARED | OP_ATOMIC, .run = op_report},
    {"num_blocks", "(scope: scope) -> action",
     "how many blocks of the scope hold choices, per particle", EACH(num_blocks)},
    {"reset_to_prior", "() -> action",
     "redraws every choice from the prior; the weight becomes the likelihood", EACH(reset)},
    {"likelihood_weight", "() -> action", "the same as reset_to_prior", EACH(reset)},
    {"incorporate", "() -> action", "does nothing: observations take effect at once",
     .run = op_pass},
    {"global_log_joint", "() -> action",
     "log density of all choices and observations, per particle", .flags = OP_VALUE, .how = JOINT,
     EACH(log_density)},
    {"global_log_likelihood", "() -> action", "log density of the observations, per particle",
     .flags = OP_VALUE, .how = LIKELIHOOD, EACH(log_density)},
    {"log_joint_at", "(scope: target, block?: block) -> action",
     "log density of the block and all it touches", .run = op_density_at, .how = JOINT,
     .block = "all"},
    {"log_likelihood_at", "(scope: target, block?: block) -> action",
     "log density of all that the block touches", .run = op_density_at, .how = LIKELIHOOD,
     .block = "all"},
    {"trace_memory", "() -> action",
     "bytes that traced applications take: nodes, links, directives",
     .flags = OP_SHARED | OP_ATOMIC, .run = op_memory},
    {"checkInvariants", "() -> action", "checks the whole trace; an error if it is inconsistent",
     EACH(check)},
    {0},
};
