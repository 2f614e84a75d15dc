/* SPDX-License-Identifier: Apache-2.0
 *
 * Expressions: one row per infix operator (binding power and builtin), prefix forms by recursive
 * descent. Operators become calls of builtins; `&&` and `||` become conditionals. */
#include "language/lang/parse.h"
#include "base/number.h"
#include <stdlib.h>
#include <string.h>

/* A sum or product of this height takes further operands into one variadic call, so a long
 * generated sum is not a deep tree. */
enum { FLATTEN_AT = 64 };

static const struct infix {
    uint8_t prec;
    const char *fn; /* NULL: && and || */
} infix_rows[TOK_KIND_COUNT] = {
    [TOK_OR] = {PREC_OR, NULL},      [TOK_AND] = {PREC_AND, NULL},
    [TOK_EQ] = {PREC_EQ, "eq"},      [TOK_NEQ] = {PREC_EQ, "neq"},
    [TOK_LT] = {PREC_CMP, "lt"},     [TOK_LE] = {PREC_CMP, "lte"},
    [TOK_GT] = {PREC_CMP, "gt"},     [TOK_GE] = {PREC_CMP, "gte"},
    [TOK_PLUS] = {PREC_SUM, "add"},  [TOK_MINUS] = {PREC_SUM, "sub"},
    [TOK_STAR] = {PREC_TERM, "mul"}, [TOK_SLASH] = {PREC_TERM, "div"},
    [TOK_POW] = {PREC_POW, "pow"},
};

static const enum tok_kind word_ops[WORD_COUNT] = {
    [WORD_AND] = TOK_AND,  [WORD_OR] = TOK_OR,     [WORD_ADD] = TOK_PLUS, [WORD_SUB] = TOK_MINUS,
    [WORD_MUL] = TOK_STAR, [WORD_DIV] = TOK_SLASH, [WORD_POW] = TOK_POW,  [WORD_EQ] = TOK_EQ,
    [WORD_NEQ] = TOK_NEQ,  [WORD_LT] = TOK_LT,     [WORD_LE] = TOK_LE,    [WORD_GT] = TOK_GT,
    [WORD_GE] = TOK_GE,
};

/* The operator at the current token in infix position; TOK_EOF if it is not one. */
static enum tok_kind infix_op(const struct parser *p) {
    enum tok_kind k = tok(p)->kind == TOK_NAME ? word_ops[tok(p)->word] : tok(p)->kind;
    return infix_rows[k].prec ? k : TOK_EOF;
}

bool starts_expr(const struct token *t) {
    static const bool starts[TOK_KIND_COUNT] = {
        [TOK_NAME] = true,   [TOK_NUMBER] = true,   [TOK_STRING] = true, [TOK_TYPED] = true,
        [TOK_LPAREN] = true, [TOK_LBRACKET] = true, [TOK_LBRACE] = true, [TOK_QUASI_OPEN] = true,
        [TOK_DOLLAR] = true, [TOK_PLUS] = true,     [TOK_MINUS] = true,  [TOK_SLASH] = true,
    };
    return starts[t->kind] && t->word != WORD_ELSE;
}

struct ast *bool_node(struct parser *p, struct span at, bool b) {
    struct ast *a = node_at(p, AST_BOOL, at);
    a->u.boolean = b;
    return a;
}

/* ---- operators ---- */

/* a && b is if (a) {b} else {false}; a || b is if (a) {true} else {b} */
struct ast *lazy(struct parser *p, bool and, struct span at, struct ast *l, struct ast *r) {
    struct ast *kids[] = {l, and? r : bool_node(p, at, true), and? bool_node(p, at, false) : r};
    return make(p, AST_IF, l->span.start, kids, 3);
}

/* Adds one operand to the call. Its array grows by doubling (three kids fit exactly). */
static struct ast *append_operand(struct parser *p, struct ast *call, struct ast *r) {
    uint32_t n = call->n;
    if (n == 3 || (n & (n - 1)) == 0) {
        struct ast **kids = ARENA_ARRAY(p->arena, struct ast *, n == 3 ? 4 : 2 * (size_t)n);
        memcpy(kids, call->kids, n * sizeof *kids);
        call->kids = kids;
    }
    call->kids[call->n++] = r;
    if (r->height >= call->height) call->height = r->height + 1;
    call->span.end = r->span.end;
    return call;
}

/* left op right */
static struct ast *make_binary(struct parser *p, enum tok_kind op, struct span at, struct ast *left,
                               struct ast *right) {
    const char *fn = infix_rows[op].fn;
    struct ast *args[] = {left, right};
    if (!fn) return lazy(p, op == TOK_AND, at, left, right);
    bool long_chain = left->height >= FLATTEN_AT && ast_calls(left, fn);
    if ((op == TOK_PLUS || op == TOK_STAR) && long_chain && right->height < FLATTEN_AT)
        return append_operand(p, left, right);
    return call_builtin(p, left->span.start, at, fn, args, 2);
}

static struct ast *parse_unary(struct parser *p);

/* Operators of at least power `min` after a complete left operand. Only `**` is
 * right-associative. */
static struct ast *parse_infix(struct parser *p, struct ast *left, uint8_t min) {
    for (;;) {
        enum tok_kind op = infix_op(p);
        uint8_t prec = infix_rows[op].prec;
        if (op == TOK_EOF || prec < min) return left;
        struct span at = take(p);
        enter(p);
        struct ast *right = parse_unary(p);
        right = parse_infix(p, right, op == TOK_POW ? PREC_POW : (uint8_t)(prec + 1));
        leave(p);
        left = make_binary(p, op, at, left, right);
    }
}

/* unary = ("+" | "-") unary | power: minus is 0 - e, and a literal is folded */
static struct ast *parse_sign(struct parser *p) {
    bool minus = tok(p)->kind == TOK_MINUS;
    struct span op = take(p);
    enter(p);
    struct ast *e = parse_infix(p, parse_unary(p), PREC_UNARY);
    leave(p);
    if (e->kind == AST_NUMBER) {
        if (minus) e->u.number = 0 - e->u.number;
        e->span.start = op.start;
        return e;
    }
    struct ast *args[] = {number_node(p, op, 0), e};
    return call_builtin(p, op.start, op, minus ? "sub" : "add", args, 2);
}

static struct ast *parse_unary(struct parser *p) {
    if (tok(p)->kind == TOK_PLUS || tok(p)->kind == TOK_MINUS) return parse_sign(p);
    return parse_applicative(p);
}

/* hashed = or { "#" NAME [":" applicative] } */
static struct ast *parse_tags(struct parser *p, struct ast *e) {
    while (accept(p, TOK_HASH)) {
        struct span at = here(p);
        struct sym *s = take_name(p, "the name of a tag after `#`");
        struct ast *block;
        if (accept(p, TOK_COLON)) {
            block = parse_applicative(p);
        } else {
            block = node(p, AST_STRING, at.start);
            block->u.string.text = "default";
            block->u.string.len = 7;
        }
        struct ast *kids[] = {quoted_name(p, at, s), block, e};
        e = make(p, AST_TAG, e->span.start, kids, 3);
    }
    return e;
}

enum { MAX_INDICES = 8 }; /* in xs[i, j, ...] */

/* ---- calls ---- */

/* arg = expr | NAME ":" expr | NAME "=" expr | "..." */
static void parse_arg(struct parser *p, bool keywords) {
    struct list_item it = {.at = here(p)};
    enum tok_kind next = tok(p)->kind == TOK_NAME && keywords ? peek(p, 1)->kind : TOK_EOF;
    bool dots = accept(p, TOK_ELLIPSIS);
    if ((next == TOK_COLON && !labelled_ahead(p)) || next == TOK_ASSIGN) {
        it.kw_real = next == TOK_ASSIGN;
        it.kw = take_name(p, "the name of an argument");
        advance(p);
    }
    if (!dots) it.e = it.kw ? parse_expr(p) : parse_labelled(p);
    vec_push(&p->items, it);
}

static void check_keywords(struct parser *p, size_t base) {
    map_release(&p->seen);
    for (size_t i = base; i < p->items.n; i++) {
        struct list_item *it = &p->items.at[i];
        if (!it->kw || !it->kw_real) continue;
        struct list_item *first = map_get(&p->seen, MAP_PTR(it->kw));
        map_put(&p->seen, MAP_PTR(it->kw), it);
        if (!first) continue;
        if (perr(p, DIAG_BAD_KEYWORD_ARG, it->at, NULL, "the keyword argument `%s` is given twice",
                 it->kw->text))
            diag_add_label(p->diags, first->at, "first given here");
        give_up(p);
    }
}

/* [arg {"," arg}] closer, pushed on p->items. A list may end in a comma, a call may not. */
void parse_args(struct parser *p, enum tok_kind closer, struct span open, bool keywords) {
    size_t base = p->items.n;
    const char *inside = closer == TOK_RPAREN ? "`,` or `)`" : "`,` or `]`";
    p->trailing_comma = false;
    while (tok(p)->kind != closer) {
        enum tok_kind k = tok(p)->kind;
        if (k == TOK_EOF || k == TOK_SEMI || k == TOK_RPAREN || k == TOK_RBRACKET ||
            k == TOK_RBRACE)
            break;
        if (!starts_expr(tok(p)) && k != TOK_ELLIPSIS) fail_found(p, "an expression");
        parse_arg(p, keywords);
        p->trailing_comma = accept(p, TOK_COMMA);
        if (!p->trailing_comma) break;
        if (keywords && tok(p)->kind == closer) fail_found(p, "another argument after `,`");
    }
    close_bracket(p, closer, open, inside);
    check_keywords(p, base);
}

/* The call of `callee` with the items from `base` on. */
static struct ast *make_call(struct parser *p, struct ast *callee, size_t base) {
    size_t n = p->items.n - base;
    struct ast *a = node(p, AST_CALL, callee->span.start);
    struct ast **kids = ARENA_ARRAY(p->arena, struct ast *, n + 1);
    kids[0] = callee;
    for (size_t i = 0; i < n; i++) {
        const struct list_item *it = &p->items.at[base + i];
        if (!it->e)
            fail(p, DIAG_BAD_RANGE, it->at, "for example array(-20, ..., 20)",
                 "`...` makes a range only in array, list, vector or [ ]");
        kids[i + 1] = it->e;
        if (!it->kw) continue;
        if (!a->u.call.kw) {
            a->u.call.kw = ARENA_ARRAY(p->arena, struct sym *, n);
            a->u.call.kw_real = ARENA_ARRAY(p->arena, bool, n);
        }
        a->u.call.kw[i] = it->kw;
        a->u.call.kw_real[i] = it->kw_real;
    }
    return set_kids(p, a, kids, n + 1);
}

struct ast *parse_call(struct parser *p, struct ast *callee) {
    struct span open = take(p);
    size_t base = p->items.n;
    enter(p);
    parse_args(p, TOK_RPAREN, open, true);
    struct ast *a = make_call(p, callee, base);
    leave(p);
    p->items.n = base;
    return a;
}

/* One index between brackets: a value, or a slice from:to with optional ends. */
struct index {
    struct ast *from, *to;
    bool slice;
    struct span at;
};

static struct index parse_one_index(struct parser *p) {
    struct index i = {.at = here(p)};
    bool from_start = tok(p)->kind == TOK_COLON;
    i.from = from_start ? number_node(p, here(p), 0) : parse_expr(p);
    i.slice = accept(p, TOK_COLON);
    if (i.slice && tok(p)->kind != TOK_RBRACKET && tok(p)->kind != TOK_COMMA) i.to = parse_expr(p);
    i.at = span_from(p, i.at.start);
    return i;
}

/* A slice among other indices becomes a sequence of indices: m[0:2, 1] is m[arange(0, 2), 1]. A
 * slice without end asks for m's size, so m must be a name: it is evaluated again. */
static struct ast *slice_range(struct parser *p, struct ast *e, const struct index *i,
                               size_t place) {
    struct ast *ends[2] = {i->from, i->to};
    if (!ends[1] && (e->kind != AST_NAME || place > 1))
        fail(p, DIAG_UNEXPECTED_TOKEN, i->at, "for example m[0:2, 1]",
             "this slice needs both of its ends");
    if (!ends[1]) {
        struct ast *whole = name_node(p, i->at, e->u.name.sym);
        ends[1] = call_builtin(p, i->at.start, i->at, place ? "cols" : "size", &whole, 1);
    }
    return call_builtin(p, i->at.start, i->at, "arange", ends, 2);
}

/* index = one { "," one }, one = expr | [expr] ":" [expr]: lookup(e, i, ...), or of one slice alone
 * subsequence(e, from, to) */
static struct ast *parse_index(struct parser *p, struct ast *e) {
    struct span open = take(p);
    struct ast *args[1 + MAX_INDICES] = {e};
    enter(p);
    struct index i = parse_one_index(p);
    bool alone = i.slice && tok(p)->kind != TOK_COMMA;
    size_t n = 1;
    if (alone) args[n++] = i.from;
    if (alone && i.to) args[n++] = i.to;
    if (!alone) args[n++] = i.slice ? slice_range(p, e, &i, 0) : i.from;
    while (accept(p, TOK_COMMA)) {
        if (n > MAX_INDICES) fail(p, DIAG_ARITY, here(p), NULL, "too many indices");
        i = parse_one_index(p);
        args[n] = i.slice ? slice_range(p, e, &i, n - 1) : i.from;
        n++;
    }
    leave(p);
    close_bracket(p, TOK_RBRACKET, open, alone ? "`,` or `]`" : "`,`, `:` or `]`");
    return call_builtin(p, e->span.start, span_from(p, open.start),
                        alone ? "subsequence" : "lookup", args, n);
}

static struct ast *parse_postfix(struct parser *p, struct ast *e) {
    for (;;) {
        if (tok(p)->kind == TOK_LPAREN)
            e = parse_call(p, e);
        else if (tok(p)->kind == TOK_LBRACKET)
            e = parse_index(p, e);
        else
            return e;
    }
}

/* applicative = primary { "(" [args] ")" | "[" expr "]" } */
struct ast *parse_applicative(struct parser *p) {
    return parse_postfix(p, parse_primary(p));
}

struct ast *parse_from(struct parser *p, uint32_t start, struct ast *left) {
    if (left->span.start > start) left->span.start = start;
    return parse_tags(p, parse_infix(p, parse_postfix(p, left), PREC_OR));
}

/* ---- primaries ---- */

/* The body of a procedure and its parameters from `names` on. */
static struct ast *make_lambda(struct parser *p, uint32_t start, size_t names, struct ast *body) {
    struct ast *a = node1(p, AST_LAMBDA, start, body);
    a->u.lambda.params = copy_names(p, names, &a->u.lambda.n_params);
    return a;
}

/* NAME "->" expr | "(" [names] ")" "->" expr */
static struct ast *parse_arrow(struct parser *p) {
    uint32_t start = tok(p)->start;
    size_t names = p->names.n;
    parse_names(p, "a parameter");
    advance(p); /* -> */
    return make_lambda(p, start, names, parse_expr(p));
}

/* "proc" "(" [names] ")" block */
static struct ast *parse_proc(struct parser *p) {
    uint32_t start = take(p).start;
    size_t names = p->names.n;
    parse_names(p, "a parameter");
    return make_lambda(p, start, names, parse_block(p, "the body of the procedure"));
}

/* "(" body ")" | expr: the parentheses may also start a longer condition, as in (a) == b */
static struct ast *parse_condition(struct parser *p) {
    struct span open = here(p);
    if (!accept(p, TOK_LPAREN)) return parse_expr(p);
    struct ast *c = parse_body(p, TOK_RPAREN, open);
    return tok(p)->kind != TOK_LBRACE ? parse_from(p, open.start, c) : c;
}

static _Noreturn void missing_else(struct parser *p, uint32_t start) {
    static const char *const words[] = {"else"};
    const struct token *t = tok(p);
    struct span at = {p->unit, start, start + 2};
    const char *near = NULL;
    if (t->kind == TOK_NAME) near = suggest_nearest(tok_sym(p, t)->text, words, 1);
    bool cut = t->kind == TOK_SEMI && peek(p, 1)->word == WORD_ELSE;
    const char *help = "both branches are needed: if (c) { a } else { b }; in an inference "
                       "program the second may be { pass }";
    if (!perr(p, DIAG_MISSING_ELSE, at, cut ? NULL : help, "this `if` has no `else`")) give_up(p);
    if (near) diag_add_label(p->diags, here(p), "did you mean `else`?");
    if (cut) {
        diag_add_label(p->diags, here(p), "no `;` stands before `else`");
        advance(p); /* recovery then skips the branch */
    }
    give_up(p);
}

/* "if" condition block "else" (block | if) */
static struct ast *parse_if(struct parser *p) {
    uint32_t start = take(p).start;
    struct ast *kids[3];
    enter(p);
    kids[0] = parse_condition(p);
    kids[1] = parse_block(p, "the branch taken when it holds");
    if (tok(p)->word != WORD_ELSE) missing_else(p, start);
    advance(p);
    kids[2] = tok(p)->word == WORD_IF ? parse_if(p) : parse_block(p, "the other branch");
    leave(p);
    return make(p, AST_IF, start, kids, 3);
}

static _Noreturn void reserved_word(struct parser *p) {
    enum tok_word w = tok(p)->word;
    if (w == WORD_ELSE)
        fail(p, DIAG_UNEXPECTED_TOKEN, here(p), "no `;` stands between the first branch and `else`",
             "`else` without its `if`");
    if (w == WORD_LAMBDA)
        fail(p, DIAG_UNEXPECTED_TOKEN, here(p),
             "a procedure is written proc(x) { ... } or x -> ...; as a name take lam or lambda_",
             "`lambda` is reserved");
    fail(p, DIAG_BAD_BINDER, here(p),
         "put the binding and the expression in a block: { let x = 1; x + 1 }",
         "`%s` can only start a statement", lex_word_text(w));
}

static struct ast *parse_name(struct parser *p) {
    const struct token *t = tok(p);
    enum tok_kind next = peek(p, 1)->kind;
    if (directive_ahead(p)) return parse_directive(p);
    if (t->word == WORD_IF) return parse_if(p);
    if (t->word == WORD_PROC && next == TOK_LPAREN) return parse_proc(p);
    if (t->word == WORD_TRUE || t->word == WORD_FALSE) {
        bool b = t->word == WORD_TRUE;
        return bool_node(p, take(p), b);
    }
    if (is_reserved(t->word)) reserved_word(p);
    if (t->word == WORD_DEFINE && next == TOK_NAME)
        fail(p, DIAG_BAD_BINDER, here(p), NULL, "`define` stands only at the top level");
    struct ast *a = next == TOK_LPAREN ? parse_special(p) : NULL;
    if (a) return a;
    struct sym *name = tok_sym(p, t);
    return name_node(p, take(p), name);
}

/* A node of that kind holding the string of the current token. */
struct ast *string_node(struct parser *p, enum ast_kind kind, uint32_t start) {
    struct buf b = BUF_INIT;
    lex_string(&p->lx, tok(p), &b);
    advance(p);
    struct ast *a = node(p, kind, start);
    a->u.string.text = arena_strndup(p->arena, b.data, b.len);
    a->u.string.len = (uint32_t)b.len;
    buf_release(&b);
    return a;
}

static struct ast *parse_literal(struct parser *p) {
    if (tok(p)->kind == TOK_STRING) return string_node(p, AST_STRING, tok(p)->start);
    double x = lex_number(&p->lx, tok(p));
    return number_node(p, take(p), x);
}

/* integer<3>, atom<2>, name<x>: a number, an atom, a symbol */
static struct ast *parse_typed(struct parser *p) {
    struct span at = take(p);
    const char *s = p->lx.text + at.start, *lt = strchr(s, '<') + 1;
    if (s[0] == 'n' && s[1] == 'a') {
        lt += strspn(lt, " ");
        return quoted_name(p, at, sym_intern(p->syms, lt, strcspn(lt, " >")));
    }
    struct ast *a = number_node(p, at, number_read(lt, NULL));
    if (s[0] == 'a') a->kind = AST_ATOM;
    return a;
}

/* "(" expr ")" | "(" [expr "," ... [","]] ")": several are a list of references */
static struct ast *parse_paren(struct parser *p) {
    struct span open = take(p);
    size_t base = p->items.n;
    parse_args(p, TOK_RPAREN, open, false);
    bool one = p->items.n == base + 1 && !p->trailing_comma;
    for (size_t i = base; i < p->items.n; i++) {
        struct list_item *it = &p->items.at[i];
        if (!it->e)
            fail(p, DIAG_BAD_RANGE, it->at, NULL,
                 "`...` makes a range only in array, list, vector or [ ]");
        if (!one) it->e = call_builtin(p, it->e->span.start, it->e->span, "ref", &it->e, 1);
    }
    struct ast *a;
    if (one) {
        a = p->items.at[base].e;
        if (a->kind == AST_CALL) a->span = span_from(p, open.start);
    } else {
        a = make_sequence(p, base, open.start, span_from(p, open.start), "list", true);
    }
    p->items.n = base;
    return a;
}

/* "[" [expr {"," expr} [","]] "]" */
static struct ast *parse_array(struct parser *p) {
    struct span open = take(p);
    size_t base = p->items.n;
    parse_args(p, TOK_RBRACKET, open, false);
    struct ast *a = make_sequence(p, base, open.start, span_from(p, open.start), "array", true);
    p->items.n = base;
    return a;
}

struct ast *parse_primary(struct parser *p) {
    struct ast *a;
    enter(p);
    switch (tok(p)->kind) {
    case TOK_NAME: a = parse_name(p); break;
    case TOK_NUMBER:
    case TOK_STRING: a = parse_literal(p); break;
    case TOK_TYPED: a = parse_typed(p); break;
    case TOK_LPAREN: a = parse_paren(p); break;
    case TOK_LBRACKET: a = parse_array(p); break;
    case TOK_LBRACE: a = parse_block(p, "a block"); break;
    case TOK_QUASI_OPEN:
    case TOK_DOLLAR: a = parse_special(p); break;
    case TOK_ELLIPSIS:
        fail(p, DIAG_BAD_RANGE, here(p), NULL, "`...` stands only between items of a list");
    default:
        if (perr_found(p, "an expression")) hint(p, NULL);
        give_up(p);
    }
    leave(p);
    return a;
}

/* expr = arrow | path | hashed */
struct ast *parse_expr(struct parser *p) {
    enum tok_kind k = tok(p)->kind, next = k == TOK_NAME ? peek(p, 1)->kind : TOK_EOF;
    if (next == TOK_BIND) {
        struct span at = {p->unit, tok(p)->start, peek(p, 1)->end};
        fail(p, DIAG_BAD_BINDER, at, "less than a negative number needs a space: x < -1",
             "`<-` binds only as a statement of a block or of do(...)");
    }
    if (next == TOK_ARROW || (k == TOK_LPAREN && after_names(p) == TOK_ARROW)) {
        enter(p);
        struct ast *a = parse_arrow(p);
        leave(p);
        return a;
    }
    if (k == TOK_SLASH) return parse_path(p);
    return parse_tags(p, parse_infix(p, parse_unary(p), PREC_OR));
}
