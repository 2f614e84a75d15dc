/* SPDX-License-Identifier: Apache-2.0
 *
 * Queries over structures: recursive descent, evaluated on the list of terms.
 */
#include "gp/kern_class.h"
#include "gp/kern_query.h"
#include "base/ascii.h"
#include "base/mem.h"
#include "gp/kernel.h"
#include <stdio.h>
#include <string.h>

enum op { OP_AND, OP_OR, OP_NOT, OP_TERM, OP_MOTIF };
struct kern_query {
    enum op op;
    const struct kern_query *a, *b;
    const char *term; /* canonical product */
    int motif;
};

/* ---- motifs: what the factors of one canonical product have to be ---- */
#define ROLE(r)   (1u << KERN_ROLE_##r)
#define DIRECTION (1u << 31) /* a factor counts as a trend */

static const struct motif {
    const char *name;
    unsigned all, none; /* roles that occur, and that do not */
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

static int motif_find(const char *s, size_t len) {
    for (size_t i = 0; i < COUNT_OF(motifs); i++) {
        const char *m = motifs[i].name;
        if (strlen(m) != len) continue;
        size_t k = 0; /* a blank or a hyphen may stand for the underscore */
        while (k < len &&
               (ascii_lower(s[k]) == m[k] || (m[k] == '_' && (s[k] == ' ' || s[k] == '-'))))
            k++;
        if (k == len) return (int)i;
    }
    return -1;
}

/* ---- parser ---- */
#define DEPTH_MAX 100
struct parser {
    const char *text, *p;
    struct arena *a;
    struct buf *err;
    int depth;
};

static enum gpm_status fail(struct parser *s, const char *what) {
    buf_printf(s->err, "in the query '%s', column %d: %s", s->text, (int)(s->p - s->text) + 1,
               what);
    return GPM_E_FORMAT;
}

static void blanks(struct parser *s) {
    while (ascii_space(*s->p)) s->p++;
}

static size_t word_length(const char *p) {
    size_t n = 0;
    while (ascii_name(p[n])) n++;
    return n;
}

/* Takes an operator written as a sign (once or twice) or as a word. */
static bool take(struct parser *s, const char *signs, const char *word) {
    blanks(s);
    if (*s->p && strchr(signs, *s->p)) {
        char c = *s->p++;
        if (*s->p == c && (c == '&' || c == '|')) s->p++;
        return true;
    }
    size_t n = word_length(s->p);
    if (n != strlen(word) || ascii_ncasecmp(s->p, word, n)) return false;
    s->p += n;
    return true;
}

static struct kern_query *node(struct parser *s, enum op op, const struct kern_query *a,
                               const struct kern_query *b) {
    struct kern_query *q = ARENA_NEW(s->a, struct kern_query);
    q->op = op;
    q->a = a;
    q->b = b;
    return q;
}

static enum gpm_status parse_chain(struct parser *s, enum op op, struct kern_query **out);

/* motif := one or two words of the table above */
static bool parse_motif(struct parser *s, struct kern_query **out) {
    size_t one = word_length(s->p), len = one;
    if (s->p[one] == ' ' || s->p[one] == '-') len += 1 + word_length(s->p + one + 1);
    int found = motif_find(s->p, len);
    if (found < 0) found = motif_find(s->p, len = one);
    if (found < 0) return false;
    *out = node(s, OP_MOTIF, NULL, NULL);
    (*out)->motif = found;
    s->p += len;
    return true;
}

/* One factor in upper case, short names spelled out. */
static void add_factor(struct buf *b, const char *p, size_t n) {
    static const char *const names[][2] = {{"W", "WIENER"}, {"IW", "IWIENER"}, {"MAT", "MAT32"}};
    if (b->len) buf_putc(b, '*');
    for (size_t i = 0; i < COUNT_OF(names); i++)
        if (strlen(names[i][0]) == n && !ascii_ncasecmp(p, names[i][0], n)) {
            buf_puts(b, names[i][1]);
            return;
        }
    for (size_t i = 0; i < n; i++) buf_putc(b, ascii_upper(p[i]));
}

/* product := FACTOR { '*' FACTOR } */
static enum gpm_status parse_product(struct parser *s, struct kern_query **out) {
    struct buf b = BUF_INIT, canonical = BUF_INIT;
    enum gpm_status st = GPM_OK;
    do {
        blanks(s);
        size_t n = word_length(s->p);
        if (n == 0) {
            st = fail(s, "expected a component such as LIN or SE*PER, or a motif");
            break;
        }
        add_factor(&b, s->p, n);
        const char *last = strrchr(b.data, '*');
        if (!kern_class_find(last ? last + 1 : b.data)) {
            st = fail(s, "unknown word; components are made of kernels such as LIN, SE, PER, WN, "
                         "WIENER, IWIENER, motifs are trend, recurring_pattern, noise, "
                         "heteroskedastic_noise ...");
            break;
        }
        s->p += n;
        blanks(s);
    } while (*s->p == '*' && s->p++);
    if (st == GPM_OK) { /* simplified: SE*WN is WN */
        char *why = NULL;
        st = kern_struct_canonical(b.data, &canonical, &why);
        if (st != GPM_OK) st = fail(s, why ? why : "not a component");
        mem_free(why);
    }
    if (st == GPM_OK) {
        *out = node(s, OP_TERM, NULL, NULL);
        (*out)->term = arena_strndup(s->a, canonical.data, canonical.len);
    }
    buf_release(&b);
    buf_release(&canonical);
    return st;
}

/* atom := '(' or ')' | motif | product { '+' product } */
static enum gpm_status parse_atom(struct parser *s, struct kern_query **out) {
    blanks(s);
    if (*s->p == '(') {
        s->p++;
        enum gpm_status st = parse_chain(s, OP_OR, out);
        if (st != GPM_OK) return st;
        blanks(s);
        if (*s->p != ')') return fail(s, "expected ')'");
        s->p++;
        return GPM_OK;
    }
    if (parse_motif(s, out)) return GPM_OK;
    enum gpm_status st = parse_product(s, out);
    while (st == GPM_OK && (blanks(s), *s->p == '+')) {
        struct kern_query *right;
        s->p++;
        st = parse_product(s, &right);
        if (st == GPM_OK) *out = node(s, OP_AND, *out, right);
    }
    return st;
}

/* not := ('!' | '~' | NOT) not | atom */
static enum gpm_status parse_not(struct parser *s, struct kern_query **out) {
    if (++s->depth > DEPTH_MAX) return fail(s, "nested too deeply");
    enum gpm_status st;
    if (take(s, "!~", "not")) {
        struct kern_query *a;
        st = parse_not(s, &a);
        if (st == GPM_OK) *out = node(s, OP_NOT, a, NULL);
    } else {
        st = parse_atom(s, out);
    }
    s->depth--;
    return st;
}

/* and := not { ('&' | AND) not },  or := and { ('|' | OR) and } */
static enum gpm_status parse_chain(struct parser *s, enum op op, struct kern_query **out) {
    bool either = op == OP_OR;
    enum gpm_status st = either ? parse_chain(s, OP_AND, out) : parse_not(s, out);
    while (st == GPM_OK && take(s, either ? "|" : "&", either ? "or" : "and")) {
        struct kern_query *b;
        st = either ? parse_chain(s, OP_AND, &b) : parse_not(s, &b);
        if (st == GPM_OK) *out = node(s, op, *out, b);
    }
    return st;
}

enum gpm_status kern_query_parse(const char *text, struct arena *a, struct kern_query **out,
                                 struct buf *err) {
    struct parser s = {text, text, a, err, 0};
    struct kern_query *q = NULL;
    enum gpm_status st = parse_chain(&s, OP_OR, &q);
    if (st != GPM_OK) return st;
    blanks(&s);
    if (*s.p) return fail(&s, "expected '&', '|' or the end");
    *out = q;
    return GPM_OK;
}

/* ---- evaluation ---- */
static bool motif_holds(int motif, const char *const *terms, size_t n, bool change) {
    const struct motif *m = &motifs[motif], *end = motifs + COUNT_OF(motifs);
    if (change && m->all == ROLE(BREAK)) return true;
    for (; m < end && strcmp(m->name, motifs[motif].name) == 0; m++)
        for (size_t i = 0; i < n; i++)
            if (motif_fits(m, terms[i])) return true;
    return false;
}

bool kern_query_holds(const struct kern_query *q, const char *const *terms, size_t n, bool change) {
    switch (q->op) {
    case OP_AND:
        return kern_query_holds(q->a, terms, n, change) && kern_query_holds(q->b, terms, n, change);
    case OP_OR:
        return kern_query_holds(q->a, terms, n, change) || kern_query_holds(q->b, terms, n, change);
    case OP_NOT: return !kern_query_holds(q->a, terms, n, change);
    case OP_MOTIF: return motif_holds(q->motif, terms, n, change);
    default:
        for (size_t i = 0; i < n; i++)
            if (!strcmp(terms[i], q->term)) return true;
        return false;
    }
}

/* The letters of CP( and CW( and their commas separate terms as plus signs do. */
bool kern_query_holds_text(const struct kern_query *q, const char *structure) {
    char *copy = mem_strdup(structure), *rest = NULL;
    const char *terms[64];
    size_t n = 0;
    bool change = strstr(structure, "CP(") || strstr(structure, "CW(");
    for (char *p = copy; change && *p; p++)
        if (!strncmp(p, "CP(", 3) || !strncmp(p, "CW(", 3)) memset(p, ' ', 3);
    for (char *t = strtok_r(copy, " +,()", &rest); t && n < COUNT_OF(terms);
         t = strtok_r(NULL, " +,()", &rest))
        terms[n++] = t;
    bool r = kern_query_holds(q, terms, n, change);
    mem_free(copy);
    return r;
}
