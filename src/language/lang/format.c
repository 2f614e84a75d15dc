/* SPDX-License-Identifier: Apache-2.0
 *
 * The layout of programs. What stands on a line is the author's choice; how it stands there is not:
 *
 *   - two blanks deeper for every line that leaves a bracket open, and for the rest of a statement
 *     that goes on on the next line; a line that begins with a closing bracket stands like the line
 *     that opened it;
 *   - one blank around operators and after `,`, `;` and `:`; none inside ( ) and [ ], around the
 * `=` of a keyword argument, after a sign, or between a procedure and its arguments; blanks inside
 *     { } and [| |];
 *   - at most one empty line, none at the begin of the text or of a block; no blanks at the end of
 * a line; comments behind code keep their column where they can.
 *
 * Only blanks change, and never those inside a token, a comment or the query of prob(...), which is
 * text: the text parses to the same tree. Its layout is the one that it gets again.
 */
#include "language/lang/format.h"

#include "base/utf8.h"
#include "base/vec.h"
#include "language/lang/lex.h"
#include <string.h>

struct bracket {
    enum tok_kind kind;
    unsigned indent; /* of its line */
    unsigned inside; /* of lines inside it */
    bool tight;      /* ${x} */
    bool statements; /* { }, and the parentheses of for and if: they hold statements */
};

struct layout {
    const char *text;
    struct lexer lx;
    struct buf *out;
    VEC(struct bracket) open;
    struct token prev, before; /* the last token, and the one before it */
    bool close;                /* no blank after the last token */
    unsigned indent;           /* of the current line */
    size_t line_start;         /* in out */
    bool fresh;                /* the current line is still empty */
    bool code;                 /* some token was written */
    bool opened;               /* the last bracket was opened on the current line */
    unsigned closed_indent;    /* of the last bracket closed */
    size_t path;               /* 1 + brackets around a path /?a/b, which is kept as written */
    bool remark;               /* the line ends in a comment */
    bool blank;                /* an empty line is pending */
};

static const struct bracket *innermost(const struct layout *f) {
    return f->open.n ? &vec_last(&f->open) : NULL;
}

/* ---- lines ---- */

static void end_line(struct layout *f) {
    while (f->out->len > f->line_start && f->out->data[f->out->len - 1] == ' ') f->out->len--;
    buf_putc(f->out, '\n');
    f->line_start = f->out->len;
    f->fresh = true;
    f->remark = false;
}

static bool at_statement(const struct layout *f) {
    const struct bracket *b = innermost(f);
    if (b && !b->statements) return true; /* brackets alone determine the indent */
    return !f->code || f->prev.kind == TOK_SEMI || f->prev.kind == TOK_LBRACE ||
           f->prev.kind == TOK_RBRACE || (b && f->prev.kind == TOK_LPAREN);
}

static void begin_line(struct layout *f, unsigned indent) {
    const struct bracket *b = innermost(f);
    bool first = f->out->len == 0 ||
                 (b && f->prev.kind == b->kind && f->line_start == f->out->len && f->opened);
    if (f->blank && !first) buf_putc(f->out, '\n');
    f->blank = false;
    f->line_start = f->out->len;
    for (unsigned i = 0; i < indent; i++) buf_putc(f->out, ' ');
    f->indent = indent;
    f->fresh = f->opened = false;
}

static unsigned inner_indent(const struct layout *f) {
    const struct bracket *b = innermost(f);
    return (b ? b->inside : 0) + (at_statement(f) ? 0 : 2);
}

/* Copies text; lines inside it (of a string or comment) are unchanged. */
static void put_text(struct layout *f, uint32_t start, uint32_t end) {
    buf_add(f->out, f->text + start, end - start);
    if (!memchr(f->text + start, '\n', end - start)) return;
    f->line_start = f->out->len;
    while (f->line_start > 0 && f->out->data[f->line_start - 1] != '\n') f->line_start--;
}

static bool closes(const struct token *t) {
    return t->kind == TOK_RPAREN || t->kind == TOK_RBRACKET || t->kind == TOK_RBRACE ||
           t->kind == TOK_QUASI_CLOSE;
}

static bool opens(const struct token *t) {
    return t->kind == TOK_LPAREN || t->kind == TOK_LBRACKET || t->kind == TOK_LBRACE ||
           t->kind == TOK_QUASI_OPEN;
}

/* else is aligned with the line of its if's last bracket; operators continue a statement. */
static unsigned indent_of(const struct layout *f, const struct token *t) {
    const struct bracket *b = innermost(f);
    if (closes(t) && b) return b->indent;
    if (t->kind == TOK_NAME && t->word == WORD_ELSE && f->prev.kind == TOK_RBRACE)
        return b && !b->statements && b->inside > f->closed_indent ? b->inside : f->closed_indent;
    bool begins = t->kind == TOK_NAME || t->kind == TOK_NUMBER || t->kind == TOK_STRING ||
                  opens(t) || t->kind == TOK_DOLLAR || t->kind == TOK_SEMI;
    return inner_indent(f) + (f->prev.kind == TOK_RBRACE && !begins ? 2 : 0);
}

/* ---- comments between two tokens ---- */

/* Columns of the current line, in characters. */
static size_t columns(const char *s, const char *end) {
    size_t n = 0;
    for (; s < end; s++) n += ((unsigned char)*s & 0xC0) != 0x80;
    return n;
}

/* A comment on a line of its own is indented like what follows; before a closing bracket, like the
 * contents. */
static void comment(struct layout *f, uint32_t start, uint32_t end, const struct token *next) {
    const struct bracket *b = innermost(f);
    if (f->fresh) {
        begin_line(f,
                   closes(next) || next->kind == TOK_EOF ? b ? b->inside : 0 : indent_of(f, next));
    } else {
        uint32_t line = start, gap = 0;
        while (line > 0 && f->text[line - 1] != '\n') line--;
        while (start - gap > line && f->text[start - gap - 1] == ' ') gap++;
        size_t want = columns(f->text + line, f->text + start);
        size_t have = columns(f->out->data + f->line_start, f->out->data + f->out->len);
        size_t least = have + (gap > 1 ? 2 : 1);
        if (gap < 2 || want < least) want = least;
        for (; have < want; have++) buf_putc(f->out, ' ');
    }
    while (end > start && strchr(" \t\r\f", f->text[end - 1])) end--;
    put_text(f, start, end);
    f->remark = true;
}

/* Comments and line ends before the token at `end`. */
static void between(struct layout *f, uint32_t start, uint32_t end, const struct token *next) {
    unsigned lines = 0;
    for (uint32_t at = start; at < end;) {
        char c = f->text[at];
        if (c == '\n') {
            if (lines++ == 0 && !f->fresh) end_line(f);
            if (lines > 1 || f->out->len == 0) f->blank = true;
            at++;
        } else if (c == '/') {
            uint32_t to = lex_comment_end(f->text, at, end);
            comment(f, at, to, next);
            at = to;
            lines = 0;
        } else
            at++;
    }
}

/* ---- tokens ---- */

static bool ends_operand(const struct token *t) {
    switch (t->kind) {
    case TOK_NAME: return t->word == WORD_NONE || t->word == WORD_TRUE || t->word == WORD_FALSE;
    case TOK_NUMBER:
    case TOK_STRING:
    case TOK_TYPED:
    case TOK_RPAREN:
    case TOK_RBRACKET:
    case TOK_RBRACE:
    case TOK_ELLIPSIS:
    case TOK_QUASI_CLOSE: return true;
    default: return false;
    }
}

/* name=e: inside a call, after its parenthesis or a comma. */
static bool is_keyword(const struct layout *f) {
    const struct bracket *b = innermost(f);
    return b && b->kind == TOK_LPAREN && !b->statements && f->prev.kind == TOK_NAME &&
           (f->before.kind == TOK_LPAREN || f->before.kind == TOK_COMMA);
}

/* Is an opening bracket set apart? Not in a call or an index. After a word of the language it stays
 * as written: sample(x) or sample (x + 1) * 2. */
static bool bracket_apart(const struct layout *f, bool written) {
    if (f->prev.kind != TOK_NAME) return f->prev.kind != TOK_RPAREN && f->prev.kind != TOK_RBRACKET;
    if (f->prev.word == WORD_IF || f->prev.word == WORD_FOR) return true;
    return f->prev.word != WORD_NONE && f->prev.word != WORD_PROC && written;
}

/* Is there a blank between the last token and t on the same line? */
static bool apart(const struct layout *f, const struct token *t) {
    bool written = t->start > f->prev.end;
    if (f->path || f->prev.kind == TOK_BAD || t->kind == TOK_BAD) return written;
    if (f->close) /* + +x is not ++x */
        return f->prev.kind == TOK_PLUS && (t->kind == TOK_PLUS || t->kind == TOK_INC);
    switch (t->kind) {
    case TOK_RPAREN:
    case TOK_RBRACKET:
    case TOK_COMMA:
    case TOK_SEMI:
    case TOK_INC:
    case TOK_COLON: return false;
    case TOK_LPAREN:
    case TOK_LBRACKET: return bracket_apart(f, written);
    case TOK_ASSIGN: return !is_keyword(f);
    case TOK_RBRACE: return !innermost(f) || !innermost(f)->tight;
    default: return true;
    }
}

/* Is there no blank after t? */
static bool closes_up(const struct layout *f, const struct token *t) {
    switch (t->kind) {
    case TOK_LPAREN:
    case TOK_LBRACKET:
    case TOK_DOLLAR:
    case TOK_HASH: return true;
    case TOK_PLUS:
    case TOK_MINUS: return !ends_operand(&f->prev) || !f->code;
    case TOK_ASSIGN: return is_keyword(f);
    case TOK_COLON: /* #t:v, xs[a:b] */
        return f->before.kind == TOK_HASH || (f->open.n && vec_last(&f->open).kind == TOK_LBRACKET);
    case TOK_LBRACE: return f->prev.kind == TOK_DOLLAR;
    default: return false;
    }
}

static void open_bracket(struct layout *f, const struct token *t) {
    const struct bracket *b = innermost(f);
    bool held = f->prev.kind == TOK_NAME && (f->prev.word == WORD_FOR || f->prev.word == WORD_IF);
    struct bracket new = {.kind = t->kind,
                          .indent = f->indent,
                          .tight = t->kind == TOK_LBRACE && f->prev.kind == TOK_DOLLAR,
                          .statements = t->kind == TOK_LBRACE || (t->kind == TOK_LPAREN && held)};
    /* a line that opens several brackets indents once */
    new.inside = f->opened &&b ? b->inside : f->indent + 2;
    vec_push(&f->open, new);
    f->opened = true;
}

static void put_token(struct layout *f, const struct token *t) {
    if (f->fresh)
        begin_line(f, indent_of(f, t));
    else if (f->remark || (f->code && apart(f, t)))
        buf_putc(f->out, ' ');
    f->remark = false;
    if (t->kind == TOK_SLASH && !ends_operand(&f->prev)) f->path = f->open.n + 1;
    if (f->path && f->open.n + 1 == f->path &&
        (closes(t) || t->kind == TOK_COMMA || t->kind == TOK_SEMI))
        f->path = 0;
    bool close = closes_up(f, t);
    if (closes(t) && f->open.n) {
        f->closed_indent = vec_pop(&f->open).indent;
        f->opened = false;
    }
    if (opens(t)) open_bracket(f, t);
    put_text(f, t->start, t->end);
    f->before = f->prev;
    f->prev = *t;
    f->close = close;
    f->code = true;
}

/* Copies the query of prob(...), which is text, up to the comma or parenthesis that ends it. */
static void copy_query(struct layout *f) {
    uint32_t start, end;
    struct lexer lx = f->lx;
    lx.pos = f->prev.end;
    (void)lex_query(&lx, &start, &end);
    put_text(f, start, end);
    f->lx.pos = f->prev.end = end;
    f->prev.kind = TOK_STRING;
    f->close = false;
}

static bool is_query(const struct layout *f) {
    return f->prev.kind == TOK_LPAREN && f->before.kind == TOK_NAME &&
           f->before.end - f->before.start == 4 &&
           strncmp(f->text + f->before.start, "prob", 4) == 0;
}

void format_text(const char *text, size_t len, struct buf *out) {
    struct layout f = {.text = text, .out = out, .fresh = true};
    lex_init(&f.lx, text, (uint32_t)len);
    for (;;) {
        uint32_t from = f.lx.pos;
        struct token t = lex_next(&f.lx);
        between(&f, from, t.kind == TOK_EOF ? (uint32_t)len : t.start, &t);
        if (t.kind == TOK_EOF) break;
        put_token(&f, &t);
        if (is_query(&f)) copy_query(&f);
    }
    if (!f.fresh) end_line(&f);
    vec_release(&f.open);
}
