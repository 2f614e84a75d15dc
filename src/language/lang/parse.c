/* SPDX-License-Identifier: Apache-2.0
 *
 * The basis of the parser: tokens, errors, nodes, names, and the entry point. Recursive descent,
 * with the production above each function. Statements are in parse_stmt.c, expressions in
 * parse_expr.c, directives and the names with a syntax of their own in parse_special.c. */
#include "language/lang/parse.h"
#include <stdarg.h>
#include <string.h>

/* ---- tokens ---- */

static void report_bad(struct parser *p, const struct token *t);

static void drop_token(struct parser *p) {
    if (--p->n_tok > 0)
        memmove(&p->tok[0], &p->tok[1], p->n_tok * sizeof p->tok[0]);
    else
        p->tok[p->n_tok++] = lex_next(&p->lx);
}

/* Makes the current token valid: unexpected characters are reported and skipped. */
static void settle(struct parser *p) {
    while (p->tok[0].err != LEX_OK) {
        report_bad(p, &p->tok[0]);
        p->tok[0].err = LEX_OK;
        if (p->tok[0].kind != TOK_BAD) return;
        bool newline = p->tok[0].newline;
        drop_token(p);
        p->tok[0].newline |= newline;
    }
}

const struct token *peek(struct parser *p, unsigned k) {
    while (p->n_tok <= k) p->tok[p->n_tok++] = lex_next(&p->lx);
    return &p->tok[k];
}

void advance(struct parser *p) {
    enum tok_kind k = p->tok[0].kind;
    p->prev_end = p->tok[0].end;
    p->parens += (k == TOK_LPAREN || k == TOK_LBRACKET) - (k == TOK_RPAREN || k == TOK_RBRACKET);
    drop_token(p);
    if (p->tok[0].err != LEX_OK) settle(p);
}

bool accept(struct parser *p, enum tok_kind kind) {
    if (tok(p)->kind != kind) return false;
    advance(p);
    return true;
}

struct span here(const struct parser *p) {
    return (struct span){p->unit, tok(p)->start, tok(p)->end};
}

struct span take(struct parser *p) {
    struct span at = here(p);
    advance(p);
    return at;
}

struct span span_from(const struct parser *p, uint32_t start) {
    return (struct span){p->unit, start, p->prev_end > start ? p->prev_end : start};
}

struct sym *tok_sym(struct parser *p, const struct token *t) {
    uint32_t len = t->end - t->start;
    const char *s = p->lx.text + t->start;
    if (len == 15 && memchr(s, '-', len)) return sym_cstr(p->syms, "gradient_ascent");
    return sym_intern(p->syms, s, len);
}

/* ---- errors ---- */

static bool vperr(struct parser *p, enum diag_code code, struct span at, const char *help,
                  const char *fmt, va_list ap) {
    if (p->panic || p->incomplete) return false;
    p->panic = true;
    p->failed++;
    p->parens_at_error = p->parens;
    bool more = code == DIAG_UNCLOSED || code == DIAG_MISSING_ELSE ||
                (code == DIAG_UNEXPECTED_TOKEN && at.start >= tok(p)->start);
    if (p->interactive && more && tok(p)->kind == TOK_EOF) {
        p->incomplete = true;
        return false;
    }
    struct buf b = BUF_INIT;
    buf_vprintf(&b, fmt, ap);
    (void)diag_raise(p->diags, code, at, "%s", b.data);
    buf_release(&b);
    if (help) diag_set_help(p->diags, "%s", help);
    return true;
}

bool perr(struct parser *p, enum diag_code code, struct span at, const char *help, const char *fmt,
          ...) {
    va_list ap;
    va_start(ap, fmt);
    bool stored = vperr(p, code, at, help, fmt, ap);
    va_end(ap);
    return stored;
}

void give_up(struct parser *p) {
    longjmp(*p->catcher, 1);
}

void fail(struct parser *p, enum diag_code code, struct span at, const char *help, const char *fmt,
          ...) {
    va_list ap;
    va_start(ap, fmt);
    (void)vperr(p, code, at, help, fmt, ap);
    va_end(ap);
    give_up(p);
}

static void describe(const struct parser *p, const struct token *t, struct buf *out) {
    enum { SHOWN = 24 };
    uint32_t len = t->end - t->start;
    const char *s = p->lx.text + t->start;
    if (t->kind == TOK_NAME || t->kind == TOK_NUMBER || t->kind == TOK_STRING) {
        const char *what = t->kind == TOK_NAME     ? (is_reserved(t->word) ? "" : "name ")
                           : t->kind == TOK_NUMBER ? "number "
                                                   : "string ";
        uint32_t n = len > SHOWN ? SHOWN : len;
        while (n < len && n > 0 && ((unsigned char)s[n] & 0xC0) == 0x80) n--;
        const char *nl = memchr(s, '\n', n);
        if (nl) n = (uint32_t)(nl - s);
        buf_printf(out, "%s`%.*s%s`", what, (int)n, s, n < len ? "..." : "");
    } else {
        buf_puts(out, lex_kind_text(t->kind));
    }
}

bool perr_found(struct parser *p, const char *expected) {
    struct buf b = BUF_INIT;
    describe(p, tok(p), &b);
    bool stored =
        perr(p, DIAG_UNEXPECTED_TOKEN, here(p), NULL, "expected %s, found %s", expected, b.data);
    buf_release(&b);
    return stored;
}

void fail_found(struct parser *p, const char *expected) {
    (void)perr_found(p, expected);
    give_up(p);
}

void expect(struct parser *p, enum tok_kind kind, const char *what) {
    if (!accept(p, kind)) fail_found(p, what);
}

static void report_character(struct parser *p, const struct token *t) {
    static const struct {
        const char *text, *help;
    } known[] = {
        {"\xE2\x80\x9C", "strings stand between plain double quotes: \"...\""},
        {"\xE2\x80\x9D", "strings stand between plain double quotes: \"...\""},
        {"'", "strings stand between double quotes: \"...\""},
        {"`", "strings stand between double quotes: \"...\""},
        {"@", "foreign notations @{...} are not supported"},
        {"!", "negation is not(x); different is !="},
        {"&", "and is &&"},
        {"|", "or is ||"},
        {"^", "powers are written x ** y"},
        {"%", "remainders are int_mod(x, y)"},
        {".", "a list is made longer with three points: [1, ..., 9]"},
        {"\xC3\x97", "multiplication is *"},
        {"\xE2\x88\x92", "minus is the plain character -"},
        {"\xE2\x80\x93", "minus is the plain character -"},
        {"\xC2\xA0", "this is a no-break space; use a plain one"},
    };
    const char *s = p->lx.text + t->err_start;
    uint32_t code = 0, n = utf8_decode(s, t->err_end - t->err_start, &code);
    struct span at = {p->unit, t->err_start, t->err_end};
    const char *help = NULL;
    for (size_t i = 0; i < COUNT_OF(known); i++)
        if (strlen(known[i].text) == n && memcmp(known[i].text, s, n) == 0) help = known[i].help;
    if (code < 0x20 || code == 0x7F)
        (void)perr(p, DIAG_BAD_CHARACTER, at, NULL, "control character U+%04X", code);
    else if (perr(p, DIAG_BAD_CHARACTER, at, help, "the character `%.*s` starts nothing here",
                  (int)n, s) &&
             code >= 0x80)
        diag_add_note(p->diags, "outside strings and comments only ASCII is used");
}

/* The error of a token, by enum lex_error; %.*s is the wrong part. */
static const struct {
    enum diag_code code;
    const char *help, *text;
} bad_tokens[] = {
    [LEX_STRING_OPEN] = {DIAG_UNTERMINATED_STRING,
                         "a string ends with \"; inside it a quote is written \\\"",
                         "this string is never closed"},
    [LEX_COMMENT_OPEN] = {DIAG_UNTERMINATED_COMMENT,
                          "a comment /** ends with **/, and comments nest",
                          "this comment is never closed"},
    [LEX_ESCAPE] = {DIAG_BAD_ESCAPE,
                    "escapes are \\\" \\\\ \\/ \\b \\f \\n \\r \\t and three octal digits; a "
                    "backslash itself is \\\\",
                    "unknown escape `%.*s` in a string"},
    [LEX_NUMBER_LETTER] = {DIAG_BAD_NUMBER,
                           "a product needs its sign, as in 2 * x; a name does not start with a "
                           "digit",
                           "`%.*s` is neither a number nor a name"},
    [LEX_NUMBER_HEX] = {DIAG_BAD_NUMBER, "numbers look like 12, 3.5, .5 or 1.5e-3",
                        "`%.*s`: numbers are decimal"},
    [LEX_NUMBER_RANGE] = {DIAG_BAD_NUMBER, NULL, "`%.*s` is too large for a number"},
    [LEX_TYPED_VALUE] = {DIAG_BAD_NUMBER, NULL, "`%.*s`: %s"},
};

static void report_bad(struct parser *p, const struct token *t) {
    struct span at = {p->unit, t->err_start, t->err_end};
    int len = (int)(t->err_end - t->err_start > 40 ? 40 : t->err_end - t->err_start);
    const char *s = p->lx.text + t->err_start;
    bool open = t->err == LEX_STRING_OPEN || t->err == LEX_COMMENT_OPEN;
    if (t->err == LEX_CHARACTER) {
        report_character(p, t);
    } else if (open && p->interactive && !p->panic) {
        p->incomplete = p->panic = true;
        p->failed++;
    } else {
        const char *domain = *s == 'p'   ? "a probability is from 0 to 1"
                             : *s == 'i' ? "an integer is a whole number"
                                         : "atoms and counts are whole numbers from 0 on";
        (void)perr(p, bad_tokens[t->err].code, at, bad_tokens[t->err].help, bad_tokens[t->err].text,
                   len, s, domain);
        if (!open) p->panic = false; /* the token is understood, so parsing continues */
    }
}

unsigned line_of(struct parser *p) {
    unsigned line, column;
    sources_locate(p->diags->sources, here(p), &line, &column);
    return line;
}

/* A bracket that should have been closed before the current token. */
void unclosed(struct parser *p, struct span open) {
    enum tok_kind k = tok(p)->kind;
    bool instruction = instruction_ahead(p);
    if (!perr(p, DIAG_UNCLOSED, open, NULL, "this `%.*s` is never closed",
              (int)(open.end - open.start), p->lx.text + open.start))
        give_up(p);
    struct span at = here(p);
    if (k == TOK_SEMI)
        diag_add_label(p->diags, at, "the statement ends here");
    else if (instruction)
        diag_add_label(p->diags, at, "a new instruction starts here");
    else if (k != TOK_EOF)
        diag_add_label(p->diags, at, "%s does not close it", lex_kind_text(k));
    else
        diag_add_note(p->diags, "the text ends on line %u", line_of(p));
    give_up(p);
}

bool is_closer(enum tok_kind k) {
    return k == TOK_RPAREN || k == TOK_RBRACKET || k == TOK_RBRACE || k == TOK_QUASI_CLOSE;
}

void close_bracket(struct parser *p, enum tok_kind kind, struct span open, const char *inside) {
    enum tok_kind k = tok(p)->kind;
    if (accept(p, kind)) return;
    if (k == TOK_EOF || k == TOK_SEMI || is_closer(k) || instruction_ahead(p)) unclosed(p, open);
    if (perr_found(p, inside)) {
        diag_add_label(p->diags, open, "inside this bracket");
        if (k == TOK_NAME) hint(p, NULL);
    }
    give_up(p);
}

void enter(struct parser *p) {
    if (++p->depth > MAX_NESTING)
        fail(p, DIAG_TOO_DEEP, here(p), "give inner parts names with let or define",
             "nesting deeper than %d levels", MAX_NESTING);
}

/* ---- nodes ---- */

/* Size of a kind's union member. Most nodes are small, and large literals have many of them. */
static size_t payload(enum ast_kind kind) {
    struct ast *a = NULL;
    switch (kind) {
    case AST_NUMBER:
    case AST_ATOM: return sizeof a->u.number;
    case AST_BOOL: return sizeof a->u.boolean;
    case AST_STRING: return sizeof a->u.string;
    case AST_NAME: return sizeof a->u.name;
    case AST_CALL: return sizeof a->u.call;
    case AST_IF:
    case AST_TAG: return 0;
    default: return sizeof a->u;
    }
}

struct ast *node_at(struct parser *p, enum ast_kind kind, struct span at) {
    struct ast *a = arena_zalloc(p->arena, offsetof(struct ast, u) + payload(kind));
    a->kind = kind;
    a->span = at;
    a->height = 1;
    a->code = p->code;
    return a;
}

struct ast *node(struct parser *p, enum ast_kind kind, uint32_t start) {
    return node_at(p, kind, span_from(p, start));
}

struct ast *set_kids(struct parser *p, struct ast *a, struct ast *const *kids, size_t n) {
    uint32_t height = 0;
    a->kids = ARENA_ARRAY(p->arena, struct ast *, n ? n : 1);
    a->n = (uint32_t)n;
    for (size_t i = 0; i < n; i++) {
        a->kids[i] = kids[i];
        if (kids[i] && kids[i]->height > height) height = kids[i]->height;
    }
    a->height = height + 1;
    if (a->height <= MAX_HEIGHT) return a;
    struct span at = {p->unit, a->span.start, a->span.start + 1};
    fail(p, DIAG_TOO_DEEP, at, "give inner parts names with let or define",
         "an expression of more than %d levels", MAX_HEIGHT);
}

struct ast *make(struct parser *p, enum ast_kind kind, uint32_t start, struct ast *const *kids,
                 size_t n) {
    return set_kids(p, node(p, kind, start), kids, n);
}

struct ast *node1(struct parser *p, enum ast_kind kind, uint32_t start, struct ast *kid) {
    return make(p, kind, start, &kid, 1);
}

struct ast *name_node(struct parser *p, struct span at, struct sym *name) {
    struct ast *a = node_at(p, AST_NAME, at);
    a->u.name.sym = name;
    a->u.name.depth = -1;
    return a;
}

struct ast *quoted_name(struct parser *p, struct span at, struct sym *name) {
    return node1(p, AST_QUOTE, at.start, name_node(p, at, name));
}

struct ast *pass_node(struct parser *p, struct span at) {
    return name_node(p, at, sym_cstr(p->syms, "pass"));
}

struct ast *number_node(struct parser *p, struct span at, double x) {
    struct ast *a = node_at(p, AST_NUMBER, at);
    a->u.number = x;
    return a;
}

struct ast *call_builtin(struct parser *p, uint32_t start, struct span op, const char *fn,
                         struct ast *const *args, size_t n) {
    struct ast **kids = ARENA_ARRAY(p->arena, struct ast *, n + 1);
    kids[0] = name_node(p, op, sym_cstr(p->syms, fn));
    kids[0]->u.name.builtin = true;
    for (size_t i = 0; i < n; i++) kids[i + 1] = args[i];
    return make(p, AST_CALL, start, kids, n + 1);
}

void name_lambda(struct ast *e, struct sym *name) {
    if (e && e->kind == AST_MODEL) e = e->kids[0];
    if (e && e->kind == AST_LAMBDA && !e->u.lambda.self) e->u.lambda.self = name;
}

/* ---- names ---- */

bool is_reserved(enum tok_word w) {
    return w == WORD_LET || w == WORD_LETREC || w == WORD_LAMBDA || w == WORD_TRUE ||
           w == WORD_FALSE || w == WORD_IF || w == WORD_ELSE;
}

struct sym *take_name(struct parser *p, const char *what) {
    const struct token *t = tok(p);
    if (t->kind != TOK_NAME) fail_found(p, what);
    if (is_reserved(t->word))
        fail(p, DIAG_BAD_BINDER, here(p),
             t->word == WORD_LAMBDA ? "lam, lambda_ and the like are free names" : NULL,
             "`%s` is a word of the language, not a name", lex_word_text(t->word));
    struct sym *s = tok_sym(p, t);
    advance(p);
    return s;
}

/* NAME | "(" [NAME {"," NAME}] ")" */
void parse_names(struct parser *p, const char *what) {
    struct span open = here(p);
    if (!accept(p, TOK_LPAREN)) {
        vec_push(&p->names, take_name(p, what));
        return;
    }
    map_release(&p->seen);
    while (tok(p)->kind != TOK_RPAREN) {
        struct span at = here(p);
        struct sym *s = take_name(p, what);
        if (map_get(&p->seen, MAP_PTR(s)))
            fail(p, DIAG_DUPLICATE_PARAM, at, NULL, "the name `%s` stands twice in this list",
                 s->text);
        map_put(&p->seen, MAP_PTR(s), s);
        vec_push(&p->names, s);
        if (!accept(p, TOK_COMMA)) break;
    }
    close_bracket(p, TOK_RPAREN, open, "`,` or `)`");
}

struct sym **copy_names(struct parser *p, size_t base, uint32_t *n) {
    *n = (uint32_t)(p->names.n - base);
    struct sym **names = ARENA_ARRAY(p->arena, struct sym *, *n ? *n : 1);
    if (*n) memcpy(names, p->names.at + base, *n * sizeof *names);
    p->names.n = base;
    return names;
}

enum tok_kind after_names(const struct parser *p) {
    struct lexer lx = p->lx;
    lx.pos = p->tok[0].end;
    struct token t = lex_next(&lx);
    while (t.kind == TOK_NAME) {
        t = lex_next(&lx);
        if (t.kind != TOK_COMMA) break;
        t = lex_next(&lx);
    }
    return t.kind == TOK_RPAREN ? lex_next(&lx).kind : TOK_EOF;
}

/* ---- program ---- */

static bool check_encoding(struct parser *p, const struct source *u) {
    size_t bad = utf8_check(u->text, u->len);
    if (bad == u->len) return true;
    struct span at = {p->unit, (uint32_t)bad, (uint32_t)bad + 1};
    unsigned char c = (unsigned char)u->text[bad];
    (void)diag_raise(p->diags, DIAG_BAD_ENCODING, at,
                     c ? "the text is not valid UTF-8: byte 0x%02X" : "a NUL byte in the text", c);
    diag_set_help(p->diags, "programs are UTF-8 text; is this another kind of file?");
    return false;
}

/* NULL if the tree is too high. */
static struct ast *parse_text(struct parser *p) {
    jmp_buf catcher;
    bool trailing;
    p->catcher = &catcher;
    if (setjmp(catcher)) return NULL;
    p->tok[p->n_tok++] = lex_next(&p->lx);
    settle(p);
    parse_statements(p, PLACE_TOP, TOK_EOF, NO_SPAN, &trailing);
    return make(p, AST_PROGRAM, 0, p->stmts.at, p->stmts.n);
}

enum gpm_status parse_program(struct arena *arena, struct code *code, struct sym_table *syms,
                              struct diags *diags, uint32_t unit, bool interactive,
                              struct ast **out) {
    const struct source *u = diags->sources->units.at[unit];
    struct parser p = {.arena = arena,
                       .code = code,
                       .syms = syms,
                       .diags = diags,
                       .unit = unit,
                       .interactive = interactive};
    if (u->len >= UINT32_MAX)
        return diag_raise(diags, DIAG_LIMIT, NO_SPAN, "%s: a program is at most 4 GiB long",
                          u->name);
    if (!check_encoding(&p, u)) return GPM_E_USER;
    lex_init(&p.lx, u->text, (uint32_t)u->len);
    vec_reserve(&p.items, 1); /* a range of nothing begins at the end of an array, not at NULL */
    vec_reserve(&p.stmts, 1);
    struct ast *program = parse_text(&p);
    map_release(&p.seen);
    vec_release(&p.splices);
    vec_release(&p.items);
    vec_release(&p.stmts);
    vec_release(&p.names);
    if (p.incomplete) return GPM_E_INCOMPLETE;
    if (p.failed) return GPM_E_USER;
    resolve_program(arena, program, NULL);
    *out = program;
    return GPM_OK;
}
