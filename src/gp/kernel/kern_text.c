/* SPDX-License-Identifier: Apache-2.0
 *
 * Kernels as text: a printer, a recursive-descent parser that reads its output, and queries over
 * structures, which contain such texts (kern_query.h).
 *
 *   LIN(sf=1.2) + SE(sf=0.5, l=0.3) * PER(sf=1, p=12, l=0.7) + WN(sigma=0.1)
 *   4 * SE(sf=1, l=0.8)         SE[0,2](sf=1, l=[0.3, 0.5])      CP(LIN, SE(l=2), tau=1988,
 * s=0.5) */
#include "gp/kernel/kern_query.h"
#include "gp/kernel/kern_tree.h"

#include "base/ascii.h"
#include "base/mem.h"
#include "base/number.h"
#include "base/vec.h"

#include <stdio.h>
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
struct reader {
    const char *text, *at;
    int depth;
    bool query;     /* names in any case, and short names */
    struct buf why; /* "column 7: ..."; empty: no failure */
};
struct args { /* arguments between the parentheses of a kernel */
    const char *name[KERN_MAX_PAR];
    size_t name_len[KERN_MAX_PAR]; /* 0: positional */
    double value[KERN_MAX_PAR][MAX_COLS];
    size_t count[KERN_MAX_PAR], n;
    int col[MAX_COLS];
    size_t ncol;
    struct kern *kid[2];
    size_t nkids;
};

static struct kern *parse_sum(struct reader *p);

/* Keeps the first failure. */
static void *fail(struct reader *p, const char *fmt, const char *what) {
    if (p->why.len) return NULL;
    buf_printf(&p->why, "column %d: ", (int)(p->at - p->text) + 1);
    buf_printf(&p->why, fmt, what);
    return NULL;
}

static char peek(struct reader *p) {
    while (ascii_space(*p->at)) p->at++;
    return *p->at;
}

static bool accept(struct reader *p, char c) {
    if (peek(p) != c) return false;
    p->at++;
    return true;
}

static bool expect(struct reader *p, char c) {
    char what[4] = {'\'', c, '\'', 0};
    if (accept(p, c)) return true;
    fail(p, "expected %s", what);
    return false;
}

static bool number(struct reader *p, double *v) {
    char c = peek(p), *end;
    if (!ascii_digit(c) && c != '-' && c != '+' && c != '.') {
        fail(p, "expected %s", "a number");
        return false;
    }
    *v = number_read(p->at, &end);
    if (end == p->at) fail(p, "expected %s", "a number");
    p->at = end;
    return p->why.len == 0;
}

static size_t word(struct reader *p) {
    size_t n = 0;
    peek(p);
    if (!ascii_alpha(*p->at) && *p->at != '_') return 0;
    while (ascii_name(p->at[n])) n++;
    return n;
}

/* list := '[' number { ',' number } ']'   (the bracket is already taken) */
static size_t number_list(struct reader *p, double *v) {
    size_t n = 0;
    do {
        if (n == MAX_COLS) return fail(p, "%s", "a list of more than 64 numbers"), 0;
        if (!number(p, &v[n++])) return 0;
    } while (accept(p, ','));
    return expect(p, ']') ? n : 0;
}

static bool set_columns(struct reader *p, struct args *a, const double *v, size_t n) {
    for (size_t i = 0; i < n; i++) {
        if (!(v[i] >= 0 && v[i] < 1e6) || v[i] != (int)v[i])
            return fail(p, "%s", "input columns are whole numbers from 0"), false;
        a->col[i] = (int)v[i];
    }
    a->ncol = n;
    return true;
}

/* arg := [NAME '='] (number | list) */
static bool parse_arg(struct reader *p, struct args *a) {
    double v[MAX_COLS];
    size_t len = word(p), n = 1;
    const char *name = p->at;
    if (len) {
        p->at += len;
        if (!expect(p, '=')) return false;
    }
    if (accept(p, '['))
        n = number_list(p, v);
    else if (!number(p, v))
        return false;
    if (p->why.len || n == 0) return false;
    if (len == 4 && memcmp(name, "dims", 4) == 0) return set_columns(p, a, v, n);
    if (a->n == KERN_MAX_PAR) return fail(p, "%s", "too many parameters"), false;
    a->name[a->n] = name;
    a->name_len[a->n] = len;
    memcpy(a->value[a->n], v, n * sizeof *v);
    a->count[a->n++] = n;
    return true;
}

/* Index of argument i among the row's parameters, or -1. */
static int slot(const struct kern_class *row, const struct args *a, size_t i) {
    if (!a->name_len[i]) return i < row->npar ? (int)i : -1;
    for (size_t q = 0; q < row->npar; q++)
        if (strlen(row->par[q].name) == a->name_len[i] &&
            memcmp(row->par[q].name, a->name[i], a->name_len[i]) == 0)
            return q;
    return -1;
}

/* The row of that name whose parameters fit all arguments (LIN has two rows). */
static const struct kern_class *choose(struct reader *p, const char *name, const struct args *a) {
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
    fail(p, "%s", b.data);
    buf_release(&b);
    return NULL;
}

static struct kern *assemble(struct reader *p, const struct kern_class *row, struct args *a) {
    double par[KERN_MAX_PAR + MAX_COLS];
    const double *given[KERN_MAX_PAR] = {NULL};
    size_t count[KERN_MAX_PAR] = {0}, ard = 1, n = 0;
    for (size_t i = 0; i < a->n; i++) {
        int q = slot(row, a, i);
        if (given[q]) return fail(p, "parameter %s is given twice", row->par[q].name);
        if (a->count[i] > 1 && !row->par[q].vector)
            return fail(p, "parameter %s is a single number", row->par[q].name);
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
    if (!k) fail(p, "%s", why ? why : "wrong parameters");
    mem_free(why);
    return k;
}

/* change operators start with two kernels */
static bool parse_kids(struct reader *p, struct args *a) {
    for (a->nkids = 0; a->nkids < 2; a->nkids++) {
        if (a->nkids && !expect(p, ',')) return false;
        if (!(a->kid[a->nkids] = parse_sum(p))) return false;
    }
    return true;
}

/* The row name meant by a word of a query: as written, in upper case, or by a short name. */
static void spell_out(char **name) {
    const struct kern_class *row;
    if (kern_class_find(*name)) return;
    for (char *c = *name; *c; c++) *c = ascii_upper(*c);
    for (size_t i = 0; (row = kern_class_at(i)); i++)
        if (row->motif.brief && strcmp(*name, row->motif.brief) == 0) break;
    if (!row) return;
    mem_free(*name);
    *name = mem_strdup(row->name);
}

/* kernel := NAME [ '[' columns ']' ] [ '(' [kernel ',' kernel ','] [arg {',' arg}] ')' ] */
static struct kern *parse_named(struct reader *p) {
    struct args *a = NEW(struct args);
    struct kern *k = NULL;
    size_t len = word(p);
    char *name = mem_strndup(p->at, len);
    const char *start = p->at;
    if (p->query) spell_out(&name);
    const struct kern_class *row = kern_class_find(name);
    double cols[MAX_COLS];
    p->at += len;
    bool change = row && row->op == KERN_CHANGE, ok = true;
    if (accept(p, '[')) {
        size_t n = number_list(p, cols);
        ok = n > 0 && set_columns(p, a, cols, n);
    }
    if (ok && change && peek(p) != '(') ok = fail(p, "%s needs two kernels in parentheses", name);
    if (ok && accept(p, '(') && !(!change && accept(p, ')'))) {
        ok = !change || parse_kids(p, a);
        bool more = ok && (!change || accept(p, ','));
        while (more && (ok = parse_arg(p, a))) more = accept(p, ',');
        ok = ok && expect(p, ')');
    }
    if (ok) {
        const char *here = p->at;
        p->at = start; /* errors about the kernel point at its name */
        if ((row = choose(p, name, a))) k = assemble(p, row, a);
        p->at = here;
    }
    for (size_t i = 0; i < a->nkids; i++) kern_unref(a->kid[i]);
    mem_free(name);
    mem_free(a);
    return k;
}

/* factor := number | '(' sum ')' | kernel */
static struct kern *parse_factor(struct reader *p) {
    char c = peek(p);
    double v;
    if (accept(p, '(')) {
        struct kern *k = parse_sum(p);
        if (k && expect(p, ')')) return k;
        kern_unref(k);
        return NULL;
    }
    if (ascii_digit(c) || c == '.') {
        if (!number(p, &v)) return NULL;
        struct kern *k = kern_constant(v);
        return k ? k : fail(p, "%s", "a scale must be a finite number, zero or positive");
    }
    if (word(p)) return parse_named(p);
    return fail(p, "expected %s", "a kernel, a number or '('");
}

static struct kern *parse_many(struct reader *p, char sep, enum kern_op op,
                               struct kern *(*next)(struct reader *)) {
    VEC(struct kern *) kids = {0};
    struct kern *k = NULL;
    do {
        struct kern *kid = next(p);
        if (!kid) break;
        vec_push(&kids, kid);
    } while (accept(p, sep));
    if (!p->why.len && kids.n) {
        k = kern_nary(op, kids.at, kids.n);
        if (!k) fail(p, "%s", "nested too deeply");
    }
    for (size_t i = 0; i < kids.n; i++) kern_unref(kids.at[i]);
    vec_release(&kids);
    return k;
}

/* product := factor { '*' factor } */
static struct kern *parse_product(struct reader *p) {
    return parse_many(p, '*', KERN_PRODUCT, parse_factor);
}

/* sum := product { '+' product } */
static struct kern *parse_sum(struct reader *p) {
    if (++p->depth > KERN_DEPTH_MAX) return fail(p, "%s", "nested too deeply");
    struct kern *k = parse_many(p, '+', KERN_SUM, parse_product);
    p->depth--;
    return k;
}

enum gpm_status kern_parse(const char *text, struct kern **out, char **why) {
    struct reader p = {.text = text, .at = text, .why = BUF_INIT};
    struct kern *k = parse_sum(&p);
    if (k && peek(&p)) {
        fail(&p, "expected %s", "'+', '*' or the end");
        kern_unref(k);
        k = NULL;
    }
    if (!k && why) *why = buf_take(&p.why);
    buf_release(&p.why);
    if (!k) return GPM_E_FORMAT;
    *out = k;
    return GPM_OK;
}

/* ---- queries: conditions on the terms of a structure ---- */

/* The terms of a canonical structure. */
struct terms {
    const char *at[64];
    size_t n;
    bool change; /* some of them are inside a change operator */
};

enum op { OP_AND, OP_OR, OP_NOT, OP_TERMS, OP_MOTIF };
struct kern_query {
    enum op op;
    const struct kern_query *a, *b;
    const struct terms *terms; /* all of them must occur */
    const struct motif *motif;
};

/* ---- motifs: required factors of one canonical product ---- */
#define ROLE(r)   (1u << KERN_ROLE_##r)
#define DIRECTION (1u << 31) /* a factor counts as a trend */

static const struct motif {
    const char *name;
    unsigned all, none; /* roles that must occur, and that must not */
    size_t n;           /* factors; 0: any number */
} motifs[] = {{"trend", DIRECTION, ROLE(PERIODIC) | ROLE(WHITE), 0},
              {"recurring_pattern", ROLE(PERIODIC), 0, 0},
              {"recurring", ROLE(PERIODIC), 0, 0},
              {"periodic", ROLE(PERIODIC), 0, 0},
              {"seasonal", ROLE(PERIODIC), 0, 0},
              {"smooth", ROLE(SMOOTH), 0, 1},
              {"random_walk", ROLE(WALK), DIRECTION, 1},
              {"white_noise", ROLE(WHITE), 0, 1},
              {"noise", ROLE(WHITE), 0, 1}, /* or the next one */
              {"noise", ROLE(TREND) | ROLE(WHITE), 0, 2},
              {"heteroskedastic_noise", ROLE(TREND) | ROLE(WHITE), 0, 2},
              {"heteroskedastic", ROLE(TREND) | ROLE(WHITE), 0, 2},
              {"changing_amplitude", ROLE(TREND) | ROLE(PERIODIC), 0, 0},
              {"changing_pattern", ROLE(PERIODIC) | ROLE(SMOOTH), 0, 0},
              {"change", ROLE(BREAK), 0, 0}};

static bool motif_fits(const struct motif *m, const char *term) {
    unsigned roles = 0;
    size_t n = 0, len;
    for (; *term; term += len + (term[len] == '*'), n++) {
        char name[64];
        len = strcspn(term, "*");
        snprintf(name, sizeof name, "%.*s", (int)len, term);
        const struct kern_class *row = kern_class_find(name);
        if (row) roles |= 1u << row->motif.role | (row->motif.direction ? DIRECTION : 0);
    }
    return (roles & m->all) == m->all && !(roles & m->none) && (!m->n || n == m->n);
}

static const struct motif *motif_find(const char *s, size_t len) {
    for (size_t i = 0; i < COUNT_OF(motifs); i++) {
        const char *m = motifs[i].name;
        if (strlen(m) != len) continue;
        size_t k = 0; /* a space or a hyphen may replace the underscore */
        while (k < len &&
               (ascii_lower(s[k]) == m[k] || (m[k] == '_' && (s[k] == ' ' || s[k] == '-'))))
            k++;
        if (k == len) return &motifs[i];
    }
    return NULL;
}

/* ---- reading ---- */
struct kern_parser {
    struct reader in;
    struct arena *a;
};

/* Letters of CP( and CW( and their commas separate terms, like plus signs. */
static void split(char *structure, struct terms *t) {
    char *rest = NULL;
    t->n = 0;
    t->change = strstr(structure, "CP(") || strstr(structure, "CW(");
    for (char *p = structure; t->change && *p; p++)
        if (!strncmp(p, "CP(", 3) || !strncmp(p, "CW(", 3)) memset(p, ' ', 3);
    for (char *w = strtok_r(structure, " +,()", &rest); w && t->n < COUNT_OF(t->at);
         w = strtok_r(NULL, " +,()", &rest))
        t->at[t->n++] = w;
}

/* Accepts an operator written as a sign (once or twice) or as a word. */
static bool take(struct kern_parser *s, const char *signs, const char *name) {
    char c = peek(&s->in);
    if (c && strchr(signs, c)) {
        s->in.at += 1 + (s->in.at[1] == c && (c == '&' || c == '|'));
        return true;
    }
    size_t n = word(&s->in);
    if (n != strlen(name) || ascii_ncasecmp(s->in.at, name, n)) return false;
    s->in.at += n;
    return true;
}

static struct kern_query *node(struct kern_parser *s, enum op op, const struct kern_query *a,
                               const struct kern_query *b) {
    struct kern_query *q = ARENA_NEW(s->a, struct kern_query);
    *q = (struct kern_query){.op = op, .a = a, .b = b};
    return q;
}

/* motif := one or two words of the table above */
static struct kern_query *parse_motif(struct kern_parser *s) {
    const char *p = s->in.at;
    size_t one = word(&s->in), len = one;
    if (p[one] == ' ' || p[one] == '-')
        for (len++; ascii_name(p[len]);) len++;
    const struct motif *found = motif_find(p, len);
    if (!found) found = motif_find(p, len = one);
    if (!found) return NULL;
    struct kern_query *q = node(s, OP_MOTIF, NULL, NULL);
    q->motif = found;
    s->in.at += len;
    return q;
}

/* terms := a kernel, simplified: SE*WN is WN */
static struct kern_query *parse_terms(struct kern_parser *s) {
    if (!word(&s->in))
        return fail(&s->in, "expected %s", "a component such as LIN or SE*PER, or a motif");
    struct kern *k = parse_sum(&s->in);
    struct kern_query *q = NULL;
    struct buf b = BUF_INIT;
    if (k && kern_struct(k, &b))
        fail(&s->in, "%s", KERN_TOO_LARGE);
    else if (k) {
        struct terms *t = ARENA_NEW(s->a, struct terms);
        split(arena_strndup(s->a, b.data, b.len), t);
        q = node(s, OP_TERMS, NULL, NULL);
        q->terms = t;
    }
    kern_unref(k);
    buf_release(&b);
    return q;
}

static struct kern_query *parse_chain(struct kern_parser *s, enum op op);

/* not := ('!' | '~' | NOT) not | '(' or ')' | motif | terms */
static struct kern_query *parse_not(struct kern_parser *s) {
    struct kern_query *q;
    if (++s->in.depth > KERN_DEPTH_MAX) return fail(&s->in, "%s", "nested too deeply");
    if (take(s, "!~", "not")) {
        q = parse_not(s);
        if (q) q = node(s, OP_NOT, q, NULL);
    } else if (accept(&s->in, '(')) {
        q = parse_chain(s, OP_OR);
        if (q && !expect(&s->in, ')')) return NULL;
    } else if (!(q = parse_motif(s)))
        q = parse_terms(s);
    s->in.depth--;
    return q;
}

/* and := not { ('&' | AND) not },  or := and { ('|' | OR) and } */
static struct kern_query *parse_chain(struct kern_parser *s, enum op op) {
    bool either = op == OP_OR;
    struct kern_query *q = either ? parse_chain(s, OP_AND) : parse_not(s), *b;
    while (q && take(s, either ? "|" : "&", either ? "or" : "and")) {
        b = either ? parse_chain(s, OP_AND) : parse_not(s);
        q = b ? node(s, op, q, b) : NULL;
    }
    return q;
}

enum gpm_status kern_query_parse(const char *text, struct arena *a, struct kern_query **out,
                                 struct buf *err) {
    struct kern_parser s = {{.text = text, .at = text, .query = true, .why = BUF_INIT}, a};
    *out = parse_chain(&s, OP_OR);
    if (*out && peek(&s.in)) *out = fail(&s.in, "expected %s", "'&', '|' or the end");
    if (!*out) buf_printf(err, "in the query '%s', %s", text, s.in.why.data);
    buf_release(&s.in.why);
    return *out ? GPM_OK : GPM_E_FORMAT;
}

/* ---- evaluation ---- */
static bool motif_holds(const struct motif *first, const struct terms *t) {
    if (t->change && first->all == ROLE(BREAK)) return true;
    for (const struct motif *m = first;
         m < motifs + COUNT_OF(motifs) && strcmp(m->name, first->name) == 0; m++)
        for (size_t i = 0; i < t->n; i++)
            if (motif_fits(m, t->at[i])) return true;
    return false;
}

static bool all_there(const struct terms *want, const struct terms *t) {
    for (size_t i = 0; i < want->n; i++) {
        size_t k = 0;
        while (k < t->n && strcmp(t->at[k], want->at[i]) != 0) k++;
        if (k == t->n) return false;
    }
    return t->change || !want->change;
}

static bool holds(const struct kern_query *q, const struct terms *t, const struct terms *seen) {
    switch (q->op) {
    case OP_AND: return holds(q->a, t, seen) && holds(q->b, t, seen);
    case OP_OR: return holds(q->a, t, seen) || holds(q->b, t, seen);
    case OP_NOT: return !holds(q->a, t, seen);
    case OP_MOTIF: return motif_holds(q->motif, seen);
    default: return all_there(q->terms, t);
    }
}

bool kern_query_holds_seen(const struct kern_query *q, const char *structure, const char *seen) {
    char *copy = mem_strdup(structure), *other = mem_strdup(seen);
    struct terms t, s;
    split(copy, &t);
    split(other, &s);
    bool r = holds(q, &t, &s);
    mem_free(copy);
    mem_free(other);
    return r;
}

bool kern_query_holds_text(const struct kern_query *q, const char *structure) {
    return kern_query_holds_seen(q, structure, structure);
}
