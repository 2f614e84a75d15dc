/* SPDX-License-Identifier: Apache-2.0
 *
 * Data on the standardised scale, the parameters of a structure and their priors.
 */
#include "discover/smodel.h"
#include "base/mem.h"
#include "math/rng.h"
#include "discover/smodel_priv.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- data ---- */
static int compare_doubles(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

/* The median and the least of the positive steps. */
static double median_step(const double *t, size_t n, double *least) {
    double *s = NEW_ARRAY(double, n);
    size_t k = 0;
    for (size_t i = 1; i < n; i++)
        if (t[i] > t[i - 1]) s[k++] = t[i] - t[i - 1];
    qsort(s, k, sizeof *s, compare_doubles);
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

static bool fill_distances(struct smodel_data *d) {
    d->m = d->grid ? d->ng : d->n * (d->n + 1) / 2;
    d->d = mem_try_doubles(d->m);
    if (!d->d) return false;
    if (d->grid) {
        for (size_t l = 0; l < d->ng; l++) d->d[l] = (double)l * d->dt;
        return true;
    }
    size_t k = 0;
    for (size_t j = 0; j < d->n; j++)
        for (size_t i = j; i < d->n; i++) d->d[k++] = d->t[i] - d->t[j];
    return true;
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
    if (!fill_distances(d)) {
        smodel_data_release(d);
        return GPM_E_NOMEM;
    }
    return GPM_OK;
}

/* The subset of a grid is that grid with gaps: distances stay few. */
static enum gpm_status keep_grid(const struct smodel_data *full, const size_t *at,
                                 struct smodel_data *out) {
    mem_free(out->g);
    mem_free(out->d);
    out->g = NEW_ARRAY(int, out->n);
    out->d = mem_try_doubles(full->m);
    if (!out->d) return GPM_E_NOMEM;
    memcpy(out->d, full->d, full->m * sizeof *out->d);
    for (size_t i = 0; i < out->n; i++) {
        out->g[i] = full->g[at[i]];
        out->t[i] = full->t[at[i]];
    }
    out->grid = true;
    out->ng = out->m = full->ng;
    out->regular = full->regular && 2 * out->n >= out->ng;
    out->no_gaps = full->no_gaps && out->n == out->ng;
    return GPM_OK;
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
        if (full->grid) st = keep_grid(full, at, out);
        if (st != GPM_OK) smodel_data_release(out);
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
    mem_free(d->d);
    memset(d, 0, sizeof *d);
}

/* ---- parameters ---- */
static int add_par(struct smodel *m, int kind, int term) {
    m->par[m->d] = (struct spar){kind, term};
    return m->d++;
}

static void layout_term(struct smodel *m, int k, struct term t) {
    struct sterm *e = &m->term[k];
    *e = (struct sterm){t.mask, t.gate, -1, -1, -1, -1, -1, -1, -1};
    unsigned per = t.mask & FACTOR_BIT(FACTOR_PER);
    int sd = t.mask & FACTOR_BIT(FACTOR_W)    ? SPAR_SD_W
             : t.mask & FACTOR_BIT(FACTOR_IW) ? SPAR_SD_IW
                                              : SPAR_SD;
    e->sd = add_par(m, sd, k);
    if (t.mask & SMOOTH_MASK) e->l = add_par(m, per ? SPAR_L_PER : SPAR_L, k);
    if (t.mask & FACTOR_BIT(FACTOR_RQ)) e->alpha = add_par(m, SPAR_ALPHA, k);
    if (per) {
        e->period = add_par(m, SPAR_PERIOD, k);
        e->lper = add_par(m, SPAR_LPER, k);
    }
    if (t.mask & FACTOR_BIT(FACTOR_LIN) && t.mask != FACTOR_BIT(FACTOR_LIN))
        e->c = add_par(m, SPAR_C, k);
    if (t.mask & (FACTOR_BIT(FACTOR_RAMP) | FACTOR_BIT(FACTOR_STEP)))
        e->tau = add_par(m, SPAR_TAU, k);
}

bool smodel_fast_grid(const struct smodel_data *d) {
    return d->regular && d->ng - d->n <= TOEPLITZ_MAX_GAPS;
}

/* Toeplitz: on a grid with few gaps, every term stationary, of rank one, or Wiener. */
static bool qualifies(const struct smodel *m) {
    const struct smodel_data *d = m->data;
    if (!smodel_fast_grid(d) || m->tau >= 0) return false;
    const unsigned stationary = SMOOTH_MASK | FACTOR_BIT(FACTOR_PER);
    for (int k = 0; k < m->n_terms; k++) {
        unsigned mask = m->term[k].mask;
        bool stat = (mask & ~stationary) == 0;
        bool rank1 = mask == FACTOR_BIT(FACTOR_LIN) || mask == FACTOR_BIT(FACTOR_RAMP) ||
                     mask == FACTOR_BIT(FACTOR_STEP);
        bool wiener = mask == FACTOR_BIT(FACTOR_W) || mask == FACTOR_BIT(FACTOR_IW);
        if (!stat && !rank1 && !wiener) return false;
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
    add_par(m, SPAR_NOISE, -1);
    int copies = 1;
    for (int k = 0; k < s->n; k++) {
        layout_term(m, k, s->t[k]);
        bool same = k && !memcmp(&s->t[k], &s->t[k - 1], sizeof s->t[k]);
        copies = same ? copies + 1 : 1;
        m->log_copies += log(copies);
    }
    if (s->change != CHANGE_NONE) m->tau = add_par(m, SPAR_TAU, -1);
    if (s->change == CHANGE_WINDOW) m->width = add_par(m, SPAR_WIDTH, -1);
    m->toeplitz = qualifies(m);
}

/* ---- priors on the standardised scale (docs/structure.md) ---- */
static double logistic(double z) {
    return z >= 0 ? 1 / (1 + exp(-z)) : exp(z) / (1 + exp(z));
}

/* Interval of a parameter that is uniform: z = logit of its place in it. */
static bool interval(const struct smodel *m, int kind, double *a, double *b) {
    switch (kind) {
    case SPAR_PERIOD: /* of log p */
        *a = log(fmin(2.1 * m->data->dt, 0.25));
        *b = log(0.5);
        return true;
    case SPAR_TAU: *a = 0.05, *b = 0.95; return true;
    case SPAR_WIDTH: *a = 0.03, *b = 0.6; return true;
    default: return false;
    }
}

double smodel_value(const struct smodel *m, int i, double z) {
    double a, b;
    int kind = m->par[i].kind;
    if (interval(m, kind, &a, &b)) {
        double v = a + (b - a) * logistic(z);
        return kind == SPAR_PERIOD ? exp(v) : v;
    }
    return kind == SPAR_C ? z : exp(z);
}

double smodel_unvalue(const struct smodel *m, int i, double value) {
    double a, b;
    int kind = m->par[i].kind;
    if (interval(m, kind, &a, &b)) {
        double f = ((kind == SPAR_PERIOD ? log(value) : value) - a) / (b - a);
        f = fmin(fmax(f, 1e-6), 1 - 1e-6);
        return log(f / (1 - f));
    }
    return kind == SPAR_C ? value : log(value);
}

static double normal(double z, double mu, double sd, double *g) {
    double r = (z - mu) / sd;
    *g = -r / sd;
    return -0.5 * r * r - log(sd) - 0.91893853320467274;
}

/* .7 N(0,.7) + .3 N(log .15,.5): the second part lets twelve month effects be almost free. */
static double lper_prior(double z, double *g) {
    double g1, g2, a = normal(z, 0, 0.7, &g1) + log(0.7);
    double b = normal(z, log(0.15), 0.5, &g2) + log(0.3);
    double mx = fmax(a, b), s = exp(a - mx) + exp(b - mx);
    *g = (exp(a - mx) * g1 + exp(b - mx) * g2) / s;
    return mx + log(s);
}

static double par_prior(const struct smodel *m, int i, double z, double *g) {
    switch (m->par[i].kind) {
    case SPAR_NOISE: return normal(z, -1.6, 1, g);
    case SPAR_SD: return normal(z, -0.7, 1, g);
    case SPAR_SD_W: return normal(z, -0.3, 1, g);
    case SPAR_SD_IW: return normal(z, 1.0, 1.5, g);
    case SPAR_L: return normal(z, log(0.12), 1, g);
    case SPAR_L_PER: return normal(z, log(0.5), 1, g);
    case SPAR_LPER: return lper_prior(z, g);
    case SPAR_ALPHA: return normal(z, 0, 1, g);
    case SPAR_C: return normal(z, 0.5, 0.8, g);
    default: { /* uniform on an interval: the logistic density */
        double f = logistic(z);
        *g = 1 - 2 * f;
        return -fabs(z) - 2 * log1p(exp(-fabs(z)));
    }
    }
}

double smodel_log_prior(const struct smodel *m, const double *z, double *grad) {
    double sum = 0, g;
    for (int i = 0; i < m->d; i++) {
        sum += par_prior(m, i, z[i], &g);
        if (grad) grad[i] += g;
    }
    return sum;
}

void smodel_prior_draw_hint(const struct smodel *m, double *z) {
    for (int i = 0; i < m->d; i++) {
        switch (m->par[i].kind) {
        case SPAR_NOISE: z[i] = -1.6; break;
        case SPAR_SD: z[i] = -0.7; break;
        case SPAR_SD_W: z[i] = -0.3; break;
        case SPAR_SD_IW: z[i] = 1.0; break;
        case SPAR_L: z[i] = log(0.12); break;
        case SPAR_L_PER: z[i] = log(0.5); break;
        case SPAR_C: z[i] = 0.5; break;
        default: z[i] = 0;
        }
    }
}

double smodel_dvalue(const struct smodel *m, int i, double z) {
    double a, b;
    if (!interval(m, m->par[i].kind, &a, &b)) return 1;
    double f = logistic(z);
    return (b - a) * f * (1 - f);
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
