/* SPDX-License-Identifier: Apache-2.0
 *
 * Data on the standardised scale, the parameters of a structure and their priors.
 */
#include "discover/smodel.h"
#include "base/number.h"
#include "gp/kern_class.h"
#include "base/mem.h"
#include "math/rng.h"
#include "math/special.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define FAST_MAX_GAPS 8 /* as many as the grid engine of gp takes */

/* ---- data ---- */
/* The median and the least of the positive steps. */
static double median_step(const double *t, size_t n, double *least) {
    double *s = NEW_ARRAY(double, n);
    size_t k = 0;
    for (size_t i = 1; i < n; i++)
        if (t[i] > t[i - 1]) s[k++] = t[i] - t[i - 1];
    qsort(s, k, sizeof *s, number_compare);
    double m = k ? s[k / 2] : 1.0;
    *least = k ? s[0] : 1.0;
    mem_free(s);
    return m;
}

/* Moves every time to a multiple of the step when each distance is within `tolerance` of one and at
 * most `longest` points make the grid. Times that repeat share a point. */
static bool try_grid(struct smodel_data *d, double step, double tolerance, size_t longest) {
    int *g = NEW_ARRAY(int, d->n);
    bool ok = true, repeats = false;
    g[0] = 0;
    for (size_t i = 1; i < d->n && ok; i++) {
        double k = (d->t[i] - d->t[i - 1]) / step, r = floor(k + 0.5);
        ok = fabs(k - r) <= tolerance && r < 1e6;
        g[i] = ok ? g[i - 1] + (int)r : 0;
        repeats |= ok && r == 0;
        ok = ok && (size_t)g[i] < longest;
    }
    if (!ok || g[d->n - 1] == 0) {
        mem_free(g);
        return false;
    }
    d->g = g;
    d->ng = (size_t)g[d->n - 1] + 1;
    d->dt = 1.0 / (double)(d->ng - 1);
    d->regular = !repeats && d->ng <= 2 * d->n;
    d->no_gaps = !repeats && d->ng == d->n;
    for (size_t i = 0; i < d->n; i++) d->t[i] = g[i] * d->dt;
    return true;
}

/* The grid of the median step first: months of 28 to 31 days are on it. Then the one of the least
 * step, of which few points may be there (some days of some years): distances are then few, too,
 * and periods down to twice that step can be seen. */
static bool find_grid(struct smodel_data *d) {
    double least;
    d->dt = d->step = median_step(d->t, d->n, &least);
    return try_grid(d, d->step, 0.15, 2 * d->n) ||
           (d->n >= 20 && try_grid(d, least, 0.05, 8 * d->n));
}

static bool standardise(struct smodel_data *d, int tr, const double *y) {
    double *v = NEW_ARRAY(double, d->n), mean = 0, ss = 0, jac = 0;
    for (size_t i = 0; i < d->n; i++) {
        v[i] = tr == TRANSFORM_LOG ? log(y[i]) : y[i];
        mean += v[i] / (double)d->n;
        if (tr == TRANSFORM_LOG) jac -= v[i];
    }
    for (size_t i = 0; i < d->n; i++) ss += (v[i] - mean) * (v[i] - mean);
    double sd = sqrt(ss / (double)d->n);
    if (!(sd > 1e-12 * fabs(mean)) || !isfinite(sd)) {
        mem_free(v);
        return false;
    }
    for (size_t i = 0; i < d->n; i++) v[i] = (v[i] - mean) / sd;
    d->y[tr] = v;
    d->mean[tr] = mean;
    d->sd[tr] = sd;
    d->log_measure[tr] = jac - (double)d->n * log(sd);
    return true;
}

enum gpm_status smodel_data_init(struct smodel_data *d, size_t n, const double *x,
                                 const double *y) {
    memset(d, 0, sizeof *d);
    if (n < 3 || !(x[n - 1] > x[0])) return GPM_E_ARG;
    d->n = n;
    d->x0 = x[0];
    d->span = x[n - 1] - x[0];
    d->t = NEW_ARRAY(double, n);
    bool positive = true;
    for (size_t i = 0; i < n; i++) {
        d->t[i] = (x[i] - d->x0) / d->span;
        positive &= y[i] > 0;
    }
    if (!standardise(d, TRANSFORM_NONE, y)) {
        smodel_data_release(d);
        return GPM_E_ARG;
    }
    if (positive && !standardise(d, TRANSFORM_LOG, y)) d->y[TRANSFORM_LOG] = NULL;
    d->grid = find_grid(d);
    return GPM_OK;
}

/* The subset of a grid is that grid with gaps: distances stay few. */
static void keep_grid(const struct smodel_data *full, const size_t *at, struct smodel_data *out) {
    mem_free(out->g);
    out->g = NEW_ARRAY(int, out->n);
    for (size_t i = 0; i < out->n; i++) {
        out->g[i] = full->g[at[i]];
        out->t[i] = full->t[at[i]];
    }
    out->grid = true;
    out->ng = full->ng;
    out->regular = full->regular && 2 * out->n >= out->ng;
    out->no_gaps = full->no_gaps && out->n == out->ng;
}

enum gpm_status smodel_data_subset(const struct smodel_data *full, size_t k,
                                   struct smodel_data *out) {
    size_t n = full->n, kept = 0, *at = NEW_ARRAY(size_t, n);
    double *x = NEW_ARRAY(double, n), *y = NEW_ARRAY(double, n);
    struct rng r;
    rng_init(&r, 1, 0, 12);
    for (size_t i = 0; i < n; i++) { /* selection sampling: k of n in order */
        bool end = i == 0 || i == n - 1;
        double need = (double)k - (double)kept - (i < n - 1), left = (double)(n - i) - (i < n - 1);
        if (!end && !(rng_uniform(&r) * left < need)) continue;
        at[kept] = i;
        x[kept] = full->x0 + full->span * full->t[i];
        y[kept++] = full->y[TRANSFORM_LOG]
                        ? exp(full->mean[1] + full->sd[1] * full->y[TRANSFORM_LOG][i])
                        : full->mean[0] + full->sd[0] * full->y[0][i];
    }
    enum gpm_status st = smodel_data_init(out, kept, x, y);
    if (st == GPM_OK) {
        out->dt = full->dt;
        out->step = full->step;
        memcpy(out->season, full->season, sizeof out->season);
        out->n_season = full->n_season;
        if (full->grid) keep_grid(full, at, out);
    }
    mem_free(at);
    mem_free(x);
    mem_free(y);
    return st;
}

void smodel_data_release(struct smodel_data *d) {
    mem_free(d->t);
    mem_free(d->y[0]);
    mem_free(d->y[1]);
    mem_free(d->g);
    memset(d, 0, sizeof *d);
}

/* ---- parameters ---- */
/* A parameter on an interval: uniform there. */
static int add_interval(struct smodel *m, int kind, int term, bool logs, double a, double b) {
    m->par[m->d] = (struct spar){kind, term, NULL, logs, logs ? log(a) : a, logs ? log(b) : b};
    return m->d++;
}

/* Parameter p of a factor with the prior of its row. A period is at least 2.1 steps long. */
static int add_par(struct smodel *m, int kind, int term, int f, size_t p) {
    const struct kern_param *row = &factor_class(f)->par[p];
    double a = row->prior_a, b = row->prior_b;
    if (row->prior == KERN_P_UNIFORM) return add_interval(m, kind, term, false, a, b);
    if (row->prior == KERN_P_LOGUNIFORM)
        return add_interval(m, kind, term, true, fmin(2.1 * m->data->dt, b / 2), b);
    if (kind == SPAR_L_PER) a = row->beside;
    m->par[m->d] = (struct spar){kind, term, row, row->prior == KERN_P_LOGNORMAL, a, b};
    return m->d++;
}

static int first_of(unsigned mask) {
    return mask ? __builtin_ctz(mask) : -1;
}

static void layout_term(struct smodel *m, int k, struct term t) {
    struct sterm *e = &m->term[k];
    *e = (struct sterm){t.mask, t.gate, -1, -1, -1, -1, -1, -1, -1};
    unsigned trend = factors_of(KERN_ROLE_TREND);
    int smooth = first_of(t.mask & factors_of(KERN_ROLE_SMOOTH));
    int per = first_of(t.mask & factors_of(KERN_ROLE_PERIODIC));
    int brk = first_of(t.mask & factors_of(KERN_ROLE_BREAK));
    int sd = t.mask & FACTOR_BIT(FACTOR_W)    ? SPAR_SD_W
             : t.mask & FACTOR_BIT(FACTOR_IW) ? SPAR_SD_IW
                                              : SPAR_SD;
    e->sd = add_par(m, sd, k, first_of(t.mask), 0);
    if (smooth >= 0) {
        e->l = add_par(m, per >= 0 ? SPAR_L_PER : SPAR_L, k, smooth, 1);
        if (factor_class(smooth)->npar > 2) e->alpha = add_par(m, SPAR_ALPHA, k, smooth, 2);
    }
    if (per >= 0) {
        e->period = add_par(m, SPAR_PERIOD, k, per, 1);
        e->lper = add_par(m, SPAR_LPER, k, per, 2);
    }
    if (t.mask & trend && t.mask & ~trend)
        e->c = add_par(m, SPAR_C, k, first_of(t.mask & trend), 1);
    if (brk >= 0) e->tau = add_par(m, SPAR_TAU, k, brk, 1);
}

bool smodel_fast_grid(const struct smodel_data *d) {
    return d->regular && d->ng - d->n <= FAST_MAX_GAPS;
}

/* On a grid with few gaps, every term stationary, of rank one, or Wiener: the grid engine's. */
static bool qualifies(const struct smodel *m) {
    const unsigned stationary = factors_of(KERN_ROLE_SMOOTH) | factors_of(KERN_ROLE_PERIODIC);
    const unsigned lone =
        factors_of(KERN_ROLE_TREND) | factors_of(KERN_ROLE_BREAK) | factors_of(KERN_ROLE_WALK);
    if (!smodel_fast_grid(m->data) || m->tau >= 0) return false;
    for (int k = 0; k < m->n_terms; k++) {
        unsigned mask = m->term[k].mask;
        bool single = (mask & (mask - 1)) == 0 && mask & lone;
        if (mask & ~stationary && !single) return false;
    }
    return true;
}

void smodel_init(struct smodel *m, const struct smodel_data *data, const struct structure *s) {
    memset(m, 0, sizeof *m);
    m->s = *s;
    m->data = data;
    m->y = data->y[s->transform];
    m->n_terms = s->n;
    m->tau = m->width = -1;
    add_par(m, SPAR_NOISE, -1, first_of(factors_of(KERN_ROLE_WHITE)), 0);
    int copies = 1;
    for (int k = 0; k < s->n; k++) {
        layout_term(m, k, s->t[k]);
        bool same = k && !memcmp(&s->t[k], &s->t[k - 1], sizeof s->t[k]);
        copies = same ? copies + 1 : 1;
        m->log_copies += log(copies);
    }
    const struct kern_param *tau = &kern_change_class(false)->par[0];
    if (s->change != CHANGE_NONE)
        m->tau = add_interval(m, SPAR_TAU, -1, false, tau->prior_a, tau->prior_b);
    if (s->change == CHANGE_WINDOW) m->width = add_interval(m, SPAR_WIDTH, -1, false, 0.03, 0.6);
    m->fast = qualifies(m);
}

/* ---- priors on the standardised scale (docs/structure.md) ---- */
double smodel_value(const struct smodel *m, int i, double z) {
    const struct spar *p = &m->par[i];
    double v = p->row ? z : p->a + (p->b - p->a) * logistic(z);
    return p->log ? exp(v) : v;
}

double smodel_dvalue(const struct smodel *m, int i, double z) {
    const struct spar *p = &m->par[i];
    double f = logistic(z);
    return p->row ? 1 : (p->b - p->a) * f * (1 - f);
}

double smodel_slope(const struct smodel *m, int i, double z) {
    return smodel_dvalue(m, i, z) * (m->par[i].log ? smodel_value(m, i, z) : 1);
}

double smodel_unvalue(const struct smodel *m, int i, double value) {
    const struct spar *p = &m->par[i];
    double v = p->log ? log(value) : value;
    if (p->row) return v;
    double f = fmin(fmax((v - p->a) / (p->b - p->a), 1e-6), 1 - 1e-6);
    return log(f / (1 - f));
}

/* Uniform on an interval is the logistic density of z. */
static double par_prior(const struct spar *p, double z, double *g) {
    if (p->row) return kern_log_scale_prior(p->row, z, p->a, g);
    *g = 1 - 2 * logistic(z);
    return -fabs(z) - 2 * log1p(exp(-fabs(z)));
}

double smodel_log_prior(const struct smodel *m, const double *z, double *grad) {
    double sum = 0, g;
    for (int i = 0; i < m->d; i++) {
        sum += par_prior(&m->par[i], z[i], &g);
        if (grad) grad[i] += g;
    }
    return sum;
}

void smodel_prior_draw_hint(const struct smodel *m, double *z) {
    for (int i = 0; i < m->d; i++) z[i] = m->par[i].row ? m->par[i].a : 0;
}

/* ---- copies of the same term ---- */
static int key_par(const struct sterm *e) {
    return e->period >= 0 ? e->period : e->l >= 0 ? e->l : e->sd;
}

static bool same_term(const struct smodel *m, int k) {
    return k + 1 < m->n_terms && m->term[k].mask == m->term[k + 1].mask &&
           m->term[k].gate == m->term[k + 1].gate;
}

bool smodel_ordered(const struct smodel *m, const double *z) {
    for (int k = 0; same_term(m, k) || k + 1 < m->n_terms; k++)
        if (same_term(m, k) && z[key_par(&m->term[k])] > z[key_par(&m->term[k + 1])]) return false;
    return true;
}

bool smodel_order(const struct smodel *m, double *z) {
    bool moved = false;
    for (int pass = 0; pass < m->n_terms; pass++)
        for (int k = 0; k + 1 < m->n_terms; k++) {
            if (!same_term(m, k) || z[key_par(&m->term[k])] <= z[key_par(&m->term[k + 1])])
                continue;
            int a = m->term[k].sd, b = m->term[k + 1].sd; /* blocks of equal length follow */
            for (int i = 0; i < b - a; i++) {
                double x = z[a + i];
                z[a + i] = z[b + i];
                z[b + i] = x;
            }
            moved = true;
        }
    return moved;
}
