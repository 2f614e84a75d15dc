/* SPDX-License-Identifier: Apache-2.0
 *
 * The lexer: a cursor over one unit's text. lex_next is a function of the cursor alone, so
 * lookahead copies the struct. A token carries its error, and the parser reports it when it takes
 * the token. */
#ifndef LANG_LEX_H
#define LANG_LEX_H
#include "base/buf.h"
#include "base/utf8.h"
#include "language/lang/diag.h"
#include "language/lang/source.h"
#include <stdbool.h>

/* X(enum name, text): punctuation, in the order tried (longest first). */
#define LEX_PUNCT(X)                                                                               \
    X(TOK_ELLIPSIS, "...")                                                                         \
    X(TOK_QUASI_OPEN, "[|")                                                                        \
    X(TOK_QUASI_CLOSE, "|]")                                                                       \
    X(TOK_BIND, "<-")                                                                              \
    X(TOK_ARROW, "->")                                                                             \
    X(TOK_OR, "||")                                                                                \
    X(TOK_AND, "&&")                                                                               \
    X(TOK_EQ, "==")                                                                                \
    X(TOK_NEQ, "!=")                                                                               \
    X(TOK_LE, "<=")                                                                                \
    X(TOK_GE, ">=")                                                                                \
    X(TOK_POW, "**")                                                                               \
    X(TOK_INC, "++")                                                                               \
    X(TOK_LPAREN, "(")                                                                             \
    X(TOK_RPAREN, ")")                                                                             \
    X(TOK_COMMA, ",")                                                                              \
    X(TOK_COLON, ":")                                                                              \
    X(TOK_SEMI, ";")                                                                               \
    X(TOK_LBRACKET, "[")                                                                           \
    X(TOK_RBRACKET, "]")                                                                           \
    X(TOK_LBRACE, "{")                                                                             \
    X(TOK_RBRACE, "}")                                                                             \
    X(TOK_DOLLAR, "$")                                                                             \
    X(TOK_QUERY, "?")                                                                              \
    X(TOK_ASSIGN, "=")                                                                             \
    X(TOK_HASH, "#")                                                                               \
    X(TOK_LT, "<")                                                                                 \
    X(TOK_GT, ">")                                                                                 \
    X(TOK_PLUS, "+")                                                                               \
    X(TOK_MINUS, "-")                                                                              \
    X(TOK_SLASH, "/")                                                                              \
    X(TOK_STAR, "*")

enum tok_kind {
    TOK_EOF,
    TOK_NAME,
    TOK_NUMBER,
    TOK_STRING,
    TOK_TYPED, /* integer<3>: the whole of it */
    TOK_BAD,   /* characters that start no token; the reason is in `err` */
#define X(name, text) name,
    LEX_PUNCT(X)
#undef X
        TOK_KIND_COUNT
};

/* Keywords; the lexer looks a word up once, ignoring case. */
#define LEX_WORDS(X)                                                                               \
    X(WORD_ASSUME, "assume")                                                                       \
    X(WORD_OBSERVE, "observe")                                                                     \
    X(WORD_PREDICT, "predict")                                                                     \
    X(WORD_SAMPLE, "sample")                                                                       \
    X(WORD_FORCE, "force")                                                                         \
    X(WORD_INFER, "infer")                                                                         \
    X(WORD_DEFINE, "define")                                                                       \
    X(WORD_LOAD, "load")                                                                           \
    X(WORD_FOR, "for")                                                                             \
    X(WORD_IF, "if")                                                                               \
    X(WORD_ELSE, "else")                                                                           \
    X(WORD_PROC, "proc")                                                                           \
    X(WORD_LET, "let")                                                                             \
    X(WORD_LETREC, "letrec")                                                                       \
    X(WORD_LAMBDA, "lambda")                                                                       \
    X(WORD_TRUE, "true")                                                                           \
    X(WORD_FALSE, "false")                                                                         \
    X(WORD_AND, "and")                                                                             \
    X(WORD_OR, "or")                                                                               \
    X(WORD_ADD, "add")                                                                             \
    X(WORD_SUB, "sub")                                                                             \
    X(WORD_MUL, "mul")                                                                             \
    X(WORD_DIV, "div")                                                                             \
    X(WORD_POW, "pow")                                                                             \
    X(WORD_EQ, "eq")                                                                               \
    X(WORD_NEQ, "neq")                                                                             \
    X(WORD_LT, "lt")                                                                               \
    X(WORD_LE, "le")                                                                               \
    X(WORD_GT, "gt")                                                                               \
    X(WORD_GE, "ge")

enum tok_word {
    WORD_NONE,
#define X(name, text) name,
    LEX_WORDS(X)
#undef X
        WORD_COUNT
};

/* Why a token is bad. */
enum lex_error {
    LEX_OK,
    LEX_CHARACTER,
    LEX_STRING_OPEN,
    LEX_COMMENT_OPEN,
    LEX_ESCAPE,
    LEX_NUMBER_LETTER, /* 12abc */
    LEX_NUMBER_HEX,
    LEX_NUMBER_RANGE,
    LEX_TYPED_VALUE /* integer<2.5> */
};

struct token {
    enum tok_kind kind;
    enum tok_word word; /* TOK_NAME: which keyword it may be */
    bool newline;       /* first token of its line */
    enum lex_error err;
    uint32_t start, end;
    uint32_t err_start, err_end; /* the wrong part */
};

struct lexer {
    const char *text;
    uint32_t len, pos;
};

void lex_init(struct lexer *lx, const char *text, uint32_t len);
struct token lex_next(struct lexer *lx);
/* The query of prob(...), which is text: from the lexer's position to the token that ends it, a
 * comma or a parenthesis not nested in another; without surrounding blanks. */
struct token lex_query(struct lexer *lx, uint32_t *start, uint32_t *end);

/* The end of the comment at `at`, at most `limit`; `at` if no comment begins there. */
uint32_t lex_comment_end(const char *text, uint32_t at, uint32_t limit);

/* The value of a TOK_NUMBER. */
double lex_number(const struct lexer *lx, const struct token *t);
/* Appends the value of a TOK_STRING. */
void lex_string(const struct lexer *lx, const struct token *t, struct buf *out);
const char *lex_word_text(enum tok_word w);
const char *lex_kind_text(enum tok_kind k); /* "`(`", "a name", ... for messages */
#endif
