/* SPDX-License-Identifier: Apache-2.0
 *
 * Pursuit: the strongest wave of what is left, all waves fitted again together, and once more from
 * the start with the others taken out, because neighbours in frequency leak into each other.
 */
#include "apps/discover/beats.h"
#include "apps/discover/starts.h"
#include "gp/kernel/kern_class.h"
#include "numeric/la/blas.h"
#include "numeric/la/cols.h"
#include "base/mem.h"
#include <math.h>
#include <string.h>

#define HARMONICS 3 /* of a pattern, while its periods are looked for */
#define PASSES    2
#define MOST      STRUCTURE_MAX_TERMS
#define COLUMNS   ((size_t)2 * HARMONICS * MOST)

struct pursuit {
    const struct smodel_data *d;
    double *r, *rest;    /* what is described; without the waves that are known */
    double *x;           /* cosines and sines, n of each; room for all */
    int n;               /* patterns */
    double period[MOST]; /* 0: not known yet */
    bool held[MOST];     /* of the calendar */
    double rms[MOST];    /* of each, in the last fit */
};

bool beats_may(const struct structure *k, int i) {
    return k->t[i].gate == GATE_NONE && k->t[i].mask & factors_of(KERN_ROLE_PERIODIC) &&
           k->t[i].mask & factors_of(KERN_ROLE_SMOOTH);
}

/* ---- waves by least squares ---- */
static size_t fill_waves(struct pursuit *p, int without, int *owner) {
    size_t n = p->d->n, c = 0;
    for (int k = 0; k < p->n; k++)
        for (int h = 1; h <= HARMONICS && k != without && p->period[k] > 0; h++) {
            if (h > 1 && p->period[k] / h < 2.1 * p->d->dt) break;
            for (int part = 0; part < 2; part++, c++) {
                owner[c] = k;
                for (size_t i = 0; i < n; i++)
                    p->x[i + c * n] = sin(2 * M_PI * h * p->d->t[i] / p->period[k] + part * M_PI_2);
            }
        }
    return c;
}

/* rest = r less the waves but those of one pattern (-1: of all). */
static bool take_out(struct pursuit *p, int without) {
    int owner[COLUMNS];
    double gram[COLUMNS * COLUMNS], b[COLUMNS];
    size_t n = p->d->n, c = fill_waves(p, without, owner), pivot;
    memcpy(p->rest, p->r, n * sizeof *p->r);
    memset(p->rms, 0, sizeof p->rms);
    for (size_t k = 0; k < c; k++) {
        for (size_t j = 0; j <= k; j++)
            gram[k + j * c] = col_dot(n, p->x + k * n, p->x + j * n) + (j == k) * 1e-6 * (double)n;
        b[k] = col_dot(n, p->x + k * n, p->r);
    }
    if (c == 0) return true;
    if (la_potrf(c, gram, c, &pivot) != GPM_OK) return false;
    la_trsv(false, c, gram, c, b);
    la_trsv(true, c, gram, c, b);
    for (size_t k = 0; k < c; k++) {
        p->rms[owner[k]] += 0.5 * b[k] * b[k];
        for (size_t i = 0; i < n; i++) p->rest[i] -= b[k] * p->x[i + k * n];
    }
    for (int k = 0; k < p->n; k++) p->rms[k] = sqrt(p->rms[k]);
    return true;
}

/* A peak may be a part of a pattern whose own period is known to be a multiple. */
static double whole_period(double peak, double known) {
    double ratio = known / peak, times = floor(ratio + 0.5);
    return times >= 2 && times <= 6 && fabs(ratio / times - 1) < 0.02 ? known : peak;
}

static bool pursue(struct pursuit *p, double known) {
    for (int pass = 0; pass < PASSES; pass++)
        for (int k = 0; k < p->n; k++) {
            if (p->held[k]) continue;
            if (!take_out(p, k)) return false;
            double peak = period_peak(p->d, p->rest);
            if (!(peak > 0)) return false;
            p->period[k] = whole_period(peak, known);
        }
    return take_out(p, -1);
}

/* ---- the point ---- */
/* What term i of e describes, and the noise: all but the means of the others. */
static bool described(const struct evidence *e, int i, struct smodel_work *w, double *r) {
    const struct smodel *m = smodel_of(e);
    const struct smodel_data *d = m->data;
    const double *z = e->prop.mode[0].z;
    double *own = NEW_ARRAY(double, d->n);
    struct gp *g;
    bool ok = smodel_condition(m, w, z, &g) == GPM_OK &&
              smodel_part(m, z, g, SMODEL_SIGNAL, d->t, d->n, r, NULL) == GPM_OK &&
              smodel_part(m, z, g, i, d->t, d->n, own, NULL) == GPM_OK;
    for (size_t k = 0; k < d->n && ok; k++) r[k] = m->y[k] - r[k] + own[k];
    mem_free(own);
    return ok;
}

static struct evidence *at_point(const struct smodel_data *d, const struct structure *s,
                                 double log_prior, const struct evidence *from, int *source) {
    struct evidence *e = sevidence_make(d, s, log_prior);
    int n = smodel_of(e)->d;
    e->prop.d = n;
    e->prop.mode[e->prop.n++].z = NEW_ARRAY(double, (size_t)n);
    starts_carry(smodel_of(e), from, e->prop.mode[0].z, source);
    return e;
}

/* The structure of e without term i, at its optimum there. */
static struct evidence *without(const struct evidence *e, int i) {
    struct structure rest = smodel_of(e)->s;
    memmove(rest.t + i, rest.t + i + 1, sizeof rest.t[0] * (size_t)(rest.n - 1 - i));
    rest.t[--rest.n] = (struct term){0};
    return at_point(smodel_of(e)->data, &rest, 0, e, NULL);
}

/* The terms of m that are new, as patterns of p. */
static int new_terms(const struct smodel *m, const int *source, struct pursuit *p, int *term) {
    for (int k = 0; k < m->n_terms; k++) {
        const struct sterm *t = &m->term[k];
        if (!smodel_free(t->par[SPAR_SD]) || source[t->par[SPAR_SD]] >= 0) continue;
        p->held[p->n] = t->at > 0;
        p->period[p->n] = t->at ? p->d->season[t->at - 1] : 0;
        term[p->n++] = k;
    }
    return p->n;
}

/* Waves, or patterns with more of a shape: what has the greater density. */
static void place(struct evidence *e, const struct pursuit *p, const int *term,
                  struct smodel_work *w) {
    static const double shape[] = {1.5, 0.7, 0.3};
    const struct smodel *m = smodel_of(e);
    double *z = e->prop.mode[0].z, best[SMODEL_MAX_PAR], sum = 0;
    for (size_t i = 0; i < p->d->n; i++) sum += p->rest[i] * p->rest[i];
    z[0] = smodel_unvalue(m, 0, fmax(sqrt(sum / (double)p->d->n), 1e-3));
    for (size_t v = 0; v < COUNT_OF(shape); v++) {
        for (int k = 0; k < p->n; k++) {
            const int *par = m->term[term[k]].par;
            z[par[SPAR_SD]] = smodel_unvalue(m, par[SPAR_SD], fmax(p->rms[k], 1e-3));
            z[par[SPAR_LPER]] = smodel_unvalue(m, par[SPAR_LPER], shape[v]);
            if (!p->held[k])
                z[par[SPAR_PERIOD]] = smodel_unvalue(m, par[SPAR_PERIOD], p->period[k]);
        }
        double logp = smodel_eval(m, w, z, NULL);
        if (!(logp > e->map)) continue;
        e->map = logp;
        memcpy(best, z, sizeof *z * (size_t)m->d);
    }
    if (e->map > -INFINITY) memcpy(z, best, sizeof *z * (size_t)m->d);
}

struct evidence *beats_start(const struct evidence *e, int i, const struct structure *s,
                             double log_prior, struct smodel_work *w) {
    const struct smodel *m = smodel_of(e);
    size_t n = m->data->n;
    int source[SMODEL_MAX_PAR];
    int term[MOST], own = m->term[i].par[SPAR_PERIOD];
    double *block = NEW_ARRAY(double, n *(2 + COLUMNS));
    struct pursuit p = {.d = m->data, .r = block, .rest = block + n, .x = block + 2 * n};
    struct evidence *rest = without(e, i), *out = at_point(m->data, s, log_prior, rest, source);
    double known = smodel_free(own) ? smodel_value(m, own, e->prop.mode[0].z[own]) : 0;
    if (new_terms(smodel_of(out), source, &p, term) && described(e, i, w, p.r) && pursue(&p, known))
        place(out, &p, term, w);
    evidence_free(rest);
    mem_free(block);
    if (out->map > -INFINITY) return out;
    evidence_free(out);
    return NULL;
}
