/* SPDX-License-Identifier: Apache-2.0
 *
 * Statements, blocks and recovery. A statement that fails is skipped up to the next `;`, closing
 * brace or line that starts an instruction, and the rest of the text is parsed as if it were fine.
 */
#include "lang/parse.h"
#include <string.h>

/* A line that starts an instruction: where a statement that went wrong ends. */
bool instruction_ahead(struct parser *p) {
    const struct token *t = tok(p);
    if (t->kind != TOK_NAME || !t->newline) return false;
    if (t->word == WORD_DEFINE) return peek(p, 1)->kind == TOK_NAME;
    if (t->word == WORD_LOAD) return peek(p, 1)->kind == TOK_STRING;
    return t->word >= WORD_ASSUME && t->word <= WORD_INFER && directive_ahead(p);
}

static bool push_ok(struct parser *p, struct ast *e) {
    if (!e) return false;
    vec_push(&p->stmts, e);
    return true;
}

static struct ast *binding(struct parser *p, enum ast_kind kind, uint32_t start, size_t names,
                           struct ast *const *kids, size_t n) {
    struct ast *a = node(p, kind, start);
    a->u.bind.names = copy_names(p, names, &a->u.bind.n_names);
    if (!set_kids(p, a, kids, n)) return NULL;
    for (size_t i = 0; i < n && i < a->u.bind.n_names; i++)
        name_lambda(kids[i], a->u.bind.names[i]);
    return a;
}

/* (NAME | "(" names ")") ("=" expr | "<-" (expr | [label ":"] directive)), after `define`, `let` or
 * nothing */
static bool parse_binding(struct parser *p, enum ast_kind kind, uint32_t start) {
    size_t base = p->names.n;
    bool monadic = kind == AST_BIND, ok;
    struct ast *e = NULL;
    if (tok(p)->kind == TOK_LPAREN) {
        ok = parse_names(p, "a name to bind");
    } else {
        struct sym *s = take_name(p, "a name to bind");
        ok = s != NULL;
        if (ok) vec_push(&p->names, s);
    }
    if (ok && expect(p, monadic ? TOK_BIND : TOK_ASSIGN, "`=`"))
        e = monadic ? parse_labelled(p) : parse_expr(p);
    if (e) return push_ok(p, binding(p, kind, start, base, &e, 1));
    p->names.n = base;
    return false;
}

static bool and_binding_ahead(struct parser *p) {
    return tok(p)->kind == TOK_SEMI && peek(p, 1)->word == WORD_AND &&
           peek(p, 2)->kind == TOK_NAME && peek(p, 3)->kind == TOK_ASSIGN;
}

/* "letrec" NAME "=" expr { ";" "and" NAME "=" expr } */
static bool parse_letrec(struct parser *p, enum place place) {
    uint32_t start = tok(p)->start;
    size_t names = p->names.n, base = p->stmts.n;
    bool ok = true;
    advance(p);
    for (;;) {
        struct sym *s = take_name(p, "a name to bind");
        ok = s && expect(p, TOK_ASSIGN, "`=`") && push_ok(p, parse_expr(p));
        if (!ok) break;
        vec_push(&p->names, s);
        if (!and_binding_ahead(p)) break;
        advance(p);
        advance(p);
    }
    size_t n = p->stmts.n - base;
    struct ast **kids = ARENA_ARRAY(p->arena, struct ast *, n + 1);
    for (size_t i = 0; i < n; i++) kids[i] = p->stmts.at[base + i];
    p->stmts.n = base;
    if (!ok) {
        p->names.n = names;
        return false;
    }
    if (place != PLACE_TOP) return push_ok(p, binding(p, AST_LETREC, start, names, kids, n));
    /* globals are looked up when used, so at the top level they are plain definitions */
    struct sym **top = ARENA_ARRAY(p->arena, struct sym *, n);
    memcpy(top, p->names.at + names, n * sizeof *top);
    p->names.n = names;
    for (size_t i = 0; i < n && ok; i++) {
        vec_push(&p->names, top[i]);
        ok = push_ok(p, binding(p, AST_DEFINE, start, names, &kids[i], 1));
    }
    return ok;
}

bool labelled_ahead(struct parser *p) {
    const struct token *t = tok(p);
    if (t->kind != TOK_NAME || is_reserved(t->word) || peek(p, 1)->kind != TOK_COLON) return false;
    const struct token *d = peek(p, 2);
    return d->kind == TOK_NAME && d->word >= WORD_ASSUME && d->word <= WORD_INFER;
}

/* label ":" directive, the label being known */
static struct ast *parse_after_label(struct parser *p, struct sym *label, struct ast *label_expr,
                                     uint32_t start) {
    advance(p); /* : */
    if (!directive_ahead(p))
        return fail_found(p, "assume, observe, predict, sample, force or infer after the label");
    struct ast *d = parse_directive(p);
    if (!d) return NULL;
    d->u.dir.label = label;
    d->u.dir.label_expr = label_expr;
    d->span.start = start;
    return d;
}

struct ast *parse_labelled(struct parser *p) {
    uint32_t start = tok(p)->start;
    if (labelled_ahead(p)) {
        struct sym *label = tok_sym(p, tok(p));
        advance(p);
        return parse_after_label(p, label, NULL, start);
    }
    if (tok(p)->kind == TOK_DOLLAR && !p->model) {
        advance(p);
        struct ast *e = parse_primary(p);
        if (!e) return NULL;
        if (tok(p)->kind == TOK_COLON) return parse_after_label(p, NULL, e, start);
        return fail(p, DIAG_BAD_QUOTE, span_from(p, start),
                    "`$x` splices a value into assume, observe, predict, sample or [| ... |]; as a "
                    "label it is followed by `:`",
                    "`$` outside a model expression");
    }
    return parse_expr(p);
}

/* `<-` stands where actions are run one after the other. */
static bool bind_allowed(struct parser *p, enum place place) {
    if (place != PLACE_TOP && !p->model) return true;
    struct span at = {p->unit, tok(p)->start, peek(p, 1)->end};
    if (perr(p, DIAG_BAD_BINDER, at,
             "`<-` binds only inside a block or do(...) of the inference program"))
        diag_set_help(p->diags, "at the top level write define %s = run(...)",
                      tok_sym(p, tok(p))->text);
    return false;
}

static bool for_ahead(struct parser *p) {
    return tok(p)->word == WORD_FOR && peek(p, 1)->kind == TOK_LPAREN &&
           peek(p, 2)->kind == TOK_NAME && peek(p, 3)->kind == TOK_ASSIGN;
}

/* (NAME "++" | NAME "=" expr): the value of the variable in the next round */
static struct ast *parse_step(struct parser *p, struct sym *var) {
    struct span at = tok_span(p, tok(p));
    struct sym *s = take_name(p, "the loop variable");
    if (!s) return NULL;
    if (s != var)
        return fail(p, DIAG_BAD_BINDER, at, NULL, "the loop counts `%s`, but this steps `%s`",
                    var->text, s->text);
    if (accept(p, TOK_ASSIGN)) return parse_expr(p);
    struct span op = tok_span(p, tok(p));
    if (!expect(p, TOK_INC, "`++` or `=`")) return NULL;
    struct ast *args[] = {name_node(p, at, var->text, false), number_node(p, op, 1)};
    return call_builtin(p, at.start, op, "add", args, 2);
}

/* "for" "(" NAME "=" expr ";" expr ";" step ")" "{" statements "}" */
static struct ast *parse_for(struct parser *p) {
    uint32_t start = tok(p)->start;
    struct ast *kids[4];
    advance(p);
    struct span open = tok_span(p, tok(p));
    advance(p);
    struct sym *var = take_name(p, "the loop variable");
    if (!var || !expect(p, TOK_ASSIGN, "`=`")) return NULL;
    if (!(kids[0] = parse_expr(p)) || !expect(p, TOK_SEMI, "`;` after the start value"))
        return NULL;
    if (!(kids[1] = parse_expr(p)) || !expect(p, TOK_SEMI, "`;` after the condition")) return NULL;
    if (!(kids[2] = parse_step(p, var)) || !close_bracket(p, TOK_RPAREN, open, "`)`")) return NULL;
    struct span brace = tok_span(p, tok(p));
    if (!expect(p, TOK_LBRACE, "`{` and the body of the loop")) return NULL;
    size_t base = p->stmts.n;
    bool trailing = false;
    parse_statements(p, PLACE_FOR, TOK_RBRACE, brace, &trailing);
    kids[3] = close_bracket(p, TOK_RBRACE, brace, "`;` or `}`")
                  ? make(p, AST_BLOCK, brace.start, p->stmts.at + base, p->stmts.n - base)
                  : NULL;
    p->stmts.n = base;
    if (!kids[3]) return NULL;
    kids[3]->u.block.action = true;
    vec_push(&p->names, var);
    return binding(p, AST_FOR, start, p->names.n - 1, kids, 4);
}

/* "define" NAME "=" expr | "load" STRING, only at the top level or in a loop's body */
static bool parse_instruction(struct parser *p, enum place place) {
    uint32_t start = tok(p)->start;
    if (place != PLACE_TOP && place != PLACE_FOR) {
        if (perr(p, DIAG_BAD_BINDER, tok_span(p, tok(p)), "`%s` stands only at the top level",
                 lex_word_text(tok(p)->word)) &&
            tok(p)->word == WORD_DEFINE)
            diag_set_help(p->diags, "inside a block write let %s = ...",
                          tok_sym(p, peek(p, 1))->text);
        return false;
    }
    if (tok(p)->word == WORD_DEFINE) {
        advance(p);
        return parse_binding(p, AST_DEFINE, start);
    }
    advance(p);
    return push_ok(p, string_node(p, AST_LOAD, start));
}

bool parse_statement(struct parser *p, enum place place) {
    const struct token *t = tok(p);
    enum ast_kind let = place == PLACE_TOP ? AST_DEFINE : AST_LET;
    if (t->kind == TOK_NAME) {
        enum tok_kind next = peek(p, 1)->kind;
        if (t->word == WORD_DEFINE && next == TOK_NAME) return parse_instruction(p, place);
        if (t->word == WORD_LOAD && next == TOK_STRING) return parse_instruction(p, place);
        if (for_ahead(p)) return push_ok(p, parse_for(p));
        if (t->word == WORD_LET) {
            uint32_t start = t->start;
            advance(p);
            return parse_binding(p, let, start);
        }
        if (t->word == WORD_LETREC) return parse_letrec(p, place);
        if (next == TOK_ASSIGN) return parse_binding(p, let, t->start);
        if (next == TOK_BIND) return bind_allowed(p, place) && parse_binding(p, AST_BIND, t->start);
    }
    return push_ok(p, parse_labelled(p));
}

/* A statement that is one misspelt keyword: `asume x = 1`. */
static bool misspelt(struct parser *p, const struct ast *s) {
    static const char *const starts[] = {"assume", "observe", "predict", "sample", "force",
                                         "infer",  "define",  "load",    "let",    "letrec"};
    if (s->kind != AST_NAME || s->u.name.builtin || tok(p)->newline || !starts_expr(tok(p)))
        return false;
    const char *near = suggest_nearest(s->u.name.sym->text, starts, COUNT_OF(starts));
    if (!near) return false;
    if (perr(p, DIAG_UNEXPECTED_TOKEN, s->span, "`%s` starts no instruction", s->u.name.sym->text))
        diag_set_help(p->diags, "did you mean `%s`?", near);
    return true;
}

/* Two slips are understood wherever a statement ends, with a warning; the paper's listings have
 * both. One `)` too many before `;`, the closing brace or the end:
 *     assume (f_compute, f_emu) = gpmem(f, kse));
 * and no `;` before a statement that starts on a new line. What is ambiguous stays an error: a `)`
 * that a failed statement before may have opened, or one that more of an expression follows. */
static bool forgiven(struct parser *p, enum tok_kind closer) {
    if (tok(p)->kind == TOK_RPAREN && p->lost == 0) {
        enum tok_kind next = peek(p, 1)->kind;
        if (next != TOK_SEMI && next != closer && next != TOK_EOF) return false;
        diag_warn(p->diags, DIAG_UNOPENED, tok_span(p, tok(p)),
                  "this `)` closes nothing and is ignored");
        advance(p);
        (void)accept(p, TOK_SEMI);
        return true;
    }
    if (!tok(p)->newline || !starts_expr(tok(p))) return false;
    struct span gap = {p->unit, p->prev_end, p->prev_end};
    diag_warn(p->diags, DIAG_MISSING_SEPARATOR, gap, "a `;` is missing here");
    diag_add_label(p->diags, tok_span(p, tok(p)), "the next statement starts here, on line %u",
                   line_of(p, tok(p)));
    return true;
}

static bool is_closer(enum tok_kind k) {
    return k == TOK_RPAREN || k == TOK_RBRACKET || k == TOK_RBRACE || k == TOK_QUASI_CLOSE;
}

/* The token after a complete statement, or at its start, cannot stand there. */
static void unexpected(struct parser *p, enum tok_kind closer, struct span open) {
    enum tok_kind k = tok(p)->kind;
    struct span at = tok_span(p, tok(p));
    if ((k == TOK_RPAREN || k == TOK_RBRACKET) && p->lost > 0) {
        p->lost--;
        p->panic = true;
    } else if (is_closer(k)) {
        if (perr(p, DIAG_UNOPENED, at, "this %s closes nothing", lex_kind_text(k)) &&
            closer != TOK_EOF)
            diag_add_label(p->diags, open, "the innermost open bracket is here");
    } else if (k == TOK_ASSIGN) {
        fail(p, DIAG_BAD_BINDER, at, "equality is written ==; data are given by observe e = v",
             "only a name can stand before `=`");
    } else if (k == TOK_ELLIPSIS) {
        (void)perr(p, DIAG_BAD_RANGE, at, "`...` stands only between items of a list");
    } else {
        bool stored = perr_found(p, closer == TOK_RPAREN   ? "`;`, `)` or an operator"
                                    : closer == TOK_RBRACE ? "`;`, `}` or an operator"
                                                           : "`;` or an operator");
        if (stored) hint(p, p->stmts.n ? vec_last(&p->stmts) : NULL);
    }
}

/* What stands after a statement; true when the next one can be parsed. */
static bool end_statement(struct parser *p, enum tok_kind closer, struct span open) {
    const struct ast *s = vec_last(&p->stmts);
    enum tok_kind k = tok(p)->kind;
    if (accept(p, TOK_SEMI)) return true;
    if (k == closer || k == TOK_EOF || s->kind == AST_FOR) return true;
    if (misspelt(p, s)) return false;
    if (forgiven(p, closer)) return true;
    unexpected(p, closer, open);
    return false;
}

/* Skips the rest of a statement that failed: past `;`, or up to a closing brace or a line that
 * starts an instruction. Brackets opened on the way are skipped as a whole. */
static void recover(struct parser *p) {
    unsigned depth = 0;
    while (tok(p)->kind != TOK_EOF) {
        enum tok_kind k = tok(p)->kind;
        bool opens = k == TOK_LPAREN || k == TOK_LBRACKET || k == TOK_LBRACE;
        bool closes = k == TOK_RPAREN || k == TOK_RBRACKET || k == TOK_RBRACE;
        if (depth == 0 && (k == TOK_SEMI || k == TOK_RBRACE || instruction_ahead(p))) break;
        if (opens) depth++;
        if (closes && depth > 0) depth--;
        advance(p);
    }
    p->panic = false;
    (void)accept(p, TOK_SEMI);
}

/* A line that starts an instruction where none can stand: some brace before it is still open. */
static bool brace_forgotten(struct parser *p, enum place place, enum tok_kind closer) {
    const struct token *t = tok(p);
    bool first_column = t->start > 0 && p->lx.text[t->start - 1] == '\n';
    if (place != PLACE_BLOCK || closer != TOK_RBRACE || !first_column || !instruction_ahead(p))
        return false;
    return t->word == WORD_DEFINE || t->word == WORD_LOAD || (p->model && !p->model->quasi);
}

void parse_statements(struct parser *p, enum place place, enum tok_kind closer, struct span open,
                      bool *trailing) {
    *trailing = false;
    while (tok(p)->kind != closer && tok(p)->kind != TOK_EOF) {
        if (p->incomplete || diags_errors(p->diags) >= p->diags->max) return; /* enough of it */
        if (accept(p, TOK_SEMI)) {
            *trailing = true;
            continue;
        }
        if (brace_forgotten(p, place, closer)) {
            (void)unclosed(p, open);
            return;
        }
        size_t base = p->stmts.n, names = p->names.n;
        struct model_ctx *model = p->model;
        unsigned depth = p->depth;
        int parens = p->parens;
        uint32_t before = tok(p)->start;
        bool ok = !is_closer(tok(p)->kind);
        if (ok)
            ok = parse_statement(p, place);
        else
            unexpected(p, closer, open);
        uint32_t end = p->prev_end;
        if (ok && end_statement(p, closer, open) && !p->panic) {
            *trailing = p->prev_end != end && p->lx.text[p->prev_end - 1] == ';';
            continue;
        }
        if (!ok) p->stmts.n = base, p->names.n = names;
        p->model = model;
        p->depth = depth;
        if (closer == TOK_RPAREN || closer == TOK_QUASI_CLOSE)
            return; /* the bracket's owner explains */
        if (p->parens_at_error > parens) p->lost = p->parens_at_error - parens;
        recover(p);
        p->parens = parens;
        /* a brace that closes nothing at the top level must not stop us */
        if (tok(p)->start == before || (closer == TOK_EOF && tok(p)->kind == TOK_RBRACE)) {
            if (tok(p)->kind != closer) advance(p);
        }
    }
}

static bool is_let(const struct ast *s) {
    return s->kind == AST_LET || s->kind == AST_LETREC;
}

/* Inference statements have no meaning in a model. */
static bool action_in_model(struct parser *p, const struct ast *s) {
    if (!p->model || p->model->quasi) return false;
    fail(p, DIAG_ACTION_IN_MODEL, s->span,
         "in a model, a block is `x = e;` lines and then its value, without `;` after it",
         "a statement inside a model expression");
    return true;
}

struct ast *make_block(struct parser *p, size_t base, bool trailing, bool action, uint32_t start) {
    size_t n = p->stmts.n - base;
    if (n > 0 && trailing) {
        struct span at = {p->unit, p->prev_end, p->prev_end};
        struct ast *pass = name_node(p, at, "pass", false);
        vec_push(&p->stmts, pass);
        n++;
    }
    struct ast *only = n == 1 ? p->stmts.at[base] : NULL;
    if (only && !action && !is_let(only) && only->kind != AST_BIND) {
        p->stmts.n = base;
        return only;
    }
    struct ast **kids = ARENA_ARRAY(p->arena, struct ast *, n ? n : 1);
    struct ast *a = node(p, AST_BLOCK, start), *bad = NULL;
    for (size_t i = 0; i < n; i++) {
        kids[i] = p->stmts.at[base + i];
        if (i + 1 < n && !is_let(kids[i])) {
            action = true;
            if (!bad) bad = kids[i];
        }
    }
    p->stmts.n = base;
    a->u.block.action = action;
    struct ast *end = n ? kids[n - 1] : NULL;
    if (end && (is_let(end) || end->kind == AST_BIND))
        return fail(p, DIAG_BAD_BINDER, end->span, "end it with the expression that is its value",
                    "a block ends in a binding, so it has no value");
    if (action && n && action_in_model(p, bad ? bad : kids[0])) return NULL;
    return set_kids(p, a, kids, n) ? a : NULL;
}

/* body = { statement ";" } [statement], up to `closer` (taken here) */
struct ast *parse_body(struct parser *p, enum tok_kind closer, struct span open) {
    size_t base = p->stmts.n;
    bool trailing, failed = p->failed;
    struct ast *b = NULL;
    if (!enter(p)) return NULL;
    p->failed = false;
    parse_statements(p, PLACE_BLOCK, closer, open, &trailing);
    leave(p);
    bool bad = p->failed;
    p->failed |= failed;
    if (!close_bracket(p, closer, open, closer == TOK_RPAREN ? "`;` or `)`" : "`;` or `}`")) {
        p->stmts.n = base;
        return NULL;
    }
    if (bad) { /* reported inside; something must stand for the block */
        p->stmts.n = base;
        return name_node(p, open, "pass", false);
    }
    if (p->stmts.n == base)
        return fail(p, DIAG_UNEXPECTED_TOKEN, span_from(p, open.start),
                    "write the value between the braces; { pass } does nothing",
                    "an empty block has no value");
    b = make_block(p, base, trailing, false, open.start);
    p->stmts.n = base;
    return b;
}

/* block = "{" body "}" */
struct ast *parse_block(struct parser *p, const char *of) {
    struct span open = tok_span(p, tok(p));
    if (tok(p)->kind != TOK_LBRACE) {
        struct buf b = BUF_INIT;
        buf_printf(&b, "`{` and %s", of);
        if (perr_found(p, b.data)) hint(p, NULL);
        buf_release(&b);
        return NULL;
    }
    advance(p);
    return parse_body(p, TOK_RBRACE, open);
}
