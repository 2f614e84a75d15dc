/* SPDX-License-Identifier: Apache-2.0
 *
 * Prints a tree as source text that parses back to an equal tree. Operators are always in
 * parentheses, so no binding power is needed; names that are also keywords are in parentheses too,
 * which keeps them names.
 */
#include "base/ascii.h"
#include "base/buf.h"
#include "language/lang/ast.h"
#include "language/lang/lex.h"
#include <math.h>
#include <stdarg.h>
#include <string.h>

static const struct {
    const char *fn, *op;
} operators[] = {{"add", "+"},  {"sub", "-"}, {"mul", "*"},  {"div", "/"},
                 {"pow", "**"}, {"eq", "=="}, {"neq", "!="}, {"lt", "<"},
                 {"lte", "<="}, {"gt", ">"},  {"gte", ">="}};

static bool is_keyword(const char *s) {
    for (int w = 1; w < WORD_COUNT; w++)
        if (ascii_casecmp(lex_word_text((enum tok_word)w), s) == 0) return true;
    return false;
}

static void print_string(const char *s, uint32_t n, struct buf *out) {
    buf_putc(out, '"');
    for (uint32_t i = 0; i < n; i++) {
        unsigned char c = (unsigned char)s[i];
        if (c == '"' || c == '\\')
            buf_printf(out, "\\%c", c);
        else if (c < 0x20)
            buf_printf(out, "\\%03o", c);
        else
            buf_putc(out, (char)c);
    }
    buf_putc(out, '"');
}

static void print_statement(const struct ast *a, struct buf *out);
static void print_items(const struct ast *a, struct buf *out);

/* Text with %s (text), %q (a symbol as a string), %a (a tree) and %i (the items of a call) in it.
 */
static void put(struct buf *out, const char *form, ...) {
    va_list ap;
    va_start(ap, form);
    for (; *form; form++) {
        if (*form != '%') {
            buf_putc(out, *form);
        } else if (*++form == 'a') {
            ast_print(va_arg(ap, const struct ast *), out);
        } else if (*form == 'i') {
            print_items(va_arg(ap, const struct ast *), out);
        } else if (*form == 's') {
            buf_puts(out, va_arg(ap, const char *));
        } else {
            const struct sym *s = va_arg(ap, const struct sym *);
            print_string(s->text, s->len, out);
        }
    }
    va_end(ap);
}

/* One name, or several in parentheses. */
static void print_names(struct sym *const *names, uint32_t n, bool bare, struct buf *out) {
    if (!bare) buf_putc(out, '(');
    for (uint32_t i = 0; i < n; i++) put(out, "%s%s", i ? ", " : "", names[i]->text);
    if (!bare) buf_putc(out, ')');
}

bool ast_calls(const struct ast *a, const char *builtin) {
    return a->kind == AST_CALL && a->kids[0]->kind == AST_NAME && a->kids[0]->u.name.builtin &&
           strcmp(a->kids[0]->u.name.sym->text, builtin) == 0;
}

/* The arguments; those of _range(position, items...) with the ellipsis back in its place. */
static void print_items(const struct ast *a, struct buf *out) {
    bool range = ast_calls(a, "_range");
    uint32_t from = range ? 2 : 1, dots = range ? (uint32_t)a->kids[1]->u.number : UINT32_MAX;
    for (uint32_t i = from; i < a->n; i++)
        put(out, "%s%s%a", i > from ? ", " : "", i - from == dots ? "..., " : "", a->kids[i]);
}

static bool print_operator(const struct ast *a, struct buf *out) {
    for (size_t i = 0; i < COUNT_OF(operators); i++) {
        if (!ast_calls(a, operators[i].fn) || a->n < 3) continue;
        put(out, "(%a", a->kids[1]);
        for (uint32_t k = 2; k < a->n; k++) put(out, " %s %a", operators[i].op, a->kids[k]);
        buf_putc(out, ')');
        return true;
    }
    return false;
}

static void print_path(const struct ast *a, struct buf *out) {
    if (ast_calls(a, "by_top")) return;
    const struct ast *step = a->kids[2];
    print_path(a->kids[1], out);
    if (ast_calls(step, "by_star")) {
        buf_puts(out, "/*");
    } else if (ast_calls(step, "by_tag") || ast_calls(step, "by_tag_value")) {
        put(out, "/?%s", step->kids[1]->kids[0]->u.name.sym->text);
        if (step->n == 3) put(out, "==%a", step->kids[2]);
    } else {
        put(out, "/(%a)", step);
    }
}

/* (a, b): a list of references */
static void print_values(const struct ast *a, struct buf *out) {
    buf_putc(out, '(');
    for (uint32_t i = 1; i < a->n; i++) put(out, "%s%a", i > 1 ? ", " : "", a->kids[i]->kids[1]);
    buf_puts(out, a->n == 2 ? ",)" : ")");
}

static void print_slice(const struct ast *from, const struct ast *to, struct buf *out) {
    put(out, "%a:", from);
    if (to) ast_print(to, out);
}

/* e[i, j]; a slice among several is arange(from, to), to the size of e where it has no end */
static void print_indices(const struct ast *a, struct buf *out) {
    for (uint32_t k = 2; k < a->n; k++) {
        const struct ast *i = a->kids[k], *to = ast_calls(i, "arange") ? i->kids[2] : NULL;
        if (k > 2) buf_puts(out, ", ");
        if (to)
            print_slice(i->kids[1], ast_calls(to, "size") || ast_calls(to, "cols") ? NULL : to,
                        out);
        else
            ast_print(i, out);
    }
}

static bool print_surface(const struct ast *a, struct buf *out) {
    if (print_operator(a, out)) return true;
    if (ast_calls(a, "lookup") || ast_calls(a, "subsequence")) {
        put(out, "(%a)[", a->kids[1]);
        if (ast_calls(a, "lookup"))
            print_indices(a, out);
        else
            print_slice(a->kids[2], a->n > 3 ? a->kids[3] : NULL, out);
        buf_putc(out, ']');
    } else if (ast_calls(a, "array") || ast_calls(a, "_range")) {
        put(out, "[%i]", a);
    } else if (ast_calls(a, "to_list") || ast_calls(a, "to_vector")) {
        put(out, ast_calls(a, "to_list") ? "list(%i)" : "vector(%i)", a->kids[1]);
    } else if (ast_calls(a, "list")) {
        print_values(a, out);
    } else if (ast_calls(a, "by_walk")) {
        buf_putc(out, '(');
        print_path(a, out);
        buf_putc(out, ')');
    } else {
        return false;
    }
    return true;
}

static void print_call(const struct ast *a, struct buf *out) {
    const struct ast *f = a->kids[0];
    if (print_surface(a, out)) return;
    if (f->kind == AST_NAME)
        put(out, "%s(", f->u.name.sym->text);
    else
        put(out, "(%a)(", f);
    for (uint32_t i = 1; i < a->n; i++) {
        const struct sym *kw = a->u.call.kw ? a->u.call.kw[i - 1] : NULL;
        if (i > 1) buf_puts(out, ", ");
        if (kw) put(out, "%s%s", kw->text, a->u.call.kw_real[i - 1] ? "=" : ": ");
        ast_print(a->kids[i], out);
    }
    buf_putc(out, ')');
}

static void print_statements(const struct ast *a, const char *separator, struct buf *out) {
    for (uint32_t i = 0; i < a->n; i++) {
        if (i) buf_puts(out, separator);
        print_statement(a->kids[i], out);
    }
}

/* Braces; or do(...), for actions that braces would read as a plain value. */
static void print_block(const struct ast *a, struct buf *out) {
    bool statement = false;
    for (uint32_t i = 0; i + 1 < a->n; i++)
        statement |= a->kids[i]->kind != AST_LET && a->kids[i]->kind != AST_LETREC;
    bool call = a->u.block.action && !statement;
    buf_puts(out, call ? "do(" : "{ ");
    print_statements(a, call ? ", " : "; ", out);
    buf_puts(out, call ? ")" : " }");
}

static void print_collect(const struct ast *a, struct buf *out) {
    buf_puts(out, "collect(");
    for (uint32_t i = 0; i < a->n; i++) {
        const struct sym *label = a->u.dir.names[i];
        if (i) buf_puts(out, ", ");
        if (label)
            put(out, "labelled(%a, %q)", a->kids[i], label);
        else
            ast_print(a->kids[i], out);
    }
    buf_putc(out, ')');
}

static void print_assume(const struct ast *a, struct buf *out) {
    buf_puts(out, "assume ");
    if (a->u.dir.name_expr)
        put(out, "$(%a)", a->u.dir.name_expr);
    else
        print_names(a->u.dir.names, a->u.dir.n_names, a->u.dir.n_names == 1, out);
    put(out, " = %a", a->kids[0]);
}

/* The forms that look like calls. */
static bool print_call_form(const struct ast *a, struct buf *out) {
    static const char *const words[] = {[DIR_SAMPLE_ALL] = "sample_all",
                                        [DIR_PREDICT_ALL] = "predict_all",
                                        [DIR_EXTRACT_STATS] = "extract_stats",
                                        [DIR_EXACT] = "exact_posterior"};
    const struct sym *label = a->u.dir.label;
    switch (a->u.dir.kind) {
    case DIR_COLLECT: print_collect(a, out); return true;
    case DIR_CALL_BACK:
        put(out, label ? "call_back(%q" : "call_back(%a",
            label ? (const void *)label : a->u.dir.label_expr);
        for (uint32_t i = 0; i < a->n; i++) put(out, ", %a", a->kids[i]);
        buf_putc(out, ')');
        return true;
    case DIR_SAMPLE_ALL:
    case DIR_PREDICT_ALL:
    case DIR_EXTRACT_STATS:
    case DIR_EXACT:
        put(out, "%s(%a", words[a->u.dir.kind], a->kids[0]);
        if (label) put(out, ", %s", label->text);
        if (a->u.dir.label_expr) put(out, ", $(%a)", a->u.dir.label_expr);
        buf_putc(out, ')');
        return true;
    default: return false;
    }
}

static void print_directive(const struct ast *a, struct buf *out) {
    enum directive k = a->u.dir.kind;
    if (print_call_form(a, out)) return;
    if (a->u.dir.label) put(out, "%s: ", a->u.dir.label->text);
    if (a->u.dir.label_expr) put(out, "$(%a): ", a->u.dir.label_expr);
    if (k == DIR_ASSUME) {
        print_assume(a, out);
        return;
    }
    /* observe ((a, b)) = v: one pair of parentheses would be the call form observe(e, v) */
    bool values = k != DIR_INFER && ast_calls(a->kids[0]->kids[0], "list");
    put(out, values ? "%s (%a)" : "%s %a", lex_word_text((enum tok_word)(WORD_ASSUME + (int)k)),
        a->kids[0]);
    if (a->n == 2) put(out, " = %a", a->kids[1]);
}

static void print_bound(const char *word, const struct ast *a, const char *op, struct buf *out) {
    buf_puts(out, word);
    print_names(a->u.bind.names, a->u.bind.n_names, a->u.bind.n_names == 1, out);
    put(out, "%s%a", op, a->kids[0]);
}

static void print_statement(const struct ast *a, struct buf *out) {
    switch (a->kind) {
    case AST_LET: print_bound("let ", a, " = ", out); break;
    case AST_BIND: print_bound("", a, " <- ", out); break;
    case AST_DEFINE: print_bound(a->u.bind.n_names == 1 ? "define " : "let ", a, " = ", out); break;
    case AST_DIRECTIVE: print_directive(a, out); break;
    case AST_LETREC:
        for (uint32_t i = 0; i < a->n; i++)
            put(out, "%s%s = %a", i ? "; and " : "letrec ", a->u.bind.names[i]->text, a->kids[i]);
        break;
    case AST_FOR: {
        const char *v = a->u.bind.names[0]->text;
        put(out, "for (%s = %a; %a; %s = %a) { ", v, a->kids[0], a->kids[1], v, a->kids[2]);
        print_statements(a->kids[3], "; ", out);
        buf_puts(out, " }");
        break;
    }
    case AST_LOAD:
        buf_puts(out, "load ");
        print_string(a->u.string.text, a->u.string.len, out);
        break;
    default: ast_print(a, out);
    }
}

static void print_number(double x, struct buf *out) {
    if (x < 0) buf_puts(out, "(-");
    buf_number(out, fabs(x));
    if (x < 0) buf_putc(out, ')');
}

void ast_print(const struct ast *a, struct buf *out) {
    struct ast *const *kids = a->kids;
    switch (a->kind) {
    case AST_NUMBER: print_number(a->u.number, out); break;
    case AST_ATOM: buf_printf(out, "atom<%.0f>", a->u.number); break;
    case AST_STRING: print_string(a->u.string.text, a->u.string.len, out); break;
    case AST_BOOL: buf_puts(out, a->u.boolean ? "true" : "false"); break;
    case AST_NAME:
        put(out, is_keyword(a->u.name.sym->text) ? "(%s)" : "%s", a->u.name.sym->text);
        break;
    case AST_CALL: print_call(a, out); break;
    case AST_LAMBDA:
        buf_puts(out, "proc");
        print_names(a->u.lambda.params, a->u.lambda.n_params, false, out);
        put(out, " { %a }", kids[0]);
        break;
    case AST_IF: put(out, "if (%a) { %a } else { %a }", kids[0], kids[1], kids[2]); break;
    case AST_BLOCK: print_block(a, out); break;
    case AST_TAG:
        if (kids[1])
            put(out, "tag(%a, %a, %a)", kids[0], kids[1], kids[2]);
        else
            put(out, "tag(scope=%a, %a)", kids[0], kids[2]);
        break;
    case AST_TAG_OUT: put(out, "tag_exclude(%a, %a)", kids[0], kids[1]); break;
    case AST_QUOTE: put(out, "quote(%a)", kids[0]); break;
    case AST_QUASI: put(out, "quasiquote(%a)", kids[0]); break;
    case AST_UNQUOTE: put(out, a->u.unquote.constant ? "$(%a)" : "unquote(%a)", kids[0]); break;
    case AST_MODEL: ast_print(kids[0], out); break;
    case AST_PROGRAM:
        for (uint32_t i = 0; i < a->n; i++) {
            print_statement(kids[i], out);
            buf_puts(out, ";\n");
        }
        break;
    case AST_DIRECTIVE:
        buf_putc(out, '(');
        print_directive(a, out);
        buf_putc(out, ')');
        break;
    default: /* a loop that is the value of a block */
        buf_puts(out, "{ ");
        print_statement(a, out);
        buf_puts(out, " }");
    }
}
