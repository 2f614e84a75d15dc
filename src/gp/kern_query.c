/* SPDX-License-Identifier: Apache-2.0
 *
 * Queries over structures: recursive descent, evaluated on the list of terms.
 */
#include "gp/kern_class.h"
#include "gp/kern_query.h"
#include "gp/kern_text.h"

#include "base/ascii.h"
#include "base/mem.h"

#include <stdio.h>
#include <string.h>

/* The terms of a canonical structure. */
struct terms {
    const char *at[64];
    size_t n;
    bool change; /* there is a change operator around some of them */
};

enum op { OP_AND, OP_OR, OP_NOT, OP_TERMS, OP_MOTIF };
struct kern_query {
    enum op op;
    const struct kern_query *a, *b;
    const struct terms *terms; /* all of them are there */
    const struct motif *motif;
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

static const struct motif *motif_find(const char *s, size_t len) {
    for (size_t i = 0; i < COUNT_OF(motifs); i++) {
        const char *m = motifs[i].name;
        if (strlen(m) != len) continue;
        size_t k = 0; /* a blank or a hyphen may stand for the underscore */
        while (k < len &&
               (ascii_lower(s[k]) == m[k] || (m[k] == '_' && (s[k] == ' ' || s[k] == '-'))))
            k++;
        if (k == len) return &motifs[i];
    }
    return NULL;
}

/* ---- reading ---- */
struct parser {
    struct kern_reader in;
    struct arena *a;
};

/* The letters of CP( and CW( and their commas separate terms as plus signs do. */
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

/* Takes an operator written as a sign (once or twice) or as a word. */
static bool take(struct parser *s, const char *signs, const char *word) {
    char c = kern_peek(&s->in);
    if (c && strchr(signs, c)) {
        s->in.at += 1 + (s->in.at[1] == c && (c == '&' || c == '|'));
        return true;
    }
    size_t n = kern_word(&s->in);
    if (n != strlen(word) || ascii_ncasecmp(s->in.at, word, n)) return false;
    s->in.at += n;
    return true;
}

static struct kern_query *node(struct parser *s, enum op op, const struct kern_query *a,
                               const struct kern_query *b) {
    struct kern_query *q = ARENA_NEW(s->a, struct kern_query);
    *q = (struct kern_query){.op = op, .a = a, .b = b};
    return q;
}

/* motif := one or two words of the table above */
static struct kern_query *parse_motif(struct parser *s) {
    const char *p = s->in.at;
    size_t one = kern_word(&s->in), len = one;
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
static struct kern_query *parse_terms(struct parser *s) {
    if (!kern_word(&s->in))
        return kern_fail(&s->in, "expected %s", "a component such as LIN or SE*PER, or a motif");
    struct kern *k = kern_read_sum(&s->in);
    struct kern_query *q = NULL;
    struct buf b = BUF_INIT;
    if (k && kern_struct(k, &b))
        kern_fail(&s->in, "%s", KERN_TOO_LARGE);
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

static struct kern_query *parse_chain(struct parser *s, enum op op);

/* not := ('!' | '~' | NOT) not | '(' or ')' | motif | terms */
static struct kern_query *parse_not(struct parser *s) {
    struct kern_query *q;
    if (++s->in.depth > KERN_DEPTH_MAX) return kern_fail(&s->in, "%s", "nested too deeply");
    if (take(s, "!~", "not")) {
        q = parse_not(s);
        if (q) q = node(s, OP_NOT, q, NULL);
    } else if (kern_accept(&s->in, '(')) {
        q = parse_chain(s, OP_OR);
        if (q && !kern_expect(&s->in, ')')) return NULL;
    } else if (!(q = parse_motif(s)))
        q = parse_terms(s);
    s->in.depth--;
    return q;
}

/* and := not { ('&' | AND) not },  or := and { ('|' | OR) and } */
static struct kern_query *parse_chain(struct parser *s, enum op op) {
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
    struct parser s = {{.text = text, .at = text, .query = true, .why = BUF_INIT}, a};
    *out = parse_chain(&s, OP_OR);
    if (*out && kern_peek(&s.in)) *out = kern_fail(&s.in, "expected %s", "'&', '|' or the end");
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

static bool holds(const struct kern_query *q, const struct terms *t) {
    switch (q->op) {
    case OP_AND: return holds(q->a, t) && holds(q->b, t);
    case OP_OR: return holds(q->a, t) || holds(q->b, t);
    case OP_NOT: return !holds(q->a, t);
    case OP_MOTIF: return motif_holds(q->motif, t);
    default: return all_there(q->terms, t);
    }
}

bool kern_query_holds_text(const struct kern_query *q, const char *structure) {
    char *copy = mem_strdup(structure);
    struct terms t;
    split(copy, &t);
    bool r = holds(q, &t);
    mem_free(copy);
    return r;
}
