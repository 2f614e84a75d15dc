/* SPDX-License-Identifier: Apache-2.0
 *
 * Weights of structures and their errors. The error of a probability is propagated from the
 * standard errors of the log evidences by simulation: replicates of all evidences, perturbed by
 * their own error, give replicates of the probability.
 */
#include "discover/posterior.h"
#include "base/mem.h"
#include "gp/kern_query.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define REPLICATES 300

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

struct post_answer posterior_probability(const struct posterior *p, structure_test holds,
                                         void *ctx) {
    const struct search *s = p->search;
    struct post_answer a = {0, 0, 0};
    double *w = NEW_ARRAY(double, s->n + 1), *shift = NEW_ARRAY(double, s->n + 1), m2 = 0;
    bool *in = NEW_ARRAY(bool, s->n + 1);
    struct rng r;
    rng_init(&r, 20, 0, 0); /* a fixed stream: the same errors for the same evidences */
    for (size_t i = 0; i < s->n; i++) {
        in[i] = holds(ctx, &s->at[i]->m.s);
        if (in[i]) a.p += p->weight[i];
    }
    for (int k = 0; k < REPLICATES; k++) {
        double q = 0;
        for (size_t i = 0; i < s->n; i++) shift[i] = fmin(s->at[i]->se, 3) * rng_normal(&r);
        weights(s, shift, w);
        for (size_t i = 0; i < s->n; i++)
            if (in[i]) q += w[i];
        m2 += (q - a.p) * (q - a.p) / REPLICATES;
    }
    a.p = fmin(a.p, 1);
    a.error = fmax(POSTERIOR_ERROR_Z * sqrt(m2), 1e-4); /* nothing here is known better than that */
    a.ess = posterior_indicator_ess(p, holds, ctx);
    mem_free(w);
    mem_free(shift);
    mem_free(in);
    return a;
}

static bool query_holds(void *ctx, const struct structure *s) {
    struct buf b = BUF_INIT;
    structure_print(s, &b);
    bool holds = kern_query_holds_text(ctx, b.data);
    buf_release(&b);
    return holds;
}

enum gpm_status posterior_query(const struct posterior *p, const char *query,
                                struct post_answer *out, struct buf *err) {
    struct arena a;
    struct kern_query *q = NULL;
    arena_init(&a);
    enum gpm_status st = kern_query_parse(query, &a, &q, err);
    if (st == GPM_OK) *out = posterior_probability(p, query_holds, q);
    arena_release(&a);
    return st;
}

/* ---- tables ---- */
static struct post_entry *find_entry(const struct post_table *t, const char *text) {
    for (size_t i = 0; i < t->n; i++)
        if (!strcmp(t->at[i].text, text)) return &t->at[i];
    return NULL;
}

double posterior_entry(const struct post_table *t, const char *text) {
    const struct post_entry *e = find_entry(t, text);
    return e ? e->p : 0;
}

static bool same_text(void *ctx, const struct structure *s) {
    struct buf b = BUF_INIT;
    structure_print(s, &b);
    bool same = !strcmp(b.data, ctx);
    buf_release(&b);
    return same;
}

static bool has_mask(void *ctx, const struct structure *s) {
    return structure_has(s, *(const uint16_t *)ctx);
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
    t->at = NEW_ARRAY(struct post_entry, s->n + 1);
    for (size_t i = 0; i < s->n; i++) {
        struct buf b = BUF_INIT;
        structure_print(&s->at[i]->m.s, &b);
        struct post_entry *e = find_entry(t, b.data);
        if (!e) {
            e = &t->at[t->n++];
            *e = (struct post_entry){mem_strdup(b.data), 0, 0, 0, s->at[i]};
        }
        e->p += p->weight[i];
        if (s->at[i]->m.s.transform == TRANSFORM_LOG) e->p_log += p->weight[i];
        if (evidence_total(s->at[i]) > evidence_total(e->best)) e->best = s->at[i];
        buf_release(&b);
    }
    sort_table(t);
    for (size_t i = 0; i < t->n; i++) {
        struct post_entry *e = &t->at[i];
        e->p_log = e->p > 0 ? e->p_log / e->p : 0;
        e->error = e->p > 1e-5 ? posterior_probability(p, same_text, e->text).error : 1e-4;
    }
}

static void fill_components(struct posterior *p) {
    const struct search *s = p->search;
    struct post_table *t = &p->components;
    uint16_t seen[64], white = (uint16_t)factors_of(KERN_ROLE_WHITE);
    t->at = NEW_ARRAY(struct post_entry, COUNT_OF(seen));
    seen[t->n++] = white;
    for (size_t i = 0; i < s->n; i++)
        for (int k = 0; k < s->at[i]->m.s.n; k++) {
            uint16_t mask = s->at[i]->m.s.t[k].mask;
            bool known = false;
            for (size_t q = 0; q < t->n; q++) known |= seen[q] == mask;
            if (!known && t->n < COUNT_OF(seen)) seen[t->n++] = mask;
        }
    for (size_t q = 0; q < t->n; q++) {
        struct buf b = BUF_INIT;
        term_print((struct term){seen[q], 0}, &b);
        struct post_answer a = posterior_probability(p, has_mask, &seen[q]);
        if (seen[q] == white) a.error = 0; /* part of every structure */
        t->at[q] = (struct post_entry){buf_take(&b), a.p, a.error, 0, NULL};
    }
    sort_table(t);
}

/* What the words speak of: PER and SE*PER share the mass of one recurring pattern. */
static void fill_motifs(struct posterior *p) {
    static const char *const names[] = {
        "trend",  "recurring_pattern", "changing_pattern",      "changing_amplitude",
        "smooth", "random_walk",       "heteroskedastic_noise", "change"};
    struct post_table *t = &p->motifs;
    t->at = NEW_ARRAY(struct post_entry, COUNT_OF(names));
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        struct post_answer a = {0, 0, 0};
        struct buf err = BUF_INIT;
        if (posterior_query(p, names[i], &a, &err) == GPM_OK)
            t->at[t->n++] = (struct post_entry){mem_strdup(names[i]), a.p, a.error, 0, NULL};
        buf_release(&err);
    }
    sort_table(t);
}

void posterior_init(struct posterior *p, const struct search *s) {
    memset(p, 0, sizeof *p);
    p->search = s;
    p->n_ev = s->n;
    p->weight = NEW_ARRAY(double, s->n + 1);
    weights(s, NULL, p->weight);
    for (size_t i = 0; i < s->n; i++) {
        if (!s->at[i]->expanded) p->unexplored += p->weight[i];
        if (s->at[i]->m.s.transform == TRANSFORM_LOG) p->p_log += p->weight[i];
    }
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
    mem_free(p->weight);
    mem_free(p->chain);
    mem_free(p->verdict);
    memset(p, 0, sizeof *p);
}
