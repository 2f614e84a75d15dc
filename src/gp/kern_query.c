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

/* ---- motifs: tests of the factors of one canonical product ---- */
struct factors {
    unsigned roles; /* bits of enum kern_role */
    size_t n;
    bool direction; /* one of them counts as a trend */
};
#define ROLE(r) (1u << KERN_ROLE_##r)

static struct factors factors_of(const char *term) {
    struct factors f = {0, 0, false};
    while (*term) {
        char name[64];
        size_t n = strcspn(term, "*");
        snprintf(name, sizeof name, "%.*s", (int)n, term);
        const struct kern_class *row = kern_class_find(name);
        f.roles |= row ? 1u << row->motif.role : 0;
        f.direction |= row && row->motif.direction;
        f.n++;
        term += n + (term[n] == '*');
    }
    return f;
}

static bool repeats(struct factors f) {
    return f.roles & ROLE(PERIODIC);
}
static bool is_trend(struct factors f) {
    return f.direction && !(f.roles & (ROLE(PERIODIC) | ROLE(WHITE)));
}
static bool is_smooth(struct factors f) {
    return f.n == 1 && f.roles & ROLE(SMOOTH);
}
static bool is_walk(struct factors f) {
    return f.n == 1 && f.roles & ROLE(WALK) && !f.direction;
}
static bool is_white(struct factors f) {
    return f.n == 1 && f.roles & ROLE(WHITE);
}
static bool is_heteroskedastic(struct factors f) {
    return f.n == 2 && f.roles == (ROLE(TREND) | ROLE(WHITE));
}
static bool is_noise(struct factors f) {
    return is_white(f) || is_heteroskedastic(f);
}
static bool is_amplitude(struct factors f) {
    return f.roles & ROLE(TREND) && repeats(f);
}
static bool is_changing(struct factors f) {
    return repeats(f) && f.roles & ROLE(SMOOTH);
}
static bool is_dated(struct factors f) {
    return f.roles & ROLE(BREAK);
}

static const struct {
    const char *name;
    bool (*holds)(struct factors term);
} motifs[] = {{"trend", is_trend},
              {"recurring_pattern", repeats},
              {"recurring", repeats},
              {"periodic", repeats},
              {"seasonal", repeats},
              {"smooth", is_smooth},
              {"random_walk", is_walk},
              {"noise", is_noise},
              {"white_noise", is_white},
              {"heteroskedastic_noise", is_heteroskedastic},
              {"heteroskedastic", is_heteroskedastic},
              {"changing_amplitude", is_amplitude},
              {"changing_pattern", is_changing},
              {"change", is_dated}};

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

static enum gpm_status parse_or(struct parser *s, struct kern_query **out);

/* motif := one or two words of the table above */
static bool parse_motif(struct parser *s, struct kern_query **out) {
    size_t n = word_length(s->p), m = 0;
    if ((s->p[n] == ' ' || s->p[n] == '-') && (m = word_length(s->p + n + 1)) > 0) {
        int two = motif_find(s->p, n + 1 + m);
        if (two >= 0) {
            *out = node(s, OP_MOTIF, NULL, NULL);
            (*out)->motif = two;
            s->p += n + 1 + m;
            return true;
        }
    }
    int one = motif_find(s->p, n);
    if (one < 0) return false;
    *out = node(s, OP_MOTIF, NULL, NULL);
    (*out)->motif = one;
    s->p += n;
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
        enum gpm_status st = parse_or(s, out);
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

/* and := not { ('&' | AND) not } */
static enum gpm_status parse_and(struct parser *s, struct kern_query **out) {
    enum gpm_status st = parse_not(s, out);
    while (st == GPM_OK && take(s, "&", "and")) {
        struct kern_query *b;
        st = parse_not(s, &b);
        if (st == GPM_OK) *out = node(s, OP_AND, *out, b);
    }
    return st;
}

/* or := and { ('|' | OR) and } */
static enum gpm_status parse_or(struct parser *s, struct kern_query **out) {
    enum gpm_status st = parse_and(s, out);
    while (st == GPM_OK && take(s, "|", "or")) {
        struct kern_query *b;
        st = parse_and(s, &b);
        if (st == GPM_OK) *out = node(s, OP_OR, *out, b);
    }
    return st;
}

enum gpm_status kern_query_parse(const char *text, struct arena *a, struct kern_query **out,
                                 struct buf *err) {
    struct parser s = {text, text, a, err, 0};
    struct kern_query *q = NULL;
    enum gpm_status st = parse_or(&s, &q);
    if (st != GPM_OK) return st;
    blanks(&s);
    if (*s.p) return fail(&s, "expected '&', '|' or the end");
    *out = q;
    return GPM_OK;
}

/* ---- evaluation ---- */
static bool motif_holds(int motif, const char *const *terms, size_t n, bool change) {
    if (motifs[motif].holds == is_dated && change) return true;
    for (size_t i = 0; i < n; i++)
        if (motifs[motif].holds(factors_of(terms[i]))) return true;
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
