/* SPDX-License-Identifier: Apache-2.0
 *
 * The additive decomposition: the posterior of each term given the data, averaged over draws of the
 * parameters; and summaries of parameters.
 */
#include "base/mem.h"
#include "base/number.h"
#include "apps/discover/predict.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define DRAWS 16

void decomposition_release(struct decomposition *d) {
    mem_free(d->x);
    memset(d, 0, sizeof *d);
}

/* One draw of the level: sums of means and of second moments. */
static enum gpm_status add_level(struct decomposition *d, struct gp *g, const double *z) {
    enum { N = LEVEL_POINTS };
    const struct smodel *m = smodel_of(d->e);
    double t[N], mean[N], cov[N * N];
    for (int i = 0; i < N; i++) t[i] = (d->level.x[i] - m->data->x0) / m->data->span;
    enum gpm_status st = smodel_part_cov(m, z, g, SMODEL_SLOW, t, N, mean, cov);
    for (int i = 0; i < N && !st; i++) {
        d->level.mean[i] += mean[i];
        for (int j = 0; j < N; j++) d->level.cov[i + N * j] += cov[i + N * j] + mean[i] * mean[j];
    }
    return st;
}

/* One draw of a walk's slope over the last step: sums of it and of its second moments. */
static enum gpm_status add_late(const struct decomposition *d, struct series_part *p, struct gp *g,
                                const double *z) {
    const struct smodel *m = smodel_of(d->e);
    double t[2], mean[2], cov[4];
    if (p->term < 0 || !(m->term[p->term].mask & factors_of(KERN_ROLE_WALK))) return GPM_OK;
    t[1] = smodel_last(m->data);
    t[0] = t[1] - m->data->step;
    enum gpm_status st = smodel_part_cov(m, z, g, p->term, t, 2, mean, cov);
    double rise = mean[1] - mean[0];
    if (st != GPM_OK) return st;
    p->late += rise;
    p->late_sd += rise * rise + cov[0] + cov[3] - 2 * cov[1];
    return GPM_OK;
}

/* One draw: adds mean and mean^2 + variance of every part. */
static enum gpm_status add_draw(struct decomposition *d, struct smodel_work *w, const double *z,
                                const double *t) {
    const struct smodel *m = smodel_of(d->e);
    double *mean = NEW_ARRAY(double, 2 * d->n + 1), *var = mean + d->n;
    struct gp *g;
    enum gpm_status st = smodel_condition(m, w, z, &g);
    for (int k = 0; k < d->n_parts && !st; k++) {
        struct series_part *p = &d->part[k];
        st = smodel_part(m, z, g, p->term, t, d->n, mean, var);
        for (size_t i = 0; i < d->n && !st; i++) {
            p->mean[i] += mean[i];
            p->sd[i] += mean[i] * mean[i] + var[i];
        }
        if (!st) st = add_late(d, p, g, z);
    }
    if (!st) st = add_level(d, g, z);
    mem_free(mean);
    return st;
}

/* On the scale of the transform; all but logarithms become values, each with the slope there. */
static void finish_level(struct series_level *l, const struct smodel_data *data, int tr,
                         double used) {
    enum { N = LEVEL_POINTS };
    double slope[N], shift = data->mean[tr], scale = data->sd[tr];
    for (int i = 0; i < N; i++) {
        l->mean[i] /= used;
        slope[i] = scale * link_slope(&data->link[tr], shift + scale * l->mean[i]);
    }
    for (int k = 0; k < N * N; k++)
        l->cov[k] =
            slope[k % N] * slope[k / N] * (l->cov[k] / used - l->mean[k % N] * l->mean[k / N]);
    for (int i = 0; i < N; i++) {
        l->mean[i] = shift + scale * l->mean[i];
        if (!smodel_multiplies(data, tr)) l->mean[i] = link_back(&data->link[tr], l->mean[i]);
    }
}

struct level_rate level_rate(const struct series_level *l, int i, int j) {
    enum { N = LEVEL_POINTS };
    double dx = l->x[j] - l->x[i];
    double var = l->cov[i + N * i] + l->cov[j + N * j] - 2 * l->cov[i + N * j];
    return (struct level_rate){(l->mean[j] - l->mean[i]) / dx, sqrt(fmax(var, 0)) / dx};
}

/* What the parts leave of the values, each at its own time: written times may be off the grid that
 * the data were moved to, and values out of line are not among the data. */
static double left_over(const struct decomposition *d) {
    const struct smodel *m = smodel_of(d->e);
    int tr = m->s.transform;
    double n = 0, sum = 0, sq = 0, unit = smodel_unit(m->data, tr);
    for (size_t i = 0, k = 0; k < m->data->n; i++, k++) {
        double x = m->data->x0 + m->data->span * m->data->t[k];
        while (i + 1 < d->n && fabs(d->x[i + 1] - x) < fabs(d->x[i] - x)) i++;
        double r = smodel_middle(m->data, tr) + unit * m->y[k];
        for (int p = 0; p < d->n_parts; p++) r -= d->part[p].mean[i];
        n++, sum += r, sq += r * r;
    }
    return (sq / n - sum / n * (sum / n)) / (unit * unit);
}

/* What shares are shares of: the variance of the values; around a rate, whose logarithm has no
 * values of its own, that of all parts together over the times of the data. */
static double whole_variance(const struct decomposition *d) {
    const struct smodel *m = smodel_of(d->e);
    double unit = smodel_unit(m->data, m->s.transform), n = 0, sum = 0, sq = 0;
    if (!smodel_hidden(m)) return unit * unit;
    for (size_t i = 0; i < d->n && d->x[i] <= m->data->x0 + m->data->span * (1 + 1e-9); i++) {
        double all = 0;
        for (int p = 0; p < d->n_parts; p++) all += d->part[p].mean[i];
        n++, sum += all, sq += all * all;
    }
    double var = sq / n - sum / n * (sum / n);
    return var > 1e-12 * unit * unit ? var : INFINITY; /* none: parts that do not vary */
}

/* Variance share and slope over the times of the data. */
static void summarise(struct decomposition *d, struct series_part *p, double whole) {
    const struct smodel_data *data = smodel_of(d->e)->data;
    double x1 = data->x0 + data->span * (1 + 1e-9), n = 0, mx = 0, my = 0, sxx = 0, sxy = 0,
           syy = 0;
    for (size_t i = 0; i < d->n; i++)
        if (d->x[i] <= x1) n += 1, mx += d->x[i], my += p->mean[i];
    mx /= n;
    my /= n;
    for (size_t i = 0; i < d->n; i++) {
        if (d->x[i] > x1) continue;
        sxx += (d->x[i] - mx) * (d->x[i] - mx);
        sxy += (d->x[i] - mx) * (p->mean[i] - my);
        syy += (p->mean[i] - my) * (p->mean[i] - my);
    }
    p->share = syy / n / whole;
    p->slope = sxx > 0 ? sxy / sxx : 0;
    p->slope_sd = sxx > 0 ? p->sd[0] * 2 / data->span : 0;
}

enum gpm_status decompose(const struct posterior *p, const struct evidence *e, size_t n,
                          const double *x, struct decomposition *out) {
    const struct smodel_data *data = smodel_of(e)->data;
    double *sums = mem_zalloc(sizeof(double) * n * (1 + 2 * COUNT_OF(out->part)));
    *out = (struct decomposition){.e = e, .n = n, .x = sums};
    memcpy(out->x, x, n * sizeof *x);
    for (int k = -1; k < smodel_of(e)->n_terms; k++) {
        if (k >= 0 && smodel_of(e)->term[k].mask & factors_of(KERN_ROLE_WHITE)) continue;
        struct series_part *q = &out->part[out->n_parts++];
        sums += 2 * n;
        *q =
            (struct series_part){.term = k < 0 ? SMODEL_CONSTANT : k, .mean = sums - n, .sd = sums};
    }
    for (int j = 0; data->reg && j < data->reg->n; j++) {
        sums += 2 * n;
        out->part[out->n_parts++] =
            (struct series_part){.term = SMODEL_REGRESS - j, .mean = sums - n, .sd = sums};
    }
    double *t = smodel_times(data, n, x);
    bool memory = true;
    int used = 0;
    size_t late = 0; /* a time of the data, not one between */
    while (late + 2 < data->n && data->t[late] < 0.8) late++;
    while (late > 0 && data->t[late] >= 1) late--; /* the last time may be there often */
    const double places[LEVEL_POINTS] = {0, data->t[late], 1};
    for (int i = 0; i < LEVEL_POINTS; i++) out->level.x[i] = data->x0 + data->span * places[i];
    size_t draws = predict_draws(p->search, DRAWS);
    for (size_t k = 0; k < draws && memory; k++) { /* what fails, fails at its first part */
        enum gpm_status st =
            add_draw(out, series_space_of(p->search)->work[0], evidence_draw(e, k, draws), t);
        used += st == GPM_OK;
        memory = st != GPM_E_NOMEM;
    }
    int tr = smodel_of(e)->s.transform;
    double scale = smodel_unit(data, tr), middle = smodel_middle(data, tr);
    for (int k = 0; k < out->n_parts && used; k++) {
        struct series_part *q = &out->part[k];
        for (size_t i = 0; i < n; i++) {
            double mu = q->mean[i] / used;
            q->sd[i] = scale * sqrt(fmax(q->sd[i] / used - mu * mu, 0));
            q->mean[i] = scale * mu + (q->term == SMODEL_CONSTANT ? middle : 0);
        }
        double rise = q->late / used, per = scale / (data->step * data->span);
        q->late_sd = per * sqrt(fmax(q->late_sd / used - rise * rise, 0));
        q->late = per * rise;
    }
    double whole = used ? whole_variance(out) : 1;
    for (int k = 0; k < out->n_parts && used; k++) summarise(out, &out->part[k], whole);
    if (used) {
        finish_level(&out->level, data, tr, used);
        memory &= effects_average(p, e, out->effect) != GPM_E_NOMEM;
        out->rest = smodel_hidden(smodel_of(e)) ? 0 : left_over(out);
    }
    mem_free(t);
    if (used && memory) return GPM_OK;
    decomposition_release(out);
    return memory ? GPM_E_NOT_PD : GPM_E_NOMEM;
}

/* ---- parameters ---- */
struct weighted {
    double v, w; /* v first: it is what is compared */
};

static double quantile(const struct weighted *v, size_t n, double q) {
    double s = v[0].w;
    size_t i = 0;
    while (s < q && i + 1 < n) s += v[++i].w;
    return v[i].v;
}

static double value_of(const struct evidence *e, int par, const double *z) {
    return smodel_value(smodel_of(e), par, smodel_free(par) ? z[par] : 0);
}

/* Of parameter `par`, or of something made of several at each draw. */
static struct par_summary drawn_summary(const struct evidence *e, int par,
                                        double (*of)(const struct evidence *, int,
                                                     const double *)) {
    size_t n = e->draws.n;
    if (n == 0 || !smodel_free(par)) {
        double v = of(e, par, e->prop.mode[0].z);
        return (struct par_summary){v, v, v};
    }
    struct weighted *v = NEW_ARRAY(struct weighted, n);
    for (size_t i = 0; i < n; i++)
        v[i] = (struct weighted){of(e, par, e->draws.z + i * e->draws.d), e->draws.w[i]};
    qsort(v, n, sizeof *v, number_compare);
    struct par_summary r = {quantile(v, n, 0.5), quantile(v, n, 0.025), quantile(v, n, 0.975)};
    mem_free(v);
    return r;
}

struct par_summary parameter_summary(const struct evidence *e, int par) {
    return drawn_summary(e, par, value_of);
}

static double end_of(const struct evidence *e, int width, const double *z) {
    return value_of(e, smodel_of(e)->tau, z) + value_of(e, width, z);
}

struct par_summary window_end_summary(const struct evidence *e) {
    return drawn_summary(e, smodel_of(e)->width, end_of);
}

/* How much of a pattern's variance is in harmonics above the n-th: those of PER fall like a normal
 * density of width 1 / l. */
static double finer(double l, double n) {
    double all = 0, above = 0, w = 1;
    for (int j = 1; j < 100 && w > 1e-9; j++) {
        w = exp(-0.5 * j * j * l * l);
        all += w;
        if (j > n) above += w;
    }
    return all > 0 ? above / all : 0;
}

/* On a grid a pattern of 3.5 steps that has more than the one harmonic which they show is one of 7.
 */
static double period_seen(const struct evidence *e, int par, const double *z) {
    enum { MOST = 4, FEW = 6, SEEN_FROM = 20 }; /* steps; variances of the noise, over the series */
    const struct smodel *m = smodel_of(e);
    const struct sterm *t = &m->term[m->par[par].term];
    double period = value_of(e, par, z), p = period / m->data->dt, noise = value_of(e, 0, z);
    double above = finer(value_of(e, t->par[SPAR_LPER], z), p / 2);
    above *= pow(value_of(e, t->par[SPAR_SD], z), 2) * (double)m->data->n;
    bool few = m->data->grid && smodel_free(par) && p < FEW;
    if (!few || !(above > SEEN_FROM * noise * noise)) return period;
    for (int k = 1; k <= MOST; k++)
        if (fabs(k * p - floor(k * p + 0.5)) < 0.03 * k) return k * period;
    return period;
}

struct par_summary period_summary(const struct evidence *e, const struct sterm *t) {
    return drawn_summary(e, t->par[SPAR_PERIOD], period_seen);
}
