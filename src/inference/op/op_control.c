/* SPDX-License-Identifier: Apache-2.0
 *
 * Actions that combine actions: return, bind, repeat, sequence, mapM, for_each, assert. They do not
 * change a model themselves and may run while part of one is detached (OP_OPEN). An error inside
 * ends them. */
#include "inference/run/infer.h"
#include "inference/run/infer_pack.h"
#include "inference/run/progress.h"

enum gpm_status op_pass(struct infer_state *x, const struct action *a, value *out) {
    return GPM_OK;
}

static enum gpm_status op_return(struct infer_state *x, const struct action *a, value *out) {
    *out = value_ref(a->args[0]);
    return GPM_OK;
}

/* The place: the first action, or the action given by f. */
struct bind_place {
    value second; /* owned; NIL: not yet begun */
};

static void pack_bind(struct pack *p, void *ctx) {
    pack_value(p, &((struct bind_place *)ctx)->second);
}

/* bind passes on the result, bind_ does not: `how` is the number of arguments of f. */
static enum gpm_status op_bind(struct infer_state *x, const struct action *a, value *out) {
    struct bind_place b = {NIL};
    struct waypoint here = {PLACE_OPERATOR, pack_bind, &b, NULL, false};
    enum gpm_status st = GPM_OK;
    (void)place_enter(x->core, &here);
    if (b.second.tag == V_NIL) {
        value v;
        place_hand(x->core);
        st = action_run(x->core, a->args[0], x->at, &v);
        if (st == GPM_OK) {
            st = plain_apply(x->core, a->args[1], &v, (size_t)a->op->how, x->at, &b.second);
            value_unref(v);
        }
    }
    if (st == GPM_OK) {
        place_hand(x->core);
        st = action_run(x->core, b.second, x->at, out);
    }
    place_leave(x->core, &here);
    value_unref(b.second);
    return st;
}

/* `how` is the position of the action; the number of rounds is the other argument. */
static enum gpm_status op_repeat(struct infer_state *x, const struct action *a, value *out) {
    return progress_repeat(x, a->args[1 - a->op->how].u.num, a->args[a->op->how], NULL, NULL);
}

enum { WITH_INDEX = 1, WITHOUT_RESULTS = 2 }; /* sum: how */

/* The place: items before `done` are results. */
struct each_place {
    value *items;
    size_t n, done;
    value action; /* the running action; owned, NIL: not yet begun */
};

static void pack_each(struct pack *p, void *ctx) {
    struct each_place *e = ctx;
    pack_count(p, &e->n, 1);
    pack_size(p, &e->done);
    if (p->reading) e->items = mem_zalloc((e->n + 1) * sizeof *e->items);
    pack_values(p, e->items, e->n);
    pack_value(p, &e->action);
}

/* The action of the next item. */
static enum gpm_status next_action(struct infer_state *x, const struct action *a,
                                   struct each_place *e) {
    bool index = a->op->how & WITH_INDEX, drop = a->op->how & WITHOUT_RESULTS;
    value args[2] = {value_num((double)e->done), e->items[e->done]};
    if (a->n == 1) {
        e->action = value_ref(args[1]);
        return GPM_OK;
    }
    return plain_apply(x->core, a->args[drop ? 1 : 0], index ? args : args + 1, index ? 2 : 1,
                       x->at, &e->action);
}

/* Runs f of every item in order, with its index if wanted, or the items themselves without f. The
 * results are a list. mapM(f, xs), for_each(xs, f), sequence(actions). */
static enum gpm_status op_each(struct infer_state *x, const struct action *a, value *out) {
    bool drop = a->op->how & WITHOUT_RESULTS;
    struct each_place e = {.action = NIL};
    struct waypoint here = {PLACE_OPERATOR, pack_each, &e, NULL, false};
    enum gpm_status st = GPM_OK;
    if (!place_enter(x->core, &here) &&
        !seq_items(a->args[a->n == 1 || drop ? 0 : 1], &e.items, &e.n))
        st = GPM_E_ARG; /* checked by the signature */
    for (; e.done < e.n && st == GPM_OK; e.done++) {
        value v;
        if (e.action.tag == V_NIL) {
            st = place_point(x->core, &here, x->at);
            if (st == GPM_OK) st = next_action(x, a, &e);
            if (st != GPM_OK) break;
        }
        x->core->dropping = drop && a->n > 1;
        place_hand(x->core);
        st = action_run(x->core, e.action, x->at, &v);
        value_set_take(&e.action, NIL);
        if (st != GPM_OK) break;
        if (drop) value_set_take(&v, NIL); /* discards values; there may be millions */
        value_set_take(&e.items[e.done], v);
    }
    place_leave(x->core, &here);
    if (st == GPM_OK && !drop) *out = value_list(e.items, e.n);
    values_free(e.items, e.n);
    return st;
}

static enum gpm_status op_assert(struct infer_state *x, const struct action *a, value *out) {
    bool truth;
    if (!sp_truth(a->args[0], &truth))
        return infer_error(x, DIAG_CONDITION, "assert needs a boolean, got a %s",
                           value_type_name(a->args[0]));
    value why = action_arg(a, 1);
    bool said = why.tag == V_STR;
    return truth ? GPM_OK
                 : infer_error(x, DIAG_ASSERT, "assertion failed%s%s", said ? ": " : "",
                               said ? why.u.str->text : "");
}

static enum gpm_status op_autorun(struct infer_state *x, const struct action *a, value *out) {
    if (action_of(a->args[0])) return action_run(x->core, a->args[0], x->at, out);
    *out = value_ref(a->args[0]);
    return GPM_OK;
}

enum { COMBINES = OP_OPEN | OP_EXACT | OP_COMBINES | OP_SHARED };

const struct infer_op infer_control_rows[] = {
    {"pass", "() -> action", "the action that does nothing", .flags = OP_VALUE | COMBINES,
     .run = op_pass},
    {"return", "(v: any) -> action", "the action that gives v (evaluated now)",
     "run(return(3)) => 3", COMBINES, .run = op_return},
    {"bind", "(a: action, f: proc) -> action", "runs a, then the action f(its result)",
     .flags = COMBINES | OP_RESUMES, .run = op_bind, .how = 1},
    {"bind_", "(a: action, f: proc) -> action", "runs a, then the action f()",
     .flags = COMBINES | OP_RESUMES, .run = op_bind, .how = 0},
    {"repeat", "(n: number, a: action) -> action", "runs a n times", .flags = COMBINES | OP_RESUMES,
     .run = op_repeat, .how = 1},
    {"iterate", "(a: action, n: number) -> action", "runs a n times",
     .flags = COMBINES | OP_RESUMES, .run = op_repeat, .how = 0},
    {"sequence", "(actions: seq) -> action", "runs the actions in order; list of their results",
     .flags = COMBINES | OP_RESUMES, .run = op_each},
    {"mapM", "(f: proc, xs: seq) -> action", "runs f(x) for every x; list of the results",
     .flags = COMBINES | OP_RESUMES, .run = op_each},
    {"imapM", "(f: proc, xs: seq) -> action", "runs f(i, x) for every x; list of the results",
     .flags = COMBINES | OP_RESUMES, .run = op_each, .how = WITH_INDEX},
    {"for_each", "(xs: seq, f: proc) -> action", "runs f(x) for every x",
     .flags = COMBINES | OP_RESUMES, .run = op_each, .how = WITHOUT_RESULTS},
    {"for_each_indexed", "(xs: seq, f: proc) -> action", "runs f(i, x) for every x",
     .flags = COMBINES | OP_RESUMES, .run = op_each, .how = WITH_INDEX | WITHOUT_RESULTS},
    {"assert", "(ok: any, message?: any) -> action",
     "an error, with the message, unless ok is true", .flags = COMBINES, .run = op_assert},
    {"autorun", "(x: any) -> any", "runs x when it is an action, else gives it", .flags = OP_PLAIN,
     .run = op_autorun},
    {0},
};
