/* SPDX-License-Identifier: Apache-2.0
 *
 * Suspicion by medians, judgement by the posterior predictive distribution of the other values.
 */
#include "apps/discover/outliers.h"
#include "base/mem.h"
#include "base/number.h"
#include "apps/discover/rounding.h"
#include "numeric/posterior/wild.h"
#include "numeric/special/robust.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define SUSPECT     5.0  /* robust standard deviations */
#define SUSPECT_END 4.5  /* of the first value, which has neighbours on one side alone */
#define MOST        0.04 /* of the values at most: more are no exceptions */
/* Values out of line that are among those that a structure was fitted to hide behind the noise that
 * they make larger: 3% of them at most behind twice the noise. */
#define INFLATED  2.0
#define NEIGHBOUR 2 /* values on either side that a value is compared with */

/* The median of a period around each value; in the first and the last half period that of the
 * whole one there. */
static void local_level(const double *v, size_t n, size_t lag, double *level) {
    size_t half = lag / 2, len = 2 * half + 1;
    double *around = NEW_ARRAY(double, len);
    for (size_t i = 0; i < n; i++) {
        size_t mid = i < half ? half : i + half < n ? i : n - 1 - half;
        memcpy(around, v + mid - half, len * sizeof *v);
        level[i] = robust_median(around, len);
    }
    mem_free(around);
}

/* v less the season, where there are at least three periods: the median, over values `lag` steps
 * apart, of what they are above the level around them. Medians of the values themselves would make
 * stairs of a trend, with an edge at every period. */
static void remove_season(double *v, size_t n, size_t lag) {
    if (lag < 2 || n < 3 * lag) return;
    double *same = NEW_ARRAY(double, n / lag + 1 + n), *level = same + n / lag + 1;
    local_level(v, n, lag, level);
    for (size_t phase = 0; phase < lag; phase++) {
        size_t k = 0;
        for (size_t i = phase; i < n; i += lag) same[k++] = v[i] - level[i];
        double m = robust_median(same, k);
        for (size_t i = phase; i < n; i += lag) v[i] -= m;
    }
    mem_free(same);
}

/* How far each value lies from the median of its neighbours on both sides: 0 at the ends. Two alone
 * would make a value beside an end stand out by half of what the end does: a third one decides. */
static void stand_out(const double *v, size_t n, double *out) {
    double around[2 * NEIGHBOUR];
    for (size_t i = 0; i < n; i++) {
        size_t k = 0;
        for (size_t h = 1; h <= NEIGHBOUR && h <= i && i + h < n; h++) {
            around[k++] = v[i - h];
            around[k++] = v[i + h];
        }
        if (k == 2 && n > 4) around[k++] = v[i < n / 2 ? i + 2 : i - 2];
        out[i] = k ? v[i] - robust_median(around, k) : 0;
    }
}

/* Whether values that stand out by so much are like those on one side of them: the first or the
 * last ones of a stretch at another level, which are no slips. */
static bool joins(const double *v, size_t i, int side, double by) {
    double far = 0;
    for (size_t h = 1; h <= NEIGHBOUR; h++)
        far = fmax(far, fabs(v[i] - v[side < 0 ? i - h : i + h]));
    return far < 0.5 * fabs(by);
}

static void find_edges(const double *v, size_t n, const double *out, bool *edge) {
    for (size_t i = NEIGHBOUR; i + NEIGHBOUR < n; i++)
        edge[i] |= joins(v, i, -1, out[i]) || joins(v, i, 1, out[i]);
}

/* In robust standard deviations, which are at least those of rounding. */
static void in_units(double *d, size_t n, double least) {
    double *size = NEW_ARRAY(double, n);
    memcpy(size, d, n * sizeof *d);
    double unit = fmax(robust_sd(size, n), least);
    for (size_t i = 0; i < n; i++) d[i] = unit > 0 ? d[i] / unit : d[i] ? INFINITY : 0;
    mem_free(size);
}

/* ---- what other columns explain ---- */
struct ratio {
    double slope; /* first: it is what is compared */
    double weight;
};

/* The slope b that makes the sum of |d - b e| least: the weighted median of the ratios. Values that
 * stand out for other reasons hardly move it; a column that is away from its usual value on few
 * days (feasts) is judged by these days alone. */
static double slope_of(const double *d, const double *e, size_t n) {
    struct ratio *r = NEW_ARRAY(struct ratio, n + 1);
    double all = 0, sum = 0;
    size_t k = 0, i = 0;
    for (size_t j = 0; j < n; j++)
        if (e[j] != 0) r[k++] = (struct ratio){d[j] / e[j], fabs(e[j])};
    for (size_t j = 0; j < k; j++) all += r[j].weight;
    qsort(r, k, sizeof *r, number_compare);
    while (i + 1 < k && (sum += r[i].weight) < 0.5 * all) i++;
    double b = k ? r[i].slope : 0;
    mem_free(r);
    return b;
}

/* A column at the times of the series. */
static void column(const struct series *s, int j, double *z) {
    double all[REGRESSORS_MAX];
    for (size_t i = 0; i < s->n; i++) {
        (void)regressors_at(&s->reg, s->x[i], 0, all);
        z[i] = all[j];
    }
}

/* Distances less what the other columns, as they stand out themselves, explain of them: a value is
 * not out of line on a day that is known to be another one. */
static void explain(const struct series *s, double *d) {
    size_t n = s->n;
    double *z = NEW_ARRAY(double, 3 * n + 1), *e = z + n, *left = z + 2 * n;
    memcpy(left, d, n * sizeof *d);
    for (int j = 0; j < s->reg.n; j++) {
        column(s, j, z);
        stand_out(z, n, e);
        double b = slope_of(left, e, n);
        for (size_t i = 0; i < n; i++) left[i] -= b * e[i];
    }
    for (size_t i = 0; i < n; i++)
        if (fabs(left[i]) < fabs(d[i])) d[i] = left[i];
    mem_free(z);
}

/* Distances of the values, or of their logarithms where those are smaller: what stands out on one
 * scale alone is a matter of the scale. The season is taken out after a first round of local
 * medians: a trend would make it the largest part of each phase's spread. edge: on either scale. */
static double *all_distances(const struct series *s, size_t lag, bool *edge) {
    size_t n = s->n;
    double *v = NEW_ARRAY(double, 2 * n), *d = NEW_ARRAY(double, n), *e = v + n;
    bool positive = true;
    double rounding = rounding_step(n, s->y) / sqrt(12), level = 0;
    for (size_t i = 0; i < n; i++) positive &= s->y[i] > 0;
    for (size_t i = 0; i < n && positive; i++) level += log(s->y[i]) / (double)n;
    for (int logs = 0; logs <= positive; logs++) {
        for (size_t i = 0; i < n; i++) v[i] = logs ? log(s->y[i]) : s->y[i];
        remove_season(v, n, lag);
        stand_out(v, n, e);
        find_edges(v, n, e, edge);
        if (s->reg.n) explain(s, e);
        in_units(e, n, logs ? rounding / exp(level) : rounding);
        for (size_t i = 0; i < n; i++) d[i] = !logs || fabs(e[i]) < fabs(d[i]) ? e[i] : d[i];
    }
    mem_free(v);
    return d;
}

/* How far the last of n values lies from those right before it, in robust standard deviations of
 * such distances, which are `least` at least; 0 where distances like it come again and again (rare
 * sales): it is one of them. e: n numbers for these distances. */
static double last_stands_out(const double *v, size_t n, double least, double *e) {
    enum { BEFORE = 4 };
    for (size_t i = 0; i < n; i++) {
        double before[BEFORE];
        size_t k = 0;
        while (k < BEFORE && k < i) before[k] = v[i - k - 1], k++;
        e[i] = k ? v[i] - robust_median(before, k) : 0;
    }
    double last = e[n - 1];
    size_t like = 0;
    for (size_t i = 0; i < n; i++) like += fabs(e[i]) >= 0.5 * fabs(last);
    double size = fmax(robust_sd(e, n), least);
    return size > 0 && (double)like <= 1 + 0.03 * (double)n ? last / size : 0;
}

static void turn_round(double *v, size_t n) {
    for (size_t i = 0; i < n / 2; i++) {
        double w = v[i];
        v[i] = v[n - 1 - i];
        v[n - 1 - i] = w;
    }
}

/* The smaller distance of values and logarithms, the season taken out. */
static double end_stands_out(const struct series *s, size_t lag, bool first) {
    size_t n = s->n;
    double least = INFINITY, rounding = rounding_step(n, s->y) / sqrt(12);
    bool positive = true;
    if (n < 12) return 0;
    double *v = NEW_ARRAY(double, 2 * n), *e = v + n;
    for (size_t i = 0; i < n; i++) positive &= s->y[i] > 0;
    for (int logs = 0; logs <= positive; logs++) {
        for (size_t i = 0; i < n; i++) v[i] = logs ? log(s->y[i]) : s->y[i];
        remove_season(v, n, lag);
        if (first) turn_round(v, n);
        double far = last_stands_out(v, n, logs ? 0 : rounding, e);
        if (fabs(far) < fabs(least)) least = far;
    }
    mem_free(v);
    return least;
}

double outliers_last(const struct series *s, size_t lag) {
    return end_stands_out(s, lag, false);
}

/* Beside the edge of a stretch that is left out: of the stretch, too. */
static bool beside_edge(const struct outliers *o, size_t at) {
    for (size_t i = 0; i < o->n; i++)
        if (o->at[i].edge && (o->at[i].at == at + 1 || o->at[i].at + 1 == at)) return true;
    return false;
}

void outliers_suspect(struct outliers *o, const struct series *s, size_t lag) {
    o->n = o->n_freed = 0;
    if (s->n < 12) return;
    bool *edge = mem_zalloc(s->n * sizeof *edge);
    double *d = all_distances(s, lag, edge), first = end_stands_out(s, lag, true);
    size_t most = (size_t)(MOST * (double)s->n) + 1;
    if (most > OUTLIERS_MAX) most = OUTLIERS_MAX;
    if (fabs(first) > SUSPECT_END) d[0] = first;
    while (o->n < most) {
        size_t best = 0;
        for (size_t i = 1; i + 1 < s->n; i++)
            if (fabs(d[i]) > fabs(d[best])) best = i;
        if (!(fabs(d[best]) > SUSPECT)) break;
        o->at[o->n++] = (struct outlier){
            .at = best, .x = s->x[best], .y = s->y[best], .sds = d[best], .edge = edge[best]};
        d[best] = 0;
    }
    mem_free(edge);
    mem_free(d);
    for (size_t k = 0; k < o->n; k++) /* a stretch: one after the other */
        for (size_t i = 0; i < o->n; i++) o->at[i].edge |= beside_edge(o, o->at[i].at);
}

static bool is_out(const struct outliers *o, size_t at) {
    for (size_t i = 0; i < o->n; i++)
        if (o->at[i].at == at) return true;
    return false;
}

/* How far each value of the data lies from what the best structure expects of it given all others,
 * in standard deviations. */
static enum gpm_status all_left_out(const struct posterior *p, double *far) {
    const struct evidence *top = p->structures.at[0].best;
    const struct smodel *m = smodel_of(top);
    size_t n = m->data->n;
    struct gp *g;
    double *mean = NEW_ARRAY(double, 2 * n), *var = mean + n;
    enum gpm_status st =
        smodel_condition(m, series_space_of(p->search)->work[0], top->prop.mode[0].z, &g);
    if (st == GPM_OK) st = gp_loo(g, mean, var, NULL);
    for (size_t i = 0; i < n && !st; i++) far[i] = (m->y[i] - mean[i]) / sqrt(var[i]);
    mem_free(mean);
    return st;
}

static bool is_free(const struct outliers *o, size_t at) {
    for (size_t i = 0; i < o->n_freed; i++)
        if (o->freed[i] == at) return true;
    return false;
}

bool outliers_more(struct outliers *o, const struct series *s, size_t lag,
                   const struct posterior *p) {
    const struct smodel *m = smodel_of(p->structures.at[0].best);
    size_t before = o->n, most = (size_t)(MOST * (double)s->n) + 1;
    if (s->n < 12 || s->n > SMODEL_LONG || m->data->n + o->n != s->n || smodel_hidden(m) ||
        m->data->truths)
        return false;
    bool *edge = mem_zalloc(s->n * sizeof *edge);
    double *far = NEW_ARRAY(double, s->n), *d = all_distances(s, lag, edge);
    size_t k = 0;
    enum gpm_status st = all_left_out(p, far);
    if (!st) in_units(far, m->data->n, 1 / INFLATED);
    for (size_t i = 0; i < s->n && !st; i++) d[i] = is_out(o, i) ? 0 : far[k++];
    for (size_t i = 0; i < s->n; i++) edge[i] |= is_free(o, i);
    size_t found = 0;
    for (size_t i = 0; i + 1 < s->n && !st; i++) found += !edge[i] && fabs(d[i]) > SUSPECT;
    /* where there are more than that they are no slips: the structure lacks something */
    if (o->n + found > (most < OUTLIERS_MAX ? most : OUTLIERS_MAX)) found = 0;
    for (size_t i = 0; i + 1 < s->n && found && !st; i++)
        if (!edge[i] && fabs(d[i]) > SUSPECT)
            o->at[o->n++] = (struct outlier){.at = i, .x = s->x[i], .y = s->y[i], .sds = d[i]};
    mem_free(d);
    mem_free(far);
    mem_free(edge);
    return o->n > before;
}

/* Few draws are enough unless the odds of a value are nearly even: far out the density is that of
 * the few draws that know of it, and the draws, not the data, would decide. */
#define EVEN   2.0 /* nats */
#define CLOSER 600 /* draws */

static double odds_of(const struct outlier *o, const struct prediction *p, size_t i, double *far) {
    double sd = 0.5 * (p->hi[i] - p->lo[i]);
    *far = (o->y - p->median[i]) / sd;
    return o->edge ? -INFINITY : wild_log_odds(p->logp[i], *far, sd);
}

/* As a reader counts: on the scale that is modelled, where the prediction is symmetric. */
static double distance_of(const struct posterior *p, const struct prediction *pred, size_t i,
                          double y, double far) {
    const struct smodel *m = smodel_of(p->structures.at[0].best);
    int tr = m->s.transform;
    double lo = link_to(&m->data->link[tr], pred->lo[i]);
    double hi = link_to(&m->data->link[tr], pred->hi[i]);
    double v = link_to(&m->data->link[tr], y) - link_to(&m->data->link[tr], pred->median[i]);
    return hi > lo && isfinite(v / (hi - lo)) ? 2 * v / (hi - lo) : far;
}

static enum gpm_status predict_suspects(const struct outliers *o, const struct posterior *p,
                                        struct prediction *pred) {
    enum { LONG = 700 }; /* values of which so many draws would take longer than the search */
    double x[OUTLIERS_MAX], y[OUTLIERS_MAX], far;
    bool even = false;
    if (!o->n) return GPM_OK;
    for (size_t i = 0; i < o->n; i++) x[i] = o->at[i].x, y[i] = o->at[i].y;
    enum gpm_status st = predict(p, o->n, x, y, 0.6827, pred);
    for (size_t i = 0; i < o->n && !st; i++) even |= fabs(odds_of(&o->at[i], pred, i, &far)) < EVEN;
    if (!even || search_late(p->search) || series_space_of(p->search)->data->n > LONG) return st;
    prediction_release(pred);
    return predict_closely(p, CLOSER, o->n, x, y, 0.6827, pred);
}

static int by_place(const void *a, const void *b) {
    const struct outlier *p = a, *q = b;
    return (p->at > q->at) - (p->at < q->at);
}

enum gpm_status outliers_judge(struct outliers *o, const struct posterior *p, bool *back) {
    struct prediction pred = {0};
    size_t kept = 0;
    double far;
    *back = false;
    enum gpm_status st = predict_suspects(o, p, &pred);
    bool none = st == GPM_E_NOT_PD;
    if (none) st = GPM_OK;
    for (size_t i = 0; i < o->n && !st; i++) {
        double odds = none ? -INFINITY : odds_of(&o->at[i], &pred, i, &far);
        if (!(odds > 0)) {
            if (o->n_freed < OUTLIERS_MAX) o->freed[o->n_freed++] = o->at[i].at;
            continue;
        }
        o->at[i].expected = pred.median[i];
        o->at[i].sds = distance_of(p, &pred, i, o->at[i].y, far);
        o->at[kept++] = o->at[i];
    }
    *back = !st && kept < o->n;
    if (!st) o->n = kept;
    qsort(o->at, o->n, sizeof *o->at, by_place);
    prediction_release(&pred);
    return st;
}

size_t outliers_without(const struct outliers *o, const struct series *s, double *x, double *y) {
    size_t n = 0;
    for (size_t i = 0; i < s->n; i++) {
        if (is_out(o, i)) continue;
        x[n] = s->x[i];
        y[n++] = s->y[i];
    }
    return n;
}

void outliers_spread(const struct outliers *o, struct smodel_data *d) {
    d->wild = wild_share(o->n, d->n + o->n);
    for (int tr = 0; tr < TRANSFORMS; tr++) {
        double sum = 0;
        for (size_t i = 0; i < o->n && d->y[tr]; i++) {
            double a = link_to(&d->link[tr], o->at[i].y);
            double b =
                link_to(&d->link[tr], tr ? fmax(o->at[i].expected, 1e-300) : o->at[i].expected);
            sum += (a - b) * (a - b) / (double)o->n;
        }
        d->wild_sd[tr] = sqrt(sum);
    }
}
