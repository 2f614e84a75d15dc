/* SPDX-License-Identifier: Apache-2.0
 *
 * What people write who come from other languages, and how it is written here. Only called after an
 * error was reported: a hint adds its help line and decides nothing.
 */
#include "lang/parse.h"
#include <string.h>

/* Words that start something elsewhere. */
static const struct {
    const char *words, *help;
} foreign_words[] = {
    {"def function fn fun", "a procedure is written define f = proc(x) { ... }"},
    {"var const set", "a name is bound by define x = e, inside a block by let x = e"},
    {"while for", "loops are for (n = 0; n < k; n++) { ... } and repeat(k, action)"},
    {"then", "a condition is written if (c) { a } else { b }"},
    {"elif elsif", "a condition goes on with else if (c) { ... }"},
    {"import include", "another program is run by load \"file.vnts\""},
};

static const char *of_word(const char *word, size_t len) {
    for (size_t i = 0; i < COUNT_OF(foreign_words); i++) {
        const char *w = foreign_words[i].words;
        for (size_t n; *w; w += n + (w[n] == ' ')) {
            n = strcspn(w, " ");
            if (n == len && memcmp(w, word, n) == 0) return foreign_words[i].help;
        }
    }
    return NULL;
}

static const char *of_name(const struct ast *a) {
    return a && a->kind == AST_NAME ? of_word(a->u.name.sym->text, a->u.name.sym->len) : NULL;
}

/* The last character before the current token that is not white space. */
static char char_before(const struct parser *p) {
    uint32_t i = tok(p)->start;
    while (i > 0 && strchr(" \t\r\n", p->lx.text[i - 1])) i--;
    return i > 0 ? p->lx.text[i - 1] : '\0';
}

static const char *of_token(const struct parser *p, const struct ast *before) {
    const struct token *t = tok(p);
    char last = char_before(p);
    switch (t->kind) {
    case TOK_NAME: return of_word(p->lx.text + t->start, t->end - t->start);
    case TOK_HASH: return before ? NULL : "a comment starts with //";
    case TOK_QUERY: return "a condition is written if (c) { a } else { b }";
    case TOK_COLON: return "a name is bound by =";
    case TOK_COMMA: return "an array is written [a, b], several values (a, b)";
    case TOK_ASSIGN:
        return last && strchr("+-*/:", last) ? "names are bound once and never changed: y = x + 1"
                                             : NULL;
    default: return NULL;
    }
}

void hint(struct parser *p, const struct ast *before) {
    const char *help = of_name(before);
    if (!help && before && before->kind == AST_CALL) help = of_name(before->kids[0]);
    if (!help && before && strncmp(p->lx.text + before->span.start, "/*", 2) == 0)
        help = "comments are // ... and /** ... **/";
    if (!help) help = of_token(p, before);
    if (help) {
        diag_set_help(p->diags, "%s", help);
    } else if (before && before->kind == AST_NAME && starts_expr(tok(p)) && !tok(p)->newline) {
        diag_set_help(p->diags, "a call has its arguments in parentheses: %s(...)",
                      before->u.name.sym->text);
    }
}
