/* SPDX-License-Identifier: Apache-2.0
 *
 * Data on the standardised scale, the parameters of a structure and their priors.
 */
#include "apps/discover/smodel.h"
#include "base/number.h"
#include "gp/way/gp_grid.h"
#include "gp/kernel/kern_class.h"
#include "base/mem.h"
#include "numeric/special/rng.h"
#include "numeric/special/special.h"
#include "numeric/special/robust.h"
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- data ---- */
/* The median and the least of the positive steps. */
static double median_step(const double *t, size_t n, double *least) {
    double *s = NEW_ARRAY(double, n);
    size_t k = robust_steps(t, n, 1, s);
    double m = k ? s[k / 2] : 1.0;
    *least = k ? s[0] : 1.0;
    mem_free(s);
    return m;
}

/* Moves every time to a multiple of the step when each distance is within `tolerance` of one and at
 * most `longest` points make the grid. Times that repeat share a point. */
static bool try_grid(struct smodel_data *d, double step, double tolerance, size_t longest) {
    size_t *g = NEW_ARRAY(size_t, d->n), last = d->n - 1;
    bool ok = true, repeats = false;
    g[0] = 0;
    for (size_t i = 1; i < d->n && ok; i++) {
        double k = (d->t[i] - d->t[i - 1]) / step, r = floor(k + 0.5);
        ok = fabs(k - r) <= tolerance && (double)g[i - 1] + r < (double)longest;
        if (ok) g[i] = g[i - 1] + (size_t)r;
        repeats |= r == 0;
    }
    ok = ok && g[last] > 0;
    if (ok) {
        d->ng = g[last] + 1;
        d->dt = 1.0 / (double)g[last];
        d->regular = !repeats && d->ng <= 2 * d->n;
        for (size_t i = 0; i < d->n; i++) d->t[i] = (double)g[i] * d->dt;
    }
    mem_free(g);
    return ok;
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

/* ---- transforms ---- */
#define ANSCOMBE 0.375

double smodel_possible(const struct smodel_data *d, double y) {
    return fmin(fmax(y, d->counts ? fmax(d->low, 0) : d->low), d->high);
}

struct mixture_written smodel_written(const struct smodel_data *d) {
    return (struct mixture_written){.whole = smodel_scale(d) == LINK_ROOT && d->counts,
                                    .step = d->level_y,
                                    .low = smodel_possible(d, -INFINITY),
                                    .high = d->high};
}

double smodel_unit(const struct smodel_data *d, int transform) {
    return d->sd[transform] * link_slope(&d->link[transform], d->mean[transform]);
}

double smodel_middle(const struct smodel_data *d, int transform) {
    double m = d->mean[transform];
    return smodel_multiplies(d, transform) ? m : link_back(&d->link[transform], m);
}

/* like: a part that does not vary is measured in the units of the whole. */
static bool standardise(struct smodel_data *d, int tr, const struct smodel_data *like) {
    double *v = NEW_ARRAY(double, d->n), mean = 0, ss = 0, jac = 0;
    for (size_t i = 0; i < d->n; i++) {
        v[i] = link_to(&d->link[tr], d->values[i]);
        mean += v[i] / (double)d->n;
        jac += link_stretch(&d->link[tr], d->values[i]);
    }
    for (size_t i = 0; i < d->n; i++) ss += (v[i] - mean) * (v[i] - mean);
    double sd = sqrt(ss / (double)d->n);
    if (like && !(sd > 1e-12 * fabs(mean))) mean = like->mean[tr], sd = like->sd[tr];
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

static bool linear(const struct smodel_data *d, int tr) {
    double off = 0;
    for (size_t i = 0; i < d->n; i++) off = fmax(off, fabs(d->y[tr][i] - d->y[0][i]));
    return off < LINEAR_WITHIN;
}

/* What rounding leaves of a zero (0.1 + 0.2 - 0.3) is one: as a positive number it would be a
 * value hundreds of standard deviations out on the scale of logarithms, and that scale certain. */
static bool nothing(double y, double greatest) {
    return y >= 0 && y <= greatest * DBL_EPSILON;
}

/* Which scale beside that of the values: the ends decide, unless values have reached them. */
static enum link_kind choose_scale(const struct smodel_data *d, double least, double greatest) {
    bool floor = d->low > -INFINITY, cap = d->high < INFINITY;
    if (nothing(least, greatest) && !cap && !(floor && d->low != 0)) return LINK_ROOT;
    if (floor && cap && least > d->low && greatest < d->high) return LINK_ODDS;
    if (floor && !cap && d->low != 0 && least > d->low) return LINK_ABOVE;
    if (cap && !floor && greatest < d->high) return LINK_BELOW;
    return LINK_LOG;
}

/* For amounts with zeros among them, half of the smallest nonzero one: a zero is taken to be
 * less. */
static double root_offset(const struct smodel_data *d, double greatest) {
    double least = INFINITY;
    for (size_t i = 0; i < d->n; i++)
        if (!nothing(d->values[i], greatest)) least = fmin(least, d->values[i]);
    return d->counts ? ANSCOMBE : least / 2;
}

/* A scale where the values have it: a part has those of the whole, so that a structure of one can
 * be evaluated on the other. */
static void add_scale(struct smodel_data *d, int tr, bool has, const struct smodel_data *like) {
    if (like ? like->y[tr] != NULL : has) (void)standardise(d, tr, like);
}

double *smodel_times(const struct smodel_data *d, size_t n, const double *x) {
    double *t = NEW_ARRAY(double, n + 1);
    for (size_t i = 0; i < n; i++) {
        t[i] = (x[i] - d->x0) / d->span;
        double g = floor(t[i] / d->dt + 0.5);
        if (d->grid && fabs(t[i] / d->dt - g) < 0.15) t[i] = g * d->dt;
    }
    return t;
}

/* like: a series of which these are a part, for what its transform is; NULL: the whole. */
static enum gpm_status data_init(struct smodel_data *d, size_t n, const double *x, const double *y,
                                 double low, double high, const struct smodel_data *like) {
    memset(d, 0, sizeof *d);
    d->low = low;
    d->high = high;
    d->dim = 1;
    if (n < 3 || !(x[n - 1] > x[0])) return GPM_E_ARG;
    d->n = n;
    d->x0 = x[0];
    d->span = x[n - 1] - x[0];
    d->t = NEW_ARRAY(double, n);
    d->values = NEW_ARRAY(double, n);
    memcpy(d->values, y, n * sizeof *y);
    double least = INFINITY, greatest = -INFINITY;
    d->counts = true;
    for (size_t i = 0; i < n; i++) {
        d->t[i] = (x[i] - d->x0) / d->span;
        least = fmin(least, y[i]);
        greatest = fmax(greatest, y[i]);
        d->counts &= y[i] >= 0 && y[i] == floor(y[i]);
    }
    if (!standardise(d, TRANSFORM_NONE, like)) {
        smodel_data_release(d);
        return GPM_E_ARG;
    }
    d->truths =
        like ? like->truths : d->counts && least == 0 && greatest == 1 && low == 0 && high == 1;
    struct value_link scale = {choose_scale(d, least, greatest), 0, low, high};
    if (scale.kind == LINK_ROOT) scale.offset = root_offset(d, greatest);
    d->link[TRANSFORM_LOG] = like ? like->link[TRANSFORM_LOG] : scale;
    d->link[TRANSFORM_POWER].kind = LINK_SQUARE;
    add_scale(d, TRANSFORM_LOG,
              (least > 0 && !nothing(least, greatest)) || smodel_scale(d) != LINK_LOG, like);
    d->linear = like ? like->linear : d->y[TRANSFORM_LOG] && linear(d, TRANSFORM_LOG);
    bool log = d->y[TRANSFORM_LOG] && smodel_scale(d) == LINK_LOG;
    add_scale(d, TRANSFORM_POWER, log && greatest > POWER_RANGE * least, like);
    d->grid = find_grid(d);
    return GPM_OK;
}

enum gpm_status smodel_data_init(struct smodel_data *d, size_t n, const double *x, const double *y,
                                 double low, double high) {
    return data_init(d, n, x, y, low, high, NULL);
}

double *smodel_points(const struct smodel_data *d, size_t n, const double *t) {
    size_t dim = (size_t)d->dim;
    double *p = NEW_ARRAY(double, n *dim + 1);
    for (size_t i = 0; i < n; i++) {
        p[i * dim] = t[i];
        double *z = p + i * dim + 1;
        size_t k = d->reg ? (size_t)d->reg->n : 0;
        for (size_t j = k; j + 1 < dim; j++) z[j] = 0; /* of a rate: a function without noise */
        if (!k) continue;
        (void)regressors_at(d->reg, d->x0 + d->span * t[i], 0.3 * d->step * d->span, z);
        for (size_t j = 0; j < k; j++) z[j] = (z[j] - d->reg_mean[j]) / d->reg_sd[j];
    }
    return p;
}

double *smodel_columns(const struct smodel_data *d, size_t n, const double *t) {
    size_t dim = (size_t)d->dim;
    double *rows = smodel_points(d, n, t), *p = NEW_ARRAY(double, n *dim + 1);
    for (size_t i = 0; i < n; i++)
        for (size_t c = 0; c < dim; c++) p[i + c * n] = rows[i * dim + c];
    mem_free(rows);
    return p;
}

void smodel_data_regressors(struct smodel_data *d, const struct regressors *r) {
    size_t k = (size_t)r->n;
    d->reg = r;
    d->dim = 1 + r->n;
    for (size_t j = 0; j < k; j++) d->reg_mean[j] = 0, d->reg_sd[j] = 1;
    double *raw = smodel_points(d, d->n, d->t);
    for (size_t j = 0; j < k; j++) {
        double mean = 0, ss = 0;
        for (size_t i = 0; i < d->n; i++) mean += raw[i * (k + 1) + j + 1] / (double)d->n;
        for (size_t i = 0; i < d->n; i++) ss += pow(raw[i * (k + 1) + j + 1] - mean, 2);
        d->reg_mean[j] = mean;
        d->reg_sd[j] = ss > 0 ? sqrt(ss / (double)d->n) : 1;
    }
    mem_free(raw);
    mem_free(d->points);
    d->points = smodel_points(d, d->n, d->t);
}

/* On a bent scale as where values are typical: slopes by their geometric mean. */
void smodel_data_rounded(struct smodel_data *d, double step) {
    d->step_y = step;
    for (int tr = 0; tr < TRANSFORMS; tr++)
        d->rounding[tr] =
            d->y[tr] ? step * step / 12 * exp(2 * d->log_measure[tr] / (double)d->n) : 0;
}

/* Two years are 730 days, 104 weeks or 24 months: the last value stands for a step, too, and what
 * is missing of the second period are no more than two days of a year. */
#define HALF_PERIODS 0.5025

void smodel_data_season(struct smodel_data *d, double p) {
    bool seen = p <= HALF_PERIODS * (1 + d->dt);
    bool turns = d->grid && fabs(p / d->dt - 2) < 0.02; /* two values a period: one up, one down */
    if ((p >= 2.1 * d->dt || turns) && seen && d->n_season < SERIES_SEASONS)
        d->season[d->n_season++] = p;
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
        y[kept++] = full->values[i];
    }
    enum gpm_status st = data_init(out, kept, x, y, full->low, full->high, full);
    if (st == GPM_OK) {
        out->dt = full->dt;
        out->step = full->step;
        memcpy(out->season, full->season, sizeof out->season);
        out->n_season = full->n_season;
        out->shared = full->shared;
        smodel_data_rounded(out, full->step_y);
        out->grid = full->grid;
        if (full->grid) { /* the same grid with gaps: distances stay few */
            for (size_t i = 0; i < out->n; i++) out->t[i] = full->t[at[i]];
            out->ng = full->ng;
            out->regular = full->regular && 2 * out->n >= out->ng;
        }
        if (full->reg) { /* in the units of all values */
            out->reg = full->reg;
            out->dim = full->dim;
            memcpy(out->reg_mean, full->reg_mean, sizeof out->reg_mean);
            memcpy(out->reg_sd, full->reg_sd, sizeof out->reg_sd);
            out->points = smodel_points(out, out->n, out->t);
        }
    }
    mem_free(at);
    mem_free(x);
    mem_free(y);
    return st;
}

static double *numbers_and(const double *v, size_t n, const double *more, size_t m) {
    double *all = NEW_ARRAY(double, n + m);
    memcpy(all, v, n * sizeof *v);
    memcpy(all + n, more, m * sizeof *more);
    return all;
}

enum gpm_status smodel_data_add(const struct smodel_data *d, size_t n, const double *x,
                                const double *y, struct smodel_data *out) {
    double *t = smodel_times(d, n, x), *v = NEW_ARRAY(double, n);
    enum gpm_status st = GPM_OK;
    *out = *d;
    out->n = d->n + n;
    out->added = d->added + n;
    out->t = numbers_and(d->t, d->n, t, n);
    out->values = numbers_and(d->values, d->n, y, n);
    out->points = NULL;
    for (int tr = 0; tr < TRANSFORMS; tr++) {
        if (!d->y[tr]) continue;
        bool hidden = tr == TRANSFORM_LOG && smodel_scale_hidden(d); /* shown untransformed */
        int like = hidden ? TRANSFORM_NONE : tr;
        for (size_t i = 0; i < n; i++) {
            v[i] = (link_to(&d->link[like], y[i]) - d->mean[like]) / d->sd[like];
            bool count = !hidden || (y[i] == floor(y[i]) && y[i] >= 0 && (!d->truths || y[i] <= 1));
            if (!isfinite(v[i]) || !count || y[i] < d->low || y[i] > d->high) st = GPM_E_ARG;
        }
        out->y[tr] = numbers_and(d->y[tr], d->n, v, n);
    }
    if (d->grid) out->ng = (size_t)floor(out->t[out->n - 1] / d->dt + 0.5) + 1;
    if (d->points) out->points = smodel_points(out, out->n, out->t);
    mem_free(t);
    mem_free(v);
    if (st != GPM_OK) smodel_data_release(out);
    return st;
}

void smodel_data_release(struct smodel_data *d) {
    mem_free(d->t);
    mem_free(d->points);
    for (int tr = 0; tr < TRANSFORMS; tr++) mem_free(d->y[tr]);
    mem_free(d->values);
    memset(d, 0, sizeof *d);
}

/* ---- parameters ---- */
/* A parameter on an interval: uniform there. */
static int add_interval(struct smodel *m, int kind, int term, bool logs, double a, double b) {
    m->par[m->d] = (struct spar){kind, term, NULL, logs, logs ? log(a) : a, logs ? log(b) : b, 0};
    return m->d++;
}

enum spar_kind spar_kind_of(enum kern_role role, size_t p) {
    static const enum spar_kind of[][2] = {[KERN_ROLE_TREND] = {SPAR_C},
                                           [KERN_ROLE_SMOOTH] = {SPAR_L, SPAR_ALPHA},
                                           [KERN_ROLE_PERIODIC] = {SPAR_PERIOD, SPAR_LPER},
                                           [KERN_ROLE_WALK] = {SPAR_L},
                                           [KERN_ROLE_BREAK] = {SPAR_TAU, SPAR_WIDTH},
                                           [KERN_ROLE_WHITE] = {SPAR_NOISE}};
    return p ? of[role][p - 1] : SPAR_SD;
}

/* Parameter p of a factor with the prior of its row, in a term or (k -1) beside them. A period is
 * at least 2.1 steps long. */
static int add_par(struct smodel *m, int kind, int k, int f, size_t p) {
    const struct kern_param *row = &factor_class(f)->par[p];
    double a = row->prior_a, b = row->prior_b;
    if (row->prior == KERN_P_UNIFORM) return add_interval(m, kind, k, false, a, b);
    if (row->prior == KERN_P_LOGUNIFORM)
        return add_interval(m, kind, k, true, fmin(2.1 * m->data->dt, b / 2), b);
    if (row->beside && m->s.t[k].mask & factors_of(KERN_ROLE_PERIODIC)) a = row->beside;
    m->par[m->d] = (struct spar){kind, k, row, row->prior == KERN_P_LOGNORMAL, a, b, 0};
    bool nested = k >= 0 && term_nests(m->s.t[k]);
    const struct hyper_prior *h =
        nested ? NULL : hyper_find(m->data->shared, k < 0 ? 0 : m->s.t[k].mask, kind);
    if (h) m->par[m->d].a = h->mean, m->par[m->d].sd = h->sd;
    return m->d++;
}

static int add_held(struct smodel *m, int kind, int k, double value) {
    int i = SMODEL_MAX_PAR + m->n_held++;
    m->par[i] = (struct spar){.kind = kind, .term = k, .a = value};
    return i;
}

const char *spar_name(int kind) {
    static const char *const names[SPAR_KINDS] = {
        [SPAR_NOISE] = "noise_sd",  [SPAR_SD] = "sd",       [SPAR_L] = "l",
        [SPAR_PERIOD] = "period",   [SPAR_LPER] = "l_per",  [SPAR_C] = "c",
        [SPAR_TAU] = "tau",         [SPAR_ALPHA] = "alpha", [SPAR_WIDTH] = "width",
        [SPAR_LWITHIN] = "l_within"};
    return names[kind];
}

/* What the structure itself says of a periodic factor, a step or a pulse: a step is sharp. */
static int add_chosen(struct smodel *m, int kind, int k, struct term t) {
    double v = kind == SPAR_PERIOD ? m->data->season[t.at - 1]
               : kind == SPAR_TAU  ? term_place(t.at)
               : t.to              ? term_place(t.to) - term_place(t.at)
                                   : m->data->dt / 20;
    return add_held(m, kind, k, v);
}

static int first_of(unsigned mask) {
    return mask ? __builtin_ctz(mask) : -1;
}

/* The size of the term, then what the rows of its factors leave free. A trend alone needs no
 * origin: the constant has that. */
static void layout_term(struct smodel *m, int k, struct term t) {
    static const enum kern_role order[] = {KERN_ROLE_SMOOTH, KERN_ROLE_PERIODIC, KERN_ROLE_TREND,
                                           KERN_ROLE_BREAK, KERN_ROLE_WALK};
    struct sterm *e = &m->term[k];
    *e = (struct sterm){.mask = t.mask, .gate = t.gate, .at = t.at, .to = t.to};
    for (int i = 0; i < SPAR_KINDS; i++) e->par[i] = -1;
    e->par[SPAR_SD] = add_par(m, SPAR_SD, k, first_of(t.mask), 0);
    for (size_t i = 0; i < COUNT_OF(order); i++) {
        int f = first_of(t.mask & factors_of(order[i]));
        if (f < 0 || t.mask == factors_of(KERN_ROLE_TREND)) continue;
        for (size_t p = 1; p < factor_class(f)->npar; p++) {
            enum spar_kind kind = spar_kind_of(order[i], p);
            if (t.at && (kind == SPAR_PERIOD || order[i] == KERN_ROLE_BREAK))
                e->par[kind] = add_chosen(m, kind, k, t);
            else if (factor_class(f)->par[p].prior != KERN_P_FLAT)
                e->par[kind] = add_par(m, kind, k, f, p);
            if (kind == SPAR_LPER && term_nests(t))
                e->par[SPAR_LWITHIN] = add_par(m, SPAR_LWITHIN, k, f, p);
        }
    }
}

/* Effects of columns that are lines are terms of rank one, as a trend is; others are dense. */
bool smodel_filters(const struct smodel_data *d) {
    for (int j = 0; d->reg && j < d->reg->n; j++)
        if (d->reg->smooth[j]) return false;
    return !smodel_scale_hidden(d);
}

bool smodel_fast_grid(const struct smodel_data *d) {
    return d->regular && d->ng - d->n <= grid_most_special(d->n) && smodel_filters(d);
}

/* On a grid with few gaps, every term stationary, of rank one, or Wiener: the grid engine's. */
static bool qualifies(const struct smodel *m) {
    const unsigned stationary = factors_of(KERN_ROLE_SMOOTH) | factors_of(KERN_ROLE_PERIODIC);
    if (!smodel_fast_grid(m->data) || m->tau >= 0) return false;
    for (int k = 0; k < m->n_terms; k++) {
        unsigned mask = m->term[k].mask;
        if (mask & ~stationary && __builtin_popcount(mask) > 1) return false;
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
/* What is added to the square of parameter i: rounding, to that of noise. */
static double added(const struct smodel *m, int i) {
    const struct spar *p = &m->par[i];
    return p->kind == SPAR_NOISE && p->term < 0 ? m->data->rounding[m->s.transform] : 0;
}

double smodel_value(const struct smodel *m, int i, double z) {
    const struct spar *p = &m->par[i];
    if (!smodel_free(i)) return p->a;
    if (added(m, i) > 0) return sqrt(exp(2 * z) + added(m, i));
    double v = p->row ? z : p->a + (p->b - p->a) * logistic(z);
    return p->log ? exp(v) : v;
}

double smodel_dvalue(const struct smodel *m, int i, double z) {
    const struct spar *p = &m->par[i];
    double f = logistic(z);
    if (added(m, i) > 0) return 1 / (1 + added(m, i) * exp(-2 * z));
    return p->row ? 1 : (p->b - p->a) * f * (1 - f);
}

double smodel_slope(const struct smodel *m, int i, double z) {
    return smodel_dvalue(m, i, z) * (m->par[i].log ? smodel_value(m, i, z) : 1);
}

double smodel_unvalue(const struct smodel *m, int i, double value) {
    const struct spar *p = &m->par[i];
    if (added(m, i) > 0) value = sqrt(fmax(value * value - added(m, i), 1e-4 * added(m, i)));
    double v = p->log ? log(value) : value;
    if (p->row) return v;
    double f = fmin(fmax((v - p->a) / (p->b - p->a), 1e-6), 1 - 1e-6);
    return log(f / (1 - f));
}

/* Uniform on an interval is the logistic density of z. */
static double par_prior(const struct spar *p, double z, double *g) {
    if (p->sd > 0) {
        double r = (z - p->a) / p->sd;
        *g = -r / p->sd;
        return -0.5 * r * r - log(p->sd) - 0.91893853320467274;
    }
    if (p->row) return kern_log_scale_prior(p->row, z, p->a, g);
    *g = 1 - 2 * logistic(z);
    return -fabs(z) - 2 * log1p(exp(-fabs(z)));
}

/* log Phi(x) and its slope. */
static double log_normal_cdf(double x, double *slope) {
    double log_p = norm_log_cdf(x);
    *slope = exp(-0.5 * x * x - LOG_SQRT_2PI - log_p);
    return log_p;
}

/* What repeats lasts for a period: where a pattern may be another one before it has come back, any
 * short memory, of a moving average, say, is a "pattern" of some long period. The prior of log l
 * given p is N(mu, sd^2) Phi((log l - log p) / LASTS), which has a constant of its own for each p.
 */
#define LASTS 0.2

static double lasting_prior(const struct smodel *m, const struct sterm *e, const double *z,
                            double *grad) {
    int l = e->par[SPAR_L], period = e->par[SPAR_PERIOD];
    double of_l, of_p;
    if (!smodel_free(l) || l < 0 || period < 0) return 0;
    const struct spar *p = &m->par[l];
    double sd = p->sd > 0 ? p->sd : p->row->prior_b, wide = sqrt(sd * sd + LASTS * LASTS);
    double x = log(smodel_value(m, period, smodel_free(period) ? z[period] : 0));
    double sum =
        log_normal_cdf((z[l] - x) / LASTS, &of_l) - log_normal_cdf((p->a - x) / wide, &of_p);
    if (!grad) return sum;
    grad[l] += of_l / LASTS;
    if (smodel_free(period))
        grad[period] += (of_p / wide - of_l / LASTS) * smodel_dvalue(m, period, z[period]);
    return sum;
}

/* A period of few steps of a grid shows few harmonics; of sharper patterns those beyond look like
 * others, and every 7 steps the same may be told as a pattern of 3.5 or 2.33 steps that is sharp
 * between the points. The prior of log l of a period p that is not of the calendar has the factor
 * Phi((log l - log(SHOWN dt / p)) / SHARPER), normalised for each p: PER's harmonic number 1/l is
 * half of its highest one, p / 2 dt, at SHOWN = 4. */
#define SHOWN   4.0
#define SHARPER 0.3

static double shown_share(const struct spar *p, double x, double *slope) {
    double wide = p->sd > 0 ? p->sd : p->row->prior_b, share = p->row->second.share, of, of_second;
    double root = sqrt(wide * wide + SHARPER * SHARPER), first = norm_cdf((p->a - x) / root);
    of = -exp(-0.5 * pow((p->a - x) / root, 2) - LOG_SQRT_2PI) / root;
    if (p->sd > 0 || share <= 0) {
        *slope = of / first;
        return log(first);
    }
    double a = p->row->second.a, b = p->row->second.b;
    root = sqrt(b * b + SHARPER * SHARPER);
    of_second = -exp(-0.5 * pow((a - x) / root, 2) - LOG_SQRT_2PI) / root;
    double sum = (1 - share) * first + share * norm_cdf((a - x) / root);
    *slope = ((1 - share) * of + share * of_second) / sum;
    return log(sum);
}

static double shown_prior(const struct smodel *m, const struct sterm *e, const double *z,
                          double *grad) {
    int l = e->par[SPAR_LPER], period = e->par[SPAR_PERIOD];
    double of_l, of_x;
    if (!m->data->grid || !smodel_free(period) || !smodel_free(l)) return 0;
    double x = log(SHOWN * m->data->dt / smodel_value(m, period, z[period]));
    double sum = log_normal_cdf((z[l] - x) / SHARPER, &of_l) - shown_share(&m->par[l], x, &of_x);
    if (!grad) return sum;
    grad[l] += of_l / SHARPER;
    grad[period] += (of_l / SHARPER + of_x) * smodel_dvalue(m, period, z[period]);
    return sum;
}

/* The share of the series in which a term acts, and its slopes by the change point and the width.
 */
static double acts_for(const struct smodel *m, enum gate gate, const double *z, double *by_tau,
                       double *by_width) {
    double tau = smodel_value(m, m->tau, z[m->tau]), end = 1 - tau;
    *by_tau = gate == GATE_BEFORE ? 1 : -1;
    *by_width = 0;
    if (m->width < 0) return gate == GATE_BEFORE ? tau : end;
    double width = smodel_value(m, m->width, z[m->width]), side = gate == GATE_INSIDE ? 1 : -1;
    bool open = width > end;
    *by_tau = open ? -side : 0;
    *by_width = open ? 0 : side;
    return (side < 0) + side * fmin(width, end);
}

/* A repeating term must repeat within its range: a weekly pattern within one day is not one. */
static double returning_prior(const struct smodel *m, const struct sterm *e, const double *z,
                              double *grad) {
    int period = e->par[SPAR_PERIOD];
    double by_tau, by_width, slope;
    if (e->gate == GATE_NONE || period < 0) return 0;
    double share = acts_for(m, (enum gate)e->gate, z, &by_tau, &by_width);
    double p = smodel_value(m, period, smodel_free(period) ? z[period] : 0);
    double sum = log_normal_cdf(log(0.5 * share / p) / LASTS, &slope);
    if (!grad) return sum;
    slope /= LASTS;
    if (by_tau != 0) grad[m->tau] += slope * by_tau / share * smodel_slope(m, m->tau, z[m->tau]);
    if (by_width != 0)
        grad[m->width] += slope * by_width / share * smodel_slope(m, m->width, z[m->width]);
    if (smodel_free(period)) grad[period] -= slope * smodel_slope(m, period, z[period]) / p;
    return sum;
}

double smodel_log_prior(const struct smodel *m, const double *z, double *grad) {
    double sum = 0, g;
    for (int i = 0; i < m->d; i++) {
        sum += par_prior(&m->par[i], z[i], &g);
        if (grad) grad[i] += g;
    }
    for (int k = 0; k < m->n_terms; k++)
        sum += lasting_prior(m, &m->term[k], z, grad) + shown_prior(m, &m->term[k], z, grad) +
               returning_prior(m, &m->term[k], z, grad);
    return sum;
}

void smodel_prior_draw_hint(const struct smodel *m, double *z) {
    for (int i = 0; i < m->d; i++) z[i] = m->par[i].row ? m->par[i].a : 0;
}

/* ---- copies of the same term ---- */
static int key_par(const struct sterm *e) {
    return smodel_free(e->par[SPAR_PERIOD]) ? e->par[SPAR_PERIOD]
           : e->par[SPAR_L] >= 0            ? e->par[SPAR_L]
                                            : e->par[SPAR_SD];
}

/* Do terms k and k + 1, which are the same, stand in the wrong order? */
static bool swapped(const struct smodel *m, const double *z, int k) {
    const struct sterm *a = &m->term[k], *b = a + 1;
    return a->mask == b->mask && a->gate == b->gate && a->at == b->at && a->to == b->to &&
           z[key_par(a)] > z[key_par(b)];
}

bool smodel_ordered(const struct smodel *m, const double *z) {
    for (int k = 0; k + 1 < m->n_terms; k++)
        if (swapped(m, z, k)) return false;
    return true;
}

void smodel_order(const struct smodel *m, double *z) {
    for (int pass = 0; pass < m->n_terms; pass++)
        for (int k = 0; k + 1 < m->n_terms; k++) {
            if (!swapped(m, z, k)) continue;
            int a = m->term[k].par[SPAR_SD], b = m->term[k + 1].par[SPAR_SD];
            for (int i = 0; i < b - a; i++) { /* blocks of equal length follow */
                double x = z[a + i];
                z[a + i] = z[b + i];
                z[b + i] = x;
            }
        }
}
