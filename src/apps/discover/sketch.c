/* SPDX-License-Identifier: Apache-2.0
 *
 * Draws for a sketch: structures by their weights (systematically, so that a structure of weight
 * w gets w times the draws, to the next whole number), parameters from the evidence's own draws,
 * then functions given both. A level is a joint draw; the swing of a pattern needs no draw: around
 * a knot it is an average over many values, sqrt(2 (mean^2 + variance)).
 */
#include "apps/discover/sketch.h"
#include "base/mem.h"
#include "gp/kernel/kern_class.h"
#include "numeric/la/blas.h"
#include <math.h>
#include <string.h>

#define K    SKETCH_KNOTS
#define FINE 8 /* times between two knots at which a pattern is looked at */
#define PHASE                                                                                      \
    0.6180340 /* of the golden section: those times do not fall into step with a period            \
               */

void sketch_release(struct sketch *p) {
    for (size_t i = 0; i < p->n_structures; i++) mem_free(p->structure[i].text);
    mem_free(p->structure);
    mem_free(p->draw);
    memset(p, 0, sizeof *p);
}

static double knot(int k) {
    return (k + 0.5) / K;
}

/* ---- one draw ---- */
struct drawing {
    const struct smodel *m;
    const double *z;
    struct gp *g;
    struct rng *r;
    double shift, scale; /* user's units of the transformed scale */
    double level[K];     /* the draw on the transformed, standardised scale */
};

/* A joint draw of the level at the knots. */
static enum gpm_status draw_level(struct drawing *w) {
    double t[K], factor[K * K], e[K];
    for (int k = 0; k < K; k++) t[k] = knot(k);
    enum gpm_status st = predict_joint(w->m, w->z, w->g, SMODEL_LEVEL, t, K, w->level, factor);
    if (st) return st;
    for (int k = 0; k < K; k++) e[k] = rng_normal(w->r);
    la_trmv(false, K, factor, K, e);
    for (int k = 0; k < K; k++) w->level[k] += e[k];
    return GPM_OK;
}

static double as_value(const struct drawing *w, double v) {
    return link_back(&w->m->data->link[w->m->s.transform], v);
}

/* Size in the user's units of a small amount on the standardised scale at knot k. */
static double unit(const struct drawing *w, int k) {
    double v = w->shift + w->scale * w->level[k];
    return w->scale * (smodel_multiplies(w->m->data, w->m->s.transform)
                           ? exp(v)
                           : link_slope(&w->m->data->link[w->m->s.transform], v));
}

static void put_level(const struct drawing *w, struct sketch_draw *d) {
    for (int k = 0; k < K; k++) {
        double v = w->shift + w->scale * w->level[k];
        d->level[k] = (float)as_value(w, v);
    }
}

static enum gpm_status put_noise(const struct drawing *w, struct sketch_draw *d) {
    double t[K], var[K];
    for (int k = 0; k < K; k++) t[k] = knot(k);
    enum gpm_status st = smodel_noise_vars(w->m, w->z, t, K, var);
    for (int k = 0; k < K && !st; k++) d->noise[k] = (float)(unit(w, k) * sqrt(var[k]));
    return st;
}

static double value_of(const struct drawing *w, const struct sterm *t, enum spar_kind kind) {
    int i = t->par[kind];
    return i < 0 ? NAN : smodel_value(w->m, i, smodel_free(i) ? w->z[i] : 0);
}

/* The amplitude of a pattern around every knot, over a period at least. */
static enum gpm_status put_pattern(const struct drawing *w, int term, struct sketch_draw *d) {
    enum { N = K * FINE };
    double t[N], mean[N], at[K], some[K], var[K];
    double period = value_of(w, &w->m->term[term], SPAR_PERIOD), power = 0;
    struct sketch_pattern p = {.period = (float)(period * w->m->data->span)};
    for (int i = 0; i < N; i++) t[i] = (i + fmod((i + 1) * PHASE, 1)) / N;
    for (int k = 0; k < K; k++) at[k] = knot(k);
    enum gpm_status st = smodel_part(w->m, w->z, w->g, term, t, N, mean, NULL);
    if (!st) st = smodel_part(w->m, w->z, w->g, term, at, K, some, var);
    if (st) return st;
    double reach = fmax(0.75 / K, 0.5 * fmin(period, 0.25));
    for (int k = 0; k < K; k++) {
        double sum = 0, n = 0;
        for (int i = 0; i < N; i++)
            if (fabs(t[i] - at[k]) <= reach) sum += mean[i] * mean[i], n++;
        double sq = sum / n + fmax(var[k], 0);
        p.swing[k] = (float)(unit(w, k) * sqrt(2 * sq));
        power += sq;
    }
    d->share[KIND_PATTERN] += (float)(power / K);
    int i = d->n_patterns; /* the weakest one goes */
    double own = 0, other = 0;
    for (; i > 0; i--) {
        own = other = 0;
        for (int k = 0; k < K; k++) own += p.swing[k], other += d->pattern[i - 1].swing[k];
        if (other >= own) break;
        if (i < SKETCH_PATTERNS) d->pattern[i] = d->pattern[i - 1];
    }
    if (i < SKETCH_PATTERNS) d->pattern[i] = p;
    if (d->n_patterns < SKETCH_PATTERNS) d->n_patterns++;
    return GPM_OK;
}

static enum sketch_kind kind_of(unsigned mask) {
    if (mask & factors_of(KERN_ROLE_PERIODIC)) return KIND_PATTERN;
    if (mask & factors_of(KERN_ROLE_WALK))
        for (int f = factor_next(mask, -1); f < FACTOR_MAX; f = factor_next(mask, f))
            if (factor_class(f)->motif.direction) return KIND_DRIFT;
    if (mask & factors_of(KERN_ROLE_WALK) || mask == FACTOR_BIT(factor_find("MAT12", 5)))
        return KIND_ROUGH;
    return mask & factors_of(KERN_ROLE_SMOOTH) ? KIND_SMOOTH : KIND_LINE;
}

/* A step counts at the first knot behind it, a bend at the end: on the scale of logarithms a size
 * depends on where the level is. */
static void add_event(const struct drawing *w, struct sketch_draw *d, double date, double size,
                      bool step) {
    int k = step ? (int)fmin(fmax(ceil(date * K - 0.5), 0), K - 1) : K - 1;
    double now = w->shift + w->scale * w->level[k], by = w->scale * size;
    if (d->n_events < SKETCH_EVENTS)
        d->event[d->n_events++] = (struct sketch_event){
            (float)date, (float)(as_value(w, now) - as_value(w, now - by)), step};
}

/* A term of the level: its share, and the numbers of those that have some. */
static enum gpm_status put_part(const struct drawing *w, int term, struct sketch_draw *d) {
    const struct sterm *s = &w->m->term[term];
    double t[K], mean[K], sum = 0, sq = 0;
    for (int k = 0; k < K; k++) t[k] = knot(k);
    enum gpm_status st = smodel_part(w->m, w->z, w->g, term, t, K, mean, NULL);
    for (int k = 0; k < K && !st; k++) sum += mean[k] / K, sq += mean[k] * mean[k] / K;
    if (st) return st;
    unsigned breaks = factors_of(KERN_ROLE_BREAK), line = factors_of(KERN_ROLE_TREND);
    bool step = s->mask == FACTOR_BIT(factor_find("STEP", 4));
    double from = value_of(w, s, SPAR_TAU), to = term_place(s->to), in = 0.5 * (from + to), size;
    if (s->to) { /* up and down again */
        st = smodel_part(w->m, w->z, w->g, term, &in, 1, &size, NULL);
        if (st) return st;
        add_event(w, d, from, size, true);
        add_event(w, d, to, -size, true);
    } else if (s->mask & breaks) {
        add_event(w, d, from, mean[K - 1] - mean[0], step);
    }
    if (s->mask == line) d->line += (float)((mean[K - 1] - mean[0]) * unit(w, K / 2) * K / (K - 1));
    if (!(s->mask & breaks)) d->share[kind_of(s->mask)] += (float)fmax(sq - sum * sum, 0);
    return GPM_OK;
}

static enum gpm_status put_draw(struct drawing *w, struct sketch_draw *d) {
    unsigned white = factors_of(KERN_ROLE_WHITE), periodic = factors_of(KERN_ROLE_PERIODIC);
    enum gpm_status st = draw_level(w);
    if (st) return st;
    put_level(w, d);
    st = put_noise(w, d);
    for (int k = 0; k < w->m->n_terms && !st; k++) {
        unsigned mask = w->m->term[k].mask;
        if (mask & white) continue;
        st = mask & periodic ? put_pattern(w, k, d) : put_part(w, k, d);
    }
    for (int k = 0; k < K && !st; k++) {
        double v = d->noise[k] / unit(w, k);
        d->share[KIND_NOISE] += (float)(v * v / K);
    }
    return st;
}

/* ---- all of them ---- */
static enum gpm_status draw_one(const struct discovery *d, const struct evidence *e,
                                const double *z, struct rng *r, struct sketch_draw *out) {
    const struct smodel *m = smodel_of(e);
    int tr = m->s.transform;
    struct drawing w = {.m = m, .z = z, .r = r, .shift = d->data.mean[tr], .scale = d->data.sd[tr]};
    enum gpm_status st = smodel_condition(m, series_space_of(&d->search)->work[0], z, &w.g);
    return st ? st : put_draw(&w, out);
}

static int listed(const struct sketch *p, const char *text) {
    for (size_t i = 0; i < p->n_structures; i++)
        if (!strcmp(p->structure[i].text, text)) return (int)i;
    return -1;
}

static void list_structures(struct sketch *p, const struct post_table *t) {
    p->structure = NEW_ARRAY(struct sketch_structure, SKETCH_LISTED);
    for (size_t i = 0; i < t->n && i < SKETCH_LISTED && t->at[i].p >= 5e-4; i++)
        p->structure[p->n_structures++] = (struct sketch_structure){
            mem_strdup(t->at[i].text), (float)t->at[i].p, (float)t->at[i].error};
}

static enum sketch_clock clock_of(const struct series *s) {
    if (!strcmp(s->unit, "year")) return CLOCK_YEARS;
    return series_dated(s) ? CLOCK_DAYS : CLOCK_NUMBER;
}

enum gpm_status sketch_make(struct sketch *p, const struct discovery *d, size_t draws,
                            struct buf *err) {
    const struct search *s = &d->search;
    const struct smodel_data *m = &d->data;
    struct rng r;
    memset(p, 0, sizeof *p);
    *p = (struct sketch){.clock = clock_of(&d->series),
                         .x0 = m->x0,
                         .span = m->span,
                         .mean = m->mean[0],
                         .sd = m->sd[0],
                         .n = d->series.n};
    list_structures(p, &d->post.structures);
    p->draw = mem_zalloc(draws * sizeof *p->draw);
    rng_init(&r, d->opt.seed, 0, 18);
    double kept = 0, sum = 0;
    for (size_t i = 0; i < s->n; i++)
        if (s->at[i]->prop.n && listed(p, s->at[i]->text) >= 0) kept += d->post.weight[i];
    enum gpm_status st = GPM_OK, bad = GPM_OK;
    for (size_t i = 0, k = 0; i < s->n && st != GPM_E_NOMEM; i++) {
        const struct evidence *e = s->at[i];
        int number = listed(p, e->text);
        if (!e->prop.n || number < 0) continue;
        sum += d->post.weight[i] / kept;
        size_t first = k;
        while (k < draws && ((double)k + 0.5) / (double)draws <= sum) k++;
        for (size_t j = first; j < k; j++) { /* a draw whose matrix is singular drops out */
            struct sketch_draw *to = &p->draw[p->n_draws];
            memset(to, 0, sizeof *to);
            to->structure = number;
            st = draw_one(d, e, evidence_draw(e, j - first, k - first), &r, to);
            if (st == GPM_OK) p->n_draws++;
            if (st != GPM_OK) bad = st;
        }
    }
    if (p->n_draws) return st == GPM_E_NOMEM ? st : GPM_OK;
    sketch_release(p);
    return buf_fail(err, bad ? bad : GPM_E_NOT_PD, "%s: no draw of the functions could be made",
                    d->series.name);
}

/* ---- the forecast ---- */
static const size_t sketch_steps[SKETCH_AHEAD] = {1, 2, 4, 8, 12, 24};

enum gpm_status sketch_forecast(struct sketch *p, const struct discovery *d, struct buf *err) {
    enum { LEVELS = 3, LAST = 24 };
    static const double levels[LEVELS] = {0.025, 0.5, 0.975};
    double all[LAST], x[SKETCH_AHEAD], q[SKETCH_AHEAD * LEVELS];
    discovery_future(d, LAST, all);
    for (int i = 0; i < SKETCH_AHEAD; i++) x[i] = all[sketch_steps[i] - 1];
    enum gpm_status st = predict_quantiles(&d->post, SKETCH_AHEAD, x, levels, LEVELS, q);
    if (st) return buf_fail(err, st, "%s: no forecast could be made", d->series.name);
    for (int i = 0; i < SKETCH_AHEAD; i++) {
        const double *v = q + LEVELS * i;
        struct sketch_ahead a = {(float)((x[i] - p->x0) / p->span), (float)v[0], (float)v[1],
                                 (float)v[2]};
        /* logarithms may run out of the range of numbers far ahead */
        if (isfinite(a.lo) && isfinite(a.median) && isfinite(a.hi)) p->ahead[p->n_ahead++] = a;
    }
    return GPM_OK;
}
