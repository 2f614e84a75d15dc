/* SPDX-License-Identifier: Apache-2.0
 *
 * Actions that combine actions: return, bind, repeat, sequence, mapM, for_each, assert. They touch
 * no model themselves and may run while part of one is detached (OP_OPEN); an error inside ends
 * them. */
#include "infer/infer.h"
#include "infer/progress.h"

#include <math.h>

static enum gpm_status op_pass(struct infer_state *x, const value *args, size_t n, value *out) {
    *out = NIL;
    return GPM_OK;
}

static enum gpm_status op_return(struct infer_state *x, const value *args, size_t n, value *out) {
    *out = value_ref(args[0]);
    return GPM_OK;
}

/* Runs f(args) as an action. */
static enum gpm_status run_call(struct infer_state *x, value f, const value *args, size_t n,
                                value *out) {
    value action;
    enum gpm_status st = plain_apply(x->core, f, args, n, x->at, &action);
    if (st != GPM_OK) return st;
    st = action_run(x->core, action, x->at, out);
    value_unref(action);
    return st;
}

static enum gpm_status op_bind(struct infer_state *x, const value *args, size_t n, value *out) {
    value v;
    enum gpm_status st = action_run(x->core, args[0], x->at, &v);
    if (st != GPM_OK) return st;
    st = run_call(x, args[1], &v, 1, out);
    value_unref(v);
    return st;
}

static enum gpm_status op_bind_(struct infer_state *x, const value *args, size_t n, value *out) {
    value v;
    enum gpm_status st = action_run(x->core, args[0], x->at, &v);
    if (st != GPM_OK) return st;
    value_unref(v);
    return run_call(x, args[1], NULL, 0, out);
}

static enum gpm_status repeat(struct infer_state *x, double times, value action, value *out) {
    struct progress_loop loop;
    enum gpm_status st = GPM_OK;
    if (!action_of(action)) return action_run(x->core, action, x->at, out); /* also for no round */
    progress_begin(&loop, x, times);
    for (double i = 0; i < times && st == GPM_OK; i++) {
        value v;
        progress_step(&loop, i);
        st = action_run(x->core, action, x->at, &v);
        if (st == GPM_OK) value_unref(v);
    }
    progress_end(&loop);
    if (st == GPM_OK) *out = NIL;
    return st;
}

static enum gpm_status op_repeat(struct infer_state *x, const value *args, size_t n, value *out) {
    return repeat(x, args[0].u.num, args[1], out);
}

static enum gpm_status op_iterate(struct infer_state *x, const value *args, size_t n, value *out) {
    return repeat(x, args[1].u.num, args[0], out);
}

enum each { EACH_RUN, EACH_MAP, EACH_MAP_INDEXED };

/* Runs every item (or f of it) in order and collects the results in a list. */
static enum gpm_status run_each(struct infer_state *x, enum each how, value f, value xs,
                                value *out) {
    value *items;
    size_t n, done = 0;
    if (!seq_items(xs, &items, &n))
        return infer_error(x, DIAG_TYPE, "a sequence is needed, got a %s", value_type_name(xs));
    enum gpm_status st = GPM_OK;
    for (; done < n; done++) {
        value args[2] = {value_num((double)done), items[done]}, v;
        if (how == EACH_RUN)
            st = action_run(x->core, items[done], x->at, &v);
        else
            st = run_call(x, f, how == EACH_MAP ? args + 1 : args, how == EACH_MAP ? 1 : 2, &v);
        if (st != GPM_OK) break;
        value_set_take(&items[done], v);
    }
    if (st == GPM_OK) *out = value_list(items, n);
    values_free(items, n);
    return st;
}

static enum gpm_status op_sequence(struct infer_state *x, const value *args, size_t n, value *out) {
    return run_each(x, EACH_RUN, NIL, args[0], out);
}

static enum gpm_status op_mapM(struct infer_state *x, const value *args, size_t n, value *out) {
    return run_each(x, EACH_MAP, args[0], args[1], out);
}

static enum gpm_status op_imapM(struct infer_state *x, const value *args, size_t n, value *out) {
    return run_each(x, EACH_MAP_INDEXED, args[0], args[1], out);
}

static enum gpm_status drop_result(enum gpm_status st, value *out) {
    if (st == GPM_OK) value_set_take(out, NIL);
    return st;
}

static enum gpm_status op_for_each(struct infer_state *x, const value *args, size_t n, value *out) {
    return drop_result(run_each(x, EACH_MAP, args[1], args[0], out), out);
}

static enum gpm_status op_for_each_indexed(struct infer_state *x, const value *args, size_t n,
                                           value *out) {
    return drop_result(run_each(x, EACH_MAP_INDEXED, args[1], args[0], out), out);
}

static enum gpm_status op_assert(struct infer_state *x, const value *args, size_t n, value *out) {
    bool truth;
    if (!value_truth(args[0], &truth))
        return infer_error(x, DIAG_CONDITION, "assert needs a boolean, got a %s",
                           value_type_name(args[0]));
    if (!truth) {
        const char *why = n > 1 && args[1].tag == V_STR ? args[1].u.str->text : NULL;
        return infer_error(x, DIAG_ASSERT, "assertion failed%s%s", why ? ": " : "", why ? why : "");
    }
    *out = NIL;
    return GPM_OK;
}

static enum gpm_status op_autorun(struct infer_state *x, const value *args, size_t n, value *out) {
    if (action_of(args[0])) return action_run(x->core, args[0], x->at, out);
    *out = value_ref(args[0]);
    return GPM_OK;
}

const struct infer_op infer_control_rows[] = {
    {"pass", "() -> action", "the action that does nothing", NULL, OP_VALUE | OP_OPEN, op_pass},
    {"return", "(v: any) -> action", "the action that gives v (evaluated now)",
     "run(return(3)) => 3", OP_OPEN, op_return},
    {"bind", "(a: action, f: proc) -> action", "runs a, then the action f(its result)", NULL,
     OP_OPEN, op_bind},
    {"bind_", "(a: action, f: proc) -> action", "runs a, then the action f()", NULL, OP_OPEN,
     op_bind_},
    {"repeat", "(n: number, a: action) -> action", "runs a n times", NULL, OP_OPEN, op_repeat},
    {"iterate", "(a: action, n: number) -> action", "runs a n times", NULL, OP_OPEN, op_iterate},
    {"sequence", "(actions: seq) -> action", "runs the actions in order; list of their results",
     NULL, OP_OPEN, op_sequence},
    {"mapM", "(f: proc, xs: seq) -> action", "runs f(x) for every x; list of the results", NULL,
     OP_OPEN, op_mapM},
    {"imapM", "(f: proc, xs: seq) -> action", "runs f(i, x) for every x; list of the results", NULL,
     OP_OPEN, op_imapM},
    {"for_each", "(xs: seq, f: proc) -> action", "runs f(x) for every x", NULL, OP_OPEN,
     op_for_each},
    {"for_each_indexed", "(xs: seq, f: proc) -> action", "runs f(i, x) for every x", NULL, OP_OPEN,
     op_for_each_indexed},
    {"assert", "(ok: any, message?: any) -> action", "an error unless ok is true", NULL, OP_OPEN,
     op_assert},
    {"autorun", "(x: any) -> any", "runs x when it is an action, else gives it", NULL, OP_PLAIN,
     op_autorun},
};
const size_t infer_control_count = COUNT_OF(infer_control_rows);
