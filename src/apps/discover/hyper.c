/* SPDX-License-Identifier: Apache-2.0
 * Priors learnt from posteriors (hyper.h). */
#include "apps/discover/hyper.h"
#include "apps/discover/posterior.h"
#include "apps/discover/series_space.h"
#include <math.h>

const struct hyper_prior *hyper_find(const struct hyper_priors *h, unsigned mask, int kind) {
    for (size_t i = 0; h && i < h->n; i++)
        if (h->at[i].mask == mask && h->at[i].kind == kind) return &h->at[i];
    return NULL;
}

static struct hyper_gathered *gathered_of(struct hyper_gathering *g, unsigned mask, int kind) {
    for (size_t i = 0; i < g->n; i++)
        if (g->at[i].key.mask == mask && g->at[i].key.kind == kind) return &g->at[i];
    if (g->n == HYPER_MAX) return NULL;
    g->at[g->n] = (struct hyper_gathered){.key = {(uint16_t)mask, (uint16_t)kind, 0, 0}};
    return &g->at[g->n++];
}

/* Weighted moments of one structure's draws. */
static void gather_evidence(struct hyper_gathering *g, const struct evidence *e, double weight) {
    const struct smodel *m = smodel_of(e);
    for (int j = 0; j < m->d; j++) {
        const struct spar *p = &m->par[j];
        bool nested = p->term >= 0 && term_nests(m->s.t[p->term]); /* its own kind */
        struct hyper_gathered *to =
            p->row && !nested ? gathered_of(g, p->term < 0 ? 0 : m->term[p->term].mask, p->kind)
                              : NULL;
        if (!to) continue;
        to->a = p->a;
        to->b = p->b > 0 ? p->b : 1;
        for (size_t k = 0; k < e->draws.n; k++) {
            double z = e->draws.z[k * e->draws.d + (size_t)j], w = weight * e->draws.w[k];
            to->own_w += w, to->own_m += w * z, to->own_s += w * z * z;
        }
    }
}

void hyper_gather(struct hyper_gathering *g, const struct posterior *p) {
    for (size_t i = 0; i < p->search->n; i++)
        if (p->weight[i] > 0.01 && p->search->at[i]->draws.n)
            gather_evidence(g, p->search->at[i], p->weight[i]);
    for (struct hyper_gathered *c = g->at; c < g->at + g->n; c++) {
        if (c->own_w > 0) { /* a series counts by the probability that it has the term */
            double w = fmin(c->own_w, 1), mean = c->own_m / c->own_w;
            c->w += w;
            c->m += w * mean;
            c->sq += w * c->own_s / c->own_w;
        }
        c->own_w = c->own_m = c->own_s = 0;
    }
}

void hyper_join(struct hyper_gathering *g, const struct hyper_gathering *other) {
    for (const struct hyper_gathered *c = other->at; c < other->at + other->n; c++) {
        struct hyper_gathered *to = gathered_of(g, c->key.mask, c->key.kind);
        if (!to) continue;
        to->a = c->a;
        to->b = c->b;
        to->w += c->w;
        to->m += c->m;
        to->sq += c->sq;
    }
}

/* The default counts as two series. */
void hyper_learn(const struct hyper_gathering *g, struct hyper_priors *out) {
    out->n = 0;
    for (const struct hyper_gathered *c = g->at; c < g->at + g->n; c++) {
        double n = c->w + 2, mean = (c->m + 2 * c->a) / n;
        if (c->w < 2) continue;                                       /* two series must have it */
        double second = c->sq - 2 * mean * c->m + c->w * mean * mean; /* sum w E(z - mean)^2 */
        double var = (second + 2 * (c->b * c->b + (c->a - mean) * (c->a - mean))) / n;
        out->at[out->n++] =
            (struct hyper_prior){c->key.mask, c->key.kind, mean, sqrt(fmax(var, 0.01))};
    }
}
