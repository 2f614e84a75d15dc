/* SPDX-License-Identifier: Apache-2.0
 *
 * Syntax as data (quote) and data as syntax (eval, spliced code). Names become symbols, calls
 * become arrays of operator and operands flagged OBJ_CODE, other forms the same with their keyword
 * first:
 *
 *     f(x, 1)       [f, x, 1]           if (c) a else b    [if, c, a, b]
 *     proc(x) { x } [proc, [x], x]      quote(e)           [quote, e]
 *
 * The flag tells code from data: an array without it, spliced into a model, is a constant. The way
 * back makes a new tree (struct code). Its creator holds it, and so do the procedures, frames and
 * families made from it. */
#include "runtime/core/plain.h"
#include "runtime/core/machine.h"

#include <string.h>

static value code_array(struct session_core *core, const char *head, const struct ast *a,
                        struct frame *splices) {
    value v = value_array_new(a->n + (head ? 1 : 0));
    size_t k = 0;
    if (head) v.u.array->at[k++] = value_sym(sym_cstr(core->syms, head));
    for (uint32_t i = 0; i < a->n; i++)
        v.u.array->at[k++] = a->kids[i] ? core_quote(core, a->kids[i], splices) : NIL;
    v.u.obj->flags |= OBJ_CODE;
    return v;
}

static value quote_lambda(struct session_core *core, const struct ast *a, struct frame *splices) {
    value v = value_array_new(3);
    v.u.array->at[0] = value_sym(sym_cstr(core->syms, "proc"));
    value params = value_array_new(a->u.lambda.n_params);
    for (uint32_t i = 0; i < a->u.lambda.n_params; i++)
        params.u.array->at[i] = value_sym(a->u.lambda.params[i]);
    v.u.array->at[1] = params;
    v.u.array->at[2] = core_quote(core, a->kids[0], splices);
    v.u.obj->flags |= OBJ_CODE;
    return v;
}

value core_quote(struct session_core *core, const struct ast *a, struct frame *splices) {
    switch (a->kind) {
    case AST_NAME: return value_sym(a->u.name.sym);
    case AST_CALL: return code_array(core, NULL, a, splices);
    case AST_IF: return code_array(core, "if", a, splices);
    case AST_TAG: return code_array(core, "tag", a, splices);
    case AST_LAMBDA: return quote_lambda(core, a, splices);
    case AST_QUOTE: return code_array(core, "quote", a, splices);
    case AST_BLOCK:
        if (a->n == 1) return core_quote(core, a->kids[0], splices);
        return code_array(core, "block", a, splices);
    case AST_UNQUOTE: return splices ? value_ref(splices->s[a->u.unquote.slot].v) : NIL;
    default: return value_ref(core_literal(core, a)->val);
    }
}

/* All splices of one expression are in one frame, so the first one determines the frame. */
static const struct ast *first_unquote(const struct ast *a) {
    if (a->kind == AST_UNQUOTE) return a;
    for (uint32_t i = 0; i < a->n; i++) {
        const struct ast *u = a->kids[i] ? first_unquote(a->kids[i]) : NULL;
        if (u) return u;
    }
    return NULL;
}

bool core_quote_has_splices(const struct ast *quote) {
    return quote->n && first_unquote(quote->kids[0]);
}

bool core_quote_splices(struct session_core *core, const struct ast *quote, struct frame *f,
                        value *out) {
    const struct ast *u = quote->n ? first_unquote(quote->kids[0]) : NULL;
    if (u) *out = core_quote(core, quote->kids[0], frame_up(f, u->u.unquote.depth));
    return u;
}

struct code *code_ref(struct code *k) {
    if (k) k->refs++;
    return k;
}

void code_unref(struct code *k) {
    if (!k || --k->refs) return;
    for (size_t i = 0; i < k->literals.n; i++) cell_free(k->literals.at[i]);
    vec_release(&k->literals);
    for (size_t i = 0; i < k->texts.n; i++) machine_text_free(k->texts.at[i]);
    vec_release(&k->texts);
    arena_release(&k->arena);
    mem_free(k);
}

struct code *code_new(uint32_t unit) {
    struct code *k = NEW(struct code);
    k->refs = 1;
    k->unit = unit;
    return k;
}

static struct ast *new_ast(struct code *k, enum ast_kind kind, struct span at, size_t n) {
    struct ast *a = ARENA_NEW(&k->arena, struct ast);
    a->kind = kind;
    a->span = at;
    a->n = (uint32_t)n;
    a->kids = ARENA_ARRAY(&k->arena, struct ast *, n ? n : 1);
    a->code = k;
    return a;
}

/* A constant without a literal form: a quoted node with its cache filled. */
static struct ast *constant_ast(struct code *k, value v, struct span at) {
    struct ast *a = new_ast(k, AST_QUOTE, at, 0);
    struct cell *c = cell_new(value_ref(v));
    vec_push(&k->literals, c);
    a->cache = c;
    return a;
}

static bool head_is(value v, const char *name) {
    return v.tag == V_SYM && !strcmp(v.u.sym->text, name);
}

static struct ast *data_ast(struct session_core *core, struct code *k, value data, bool by_hand,
                            struct span at);

/* [proc, [names], body]. The body cannot refer to a parameter that is not a symbol. */
static struct ast *lambda_ast(struct session_core *core, struct code *k, struct array_obj *d,
                              bool by_hand, struct span at) {
    struct ast *a = new_ast(k, AST_LAMBDA, at, 1);
    value params = d->at[1];
    size_t n = params.u.array->n;
    a->u.lambda.params = ARENA_ARRAY(&k->arena, struct sym *, n ? n : 1);
    a->u.lambda.n_params = (uint32_t)n;
    for (size_t i = 0; i < n; i++)
        a->u.lambda.params[i] = params.u.array->at[i].tag == V_SYM ? params.u.array->at[i].u.sym
                                                                   : sym_cstr(core->syms, "_");
    a->kids[0] = data_ast(core, k, d->at[2], by_hand, at);
    return a;
}

/* Do the data stand for an application? True for quoted code, and in eval for a hand-made array or
 * list that starts with a procedure or a name. */
static bool is_application(value data, bool by_hand) {
    if (data.tag == V_ARRAY && (data.u.obj->flags & OBJ_CODE)) return data.u.array->n > 0;
    value head = NIL;
    if (!by_hand || (data.tag != V_ARRAY && data.tag != V_PAIR) || !seq_get(data, 0, &head))
        return false;
    bool applies = head.tag == V_SYM || head.tag == V_PROC || is_application(head, true);
    value_unref(head);
    return applies;
}

/* Keyword forms are recognised by their number of parts; anything else is a call. */
static struct ast *application_ast(struct session_core *core, struct code *k, struct array_obj *d,
                                   bool by_hand, struct span at) {
    if (head_is(d->at[0], "proc") && d->n == 3 && d->at[1].tag == V_ARRAY)
        return lambda_ast(core, k, d, by_hand, at);
    if (head_is(d->at[0], "quote") && d->n == 2) return constant_ast(k, d->at[1], at);
    bool is_if = head_is(d->at[0], "if") && d->n == 4;
    struct ast *a = new_ast(k, is_if ? AST_IF : AST_CALL, at, is_if ? 3 : d->n);
    for (size_t i = 0; i < a->n; i++)
        a->kids[i] = data_ast(core, k, d->at[i + (is_if ? 1 : 0)], by_hand, at);
    return a;
}

static struct ast *data_ast(struct session_core *core, struct code *k, value data, bool by_hand,
                            struct span at) {
    if (data.tag == V_SYM) {
        struct ast *a = new_ast(k, AST_NAME, at, 0);
        a->u.name.sym = data.u.sym;
        a->u.name.depth = -1;
        return a;
    }
    if (!is_application(data, by_hand)) return constant_ast(k, data, at);
    if (data.tag == V_ARRAY) return application_ast(core, k, data.u.array, by_hand, at);
    value *items;
    size_t n = 0;
    if (!seq_items(data, &items, &n)) return constant_ast(k, data, at); /* a dotted pair */
    value code = value_array(items, n);
    struct ast *a = application_ast(core, k, code.u.array, by_hand, at);
    value_unref(code);
    values_free(items, n);
    return a;
}

/* Is the name one of these, bound d frames away? */
static bool bound_by(struct ast *name, struct sym *const *names, uint32_t n, int d) {
    for (uint32_t i = 0; i < n; i++) {
        if (names[i] != name->u.name.sym) continue;
        name->u.name.depth = d;
        name->u.name.slot = (int32_t)i;
        return true;
    }
    return false;
}

/* Resolves names by walking the frames; `inner` counts the frames that the code itself opens up to
 * env. */
static void resolve_names(struct ast *a, struct frame *env, struct ast **lambdas, int inner) {
    if (a->kind == AST_NAME && !a->u.name.builtin) {
        bool found = false;
        for (int d = 0; d < inner && !found; d++) {
            const struct ast *l = lambdas[inner - 1 - d];
            found = bound_by(a, l->u.lambda.params, l->u.lambda.n_params, d);
        }
        for (struct frame *f = env; f && !found; f = f->parent, inner++)
            found = f->names && bound_by(a, f->names, f->n, inner);
        return;
    }
    if (a->kind == AST_LAMBDA) {
        if (inner == 64) return;
        lambdas[inner] = a;
        resolve_names(a->kids[0], env, lambdas, inner + 1);
        return;
    }
    for (uint32_t i = 0; i < a->n; i++) resolve_names(a->kids[i], env, lambdas, inner);
}

struct ast *core_code(struct session_core *core, value data, bool by_hand, struct frame *env,
                      struct span at) {
    struct ast *lambdas[64], *a = data_ast(core, code_new(NO_SPAN_UNIT), data, by_hand, at);
    resolve_names(a, env, lambdas, 0);
    a->code->root = a;
    return a;
}
