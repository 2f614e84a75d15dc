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
static struct post_entry *find_entry(struct post_entry *e, size_t n, const char *text) {
    for (size_t i = 0; i < n; i++)
        if (!strcmp(e[i].text, text)) return &e[i];
    return NULL;
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

/* Structures with the same text but another transform are one line of the table. */
static void fill_structures(struct posterior *p) {
    const struct search *s = p->search;
    p->structures = NEW_ARRAY(struct post_entry, s->n + 1);
    for (size_t i = 0; i < s->n; i++) {
        struct buf b = BUF_INIT;
        structure_print(&s->at[i]->m.s, &b);
        struct post_entry *e = find_entry(p->structures, p->n_structures, b.data);
        if (!e) {
            e = &p->structures[p->n_structures++];
            *e = (struct post_entry){mem_strdup(b.data), 0, 0, 0, s->at[i]};
        }
        e->p += p->weight[i];
        if (s->at[i]->m.s.transform == TRANSFORM_LOG) e->p_log += p->weight[i];
        if (evidence_total(s->at[i]) > evidence_total(e->best)) e->best = s->at[i];
        buf_release(&b);
    }
    qsort(p->structures, p->n_structures, sizeof *p->structures, by_probability);
    for (size_t i = 0; i < p->n_structures; i++) {
        struct post_entry *e = &p->structures[i];
        e->p_log = e->p > 0 ? e->p_log / e->p : 0;
        e->error = e->p > 1e-5 ? posterior_probability(p, same_text, e->text).error : 1e-4;
    }
}

static void fill_components(struct posterior *p) {
    const struct search *s = p->search;
    p->components = NEW_ARRAY(struct post_entry, 64);
    uint16_t seen[64];
    seen[p->n_components++] = FACTOR_BIT(FACTOR_WN);
    for (size_t i = 0; i < s->n; i++)
        for (int k = 0; k < s->at[i]->m.s.n; k++) {
            uint16_t mask = s->at[i]->m.s.t[k].mask;
            bool known = false;
            for (size_t q = 0; q < p->n_components; q++) known |= seen[q] == mask;
            if (!known && p->n_components < COUNT_OF(seen)) seen[p->n_components++] = mask;
        }
    for (size_t q = 0; q < p->n_components; q++) {
        struct buf b = BUF_INIT;
        term_print((struct term){seen[q], 0}, &b);
        struct post_answer a = posterior_probability(p, has_mask, &seen[q]);
        if (seen[q] == FACTOR_BIT(FACTOR_WN)) a.error = 0; /* part of every structure */
        p->components[q] = (struct post_entry){buf_take(&b), a.p, a.error, 0, NULL};
    }
    qsort(p->components, p->n_components, sizeof *p->components, by_probability);
}

/* What the words speak of: PER and SE*PER share the mass of one recurring pattern. */
static void fill_motifs(struct posterior *p) {
    static const char *const names[] = {
        "trend",  "recurring_pattern", "changing_pattern",      "changing_amplitude",
        "smooth", "random_walk",       "heteroskedastic_noise", "change"};
    p->motifs = NEW_ARRAY(struct post_entry, COUNT_OF(names));
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        struct post_answer a = {0, 0, 0};
        struct buf err = BUF_INIT;
        if (posterior_query(p, names[i], &a, &err) == GPM_OK)
            p->motifs[p->n_motifs++] =
                (struct post_entry){mem_strdup(names[i]), a.p, a.error, 0, NULL};
        buf_release(&err);
    }
    qsort(p->motifs, p->n_motifs, sizeof *p->motifs, by_probability);
}

double posterior_motif(const struct posterior *p, const char *name) {
    const struct post_entry *e = find_entry(p->motifs, p->n_motifs, name);
    return e ? e->p : 0;
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

void posterior_release(struct posterior *p) {
    for (size_t i = 0; i < p->n_structures; i++) mem_free(p->structures[i].text);
    for (size_t i = 0; i < p->n_components; i++) mem_free(p->components[i].text);
    mem_free(p->structures);
    for (size_t i = 0; i < p->n_motifs; i++) mem_free(p->motifs[i].text);
    mem_free(p->components);
    mem_free(p->motifs);
    mem_free(p->weight);
    mem_free(p->chain);
    mem_free(p->verdict);
    memset(p, 0, sizeof *p);
}
