/* SPDX-License-Identifier: Apache-2.0
 *
 * Evidences of a series: the density of a structure's parameters, its units, where to start.
 */
#include "apps/discover/evidence.h"
#include "base/mem.h"
#include "apps/discover/predict.h"
#include "apps/discover/starts.h"
#include <math.h>
#include <string.h>

const struct fit_rules series_fit_rules = {.polished = 3,
                                           .iterations = 8,
                                           .modes = 40,
                                           .range = 5,
                                           .apart = 0.15,
                                           .typical = 1.4,
                                           .least = 1,
                                           .hope = 6,
                                           .again = 10};
/* A dense gradient of a long series costs twenty fast ones: fewer starts, fewer polished. */
enum { STARTS_SLOW = 24, POLISHED_SLOW = 2, SLOW_FROM = 60 };
/* So does a parent that counts little itself, with a term that the data say nothing of. */
enum { STARTS_FEW = 8, ITERATIONS_FEW = 4 };

/* ---- the density ---- */
static double eval(void *ctx, const double *z, double *grad) {
    struct smodel_work *w = ctx;
    return smodel_eval(w->m, w, z, grad);
}

static double eval_folded(void *ctx, const double *z, double *grad) {
    struct smodel_work *w = ctx;
    if (!smodel_ordered(w->m, z)) return -INFINITY;
    return smodel_eval(w->m, w, z, grad) + w->m->log_copies;
}

static bool late(void *ctx) {
    const struct smodel_work *w = ctx;
    return smodel_late(w->m, w);
}

static bool slopes(void *ctx, const double *z, double *grad) {
    struct smodel_work *w = ctx;
    return smodel_slopes(w->m, w, z, grad);
}

/* A period is known to a small fraction of itself (a drift of a third of a radian over the span).
 */
static void units(void *ctx, const double *z, double *unit) {
    const struct smodel *m = ((struct smodel_work *)ctx)->m;
    for (int i = 0; i < m->d; i++) {
        if (m->par[i].kind == SPAR_PERIOD)
            unit[i] = 0.05 * smodel_value(m, i, z[i]) / smodel_dvalue(m, i, z[i]);
        if (m->par[i].kind == SPAR_TAU) unit[i] = 0.1;
    }
}

/* A prior of two kinds (patterns that are smooth, and sharp ones) may leave a mode in each, or a
 * ridge between them: around the kind that z does not belong to. */
static bool other_kind(const struct spar *p, double *z, double *unit) {
    if (!p->row || p->sd > 0 || !(p->row->second.share > 0)) return false;
    bool second =
        fabs(*z - p->row->second.a) / p->row->second.b < fabs(*z - p->a) / p->row->prior_b;
    *z = second ? p->a : p->row->second.a;
    *unit = second ? p->row->prior_b : p->row->second.b;
    return true;
}

/* A date, or the end of a window, by that much of the span: between them lie values that no step
 * gets over. */
static const double move[] = {-0.14, -0.06, 0.06, 0.14};

static bool move_place(const struct smodel *m, int i, double by, double *z, double *unit) {
    double d = smodel_dvalue(m, i, z[i]), v = smodel_value(m, i, z[i]) + by;
    if (m->par[i].row || !(v > m->par[i].a && v < m->par[i].b)) return false;
    z[i] = smodel_unvalue(m, i, v);
    unit[i] = 0.05 / fmax(d, 0.01);
    return true;
}

/* The start of a window moves without its end. */
static bool move_date(const struct smodel *m, int i, double by, double *z, double *unit) {
    int kind = m->par[i].kind;
    if (kind != SPAR_TAU && kind != SPAR_WIDTH) return false;
    return move_place(m, i, by, z, unit) &&
           (i != m->tau || m->width < 0 || move_place(m, m->width, -by, z, unit));
}

static bool elsewhere(void *ctx, const double *z, int k, double *at, double *unit) {
    const struct smodel *m = ((struct smodel_work *)ctx)->m;
    for (int i = 0; i < m->d; i++)
        for (size_t v = 0; v < COUNT_OF(move); v++) {
            memcpy(at, z, sizeof *z * (size_t)m->d);
            memset(unit, 0, sizeof *unit * (size_t)m->d);
            bool is = (v == 0 && other_kind(&m->par[i], &at[i], &unit[i])) ||
                      move_date(m, i, move[v], at, unit);
            if (is && k-- == 0) return true;
        }
    return false;
}

static void settle(void *ctx, double *z) {
    smodel_order(((struct smodel_work *)ctx)->m, z);
}

struct density smodel_density(const struct smodel *m, struct smodel_work *w, bool folded) {
    w->m = m;
    return (struct density){.d = m->d,
                            .eval = folded ? eval_folded : eval,
                            .ctx = w,
                            .units = units,
                            .settle = settle,
                            .elsewhere = elsewhere,
                            .late = late,
                            .slopes = slopes,
                            .stop = w->stop,
                            .haste = w->haste};
}

/* ---- evidences ---- */
/* What the terms amount to at the medians of their length-scales. */
static char *seen(const struct evidence *e) {
    const struct smodel *m = smodel_of(e);
    struct structure s = m->s;
    struct buf text = BUF_INIT;
    bool same = true;
    for (int k = 0; k < m->n_terms && e->prop.n; k++) {
        int l = m->term[k].par[SPAR_L];
        if (l < 0) continue;
        s.t[k].mask = (uint16_t)smodel_amounts(m, k, parameter_summary(e, l).mean);
        same &= s.t[k].mask == m->s.t[k].mask;
    }
    if (same) return NULL;
    structure_print(&s, &text);
    return buf_take(&text);
}

struct evidence *sevidence_make(const struct smodel_data *data, const struct structure *s,
                                double log_prior) {
    struct evidence *e = evidence_make(log_prior);
    struct smodel *m = NEW(struct smodel);
    struct buf text = BUF_INIT;
    smodel_init(m, data, s);
    structure_print(s, &text);
    e->item = m;
    e->item_free = mem_free;
    e->text = buf_take(&text);
    e->seen = seen;
    e->group = s->transform;
    e->hash = structure_hash(s);
    e->log_copies = m->log_copies;
    return e;
}

struct evidence *sevidence_new(const struct smodel_data *data, const struct structure *s,
                               double log_prior, double floor, const struct evidence *parent,
                               const struct period_hints *hints, struct smodel_work *w) {
    struct evidence *e = sevidence_make(data, s, log_prior);
    const struct smodel *m = smodel_of(e);
    bool slow = !m->fast && data->n >= SLOW_FROM, few = parent && parent->lent;
    struct fit_rules r = series_fit_rules;
    if (slow) r.polished = POLISHED_SLOW;
    if (few) r.polished = 1, r.iterations = ITERATIONS_FEW;
    e->open = fit_starts_new(m->d, STARTS_MAX);
    int n = starts_make(m, parent, hints,
                        few    ? STARTS_FEW
                        : slow ? STARTS_SLOW
                               : STARTS_MAX,
                        e->open->z, &e->open->apart);
    evidence_begin(e, smodel_density(m, w, false), n, floor - log_prior, &r);
    return e;
}

struct evidence *sevidence_again(const struct smodel_data *data, const struct structure *s,
                                 double log_prior, double floor, const struct evidence *then,
                                 struct smodel_work *w) {
    struct evidence *e = sevidence_make(data, s, log_prior);
    const struct smodel *m = smodel_of(e);
    int n = then->prop.n_modes ? then->prop.n_modes : then->prop.n; /* the rest are moments */
    e->open = fit_starts_new(m->d, n);
    for (int k = 0; k < n; k++)
        memcpy(e->open->z + k * m->d, then->prop.mode[k].z, sizeof(double) * (size_t)m->d);
    evidence_begin(e, smodel_density(m, w, false), n, floor - log_prior, &series_fit_rules);
    return e;
}
