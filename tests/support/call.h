/* SPDX-License-Identifier: Apache-2.0
 *
 * Calling procedures of the tables in tests: arguments and results written as text. The reader
 * understands what value_print writes: numbers, true, "s", [a, b], (a, b), {k: v}, bare symbols; a
 * leading v makes a vector (v[1, 2]), a leading m a matrix (m[[1, 2], [3, 4]]).
 */
#ifndef SUPPORT_CALL_H
#define SUPPORT_CALL_H
#include "language/rows/protocol/sp.h"
#include "support/check.h"
#include "language/value/value.h"
#include <ctype.h>

struct call_env {
    struct sources sources;
    struct diags diags;
    struct sym_table syms;
    struct sp_host host;
    struct buf printed;
};

/* The value a text stands for (owned); fails the test on bad text. */
static inline value read_value(struct call_env *e, const char **text);
/* "a, b, c" as values; returns their number. */
static inline size_t read_values(struct call_env *e, const char *text, value *out, size_t max);

/* Checks the arguments and runs simulate (request and output rows too, where the procedures they
 * request are rows). */
static inline enum gpm_status call_row(struct call_env *e, const struct sp_class *cls,
                                       const value *args, size_t n, value *out);
/* name(args), as printed; "error CODE: message" when it fails. Caller frees with mem_free. */
static inline char *call_text(struct call_env *e, const char *name, const char *args);

static inline void keep_printed(struct sp_host *h, const char *text, size_t n) {
    struct call_env *e = (struct call_env *)((char *)h - offsetof(struct call_env, host));
    buf_add(&e->printed, text, n);
}

static inline void call_env_init(struct call_env *e) {
    memset(e, 0, sizeof *e);
    e->diags.sources = &e->sources;
    buf_init(&e->printed);
    e->host.syms = &e->syms;
    e->host.print = keep_printed;
}

static inline void call_env_release(struct call_env *e) {
    diags_release(&e->diags);
    sym_table_release(&e->syms);
    buf_release(&e->printed);
}

/* ---- reading ------------------------------------------------------------------------------------
 */

static inline void skip_space(const char **s) {
    while (isspace((unsigned char)**s)) ++*s;
}

/* Items up to the closing bracket; the text is at the first of them. */
static inline size_t read_items(struct call_env *e, const char **s, char close, value *out) {
    size_t n = 0;
    for (skip_space(s); **s != close; skip_space(s)) {
        assert_true(**s && n < 64);
        out[n++] = read_value(e, s);
        skip_space(s);
        if (**s == ',') ++*s;
    }
    ++*s;
    return n;
}

static inline value read_string(const char **s) {
    const char *end = strchr(*s + 1, '"');
    assert_non_null(end);
    value v = value_str(*s + 1, (size_t)(end - *s - 1));
    *s = end + 1;
    return v;
}

static inline value read_dict(struct call_env *e, const char **s) {
    value kv[64] = {NIL};
    size_t n = 0;
    for (skip_space(s); **s != '}'; skip_space(s)) {
        kv[n++] = read_value(e, s);
        skip_space(s);
        assert_int_equal(**s, ':');
        ++*s;
        kv[n++] = read_value(e, s);
        skip_space(s);
        if (**s == ',') ++*s;
    }
    ++*s;
    value d = value_dict(kv, n / 2);
    for (size_t i = 0; i < n; i++) value_unref(kv[i]);
    return d;
}

static inline value read_matrix(struct call_env *e, const char **s) {
    value rows = read_value(e, s), row, x;
    size_t m, n = 0;
    assert_true(seq_length(rows, &m));
    for (size_t i = 0; i < m && seq_get(rows, i, &row); i++, value_unref(row)) seq_length(row, &n);
    value v = value_matrix_new(m, n);
    for (size_t i = 0; i < m && seq_get(rows, i, &row); i++, value_unref(row))
        for (size_t j = 0; j < n && seq_get(row, j, &x); j++) v.u.matrix->at[i + j * m] = x.u.num;
    value_unref(rows);
    return v;
}

static inline value read_vector(struct call_env *e, const char **s) {
    value items = read_value(e, s);
    double *x;
    size_t n;
    assert_true(seq_numbers(items, &x, &n));
    value v = value_vector(x, n);
    mem_free(x);
    value_unref(items);
    return v;
}

static inline value read_word(struct call_env *e, const char **s) {
    const char *start = *s;
    while (isalnum((unsigned char)**s) || **s == '_') ++*s;
    size_t n = (size_t)(*s - start);
    if (n == 4 && strncmp(start, "true", n) == 0) return value_bool(true);
    if (n == 5 && strncmp(start, "false", n) == 0) return value_bool(false);
    if (n == 3 && strncmp(start, "inf", n) == 0) return value_num(INFINITY);
    if (n == 3 && strncmp(start, "nan", n) == 0) return value_num(NAN);
    if (n > 1 && *start == '_') { /* _name: the procedure */
        char name[40];
        snprintf(name, sizeof name, "%.*s", (int)n - 1, start + 1);
        return sp_builtin_value((size_t)sp_index_number(name));
    }
    return value_sym(sym_intern(&e->syms, start, n));
}

static inline value read_list(struct call_env *e, const char **s) {
    value items[64] = {NIL};
    size_t n = 0;
    value tail = NIL;
    for (skip_space(s); **s != ')'; skip_space(s)) {
        if (**s == '.' && (*s)[1] == ' ') {
            ++*s;
            tail = read_value(e, s);
            continue;
        }
        items[n++] = read_value(e, s);
        skip_space(s);
        if (**s == ',') ++*s;
    }
    ++*s;
    while (n--) tail = value_pair_take(items[n], tail);
    return tail;
}

static inline value read_value(struct call_env *e, const char **s) {
    value items[64] = {NIL};
    size_t n;
    skip_space(s);
    switch (**s) {
    case '[':
        ++*s;
        n = read_items(e, s, ']', items);
        {
            value v = value_array(items, n);
            for (size_t i = 0; i < n; i++) value_unref(items[i]);
            return v;
        }
    case '(': ++*s; return read_list(e, s);
    case '{': ++*s; return read_dict(e, s);
    case '"': return read_string(s);
    case 'v':
        if ((*s)[1] != '[') return read_word(e, s);
        ++*s;
        return read_vector(e, s);
    case 'm':
        if ((*s)[1] != '[') return read_word(e, s);
        ++*s;
        return read_matrix(e, s);
    default: break;
    }
    if (strncmp(*s, "atom<", 5) == 0) {
        char *end;
        double x = strtod(*s + 5, &end);
        *s = end + 1;
        return value_atom(x);
    }
    if (isalpha((unsigned char)**s) || **s == '_') return read_word(e, s);
    char *end;
    double x = strtod(*s, &end);
    if (end == *s) fail_msg("cannot read a value at \"%s\"", *s);
    *s = end;
    return value_num(x);
}

static inline size_t read_values(struct call_env *e, const char *text, value *out, size_t max) {
    size_t n = 0;
    for (skip_space(&text); *text; skip_space(&text)) {
        assert_true(n < max);
        out[n++] = read_value(e, &text);
        skip_space(&text);
        if (*text == ',') text++;
    }
    return n;
}

/* ---- calling ------------------------------------------------------------------------------------
 */

struct requests {
    struct call_env *e;
    value results[64];
    size_t n;
    enum gpm_status st;
};

static inline void run_request(void *ctx, value proc, const value *args, size_t n) {
    struct requests *r = ctx;
    assert_int_equal(proc.tag, V_PROC);
    if (!r->st) r->st = call_row(r->e, sp_proc_of(proc)->cls, args, n, &r->results[r->n]);
    if (!r->st) r->n++;
}

static inline enum gpm_status run_requests(struct call_env *e, struct sp_call *c, value *out) {
    struct requests r = {.e = e};
    enum gpm_status st = c->cls->request(c, run_request, &r);
    if (!st) st = r.st;
    if (!st) st = c->cls->output(c, r.results, r.n, out);
    for (size_t i = 0; i < r.n; i++) value_unref(r.results[i]);
    return st;
}

static inline enum gpm_status call_row(struct call_env *e, const struct sp_class *cls,
                                       const value *args, size_t n, value *out) {
    struct sp_call c = {.cls = cls, .args = args, .n = n, .diags = &e->diags, .host = &e->host};
    struct sp_sig sig;
    sp_sig_parse(cls->sig, &sig);
    enum gpm_status st = sp_check_args(&c, &sig);
    if (st) return st;
    return cls->request ? run_requests(e, &c, out) : cls->simulate(&c, out);
}

static inline char *call_text(struct call_env *e, const char *name, const char *text) {
    value args[64], out = NIL;
    const struct sp_class *cls = sp_index_find(name);
    if (!cls) fail_msg("no procedure %s", name);
    size_t n = read_values(e, text, args, COUNT_OF(args));
    enum gpm_status st = call_row(e, cls, args, n, &out);
    struct buf b = BUF_INIT;
    if (st == GPM_OK)
        value_print(out, &b);
    else {
        assert_int_equal(st, GPM_E_USER);
        assert_true(e->diags.list.n > 0);
        const struct diag *d = e->diags.list.at[e->diags.list.n - 1];
        buf_printf(&b, "error %s: %s", diag_code_text(d->code), d->message);
        diags_rewind(&e->diags, 0);
    }
    value_unref(out);
    for (size_t i = 0; i < n; i++) value_unref(args[i]);
    return buf_take(&b);
}
/* ---- tables of calls ----------------------------------------------------------------------------
 */

/* Same structure, numbers within 1e-12 relative (nan equals nan); arrays and vectors alike. */
static inline bool value_close(value a, value b) {
    value x, y;
    size_t m, n;
    if (a.tag == V_NUM && b.tag == V_NUM) {
        double p = a.u.num, q = b.u.num;
        return p == q || (isnan(p) && isnan(q)) || fabs(p - q) <= 1e-12 * fmax(fabs(p), fabs(q));
    }
    if (a.tag == V_MATRIX && b.tag == V_MATRIX) {
        bool ok = a.u.matrix->rows == b.u.matrix->rows && a.u.matrix->cols == b.u.matrix->cols;
        for (size_t i = 0; ok && i < a.u.matrix->rows * a.u.matrix->cols; i++)
            ok = value_close(value_num(a.u.matrix->at[i]), value_num(b.u.matrix->at[i]));
        return ok;
    }
    bool lists = (a.tag == V_PAIR) == (b.tag == V_PAIR);
    if (!lists || !seq_length(a, &m) || !seq_length(b, &n)) return value_equal(a, b);
    bool ok = m == n;
    for (size_t i = 0; ok && i < n && seq_get(a, i, &x) && seq_get(b, i, &y); i++) {
        ok = value_close(x, y);
        value_unref(x);
        value_unref(y);
    }
    return ok;
}

struct call_case {
    const char *name, *args, *expect; /* a value, or "error CODE: message" (a prefix will do) */
};

static inline bool case_holds(struct call_env *e, const struct call_case *k, char *got) {
    if (strncmp(k->expect, "error", 5) == 0 || strncmp(got, "error", 5) == 0)
        return strncmp(got, k->expect, strlen(k->expect)) == 0;
    value args[64], out = NIL;
    const char *text = k->expect;
    size_t n = read_values(e, k->args, args, COUNT_OF(args));
    value want = read_value(e, &text);
    bool ok =
        call_row(e, sp_index_find(k->name), args, n, &out) == GPM_OK && value_close(out, want);
    for (size_t i = 0; i < n; i++) value_unref(args[i]);
    value_unref(out);
    value_unref(want);
    return ok;
}

/* Runs a table; fails at the end with every case that does not hold. */
static inline void check_cases(const struct call_case *cases, size_t n) {
    struct call_env e;
    size_t bad = 0;
    call_env_init(&e);
    for (size_t i = 0; i < n; i++) {
        char *got = call_text(&e, cases[i].name, cases[i].args);
        if (!case_holds(&e, &cases[i], got)) {
            print_error("%s(%s) gives %s, expected %s\n", cases[i].name, cases[i].args, got,
                        cases[i].expect);
            bad++;
        }
        mem_free(got);
    }
    call_env_release(&e);
    assert_int_equal(bad, 0);
    assert_int_equal(value_live_count(), 0);
}
#endif
