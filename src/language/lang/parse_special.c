/* SPDX-License-Identifier: Apache-2.0
 *
 * Directives (keyword and call forms), quoting and splicing, do(...), tag(...), ranges, selector
 * paths, collect(...): everything that looks like a call or a name but has its own syntax. */
#include "language/lang/elsewhere.h"
#include "language/lang/parse.h"
#include <string.h>

/* ---- model expressions ---- */

static void model_open(struct parser *p, enum within kind) {
    p->within = kind;
    p->first_splice = p->splices.n;
}

/* The AST_MODEL or AST_QUASI around `e`. */
static struct ast *model_close(struct parser *p, struct ast *e) {
    size_t n = p->splices.n - p->first_splice;
    struct ast *a = node1(p, p->within == QUASI ? AST_QUASI : AST_MODEL, e->span.start, e);
    a->span = e->span;
    a->u.model.n_splices = (uint32_t)n;
    a->u.model.splices = ARENA_ARRAY(p->arena, struct ast *, n ? n : 1);
    for (size_t i = n; i--;) a->u.model.splices[i] = vec_pop(&p->splices);
    p->within = PROGRAM;
    return a;
}

static struct ast *parse_model(struct parser *p) {
    model_open(p, MODEL);
    return model_close(p, parse_expr(p));
}

/* ---- directives ---- */

bool directive_ahead(struct parser *p) {
    enum tok_word w = tok(p)->word;
    if (tok(p)->kind != TOK_NAME || w < WORD_ASSUME || w > WORD_INFER) return false;
    const struct token *next = peek(p, 1);
    if (w != WORD_ASSUME) return starts_expr(next);
    return next->kind == TOK_NAME || next->kind == TOK_DOLLAR || next->kind == TOK_LPAREN;
}

/* Directives act on the model from outside; inside a model expression they have no meaning. */
static void check_outside(struct parser *p, const char *name) {
    if (p->within == QUASI)
        fail(p, DIAG_BAD_QUOTE, here(p),
             "quote the model expression alone, and splice it into the directive",
             "`%s` inside [| ... |]", name);
    if (p->within == MODEL)
        fail(p, DIAG_ACTION_IN_MODEL, here(p),
             "run(...) around it makes it inference in a model of its own; unquote(run(...)) "
             "splices a value of the inference program",
             "`%s` inside a model expression", name);
}

static struct ast *finish(struct parser *p, struct ast *d, struct ast *const *kids, size_t n) {
    d->span.end = p->prev_end;
    return set_kids(p, d, kids, n);
}

/* Do observe and force have a value? */
static bool has_value(const struct ast *d) {
    return d->u.dir.kind == DIR_OBSERVE || d->u.dir.kind == DIR_FORCE;
}

static _Noreturn void needs_expression(struct parser *p, uint32_t start, const char *name) {
    fail(p, DIAG_ARITY, span_from(p, start), NULL, "`%s` needs an expression", name);
}

/* The label of a call form: a bare name or a string, or an expression computed at run time. */
static void parse_label_arg(struct parser *p, struct ast *d) {
    const struct token *t = tok(p);
    if (t->kind == TOK_NAME && peek(p, 1)->kind == TOK_COLON) {
        advance(p);
        advance(p);
    }
    if (t->kind == TOK_NAME && peek(p, 1)->kind == TOK_RPAREN) {
        d->u.dir.label = tok_sym(p, t);
        advance(p);
        return;
    }
    (void)accept(p, TOK_DOLLAR);
    struct ast *e = parse_expr(p);
    if (e->kind == AST_STRING)
        d->u.dir.label = sym_intern(p->syms, e->u.string.text, e->u.string.len);
    else if (e->kind == AST_QUOTE && e->kids[0]->kind == AST_NAME)
        d->u.dir.label = e->kids[0]->u.name.sym;
    else
        d->u.dir.label_expr = e;
}

/* The arguments after the first comma of observe(e, v[, l]), force(e, v), predict(e[, l]);
 * sample(e) has no further ones. */
static struct ast *parse_call_rest(struct parser *p, struct ast *d, struct ast *model,
                                   struct span open, const char *name) {
    struct ast *kids[] = {model, NULL};
    enum directive kind = d->u.dir.kind;
    bool more = true;
    if (has_value(d)) {
        kids[1] = parse_expr(p);
        more = accept(p, TOK_COMMA);
    }
    if (more && (kind == DIR_FORCE || kind == DIR_SAMPLE))
        fail(p, DIAG_ARITY, span_from(p, open.start),
             kind == DIR_FORCE ? "its form is force(expression, value)"
                               : "its form is sample(expression)",
             "too many arguments for `%s`", name);
    if (more) parse_label_arg(p, d);
    close_bracket(p, TOK_RPAREN, open, "`)`");
    return finish(p, d, kids, kids[1] ? 2 : 1);
}

/* "=" expr of observe and force */
static struct ast *parse_observed(struct parser *p, struct ast *d, struct ast *model) {
    struct ast *kids[] = {model, NULL};
    if (!has_value(d)) return finish(p, d, kids, 1);
    const struct ast *e = model->kids[0];
    if (tok(p)->kind != TOK_ASSIGN && ast_calls(e, "eq"))
        fail(p, DIAG_UNEXPECTED_TOKEN, e->kids[0]->span,
             "data are given by observe e = v, with one =", "an observation has no `==`");
    expect(p, TOK_ASSIGN, "`=` and the observed value");
    kids[1] = parse_expr(p);
    return finish(p, d, kids, 2);
}

/* sample() and sample(draws=1000, ...): the operator of that name, not the directive. */
static struct ast *call_operator(struct parser *p, struct span at, const char *name) {
    struct ast *callee = name_node(p, at, sym_cstr(p->syms, name));
    callee->u.name.builtin = true;
    return parse_call(p, callee);
}

/* After `observe (` and its like: a parenthesis that starts the expression, or the call form. */
static struct ast *parse_paren_form(struct parser *p, struct ast *d, const char *name) {
    struct span open = here(p);
    enum tok_kind first = peek(p, 1)->kind;
    bool keyword = first == TOK_NAME && peek(p, 2)->kind == TOK_ASSIGN;
    if (d->u.dir.kind == DIR_SAMPLE && (first == TOK_RPAREN || keyword))
        return call_operator(p, d->span, name);
    if (after_names(p) == TOK_ARROW) return parse_observed(p, d, parse_model(p));
    advance(p);
    if (tok(p)->kind == TOK_RPAREN) needs_expression(p, d->span.start, name);
    model_open(p, MODEL);
    struct ast *e = parse_expr(p);
    if (tok(p)->kind == TOK_COMMA) {
        struct ast *model = model_close(p, e);
        advance(p);
        return parse_call_rest(p, d, model, open, name);
    }
    close_bracket(p, TOK_RPAREN, open, "`,` or `)`");
    struct span inside = e->span;
    struct ast *whole = parse_from(p, open.start, e);
    if (whole == e) e->span = inside; /* the parenthesis belongs to the call */
    return parse_observed(p, d, model_close(p, whole));
}

/* The name of an assume that is computed: `$e`, unquote(e); or quote(x), which is x. */
static void parse_assumed_name(struct parser *p, struct ast *d) {
    const struct token *t = tok(p);
    if (t->kind == TOK_NAME && peek(p, 1)->kind != TOK_LPAREN) {
        parse_names(p, "a name to assume");
        return;
    }
    bool dollar = accept(p, TOK_DOLLAR);
    if (!dollar && t->kind == TOK_NAME && strcmp(tok_sym(p, t)->text, "unquote") == 0) {
        advance(p);
        dollar = true;
    }
    struct ast *e = parse_primary(p);
    if (!dollar && e->kind == AST_QUOTE && e->kids[0]->kind == AST_NAME)
        vec_push(&p->names, e->kids[0]->u.name.sym);
    else
        d->u.dir.name_expr = e;
}

/* assume(x, e[, label]) */
static void parse_assume_call(struct parser *p, struct ast *d) {
    struct span open = take(p);
    parse_assumed_name(p, d);
    if (tok(p)->kind == TOK_RPAREN && peek(p, 1)->kind != TOK_ASSIGN)
        fail(p, DIAG_ARITY, span_from(p, d->span.start),
             "its forms are assume x = e and assume(x, e)",
             "`assume` needs a name and an expression");
    close_bracket(p, TOK_COMMA, open, "`,` or `)`");
    struct ast *model = parse_model(p);
    if (accept(p, TOK_COMMA)) parse_label_arg(p, d);
    close_bracket(p, TOK_RPAREN, open, "`,` or `)`");
    finish(p, d, &model, 1);
}

/* "assume" (NAME | "$" primary | "(" names ")") "=" expr */
static struct ast *parse_assume(struct parser *p, struct ast *d) {
    size_t names = p->names.n;
    bool paren = tok(p)->kind == TOK_LPAREN, call = paren && after_names(p) != TOK_ASSIGN;
    if (call)
        parse_assume_call(p, d);
    else if (paren)
        parse_names(p, "a name to assume");
    else
        parse_assumed_name(p, d);
    d->u.dir.names = copy_names(p, names, &d->u.dir.n_names);
    if (!call) {
        if (d->u.dir.n_names == 0 && !d->u.dir.name_expr)
            fail(p, DIAG_BAD_BINDER, span_from(p, d->span.start), NULL, "`assume` needs a name");
        expect(p, TOK_ASSIGN, "`=` after the name");
        struct ast *model = parse_model(p);
        finish(p, d, &model, 1);
    }
    if (d->u.dir.n_names == 1) name_lambda(d->kids[0], d->u.dir.names[0]);
    return d;
}

struct ast *parse_directive(struct parser *p) {
    enum tok_word w = tok(p)->word;
    const char *name = lex_word_text(w);
    check_outside(p, name);
    struct ast *d = node(p, AST_DIRECTIVE, tok(p)->start);
    d->u.dir.kind = (enum directive)(w - WORD_ASSUME); /* in the same order */
    advance(p);
    if (w == WORD_ASSUME) return parse_assume(p, d);
    if (w == WORD_INFER) {
        struct ast *e = parse_expr(p);
        return finish(p, d, &e, 1);
    }
    if (tok(p)->kind == TOK_LPAREN) return parse_paren_form(p, d, name);
    return parse_observed(p, d, parse_model(p));
}

/* ---- quoting ---- */

/* A call of a name with its own syntax, taken up to its parenthesis. */
struct special {
    const char *name;
    int variant;          /* of its row: distinguishes rows parsed by one function */
    struct span at, open; /* the name, the parenthesis */
};

static struct ast *one_argument(struct parser *p, const struct special *s) {
    if (tok(p)->kind == TOK_RPAREN)
        fail(p, DIAG_BAD_QUOTE, span_from(p, s->open.start), NULL, "`%s` needs an expression",
             s->name);
    struct ast *e = parse_expr(p);
    if (tok(p)->kind == TOK_COMMA)
        fail(p, DIAG_BAD_QUOTE, here(p), NULL, "`%s` takes one expression", s->name);
    close_bracket(p, TOK_RPAREN, s->open, "`)`");
    return e;
}

static void check_inside(struct parser *p, const char *name) {
    if (p->within == PROGRAM)
        fail(p, DIAG_BAD_QUOTE, here(p),
             "it splices a value of the inference program into assume, observe, predict, sample "
             "or [| ... |]; here write the value itself",
             "`%s` outside a model expression", name);
}

/* The value of an inference expression in the enclosing model or quotation: unquote(e), or `$`
 * primary, which is quote(unquote(primary)). */
static struct ast *special_unquote(struct parser *p, const struct special *s) {
    bool dollar = s->variant;
    enum within within = p->within;
    size_t first_splice = p->first_splice;
    p->within = PROGRAM;
    struct ast *e = dollar ? parse_primary(p) : one_argument(p, s);
    p->within = within;
    p->first_splice = first_splice;
    struct ast *a = node1(p, AST_UNQUOTE, s->at.start, e);
    a->u.unquote.slot = (uint32_t)(p->splices.n - first_splice);
    a->u.unquote.constant = dollar;
    vec_push(&p->splices, a);
    return a;
}

static struct ast *quote_node(struct parser *p, uint32_t start, struct ast *e) {
    if (e->kind != AST_UNQUOTE) return node1(p, AST_QUOTE, start, e);
    e->u.unquote.constant = true;
    return e;
}

static struct ast *special_quote(struct parser *p, const struct special *s) {
    return quote_node(p, s->at.start, one_argument(p, s));
}

static void check_no_quasi(struct parser *p) {
    if (p->within == QUASI)
        fail(p, DIAG_BAD_QUOTE, here(p), NULL, "a quasiquotation inside another one");
}

/* quasiquote(e) or "[|" body "|]". Inside a model expression its splices belong to that
 * expression. */
static struct ast *special_quasi(struct parser *p, const struct special *s) {
    bool own = p->within == PROGRAM;
    if (own) model_open(p, QUASI);
    struct ast *e = s->variant ? parse_body(p, TOK_QUASI_CLOSE, s->at) : one_argument(p, s);
    if (!own) return quote_node(p, s->at.start, e);
    struct ast *a = model_close(p, e);
    a->span = span_from(p, s->at.start);
    return a;
}

/* ---- do, begin ---- */

/* do(a, x <- b, ...): a block of actions written as a call */
static struct ast *special_do(struct parser *p, const struct special *s) {
    size_t base = p->stmts.n;
    while (tok(p)->kind != TOK_RPAREN) {
        parse_statement(p, PLACE_DO);
        if (!accept(p, TOK_COMMA)) break;
    }
    close_bracket(p, TOK_RPAREN, s->open, "`,` or `)`");
    if (p->stmts.n == base) return pass_node(p, s->at);
    return make_block(p, base, false, true, s->at.start);
}

/* ---- and, or ---- */

/* and(a, b, ...) is lazy like a && b */
static struct ast *special_and_or(struct parser *p, const struct special *s) {
    bool and = s->variant;
    size_t base = p->items.n;
    parse_args(p, TOK_RPAREN, s->open, true);
    struct ast *a = NULL;
    for (size_t i = p->items.n; i-- > base;) {
        struct ast *e = p->items.at[i].e;
        if (!e)
            fail(p, DIAG_BAD_RANGE, p->items.at[i].at, NULL, "`...` makes no range in `%s`",
                 s->name);
        a = a ? lazy(p, and, s->at, e, a) : e;
        if (a != e) a->span = span_from(p, s->at.start);
    }
    return a ? a : bool_node(p, span_from(p, s->at.start), and);
}

/* ---- tag, tag_exclude ---- */

static const char tag_forms[] =
    "its forms are tag(scope=\"s\", e), tag(scope=\"s\", block=b, e) and tag(\"s\", block, e)";

static _Noreturn void unknown_tag_keyword(struct parser *p, const struct list_item *it,
                                          const char *const *known) {
    const char *near = suggest_nearest(it->kw->text, known, 2);
    if (perr(p, DIAG_UNKNOWN_KEYWORD, it->at, near ? NULL : tag_forms,
             "`tag` has no keyword argument `%s`", it->kw->text) &&
        near)
        diag_set_help(p->diags, "did you mean `%s`?", near);
    give_up(p);
}

/* Assigns the arguments: keywords by name, the others in order to the free positions. */
static void tag_arguments(struct parser *p, size_t base, struct span at, struct ast **out) {
    static const char *const known[] = {"scope", "block"};
    struct ast *rest[3];
    size_t n = 0;
    for (size_t i = base; i < p->items.n; i++) {
        const struct list_item *it = &p->items.at[i];
        const char *kw = it->kw && it->kw_real ? it->kw->text : NULL;
        if (kw && strcmp(kw, "scope") == 0)
            out[0] = it->e;
        else if (kw && strcmp(kw, "block") == 0)
            out[1] = it->e;
        else if (kw)
            unknown_tag_keyword(p, it, known);
        else if (n < 3 && it->e)
            rest[n++] = it->e;
        else {
            n = 4;
            break;
        }
    }
    size_t k = 0, open = 1 + !out[0] + !out[1];
    bool no_block = out[0] && !out[1] && n == 1;
    if (n != open && !no_block)
        fail(p, DIAG_ARITY, at, tag_forms, "wrong number of arguments for `tag`");
    if (!out[0]) out[0] = rest[k++];
    if (!out[1] && k + 1 < n) out[1] = rest[k++];
    out[2] = rest[k];
}

static struct ast *special_tag(struct parser *p, const struct special *s) {
    struct ast *kids[3] = {NULL, NULL, NULL};
    size_t base = p->items.n;
    parse_args(p, TOK_RPAREN, s->open, true);
    tag_arguments(p, base, span_from(p, s->at.start), kids);
    return make(p, AST_TAG, s->at.start, kids, 3);
}

static struct ast *special_tag_exclude(struct parser *p, const struct special *s) {
    size_t base = p->items.n;
    parse_args(p, TOK_RPAREN, s->open, true);
    const struct list_item *it = p->items.at + base;
    if (p->items.n - base != 2 || !it[0].e || !it[1].e)
        fail(p, DIAG_ARITY, span_from(p, s->at.start), "its form is tag_exclude(scope, e)",
             "wrong number of arguments for `%s`", s->name);
    struct ast *kids[] = {it[0].e, it[1].e};
    return make(p, AST_TAG_OUT, s->at.start, kids, 2);
}

/* ---- sequences and ranges ---- */

/* array(a, ..., b) is _range(position of the ellipsis, a, b); list and vector convert it. */
struct ast *make_sequence(struct parser *p, size_t base, uint32_t start, struct span op,
                          const char *fn, bool builtin) {
    size_t n = p->items.n - base, dots = n;
    struct ast **kids = ARENA_ARRAY(p->arena, struct ast *, n + 1);
    for (size_t i = 0, k = 1; i < n; i++) {
        const struct list_item *it = &p->items.at[base + i];
        if (it->e) {
            kids[k++] = it->e;
            continue;
        }
        if (dots < n || i == 0 || i + 1 == n)
            fail(p, DIAG_BAD_RANGE, it->at, "for example [-20, ..., 20] or [0, 0.5, ..., 10]", "%s",
                 dots < n ? "a second `...` in one list"
                          : "`...` needs an item before and after it");
        dots = i;
    }
    if (dots == n) {
        kids[0] = name_node(p, op, sym_cstr(p->syms, fn));
        kids[0]->u.name.builtin = builtin;
        return make(p, AST_CALL, start, kids, n + 1);
    }
    kids[0] = number_node(p, op, (double)dots);
    struct ast *r = call_builtin(p, start, op, "_range", kids, n);
    if (strcmp(fn, "array") == 0) return r;
    return call_builtin(p, start, op, strcmp(fn, "list") == 0 ? "to_list" : "to_vector", &r, 1);
}

/* array(...), list(...), vector(...): special only when they hold an ellipsis */
static struct ast *special_sequence(struct parser *p, const struct special *s) {
    size_t base = p->items.n;
    parse_args(p, TOK_RPAREN, s->open, true);
    for (size_t i = base; i < p->items.n; i++) {
        const struct list_item *it = &p->items.at[i];
        if (it->kw && it->kw_real)
            fail(p, DIAG_UNKNOWN_KEYWORD, it->at, NULL, "`%s` has no keyword argument `%s`",
                 s->name, it->kw->text);
    }
    return make_sequence(p, base, s->at.start, s->at, s->name, false);
}

/* ---- other call forms of directives ---- */

static struct ast *call_form(struct parser *p, const struct special *s) {
    struct ast *d = node(p, AST_DIRECTIVE, s->at.start);
    d->u.dir.kind = (enum directive)s->variant;
    return d;
}

/* sample_all(e), predict_all(e[, label]), extract_stats(e), exact_posterior(e) */
static struct ast *special_directive(struct parser *p, const struct special *s) {
    struct ast *d = call_form(p, s);
    if (tok(p)->kind == TOK_RPAREN) needs_expression(p, s->at.start, s->name);
    struct ast *model = parse_model(p);
    if (s->variant == DIR_PREDICT_ALL && accept(p, TOK_COMMA)) parse_label_arg(p, d);
    close_bracket(p, TOK_RPAREN, s->open, "`)`");
    return finish(p, d, &model, 1);
}

/* factor(e[, label]): an observation whose log density is e */
static struct ast *special_factor(struct parser *p, const struct special *s) {
    struct ast *d = call_form(p, s), *kids[2];
    if (tok(p)->kind == TOK_RPAREN) needs_expression(p, s->at.start, s->name);
    model_open(p, MODEL);
    struct ast *e = parse_expr(p);
    kids[0] = model_close(p, call_builtin(p, e->span.start, e->span, "_factor", &e, 1));
    kids[1] = bool_node(p, s->at, true);
    if (accept(p, TOK_COMMA)) parse_label_arg(p, d);
    close_bracket(p, TOK_RPAREN, s->open, "`,` or `)`");
    return finish(p, d, kids, 2);
}

/* The models pushed on p->stmts since `base`, up to the closing parenthesis. */
static struct ast *finish_call(struct parser *p, const struct special *s, struct ast *d,
                               size_t base) {
    close_bracket(p, TOK_RPAREN, s->open, "`,` or `)`");
    return finish(p, d, p->stmts.at + base, p->stmts.n - base);
}

/* e | labelled(e, name): the model goes on p->stmts, its name or NULL on p->names */
static void parse_column(struct parser *p) {
    struct ast label = {0};
    bool named = tok(p)->kind == TOK_NAME && peek(p, 1)->kind == TOK_LPAREN &&
                 strcmp(tok_sym(p, tok(p))->text, "labelled") == 0;
    if (named) advance(p);
    struct span open = here(p);
    if (named) advance(p);
    struct ast *e = parse_model(p);
    vec_push(&p->stmts, e);
    if (named) {
        expect(p, TOK_COMMA, "`,` and the name of the column");
        parse_label_arg(p, &label);
        close_bracket(p, TOK_RPAREN, open, "`)`");
        if (!label.u.dir.label)
            fail(p, DIAG_BAD_BINDER, span_from(p, open.start), NULL,
                 "a column's name is a name or a string");
    }
    vec_push(&p->names, label.u.dir.label);
}

/* collect(e1, labelled(e2, name), ...) */
static struct ast *special_collect(struct parser *p, const struct special *s) {
    struct ast *d = call_form(p, s);
    size_t base = p->stmts.n, names = p->names.n;
    while (tok(p)->kind != TOK_RPAREN) {
        parse_column(p);
        if (!accept(p, TOK_COMMA)) break;
    }
    d->u.dir.names = copy_names(p, names, &d->u.dir.n_names);
    return finish_call(p, s, d, base);
}

/* call_back(name, e1, e2, ...): the name is a name, a string or an expression */
static struct ast *special_call_back(struct parser *p, const struct special *s) {
    struct ast *d = call_form(p, s);
    size_t base = p->stmts.n;
    if (tok(p)->kind == TOK_NAME && peek(p, 1)->kind == TOK_COMMA) {
        d->u.dir.label = tok_sym(p, tok(p));
        advance(p);
    } else {
        parse_label_arg(p, d);
    }
    while (accept(p, TOK_COMMA)) {
        struct ast *e = parse_model(p);
        vec_push(&p->stmts, e);
    }
    return finish_call(p, s, d, base);
}

/* ---- prob ---- */

/* If the name prob occurs in the unit other than before `(`, the unit has its own prob, and prob(x)
 * is an ordinary call. */
static bool own_prob(struct parser *p) {
    struct lexer lx = p->lx;
    lx.pos = 0;
    for (struct token t = lex_next(&lx); p->prob == PROB_UNKNOWN;) {
        struct token next = lex_next(&lx);
        bool named = t.kind == TOK_NAME && t.end - t.start == 4 &&
                     strncmp(lx.text + t.start, "prob", 4) == 0;
        if (named && next.kind != TOK_LPAREN) p->prob = PROB_OWN;
        if (t.kind == TOK_EOF) break;
        t = next;
    }
    if (p->prob == PROB_UNKNOWN) p->prob = PROB_QUERY;
    return p->prob == PROB_OWN;
}

/* The query as written: `LIN & (WN | LIN*WN)` is not an expression of the language. Ends before a
 * comma or parenthesis that is not nested. */
static struct ast *query_text(struct parser *p) {
    struct lexer lx = p->lx;
    uint32_t start, end;
    lx.pos = tok(p)->end;
    struct token t = lex_query(&lx, &start, &end);
    struct ast *a = node(p, AST_STRING, start);
    a->span.end = end;
    a->u.string.text = arena_strndup(p->arena, lx.text + start, end - start);
    a->u.string.len = end - start;
    p->prev_end = end;
    p->parens++; /* the one before the text, which was not taken as a token */
    p->lx = lx;
    p->tok[0] = t;
    p->n_tok = 1;
    return a;
}

/* prob(QUERY[, draws]): the query is text, quoted or not; prob($q, ...) takes it from a variable.
 * Only the name is taken, since unquoted text has no tokens. */
static struct ast *special_prob(struct parser *p, const struct special *s) {
    struct ast *args[2] = {NULL, NULL};
    enum tok_kind first = peek(p, 1)->kind;
    if (first == TOK_STRING || first == TOK_DOLLAR || first == TOK_RPAREN) {
        advance(p);
        (void)accept(p, TOK_DOLLAR);
        args[0] = parse_expr(p);
    } else {
        args[0] = query_text(p);
    }
    if (accept(p, TOK_COMMA)) args[1] = parse_expr(p);
    close_bracket(p, TOK_RPAREN, s->open, "`,` or `)`");
    return call_builtin(p, s->at.start, s->at, "prob", args, args[1] ? 2 : 1);
}

/* run(a): inside a model its argument is an inference expression. */
static struct ast *special_run(struct parser *p, const struct special *s) {
    enum within within = p->within;
    size_t first_splice = p->first_splice;
    if (within == MODEL) p->within = PROGRAM;
    struct ast *call = parse_call(p, name_node(p, s->at, sym_cstr(p->syms, s->name)));
    p->within = within;
    p->first_splice = first_splice;
    return call;
}

/* Where a form is allowed: anywhere; not in a model; only in a model; not in a quasiquotation.
 * BARE: only its name is taken before it is parsed. */
enum where { ANYWHERE, ACTION, SPLICE, QUOTATION, BARE = 4 };

static const struct {
    const char *name;
    int where, variant;
    struct ast *(*parse)(struct parser *p, const struct special *s);
} specials[] = {
    {"$", SPLICE | BARE, true, special_unquote},
    {"[|", QUOTATION | BARE, true, special_quasi},
    {"and", ANYWHERE, true, special_and_or},
    {"array", ANYWHERE, 0, special_sequence},
    {"begin", ACTION, 0, special_do},
    {"call_back", ACTION, DIR_CALL_BACK, special_call_back},
    {"collect", ACTION, DIR_COLLECT, special_collect},
    {"do", ACTION, 0, special_do},
    {"exact_posterior", ACTION, DIR_EXACT, special_directive},
    {"extract_stats", ACTION, DIR_EXTRACT_STATS, special_directive},
    {"factor", ACTION, DIR_OBSERVE, special_factor},
    {"list", ANYWHERE, 0, special_sequence},
    {"or", ANYWHERE, false, special_and_or},
    {"predict_all", ACTION, DIR_PREDICT_ALL, special_directive},
    {"prob", ACTION | BARE, 0, special_prob},
    {"quasiquote", QUOTATION, false, special_quasi},
    {"quote", ANYWHERE, 0, special_quote},
    {"run", ANYWHERE | BARE, 0, special_run},
    {"sample_all", ACTION, DIR_SAMPLE_ALL, special_directive},
    {"tag", ANYWHERE, 0, special_tag},
    {"tag_exclude", ANYWHERE, 0, special_tag_exclude},
    {"unquote", SPLICE, false, special_unquote},
    {"vector", ANYWHERE, 0, special_sequence},
};

/* The row of the token, or the number of rows. In a model extract_stats and factor are ordinary
 * calls. */
static size_t find_special(struct parser *p) {
    const struct token *t = tok(p);
    const char *text = p->lx.text + t->start;
    size_t i = 0, len = t->end - t->start, n = COUNT_OF(specials);
    while (i < n && (strncmp(specials[i].name, text, len) != 0 || specials[i].name[len])) i++;
    bool of_program =
        i < n && (specials[i].variant == DIR_EXTRACT_STATS || specials[i].parse == special_factor);
    if (i == n || (p->within != PROGRAM && of_program)) return n;
    return specials[i].parse == special_prob && own_prob(p) ? n : i;
}

const char *special_name(size_t i) {
    return i < COUNT_OF(specials) ? specials[i].name : NULL;
}

struct ast *parse_special(struct parser *p) {
    size_t i = find_special(p);
    if (i == COUNT_OF(specials)) return NULL;
    int where = specials[i].where & ~BARE;
    struct special s = {.name = specials[i].name, .variant = specials[i].variant, .at = here(p)};
    if (where == ACTION) check_outside(p, s.name);
    if (where == SPLICE) check_inside(p, s.name);
    if (where == QUOTATION) check_no_quasi(p);
    size_t items = p->items.n, stmts = p->stmts.n, names = p->names.n;
    advance(p); /* the name */
    s.open = here(p);
    if (!(specials[i].where & BARE)) advance(p);
    struct ast *a = specials[i].parse(p, &s);
    p->items.n = items;
    p->stmts.n = stmts;
    p->names.n = names;
    return a;
}

/* ---- selector paths ---- */

/* step = "?" NAME ["==" applicative] | "*" | primary */
static struct ast *parse_step_of_path(struct parser *p) {
    struct span at = here(p);
    if (accept(p, TOK_STAR)) return call_builtin(p, at.start, at, "by_star", NULL, 0);
    if (!accept(p, TOK_QUERY)) return parse_primary(p);
    struct span name_at = here(p);
    struct sym *s = take_name(p, "the name of a tag after `?`");
    struct ast *args[2] = {quoted_name(p, name_at, s), NULL};
    if (!accept(p, TOK_EQ)) return call_builtin(p, at.start, name_at, "by_tag", args, 1);
    args[1] = parse_applicative(p);
    return call_builtin(p, at.start, name_at, "by_tag_value", args, 2);
}

/* path = "/" step { "/" step }: by_walk(by_walk(by_top(), step), step) */
struct ast *parse_path(struct parser *p) {
    struct span at = here(p);
    struct ast *e = call_builtin(p, at.start, at, "by_top", NULL, 0);
    while (tok(p)->kind == TOK_SLASH) {
        struct span op = take(p);
        struct ast *args[] = {e, parse_step_of_path(p)};
        e = call_builtin(p, at.start, op, "by_walk", args, 2);
    }
    return e;
}
