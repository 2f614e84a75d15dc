/* SPDX-License-Identifier: Apache-2.0
 *
 * Help for habits from other languages. Called only after a reported error: a hint adds a help line
 * and does not affect parsing. */
#include "language/lang/elsewhere.h"
#include "language/lang/parse.h"
#include <string.h>

static const char *of_name(const struct ast *a) {
    return a && a->kind == AST_NAME ? foreign_word(a->u.name.sym->text, a->u.name.sym->len) : NULL;
}

/* The last non-blank character before the current token. */
static char char_before(const struct parser *p) {
    uint32_t i = tok(p)->start;
    while (i > 0 && strchr(" \t\r\n", p->lx.text[i - 1])) i--;
    return i > 0 ? p->lx.text[i - 1] : '\0';
}

static const char *of_token(const struct parser *p, const struct ast *before) {
    const struct token *t = tok(p);
    char last = char_before(p);
    switch (t->kind) {
    case TOK_NAME: return foreign_word(p->lx.text + t->start, t->end - t->start);
    case TOK_HASH: return before ? NULL : "a comment starts with //";
    case TOK_QUERY: return "a condition is written if (c) { a } else { b }";
    case TOK_COLON: return "a name is bound by =";
    case TOK_COMMA: return "an array is written [a, b], several values (a, b)";
    case TOK_ASSIGN:
        return last && strchr("+-*/:", last)
                   ? "names are bound once and never changed: y = x + 1; target += e is factor(e)"
                   : NULL;
    default: return NULL;
    }
}

/* For a binding statement, the bound value, which the text continued. */
static const struct ast *value_of(const struct ast *a) {
    while (a && (a->kind == AST_DEFINE || a->kind == AST_LET || a->kind == AST_MODEL ||
                 (a->kind == AST_DIRECTIVE && a->u.dir.kind == DIR_ASSUME)))
        a = a->n == 1 ? a->kids[0] : NULL;
    return a;
}

void hint(struct parser *p, const struct ast *before) {
    const struct ast *e = value_of(before);
    const char *help = of_name(e);
    if (!help && e && e->kind == AST_CALL) help = of_name(e->kids[0]);
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
