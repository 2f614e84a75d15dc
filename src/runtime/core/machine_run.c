/* SPDX-License-Identifier: Apache-2.0
 *
 * Runs code; see machine.h. Linked code runs step by step; what a step is not made for is done by
 * any_op, which looks names up one by one. It alone serves where that is how names must be read (a
 * run inside a model, numbers that are not known yet) and where the end of a call means something
 * else (the density of a procedure).
 *
 * Registers. What the caller gives is borrowed: the caller keeps it for as long as the call lasts.
 * All else is owned, one bit of `own` for each register that is, and so are elements of what is
 * owned. So walking over a structure that the caller holds counts nothing. */
#include "runtime/core/call_form.h"
#include "runtime/core/compile.h"
#include "runtime/core/machine.h"
#include "runtime/core/plain.h"

#include <string.h>

struct machine {
    struct session_core *core;
    struct world *w;
    uint64_t stamp;
    unsigned calls;      /* since limits were looked at */
    bool apart;          /* names are looked up one by one */
    const value *wanted; /* the density of this value is asked for, not a value */
    double *log_p;
};

enum { SMALL = 8, FEW = 16 };
enum { NOWHERE = UINT32_MAX };

/* One call, or the evaluation of one expression. */
struct activation {
    struct machine_text *x;
    struct frame *env;   /* around the text; borrowed */
    struct frame *frame; /* opened last; counted */
    value procedure;     /* counted, where nothing else holds it */
    uint64_t around;     /* see struct machine_text */
    value *at;
    uint64_t *own, one;
    value few[FEW];
};

/* A call that is the end of another, and takes its place. */
struct tail {
    const struct machine_op *op; /* NULL: none */
    struct closure *callee;      /* NULL: a primitive or memoized procedure */
    value procedure;             /* owned; NIL: a definition holds the callee */
    size_t n, width;
    value *at, few[SMALL]; /* operands, owned */
};

/* ---- registers ---------------------------------------------------------------------------- */

static inline bool is_owned(const struct activation *a, uint32_t i) {
    return a->own[i >> 6] >> (i & 63) & 1;
}

static inline void put(struct activation *a, uint32_t i, value v, bool owned) {
    uint64_t bit = (uint64_t)1 << (i & 63), *own = &a->own[i >> 6];
    if (*own & bit) value_unref(a->at[i]);
    *own = owned ? *own | bit : *own & ~bit;
    a->at[i] = v;
}

static inline void put_made(struct activation *a, uint32_t i, value v) {
    put(a, i, v, IS_OBJ(v));
}

/* A value that others hold, and that is counted unless the caller is among them. */
static inline void put_held(struct activation *a, uint32_t i, value v, bool counted) {
    if (counted) value_ref(v);
    put(a, i, v, counted && IS_OBJ(v));
}

static inline const value *first_of(const struct activation *a, const struct machine_op *s) {
    return s->a ? s->a : &a->at[s->ra];
}

static inline const value *second_of(const struct activation *a, const struct machine_op *s) {
    return s->b ? s->b : &a->at[s->rb];
}

/* May what the first operand holds go before this call ends? */
static inline bool first_owned(const struct activation *a, const struct machine_op *s) {
    return s->a || is_owned(a, s->ra);
}

static inline void open_registers(struct activation *a, struct machine_text *x, struct frame *env) {
    uint32_t n = x->n_registers, words = n / 64 + 1;
    a->x = x;
    a->env = env;
    a->frame = NULL;
    a->procedure = NIL;
    a->one = 0;
    a->at = a->few;
    a->own = &a->one;
    if (n <= FEW) return;
    a->at = mem_alloc(n * sizeof *a->at + words * sizeof *a->own);
    a->own = (uint64_t *)(a->at + n);
    memset(a->own, 0, words * sizeof *a->own);
}

static inline void close_registers(struct activation *a) {
    for (uint64_t own = a->own[0]; own; own &= own - 1) value_unref(a->at[__builtin_ctzll(own)]);
    for (uint32_t i = 64; i < a->x->n_registers; i++)
        if (is_owned(a, i)) value_unref(a->at[i]);
    if (a->at != a->few) mem_free(a->at);
    if (a->frame) frame_unref(a->frame);
    value_unref(a->procedure);
}

static void release_tail(struct tail *t) {
    for (size_t i = 0; i < t->width; i++) value_unref(t->at[i]);
    if (t->at != t->few) mem_free(t->at);
    value_unref(t->procedure);
}

static void room_for_operands(struct tail *t, size_t width) {
    t->width = width;
    t->at = width <= SMALL ? t->few : NEW_ARRAY(value, width);
}

/* ---- calls -------------------------------------------------------------------------------- */

/* Limits are looked at now and then, counting rows, too; the depth of the stack at every call. */
static inline enum gpm_status poll(struct machine *m, struct span at) {
    enum { NOW_AND_THEN = 32 };
    const char here = 0;
    if (++m->calls < NOW_AND_THEN && &here >= m->core->stack_limit) return GPM_OK;
    m->calls = 0;
    m->core->tick |= 63; /* the clock, too */
    return core_poll(m->core, at);
}

/* The registers of a call, to be filled with its arguments. */
static inline enum gpm_status open_call(struct machine *m, struct activation *a,
                                        const struct closure *c, size_t n, struct span at) {
    if (n != c->lambda->u.lambda.n_params) return core_wrong_arity(m->core, c->lambda, n, at);
    enum gpm_status st = poll(m, at);
    if (st == GPM_OK) open_registers(a, machine_text_of(m->core, c->lambda), c->env);
    return st;
}

static inline void link_text(struct machine *m, struct activation *a) {
    if (!m->apart && (a->x->linked != m->stamp || a->x->around != a->around))
        machine_link(m->core, m->w, a->x, a->env, m->stamp);
}

/* A frame that outlives the call when something made in it does. Collections happen here, where
 * every frame in use is counted. */
static void open_frame(struct machine *m, struct activation *a) {
    const struct ast *l = a->x->root;
    core_collect(m->core);
    a->frame = frame_new(m->core, a->env, a->x->n_params, l->u.lambda.params, l->code);
    for (uint32_t i = 0; i < a->x->n_params; i++) a->frame->s[i].v = value_ref(a->at[i]);
}

static enum gpm_status run(struct machine *m, struct activation *a, uint32_t from, value *out);

/* Its registers are filled. */
static enum gpm_status run_call(struct machine *m, struct activation *a, value *out) {
    if (a->x->framed) open_frame(m, a);
    return run(m, a, 0, out);
}

static struct machine machine_for(struct session_core *core) {
    struct world *w = core->model;
    return (struct machine){.core = core,
                            .w = w,
                            .stamp = machine_stamp(core, w),
                            .apart = core->nest || core->compiling};
}

static enum gpm_status call_closure(struct machine *m, struct closure *c, const value *args,
                                    size_t n, struct span at, value *out) {
    struct activation a;
    enum gpm_status st = open_call(m, &a, c, n, at);
    if (st != GPM_OK) return st;
    memcpy(a.at, args, n * sizeof *args);
    st = run_call(m, &a, out);
    if (st != GPM_OK && !m->wanted) core_tell_call(m->core, at, c->lambda->u.lambda.self);
    return st;
}

enum gpm_status machine_call(struct session_core *core, struct closure *c, const value *args,
                             size_t n, struct span at, value *out) {
    struct machine m = machine_for(core);
    return call_closure(&m, c, args, n, at, out);
}

enum gpm_status machine_eval(struct session_core *core, const struct ast *e, struct frame *f,
                             value *out) {
    struct machine m = machine_for(core);
    struct activation a;
    open_registers(&a, machine_text_of(core, e), f);
    a.frame = frame_ref(f);
    return run(&m, &a, 0, out);
}

/* ---- one operation, whatever its names stand for -------------------------------------------- */

enum gpm_status machine_read(struct session_core *core, const struct ast *name, struct frame *f,
                             int inner, value *out) {
    struct name_found x;
    enum gpm_status st = core_find(core, core->model, name, f, inner, &x);
    if (st != GPM_OK) return st;
    if (x.slot && x.slot->unset) return core_early(core, name);
    if (!x.v) return core_unbound(core, name->u.name.sym, name->span, NULL, 0);
    if (core->compiling) compile_read(core, name, &x);
    *out = value_ref(*x.v);
    return GPM_OK;
}

static enum gpm_status read_name(struct machine *m, const struct activation *a, int32_t i,
                                 value *out) {
    const struct machine_name *k = &a->x->names.at[i];
    const struct ast *e = k->a;
    if (e->kind == AST_NAME) return machine_read(m->core, e, a->env, k->inner, out);
    *out = value_ref(e->kind == AST_UNQUOTE
                         ? frame_up(a->env, e->u.unquote.depth - k->inner)->s[e->u.unquote.slot].v
                         : core_literal(m->core, e)->val);
    return GPM_OK;
}

static enum gpm_status read_operand(struct machine *m, const struct activation *a, int32_t i,
                                    value *out) {
    if (i < 0) return read_name(m, a, ~i, out);
    *out = value_ref(a->at[i]);
    return GPM_OK;
}

/* Procedures that look at the call itself. */
static enum gpm_status special(struct machine *m, struct activation *a, const struct machine_op *op,
                               uint32_t *next) {
    struct session_core *core = m->core;
    value f, v = NIL;
    enum gpm_status st = read_operand(m, a, op->of, &f);
    if (st != GPM_OK) return st;
    enum sp_special which = core_special(f);
    value_unref(f);
    if (!call_takes_text_here(core, which, op->by)) return GPM_OK;
    if (which == SPECIAL_RUN)
        st = plain_run_nested(core, op->by, a->frame, &v);
    else if (which == SPECIAL_ACTION)
        st = core->make_directive(core, op->by, a->frame, &v);
    else
        v = env_value(a->frame);
    if (st != GPM_OK) return st;
    put_made(a, op->out, v);
    *next = op->at;
    return GPM_OK;
}

static enum gpm_status read_operands(struct machine *m, struct activation *a, struct tail *t) {
    const struct machine_op *op = t->op;
    struct session_core *core = m->core;
    struct call_form form;
    enum gpm_status st = call_form_of(core, op->by, t->procedure, &form);
    if (st != GPM_OK) return st;
    room_for_operands(t, form.width);
    t->n = form.n;
    for (size_t i = 0; i < form.width; i++) t->at[i] = ABSENT;
    for (uint32_t i = 0; i < op->n && st == GPM_OK; i++) {
        value v = ABSENT;
        st = read_operand(m, a, a->x->operands.at[op->at + i], &v);
        t->at[call_place(&form, i)] = v;
    }
    call_form_release(&form);
    if (st != GPM_OK || core_special(t->procedure) != SPECIAL_GPMEM || !t->n) return st;
    size_t store = core_store_position(t->procedure);
    if (core_memoizes(t->at[0], store < t->n ? t->at[store] : ABSENT))
        value_set_take(&t->at[0], memo_value(t->at[0], 0));
    return st;
}

/* Reads procedure and operands. What takes the place of this call is left to the caller, and so is
 * the end of a call whose density is asked for. */
static enum gpm_status any_call(struct machine *m, struct activation *a,
                                const struct machine_op *op, uint32_t *next, struct tail *t) {
    struct session_core *core = m->core;
    value v = NIL;
    t->width = 0;
    t->at = t->few;
    enum gpm_status st = read_operand(m, a, op->of, &t->procedure);
    if (st != GPM_OK) return st;
    t->op = op;
    t->procedure = call_operator(core, op->by, t->procedure, core->model);
    if (call_takes_text_here(core, core_special(t->procedure), op->by))
        st = call_not_by_name(core, t->procedure, op->by->span);
    if (st == GPM_OK) st = read_operands(m, a, t);
    t->callee = closure_of(t->procedure);
    if (st == GPM_OK && op->code == CODE_TAIL && (t->callee || m->wanted)) {
        *next = NOWHERE;
        return GPM_OK;
    }
    if (st == GPM_OK) st = plain_apply(core, t->procedure, t->at, t->n, op->by->span, &v);
    release_tail(t);
    t->op = NULL;
    if (st == GPM_OK) put_made(a, op->out, v);
    return st;
}

static enum gpm_status any_op(struct machine *m, struct activation *a, const struct machine_op *op,
                              uint32_t *next, struct tail *t, value *out);

/* From number i on, until `stop` or the end of the text. */
static enum gpm_status run_apart(struct machine *m, struct activation *a, uint32_t i, uint32_t stop,
                                 struct tail *t, value *out) {
    enum gpm_status st = GPM_OK;
    while (st == GPM_OK && i != stop && i != NOWHERE) {
        const struct machine_op *op = &a->x->ops.at[i++];
        st = any_op(m, a, op, &i, t, out);
    }
    return st;
}

static void copy_activation(struct activation *to, const struct activation *a) {
    open_registers(to, a->x, a->env);
    memcpy(to->at, a->at, a->x->n_registers * sizeof *a->at);
    memcpy(to->own, a->own, (a->x->n_registers / 64 + 1) * sizeof *a->own);
    for (uint32_t i = 0; i < a->x->n_registers; i++)
        if (is_owned(a, i)) value_ref(a->at[i]);
    to->frame = frame_ref(a->frame);
    to->procedure = value_ref(a->procedure);
}

/* A condition that is not known while a procedure is compiled: both branches run, each on registers
 * of its own, up to where they join or, at the end of a text, to their values. */
static enum gpm_status both_branches(struct machine *m, struct activation *a,
                                     const struct machine_op *op, value condition, uint32_t *next,
                                     struct tail *t, value *out) {
    const struct machine_op *end = &a->x->ops.at[op->at - 1];
    bool joins = end->code == CODE_JUMP;
    uint32_t join = joins ? end->at : NOWHERE, from[] = {*next, op->at};
    value v[2] = {NIL, NIL}, both = NIL;
    enum gpm_status st = GPM_OK;
    for (int i = 0; i < 2 && st == GPM_OK; i++) {
        struct activation b;
        copy_activation(&b, a);
        if (!joins) {
            st = run(m, &b, from[i], &v[i]);
            continue;
        }
        st = run_apart(m, &b, from[i], join, t, out);
        if (st == GPM_OK) v[i] = value_ref(b.at[a->x->ops.at[join].out]);
        close_registers(&b);
    }
    if (st == GPM_OK) st = compile_select(m->core, condition, v[0], v[1], op->by->span, &both);
    value_unref(v[0]);
    value_unref(v[1]);
    *next = join;
    if (st != GPM_OK) return st;
    if (joins)
        put_made(a, a->x->ops.at[join].out, both);
    else
        *out = both;
    return GPM_OK;
}

static enum gpm_status any_condition(struct machine *m, struct activation *a,
                                     const struct machine_op *op, uint32_t *next, struct tail *t,
                                     value *out) {
    value c;
    bool truth = false;
    enum gpm_status st = read_operand(m, a, op->of, &c);
    if (st != GPM_OK) return st;
    if (m->core->compiling && compile_is_mark(c))
        st = both_branches(m, a, op, c, next, t, out);
    else {
        st = core_truth(m->core, c, op->by->span, &truth);
        if (!truth) *next = op->at;
    }
    value_unref(c);
    return st;
}

/* The names of a let form that takes a value apart. */
static enum gpm_status take_parts(struct machine *m, struct activation *a,
                                  const struct machine_op *op) {
    value v, item;
    size_t n;
    enum gpm_status st = read_operand(m, a, op->of, &v);
    if (st != GPM_OK) return st;
    if (!seq_length(v, &n) || n != op->n)
        st = core_wrong_parts(m->core, v, op->n, op->by->kids[0]->span);
    for (uint32_t i = 0; st == GPM_OK && i < n && seq_get(v, i, &item); i++) {
        put_made(a, op->out + i, plain_deref(item));
        value_unref(item);
    }
    value_unref(v);
    return st;
}

static void change_frame(struct activation *a, struct frame *f_taken) {
    frame_unref(a->frame);
    a->frame = f_taken;
}

static enum gpm_status no_density(struct session_core *core, struct span at, const char *why) {
    diag_raise(core->diags, DIAG_NO_DENSITY, at, "assess: %s", why);
    return diag_set_help(core->diags, "a compound procedure has a density when its value is that "
                                      "of one random procedure, and nothing else in it is random");
}

static const char no_random[] = "the value of the procedure comes from no random procedure";

static enum gpm_status any_value(struct machine *m, struct activation *a,
                                 const struct machine_op *op, uint32_t *next, value *out) {
    enum gpm_status st;
    value v = NIL;
    switch ((enum machine_code)op->code) {
    case CODE_LEAF: st = plain_leaf(m->core, op->by, a->frame, &v); break;
    case CODE_GET: st = read_name(m, a, ~op->of, &v); break;
    default: st = read_operand(m, a, op->of, &v);
    }
    if (st != GPM_OK) return st;
    if (op->code == CODE_STORE) {
        struct slot *s = &a->frame->s[op->out];
        value_set_take(&s->v, v);
        s->unset = false;
    } else if (op->code != CODE_RETURN) {
        put_made(a, op->out, v);
    } else if (m->wanted) {
        value_unref(v);
        return no_density(m->core, op->by->span, no_random);
    } else {
        *out = v;
        *next = NOWHERE;
    }
    return GPM_OK;
}

static enum gpm_status any_op(struct machine *m, struct activation *a, const struct machine_op *op,
                              uint32_t *next, struct tail *t, value *out) {
    const struct ast *by = op->by;
    switch ((enum machine_code)op->code) {
    case CODE_TAIL:
    case CODE_APPLY: return any_call(m, a, op, next, t);
    case CODE_UNLESS: return any_condition(m, a, op, next, t, out);
    case CODE_JUMP: *next = op->at; return GPM_OK;
    case CODE_JOIN: return GPM_OK;
    case CODE_SPECIAL: return special(m, a, op, next);
    case CODE_OPEN:
        change_frame(
            a, frame_new(m->core, a->frame, by->u.block.n_slots, by->u.block.slot_names, by->code));
        return GPM_OK;
    case CODE_CLOSE: change_frame(a, frame_ref(a->frame->parent)); return GPM_OK;
    case CODE_UNSET:
        for (uint32_t i = 0; i < by->n; i++) a->frame->s[op->out + i].unset = true;
        return GPM_OK;
    case CODE_PARTS: return take_parts(m, a, op);
    case CODE_EARLY: return core_early(m->core, by);
    default: return any_value(m, a, op, next, out);
    }
}

/* ---- linked code ---------------------------------------------------------------------------- */

static inline const value *operand(const struct activation *a, int32_t i) {
    return i >= 0 ? &a->at[i] : a->x->links[~i].v;
}

/* lookup refuses a list that does not end in nil, whatever is asked for; first and second do not.
 */
static inline const value *list_item(const value *list, const struct machine_op *s) {
    for (uint32_t i = s->item; list->tag == V_PAIR && i; i--) list = &list->u.pair->rest;
    if (list->tag != V_PAIR) return NULL;
    const value *end = &list->u.pair->rest;
    if (s->whole)
        while (end->tag == V_PAIR) end = &end->u.pair->rest;
    return s->whole && end->tag != V_NIL ? NULL : &list->u.pair->first;
}

/* 1 and 0: equal or not; -1: that is for the row to say. */
static int equals(const value *a, const value *b) {
    if (a->tag != b->tag) return -1;
    if (a->tag == V_NUM) return a->u.num == b->u.num;
    if (a->tag != V_STR) return -1;
    const struct str_obj *x = a->u.str, *y = b->u.str;
    return x == y ||
           (x->len == y->len && x->text[0] == y->text[0] && !memcmp(x->text, y->text, x->len));
}

/* Sums, differences and products of numbers that give a number. */
static inline bool arithmetic(enum machine_step step, const value *a, const value *b, double *z) {
    if (a->tag != V_NUM || b->tag != V_NUM) return false;
    double x = a->u.num, y = b->u.num;
    *z = step == STEP_ADD ? x + y : step == STEP_SUB ? x - y : x * y;
    return *z == *z;
}

static enum gpm_status apply_row(struct machine *m, struct activation *a,
                                 const struct machine_op *op) {
    const struct machine_link *l = &a->x->links[~op->of];
    const int32_t *from = &a->x->operands.at[op->at];
    value small[SMALL], *args = op->n <= SMALL ? small : NEW_ARRAY(value, op->n);
    struct sp_call c = {
        .cls = l->cls, .args = args, .n = op->n, .diags = m->core->diags, .host = &m->core->host};
    enum gpm_status st = GPM_OK;
    value v;
    for (uint32_t i = 0; i < op->n; i++) args[i] = *operand(a, from[i]);
    m->calls++;
    if (op->n < l->fewest || op->n > l->most)
        st = core_check_call(m->core, &c, *l->v, args, op->n, op->by->span);
    if (st == GPM_OK) st = l->cls->simulate(&c, &v);
    if (args != small) mem_free(args);
    if (st != GPM_OK) return core_place(m->core, st, op->by->span);
    put_made(a, op->out, v);
    return GPM_OK;
}

static enum gpm_status apply_linked(struct machine *m, struct activation *a,
                                    const struct machine_op *op) {
    struct closure *c = a->x->links[~op->of].callee;
    const int32_t *from = &a->x->operands.at[op->at];
    struct activation b;
    value v;
    enum gpm_status st = open_call(m, &b, c, op->n, op->by->span);
    if (st != GPM_OK) return st;
    for (uint32_t i = 0; i < op->n; i++) b.at[i] = *operand(a, from[i]);
    st = run_call(m, &b, &v);
    if (st == GPM_OK)
        put_made(a, op->out, v);
    else
        core_tell_call(m->core, op->by->span, c->lambda->u.lambda.self);
    return st;
}

static void tail_linked(const struct activation *a, const struct machine_op *op, struct tail *t) {
    const int32_t *from = &a->x->operands.at[op->at];
    t->op = op;
    t->callee = a->x->links[~op->of].callee;
    t->procedure = NIL;
    room_for_operands(t, t->n = op->n);
    for (uint32_t i = 0; i < op->n; i++) t->at[i] = value_ref(*operand(a, from[i]));
}

static inline enum gpm_status truth_of(struct machine *m, const value *c,
                                       const struct machine_op *s, bool *truth) {
    *truth = c->u.boolean;
    return c->tag == V_BOOL ? GPM_OK : core_truth(m->core, *c, s->by->span, truth);
}

/* A step that its own code does not serve. *next: the step to go on with, or NULL. */
static enum gpm_status odd_step(struct machine *m, struct activation *a,
                                const struct machine_op **next, struct tail *t, value *out) {
    const struct machine_op *s = *next, *ops = a->x->ops.at;
    uint32_t i = (uint32_t)(s - ops) + 1;
    enum gpm_status st;
    if (s->step == STEP_ANY || s->step == STEP_GET)
        st = any_op(m, a, s, &i, t, out);
    else
        st = s->step == STEP_CALL ? apply_linked(m, a, s) : apply_row(m, a, s);
    if (st == GPM_OK) link_text(m, a);
    *next = i == NOWHERE ? NULL : &ops[i];
    return st;
}

/* Until the procedure has its value, or calls another in its place. */
static enum gpm_status run_linked(struct machine *m, struct activation *a, struct tail *t,
                                  value *out) {
    const struct machine_op *ops = a->x->ops.at, *s = ops;
    for (;;) {
        const value *item;
        const struct slot *slot;
        double z;
        int equal;
        bool truth;
        enum gpm_status st;
        switch ((enum machine_step)s->step) {
        case STEP_ITEM:
            item = list_item(first_of(a, s), s);
            if (!item) break;
            put_held(a, s->out, *item, first_owned(a, s));
            s++;
            continue;
        case STEP_ADD:
        case STEP_SUB:
        case STEP_MUL:
            if (!arithmetic(s->step, first_of(a, s), second_of(a, s), &z)) break;
            put(a, s->out, value_num(z), false);
            s++;
            continue;
        case STEP_EQUAL:
            equal = equals(first_of(a, s), second_of(a, s));
            if (equal < 0) break;
            put(a, s->out, value_bool(equal == s->same), false);
            s++;
            continue;
        case STEP_UNLESS_EQUAL:
            equal = equals(first_of(a, s), second_of(a, s));
            if (equal < 0) break;
            s = equal == s->same ? s + 2 : &ops[s->to];
            continue;
        case STEP_UNLESS_ITEM:
            item = list_item(first_of(a, s), s);
            equal = item ? equals(item, s->b) : -1;
            if (equal < 0) break;
            s = equal == s->same ? s + 3 : &ops[s->to];
            continue;
        case STEP_UNLESS:
            st = truth_of(m, first_of(a, s), s, &truth);
            if (st != GPM_OK) return st;
            s = truth ? s + 1 : &ops[s->to];
            continue;
        case STEP_JUMP: s = &ops[s->to + 1]; continue;
        case STEP_JOIN: s++; continue;
        case STEP_GET:
            slot = &frame_up(a->env, (int)s->ra)->s[s->to];
            if (slot->unset) break;
            put_held(a, s->out, slot_value(slot), true);
            s++;
            continue;
        case STEP_MOVE:
            put_held(a, s->out, *first_of(a, s), first_owned(a, s));
            s++;
            continue;
        case STEP_RETURN: *out = value_ref(*first_of(a, s)); return GPM_OK;
        case STEP_TAIL: tail_linked(a, s, t); return GPM_OK;
        default: break;
        }
        st = odd_step(m, a, &s, t, out);
        if (st != GPM_OK || !s) return st;
    }
}

/* ---- the end of a call ---------------------------------------------------------------------- */

/* A call that ends in a random procedure has its density. */
static enum gpm_status density_of(struct machine *m, const struct tail *t, struct span at) {
    struct session_core *core = m->core;
    const struct sp_class *cls = proc_class(t->procedure, NULL);
    if (core_special(t->procedure) == SPECIAL_APPLY_FUNCTION && t->n > 1)
        return plain_density(core, t->at[0], t->at + 1, t->n - 1, *m->wanted, at, m->log_p);
    if (!cls || !cls->log_density) return no_density(core, at, no_random);
    struct sp_call call = {0};
    enum gpm_status st = core_check_call(core, &call, t->procedure, t->at, t->n, at);
    return st == GPM_OK ? core_place(core, cls->log_density(&call, *m->wanted, m->log_p), at) : st;
}

/* The call t in the place of the one that a belongs to; on an error nothing is held. */
static enum gpm_status take_place(struct machine *m, struct activation *a, struct tail *t,
                                  struct span at) {
    close_registers(a);
    enum gpm_status st = open_call(m, a, t->callee, t->n, at);
    if (st != GPM_OK) {
        release_tail(t);
        return st;
    }
    a->procedure = t->procedure;
    memcpy(a->at, t->at, t->n * sizeof *t->at);
    for (size_t i = 0; i < t->n; i++)
        if (IS_OBJ(t->at[i])) a->own[i >> 6] |= (uint64_t)1 << (i & 63);
    if (t->at != t->few) mem_free(t->at);
    if (a->x->framed) open_frame(m, a);
    return GPM_OK;
}

/* A call that is the end of a procedure takes its place: loops need no stack. Closes a. */
static enum gpm_status run(struct machine *m, struct activation *a, uint32_t from, value *out) {
    struct tail_calls calls;
    enum gpm_status st;
    calls.n = 0;
    for (;; from = 0) {
        struct tail t;
        t.op = NULL;
        a->around = machine_around(m->core, m->w, a->env);
        link_text(m, a);
        st = m->apart ? run_apart(m, a, from, NOWHERE, &t, out) : run_linked(m, a, &t, out);
        if (st != GPM_OK || !t.op) {
            close_registers(a);
            break;
        }
        struct span at = t.op->by->span; /* which may go with the call that is left */
        if (!t.callee) {
            st = density_of(m, &t, at);
            release_tail(&t);
            close_registers(a);
            break;
        }
        st = take_place(m, a, &t, at);
        if (st != GPM_OK) break;
        tail_call(&calls, at, a->x->root->u.lambda.self);
    }
    if (st != GPM_OK && !m->wanted) tail_calls_tell(m->core, &calls);
    return st;
}

/* log p(v | args) = log p(v | arguments of the random application whose value the procedure gives),
 * which is all there is to it when nothing else on the way is random. Where random numbers are
 * drawn, the density would be an integral over them, and is refused. */
enum gpm_status plain_density(struct session_core *core, value proc, const value *args, size_t n,
                              value v, struct span at, double *out) {
    struct machine m = machine_for(core);
    struct rng *rng = core_rng(core), before = *rng;
    struct tail t = {.procedure = proc, .at = (value *)(uintptr_t)args, .n = n};
    m.apart = true;
    m.wanted = &v;
    m.log_p = out;
    enum gpm_status st = core_poll(core, at);
    struct closure *c = closure_of(proc);
    value none = NIL;
    if (st == GPM_OK) st = c ? call_closure(&m, c, args, n, at, &none) : density_of(&m, &t, at);
    if (st == GPM_OK && memcmp(&before, rng, sizeof before) != 0)
        st = no_density(core, at, "the procedure makes random choices on the way to its value");
    *rng = before;
    return st;
}
