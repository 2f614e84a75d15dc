/* SPDX-License-Identifier: Apache-2.0
 *
 * Prints a tree as source text that parses back to an equal tree. Operators are always in
 * parentheses, so no binding power is needed; names that are also keywords are in parentheses too,
 * which keeps them names.
 */
#include "base/ascii.h"
#include "base/buf.h"
#include "lang/ast.h"
#include "lang/lex.h"
#include <math.h>
#include <string.h>

static void print(const struct ast *a, struct buf *out);
static void print_statement(const struct ast *a, struct buf *out);

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

static void print_number(double x, struct buf *out) {
    if (x < 0) buf_puts(out, "(-");
    buf_number(out, fabs(x));
    if (x < 0) buf_putc(out, ')');
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

static void print_list(struct ast *const *kids, size_t n, struct buf *out) {
    for (size_t i = 0; i < n; i++) {
        if (i) buf_puts(out, ", ");
        print(kids[i], out);
    }
}

static void print_names(struct sym *const *names, uint32_t n, struct buf *out) {
    buf_putc(out, '(');
    for (uint32_t i = 0; i < n; i++) buf_printf(out, "%s%s", i ? ", " : "", names[i]->text);
    buf_putc(out, ')');
}

static bool is_builtin(const struct ast *a, const char *name) {
    return a->kind == AST_CALL && a->kids[0]->kind == AST_NAME && a->kids[0]->u.name.builtin &&
           strcmp(a->kids[0]->u.name.sym->text, name) == 0;
}

static bool print_operator(const struct ast *a, struct buf *out) {
    for (size_t i = 0; i < COUNT_OF(operators); i++) {
        if (!is_builtin(a, operators[i].fn) || a->n < 3) continue;
        buf_putc(out, '(');
        for (uint32_t k = 1; k < a->n; k++) {
            if (k > 1) buf_printf(out, " %s ", operators[i].op);
            print(a->kids[k], out);
        }
        buf_putc(out, ')');
        return true;
    }
    return false;
}

/* The items of _range(position, items...), with the ellipsis back in its place. */
static void print_range(const struct ast *a, struct buf *out) {
    uint32_t dots = (uint32_t)a->kids[1]->u.number;
    for (uint32_t i = 2; i < a->n; i++) {
        if (i > 2) buf_puts(out, ", ");
        if (i - 2 == dots) buf_puts(out, "..., ");
        print(a->kids[i], out);
    }
}

static void print_step(const struct ast *a, struct buf *out) {
    buf_putc(out, '/');
    if (is_builtin(a, "by_star")) {
        buf_putc(out, '*');
    } else if (is_builtin(a, "by_tag") || is_builtin(a, "by_tag_value")) {
        buf_printf(out, "?%s", a->kids[1]->kids[0]->u.name.sym->text);
        if (a->n == 3) buf_puts(out, "=="), print(a->kids[2], out);
    } else {
        buf_putc(out, '(');
        print(a, out);
        buf_putc(out, ')');
    }
}

static void print_path(const struct ast *a, struct buf *out) {
    if (is_builtin(a, "by_top")) return;
    print_path(a->kids[1], out);
    print_step(a->kids[2], out);
}

/* (a, b): a list of references */
static void print_values(const struct ast *a, struct buf *out) {
    buf_putc(out, '(');
    for (uint32_t i = 1; i < a->n; i++) {
        if (i > 1) buf_puts(out, ", ");
        print(a->kids[i]->kids[1], out);
    }
    buf_puts(out, a->n == 2 ? ",)" : ")");
}

static bool print_surface(const struct ast *a, struct buf *out) {
    if (print_operator(a, out)) return true;
    if (is_builtin(a, "lookup")) {
        buf_putc(out, '(');
        print(a->kids[1], out);
        buf_puts(out, ")[");
        print(a->kids[2], out);
        buf_putc(out, ']');
    } else if (is_builtin(a, "array") || is_builtin(a, "_range")) {
        buf_putc(out, '[');
        if (is_builtin(a, "array"))
            print_list(a->kids + 1, a->n - 1, out);
        else
            print_range(a, out);
        buf_putc(out, ']');
    } else if (is_builtin(a, "to_list") || is_builtin(a, "to_vector")) {
        buf_puts(out, is_builtin(a, "to_list") ? "list(" : "vector(");
        print_range(a->kids[1], out);
        buf_putc(out, ')');
    } else if (is_builtin(a, "list")) {
        print_values(a, out);
    } else if (is_builtin(a, "by_walk")) {
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
    bool bare = f->kind == AST_NAME;
    if (!bare) buf_putc(out, '(');
    if (bare)
        buf_puts(out, f->u.name.sym->text);
    else
        print(f, out);
    buf_puts(out, bare ? "(" : ")(");
    for (uint32_t i = 1; i < a->n; i++) {
        const struct sym *kw = a->u.call.kw ? a->u.call.kw[i - 1] : NULL;
        if (i > 1) buf_puts(out, ", ");
        if (kw) buf_printf(out, "%s%s", kw->text, a->u.call.kw_real[i - 1] ? "=" : ": ");
        print(a->kids[i], out);
    }
    buf_putc(out, ')');
}

static bool is_let(const struct ast *s) {
    return s->kind == AST_LET || s->kind == AST_LETREC;
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
    for (uint32_t i = 0; i + 1 < a->n; i++) statement |= !is_let(a->kids[i]);
    if (a->u.block.action && !statement) {
        buf_puts(out, "do(");
        print_statements(a, ", ", out);
        buf_putc(out, ')');
        return;
    }
    buf_puts(out, "{ ");
    print_statements(a, "; ", out);
    buf_puts(out, " }");
}

static void print_braced(const struct ast *a, struct buf *out) {
    buf_puts(out, "{ ");
    print(a, out);
    buf_puts(out, " }");
}

static void print_if(const struct ast *a, struct buf *out) {
    buf_puts(out, "if (");
    print(a->kids[0], out);
    buf_puts(out, ") ");
    print_braced(a->kids[1], out);
    buf_puts(out, " else ");
    print_braced(a->kids[2], out);
}

static void print_tag(const struct ast *a, struct buf *out) {
    buf_puts(out, a->kids[1] ? "tag(" : "tag(scope=");
    print(a->kids[0], out);
    buf_puts(out, ", ");
    if (a->kids[1]) {
        print(a->kids[1], out);
        buf_puts(out, ", ");
    }
    print(a->kids[2], out);
    buf_putc(out, ')');
}

static void print_wrapped(const char *before, const struct ast *a, const char *after,
                          struct buf *out) {
    buf_puts(out, before);
    print(a, out);
    buf_puts(out, after);
}

static void print_collect(const struct ast *a, struct buf *out) {
    buf_puts(out, "collect(");
    for (uint32_t i = 0; i < a->n; i++) {
        const struct sym *label = a->u.dir.names[i];
        if (i) buf_puts(out, ", ");
        if (label) buf_puts(out, "labelled(");
        print(a->kids[i], out);
        if (label) {
            buf_puts(out, ", ");
            print_string(label->text, label->len, out);
            buf_putc(out, ')');
        }
    }
    buf_putc(out, ')');
}

static void print_call_back(const struct ast *a, struct buf *out) {
    buf_puts(out, "call_back(");
    if (a->u.dir.label)
        print_string(a->u.dir.label->text, a->u.dir.label->len, out);
    else
        print(a->u.dir.label_expr, out);
    for (uint32_t i = 0; i < a->n; i++) print_wrapped(", ", a->kids[i], "", out);
    buf_putc(out, ')');
}

static void print_assume(const struct ast *a, struct buf *out) {
    buf_puts(out, "assume ");
    if (a->u.dir.name_expr)
        print_wrapped("$(", a->u.dir.name_expr, ")", out);
    else if (a->u.dir.n_names == 1)
        buf_puts(out, a->u.dir.names[0]->text);
    else
        print_names(a->u.dir.names, a->u.dir.n_names, out);
    print_wrapped(" = ", a->kids[0], "", out);
}

/* observe ((a, b)) = v: one pair of parentheses would be the call form observe(e, v) */
static void print_values_of(const char *word, const struct ast *model, struct buf *out) {
    buf_puts(out, word);
    print_wrapped("(", model, ")", out);
}

static void print_directive(const struct ast *a, struct buf *out) {
    static const char *const words[] = {
        [DIR_ASSUME] = "assume ", [DIR_OBSERVE] = "observe ", [DIR_PREDICT] = "predict ",
        [DIR_SAMPLE] = "sample ", [DIR_FORCE] = "force ",     [DIR_INFER] = "infer "};
    enum directive k = a->u.dir.kind;
    if (k == DIR_COLLECT) {
        print_collect(a, out);
    } else if (k == DIR_CALL_BACK) {
        print_call_back(a, out);
    } else if (k == DIR_SAMPLE_ALL || k == DIR_PREDICT_ALL || k == DIR_EXTRACT_STATS) {
        buf_puts(out, k == DIR_SAMPLE_ALL    ? "sample_all("
                      : k == DIR_PREDICT_ALL ? "predict_all("
                                             : "extract_stats(");
        print(a->kids[0], out);
        if (a->u.dir.label) buf_printf(out, ", %s", a->u.dir.label->text);
        if (a->u.dir.label_expr) print_wrapped(", $(", a->u.dir.label_expr, ")", out);
        buf_putc(out, ')');
    } else {
        if (a->u.dir.label) buf_printf(out, "%s: ", a->u.dir.label->text);
        if (a->u.dir.label_expr) print_wrapped("$(", a->u.dir.label_expr, "): ", out);
        if (k == DIR_ASSUME)
            print_assume(a, out);
        else if (k != DIR_INFER && is_builtin(a->kids[0]->kids[0], "list"))
            print_values_of(words[k], a->kids[0], out);
        else
            print_wrapped(words[k], a->kids[0], "", out);
        if (a->n == 2) print_wrapped(" = ", a->kids[1], "", out);
    }
}

static void print_letrec(const struct ast *a, struct buf *out) {
    for (uint32_t i = 0; i < a->n; i++) {
        buf_printf(out, "%s%s = ", i ? "; and " : "letrec ", a->u.bind.names[i]->text);
        print(a->kids[i], out);
    }
}

static void print_bound(const char *word, const struct ast *a, const char *op, struct buf *out) {
    buf_puts(out, word);
    if (a->u.bind.n_names == 1)
        buf_puts(out, a->u.bind.names[0]->text);
    else
        print_names(a->u.bind.names, a->u.bind.n_names, out);
    print_wrapped(op, a->kids[0], "", out);
}

static void print_for(const struct ast *a, struct buf *out) {
    const char *v = a->u.bind.names[0]->text;
    buf_printf(out, "for (%s = ", v);
    print(a->kids[0], out);
    print_wrapped("; ", a->kids[1], "; ", out);
    buf_printf(out, "%s = ", v);
    print(a->kids[2], out);
    buf_puts(out, ") { ");
    print_statements(a->kids[3], "; ", out);
    buf_puts(out, " }");
}

static void print_statement(const struct ast *a, struct buf *out) {
    switch (a->kind) {
    case AST_LET: print_bound("let ", a, " = ", out); break;
    case AST_BIND: print_bound("", a, " <- ", out); break;
    case AST_LETREC: print_letrec(a, out); break;
    case AST_DEFINE: print_bound(a->u.bind.n_names == 1 ? "define " : "let ", a, " = ", out); break;
    case AST_FOR: print_for(a, out); break;
    case AST_DIRECTIVE: print_directive(a, out); break;
    case AST_LOAD:
        buf_puts(out, "load ");
        print_string(a->u.string.text, a->u.string.len, out);
        break;
    default: print(a, out);
    }
}

static void print_lambda(const struct ast *a, struct buf *out) {
    buf_puts(out, "proc");
    print_names(a->u.lambda.params, a->u.lambda.n_params, out);
    buf_putc(out, ' ');
    print_braced(a->kids[0], out);
}

static void print_name(const struct ast *a, struct buf *out) {
    const char *s = a->u.name.sym->text;
    bool keyword = is_keyword(s);
    buf_printf(out, keyword ? "(%s)" : "%s", s);
}

static void print(const struct ast *a, struct buf *out) {
    switch (a->kind) {
    case AST_NUMBER: print_number(a->u.number, out); break;
    case AST_ATOM: buf_printf(out, "atom<%.0f>", a->u.number); break;
    case AST_STRING: print_string(a->u.string.text, a->u.string.len, out); break;
    case AST_BOOL: buf_puts(out, a->u.boolean ? "true" : "false"); break;
    case AST_NAME: print_name(a, out); break;
    case AST_CALL: print_call(a, out); break;
    case AST_LAMBDA: print_lambda(a, out); break;
    case AST_IF: print_if(a, out); break;
    case AST_BLOCK: print_block(a, out); break;
    case AST_TAG: print_tag(a, out); break;
    case AST_TAG_OUT:
        print_wrapped("tag_exclude(", a->kids[0], ", ", out);
        print_wrapped("", a->kids[1], ")", out);
        break;
    case AST_QUOTE: print_wrapped("quote(", a->kids[0], ")", out); break;
    case AST_QUASI: print_wrapped("quasiquote(", a->kids[0], ")", out); break;
    case AST_UNQUOTE:
        print_wrapped(a->u.unquote.constant ? "$(" : "unquote(", a->kids[0], ")", out);
        break;
    case AST_MODEL: print(a->kids[0], out); break;
    case AST_PROGRAM:
        for (uint32_t i = 0; i < a->n; i++) {
            print_statement(a->kids[i], out);
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

void ast_print(const struct ast *a, struct buf *out) {
    print(a, out);
}
