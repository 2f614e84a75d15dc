/* SPDX-License-Identifier: Apache-2.0
 *
 * Directives (keyword and call forms), quoting and splicing, do(...), tag(...), ranges, selector
 * paths, collect(...): everything that looks like a call or a name but has a syntax of its own.
 */
#include "lang/parse.h"
#include <string.h>

/* ---- model expressions ---- */

static void model_open(struct parser *p, struct model_ctx *m, bool quasi) {
    memset(m, 0, sizeof *m);
    m->parent = p->model;
    m->quasi = quasi;
    p->model = m;
}

/* The AST_MODEL or AST_QUASI around `e` (NULL: only cleans up). */
static struct ast *model_close(struct parser *p, struct model_ctx *m, struct ast *e) {
    struct ast *a = NULL;
    p->model = m->parent;
    if (e) {
        a = node1(p, m->quasi ? AST_QUASI : AST_MODEL, e->span.start, e);
        size_t n = m->splices.n;
        if (a) {
            a->span = e->span;
            a->u.model.n_splices = (uint32_t)n;
            a->u.model.splices = ARENA_ARRAY(p->arena, struct ast *, n ? n : 1);
            if (n) memcpy(a->u.model.splices, m->splices.at, n * sizeof(struct ast *));
        }
    }
    vec_release(&m->splices);
    return a;
}

static struct ast *parse_model(struct parser *p) {
    struct model_ctx m;
    model_open(p, &m, false);
    return model_close(p, &m, parse_expr(p));
}

/* ---- directives ---- */

bool directive_ahead(struct parser *p) {
    enum tok_word w = tok(p)->word;
    if (tok(p)->kind != TOK_NAME || w < WORD_ASSUME || w > WORD_INFER) return false;
    const struct token *next = peek(p, 1);
    if (w != WORD_ASSUME) return starts_expr(next);
    return next->kind == TOK_NAME || next->kind == TOK_DOLLAR || next->kind == TOK_LPAREN;
}

static enum directive directive_of(enum tok_word w) {
    switch (w) {
    case WORD_ASSUME: return DIR_ASSUME;
    case WORD_OBSERVE: return DIR_OBSERVE;
    case WORD_PREDICT: return DIR_PREDICT;
    case WORD_SAMPLE: return DIR_SAMPLE;
    case WORD_FORCE: return DIR_FORCE;
    default: return DIR_INFER;
    }
}

/* Directives act on the model from outside; inside a model expression they have no meaning. */
static bool allowed_here(struct parser *p, struct span at, const char *name) {
    if (!p->model) return true;
    if (p->model->quasi) {
        if (perr(p, DIAG_BAD_QUOTE, at, "`%s` inside [| ... |]", name))
            diag_set_help(p->diags,
                          "quote the model expression alone, and splice it into the directive");
    } else if (perr(p, DIAG_ACTION_IN_MODEL, at, "`%s` inside a model expression", name)) {
        diag_set_help(p->diags, "a model cannot run actions; splice a value of the inference "
                                "program with unquote(run(...))");
    }
    return false;
}

static struct ast *finish(struct parser *p, struct ast *d, struct ast *const *kids, size_t n) {
    d->span.end = p->prev_end;
    return set_kids(p, d, kids, n) ? d : NULL;
}

static bool too_many(struct parser *p, struct span open, const char *name, const char *form) {
    if (perr(p, DIAG_ARITY, span_from(p, open.start), "too many arguments for `%s`", name))
        diag_set_help(p->diags, "its form is %s", form);
    return false;
}

/* The label of a call form: a bare name or a string, or an expression computed at run time. */
static bool parse_label_arg(struct parser *p, struct ast *d) {
    const struct token *t = tok(p);
    if (t->kind == TOK_NAME && peek(p, 1)->kind == TOK_COLON) {
        advance(p);
        advance(p);
    }
    if (t->kind == TOK_NAME && peek(p, 1)->kind == TOK_RPAREN) {
        d->u.dir.label = tok_sym(p, t);
        advance(p);
        return true;
    }
    (void)accept(p, TOK_DOLLAR);
    struct ast *e = parse_expr(p);
    if (!e) return false;
    if (e->kind == AST_STRING) {
        d->u.dir.label = sym_intern(p->syms, e->u.string.text, e->u.string.len);
    } else if (e->kind == AST_QUOTE && e->kids[0]->kind == AST_NAME) {
        d->u.dir.label = e->kids[0]->u.name.sym;
    } else {
        d->u.dir.label_expr = e;
    }
    return true;
}

/* What follows the first comma of observe(e, v[, l]), force(e, v), predict(e[, l]), sample(e) */
static struct ast *parse_call_rest(struct parser *p, struct ast *d, struct ast *model,
                                   struct span open, const char *name) {
    struct ast *kids[] = {model, NULL};
    bool valued = d->u.dir.kind == DIR_OBSERVE || d->u.dir.kind == DIR_FORCE;
    bool labels = d->u.dir.kind == DIR_OBSERVE || d->u.dir.kind == DIR_PREDICT;
    if (valued) {
        kids[1] = parse_expr(p);
        if (!kids[1]) return NULL;
        if (!accept(p, TOK_COMMA))
            labels = false;
        else if (!labels) {
            too_many(p, open, name, "force(expression, value)");
            return NULL;
        }
    } else if (!labels) {
        too_many(p, open, name, "sample(expression)");
        return NULL;
    }
    if (labels && !parse_label_arg(p, d)) return NULL;
    if (!close_bracket(p, TOK_RPAREN, open, "`)`")) return NULL;
    return finish(p, d, kids, valued ? 2 : 1);
}

/* "=" expr of observe and force */
static struct ast *parse_observed(struct parser *p, struct ast *d, struct ast *model) {
    struct ast *kids[] = {model, NULL};
    if (!model) return NULL;
    if (d->u.dir.kind != DIR_OBSERVE && d->u.dir.kind != DIR_FORCE) return finish(p, d, kids, 1);
    if (!expect_assign(p, "`=` and the observed value")) return NULL;
    kids[1] = parse_expr(p);
    return kids[1] ? finish(p, d, kids, 2) : NULL;
}

/* After `observe (` and its like: a parenthesis that starts the expression, or the call form. */
static struct ast *parse_paren_form(struct parser *p, struct ast *d, const char *name) {
    struct span open = tok_span(p, tok(p));
    struct model_ctx m;
    if (after_names(p) == TOK_ARROW) return parse_observed(p, d, parse_model(p));
    advance(p);
    if (tok(p)->kind == TOK_RPAREN) {
        (void)perr(p, DIAG_ARITY, span_from(p, d->span.start), "`%s` needs an expression", name);
        return NULL;
    }
    model_open(p, &m, false);
    struct ast *e = parse_expr(p);
    if (e && tok(p)->kind == TOK_COMMA) {
        struct ast *model = model_close(p, &m, e);
        advance(p);
        return model ? parse_call_rest(p, d, model, open, name) : NULL;
    }
    if (e && !close_bracket(p, TOK_RPAREN, open, "`,` or `)`")) e = NULL;
    if (e) e = parse_from(p, open.start, e);
    return parse_observed(p, d, model_close(p, &m, e));
}

/* The name of an assume that is computed: `$e`, unquote(e); or quote(x), which is x. */
static bool parse_assumed_name(struct parser *p, struct ast *d) {
    const struct token *t = tok(p);
    if (t->kind == TOK_NAME && peek(p, 1)->kind != TOK_LPAREN) {
        struct sym *s = take_name(p, "a name to assume");
        if (s) vec_push(&p->names, s);
        return s != NULL;
    }
    bool dollar = accept(p, TOK_DOLLAR);
    if (!dollar && t->kind == TOK_NAME && strcmp(tok_sym(p, t)->text, "unquote") == 0) {
        advance(p);
        dollar = true;
    }
    struct ast *e = parse_primary(p);
    if (!e) return false;
    if (!dollar && e->kind == AST_QUOTE && e->kids[0]->kind == AST_NAME) {
        vec_push(&p->names, e->kids[0]->u.name.sym);
        return true;
    }
    d->u.dir.name_expr = e;
    return true;
}

/* assume(x, e[, label]) */
static struct ast *parse_assume_call(struct parser *p, struct ast *d) {
    struct span open = tok_span(p, tok(p));
    advance(p);
    if (!parse_assumed_name(p, d)) return NULL;
    if (!accept(p, TOK_COMMA)) {
        if (tok(p)->kind == TOK_RPAREN && peek(p, 1)->kind != TOK_ASSIGN) {
            if (perr(p, DIAG_ARITY, span_from(p, d->span.start),
                     "`assume` needs a name and an expression"))
                diag_set_help(p->diags, "its forms are assume x = e and assume(x, e)");
            return NULL;
        }
        (void)close_bracket(p, TOK_EOF, open, "`,` or `)`");
        return NULL;
    }
    struct ast *model = parse_model(p);
    if (!model) return NULL;
    if (accept(p, TOK_COMMA) && !parse_label_arg(p, d)) return NULL;
    if (!close_bracket(p, TOK_RPAREN, open, "`,` or `)`")) return NULL;
    return finish(p, d, &model, 1);
}

/* "assume" (NAME | "$" primary | "(" names ")") "=" expr */
static struct ast *parse_assume(struct parser *p, struct ast *d) {
    size_t names = p->names.n;
    bool ok, call = tok(p)->kind == TOK_LPAREN && after_names(p) != TOK_ASSIGN;
    struct ast *model = NULL;
    if (call) {
        struct ast *done = parse_assume_call(p, d);
        d->u.dir.names = copy_names(p, names, &d->u.dir.n_names);
        if (done && d->u.dir.n_names) name_lambda(done->kids[0], d->u.dir.names[0]);
        return done;
    }
    ok = tok(p)->kind == TOK_LPAREN ? parse_names(p, "a name to assume") : parse_assumed_name(p, d);
    d->u.dir.names = copy_names(p, names, &d->u.dir.n_names);
    if (ok && d->u.dir.n_names == 0 && !d->u.dir.name_expr) {
        (void)perr(p, DIAG_BAD_BINDER, span_from(p, d->span.start), "`assume` needs a name");
        return NULL;
    }
    if (!ok || !expect_assign(p, "`=` after the name") || !(model = parse_model(p))) return NULL;
    if (d->u.dir.n_names == 1) name_lambda(model, d->u.dir.names[0]);
    return finish(p, d, &model, 1);
}

struct ast *parse_directive(struct parser *p) {
    enum tok_word w = tok(p)->word;
    struct span at = tok_span(p, tok(p));
    const char *name = lex_word_text(w);
    if (!allowed_here(p, at, name)) return NULL;
    struct ast *d = node(p, AST_DIRECTIVE, at.start);
    d->u.dir.kind = directive_of(w);
    advance(p);
    if (w == WORD_ASSUME) return parse_assume(p, d);
    if (w == WORD_INFER) {
        struct ast *e = parse_expr(p);
        return e ? finish(p, d, &e, 1) : NULL;
    }
    if (tok(p)->kind == TOK_LPAREN) return parse_paren_form(p, d, name);
    return parse_observed(p, d, parse_model(p));
}

/* ---- quoting ---- */

static bool take_open(struct parser *p, struct span *open) {
    advance(p); /* the name */
    *open = tok_span(p, tok(p));
    advance(p);
    return true;
}

static struct ast *one_argument(struct parser *p, const char *name, struct span *open) {
    if (tok(p)->kind == TOK_RPAREN) {
        (void)perr(p, DIAG_BAD_QUOTE, span_from(p, open->start), "`%s` needs an expression", name);
        return NULL;
    }
    struct ast *e = parse_expr(p);
    if (!e) return NULL;
    if (tok(p)->kind == TOK_COMMA) {
        (void)perr(p, DIAG_BAD_QUOTE, tok_span(p, tok(p)), "`%s` takes one expression", name);
        return NULL;
    }
    return close_bracket(p, TOK_RPAREN, *open, "`)`") ? e : NULL;
}

/* The value of `e`, an inference expression, in the model or quotation around. */
static struct ast *make_unquote(struct parser *p, struct model_ctx *m, uint32_t start,
                                struct ast *e, bool constant) {
    if (!e) return NULL;
    struct ast *a = node1(p, AST_UNQUOTE, start, e);
    if (!a) return NULL;
    a->u.unquote.slot = (uint32_t)m->splices.n;
    a->u.unquote.constant = constant;
    vec_push(&m->splices, a);
    return a;
}

static bool outside_model(struct parser *p, struct span at, const char *name) {
    if (p->model) return false;
    if (perr(p, DIAG_BAD_QUOTE, at, "`%s` outside a model expression", name))
        diag_set_help(p->diags, "it splices a value of the inference program into assume, observe, "
                                "predict, sample or [| ... |]; here write the value itself");
    return true;
}

static struct ast *special_unquote(struct parser *p, const char *name) {
    uint32_t start = tok(p)->start;
    struct model_ctx *m = p->model;
    struct span open;
    if (outside_model(p, tok_span(p, tok(p)), name)) return NULL;
    take_open(p, &open);
    p->model = m->parent;
    struct ast *e = one_argument(p, name, &open);
    p->model = m;
    return make_unquote(p, m, start, e, false);
}

/* "$" primary, which is quote(unquote(primary)) */
struct ast *parse_dollar(struct parser *p) {
    uint32_t start = tok(p)->start;
    struct model_ctx *m = p->model;
    if (outside_model(p, tok_span(p, tok(p)), "$")) return NULL;
    advance(p);
    p->model = m->parent;
    struct ast *e = parse_primary(p);
    p->model = m;
    return make_unquote(p, m, start, e, true);
}

static struct ast *quote_node(struct parser *p, uint32_t start, struct ast *e) {
    if (e->kind != AST_UNQUOTE) return node1(p, AST_QUOTE, start, e);
    e->u.unquote.constant = true;
    return e;
}

static struct ast *special_quote(struct parser *p, const char *name) {
    uint32_t start = tok(p)->start;
    struct span open;
    take_open(p, &open);
    struct ast *e = one_argument(p, name, &open);
    return e ? quote_node(p, start, e) : NULL;
}

static bool nested_quasi(struct parser *p) {
    if (!p->model || !p->model->quasi) return false;
    (void)perr(p, DIAG_BAD_QUOTE, tok_span(p, tok(p)), "a quasiquotation inside another one");
    return true;
}

static struct ast *special_quasiquote(struct parser *p, const char *name) {
    uint32_t start = tok(p)->start;
    struct span open;
    struct model_ctx m;
    if (nested_quasi(p)) return NULL;
    if (p->model) return special_quote(p, name); /* its splices are those of the model expression */
    take_open(p, &open);
    model_open(p, &m, true);
    struct ast *a = model_close(p, &m, one_argument(p, name, &open));
    if (a) a->span = span_from(p, start);
    return a;
}

/* "[|" body "|]" */
struct ast *parse_quasi(struct parser *p) {
    struct span open = tok_span(p, tok(p));
    struct model_ctx m;
    if (nested_quasi(p)) return NULL;
    advance(p);
    if (p->model) {
        struct ast *e = parse_body(p, TOK_QUASI_CLOSE, open);
        return e ? quote_node(p, open.start, e) : NULL;
    }
    model_open(p, &m, true);
    struct ast *a = model_close(p, &m, parse_body(p, TOK_QUASI_CLOSE, open));
    if (a) a->span = span_from(p, open.start);
    return a;
}

/* ---- do, begin ---- */

/* do(a, x <- b, ...): a block of actions written as a call */
static struct ast *special_do(struct parser *p, const char *name) {
    struct span at = tok_span(p, tok(p)), open;
    size_t base = p->stmts.n;
    if (!allowed_here(p, at, name)) return NULL;
    take_open(p, &open);
    while (tok(p)->kind != TOK_RPAREN) {
        if (!parse_statement(p, PLACE_DO)) return NULL;
        if (!accept(p, TOK_COMMA)) break;
    }
    if (!close_bracket(p, TOK_RPAREN, open, "`,` or `)`")) return NULL;
    if (p->stmts.n == base) return name_node(p, at, "pass", false);
    return make_block(p, base, false, true, at.start);
}

/* ---- and, or ---- */

/* and(a, b, ...) is lazy like a && b */
static struct ast *special_and_or(struct parser *p, const char *name) {
    uint32_t start = tok(p)->start;
    bool and = name[0] == 'a';
    struct span open;
    size_t base = p->items.n;
    take_open(p, &open);
    if (!parse_args(p, TOK_RPAREN, open, true)) return NULL;
    struct ast *a = NULL;
    for (size_t i = p->items.n; i-- > base;) {
        struct ast *e = p->items.at[i].e;
        if (!e) {
            (void)perr(p, DIAG_BAD_RANGE, p->items.at[i].at, "`...` makes no range in `%s`", name);
            return NULL;
        }
        if (a) {
            struct ast *b = node(p, AST_BOOL, start), *kids[] = {e, and? a : b, and? b : a};
            b->u.boolean = !and;
            struct ast *c = node(p, AST_IF, start);
            if (!set_kids(p, c, kids, 3)) return NULL;
            a = c;
        } else {
            a = e;
        }
    }
    if (!a) {
        a = node(p, AST_BOOL, start);
        a->u.boolean = and;
    }
    p->items.n = base;
    return a;
}

/* ---- tag, tag_exclude ---- */

static const char tag_forms[] =
    "its forms are tag(scope=\"s\", e), tag(scope=\"s\", block=b, e) and tag(\"s\", block, e)";

/* Sorts the arguments: keywords by name, the rest in order into what is still free. */
static bool tag_arguments(struct parser *p, size_t base, struct span at, struct ast **out) {
    static const char *const known[] = {"scope", "block"};
    bool scope_by_name = false;
    struct ast *rest[3];
    size_t n = 0;
    for (size_t i = base; i < p->items.n; i++) {
        const struct item *it = &p->items.at[i];
        const char *kw = it->kw && it->kw_real ? it->kw->text : NULL;
        if (kw && strcmp(kw, "scope") == 0) {
            out[0] = it->e;
            scope_by_name = true;
        } else if (kw && strcmp(kw, "block") == 0) {
            out[1] = it->e;
        } else if (kw) {
            const char *near = suggest_nearest(kw, known, 2);
            if (perr(p, DIAG_UNKNOWN_KEYWORD, it->at, "`tag` has no keyword argument `%s`", kw)) {
                if (near)
                    diag_set_help(p->diags, "did you mean `%s`?", near);
                else
                    diag_set_help(p->diags, "%s", tag_forms);
            }
            return false;
        } else if (n < 3 && it->e) {
            rest[n++] = it->e;
        } else {
            n = 4;
            break;
        }
    }
    size_t k = 0, want = (size_t)!out[0] + 1 + (size_t)(!out[1] && n == (size_t)!out[0] + 2);
    if (n != want || (!scope_by_name && !out[1] && n != 3)) {
        if (perr(p, DIAG_ARITY, at, "wrong number of arguments for `tag`"))
            diag_set_help(p->diags, "%s", tag_forms);
        return false;
    }
    if (!out[0]) out[0] = rest[k++];
    if (!out[1] && k + 1 < n) out[1] = rest[k++];
    out[2] = rest[k];
    return true;
}

static struct ast *special_tag(struct parser *p, const char *name) {
    uint32_t start = tok(p)->start;
    struct span open;
    struct ast *kids[3] = {NULL, NULL, NULL};
    size_t base = p->items.n;
    take_open(p, &open);
    if (!parse_args(p, TOK_RPAREN, open, true)) return NULL;
    if (!tag_arguments(p, base, span_from(p, start), kids)) return NULL;
    p->items.n = base;
    struct ast *a = node(p, AST_TAG, start);
    return set_kids(p, a, kids, 3) ? a : NULL;
}

static struct ast *special_tag_exclude(struct parser *p, const char *name) {
    uint32_t start = tok(p)->start;
    struct span open;
    size_t base = p->items.n;
    take_open(p, &open);
    if (!parse_args(p, TOK_RPAREN, open, true)) return NULL;
    if (p->items.n - base != 2 || !p->items.at[base].e || !p->items.at[base + 1].e) {
        if (perr(p, DIAG_ARITY, span_from(p, start), "wrong number of arguments for `%s`", name))
            diag_set_help(p->diags, "its form is tag_exclude(scope, e)");
        return NULL;
    }
    struct ast *kids[] = {p->items.at[base].e, p->items.at[base + 1].e};
    p->items.n = base;
    struct ast *a = node(p, AST_TAG_OUT, start);
    return set_kids(p, a, kids, 2) ? a : NULL;
}

/* ---- sequences and ranges ---- */

/* array(a, ..., b) is _range(position of the ellipsis, a, b); list and vector convert it. */
struct ast *make_sequence(struct parser *p, size_t base, uint32_t start, struct span op,
                          const char *fn, bool builtin) {
    size_t n = p->items.n - base, dots = n;
    struct ast **kids = ARENA_ARRAY(p->arena, struct ast *, n + 1);
    for (size_t i = 0, k = 1; i < n; i++) {
        const struct item *it = &p->items.at[base + i];
        if (it->e) {
            kids[k++] = it->e;
            continue;
        }
        if (dots < n || i == 0 || i + 1 == n) {
            if (perr(p, DIAG_BAD_RANGE, it->at,
                     dots < n ? "a second `...` in one list"
                              : "`...` needs an item before and after it"))
                diag_set_help(p->diags, "for example [-20, ..., 20] or [0, 0.5, ..., 10]");
            return NULL;
        }
        dots = i;
    }
    if (dots == n) {
        kids[0] = name_node(p, op, fn, builtin);
        struct ast *a = node(p, AST_CALL, start);
        return set_kids(p, a, kids, n + 1) ? a : NULL;
    }
    kids[0] = number_node(p, op, (double)dots);
    struct ast *r = call_builtin(p, start, op, "_range", kids, n);
    if (!r || strcmp(fn, "array") == 0) return r;
    return call_builtin(p, start, op, strcmp(fn, "list") == 0 ? "to_list" : "to_vector", &r, 1);
}

/* array(...), list(...), vector(...): special only when they hold an ellipsis */
static struct ast *special_sequence(struct parser *p, const char *name) {
    struct span at = tok_span(p, tok(p)), open;
    size_t base = p->items.n;
    bool keyword = false;
    struct ast *a = NULL;
    take_open(p, &open);
    if (parse_args(p, TOK_RPAREN, open, true)) {
        for (size_t i = base; i < p->items.n; i++) {
            const struct item *it = &p->items.at[i];
            if (!it->kw || !it->kw_real) continue;
            keyword = true;
            (void)perr(p, DIAG_UNKNOWN_KEYWORD, it->at, "`%s` has no keyword argument `%s`", name,
                       it->kw->text);
        }
        if (!keyword) a = make_sequence(p, base, at.start, at, name, false);
    }
    p->items.n = base;
    return a;
}

/* ---- other call forms of directives ---- */

static struct ast *call_directive(struct parser *p, enum directive kind, const char *name) {
    struct ast *d = node(p, AST_DIRECTIVE, tok(p)->start);
    struct span open;
    if (!allowed_here(p, tok_span(p, tok(p)), name)) return NULL;
    d->u.dir.kind = kind;
    take_open(p, &open);
    if (tok(p)->kind == TOK_RPAREN) {
        (void)perr(p, DIAG_ARITY, span_from(p, d->span.start), "`%s` needs an expression", name);
        return NULL;
    }
    struct ast *model = parse_model(p);
    if (!model) return NULL;
    if (kind == DIR_PREDICT_ALL && accept(p, TOK_COMMA) && !parse_label_arg(p, d)) return NULL;
    if (!close_bracket(p, TOK_RPAREN, open, "`)`")) return NULL;
    return finish(p, d, &model, 1);
}

static struct ast *special_sample_all(struct parser *p, const char *name) {
    return call_directive(p, DIR_SAMPLE_ALL, name);
}
static struct ast *special_predict_all(struct parser *p, const char *name) {
    return call_directive(p, DIR_PREDICT_ALL, name);
}
static struct ast *special_extract_stats(struct parser *p, const char *name) {
    return call_directive(p, DIR_EXTRACT_STATS, name);
}

/* e | labelled(e, name) */
static bool parse_column(struct parser *p) {
    struct item it = {0};
    if (tok(p)->kind != TOK_NAME || peek(p, 1)->kind != TOK_LPAREN ||
        strcmp(tok_sym(p, tok(p))->text, "labelled") != 0) {
        it.e = parse_model(p);
    } else {
        struct span open;
        struct ast label = {0};
        take_open(p, &open);
        it.e = parse_model(p);
        if (!it.e) return false;
        if (!accept(p, TOK_COMMA)) {
            (void)perr_found(p, "`,` and the name of the column");
            return false;
        }
        if (!parse_label_arg(p, &label) || !close_bracket(p, TOK_RPAREN, open, "`)`")) return false;
        it.kw = label.u.dir.label;
        if (!it.kw) {
            (void)perr(p, DIAG_BAD_BINDER, span_from(p, open.start),
                       "a column's name is a name or a string");
            return false;
        }
    }
    if (it.e) vec_push(&p->items, it);
    return it.e != NULL;
}

/* collect(e1, labelled(e2, name), ...) */
static struct ast *special_collect(struct parser *p, const char *name) {
    struct ast *d = node(p, AST_DIRECTIVE, tok(p)->start);
    struct span open;
    size_t base = p->items.n;
    if (!allowed_here(p, tok_span(p, tok(p)), name)) return NULL;
    take_open(p, &open);
    d->u.dir.kind = DIR_COLLECT;
    while (tok(p)->kind != TOK_RPAREN) {
        if (!parse_column(p)) return NULL;
        if (!accept(p, TOK_COMMA)) break;
    }
    if (!close_bracket(p, TOK_RPAREN, open, "`,` or `)`")) return NULL;
    size_t n = p->items.n - base;
    struct ast **kids = ARENA_ARRAY(p->arena, struct ast *, n ? n : 1);
    d->u.dir.names = ARENA_ARRAY(p->arena, struct sym *, n ? n : 1);
    d->u.dir.n_names = (uint32_t)n;
    for (size_t i = 0; i < n; i++) {
        kids[i] = p->items.at[base + i].e;
        d->u.dir.names[i] = p->items.at[base + i].kw;
    }
    p->items.n = base;
    return finish(p, d, kids, n);
}

/* call_back(name, e1, e2, ...): the name is a name, a string or an expression */
static struct ast *special_call_back(struct parser *p, const char *name) {
    struct ast *d = node(p, AST_DIRECTIVE, tok(p)->start);
    struct span open;
    if (!allowed_here(p, tok_span(p, tok(p)), name)) return NULL;
    take_open(p, &open);
    d->u.dir.kind = DIR_CALL_BACK;
    if (tok(p)->kind == TOK_NAME && peek(p, 1)->kind == TOK_COMMA) {
        d->u.dir.label = tok_sym(p, tok(p));
        advance(p);
    } else if (!parse_label_arg(p, d)) {
        return NULL;
    }
    size_t base = p->stmts.n;
    while (accept(p, TOK_COMMA)) {
        struct ast *e = parse_model(p);
        if (!e) return NULL;
        vec_push(&p->stmts, e);
    }
    if (!close_bracket(p, TOK_RPAREN, open, "`,` or `)`")) return NULL;
    size_t n = p->stmts.n - base;
    struct ast **kids = ARENA_ARRAY(p->arena, struct ast *, n ? n : 1);
    for (size_t i = 0; i < n; i++) kids[i] = p->stmts.at[base + i];
    p->stmts.n = base;
    return finish(p, d, kids, n);
}

/* ---- prob ---- */

/* A unit in which the name prob stands anywhere but before `(` has a prob of its own: prob(x) is
 * then an ordinary call. */
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

/* The query, as it is written: `LIN & (WN | LIN*WN)` is no expression of the language. Ends before
 * the comma or parenthesis that stands in no other one. */
static struct ast *query_text(struct parser *p) {
    struct lexer lx = p->lx;
    uint32_t start = lx.pos = tok(p)->end;
    struct token t;
    for (int depth = 0;; depth += (t.kind == TOK_LPAREN) - (t.kind == TOK_RPAREN)) {
        t = lex_next(&lx);
        bool ends = t.kind == TOK_COMMA || t.kind == TOK_RPAREN;
        if ((depth == 0 && ends) || t.kind == TOK_SEMI || t.kind == TOK_EOF) break;
    }
    uint32_t end = t.start;
    while (start < end && strchr(" \t\r\n\f", lx.text[start])) start++;
    while (end > start && strchr(" \t\r\n\f", lx.text[end - 1])) end--;
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

/* prob(QUERY[, draws]): the query is text, quoted or not; prob($q, ...) takes it from a variable */
static struct ast *special_prob(struct parser *p, const char *name) {
    struct span at = tok_span(p, tok(p)), open;
    struct ast *args[2] = {NULL, NULL};
    if (!allowed_here(p, at, name)) return NULL;
    enum tok_kind first = peek(p, 2)->kind;
    if (first == TOK_STRING || first == TOK_DOLLAR || first == TOK_RPAREN) {
        take_open(p, &open);
        (void)accept(p, TOK_DOLLAR);
        args[0] = parse_expr(p);
    } else {
        advance(p);
        open = tok_span(p, tok(p));
        args[0] = query_text(p);
    }
    if (!args[0]) return NULL;
    if (accept(p, TOK_COMMA) && !(args[1] = parse_expr(p))) return NULL;
    if (!close_bracket(p, TOK_RPAREN, open, "`,` or `)`")) return NULL;
    return call_builtin(p, at.start, at, "prob", args, args[1] ? 2 : 1);
}

static const struct {
    const char *name;
    struct ast *(*parse)(struct parser *p, const char *name);
} specials[] = {
    {"and", special_and_or},
    {"array", special_sequence},
    {"begin", special_do},
    {"call_back", special_call_back},
    {"collect", special_collect},
    {"do", special_do},
    {"extract_stats", special_extract_stats},
    {"list", special_sequence},
    {"or", special_and_or},
    {"predict_all", special_predict_all},
    {"prob", special_prob},
    {"quasiquote", special_quasiquote},
    {"quote", special_quote},
    {"sample_all", special_sample_all},
    {"tag", special_tag},
    {"tag_exclude", special_tag_exclude},
    {"unquote", special_unquote},
    {"vector", special_sequence},
};

struct ast *parse_special(struct parser *p, bool *special) {
    const struct token *t = tok(p);
    const char *s = p->lx.text + t->start;
    size_t len = t->end - t->start;
    for (size_t i = 0; i < COUNT_OF(specials); i++) {
        const char *name = specials[i].name;
        if (strncmp(name, s, len) != 0 || name[len] != '\0') continue;
        if (specials[i].parse == special_extract_stats && p->model) break;
        if (specials[i].parse == special_prob && own_prob(p)) break;
        *special = true;
        size_t items = p->items.n, stmts = p->stmts.n;
        struct ast *a = specials[i].parse(p, name);
        p->items.n = items;
        p->stmts.n = stmts;
        return a;
    }
    return NULL;
}

/* ---- selector paths ---- */

/* step = "?" NAME ["==" applicative] | "*" | primary */
static struct ast *parse_step_of_path(struct parser *p) {
    struct span at = tok_span(p, tok(p));
    if (accept(p, TOK_STAR)) return call_builtin(p, at.start, at, "by_star", NULL, 0);
    if (!accept(p, TOK_QUERY)) return parse_primary(p);
    struct span name_at = tok_span(p, tok(p));
    struct sym *s = take_name(p, "the name of a tag after `?`");
    if (!s) return NULL;
    struct ast *args[2] = {
        node1(p, AST_QUOTE, name_at.start, name_node(p, name_at, s->text, false)), NULL};
    if (!accept(p, TOK_EQ)) return call_builtin(p, at.start, name_at, "by_tag", args, 1);
    args[1] = parse_applicative(p);
    return args[1] ? call_builtin(p, at.start, name_at, "by_tag_value", args, 2) : NULL;
}

/* path = "/" step { "/" step }: by_walk(by_walk(by_top(), step), step) */
struct ast *parse_path(struct parser *p) {
    struct span at = tok_span(p, tok(p));
    struct ast *e = call_builtin(p, at.start, at, "by_top", NULL, 0);
    while (e && tok(p)->kind == TOK_SLASH) {
        struct span op = tok_span(p, tok(p));
        advance(p);
        struct ast *args[] = {e, parse_step_of_path(p)};
        e = args[1] ? call_builtin(p, at.start, op, "by_walk", args, 2) : NULL;
    }
    return e;
}
