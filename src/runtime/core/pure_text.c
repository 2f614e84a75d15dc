/* SPDX-License-Identifier: Apache-2.0
 *
 * The code of a pure procedure's text; see pure.h. Registers are used as a stack, and jumps
 * go forwards only. What no pure procedure has (tags, procedures made on the way, calls
 * of arguments, keywords) ends the attempt. */
#include "runtime/core/pure.h"

enum { MOST_REGISTERS = 64, MOST_OPERANDS = 250 };

struct writer {
    struct pure_text *x;
    uint32_t base[16]; /* first register of each frame that is open, the lambda's first */
    int n_open;
    uint32_t next; /* the lowest register that is free */
};

static bool expression(struct writer *w, const struct ast *a, int32_t *operand);
static bool last(struct writer *w, const struct ast *a);

/* n registers from number `first` on are in use, and nothing above them. */
static bool take_registers(struct writer *w, uint32_t first, uint32_t n) {
    w->next = first + n;
    if (w->x->n_registers < w->next) w->x->n_registers = w->next;
    return w->next <= MOST_REGISTERS;
}

static size_t emit(struct writer *w, enum pure_op_code code, uint32_t out, int32_t of,
                   const struct ast *by) {
    vec_push(&w->x->ops,
             ((struct pure_op){.code = (uint8_t)code, .out = (uint16_t)out, .of = of, .by = by}));
    return w->x->ops.n - 1;
}

static void land(struct writer *w, size_t jump) {
    w->x->ops.at[jump].at = (uint32_t)w->x->ops.n;
}

static int32_t name_operand(struct writer *w, const struct ast *a, bool called) {
    struct pure_text *x = w->x;
    for (size_t i = 0; i < x->names.n; i++) {
        const struct pure_name *k = &x->names.at[i];
        bool same = a->kind == AST_NAME && k->a->kind == AST_NAME && k->called == called &&
                    k->a->u.name.sym == a->u.name.sym &&
                    k->a->u.name.builtin == a->u.name.builtin &&
                    k->a->u.name.depth - k->inner == a->u.name.depth - w->n_open;
        if (same && (a->u.name.depth >= 0) == (k->a->u.name.depth >= 0)) return ~(int32_t)i;
    }
    vec_push(&x->names, ((struct pure_name){.a = a, .inner = w->n_open, .called = called}));
    return ~(int32_t)(x->names.n - 1);
}

/* A name of the procedure itself is a register; one of a frame around it, or of no frame, is
 * looked for when the code is linked. */
static bool name(struct writer *w, const struct ast *a, int32_t *operand) {
    int depth = a->u.name.depth;
    if (depth >= 0 && depth < w->n_open && !a->u.name.builtin) {
        *operand = (int32_t)w->base[w->n_open - 1 - depth] + a->u.name.slot;
        return !a->u.name.global_first;
    }
    *operand = name_operand(w, a, false);
    return true;
}

static bool arguments(struct writer *w, const struct ast *a, int32_t *of, uint32_t *at) {
    const struct ast *f = a->kids[0];
    int32_t operands[MOST_OPERANDS];
    if (a->u.call.kw || a->n > MOST_OPERANDS || f->kind != AST_NAME) return false;
    if (!f->u.name.builtin && f->u.name.depth >= 0 && f->u.name.depth < w->n_open) return false;
    for (uint32_t i = 1; i < a->n; i++)
        if (!expression(w, a->kids[i], &operands[i - 1])) return false;
    *of = ~name_operand(w, f, true);
    *at = (uint32_t)w->x->operands.n;
    for (uint32_t i = 1; i < a->n; i++) vec_push(&w->x->operands, operands[i - 1]);
    return true;
}

static bool call(struct writer *w, const struct ast *a, bool tail, int32_t *operand) {
    int32_t of;
    uint32_t at, out = w->next;
    if (!arguments(w, a, &of, &at) || !take_registers(w, out, !tail)) return false;
    size_t i = emit(w, tail ? PURE_TAIL : PURE_APPLY, out, of, a);
    struct pure_op *op = &w->x->ops.at[i];
    op->n = (uint8_t)(a->n - 1);
    op->at = at;
    *operand = (int32_t)out;
    return true;
}

/* Lets of one name each; the names are registers. */
static bool open_block(struct writer *w, const struct ast *a) {
    uint32_t n = a->u.block.n_slots, first = w->next;
    if (a->u.block.action || !a->n || w->n_open == 16 || !take_registers(w, first, n)) return false;
    if (n) w->base[w->n_open++] = first;
    for (uint32_t i = 0; i + 1 < a->n; i++) {
        const struct ast *s = a->kids[i];
        int32_t v;
        if (s->kind != AST_LET || s->u.bind.n_names != 1 || !expression(w, s->kids[0], &v))
            return false;
        emit(w, PURE_MOVE, first + s->u.bind.slot, v, s);
        w->next = first + n;
    }
    return true;
}

static bool condition(struct writer *w, const struct ast *a, size_t *jump) {
    uint32_t first = w->next;
    int32_t c;
    if (!expression(w, a->kids[0], &c)) return false;
    *jump = emit(w, PURE_UNLESS, 0, c, a->kids[0]);
    w->next = first;
    return true;
}

/* The value in a register that is given, above which all are free. */
static bool into(struct writer *w, const struct ast *a, uint32_t out) {
    int32_t v;
    if (!take_registers(w, out, 1) || !expression(w, a, &v)) return false;
    emit(w, PURE_MOVE, out, v, a);
    w->next = out + 1;
    return true;
}

static bool branches(struct writer *w, const struct ast *a, int32_t *operand) {
    size_t unless, end;
    uint32_t out = w->next;
    if (!condition(w, a, &unless) || !into(w, a->kids[1], out)) return false;
    end = emit(w, PURE_JUMP, 0, 0, a);
    land(w, unless);
    if (!into(w, a->kids[2], out)) return false;
    land(w, end);
    *operand = (int32_t)out;
    return true;
}

static bool block(struct writer *w, const struct ast *a, int32_t *operand) {
    int open = w->n_open;
    uint32_t out = w->next;
    int32_t v;
    bool ok = take_registers(w, out, 1) && open_block(w, a) && expression(w, a->kids[a->n - 1], &v);
    w->n_open = open;
    if (!ok) return false;
    emit(w, PURE_MOVE, out, v, a);
    w->next = out + 1;
    *operand = (int32_t)out;
    return true;
}

static bool expression(struct writer *w, const struct ast *a, int32_t *operand) {
    switch (a->kind) {
    case AST_NUMBER:
    case AST_ATOM:
    case AST_STRING:
    case AST_BOOL:
    case AST_UNQUOTE: *operand = name_operand(w, a, false); return true;
    case AST_NAME: return name(w, a, operand);
    case AST_CALL: return call(w, a, false, operand);
    case AST_IF: return branches(w, a, operand);
    case AST_BLOCK: return block(w, a, operand);
    default: return false;
    }
}

/* What the procedure ends with. */
static bool last(struct writer *w, const struct ast *a) {
    int open = w->n_open;
    int32_t v;
    size_t unless;
    bool ok;
    switch (a->kind) {
    case AST_CALL: return call(w, a, true, &v);
    case AST_IF:
        if (!condition(w, a, &unless) || !last(w, a->kids[1])) return false;
        land(w, unless);
        return last(w, a->kids[2]);
    case AST_BLOCK:
        ok = open_block(w, a) && last(w, a->kids[a->n - 1]);
        w->n_open = open;
        return ok;
    default:
        if (!expression(w, a, &v)) return false;
        emit(w, PURE_RETURN, 0, v, a);
        return true;
    }
}

void pure_text_free(struct pure_text *x) {
    vec_release(&x->ops);
    vec_release(&x->operands);
    vec_release(&x->names);
    mem_free(x);
}

struct pure_text *pure_text_of(const struct ast *lambda) {
    if (lambda->cache) return lambda->cache;
    struct writer w = {.x = NEW(struct pure_text), .n_open = 1};
    bool ok = take_registers(&w, 0, lambda->u.lambda.n_params) && last(&w, lambda->kids[0]);
    if (!ok) vec_clear(&w.x->ops);
    for (size_t i = 0; i < w.x->ops.n; i++) {
        const struct pure_op *op = &w.x->ops.at[i];
        if ((op->code == PURE_MOVE || op->code == PURE_RETURN) && op->of < 0)
            w.x->names.at[~op->of].passed = true;
    }
    vec_push(&lambda->code->texts, w.x);
    ((struct ast *)(uintptr_t)lambda)->cache = w.x; /* the cache is the evaluator's own field */
    return w.x;
}
