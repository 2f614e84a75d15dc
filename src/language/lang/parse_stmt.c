/* SPDX-License-Identifier: Apache-2.0
 *
 * Statements, blocks and recovery. A failed statement is skipped up to the next `;`, closing brace
 * or line that starts an instruction. The rest of the text is parsed normally. */
#include "language/lang/parse.h"

/* Does the current line start an instruction? There a failed statement ends. */
bool instruction_ahead(struct parser *p) {
    const struct token *t = tok(p);
    if (t->kind != TOK_NAME || !t->newline) return false;
    if (t->word == WORD_DEFINE) return peek(p, 1)->kind == TOK_NAME;
    if (t->word == WORD_LOAD) return peek(p, 1)->kind == TOK_STRING;
    return t->word >= WORD_ASSUME && t->word <= WORD_INFER && directive_ahead(p);
}

static struct ast *binding(struct parser *p, enum ast_kind kind, uint32_t start, size_t names,
                           struct ast *const *kids, size_t n) {
    struct ast *a = node(p, kind, start);
    a->u.bind.names = copy_names(p, names, &a->u.bind.n_names);
    set_kids(p, a, kids, n);
    for (size_t i = 0; i < n && i < a->u.bind.n_names; i++)
        name_lambda(kids[i], a->u.bind.names[i]);
    return a;
}

/* (NAME | "(" names ")") ("=" expr | "<-" (expr | [label ":"] directive)), after `define`, `let` or
 * nothing */
static struct ast *parse_binding(struct parser *p, enum ast_kind kind, uint32_t start) {
    size_t base = p->names.n;
    bool monadic = kind == AST_BIND;
    parse_names(p, "a name to bind");
    expect(p, monadic ? TOK_BIND : TOK_ASSIGN, "`=`");
    struct ast *e = monadic ? parse_labelled(p) : parse_expr(p);
    return binding(p, kind, start, base, &e, 1);
}

static bool and_binding_ahead(struct parser *p) {
    return tok(p)->kind == TOK_SEMI && peek(p, 1)->word == WORD_AND &&
           peek(p, 2)->kind == TOK_NAME && peek(p, 3)->kind == TOK_ASSIGN;
}

/* "letrec" NAME "=" expr { ";" "and" NAME "=" expr } */
static void parse_letrec(struct parser *p, enum place place) {
    uint32_t start = take(p).start;
    size_t names = p->names.n, base = p->stmts.n;
    for (;;) {
        vec_push(&p->names, take_name(p, "a name to bind"));
        expect(p, TOK_ASSIGN, "`=`");
        struct ast *e = parse_expr(p);
        /* globals are looked up when used, so at the top level they are plain definitions */
        if (place == PLACE_TOP) e = binding(p, AST_DEFINE, start, names, &e, 1);
        vec_push(&p->stmts, e);
        if (!and_binding_ahead(p)) break;
        advance(p);
        advance(p);
    }
    if (place == PLACE_TOP) return;
    struct ast *all = binding(p, AST_LETREC, start, names, p->stmts.at + base, p->stmts.n - base);
    p->stmts.n = base;
    vec_push(&p->stmts, all);
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
        fail_found(p, "assume, observe, predict, sample, force or infer after the label");
    struct ast *d = parse_directive(p);
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
    if (tok(p)->kind == TOK_DOLLAR && p->within == PROGRAM) {
        advance(p);
        struct ast *e = parse_primary(p);
        if (tok(p)->kind == TOK_COLON) return parse_after_label(p, NULL, e, start);
        fail(p, DIAG_BAD_QUOTE, span_from(p, start),
             "`$x` splices a value into assume, observe, predict, sample or [| ... |]; as a "
             "label it is followed by `:`",
             "`$` outside a model expression");
    }
    return parse_expr(p);
}

/* `<-` is only allowed where actions run one after another. */
static void check_bind(struct parser *p, enum place place) {
    if (place != PLACE_TOP && p->within == PROGRAM) return;
    struct span at = {p->unit, tok(p)->start, peek(p, 1)->end};
    if (perr(p, DIAG_BAD_BINDER, at, NULL,
             "`<-` binds only inside a block or do(...) of the inference program"))
        diag_set_help(p->diags, "at the top level write define %s = run(...)",
                      tok_sym(p, tok(p))->text);
    give_up(p);
}

static bool for_ahead(struct parser *p) {
    return tok(p)->word == WORD_FOR && peek(p, 1)->kind == TOK_LPAREN &&
           peek(p, 2)->kind == TOK_NAME && peek(p, 3)->kind == TOK_ASSIGN;
}

/* (NAME "++" | NAME "=" expr): the value of the variable in the next round */
static struct ast *parse_step(struct parser *p, struct sym *var) {
    struct span at = here(p);
    struct sym *s = take_name(p, "the loop variable");
    if (s != var)
        fail(p, DIAG_BAD_BINDER, at, NULL, "the loop counts `%s`, but this steps `%s`", var->text,
             s->text);
    if (accept(p, TOK_ASSIGN)) return parse_expr(p);
    struct span op = here(p);
    expect(p, TOK_INC, "`++` or `=`");
    struct ast *args[] = {name_node(p, at, var), number_node(p, op, 1)};
    return call_builtin(p, at.start, op, "add", args, 2);
}

/* "for" "(" NAME "=" expr ";" expr ";" step ")" "{" statements "}" */
static struct ast *parse_for(struct parser *p) {
    uint32_t start = take(p).start;
    struct ast *kids[4];
    struct span open = take(p);
    struct sym *var = take_name(p, "the loop variable");
    expect(p, TOK_ASSIGN, "`=`");
    kids[0] = parse_expr(p);
    expect(p, TOK_SEMI, "`;` after the start value");
    kids[1] = parse_expr(p);
    expect(p, TOK_SEMI, "`;` after the condition");
    kids[2] = parse_step(p, var);
    close_bracket(p, TOK_RPAREN, open, "`)`");
    struct span brace = here(p);
    expect(p, TOK_LBRACE, "`{` and the body of the loop");
    size_t base = p->stmts.n;
    bool trailing = false;
    parse_statements(p, PLACE_FOR, TOK_RBRACE, brace, &trailing);
    close_bracket(p, TOK_RBRACE, brace, "`;` or `}`");
    kids[3] = make(p, AST_BLOCK, brace.start, p->stmts.at + base, p->stmts.n - base);
    p->stmts.n = base;
    kids[3]->u.block.action = true;
    vec_push(&p->names, var);
    return binding(p, AST_FOR, start, p->names.n - 1, kids, 4);
}

/* "define" NAME "=" expr | "load" STRING, only at the top level or in a loop's body */
static struct ast *parse_instruction(struct parser *p, enum place place) {
    uint32_t start = tok(p)->start;
    bool define = tok(p)->word == WORD_DEFINE;
    if (place != PLACE_TOP && place != PLACE_FOR) {
        if (perr(p, DIAG_BAD_BINDER, here(p), NULL, "`%s` stands only at the top level",
                 lex_word_text(tok(p)->word)) &&
            define)
            diag_set_help(p->diags, "inside a block write let %s = ...",
                          tok_sym(p, peek(p, 1))->text);
        give_up(p);
    }
    advance(p);
    return define ? parse_binding(p, AST_DEFINE, start) : string_node(p, AST_LOAD, start);
}

static bool data_ahead(struct parser *p, enum place place) {
    const struct token *t = tok(p), *next = peek(p, 1);
    return place == PLACE_TOP && t->kind == TOK_NAME && next->kind == TOK_NAME && !next->newline &&
           t->end - t->start == 4 && !strncmp(p->lx.text + t->start, "data", 4);
}

/* "data" NAME {"," NAME}: names that the program must be given; define DATA_NAMES = [NAME, ...] */
static struct ast *parse_data(struct parser *p) {
    struct span at = take(p);
    size_t base = p->items.n;
    do {
        struct list_item it = {.at = here(p)};
        struct sym *name = take_name(p, "the name of data");
        it.e = name_node(p, it.at, name);
        vec_push(&p->items, it);
    } while (accept(p, TOK_COMMA));
    struct ast *all = make_sequence(p, base, at.start, at, "array", true);
    p->items.n = base;
    vec_push(&p->names, sym_cstr(p->syms, DATA_NAMES));
    return binding(p, AST_DEFINE, at.start, p->names.n - 1, &all, 1);
}

/* A statement that is one node. */
static struct ast *parse_simple(struct parser *p, enum place place) {
    const struct token *t = tok(p);
    uint32_t start = t->start;
    enum ast_kind let = place == PLACE_TOP ? AST_DEFINE : AST_LET;
    if (t->kind != TOK_NAME) return parse_labelled(p);
    enum tok_kind next = peek(p, 1)->kind;
    if (t->word == WORD_SAMPLE && place == PLACE_TOP && (next == TOK_SEMI || next == TOK_EOF)) {
        advance(p); /* the operator's name alone would be printed */
        fail_found(p, "an expression after sample");
    }
    if (t->word == WORD_DEFINE && next == TOK_NAME) return parse_instruction(p, place);
    if (t->word == WORD_LOAD && next == TOK_STRING) return parse_instruction(p, place);
    if (for_ahead(p)) return parse_for(p);
    if (data_ahead(p, place)) return parse_data(p);
    if (t->word == WORD_LET) {
        advance(p);
        return parse_binding(p, let, start);
    }
    if (next == TOK_ASSIGN) return parse_binding(p, let, start);
    if (next != TOK_BIND) return parse_labelled(p);
    check_bind(p, place);
    return parse_binding(p, AST_BIND, start);
}

void parse_statement(struct parser *p, enum place place) {
    if (tok(p)->word == WORD_LETREC) {
        parse_letrec(p, place);
    } else {
        struct ast *s = parse_simple(p, place); /* uses the stack itself */
        vec_push(&p->stmts, s);
    }
}

/* Is the statement a misspelt keyword: `asume x = 1`? */
static bool misspelt(struct parser *p, const struct ast *s) {
    static const char *const starts[] = {"assume", "observe", "predict", "sample", "force",
                                         "infer",  "define",  "load",    "let",    "letrec"};
    if (s->kind != AST_NAME || s->u.name.builtin || tok(p)->newline || !starts_expr(tok(p)))
        return false;
    const char *near = suggest_nearest(s->u.name.sym->text, starts, COUNT_OF(starts));
    if (!near) return false;
    if (perr(p, DIAG_UNEXPECTED_TOKEN, s->span, NULL, "`%s` starts no instruction",
             s->u.name.sym->text))
        diag_set_help(p->diags, "did you mean `%s`?", near);
    return true;
}

/* Two slips are accepted wherever a statement ends, with a warning; the paper's listings have both.
 * One is an extra `)` before `;`, the closing brace or the end:
 *     assume (f_compute, f_emu) = gpmem(f, kse));
 * The other is a missing `;` before a statement on a new line. Ambiguous cases stay errors: a `)`
 * that an earlier failed statement may have opened, or one followed by more of an expression. */
static bool forgiven(struct parser *p, enum tok_kind closer) {
    if (tok(p)->kind == TOK_RPAREN && p->lost == 0) {
        enum tok_kind next = peek(p, 1)->kind;
        if (next != TOK_SEMI && next != closer && next != TOK_EOF) return false;
        diag_warn(p->diags, DIAG_UNOPENED, here(p), "this `)` closes nothing and is ignored");
        advance(p);
        (void)accept(p, TOK_SEMI);
        return true;
    }
    if (!tok(p)->newline || !starts_expr(tok(p))) return false;
    struct span gap = {p->unit, p->prev_end, p->prev_end};
    diag_warn(p->diags, DIAG_MISSING_SEPARATOR, gap, "a `;` is missing here");
    diag_add_label(p->diags, here(p), "the next statement starts here, on line %u", line_of(p));
    return true;
}

/* Reports a token that cannot follow a complete statement, or cannot start one. */
static void unexpected(struct parser *p, enum tok_kind closer, struct span open) {
    enum tok_kind k = tok(p)->kind;
    struct span at = here(p);
    if ((k == TOK_RPAREN || k == TOK_RBRACKET) && p->lost > 0) {
        p->lost--;
        p->panic = true;
    } else if (is_closer(k)) {
        if (perr(p, DIAG_UNOPENED, at, NULL, "this %s closes nothing", lex_kind_text(k)) &&
            closer != TOK_EOF)
            diag_add_label(p->diags, open, "the innermost open bracket is here");
    } else if (k == TOK_ASSIGN) {
        bool arrow = peek(p, 1)->kind == TOK_GT && peek(p, 1)->start == at.end;
        (void)perr(p, DIAG_BAD_BINDER, at,
                   arrow ? "a procedure is written x -> e"
                         : "equality is written ==; data are given by observe e = v",
                   "only a name can stand before `=`");
    } else if (k == TOK_ELLIPSIS) {
        (void)perr(p, DIAG_BAD_RANGE, at, NULL, "`...` stands only between items of a list");
    } else {
        bool stored = perr_found(p, closer == TOK_RPAREN   ? "`;`, `)` or an operator"
                                    : closer == TOK_RBRACE ? "`;`, `}` or an operator"
                                                           : "`;` or an operator");
        if (stored) hint(p, p->stmts.n ? vec_last(&p->stmts) : NULL);
    }
}

/* Handles the end of a statement; true if the next one can be parsed. */
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

/* False: the statement failed, and its stack entries were dropped. */
static bool try_statement(struct parser *p, enum place place) {
    size_t items = p->items.n, stmts = p->stmts.n, names = p->names.n, splices = p->splices.n;
    size_t first_splice = p->first_splice;
    enum within within = p->within;
    unsigned depth = p->depth;
    jmp_buf catcher, *outer = p->catcher;
    p->catcher = &catcher;
    if (setjmp(catcher) == 0) {
        parse_statement(p, place);
        p->catcher = outer;
        return true;
    }
    p->catcher = outer;
    p->items.n = items;
    p->stmts.n = stmts;
    p->names.n = names;
    p->splices.n = splices;
    p->first_splice = first_splice;
    p->within = within;
    p->depth = depth;
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

/* Does a line start an instruction where none is allowed? Then a brace before it is still open. */
static bool brace_forgotten(struct parser *p, enum place place, enum tok_kind closer) {
    const struct token *t = tok(p);
    bool first_column = t->start > 0 && p->lx.text[t->start - 1] == '\n';
    if (place != PLACE_BLOCK || closer != TOK_RBRACE || !first_column || !instruction_ahead(p))
        return false;
    return t->word == WORD_DEFINE || t->word == WORD_LOAD || p->within == MODEL;
}

void parse_statements(struct parser *p, enum place place, enum tok_kind closer, struct span open,
                      bool *trailing) {
    *trailing = false;
    while (tok(p)->kind != closer && tok(p)->kind != TOK_EOF) {
        if (p->incomplete || diags_errors(p->diags) >= DIAG_MAX) return; /* enough errors */
        if (accept(p, TOK_SEMI)) {
            *trailing = true;
            continue;
        }
        if (brace_forgotten(p, place, closer)) unclosed(p, open);
        int parens = p->parens;
        uint32_t before = tok(p)->start;
        bool closes = is_closer(tok(p)->kind);
        if (closes) unexpected(p, closer, open);
        bool ok = !closes && try_statement(p, place);
        uint32_t end = p->prev_end;
        if (ok && end_statement(p, closer, open) && !p->panic) {
            *trailing = p->prev_end != end && p->lx.text[p->prev_end - 1] == ';';
            continue;
        }
        if (closer == TOK_RPAREN || closer == TOK_QUASI_CLOSE)
            return; /* the bracket's owner reports it */
        if (p->parens_at_error > parens) p->lost = p->parens_at_error - parens;
        recover(p);
        p->parens = parens;
        /* A brace that closes nothing at the top level must not stop parsing. */
        if (tok(p)->start == before || (closer == TOK_EOF && tok(p)->kind == TOK_RBRACE)) {
            if (tok(p)->kind != closer) advance(p);
        }
    }
}

static bool is_let(const struct ast *s) {
    return s->kind == AST_LET || s->kind == AST_LETREC;
}

struct ast *make_block(struct parser *p, size_t base, bool trailing, bool action, uint32_t start) {
    size_t n = p->stmts.n - base;
    if (n > 0 && trailing) {
        vec_push(&p->stmts, pass_node(p, (struct span){p->unit, p->prev_end, p->prev_end}));
        n++;
    }
    struct ast *only = n == 1 ? p->stmts.at[base] : NULL;
    if (only && !action && !is_let(only) && only->kind != AST_BIND) {
        p->stmts.n = base;
        return only;
    }
    struct ast *a = make(p, AST_BLOCK, start, p->stmts.at + base, n), *first = NULL;
    p->stmts.n = base;
    for (size_t i = 0; i + 1 < n && !first; i++)
        if (!is_let(a->kids[i])) first = a->kids[i];
    a->u.block.action = action || first;
    struct ast *end = n ? a->kids[n - 1] : NULL;
    if (end && (is_let(end) || end->kind == AST_BIND))
        fail(p, DIAG_BAD_BINDER, end->span,
             n == 1 && !action && p->lx.text[p->prev_end - 1] == ')'
                 ? "equality is written =="
                 : "end it with the expression that is its value",
             "a block ends in a binding, so it has no value");
    if (a->u.block.action && n && p->within == MODEL)
        fail(p, DIAG_ACTION_IN_MODEL, first ? first->span : a->kids[0]->span,
             "in a model, a block is `x = e;` lines and then its value, without `;` after it",
             "a statement inside a model expression");
    return a;
}

/* body = { statement ";" } [statement], up to `closer` (taken here) */
struct ast *parse_body(struct parser *p, enum tok_kind closer, struct span open) {
    size_t base = p->stmts.n;
    unsigned failed = p->failed;
    bool trailing;
    enter(p);
    parse_statements(p, PLACE_BLOCK, closer, open, &trailing);
    leave(p);
    bool bad = p->failed != failed;
    close_bracket(p, closer, open, closer == TOK_RPAREN ? "`;` or `)`" : "`;` or `}`");
    if (bad) { /* already reported; the block needs a placeholder */
        p->stmts.n = base;
        return pass_node(p, open);
    }
    if (p->stmts.n == base)
        fail(p, DIAG_UNEXPECTED_TOKEN, span_from(p, open.start),
             "write the value between the braces; { pass } does nothing",
             "an empty block has no value");
    return make_block(p, base, trailing, false, open.start);
}

/* block = "{" body "}" */
struct ast *parse_block(struct parser *p, const char *of) {
    struct span open = here(p);
    if (!accept(p, TOK_LBRACE)) {
        struct buf b = BUF_INIT;
        buf_printf(&b, "`{` and %s", of);
        if (perr_found(p, b.data)) hint(p, NULL);
        buf_release(&b);
        give_up(p);
    }
    return parse_body(p, TOK_RBRACE, open);
}
