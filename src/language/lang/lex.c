/* SPDX-License-Identifier: Apache-2.0
 *
 * The lexer. Every token is found in time proportional to its length: white space and comments are
 * skipped once per cursor, and nothing is copied (values are decoded when the parser asks).
 */
#include "language/lang/lex.h"
#include "base/ascii.h"
#include "base/number.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    const char *text;
    uint32_t len;
    enum tok_kind kind;
} puncts[] = {
    /* spellings with a tilde mean the same everywhere; `<~` and `~>` before `~` and `<` */
    {"<~", 2, TOK_BIND},
    {"~>", 2, TOK_ARROW},
    {"~", 1, TOK_ASSIGN},
#define X(name, text) {text, sizeof text - 1, name},
    LEX_PUNCT(X)
#undef X
};

static const char *const words[] = {NULL,
#define X(name, text) text,
                                    LEX_WORDS(X)
#undef X
};

const char *lex_word_text(enum tok_word w) {
    return words[w];
}

const char *lex_kind_text(enum tok_kind k) {
    static const char *const texts[] = {
        "the end of the text", "a name", "a number", "a string", "a typed literal",
        "a strange character",
#define X(name, text) "`" text "`",
        LEX_PUNCT(X)
#undef X
    };
    return texts[k];
}

void lex_init(struct lexer *lx, const char *text, uint32_t len) {
    lx->text = text;
    lx->len = len;
    lx->pos = len >= 3 && memcmp(text, "\xEF\xBB\xBF", 3) == 0 ? 3 : 0; /* byte order mark */
}

static bool starts_name(char c) {
    return ascii_alpha(c) || c == '_';
}

/* The text is NUL-terminated and holds no other NUL, so comparing never runs past the end. */
static bool at(const struct lexer *lx, uint32_t pos, const char *s) {
    return strncmp(lx->text + pos, s, strlen(s)) == 0;
}

/* Skips a nesting comment; false when it does not end. */
static bool skip_comment(struct lexer *lx) {
    uint32_t depth = 0;
    while (lx->pos < lx->len) {
        if (at(lx, lx->pos, "/**")) {
            depth++;
            lx->pos += 3;
        } else if (at(lx, lx->pos, "**/")) {
            depth--;
            lx->pos += 3;
            if (depth == 0) return true;
        } else {
            lx->pos++;
        }
    }
    return false;
}

static bool comment_starts(const struct lexer *lx) {
    return at(lx, lx->pos, "/**") && lx->text[lx->pos + 3] != '/';
}

/* Skips white space and comments; false: a comment is open, starting at *open. */
static bool skip_blank(struct lexer *lx, bool *newline, uint32_t *open) {
    for (;;) {
        char c = lx->text[lx->pos];
        if (c == '\n') *newline = true;
        if (c == ' ' || c == '\t' || c == '\r' || c == '\n' || c == '\f') {
            lx->pos++;
        } else if (c == '/' && comment_starts(lx)) {
            *open = lx->pos;
            if (!skip_comment(lx)) return false;
        } else if (c == '/' && lx->text[lx->pos + 1] == '/') {
            const char *nl = memchr(lx->text + lx->pos, '\n', lx->len - lx->pos);
            lx->pos = nl ? (uint32_t)(nl - lx->text) : lx->len;
        } else {
            return true;
        }
    }
}

uint32_t lex_comment_end(const char *text, uint32_t start, uint32_t limit) {
    struct lexer lx = {text, limit, start};
    if (text[start] != '/') return start;
    if (comment_starts(&lx)) {
        (void)skip_comment(&lx);
        return lx.pos < limit ? lx.pos : limit;
    }
    if (text[start + 1] != '/') return start;
    const char *nl = memchr(text + start, '\n', limit - start);
    return nl ? (uint32_t)(nl - text) : limit;
}

static void fail(struct token *t, enum lex_error err, uint32_t start, uint32_t end) {
    if (t->err != LEX_OK) return;
    t->err = err;
    t->err_start = start;
    t->err_end = end;
}

/* The end of the unsigned decimal number at `i`; `i` itself if there is no number. */
static uint32_t number_end(const char *s, uint32_t i) {
    uint32_t j = i;
    while (ascii_digit(s[j])) j++;
    bool digits = j > i;
    if (s[j] == '.' && !(s[j + 1] == '.' && s[j + 2] == '.') && (digits || ascii_digit(s[j + 1]))) {
        j++;
        while (ascii_digit(s[j])) j++, digits = true;
    }
    if (!digits) return i;
    if (s[j] == 'e' || s[j] == 'E') {
        uint32_t k = j + 1;
        if (s[k] == '+' || s[k] == '-') k++;
        if (ascii_digit(s[k])) {
            while (ascii_digit(s[k])) k++;
            j = k;
        }
    }
    return j;
}

static void lex_number_token(struct lexer *lx, struct token *t) {
    const char *s = lx->text;
    uint32_t j = number_end(s, lx->pos);
    t->kind = TOK_NUMBER;
    if (starts_name(s[j])) {
        bool hex = j == lx->pos + 1 && s[lx->pos] == '0' && (s[j] == 'x' || s[j] == 'X');
        uint32_t k = j;
        while (ascii_name(s[k])) k++;
        fail(t, hex ? LEX_NUMBER_HEX : LEX_NUMBER_LETTER, lx->pos, k);
        j = k;
    } else if (isinf(number_read(s + lx->pos, NULL))) {
        fail(t, LEX_NUMBER_RANGE, lx->pos, j);
    }
    lx->pos = j;
}

double lex_number(const struct lexer *lx, const struct token *t) {
    return t->err ? 0 : number_read(lx->text + t->start, NULL);
}

static bool is_octal3(const char *s) {
    return s[0] >= '0' && s[0] <= '3' && s[1] >= '0' && s[1] <= '7' && s[2] >= '0' && s[2] <= '7';
}

static const char escape_names[] = "\"\\/bfnrt", escape_bytes[] = "\"\\/\b\f\n\r\t";

static void lex_string_token(struct lexer *lx, struct token *t) {
    const char *s = lx->text;
    uint32_t i = lx->pos + 1;
    t->kind = TOK_STRING;
    while (i < lx->len && s[i] != '"') {
        if (s[i] != '\\') {
            i++;
        } else if (i + 1 < lx->len && strchr(escape_names, s[i + 1])) {
            i += 2;
        } else if (i + 1 < lx->len && is_octal3(s + i + 1)) {
            i += 4;
        } else if (i + 1 < lx->len) {
            uint32_t code, n = utf8_decode(s + i + 1, lx->len - i - 1, &code);
            fail(t, LEX_ESCAPE, i, i + 1 + n);
            i += 1 + n;
        } else {
            i++;
        }
    }
    if (i >= lx->len) {
        t->err = LEX_OK;
        fail(t, LEX_STRING_OPEN, lx->pos, lx->pos + 1);
    }
    lx->pos = i < lx->len ? i + 1 : lx->len;
}

static void put_utf8(struct buf *out, unsigned c) { /* c < 256 */
    if (c < 0x80) {
        buf_putc(out, (char)c);
    } else {
        buf_putc(out, (char)(0xC0 | c >> 6));
        buf_putc(out, (char)(0x80 | (c & 0x3F)));
    }
}

void lex_string(const struct lexer *lx, const struct token *t, struct buf *out) {
    const char *s = lx->text;
    uint32_t i = t->start + 1, end = t->end - 1;
    while (i < end) {
        const char *stop = memchr(s + i, '\\', end - i);
        uint32_t j = stop ? (uint32_t)(stop - s) : end;
        buf_add(out, s + i, j - i);
        if (j >= end) return;
        const char *e = strchr(escape_names, s[j + 1]);
        if (e && *e) {
            buf_putc(out, escape_bytes[e - escape_names]);
            i = j + 2;
        } else if (is_octal3(s + j + 1)) {
            put_utf8(out, (unsigned)(s[j + 1] - '0') * 64 + (unsigned)(s[j + 2] - '0') * 8 +
                              (unsigned)(s[j + 3] - '0'));
            i = j + 4;
        } else {
            i = j + 1; /* already reported */
        }
    }
}

static enum tok_word find_word(const char *s, uint32_t len) {
    if (len < 2 || len > 7) return WORD_NONE;
    for (int w = 1; w < WORD_COUNT; w++)
        if (((words[w][0] ^ s[0]) & ~0x20) == 0 && ascii_ncasecmp(words[w], s, len) == 0 &&
            words[w][len] == '\0')
            return (enum tok_word)w;
    return WORD_NONE;
}

static bool typed_name(const char *s, uint32_t len) {
    static const char *const names[] = {"integer", "atom",        "real", "number",
                                        "count",   "probability", "name"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (strlen(names[i]) == len && strncmp(names[i], s, len) == 0) return true;
    return false;
}

/* The end of `<literal>` at `i` (just after the type's name), or 0 if it is a comparison. */
static uint32_t typed_end(const char *s, uint32_t i, bool name) {
    if (s[i] != '<') return 0;
    i++;
    while (s[i] == ' ') i++;
    uint32_t start = i;
    if (name) {
        while (ascii_name(s[i])) i++;
    } else {
        if (s[i] == '-' || s[i] == '+') i++, start++;
        i = number_end(s, i);
    }
    if (i == start) return 0;
    while (s[i] == ' ') i++;
    return s[i] == '>' ? i + 1 : 0;
}

static void check_typed(const struct lexer *lx, struct token *t, uint32_t name_end) {
    const char *s = lx->text + t->start;
    double v = number_read(lx->text + name_end + 1, NULL);
    bool whole = v == floor(v) && isfinite(v), ok = isfinite(v);
    if (*s == 'i') ok = whole;                        /* integer */
    if (*s == 'a' || *s == 'c') ok = whole && v >= 0; /* atom, count */
    if (*s == 'p') ok = v >= 0 && v <= 1;             /* probability */
    if (*s != 'n' && !ok) fail(t, LEX_TYPED_VALUE, t->start, t->end);
}

static void lex_name_token(struct lexer *lx, struct token *t) {
    const char *s = lx->text;
    uint32_t i = lx->pos;
    while (ascii_name(s[i])) i++;
    uint32_t len = i - lx->pos;
    t->kind = TOK_NAME;
    if (len == 8 && at(lx, lx->pos, "gradient-ascent") && !ascii_name(s[lx->pos + 15])) {
        lx->pos += 15; /* the paper's hyphenated name */
        return;
    }
    if (s[i] == '<' && typed_name(s + lx->pos, len)) {
        uint32_t end = typed_end(s, i, len == 4 && at(lx, lx->pos, "name"));
        if (end) {
            t->kind = TOK_TYPED;
            t->end = lx->pos = end;
            check_typed(lx, t, i);
            return;
        }
    }
    t->word = find_word(s + lx->pos, len);
    lx->pos = i;
}

static bool lex_punct_token(struct lexer *lx, struct token *t) {
    char c = lx->text[lx->pos];
    for (size_t i = 0; i < sizeof puncts / sizeof puncts[0]; i++) {
        if (puncts[i].text[0] != c ||
            strncmp(lx->text + lx->pos, puncts[i].text, puncts[i].len) != 0)
            continue;
        t->kind = puncts[i].kind;
        lx->pos += puncts[i].len;
        return true;
    }
    return false;
}

/* A run of one unexpected character is one token, so a line of them gives one message. */
static void lex_bad_token(struct lexer *lx, struct token *t) {
    uint32_t code, n = utf8_decode(lx->text + lx->pos, lx->len - lx->pos, &code);
    if (n == 0) n = 1;
    uint32_t first = lx->pos;
    do lx->pos += n;
    while (lx->pos + n <= lx->len && memcmp(lx->text + first, lx->text + lx->pos, n) == 0);
    t->kind = TOK_BAD;
    fail(t, LEX_CHARACTER, first, lx->pos);
}

struct token lex_next(struct lexer *lx) {
    struct token t = {.kind = TOK_EOF, .newline = lx->pos == 0};
    uint32_t open = 0;
    bool closed = skip_blank(lx, &t.newline, &open);
    t.start = lx->pos;
    char c = lx->text[lx->pos];
    if (!closed) {
        t.start = open;
        fail(&t, LEX_COMMENT_OPEN, open, open + 3);
    } else if (lx->pos >= lx->len) {
        t.kind = TOK_EOF;
    } else if (ascii_digit(c) || (c == '.' && ascii_digit(lx->text[lx->pos + 1]))) {
        lex_number_token(lx, &t);
    } else if (starts_name(c)) {
        lex_name_token(lx, &t);
    } else if (c == '"') {
        lex_string_token(lx, &t);
    } else if (!lex_punct_token(lx, &t)) {
        lex_bad_token(lx, &t);
    }
    t.end = lx->pos;
    return t;
}

struct token lex_query(struct lexer *lx, uint32_t *start, uint32_t *end) {
    struct token t;
    *start = lx->pos;
    for (int depth = 0;; depth += (t.kind == TOK_LPAREN) - (t.kind == TOK_RPAREN)) {
        t = lex_next(lx);
        bool ends = t.kind == TOK_COMMA || t.kind == TOK_RPAREN;
        if ((depth == 0 && ends) || t.kind == TOK_SEMI || t.kind == TOK_EOF) break;
    }
    *end = t.start;
    while (*start < *end && strchr(" \t\r\n\f", lx->text[*start])) ++*start;
    while (*end > *start && strchr(" \t\r\n\f", lx->text[*end - 1])) --*end;
    return t;
}
