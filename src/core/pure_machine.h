/* SPDX-License-Identifier: Apache-2.0
 *
 * For pure_run.c and pure_wide.c: registers, what steps do by heart, calls that are remembered.
 *
 * Registers. What the caller gives, what constants hold and elements of those are borrowed: the
 * caller keeps them for as long as the call lasts. What a row or a call has made is owned, one bit
 * of `own` for each register that is, and elements of what is owned are counted. So walking over a
 * structure that somebody else holds counts nothing. */
#ifndef CORE_PURE_MACHINE_H
#define CORE_PURE_MACHINE_H
#include "core/pure_code.h"

#include "core/plain.h"
#include <string.h>

struct machine {
    struct session_core *core;
    struct world *w;
    struct pure_memo *memo; /* NULL: values do not follow from arguments alone */
    uint64_t calls;
};

enum { SMALL = 8, FEW = 16, MOST = 64 };

struct registers {
    value *at;
    uint64_t own;
    value few[FEW];
};

static inline void put(struct registers *r, uint32_t i, value v, bool owned) {
    uint64_t bit = (uint64_t)1 << i;
    if (r->own & bit) value_unref(r->at[i]);
    r->own = owned ? r->own | bit : r->own & ~bit;
    r->at[i] = v;
}

static inline void put_made(struct registers *r, uint32_t i, value v) {
    put(r, i, v, IS_OBJ(v));
}

/* A value that others hold, and that is counted where what it came from is owned here. */
static inline void put_held(struct registers *r, uint32_t i, value v, bool counted) {
    if (counted) value_ref(v);
    put(r, i, v, counted && IS_OBJ(v));
}

static inline const value *first_of(const struct registers *r, const struct pure_step *s) {
    return s->a ? s->a : &r->at[s->ra];
}

static inline const value *second_of(const struct registers *r, const struct pure_step *s) {
    return s->b ? s->b : &r->at[s->rb];
}

/* Is what the first operand holds owned by its register? */
static inline bool first_owned(const struct registers *r, const struct pure_step *s) {
    return !s->a && (r->own >> s->ra & 1);
}

static inline const value *operand(const struct registers *r, const struct bound *bound,
                                   int32_t i) {
    return i >= 0 ? &r->at[i] : &bound[~i].cell->val;
}

static inline void open_registers(struct registers *r, const struct pure *p) {
    r->at = p->x->n_registers <= FEW ? r->few : NEW_ARRAY(value, p->x->n_registers);
    r->own = 0;
}

static inline void close_registers(struct registers *r) {
    for (uint64_t own = r->own; own; own &= own - 1) value_unref(r->at[__builtin_ctzll(own)]);
    if (r->at != r->few) mem_free(r->at);
}

static inline const value *list_item(const value *list, uint32_t i) {
    for (; list->tag == V_PAIR && i; i--) list = &list->u.pair->rest;
    return list->tag == V_PAIR ? &list->u.pair->first : NULL;
}

/* 1 and 0: equal or not; -1: that is for the row to say. */
static inline int equals(const value *a, const value *b) {
    if (a->tag != b->tag) return -1;
    if (a->tag == V_NUM) return a->u.num == b->u.num;
    if (a->tag != V_STR) return -1;
    const struct str_obj *x = a->u.str, *y = b->u.str;
    return x == y ||
           (x->len == y->len && x->text[0] == y->text[0] && !memcmp(x->text, y->text, x->len));
}

/* Sums, differences and products of numbers that give a number. */
static inline bool arithmetic(enum step_code code, const value *a, const value *b, double *z) {
    if (a->tag != V_NUM || b->tag != V_NUM) return false;
    double x = a->u.num, y = b->u.num;
    *z = code <= STEP_ADD_LAST ? x + y : code <= STEP_SUB_LAST ? x - y : x * y;
    return *z == *z;
}

/* The registers of a call that takes the place of the one that r belongs to. */
static inline void enter_tail(struct registers *r, const struct pure *p, const struct pure_op *tail,
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

/* Values of calls that were made lately, by the identity of their arguments: where one part of a
 * structure has changed, the others need not be evaluated again. Lines hold the arguments, so
 * nothing else can have their address; what was called is known by a number that is used once. */
enum { MEMO_BITS = 11, MEMO_ARGS = 3, MEMO_ITEMS = 64, MEMO_LANES = 16 };
struct pure_memo {
    struct memo_line {
        uint64_t id; /* 0: empty */
        uint64_t arg[MEMO_ARGS];
        value val;
        uint8_t tag[MEMO_ARGS];
    } line[1 << MEMO_BITS];
    value lanes[MEMO_LANES]; /* sets of numbers that calls are made for at once (pure_wide.c) */
};

/* Lists and small arrays are what structures are made of; what else has parts is not kept here. */
static inline bool is_remembered(const value *args, size_t n) {
    bool parts = false;
    for (size_t i = 0; i < n; i++) {
        uint32_t tag = args[i].tag;
        if (tag == V_PAIR || (tag == V_ARRAY && args[i].u.array->n <= MEMO_ITEMS))
            parts = true;
        else if (tag > V_STR)
            return false;
    }
    return parts && n <= MEMO_ARGS;
}

static inline uint64_t bits(const value *v) {
    uint64_t b;
    memcpy(&b, &v->u, sizeof b);
    return v->tag == V_BOOL ? v->u.boolean : v->tag == V_NIL ? 0 : b;
}

static inline struct memo_line *memo_line(struct pure_memo *k, uint64_t id, const value *args,
                                          size_t n) {
    uint64_t h = id;
    for (size_t i = 0; i < n; i++) h = (h ^ bits(&args[i])) * 0x9e3779b97f4a7c15u;
    return &k->line[h >> (64 - MEMO_BITS)];
}

static inline bool same_call(const struct memo_line *l, uint64_t id, const value *args, size_t n) {
    bool same = l->id == id;
    for (size_t i = 0; same && i < n; i++)
        same = l->tag[i] == args[i].tag && l->arg[i] == bits(&args[i]);
    return same;
}

void memo_keep(struct memo_line *l, uint64_t id, const value *args, size_t n, value v);

/* Limits are looked at now and then; the depth of the stack at every call. */
static inline enum gpm_status poll(struct machine *m, struct span at) {
    enum { NOW_AND_THEN = 32 };
    const char here = 0;
    bool deep = &here < m->core->stack_limit;
    return !(++m->calls % NOW_AND_THEN) || deep ? core_poll(m->core, at) : GPM_OK;
}

/* The code of what is called, linked to this model's names. */
static inline enum gpm_status ready(struct machine *m, const struct closure *callee, size_t n,
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
/* Calls that differ in numbers alone, made at once and remembered; args: one call's after
 * another's. Any status but GPM_OK: it cannot be done so, and nothing is remembered. */
enum gpm_status wide_calls(struct machine *m, struct pure *p, const value *args, size_t n,
                           size_t n_calls) GPM_MUST_USE;
#endif
