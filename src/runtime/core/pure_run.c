/* SPDX-License-Identifier: Apache-2.0
 *
 * The machine that runs pure procedures; see pure.h.
 *
 * Registers. What the caller gives, what constants hold and elements of those are borrowed: the
 * caller keeps them for as long as the call lasts. What a row or a call has made is owned, one bit
 * of `own` for each register that is, and elements of what is owned are counted. So walking over a
 * structure that somebody else holds counts nothing. */
#include "runtime/core/plain.h"
#include "runtime/core/pure_code.h"

#include <string.h>

struct machine {
    struct session_core *core;
    struct world *w;
    uint64_t calls;
};

enum { SMALL = 8, FEW = 16, MOST = 64 };

struct registers {
    value *at;
    uint64_t own;
    value few[FEW];
};

static void put(struct registers *r, uint32_t i, value v, bool owned) {
    uint64_t bit = (uint64_t)1 << i;
    if (r->own & bit) value_unref(r->at[i]);
    r->own = owned ? r->own | bit : r->own & ~bit;
    r->at[i] = v;
}

static void put_made(struct registers *r, uint32_t i, value v) {
    put(r, i, v, IS_OBJ(v));
}

/* A value that others hold, and that is counted where what it came from is owned here. */
static void put_held(struct registers *r, uint32_t i, value v, bool counted) {
    if (counted) value_ref(v);
    put(r, i, v, counted && IS_OBJ(v));
}

static const value *first_of(const struct registers *r, const struct pure_step *s) {
    return s->a ? s->a : &r->at[s->ra];
}

static const value *second_of(const struct registers *r, const struct pure_step *s) {
    return s->b ? s->b : &r->at[s->rb];
}

/* Is what the first operand holds owned by its register? */
static bool first_owned(const struct registers *r, const struct pure_step *s) {
    return !s->a && (r->own >> s->ra & 1);
}

static const value *operand(const struct registers *r, const struct bound *bound, int32_t i) {
    return i >= 0 ? &r->at[i] : &bound[~i].cell->val;
}

static void open_registers(struct registers *r, const struct pure *p) {
    r->at = p->x->n_registers <= FEW ? r->few : NEW_ARRAY(value, p->x->n_registers);
    r->own = 0;
}

static void close_registers(struct registers *r) {
    for (uint64_t own = r->own; own; own &= own - 1) value_unref(r->at[__builtin_ctzll(own)]);
    if (r->at != r->few) mem_free(r->at);
}

static const value *list_item(const value *list, uint32_t i) {
    for (; list->tag == V_PAIR && i; i--) list = &list->u.pair->rest;
    return list->tag == V_PAIR ? &list->u.pair->first : NULL;
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
static bool arithmetic(enum step_code code, const value *a, const value *b, double *z) {
    if (a->tag != V_NUM || b->tag != V_NUM) return false;
    double x = a->u.num, y = b->u.num;
    *z = code <= STEP_ADD_LAST ? x + y : code <= STEP_SUB_LAST ? x - y : x * y;
    return *z == *z;
}

/* The registers of a call that takes the place of the one that r belongs to. */
static void enter_tail(struct registers *r, const struct pure *p, const struct pure_op *tail,
                       const struct pure *next) {
    const int32_t *from = &p->x->operands.at[tail->at];
    value small[SMALL], *args = tail->n <= SMALL ? small : NEW_ARRAY(value, tail->n);
    uint64_t own = 0;
    for (uint32_t i = 0; i < tail->n; i++) {
        args[i] = *operand(r, p->bound, from[i]);
        if (from[i] < 0 || !(r->own >> from[i] & 1)) continue;
        value_ref(args[i]);
        own |= (uint64_t)1 << i;
    }
    close_registers(r);
    open_registers(r, next);
    r->own = own;
    memcpy(r->at, args, tail->n * sizeof *args);
    if (args != small) mem_free(args);
}

/* Limits are looked at now and then; the depth of the stack at every call. */
static enum gpm_status poll(struct machine *m, struct span at) {
    enum { NOW_AND_THEN = 32 };
    const char here = 0;
    bool deep = &here < m->core->stack_limit;
    return !(++m->calls % NOW_AND_THEN) || deep ? core_poll(m->core, at) : GPM_OK;
}

/* The code of what is called, linked to this model's names. */
static enum gpm_status ready(struct machine *m, const struct closure *callee, size_t n,
                             struct span at, struct pure **p) {
    *p = callee->pure;
    if (n != callee->lambda->u.lambda.n_params)
        return core_wrong_arity(m->core, callee->lambda, n, at);
    if ((*p)->linked != m->w->stamp && !pure_link(m->core, m->w, *p))
        return core_not_procedure(m->core, NIL, at);
    return poll(m, at);
}

/* An operation on arguments that are given, a row or a call. */
enum gpm_status pure_apply(struct machine *m, const struct pure *p, const struct pure_op *op,
                           const value *args, value *out) GPM_MUST_USE;

static enum gpm_status run(struct machine *m, struct pure *p, const value *args, value *out);

static enum gpm_status apply_row(struct machine *m, const struct pure_op *op, const struct bound *b,
                                 const value *args, value *out) {
    struct sp_call c = {
        .cls = b->cls, .args = args, .n = op->n, .diags = m->core->diags, .host = &m->core->host};
    enum gpm_status st = GPM_OK;
    if (op->n < b->fewest || op->n > b->most)
        st = core_check_call(m->core, &c, b->cell->val, args, op->n, op->by->span);
    if (st == GPM_OK) st = b->cls->simulate(&c, out);
    return st == GPM_OK ? st : core_place(m->core, st, op->by->span);
}

static enum gpm_status apply_to(struct machine *m, const struct pure *p, const struct pure_op *op,
                                const value *args, value *out) {
    const struct bound *b = &p->bound[op->of];
    struct pure *callee;
    if (b->cls) return apply_row(m, op, b, args, out);
    enum gpm_status st = ready(m, b->callee, op->n, op->by->span, &callee);
    if (st == GPM_OK) st = run(m, callee, args, out);
    if (st != GPM_OK) core_tell_call(m->core, op->by->span, b->callee->lambda->u.lambda.self);
    return st;
}

static enum gpm_status apply(struct machine *m, const struct pure *p, const struct pure_op *op,
                             const struct registers *r, value *out) {
    const int32_t *from = &p->x->operands.at[op->at];
    value small[SMALL], *args = op->n <= SMALL ? small : NEW_ARRAY(value, op->n);
    for (uint32_t i = 0; i < op->n; i++) args[i] = *operand(r, p->bound, from[i]);
    enum gpm_status st = apply_to(m, p, op, args, out);
    if (args != small) mem_free(args);
    return st;
}

/* ---- running ------------------------------------------------------------------------------ */

static enum gpm_status truth_of(struct machine *m, const value *c, const struct pure_step *s,
                                bool *truth) {
    *truth = c->u.boolean;
    return c->tag == V_BOOL ? GPM_OK : core_truth(m->core, *c, s->op->by->span, truth);
}

/* Runs until the procedure has its value, or calls another in its place: *tail. */
static enum gpm_status steps(struct machine *m, const struct pure *p, struct registers *r,
                             const struct pure_op **tail, value *out) {
    const struct pure_step *s = p->steps;
    for (;; s++) {
        const value *item;
        double z;
        int equal;
        bool truth;
        value v;
        enum gpm_status st;
        switch ((enum step_code)s->code) {
        case STEP_ITEM:
            item = list_item(first_of(r, s), s->item);
            if (!item) break;
            put_held(r, s->out, *item, first_owned(r, s));
            continue;
        case STEP_ADD:
        case STEP_SUB:
        case STEP_MUL:
            if (!arithmetic(s->code, first_of(r, s), second_of(r, s), &z)) break;
            put(r, s->out, value_num(z), false);
            continue;
        case STEP_EQUAL:
            equal = equals(first_of(r, s), second_of(r, s));
            if (equal < 0) break;
            put(r, s->out, value_bool(equal == s->same), false);
            continue;
        case STEP_UNLESS_EQUAL:
            equal = equals(first_of(r, s), second_of(r, s));
            if (equal < 0) break;
            s = equal == s->same ? s + 1 : &p->steps[s->to - 1];
            continue;
        case STEP_UNLESS_ITEM:
            item = list_item(first_of(r, s), s->item);
            equal = item ? equals(item, s->b) : -1;
            if (equal < 0) break;
            s = equal == s->same ? s + 2 : &p->steps[s->to - 1];
            continue;
        case STEP_UNLESS:
            st = truth_of(m, first_of(r, s), s, &truth);
            if (st != GPM_OK) return st;
            if (!truth) s = &p->steps[s->to - 1];
            continue;
        case STEP_JUMP: s = &p->steps[s->to - 1]; continue;
        case STEP_MOVE: put_held(r, s->out, *first_of(r, s), first_owned(r, s)); continue;
        case STEP_RETURN: *out = value_ref(*first_of(r, s)); return GPM_OK;
        case STEP_ITEM_LAST:
            item = list_item(first_of(r, s), s->item);
            if (!item) break;
            *out = value_ref(*item);
            return GPM_OK;
        case STEP_ADD_LAST:
        case STEP_SUB_LAST:
        case STEP_MUL_LAST:
            if (!arithmetic(s->code, first_of(r, s), second_of(r, s), &z)) break;
            *out = value_num(z);
            return GPM_OK;
        case STEP_TAIL: *tail = s->op; return GPM_OK;
        case STEP_ROW:
        case STEP_ROW_LAST:
        case STEP_CALL: break;
        }
        bool last = s->op->code == PURE_TAIL;
        st = apply(m, p, s->op, r, last ? out : &v);
        if (st != GPM_OK || last) return st;
        put_made(r, s->out, v);
    }
}

/* A call that is the end of a procedure takes its place: loops need no stack. */
static enum gpm_status run(struct machine *m, struct pure *p, const value *args, value *out) {
    struct registers r;
    struct tail_calls calls;
    enum gpm_status st;
    calls.n = 0;
    open_registers(&r, p);
    for (uint32_t i = 0; i < p->closure->lambda->u.lambda.n_params; i++) r.at[i] = args[i];
    for (;;) {
        const struct pure_op *tail = NULL;
        struct pure *next;
        st = steps(m, p, &r, &tail, out);
        if (st != GPM_OK || !tail) break;
        const struct closure *callee = p->bound[tail->of].callee;
        tail_call(&calls, tail->by->span, callee->lambda->u.lambda.self);
        st = ready(m, callee, tail->n, tail->by->span, &next);
        if (st != GPM_OK) break;
        enter_tail(&r, p, tail, next);
        p = next;
    }
    close_registers(&r);
    if (st != GPM_OK) tail_calls_tell(m->core, &calls);
    return st;
}

enum gpm_status pure_call(struct session_core *core, struct world *w, struct pure *p,
                          const value *args, struct span at, value *out) {
    struct machine m = {core, w, 0};
    enum gpm_status st = core_poll(core, at);
    if (st == GPM_OK)
        st = run(&m, p, args, out); /* it was asked for because something has changed */
    if (st != GPM_OK) core_tell_call(core, at, p->closure->lambda->u.lambda.self);
    return st;
}
