/* SPDX-License-Identifier: Apache-2.0
 *
 * Models and labels: new_model, fork_model, in_model, forget, freeze, report, num_blocks,
 * likelihoods, reset_to_prior. */
#include "infer/infer.h"

#include <math.h>

static enum gpm_status op_new_model(struct infer_state *x, const value *args, size_t n,
                                    value *out) {
    *out = model_new(x->core);
    return GPM_OK;
}

static enum gpm_status op_fork_model(struct infer_state *x, const value *args, size_t n,
                                     value *out) {
    return model_fork(x, x->model, out);
}

/* The guard protects the model that was current when the instruction began; m is the program's own,
 * and is left as the action left it when that fails. */
static enum gpm_status op_in_model(struct infer_state *x, const value *args, size_t n, value *out) {
    struct model *m = model_of(args[0]), *outer = x->model;
    if (!m)
        return infer_error(x, DIAG_TYPE, "in_model: the first argument must be a model, got a %s",
                           value_type_name(args[0]));
    value keep = value_ref(args[0]), v;
    x->model = m;
    enum gpm_status st = action_run(x->core, args[1], x->at, &v);
    x->model = outer;
    if (st == GPM_OK) {
        *out = value_pair(v, args[0]);
        value_unref(v);
    }
    value_unref(keep);
    return st;
}

static enum gpm_status label_of(struct infer_state *x, value v, struct sym **out) {
    if (v.tag == V_SYM && v.u.sym)
        *out = v.u.sym;
    else if (v.tag == V_STR)
        *out = sym_intern(x->core->syms, v.u.str->text, v.u.str->len);
    else
        return infer_error(x, DIAG_TYPE, "a label is needed (quote(name)), got a %s",
                           value_type_name(v));
    return GPM_OK;
}

static enum gpm_status op_forget(struct infer_state *x, const value *args, size_t n, value *out) {
    struct sym *label = NULL;
    enum gpm_status st = label_of(x, args[0], &label);
    size_t np = x->model->p.n;
    value *w = NEW_ARRAY(value, np + 1);
    for (size_t i = 0; st == GPM_OK && i < np; i++) {
        double weight;
        st = trace_forget(x->model->p.at[i], label, x->at, &weight);
        w[i] = value_num(weight);
    }
    if (st == GPM_OK) *out = value_array(w, np);
    mem_free(w);
    return st;
}

static enum gpm_status op_freeze(struct infer_state *x, const value *args, size_t n, value *out) {
    struct sym *label = NULL;
    enum gpm_status st = label_of(x, args[0], &label);
    for (size_t i = 0; st == GPM_OK && i < x->model->p.n; i++)
        st = trace_freeze(x->model->p.at[i], label, x->at);
    *out = NIL;
    return st;
}

static enum gpm_status op_report(struct infer_state *x, const value *args, size_t n, value *out) {
    struct sym *label = NULL;
    enum gpm_status st = label_of(x, args[0], &label);
    return st == GPM_OK ? trace_report(x->model->p.at[0], label, x->at, out) : st;
}

static enum gpm_status op_num_blocks(struct infer_state *x, const value *args, size_t n,
                                     value *out) {
    size_t np = x->model->p.n;
    value *v = NEW_ARRAY(value, np + 1);
    for (size_t i = 0; i < np; i++) {
        struct trace *t = x->model->p.at[i];
        struct scope *s = trace_scope(t, args[0]);
        v[i] = value_num((double)(infer_is_name(args[0], "default") ? t->choices.n
                                  : s                               ? s->live.n
                                                                    : 0));
    }
    *out = value_array(v, np);
    mem_free(v);
    return GPM_OK;
}

/* Redraws everything from the prior; the particle's weight becomes the likelihood,
 * w_new = sum log p(observed | choices): every free choice is a principal, so that only data
 * absorb. */
static enum gpm_status op_reset(struct infer_state *x, const value *args, size_t n, value *out) {
    for (size_t i = 0; i < x->model->p.n; i++) {
        struct trace *t = x->model->p.at[i];
        double w_old, w_new;
        enum gpm_status st = trace_redraw(t, t->choices.at, t->choices.n, &w_old, &w_new);
        if (st != GPM_OK) return st;
        if (w_new > -INFINITY) t->log_weight = w_new;
    }
    *out = NIL;
    return GPM_OK;
}

static enum gpm_status joints(struct infer_state *x, bool likelihood, value *out) {
    size_t np = x->model->p.n;
    value *v = NEW_ARRAY(value, np + 1);
    enum gpm_status st = GPM_OK;
    for (size_t i = 0; st == GPM_OK && i < np; i++) {
        double joint, like;
        st = trace_log_joint(x->model->p.at[i], &joint, &like);
        v[i] = value_num(likelihood ? like : joint);
    }
    if (st == GPM_OK) *out = value_array(v, np);
    mem_free(v);
    return st;
}

static enum gpm_status op_log_joint(struct infer_state *x, const value *args, size_t n,
                                    value *out) {
    return joints(x, false, out);
}

static enum gpm_status op_log_likelihood(struct infer_state *x, const value *args, size_t n,
                                         value *out) {
    return joints(x, true, out);
}

struct local {
    bool joint;
    VEC(double) vals;
};

/* What detaching the block would take: log p(block and all that absorbs), or of what absorbs alone.
 */
static enum gpm_status local_density(struct infer_state *x, struct trace *t, struct node **at,
                                     size_t n, const struct mh_extra *extra, void *ctx,
                                     bool *accepted) {
    struct local *l = ctx;
    struct scaffold *s;
    double w;
    enum gpm_status st = scaffold_build(t, at, n, &s);
    if (st != GPM_OK) return st;
    st = scaffold_detach(s, l->joint ? SCAFFOLD_FIXED : SCAFFOLD_PRIOR, &w);
    if (st == GPM_OK) scaffold_restore(s);
    scaffold_free(s);
    if (st == GPM_OK) vec_push(&l->vals, w);
    return st;
}

static enum gpm_status local_at(struct infer_state *x, const value *args, size_t n, bool joint,
                                value *out) {
    struct target g;
    struct local l = {.joint = joint};
    static const struct target_form form = {"log_joint_at", "all", 0, false};
    enum gpm_status st = infer_target(x, &form, args, n, NULL, &g);
    if (st == GPM_OK) st = infer_transitions(x, &g, local_density, &l);
    if (st == GPM_OK) {
        value v = value_array_new(l.vals.n);
        for (size_t i = 0; i < l.vals.n; i++) v.u.array->at[i] = value_num(l.vals.at[i]);
        *out = v;
    }
    vec_release(&l.vals);
    return st;
}

static enum gpm_status op_log_joint_at(struct infer_state *x, const value *args, size_t n,
                                       value *out) {
    return local_at(x, args, n, true, out);
}

static enum gpm_status op_log_likelihood_at(struct infer_state *x, const value *args, size_t n,
                                            value *out) {
    return local_at(x, args, n, false, out);
}

static enum gpm_status op_check(struct infer_state *x, const value *args, size_t n, value *out) {
    for (size_t i = 0; i < x->model->p.n; i++) {
        struct buf why = BUF_INIT;
        bool ok = trace_check(x->model->p.at[i], &why);
        if (!ok) infer_error(x, DIAG_NAN, "trace check: %s", why.data);
        buf_release(&why);
        if (!ok) return GPM_E_USER;
    }
    *out = NIL;
    return GPM_OK;
}

static enum gpm_status op_incorporate(struct infer_state *x, const value *args, size_t n,
                                      value *out) {
    *out = NIL; /* observations take effect at once; kept for programs that ask */
    return GPM_OK;
}

/* What the traces hold: applications, and bytes of their nodes and links for each. */
static enum gpm_status op_memory(struct infer_state *x, const value *args, size_t n, value *out) {
    size_t apps = 0, bytes = 0;
    for (size_t i = 0; i < x->model->p.n; i++) {
        size_t a;
        bytes += trace_memory(x->model->p.at[i], &a);
        apps += a;
    }
    value kv[6] = {value_cstr("applications"),
                   value_num((double)apps),
                   value_cstr("bytes"),
                   value_num((double)bytes),
                   value_cstr("bytes per application"),
                   value_num(apps ? floor((double)bytes / (double)apps) : 0)};
    *out = value_dict(kv, 3);
    for (int i = 0; i < 6; i += 2) value_unref(kv[i]);
    return GPM_OK;
}

const struct infer_op infer_model_rows[] = {
    {"new_model", "() -> action", "a fresh model", NULL, 0, op_new_model},
    {"fork_model", "() -> action", "a copy of the current model", NULL, 0, op_fork_model},
    {"in_model", "(m: model, a: action) -> action", "runs a in model m; pair of its result and m",
     NULL, 0, op_in_model},
    {"forget", "(label: label) -> action", "removes a directive; the log density it had", NULL, 0,
     op_forget},
    {"freeze", "(label: label) -> action", "replaces a directive by its current value", NULL, 0,
     op_freeze},
    {"report", "(label: label) -> action", "the current value of a directive", NULL, 0, op_report},
    {"num_blocks", "(scope: scope) -> action",
     "how many blocks of the scope hold choices, per particle", NULL, 0, op_num_blocks},
    {"reset_to_prior", "() -> action",
     "redraws every choice from the prior; the weight becomes the likelihood", NULL, 0, op_reset},
    {"likelihood_weight", "() -> action", "the same as reset_to_prior", NULL, 0, op_reset},
    {"incorporate", "() -> action", "does nothing: observations take effect at once", NULL, 0,
     op_incorporate},
    {"global_log_joint", "() -> action",
     "log density of all choices and observations, per particle", NULL, OP_VALUE, op_log_joint},
    {"global_log_likelihood", "() -> action", "log density of the observations, per particle", NULL,
     OP_VALUE, op_log_likelihood},
    {"log_joint_at", "(scope: target, block?: block) -> action",
     "log density of the block and all it touches", NULL, 0, op_log_joint_at},
    {"log_likelihood_at", "(scope: target, block?: block) -> action",
     "log density of all that the block touches", NULL, 0, op_log_likelihood_at},
    {"trace_memory", "() -> action", "bytes that traced applications take, nodes and links", NULL,
     0, op_memory},
    {"checkInvariants", "() -> action", "checks the whole trace; an error if it is inconsistent",
     NULL, 0, op_check},
};
const size_t infer_model_count = COUNT_OF(infer_model_rows);
