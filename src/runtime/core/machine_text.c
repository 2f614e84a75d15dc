/* SPDX-License-Identifier: Apache-2.0
 *
 * Writes a text as code; see machine.h. Registers are used as a stack, and jumps go forwards only.
 */
#include "runtime/core/machine.h"

#include "runtime/core/call_form.h"

/* Names of one frame of the text: registers, and slots of a frame where it is `framed`. Of a letrec
 * under way those from slot `unset` up to `until` have no value yet. */
struct text_scope {
    uint32_t base, unset, until;
    bool framed;
};
struct writer {
    struct session_core *core;
    struct machine_text *x;
    VEC(struct text_scope) open; /* the parameters first */
    uint32_t next;               /* the lowest register that is free */
};
/* Registers of names around the text, until it is known how many others there are. */
enum { FIRST_OUTER = 1 << 28 };

static int32_t expression(struct writer *w, const struct ast *a);

/* n registers from number `first` on are in use, and nothing above them. */
static uint32_t take_registers(struct writer *w, uint32_t first, uint32_t n) {
    w->next = first + n;
    if (w->x->n_registers < w->next) w->x->n_registers = w->next;
    return first;
}

static size_t emit(struct writer *w, enum machine_code code, uint32_t out, int32_t of,
                   const struct ast *by) {
    vec_push(&w->x->ops,
             ((struct machine_op){.code = (uint8_t)code, .out = out, .of = of, .by = by}));
    return w->x->ops.n - 1;
}

static void land(struct writer *w, size_t jump) {
    w->x->ops.at[jump].at = (uint32_t)w->x->ops.n;
}

/* Does the call reach a procedure that takes its operands as text, if the name means the builtin?
 */
static bool may_be_special(struct writer *w, const struct ast *call) {
    const struct ast *f = call->kids[0];
    if (f->kind != AST_NAME) return false;
    const struct cell *c = map_get(&w->core->builtins, MAP_PTR(f->u.name.sym));
    return c && call_takes_text(c->val);
}

/* Can something in it keep the frame around it? */
static bool keeps_frame(struct writer *w, const struct ast *a) {
    if (!a) return false;
    switch (a->kind) {
    case AST_LAMBDA:
    case AST_QUASI:
    case AST_DIRECTIVE:
    case AST_LETREC: return true;
    case AST_QUOTE: return core_quote_has_splices(a);
    case AST_BLOCK:
        if (a->u.block.action) return true;
        break;
    case AST_CALL:
        if (may_be_special(w, a)) return true;
        break;
    default: break;
    }
    for (uint32_t i = 0; i < a->n; i++)
        if (keeps_frame(w, a->kids[i])) return true;
    return false;
}

static bool is_same_name(const struct machine_name *k, const struct ast *a, int inner) {
    return k->a->kind == AST_NAME && k->a->u.name.sym == a->u.name.sym &&
           k->a->u.name.builtin == a->u.name.builtin &&
           k->a->u.name.depth - k->inner == a->u.name.depth - inner &&
           (a->u.name.depth >= 0) == (k->a->u.name.depth >= 0);
}

static size_t name_number(struct writer *w, const struct ast *a, bool called) {
    struct machine_text *x = w->x;
    int inner = (int)w->open.n;
    for (size_t i = 0; a->kind == AST_NAME && i < x->names.n; i++)
        if (x->names.at[i].called == called && is_same_name(&x->names.at[i], a, inner)) return i;
    vec_push(&x->names, ((struct machine_name){.a = a, .inner = inner, .called = called}));
    return x->names.n - 1;
}

/* A literal, a global, or what a frame around the text holds: a register is filled with that each
 * time it is used. */
static int32_t name_operand(struct writer *w, const struct ast *a, bool called) {
    size_t i = name_number(w, a, called);
    struct machine_name *k = &w->x->names.at[i];
    bool outer = a->kind == AST_UNQUOTE ||
                 (a->kind == AST_NAME && a->u.name.depth >= 0 && !a->u.name.builtin);
    if (!outer) return ~(int32_t)i;
    if (!k->reg) {
        k->reg = (uint32_t)(FIRST_OUTER + w->x->outer.n);
        vec_push(&w->x->outer, (uint32_t)i);
    }
    emit(w, CODE_GET, k->reg, ~(int32_t)i, a);
    return (int32_t)k->reg;
}

/* A name of the text itself is a register. */
static int32_t name(struct writer *w, const struct ast *a, bool called) {
    int depth = a->u.name.depth, open = (int)w->open.n;
    if (depth < 0 || depth >= open || a->u.name.builtin) return name_operand(w, a, called);
    const struct text_scope *s = &w->open.at[open - 1 - depth];
    uint32_t slot = (uint32_t)a->u.name.slot;
    if (slot >= s->unset && slot < s->until) emit(w, CODE_EARLY, 0, 0, a);
    w->x->plain &= !called && !a->u.name.global_first;
    return (int32_t)(s->base + slot);
}

static int32_t leaf(struct writer *w, const struct ast *a) {
    uint32_t out = take_registers(w, w->next, 1);
    w->x->plain = false;
    emit(w, CODE_LEAF, out, 0, a);
    return (int32_t)out;
}

static int32_t callee(struct writer *w, const struct ast *f) {
    if (f->kind == AST_NAME) return name(w, f, true);
    w->x->plain = false;
    return f->kind == AST_QUOTE && !core_quote_has_splices(f) ? name_operand(w, f, true)
                                                              : expression(w, f);
}

/* A tail call gives a value to be returned where no compound procedure takes its place. */
static int32_t call(struct writer *w, const struct ast *a, bool tail) {
    uint32_t out = w->next, n = a->n - 1;
    bool special = may_be_special(w, a);
    int32_t of = callee(w, a->kids[0]), *operands = NEW_ARRAY(int32_t, n + 1);
    size_t first = 0;
    if (special) first = emit(w, CODE_SPECIAL, out, of, a);
    w->x->plain &= !special && !a->u.call.kw;
    for (uint32_t i = 0; i < n; i++) operands[i] = expression(w, a->kids[i + 1]);
    take_registers(w, out, 1);
    size_t at = emit(w, tail ? CODE_TAIL : CODE_APPLY, out, of, a);
    struct machine_op *op = &w->x->ops.at[at];
    op->n = n;
    op->at = (uint32_t)w->x->operands.n;
    for (uint32_t i = 0; i < n; i++) vec_push(&w->x->operands, operands[i]);
    mem_free(operands);
    if (special) land(w, first);
    if (tail) emit(w, CODE_RETURN, 0, (int32_t)out, a);
    return (int32_t)out;
}

/* A let form of the scope s, whose registers end at `free`; at: where it is open, or -1. */
static void let(struct writer *w, const struct ast *a, struct text_scope s, int at, uint32_t free) {
    uint32_t slot = a->u.bind.slot;
    bool rec = a->kind == AST_LETREC, parts = !rec && a->u.bind.n_names > 1;
    uint32_t n = parts ? a->u.bind.n_names : 1;
    if (rec) emit(w, CODE_UNSET, slot, 0, a);
    w->x->plain &= !rec && !parts;
    for (uint32_t i = 0; i < a->n; i++) {
        uint32_t out = s.base + slot + i;
        if (rec && at >= 0) w->open.at[at].unset = slot + i, w->open.at[at].until = slot + a->n;
        int32_t v = expression(w, a->kids[i]);
        emit(w, parts ? CODE_PARTS : CODE_MOVE, out, v, a);
        vec_last(&w->x->ops).n = n;
        for (uint32_t k = 0; s.framed && k < n; k++)
            emit(w, CODE_STORE, slot + i + k, (int32_t)(out + k), a);
        w->next = free;
    }
    if (rec && at >= 0) w->open.at[at].until = 0;
}

/* True: a frame was opened for it. */
static bool open_block(struct writer *w, const struct ast *a) {
    uint32_t n = a->u.block.n_slots, first = take_registers(w, w->next, n);
    struct text_scope s = {.base = first, .framed = n && keeps_frame(w, a)};
    if (s.framed) emit(w, CODE_OPEN, 0, 0, a);
    if (n) vec_push(&w->open, s);
    int at = (int)w->open.n - 1;
    for (uint32_t i = 0; i + 1 < a->n; i++) let(w, a->kids[i], s, at, first + n);
    return s.framed;
}

static size_t condition(struct writer *w, const struct ast *a) {
    uint32_t first = w->next;
    int32_t c = expression(w, a->kids[0]);
    w->next = first;
    return emit(w, CODE_UNLESS, 0, c, a->kids[0]);
}

/* The value in a register that is given, above which all are free. */
static void into(struct writer *w, const struct ast *a, uint32_t out) {
    take_registers(w, out, 1);
    emit(w, CODE_MOVE, out, expression(w, a), a);
    w->next = out + 1;
}

static int32_t branches(struct writer *w, const struct ast *a) {
    uint32_t out = w->next;
    size_t unless = condition(w, a), end;
    into(w, a->kids[1], out);
    end = emit(w, CODE_JUMP, 0, 0, a);
    land(w, unless);
    into(w, a->kids[2], out);
    land(w, end);
    emit(w, CODE_JOIN, out, 0, a);
    return (int32_t)out;
}

static int32_t block(struct writer *w, const struct ast *a) {
    size_t open = w->open.n;
    uint32_t out = take_registers(w, w->next, 1);
    bool framed = open_block(w, a);
    emit(w, CODE_MOVE, out, expression(w, a->kids[a->n - 1]), a);
    if (framed) emit(w, CODE_CLOSE, 0, 0, a);
    w->open.n = open;
    w->next = out + 1;
    return (int32_t)out;
}

/* An expression that stands for another: what it is made of matters to traces alone. */
static const struct ast *inside(struct writer *w, const struct ast *a) {
    while (a->kind == AST_TAG || a->kind == AST_TAG_OUT || a->kind == AST_MODEL) {
        w->x->plain = false;
        a = a->kids[a->kind == AST_MODEL ? 0 : a->n - 1];
    }
    return a;
}

static int32_t expression(struct writer *w, const struct ast *a) {
    a = inside(w, a);
    switch (a->kind) {
    case AST_NUMBER:
    case AST_ATOM:
    case AST_STRING:
    case AST_BOOL:
    case AST_UNQUOTE: return name_operand(w, a, false);
    case AST_NAME: return name(w, a, false);
    case AST_CALL: return call(w, a, false);
    case AST_IF: return branches(w, a);
    case AST_BLOCK: return a->u.block.action || !a->n ? leaf(w, a) : block(w, a);
    case AST_QUOTE:
        w->x->plain = false;
        return core_quote_has_splices(a) ? leaf(w, a) : name_operand(w, a, false);
    default: return leaf(w, a);
    }
}

/* What the text ends with. */
static void last(struct writer *w, const struct ast *a) {
    size_t open = w->open.n, unless;
    a = inside(w, a);
    if (a->kind == AST_CALL) {
        call(w, a, true);
    } else if (a->kind == AST_IF) {
        unless = condition(w, a);
        last(w, a->kids[1]);
        land(w, unless);
        last(w, a->kids[2]);
    } else if (a->kind == AST_BLOCK && !a->u.block.action && a->n) {
        open_block(w, a);
        last(w, a->kids[a->n - 1]);
        w->open.n = open;
    } else
        emit(w, CODE_RETURN, 0, expression(w, a), a);
}

/* Names around the text have registers after all others. */
static int32_t settled(const struct machine_text *x, int32_t operand) {
    return operand < FIRST_OUTER ? operand : operand - FIRST_OUTER + (int32_t)x->first_outer;
}

static void settle_registers(struct machine_text *x) {
    x->first_outer = x->n_registers;
    x->n_registers += (uint32_t)x->outer.n;
    for (size_t i = 0; i < x->operands.n; i++) x->operands.at[i] = settled(x, x->operands.at[i]);
    for (size_t i = 0; i < x->ops.n; i++) {
        struct machine_op *op = &x->ops.at[i];
        op->of = settled(x, op->of);
        op->out = (uint32_t)settled(x, (int32_t)op->out);
        int32_t k =
            op->code == CODE_MOVE || op->code == CODE_RETURN ? machine_name_of(x, op->of) : -1;
        if (k >= 0) x->names.at[k].passed = true;
    }
}

void machine_text_free(struct machine_text *x) {
    vec_release(&x->ops);
    vec_release(&x->operands);
    vec_release(&x->names);
    vec_release(&x->outer);
    mem_free(x->links);
    mem_free(x);
}

struct machine_text *machine_text_new(struct session_core *core, const struct ast *root) {
    struct machine_text *x = NEW(struct machine_text);
    struct writer w = {.core = core, .x = x};
    x->root = root;
    x->plain = root->kind == AST_LAMBDA;
    if (root->kind == AST_LAMBDA) {
        x->n_params = root->u.lambda.n_params;
        x->framed = keeps_frame(&w, root->kids[0]);
        vec_push(&w.open, ((struct text_scope){.framed = x->framed}));
        take_registers(&w, 0, x->n_params);
        last(&w, root->kids[0]);
    } else if (root->kind == AST_LET || root->kind == AST_LETREC) {
        struct text_scope s = {.framed = true};
        uint32_t n = root->u.bind.slot + root->u.bind.n_names;
        take_registers(&w, 0, n);
        let(&w, root, s, -1, n);
        emit(&w, CODE_RETURN, 0, (int32_t)root->u.bind.slot, root);
    } else
        last(&w, root);
    vec_release(&w.open);
    settle_registers(x);
    vec_push(&root->code->texts, x);
    ((struct ast *)(uintptr_t)root)->cache = x; /* the cache is the evaluator's own field */
    return x;
}
