/* SPDX-License-Identifier: Apache-2.0
 *
 * Queries over structures: recursive descent, evaluated on the list of terms.
 */
#include "study/query.h"
#include "base/mem.h"
#include <ctype.h>
#include <string.h>
#include <strings.h>

enum op { OP_AND, OP_OR, OP_NOT, OP_TERM, OP_MOTIF };
struct query {
    enum op op;
    const struct query *a, *b;
    uint16_t mask;
    int motif;
};

/* ---- motifs ---- */
enum {
    LIN = FACTOR_BIT(FACTOR_LIN),
    PER = FACTOR_BIT(FACTOR_PER),
    WN = FACTOR_BIT(FACTOR_WN),
    W = FACTOR_BIT(FACTOR_W),
    SMOOTH = FACTOR_BIT(FACTOR_SE) | FACTOR_BIT(FACTOR_MAT) | FACTOR_BIT(FACTOR_RQ),
    DIRECTED = LIN | FACTOR_BIT(FACTOR_IW) | FACTOR_BIT(FACTOR_RAMP),
    DATED = FACTOR_BIT(FACTOR_RAMP) | FACTOR_BIT(FACTOR_STEP)
};

static bool is_trend(unsigned m) {
    return m & DIRECTED && !(m & (PER | WN));
}
static bool is_recurring(unsigned m) {
    return (m & PER) != 0;
}
static bool is_smooth(unsigned m) {
    return m && !(m & ~(unsigned)SMOOTH);
}
static bool is_walk(unsigned m) {
    return m == W;
}
static bool is_noise(unsigned m) {
    return m == WN || m == (LIN | WN);
}
static bool is_white(unsigned m) {
    return m == WN;
}
static bool is_heteroskedastic(unsigned m) {
    return m == (LIN | WN);
}
static bool is_amplitude(unsigned m) {
    return (m & (LIN | PER)) == (LIN | PER);
}
static bool is_dated(unsigned m) {
    return (m & DATED) != 0;
}

static const struct {
    const char *name;
    bool (*holds)(unsigned mask);
} motifs[] = {{"trend", is_trend},
              {"recurring_pattern", is_recurring},
              {"recurring", is_recurring},
              {"periodic", is_recurring},
              {"seasonal", is_recurring},
              {"smooth", is_smooth},
              {"random_walk", is_walk},
              {"noise", is_noise},
              {"white_noise", is_white},
              {"heteroskedastic_noise", is_heteroskedastic},
              {"heteroskedastic", is_heteroskedastic},
              {"changing_amplitude", is_amplitude},
              {"change", is_dated}};

const char *query_motif(size_t i) {
    return i < COUNT_OF(motifs) ? motifs[i].name : NULL;
}

static int motif_find(const char *s, size_t len) {
    for (size_t i = 0; i < COUNT_OF(motifs); i++) {
        const char *m = motifs[i].name;
        if (strlen(m) != len) continue;
        size_t k = 0; /* a blank or a hyphen may stand for the underscore */
        while (k < len && (tolower((unsigned char)s[k]) == m[k] ||
                           (m[k] == '_' && (s[k] == ' ' || s[k] == '-'))))
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
    while (isspace((unsigned char)*s->p)) s->p++;
}

static size_t word_length(const char *p) {
    size_t n = 0;
    while (isalnum((unsigned char)p[n]) || p[n] == '_') n++;
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
    if (n != strlen(word) || strncasecmp(s->p, word, n)) return false;
    s->p += n;
    return true;
}

static struct query *node(struct parser *s, enum op op, const struct query *a,
                          const struct query *b) {
    struct query *q = ARENA_NEW(s->a, struct query);
    q->op = op;
    q->a = a;
    q->b = b;
    return q;
}

static enum gpm_status parse_or(struct parser *s, struct query **out);

/* motif := one or two words of the table above */
static bool parse_motif(struct parser *s, struct query **out) {
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

/* product := FACTOR { '*' FACTOR } */
static enum gpm_status parse_product(struct parser *s, struct query **out) {
    unsigned mask = 0;
    do {
        blanks(s);
        size_t n = word_length(s->p);
        if (n == 0) return fail(s, "expected a component such as LIN or SE*PER, or a motif");
        enum factor f = factor_find(s->p, n);
        if (f == FACTOR_COUNT)
            return fail(
                s, "unknown word; components are made of LIN, SE, PER, WN, WIENER, "
                   "IWIENER, MAT32, RQ, RAMP, STEP, motifs are trend, recurring_pattern, noise, "
                   "heteroskedastic_noise ...");
        mask |= FACTOR_BIT(f);
        s->p += n;
        blanks(s);
    } while (*s->p == '*' && s->p++);
    /* stationary times WN is WN (appendix B of the paper) */
    if (mask & WN) mask &= LIN | WN;
    *out = node(s, OP_TERM, NULL, NULL);
    (*out)->mask = (uint16_t)mask;
    return GPM_OK;
}

/* atom := '(' or ')' | motif | product { '+' product } */
static enum gpm_status parse_atom(struct parser *s, struct query **out) {
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
        struct query *right;
        s->p++;
        st = parse_product(s, &right);
        if (st == GPM_OK) *out = node(s, OP_AND, *out, right);
    }
    return st;
}

/* not := ('!' | '~' | NOT) not | atom */
static enum gpm_status parse_not(struct parser *s, struct query **out) {
    if (++s->depth > DEPTH_MAX) return fail(s, "nested too deeply");
    enum gpm_status st;
    if (take(s, "!~", "not")) {
        struct query *a;
        st = parse_not(s, &a);
        if (st == GPM_OK) *out = node(s, OP_NOT, a, NULL);
    } else {
        st = parse_atom(s, out);
    }
    s->depth--;
    return st;
}

/* and := not { ('&' | AND) not } */
static enum gpm_status parse_and(struct parser *s, struct query **out) {
    enum gpm_status st = parse_not(s, out);
    while (st == GPM_OK && take(s, "&", "and")) {
        struct query *b;
        st = parse_not(s, &b);
        if (st == GPM_OK) *out = node(s, OP_AND, *out, b);
    }
    return st;
}

/* or := and { ('|' | OR) and } */
static enum gpm_status parse_or(struct parser *s, struct query **out) {
    enum gpm_status st = parse_and(s, out);
    while (st == GPM_OK && take(s, "|", "or")) {
        struct query *b;
        st = parse_and(s, &b);
        if (st == GPM_OK) *out = node(s, OP_OR, *out, b);
    }
    return st;
}

enum gpm_status query_parse(const char *text, struct arena *a, struct query **out,
                            struct buf *err) {
    struct parser s = {text, text, a, err, 0};
    struct query *q = NULL;
    enum gpm_status st = parse_or(&s, &q);
    if (st != GPM_OK) return st;
    blanks(&s);
    if (*s.p) return fail(&s, "expected '&', '|' or the end");
    *out = q;
    return GPM_OK;
}

/* ---- evaluation ---- */
static bool motif_holds(int motif, const struct term *t, size_t n, bool change) {
    if (motifs[motif].holds == is_dated && change) return true;
    for (size_t i = 0; i < n; i++)
        if (motifs[motif].holds(t[i].mask)) return true;
    return false;
}

bool query_holds(const struct query *q, const struct term *t, size_t n, bool change) {
    switch (q->op) {
    case OP_AND: return query_holds(q->a, t, n, change) && query_holds(q->b, t, n, change);
    case OP_OR: return query_holds(q->a, t, n, change) || query_holds(q->b, t, n, change);
    case OP_NOT: return !query_holds(q->a, t, n, change);
    case OP_MOTIF: return motif_holds(q->motif, t, n, change);
    default:
        for (size_t i = 0; i < n; i++)
            if (t[i].mask == q->mask) return true;
        return false;
    }
}

bool query_holds_structure(const struct query *q, const struct structure *s) {
    struct term t[STRUCTURE_MAX_TERMS + 1];
    memcpy(t, s->t, sizeof s->t);
    t[s->n] = (struct term){WN, GATE_NONE};
    return query_holds(q, t, (size_t)s->n + 1, s->change != CHANGE_NONE);
}

enum gpm_status query_terms(const char *text, struct term *t, size_t max, size_t *n) {
    *n = 0;
    unsigned mask = 0;
    for (const char *p = text;;) {
        while (isspace((unsigned char)*p)) p++;
        size_t len = word_length(p);
        enum factor f = len ? factor_find(p, len) : FACTOR_COUNT;
        if (f == FACTOR_COUNT) return GPM_E_FORMAT;
        mask |= FACTOR_BIT(f);
        p += len;
        while (isspace((unsigned char)*p)) p++;
        if (*p == '*') {
            p++;
            continue;
        }
        if (*n >= max || (*p && *p != '+')) return GPM_E_FORMAT;
        t[(*n)++] = (struct term){(uint16_t)mask, GATE_NONE};
        mask = 0;
        if (!*p++) return GPM_OK;
    }
}
