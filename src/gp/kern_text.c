/* SPDX-License-Identifier: Apache-2.0
 *
 * Kernels as text: a printer and a recursive-descent parser that read each other's output.
 *
 *   LIN(sf=1.2) + SE(sf=0.5, l=0.3) * PER(sf=1, p=12, l=0.7) + WN(sigma=0.1)
 *   4 * gp_cov_se(l2=0.64)      SE[0,2](sf=1, l=[0.3, 0.5])      CP(LIN, SE(l=2), tau=1988, s=0.5)
 */
#include "gp/kern_text.h"
#include "gp/kern_tree.h"

#include "base/ascii.h"
#include "base/mem.h"
#include "base/number.h"
#include "base/vec.h"

#include <string.h>

/* ---- printing ---- */

void kern_print_columns(const struct kern *k, struct buf *out) {
    if (!k->ncol || (k->op == KERN_CHANGE && k->col[0] == 0)) return;
    buf_putc(out, '[');
    for (size_t i = 0; i < k->ncol; i++) buf_printf(out, i ? ",%d" : "%d", k->col[i]);
    buf_putc(out, ']');
}

static void print_params(const struct kern *k, struct buf *out, const char *sep) {
    for (size_t p = 0; p < k->cls->npar; p++) {
        bool list = k->cls->par[p].vector && k->ard > 1;
        buf_printf(out, "%s%s=%s", sep, k->cls->par[p].name, list ? "[" : "");
        sep = ", ";
        for (size_t c = 0; c < (list ? k->ard : 1); c++) {
            if (c) buf_puts(out, ", ");
            buf_number(out, kern_par(k, p, (int)c));
        }
        if (list) buf_putc(out, ']');
    }
}

static void print_joined(const struct kern *k, struct buf *out, const char *op) {
    for (size_t i = 0; i < k->nkids; i++) {
        bool paren = k->op == KERN_PRODUCT && k->kid[i]->op == KERN_SUM;
        if (i) buf_puts(out, op);
        if (paren) buf_putc(out, '(');
        kern_print(k->kid[i], out);
        if (paren) buf_putc(out, ')');
    }
}

void kern_print(const struct kern *k, struct buf *out) {
    switch (k->op) {
    case KERN_SUM: print_joined(k, out, " + "); return;
    case KERN_PRODUCT: print_joined(k, out, " * "); return;
    case KERN_CALLBACK: buf_puts(out, k->label); return;
    default: break;
    }
    if (k->cls->amp == KERN_AMP_LINEAR && !k->ncol) {
        buf_number(out, k->par[0]);
        return;
    }
    buf_puts(out, k->cls->name);
    kern_print_columns(k, out);
    buf_putc(out, '(');
    if (k->op == KERN_CHANGE) {
        kern_print(k->kid[0], out);
        buf_puts(out, ", ");
        kern_print(k->kid[1], out);
    }
    print_params(k, out, k->op == KERN_CHANGE ? ", " : "");
    buf_putc(out, ')');
}

/* ---- parsing ---- */

#define MAX_COLS 64
struct args { /* what stood between the parentheses of one kernel */
    const char *name[KERN_MAX_PAR];
    size_t name_len[KERN_MAX_PAR]; /* 0: positional */
    double value[KERN_MAX_PAR][MAX_COLS];
    size_t count[KERN_MAX_PAR], n;
    int col[MAX_COLS];
    size_t ncol;
    struct kern *kid[2];
    size_t nkids;
};

void *kern_fail(struct kern_reader *p, const char *fmt, const char *what) {
    if (p->why.len) return NULL;
    buf_printf(&p->why, "column %d: ", (int)(p->at - p->text) + 1);
    buf_printf(&p->why, fmt, what);
    return NULL;
}

char kern_peek(struct kern_reader *p) {
    while (ascii_space(*p->at)) p->at++;
    return *p->at;
}

bool kern_accept(struct kern_reader *p, char c) {
    if (kern_peek(p) != c) return false;
    p->at++;
    return true;
}

bool kern_expect(struct kern_reader *p, char c) {
    char what[4] = {'\'', c, '\'', 0};
    if (kern_accept(p, c)) return true;
    kern_fail(p, "expected %s", what);
    return false;
}

static bool number(struct kern_reader *p, double *v) {
    char c = kern_peek(p), *end;
    if (!ascii_digit(c) && c != '-' && c != '+' && c != '.') {
        kern_fail(p, "expected %s", "a number");
        return false;
    }
    *v = number_read(p->at, &end);
    if (end == p->at) kern_fail(p, "expected %s", "a number");
    p->at = end;
    return p->why.len == 0;
}

size_t kern_word(struct kern_reader *p) {
    size_t n = 0;
    kern_peek(p);
    if (!ascii_alpha(*p->at) && *p->at != '_') return 0;
    while (ascii_name(p->at[n])) n++;
    return n;
}

/* list := '[' number { ',' number } ']'   (the bracket is already taken) */
static size_t number_list(struct kern_reader *p, double *v) {
    size_t n = 0;
    do {
        if (n == MAX_COLS) return kern_fail(p, "%s", "a list of more than 64 numbers"), 0;
        if (!number(p, &v[n++])) return 0;
    } while (kern_accept(p, ','));
    return kern_expect(p, ']') ? n : 0;
}

static bool set_columns(struct kern_reader *p, struct args *a, const double *v, size_t n) {
    for (size_t i = 0; i < n; i++) {
        if (!(v[i] >= 0 && v[i] < 1e6) || v[i] != (int)v[i])
            return kern_fail(p, "%s", "input columns are whole numbers from 0"), false;
        a->col[i] = (int)v[i];
    }
    a->ncol = n;
    return true;
}

/* arg := [NAME '='] (number | list) */
static bool parse_arg(struct kern_reader *p, struct args *a) {
    double v[MAX_COLS];
    size_t len = kern_word(p), n = 1;
    const char *name = p->at;
    if (len) {
        p->at += len;
        if (!kern_expect(p, '=')) return false;
    }
    if (kern_accept(p, '['))
        n = number_list(p, v);
    else if (!number(p, v))
        return false;
    if (p->why.len || n == 0) return false;
    if (len == 4 && memcmp(name, "dims", 4) == 0) return set_columns(p, a, v, n);
    if (a->n == KERN_MAX_PAR) return kern_fail(p, "%s", "too many parameters"), false;
    a->name[a->n] = name;
    a->name_len[a->n] = len;
    memcpy(a->value[a->n], v, n * sizeof *v);
    a->count[a->n++] = n;
    return true;
}

/* Place of argument i among the row's parameters, or -1. */
static int slot(const struct kern_class *row, const struct args *a, size_t i) {
    if (!a->name_len[i]) return i < row->npar ? (int)i : -1;
    for (size_t q = 0; q < row->npar; q++)
        if (strlen(row->par[q].name) == a->name_len[i] &&
            memcmp(row->par[q].name, a->name[i], a->name_len[i]) == 0)
            return q;
    return -1;
}

/* The row of that name whose parameters hold all the arguments (LIN has two rows). */
static const struct kern_class *choose(struct kern_reader *p, const char *name,
                                       const struct args *a) {
    const struct kern_class *row, *any = NULL;
    for (size_t i = 0; (row = kern_class_at(i)); i++) {
        if (!kern_class_called(row, name)) continue;
        size_t n = 0;
        while (n < a->n && slot(row, a, n) >= 0) n++;
        if (n == a->n) return row;
        any = row;
    }
    struct buf b = BUF_INIT;
    if (!any && p->query)
        buf_puts(&b, "unknown word; components are made of kernels such as LIN, SE, PER, WN, "
                     "WIENER, IWIENER, motifs are trend, recurring_pattern, noise, "
                     "heteroskedastic_noise ...");
    else if (!any) {
        const char *near = kern_class_suggest(name);
        buf_printf(&b, "no kernel is called %s", name);
        if (near) buf_printf(&b, "; did you mean %s?", near);
    } else {
        buf_printf(&b, "%s takes the parameters", any->name);
        for (size_t q = 0; q < any->npar; q++)
            buf_printf(&b, "%s %s", q ? "," : "", any->par[q].name);
    }
    kern_fail(p, "%s", b.data);
    buf_release(&b);
    return NULL;
}

static struct kern *assemble(struct kern_reader *p, const struct kern_class *row, struct args *a) {
    double par[KERN_MAX_PAR + MAX_COLS];
    const double *given[KERN_MAX_PAR] = {NULL};
    size_t count[KERN_MAX_PAR] = {0}, ard = 1, n = 0;
    for (size_t i = 0; i < a->n; i++) {
        int q = slot(row, a, i);
        if (given[q]) return kern_fail(p, "parameter %s is given twice", row->par[q].name);
        if (a->count[i] > 1 && !row->par[q].vector)
            return kern_fail(p, "parameter %s is a single number", row->par[q].name);
        given[q] = a->value[i];
        count[q] = a->count[i];
        if (count[q] > 1) ard = count[q];
    }
    for (size_t q = 0; q < row->npar; q++)
        for (size_t c = 0; c < (row->par[q].vector ? ard : 1); c++)
            par[n++] = !given[q] ? row->par[q].fallback : given[q][count[q] > 1 ? c : 0];
    char *why = NULL;
    struct kern *k = row->op == KERN_CHANGE ? kern_change(row, par, a->ncol ? a->col[0] : 0,
                                                          a->kid[0], a->kid[1], &why)
                                            : kern_leaf_on(row, par, ard, a->col, a->ncol, &why);
    if (!k) kern_fail(p, "%s", why ? why : "wrong parameters");
    mem_free(why);
    return k;
}

/* change operators start with two kernels */
static bool parse_kids(struct kern_reader *p, struct args *a) {
    for (a->nkids = 0; a->nkids < 2; a->nkids++) {
        if (a->nkids && !kern_expect(p, ',')) return false;
        if (!(a->kid[a->nkids] = kern_read_sum(p))) return false;
    }
    return true;
}

/* The name of the row that a query's word means: as it is, or in upper case, short ones spelled
 * out.
 */
static void spell_out(char **name) {
    static const char *const names[][2] = {{"W", "WIENER"}, {"IW", "IWIENER"}, {"MAT", "MAT32"}};
    if (kern_class_find(*name)) return;
    for (char *c = *name; *c; c++) *c = ascii_upper(*c);
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        if (strcmp(*name, names[i][0]) != 0) continue;
        mem_free(*name);
        *name = mem_strdup(names[i][1]);
        return;
    }
}

/* kernel := NAME [ '[' columns ']' ] [ '(' [kernel ',' kernel ','] [arg {',' arg}] ')' ] */
static struct kern *parse_named(struct kern_reader *p) {
    struct args *a = NEW(struct args);
    struct kern *k = NULL;
    size_t len = kern_word(p);
    char *name = mem_strndup(p->at, len);
    const char *start = p->at;
    if (p->query) spell_out(&name);
    const struct kern_class *row = kern_class_find(name);
    double cols[MAX_COLS];
    p->at += len;
    bool change = row && row->op == KERN_CHANGE, ok = true;
    if (kern_accept(p, '[')) {
        size_t n = number_list(p, cols);
        ok = n > 0 && set_columns(p, a, cols, n);
    }
    if (ok && change && kern_peek(p) != '(')
        ok = kern_fail(p, "%s needs two kernels in parentheses", name);
    if (ok && kern_accept(p, '(') && !(!change && kern_accept(p, ')'))) {
        ok = !change || parse_kids(p, a);
        bool more = ok && (!change || kern_accept(p, ','));
        while (more && (ok = parse_arg(p, a))) more = kern_accept(p, ',');
        ok = ok && kern_expect(p, ')');
    }
    if (ok) {
        const char *here = p->at;
        p->at = start; /* complaints about the kernel point at its name */
        if ((row = choose(p, name, a))) k = assemble(p, row, a);
        p->at = here;
    }
    for (size_t i = 0; i < a->nkids; i++) kern_unref(a->kid[i]);
    mem_free(name);
    mem_free(a);
    return k;
}

/* factor := number | '(' sum ')' | kernel */
static struct kern *parse_factor(struct kern_reader *p) {
    char c = kern_peek(p);
    double v;
    if (kern_accept(p, '(')) {
        struct kern *k = kern_read_sum(p);
        if (k && kern_expect(p, ')')) return k;
        kern_unref(k);
        return NULL;
    }
    if (ascii_digit(c) || c == '.') {
        if (!number(p, &v)) return NULL;
        struct kern *k = kern_constant(v);
        return k ? k : kern_fail(p, "%s", "a scale must be a finite number, zero or positive");
    }
    if (kern_word(p)) return parse_named(p);
    return kern_fail(p, "expected %s", "a kernel, a number or '('");
}

static struct kern *parse_many(struct kern_reader *p, char sep, enum kern_op op,
                               struct kern *(*next)(struct kern_reader *)) {
    VEC(struct kern *) kids = {0};
    struct kern *k = NULL;
    do {
        struct kern *kid = next(p);
        if (!kid) break;
        vec_push(&kids, kid);
    } while (kern_accept(p, sep));
    if (!p->why.len && kids.n) {
        k = kern_nary(op, kids.at, kids.n);
        if (!k) kern_fail(p, "%s", "nested too deeply");
    }
    for (size_t i = 0; i < kids.n; i++) kern_unref(kids.at[i]);
    vec_release(&kids);
    return k;
}

/* product := factor { '*' factor } */
static struct kern *parse_product(struct kern_reader *p) {
    return parse_many(p, '*', KERN_PRODUCT, parse_factor);
}

/* sum := product { '+' product } */
struct kern *kern_read_sum(struct kern_reader *p) {
    if (++p->depth > KERN_DEPTH_MAX) return kern_fail(p, "%s", "nested too deeply");
    struct kern *k = parse_many(p, '+', KERN_SUM, parse_product);
    p->depth--;
    return k;
}

enum gpm_status kern_parse(const char *text, struct kern **out, char **why) {
    struct kern_reader p = {.text = text, .at = text, .why = BUF_INIT};
    struct kern *k = kern_read_sum(&p);
    if (k && kern_peek(&p)) {
        kern_fail(&p, "expected %s", "'+', '*' or the end");
        kern_unref(k);
        k = NULL;
    }
    if (!k && why) *why = buf_take(&p.why);
    buf_release(&p.why);
    if (!k) return GPM_E_FORMAT;
    *out = k;
    return GPM_OK;
}
