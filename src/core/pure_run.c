/* SPDX-License-Identifier: Apache-2.0
 *
 * The machine that runs pure procedures; see pure.h and pure_machine.h. */
#include "core/pure_machine.h"

static void memo_clear(struct memo_line *l) {
    struct memo_line was = *l;
    l->id = 0;
    if (!was.id) return;
    for (size_t i = 0; i < MEMO_ARGS; i++) {
        value v = {.tag = was.tag[i]};
        memcpy(&v.u, &was.arg[i], sizeof v.u);
        value_unref(v);
    }
    value_unref(was.val);
}

void memo_keep(struct memo_line *l, uint64_t id, const value *args, size_t n, value v) {
    memo_clear(l);
    l->id = id;
    for (size_t i = 0; i < MEMO_ARGS; i++) {
        l->tag[i] = i < n ? (uint8_t)args[i].tag : V_NIL;
        l->arg[i] = i < n ? bits(&args[i]) : 0;
        if (i < n) value_ref(args[i]);
    }
    l->val = value_ref(v);
}

void pure_forget(struct session_core *core) {
    struct pure_memo *k = core->remembered;
    core->remembered = NULL;
    for (size_t i = 0; k && i < COUNT_OF(k->line); i++) memo_clear(&k->line[i]);
    for (size_t i = 0; k && i < COUNT_OF(k->lanes); i++) value_unref(k->lanes[i]);
    mem_free(k);
}

static enum gpm_status run(struct machine *m, struct pure *p, const value *args, value *out);

/* A call whose value is wanted for more than to be the caller's own. One that calls nothing in turn
 * is as quickly made again as remembered. */
static enum gpm_status call(struct machine *m, struct pure *p, const value *args, size_t n,
                            value *out) {
    if (!m->memo || !is_remembered(args, n)) return run(m, p, args, out);
    struct memo_line *l = memo_line(m->memo, p->id, args, n);
    if (same_call(l, p->id, args, n)) {
        *out = value_ref(l->val);
        return GPM_OK;
    }
    uint64_t before = m->calls;
    enum gpm_status st = run(m, p, args, out);
    if (st == GPM_OK && m->calls != before) memo_keep(l, p->id, args, n, *out);
    return st;
}

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

enum gpm_status pure_apply(struct machine *m, const struct pure *p, const struct pure_op *op,
                           const value *args, value *out) {
    const struct bound *b = &p->bound[op->of];
    struct pure *callee;
    if (b->cls) return apply_row(m, op, b, args, out);
    enum gpm_status st = ready(m, b->callee, op->n, op->by->span, &callee);
    if (st == GPM_OK) st = call(m, callee, args, op->n, out);
    if (st != GPM_OK) core_tell_call(m->core, op->by->span, b->callee->lambda->u.lambda.self);
    return st;
}

static enum gpm_status apply(struct machine *m, const struct pure *p, const struct pure_op *op,
                             const struct registers *r, value *out) {
    const int32_t *from = &p->x->operands.at[op->at];
    value small[SMALL], *args = op->n <= SMALL ? small : NEW_ARRAY(value, op->n);
    for (uint32_t i = 0; i < op->n; i++) args[i] = *operand(r, p->bound, from[i]);
    enum gpm_status st = pure_apply(m, p, op, args, out);
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

static struct pure_memo *memo_of_calls(struct session_core *core, const struct pure *p) {
    if (p->reads.n) return NULL;
    if (!core->remembered) core->remembered = NEW(struct pure_memo);
    return core->remembered;
}

bool pure_recall(struct session_core *core, const struct pure *p, const value *args, value *out) {
    size_t n = p->closure->lambda->u.lambda.n_params;
    struct pure_memo *memo = memo_of_calls(core, p);
    if (!memo || !is_remembered(args, n)) return false;
    const struct memo_line *l = memo_line(memo, p->id, args, n);
    if (!same_call(l, p->id, args, n)) return false;
    *out = value_ref(l->val);
    return true;
}

enum gpm_status pure_call(struct session_core *core, struct world *w, struct pure *p,
                          const value *args, struct span at, value *out) {
    struct machine m = {core, w, .memo = memo_of_calls(core, p)};
    enum gpm_status st = core_poll(core, at);
    if (st == GPM_OK)
        st = run(&m, p, args, out); /* it was asked for because something has changed */
    if (st != GPM_OK) core_tell_call(core, at, p->closure->lambda->u.lambda.self);
    return st;
}

void pure_call_all(struct session_core *core, struct world *w, struct pure *p, const value *args,
                   size_t n_calls) {
    struct machine m = {core, w, .memo = memo_of_calls(core, p)};
    size_t n = p->closure->lambda->u.lambda.n_params, before = core->diags->list.n;
    if (!m.memo || p->narrow || !is_remembered(args, n)) return;
    p->narrow = wide_calls(&m, p, args, n, n_calls) != GPM_OK;
    diags_rewind(core->diags, before);
}
