/* SPDX-License-Identifier: Apache-2.0
 *
 * Calls of a pure procedure for many numbers at once: ev(e, 0), ev(e, 1), ... walk over one
 * structure. A lane is one of the calls. What differs from lane to lane is a vector with a number
 * for each (OBJ_LANES); everything else is the same value as in a single call, and so is the way
 * through the code: where it would depend on a lane (a condition, an element of a list) the attempt
 * ends, and the calls are made one by one. Numbers are computed by the same operations in the same
 * order, so that the values are those of single calls to the bit. */
#include "core/pure_machine.h"

static const enum gpm_status NOT_SO = GPM_E_NOT_FOUND;

struct wide {
    struct machine *m;
    size_t n; /* lanes */
};

static bool is_wide(const value *v) {
    return v->tag == V_VECTOR && (v->u.obj->flags & OBJ_LANES);
}

static bool any_wide(const value *v, size_t n) {
    for (size_t i = 0; i < n; i++)
        if (is_wide(&v[i])) return true;
    return false;
}

static value new_lanes(size_t n) {
    value v = value_vector_new(n);
    v.u.obj->flags |= OBJ_LANES;
    return v;
}

/* Lane i of an operand. */
static value lane(const value *v, size_t i) {
    return is_wide(v) ? value_num(v->u.vector->at[i]) : *v;
}

static enum gpm_status add_lanes(const struct wide *x, enum step_code code, const value *a,
                                 const value *b, value *out) {
    value z = new_lanes(x->n);
    for (size_t i = 0; i < x->n; i++) {
        value u = lane(a, i), v = lane(b, i);
        if (arithmetic(code, &u, &v, &z.u.vector->at[i])) continue;
        value_unref(z);
        return NOT_SO;
    }
    *out = z;
    return GPM_OK;
}

/* A row in every lane. */
static enum gpm_status row_lanes(const struct wide *x, const struct pure *p,
                                 const struct pure_op *op, const value *args, value *out) {
    value one[SMALL], v;
    if (op->n > SMALL) return NOT_SO;
    value z = new_lanes(x->n);
    for (size_t i = 0; i < x->n; i++) {
        for (uint32_t k = 0; k < op->n; k++) one[k] = lane(&args[k], i);
        enum gpm_status st = pure_apply(x->m, p, op, one, &v);
        bool good = st == GPM_OK && v.tag == V_NUM;
        if (good) z.u.vector->at[i] = v.u.num;
        if (st == GPM_OK) value_unref(v);
        if (good) continue;
        value_unref(z);
        return NOT_SO;
    }
    *out = z;
    return GPM_OK;
}

static enum gpm_status run(const struct wide *x, struct pure *p, const value *args, value *out);

/* Remembered as single calls are; a set of numbers is known by its address. */
static enum gpm_status call(const struct wide *x, struct pure *p, const value *args, size_t n,
                            value *out) {
    if (n > MEMO_ARGS) return run(x, p, args, out);
    struct memo_line *l = memo_line(x->m->memo, p->id, args, n);
    if (same_call(l, p->id, args, n)) {
        *out = value_ref(l->val);
        return GPM_OK;
    }
    uint64_t before = x->m->calls;
    enum gpm_status st = run(x, p, args, out);
    if (st == GPM_OK && x->m->calls != before) memo_keep(l, p->id, args, n, *out);
    return st;
}

static enum gpm_status apply(const struct wide *x, const struct pure *p, const struct pure_step *s,
                             const struct registers *r, value *out) {
    const struct pure_op *op = s->op;
    const struct bound *b = &p->bound[op->of];
    const int32_t *from = &p->x->operands.at[op->at];
    value args[SMALL];
    struct pure *callee;
    if (op->n > SMALL) return NOT_SO;
    for (uint32_t i = 0; i < op->n; i++) args[i] = *operand(r, p->bound, from[i]);
    if (!any_wide(args, op->n)) return pure_apply(x->m, p, op, args, out);
    if (b->cls) return row_lanes(x, p, op, args, out);
    enum gpm_status st = ready(x->m, b->callee, op->n, op->by->span, &callee);
    return st == GPM_OK ? call(x, callee, args, op->n, out) : st;
}

/* One step that gives a value, by heart or not. */
static enum gpm_status compute(const struct wide *x, const struct pure *p,
                               const struct pure_step *s, const struct registers *r, value *out) {
    const value *a, *b, *item;
    switch ((enum step_code)s->code) {
    case STEP_ADD:
    case STEP_ADD_LAST:
    case STEP_SUB:
    case STEP_SUB_LAST:
    case STEP_MUL:
    case STEP_MUL_LAST:
        a = first_of(r, s);
        b = second_of(r, s);
        if (is_wide(a) || is_wide(b)) return add_lanes(x, s->code, a, b, out);
        break;
    case STEP_ITEM:
    case STEP_ITEM_LAST:
        item = list_item(first_of(r, s), s->item);
        if (!item) break;
        *out = value_ref(*item);
        return GPM_OK;
    default: break;
    }
    return apply(x, p, s, r, out);
}

/* The truth of a condition: 1 or 0; -1: it is for single calls to say. */
static int truth(const struct registers *r, const struct pure_step *s) {
    const value *a = first_of(r, s);
    if (s->code == STEP_UNLESS) return a->tag == V_BOOL ? a->u.boolean : -1;
    if (s->code == STEP_UNLESS_ITEM) a = list_item(a, s->item);
    int equal = a ? equals(a, s->code == STEP_UNLESS_ITEM ? s->b : second_of(r, s)) : -1;
    return equal < 0 ? -1 : equal == s->same;
}

/* As steps() of pure_run.c. */
static enum gpm_status steps(const struct wide *x, const struct pure *p, struct registers *r,
                             const struct pure_op **tail, value *out) {
    for (const struct pure_step *s = p->steps;; s++) {
        enum gpm_status st;
        value v;
        int yes;
        switch ((enum step_code)s->code) {
        case STEP_UNLESS:
        case STEP_UNLESS_EQUAL:
        case STEP_UNLESS_ITEM:
            yes = truth(r, s);
            if (yes < 0) return NOT_SO;
            s = yes ? s + (s->code - STEP_UNLESS) : &p->steps[s->to - 1];
            break;
        case STEP_JUMP: s = &p->steps[s->to - 1]; break;
        case STEP_MOVE: put_held(r, s->out, *first_of(r, s), first_owned(r, s)); break;
        case STEP_RETURN: *out = value_ref(*first_of(r, s)); return GPM_OK;
        case STEP_TAIL: *tail = s->op; return GPM_OK;
        default:
            st = compute(x, p, s, r, &v);
            if (st != GPM_OK) return st;
            if (s->op->code == PURE_TAIL) {
                *out = v;
                return GPM_OK;
            }
            put_made(r, s->out, v);
        }
    }
}

static enum gpm_status run(const struct wide *x, struct pure *p, const value *args, value *out) {
    struct registers r;
    enum gpm_status st;
    open_registers(&r, p);
    for (uint32_t i = 0; i < p->closure->lambda->u.lambda.n_params; i++) r.at[i] = args[i];
    for (;;) {
        const struct pure_op *tail = NULL;
        struct pure *next;
        st = steps(x, p, &r, &tail, out);
        if (st != GPM_OK || !tail) break;
        st = ready(x->m, p->bound[tail->of].callee, tail->n, tail->by->span, &next);
        if (st != GPM_OK) break;
        enter_tail(&r, p, tail, next);
        p = next;
    }
    close_registers(&r);
    return st;
}

/* The numbers of argument k as lanes: the same object as long as the same are asked for, so that
 * calls made with it are known again. Borrowed. */
static value lanes_of(struct pure_memo *memo, const value *args, size_t k, size_t n,
                      size_t n_calls) {
    value fresh = new_lanes(n_calls);
    uint64_t h = n_calls;
    for (size_t i = 0; i < n_calls; i++) {
        fresh.u.vector->at[i] = args[i * n + k].u.num;
        h = (h ^ bits(&args[i * n + k])) * 0x9e3779b97f4a7c15u;
    }
    value *kept = &memo->lanes[h >> 60];
    bool same = kept->tag == V_VECTOR && kept->u.vector->n == n_calls &&
                !memcmp(kept->u.vector->at, fresh.u.vector->at, n_calls * sizeof(double));
    if (same)
        value_unref(fresh);
    else
        value_set_take(kept, fresh);
    return *kept;
}

static bool is_one(const value *args, size_t k, size_t n, size_t n_calls) {
    for (size_t i = 1; i < n_calls; i++)
        if (args[i * n + k].tag != args[k].tag || bits(&args[i * n + k]) != bits(&args[k]))
            return false;
    return true;
}

enum gpm_status wide_calls(struct machine *m, struct pure *p, const value *args, size_t n,
                           size_t n_calls) {
    struct wide x = {m, n_calls};
    value one[MEMO_ARGS] = {0}, v;
    enum gpm_status st = GPM_OK;
    for (size_t k = 0; k < n; k++) {
        one[k] = value_ref(args[k]);
        if (is_one(args, k, n, n_calls)) continue;
        for (size_t i = 0; i < n_calls; i++)
            if (args[i * n + k].tag != V_NUM) st = NOT_SO;
        if (st == GPM_OK)
            value_set_take(&one[k], value_ref(lanes_of(m->memo, args, k, n, n_calls)));
    }
    if (st == GPM_OK) st = call(&x, p, one, n, &v);
    for (size_t k = 0; k < n; k++) value_unref(one[k]);
    if (st != GPM_OK) return st;
    for (size_t i = 0; i < n_calls; i++) {
        const value *a = &args[i * n];
        memo_keep(memo_line(m->memo, p->id, a, n), p->id, a, n, lane(&v, i));
    }
    value_unref(v);
    return GPM_OK;
}
