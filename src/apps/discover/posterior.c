/* SPDX-License-Identifier: Apache-2.0
 *
 * Weights of structures and their errors. The error of a probability is propagated from the
 * standard errors of the log evidences by simulation: replicates of all evidences, perturbed by
 * their own error, give replicates of the probability.
 */
#include "apps/discover/posterior.h"
#include "base/mem.h"
#include "gp/kernel/kern_query.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define REPLICATES 200

static void weights(const struct search *s, const double *shift, double *w) {
    double top = -INFINITY, sum = 0;
    for (size_t i = 0; i < s->n; i++) {
        w[i] = evidence_total(s->at[i]) + (shift ? shift[i] : 0);
        if (isnan(w[i])) w[i] = -INFINITY;
        top = fmax(top, w[i]);
    }
    for (size_t i = 0; i < s->n; i++) sum += w[i] = exp(w[i] - top);
    for (size_t i = 0; i < s->n; i++) w[i] /= sum;
}

/* A fixed stream: the same errors for the same evidences. */
static void replicates(struct posterior *p) {
    const struct search *s = p->search;
    double *shift = NEW_ARRAY(double, s->n + 1);
    struct rng r;
    rng_init(&r, 20, 0, 0);
    p->replicate = NEW_ARRAY(double, REPLICATES * s->n + 1);
    for (size_t k = 0; k < REPLICATES; k++) {
        for (size_t i = 0; i < s->n; i++)
            shift[i] = p->weight[i] > 1e-7 ? fmin(s->at[i]->se, 3) * rng_normal(&r) : 0;
        weights(s, shift, p->replicate + k * s->n);
    }
    mem_free(shift);
}

struct query_answer posterior_probability(const struct posterior *p, structure_test holds,
                                          void *ctx) {
    const struct search *s = p->search;
    struct query_answer a = {0, 0, 0};
    double q[REPLICATES] = {0}, m2 = 0;
    for (size_t i = 0; i < s->n; i++) {
        if (!holds(ctx, p, i)) continue;
        a.probability += p->weight[i];
        for (size_t k = 0; k < REPLICATES; k++) q[k] += p->replicate[k * s->n + i];
    }
    for (int k = 0; k < REPLICATES; k++)
        m2 += (q[k] - a.probability) * (q[k] - a.probability) / REPLICATES;
    a.probability = fmin(a.probability, 1);
    a.error = fmax(POSTERIOR_ERROR_Z * sqrt(m2), 1e-4); /* nothing here is known better than that */
    a.ess = posterior_indicator_ess(p, holds, ctx);
    return a;
}

static bool query_holds(void *ctx, const struct posterior *p, size_t i) {
    return kern_query_holds_seen(ctx, p->search->at[i]->text, p->seen[i]);
}

enum gpm_status posterior_query(const struct posterior *p, const char *query,
                                struct query_answer *out, struct buf *err) {
    struct arena a = {0};
    struct kern_query *q = NULL;
    enum gpm_status st = kern_query_parse(query, &a, &q, err);
    if (st == GPM_OK) *out = posterior_probability(p, query_holds, q);
    arena_release(&a);
    return st;
}

/* ---- tables ---- */
/* The line of the table with this text of `len` letters, a new one if missing. */
static struct post_entry *entry(struct post_table *t, const char *text, size_t len) {
    for (size_t i = 0; i < t->n; i++)
        if (!strncmp(t->at[i].text, text, len) && !t->at[i].text[len]) return &t->at[i];
    t->at = mem_realloc(t->at, (t->n + 1) * sizeof *t->at);
    t->at[t->n] = (struct post_entry){.text = mem_strndup(text, len)};
    return &t->at[t->n++];
}

double posterior_entry(const struct post_table *t, const char *text) {
    for (size_t i = 0; i < t->n; i++)
        if (!strcmp(t->at[i].text, text)) return t->at[i].p;
    return 0;
}

bool posterior_is(void *ctx, const struct posterior *p, size_t i) {
    return !strcmp(p->search->at[i]->text, ctx);
}

double posterior_text_ess(const struct posterior *p, char *text) {
    return posterior_indicator_ess(p, posterior_is, text);
}

const char *structure_next_term(const char **at, size_t *len) {
    for (;;) {
        const char *p = *at + strspn(*at, " +,)");
        if (!strncmp(p, "CP(", 3) || !strncmp(p, "CW(", 3)) p += 3;
        *len = strcspn(p, " +,)");
        *at = p + *len;
        if (!*len) return NULL;
        if (*len != 1 || *p != 'C') return p;
    }
}

bool structure_has_term(const char *term, const char *structure) {
    const char *at;
    size_t len;
    while ((at = structure_next_term(&structure, &len)))
        if (!strncmp(at, term, len) && !term[len]) return true;
    return false;
}

bool posterior_has_term(void *ctx, const struct posterior *p, size_t i) {
    return structure_has_term(ctx, p->search->at[i]->text);
}

static int by_probability(const void *a, const void *b) {
    const struct post_entry *p = a, *q = b;
    if (p->p != q->p) return p->p < q->p ? 1 : -1;
    return strcmp(p->text, q->text);
}

static void sort_table(struct post_table *t) {
    qsort(t->at, t->n, sizeof *t->at, by_probability);
}

/* Structures with the same text but another transform are one line of the table. */
static void fill_structures(struct posterior *p) {
    const struct search *s = p->search;
    struct post_table *t = &p->structures;
    for (size_t i = 0; i < s->n; i++) {
        struct post_entry *e = entry(t, s->at[i]->text, strlen(s->at[i]->text));
        e->p += p->weight[i];
        e->p_group[s->at[i]->group] += p->weight[i];
        if (!e->best || evidence_total(s->at[i]) > evidence_total(e->best)) e->best = s->at[i];
    }
    sort_table(t);
    for (size_t i = 0; i < t->n; i++) {
        struct post_entry *e = &t->at[i];
        for (int g = 0; g < SPACE_GROUPS; g++) e->p_group[g] = e->p > 0 ? e->p_group[g] / e->p : 0;
        e->error = e->p > 1e-5 ? posterior_probability(p, posterior_is, e->text).error : 1e-4;
    }
}

/* A component that every structure has is certain. */
static bool in_all(const struct search *s, char *term) {
    for (size_t i = 0; i < s->n; i++)
        if (!structure_has_term(term, s->at[i]->text)) return false;
    return true;
}

static void fill_components(struct posterior *p) {
    const struct search *s = p->search;
    struct post_table *t = &p->components;
    for (size_t i = 0; i < s->n; i++) {
        const char *at = s->at[i]->text, *term;
        size_t len;
        while ((term = structure_next_term(&at, &len))) (void)entry(t, term, len);
    }
    for (size_t q = 0; q < t->n; q++) {
        struct query_answer a = posterior_probability(p, posterior_has_term, t->at[q].text);
        t->at[q].p = a.probability;
        t->at[q].error = in_all(s, t->at[q].text) ? 0 : a.error;
    }
    sort_table(t);
}

/* What the words speak of: PER and SE*PER share the mass of one recurring pattern. */
static void fill_motifs(struct posterior *p) {
    static const char *const names[] = {
        "trend",  "recurring_pattern", "changing_pattern",      "changing_amplitude",
        "smooth", "random_walk",       "heteroskedastic_noise", "change"};
    struct post_table *t = &p->motifs;
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        struct query_answer a = {0, 0, 0};
        struct buf err = BUF_INIT;
        if (posterior_query(p, names[i], &a, &err) == GPM_OK) {
            struct post_entry *e = entry(t, names[i], strlen(names[i]));
            e->p = a.probability;
            e->error = a.error;
        }
        buf_release(&err);
    }
    sort_table(t);
}

void posterior_init(struct posterior *p, struct search *s) {
    memset(p, 0, sizeof *p);
    p->search = s;
    p->weight = NEW_ARRAY(double, s->n + 1);
    weights(s, NULL, p->weight);
    replicates(p);
    p->seen = NEW_ARRAY(char *, s->n + 1);
    for (size_t i = 0; i < s->n; i++) {
        const struct evidence *e = s->at[i];
        char *seen = e->seen && p->weight[i] > 0 ? e->seen(e) : NULL;
        p->seen[i] = seen ? seen : mem_strdup(e->text);
    }
    p->n_seen = s->n;
    for (size_t i = 0; i < s->n; i++) p->p_group[s->at[i]->group] += p->weight[i];
    p->unexplored = search_unexplored(s);
    fill_structures(p);
    fill_components(p);
    fill_motifs(p);
}

static void table_release(struct post_table *t) {
    for (size_t i = 0; i < t->n; i++) mem_free(t->at[i].text);
    mem_free(t->at);
}

void posterior_release(struct posterior *p) {
    table_release(&p->structures);
    table_release(&p->components);
    table_release(&p->motifs);
    for (size_t i = 0; i < p->n_seen; i++) mem_free(p->seen[i]);
    mem_free(p->seen);
    mem_free(p->weight);
    mem_free(p->replicate);
    mem_free(p->chain);
    mem_free(p->verdict);
    memset(p, 0, sizeof *p);
}
