/* SPDX-License-Identifier: Apache-2.0
 * Kernels as linear systems; contract in states_model.h. */
#include "gp/way/states_model.h"

#include "gp/kernel/kern_plan.h"

#include "base/mem.h"
#include "base/vec.h"

#include <math.h>
#include <string.h>

#define TERMS_MAX 40
/* Error allowed for the omitted harmonics, in nats over the whole series. */
#define TAIL_COST 1e-9
/* Relative tolerance for a period being a whole number of steps: the rounding of both. */
#define WHOLE 1e-12

/* ---- multiplying out ---- */

struct expansion {
    struct st_term *term;
    size_t n;
};

static bool kind_of(const struct kern *leaf, enum st_kind *kind) {
    const struct kern_states *s = leaf->cls->states;
    if (kern_is_constant(leaf))
        *kind = ST_CONSTANT;
    else if (kern_is_line(leaf))
        *kind = ST_LINE;
    else if (kern_is_white(leaf))
        *kind = ST_WHITE;
    else if (s)
        *kind = s->n ? ST_SYSTEM : ST_PERIODIC;
    else if (leaf->cls->stationary)
        *kind = ST_LEVEL; /* only together with white noise */
    else
        return false;
    return true;
}

/* Multiplies each of the terms from `first` on by one factor. */
static bool times(struct expansion *e, size_t first, enum st_kind kind, const struct kern *k,
                  size_t at) {
    for (size_t i = first; i < e->n; i++) {
        struct st_term *t = &e->term[i];
        if (t->n == ST_FACTORS) return false;
        t->f[t->n++] = (struct st_factor){.kind = kind, .k = k, .at = at};
    }
    return true;
}

/* Multiplies every term from `first` on by every term of k. */
static bool expand(struct expansion *e, size_t first, const struct kern *k, size_t at);

static bool expand_sum(struct expansion *e, size_t first, const struct kern *k, size_t at) {
    size_t n = e->n - first;
    struct st_term *copy = NEW_ARRAY(struct st_term, n + 1);
    memcpy(copy, e->term + first, n * sizeof *copy);
    e->n = first;
    bool change = k->op == KERN_CHANGE, ok = true;
    size_t own = at; /* a change operator's parameters precede those of its two kernels */
    if (change) at += k->npar;
    for (size_t i = 0; i < k->nkids && ok; i++) {
        size_t here = e->n;
        ok = here + n <= TERMS_MAX;
        if (!ok) break;
        memcpy(e->term + here, copy, n * sizeof *copy);
        e->n += n;
        ok = (!change || times(e, here, i ? ST_AFTER : ST_BEFORE, k, own)) &&
             expand(e, here, k->kid[i], at);
        at += k->kid[i]->total;
    }
    mem_free(copy);
    return ok;
}

static bool expand(struct expansion *e, size_t first, const struct kern *k, size_t at) {
    enum st_kind kind;
    switch (k->op) {
    case KERN_SUM:
    case KERN_CHANGE: return expand_sum(e, first, k, at);
    case KERN_PRODUCT:
        for (size_t i = 0; i < k->nkids; i++) {
            if (!expand(e, first, k->kid[i], at)) return false;
            at += k->kid[i]->total;
        }
        return true;
    case KERN_LEAF: return kind_of(k, &kind) && times(e, first, kind, k, at);
    default: return false;
    }
}

/* ---- kinds ---- */

static bool is_weight(const struct st_factor *f) {
    return f->kind == ST_LINE || f->kind == ST_BEFORE || f->kind == ST_AFTER;
}

/* Is it a weight on a column other than the time? */
static bool is_further(const struct st_factor *f) {
    return f->k->op == KERN_LEAF && f->k->ncol == 1 && f->k->col[0] > 0 && f->kind != ST_CONSTANT &&
           f->kind != ST_WHITE;
}

/* In white noise only the value at lag 0 of other factors matters. */
static bool sort_white(struct st_term *t) {
    int whites = 0;
    for (int i = 0; i < t->n; i++) {
        struct st_factor *f = &t->f[i];
        whites += f->kind == ST_WHITE;
        if (f->kind != ST_SYSTEM && f->kind != ST_PERIODIC) continue;
        if (!f->k->cls->stationary) return false;
        f->kind = ST_LEVEL;
    }
    t->kind = ST_TERM_WHITE;
    return whites > 0;
}

static bool sort_term(struct st_term *t) {
    bool white = false, level = false, further = false;
    t->amp = 1;
    for (int i = 0; i < t->n; i++) {
        struct st_factor *f = &t->f[i];
        if (f->k->op == KERN_LEAF) t->amp *= kern_amplitude(f->k);
        white |= f->kind == ST_WHITE;
        level |= f->kind == ST_LEVEL;
        t->weighted |= is_weight(f);
        further |= is_further(f);
        if (is_further(f) && f->kind != ST_LINE) return false;
    }
    if (!(t->amp >= 0) || !isfinite(t->amp)) return false;
    t->kind = ST_TERM_NOTHING;
    if (t->amp == 0) return true; /* no slopes, either, in the log of its size */
    if (white) return !further && sort_white(t);
    if (level) return false;
    for (int i = 0; i < t->n; i++) {
        struct st_factor *f = &t->f[i];
        if ((f->kind == ST_SYSTEM && t->systems == ST_SYSTEMS) ||
            (f->kind == ST_PERIODIC && t->periodic == 2))
            return false;
        if (f->kind == ST_SYSTEM) t->system[t->systems++] = f;
        if (f->kind == ST_PERIODIC) t->period[t->periodic++] = f;
    }
    t->kind = t->systems || t->periodic ? ST_TERM_STATES : ST_TERM_COLUMN;
    return t->kind == ST_TERM_COLUMN || !further;
}

/* ---- states of a term ---- */

struct harmonics {
    size_t n;
    int first;
    double q[KERN_HARMONICS_MAX + 1], dq[KERN_HARMONICS_MAX + 1];
};

/* cos a cos b = (cos(a+b) + cos(a-b))/2: the harmonics of a product have sums and differences as
 * frequencies. */
struct wave {
    double freq, size, dsize[2], turns[2];
};

static size_t product(const struct st_term *t, const struct harmonics *s, struct wave *out,
                      size_t room) {
    size_t n = 0;
    double p1 = t->period[0]->k->par[1], p2 = t->periodic > 1 ? t->period[1]->k->par[1] : 1;
    for (size_t i = 0; i < s[0].n; i++)
        for (size_t j = 0; j < s[1].n; j++) {
            double a = (double)((size_t)s[0].first + i), b = (double)((size_t)s[1].first + j);
            int both = a > 0 && b > 0 ? 2 : 1;
            for (int side = 0; side < both; side++, n++) {
                double sign = side ? -1 : 1, f = a / p1 + sign * b / p2;
                if (n == room) return 0;
                out[n] =
                    (struct wave){fabs(f),
                                  s[0].q[i] * s[1].q[j] / both,
                                  {s[0].dq[i] * s[1].q[j] / both, s[0].q[i] * s[1].dq[j] / both},
                                  {a, sign * b}};
                if (f < 0) out[n].turns[0] = -a, out[n].turns[1] = -sign * b;
            }
        }
    return n;
}

/* The waves of the periodic factors; one wave of frequency 0 without periodic factors. Returns
 * their number; 0: too many. */
static size_t waves_of(const struct st_term *t, double tail, struct wave *out, size_t room) {
    struct harmonics s[2] = {{1, 0, {1}, {0}}, {1, 0, {1}, {0}}};
    if (!t->periodic) {
        out[0] = (struct wave){.size = 1};
        return 1;
    }
    for (int i = 0; i < t->periodic; i++) {
        const struct kern_states *form = t->period[i]->k->cls->states;
        s[i].first = form->first;
        s[i].n = form->harmonics(t->period[i]->k, tail, s[i].q, s[i].dq);
        if (!s[i].n) return 0;
    }
    return product(t, s, out, room);
}

/* Joins harmonics 1, 2, ... (or 0, 1, ...) that are equal on the grid, for a period of `points`
 * grid points. The slope in the period then uses the mean harmonic number, `turns`. */
static size_t fold(double points, struct wave *w, size_t n) {
    double whole = floor(points + 0.5);
    size_t half = (size_t)(whole / 2), kept = 0;
    if (!(whole >= 2) || fabs(points / whole - 1) > WHOLE || !(w[n - 1].turns[0] > whole / 2))
        return n;
    double base = w[n - 1].freq / w[n - 1].turns[0];
    struct wave *out = mem_zalloc((half + 1) * sizeof *out);
    for (size_t i = 0; i < n; i++) {
        double a = w[i].turns[0], rest = fmod(a, whole), sign = rest > whole / 2 ? -1 : 1;
        struct wave *o = &out[(size_t)(sign > 0 ? rest : whole - rest)];
        o->size += w[i].size;
        o->dsize[0] += w[i].dsize[0];
        o->turns[0] += sign * a * w[i].size;
    }
    for (size_t j = 0; j <= half; j++) {
        if (j == 0 && out[0].size == 0) continue;
        out[j].turns[0] *= j && out[j].size > 0 ? 1 / out[j].size : 0;
        out[j].freq = (double)j * base;
        w[kept++] = out[j];
    }
    mem_free(out);
    return kept;
}

static double *take(double **at, size_t n) {
    double *p = *at;
    *at += n;
    return p;
}

static void bind_states(struct st_term *t, const struct wave *wave, double **at) {
    size_t ns = (size_t)t->ns, w = (size_t)t->w;
    double **square[] = {&t->a,     &t->q,     &t->p,     &t->da[0], &t->dq[0],
                         &t->dp[0], &t->da[1], &t->dq[1], &t->dp[1]};
    for (size_t i = 0; i < COUNT_OF(square); i++) *square[i] = take(at, ns * ns);
    double **line[] = {&t->freq,     &t->size, &t->dsize[0], &t->dsize[1], &t->turns[0],
                       &t->turns[1], &t->cs,   &t->sn,       &t->size_bar, &t->freq_bar};
    for (size_t i = 0; i < COUNT_OF(line); i++) *line[i] = take(at, w);
    for (int j = 0; j < t->w; j++) { /* a sine has the wave of its cosine */
        const struct wave *v = &wave[j < t->nc ? j : j - t->nz];
        t->freq[j] = v->freq;
        t->size[j] = t->amp * v->size;
        for (int f = 0; f < 2; f++)
            t->dsize[f][j] = t->amp * v->dsize[f], t->turns[f][j] = v->turns[f];
    }
    for (int i = 0; i < t->ns; i++) t->observe[i] = 1;
    int rest = t->ns;
    for (int f = 0; f < t->systems; f++) {
        const struct kern_states *form = t->system[f]->k->cls->states;
        rest /= form->n;
        for (int i = 0; i < t->ns; i++) t->observe[i] *= form->observe[i / rest % form->n];
    }
}

static size_t room_of(const struct st_term *t) {
    return (size_t)(9 * t->ns * t->ns + 10 * t->w);
}

/* Bound on the variance of a term over its amplitude, at least 1: lines grow with time, and so do
 * processes with a start. It is taken up to one length of the series after its end, since data may
 * be appended. */
static double growth(const struct st_term *t, const struct st_scope *s) {
    double all = 1, ends[] = {s->first, 2 * s->last - s->first};
    for (int i = 0; i < t->n; i++) {
        const struct st_factor *f = &t->f[i];
        bool starts = f->kind == ST_SYSTEM && f->k->cls->states->starts;
        double amp = kern_amplitude(f->k), most = 0, v;
        if (!(f->kind == ST_LINE || starts) || !(amp > 0)) continue;
        for (int e = 0; e < 2; e++)
            if (kern_eval(f->k, &ends[e], &ends[e], 1, &v) == GPM_OK) most = fmax(most, v / amp);
        all *= most;
    }
    return fmax(all, 1);
}

/* Sets the sizes of the term; returns the number of its waves, 0: no form. */
static size_t measure(struct st_model *m, struct st_term *t, const struct st_scope *s,
                      struct wave *wave) {
    double error = 0;
    t->ns = 1;
    for (int f = 0; f < t->systems; f++) {
        const struct kern_states *form = t->system[f]->k->cls->states;
        t->ns *= form->n;
        t->moving |= form->starts;
        error += form->error;
    }
    if (t->ns > ST_SYSTEM_MAX || m->d + (size_t)t->ns > s->most) return 0;
    m->error += t->amp * error;
    double size = t->periodic ? t->amp * growth(t, s) : t->amp;
    double tail = TAIL_COST * s->noise / ((double)s->n * size);
    size_t waves = waves_of(t, fmin(fmax(tail, 1e-18), 1e-10), wave, ST_STATES_MAX);
    if (!waves) return 0;
    if (s->step > 0 && t->periodic == 1) {
        size_t all = waves;
        waves = fold(t->period[0]->k->par[1] / s->step, wave, all);
        m->folded |= waves < all;
    }
    t->nc = (int)waves;
    t->nz = wave[0].turns[0] == 0 && wave[0].turns[1] == 0 ? t->nc - 1 : t->nc;
    if (t->nz < t->nc)
        t->w = t->nc + t->nz; /* the first wave has no sine */
    else
        t->w = 2 * t->nc;
    t->off = (int)m->d;
    m->d += (size_t)(t->ns * t->w);
    return m->d <= s->most ? waves : 0;
}

static bool lay_out(struct st_model *m, const struct st_scope *s) {
    struct wave *wave[TERMS_MAX] = {NULL};
    size_t room = 1;
    bool ok = true;
    for (size_t k = 0; k < 2 * m->n_terms && ok; k++) {
        size_t i = k % m->n_terms;
        struct st_term *t = &m->term[i];
        if (k == m->n_terms) m->d_steps = m->d;
        if (t->kind != ST_TERM_STATES || st_static(t) != (k >= m->n_terms)) continue;
        wave[i] = NEW_ARRAY(struct wave, ST_STATES_MAX);
        ok = measure(m, t, s, wave[i]) > 0;
        if (!ok) break;
        room += room_of(t);
        m->weighted |= t->weighted;
        m->moving |= t->moving;
        if (t->moving) m->rank += (size_t)t->ns;
    }
    if (ok) {
        double *at = m->memory = mem_zalloc(room * sizeof *at);
        for (size_t i = 0; i < m->n_terms; i++)
            if (wave[i]) bind_states(&m->term[i], wave[i], &at);
    }
    for (size_t i = 0; i < m->n_terms; i++) mem_free(wave[i]);
    return ok;
}

bool st_model_init(struct st_model *m, const struct kern *k, const struct st_scope *s) {
    struct expansion e = {NEW_ARRAY(struct st_term, TERMS_MAX + 1), 1};
    memset(e.term, 0, sizeof *e.term); /* the others are copies of it */
    *m = (struct st_model){.term = e.term, .rank = 1, .t0 = s->first, .last = NAN};
    bool ok = expand(&e, 0, k, 0);
    m->n_terms = e.n;
    for (size_t i = 0; i < m->n_terms && ok; i++) {
        struct st_term *t = &m->term[i];
        ok = sort_term(t);
        if (t->kind == ST_TERM_WHITE) m->white = true, m->white_varies |= t->weighted;
        if (!ok || t->kind != ST_TERM_COLUMN) continue;
        ok = m->n_columns < ST_COLUMNS_MAX;
        if (ok) m->column[m->n_columns++] = i;
    }
    ok = ok && lay_out(m, s);
    if (!ok) st_model_release(m);
    return ok;
}

void st_model_release(struct st_model *m) {
    mem_free(m->term);
    mem_free(m->memory);
    memset(m, 0, sizeof *m);
}

/* ---- weights ---- */

/* One factor; dh: derivatives in the parameters from *first on. */
static double weight_at(const struct st_factor *f, double x, const double *z, double *dh,
                        size_t *first) {
    const struct kern *k = f->k;
    if (is_further(f)) x = z[k->col[0] - 1];
    *first = f->kind == ST_LINE;
    if (f->kind != ST_LINE) {
        double h = k->cls->weight(k->par, x, dh);
        if (f->kind == ST_AFTER) return h;
        for (size_t p = 0; p < k->npar; p++) dh[p] = -dh[p];
        return 1 - h;
    }
    if (k->cls->weight) return k->cls->weight(k->par + 1, x, dh);
    dh[0] = -1;
    return x - kern_origin(k, 0);
}

double st_weight(struct st_term *t, double x, const double *z, double bar) {
    double w = 1, dh[KERN_MAX_PAR], value[ST_FACTORS];
    size_t first;
    if (!t->weighted) return 1;
    for (int i = 0; i < t->n; i++) {
        value[i] = is_weight(&t->f[i]) ? weight_at(&t->f[i], x, z, dh, &first) : 1;
        w *= value[i];
    }
    for (int i = 0; i < t->n && bar != 0; i++) {
        if (!is_weight(&t->f[i])) continue;
        double others = bar;
        for (int j = 0; j < t->n; j++) others *= j == i ? 1 : value[j];
        weight_at(&t->f[i], x, z, dh, &first);
        for (size_t p = first; p < t->f[i].k->npar; p++) t->f[i].own[p] += others * dh[p - first];
    }
    return w;
}

double st_column(struct st_model *m, size_t c, double x, const double *z) {
    struct st_term *t = &m->term[m->column[c]];
    return sqrt(t->amp) * st_weight(t, x, z, 0);
}

void st_column_slope(struct st_model *m, size_t c, double x, const double *z, double bar) {
    struct st_term *t = &m->term[m->column[c]];
    double size = sqrt(t->amp);
    t->damp += bar * st_weight(t, x, z, bar * size) / (2 * size);
}

double st_white(struct st_model *m, double x) {
    double sum = 0;
    for (size_t i = 0; i < m->n_terms && m->white; i++) {
        struct st_term *t = &m->term[i];
        if (t->kind != ST_TERM_WHITE) continue;
        double w = st_weight(t, x, NULL, 0);
        sum += t->amp * w * w;
    }
    return sum;
}

void st_white_slope(struct st_model *m, double x, double bar) {
    for (size_t i = 0; i < m->n_terms && m->white; i++) {
        struct st_term *t = &m->term[i];
        if (t->kind != ST_TERM_WHITE) continue;
        double w = st_weight(t, x, NULL, 0);
        if (t->weighted) st_weight(t, x, NULL, 2 * bar * t->amp * w);
        t->damp += bar * w * w;
    }
}

/* ---- systems ---- */

static double since(const struct kern *k, double x) {
    return k->cls->states->starts ? fmax(0, x - k->par[k->npar - 1]) : x;
}

/* out = x (x) y, or added to; x: n x n, y: m x m, out: nm x nm. */
static void kronecker(int n, const double *x, int m, const double *y, bool add, double *out) {
    for (int i = 0; i < n * m; i++)
        for (int j = 0; j < n * m; j++) {
            double v = x[i / m * n + j / m] * y[i % m * m + j % m];
            out[i * n * m + j] = add ? out[i * n * m + j] + v : v;
        }
}

struct block {
    double p[KERN_STATES_MAX * KERN_STATES_MAX], dp[KERN_STATES_MAX * KERN_STATES_MAX];
};

static void one_prior(const struct st_factor *f, double x, bool slopes, double *p, double *dp) {
    const struct kern_states *form = f->k->cls->states;
    form->prior(f->k, since(f->k, x), p, slopes && form->length ? dp : NULL);
    if (!form->length) memset(dp, 0, (size_t)(form->n * form->n) * sizeof *dp);
}

static void term_prior(const struct st_model *m, struct st_term *t, double x) {
    if (t->systems == 0) {
        t->p[0] = 1;
        return;
    }
    if (t->systems == 1) {
        one_prior(t->system[0], x, m->slopes, t->p, t->dp[0]);
        return;
    }
    struct block b[2];
    int n[2];
    for (int f = 0; f < 2; f++) {
        n[f] = t->system[f]->k->cls->states->n;
        one_prior(t->system[f], x, m->slopes, b[f].p, b[f].dp);
    }
    kronecker(n[0], b[0].p, n[1], b[1].p, false, t->p);
    if (!m->slopes) return;
    kronecker(n[0], b[0].dp, n[1], b[1].p, false, t->dp[0]);
    kronecker(n[0], b[0].p, n[1], b[1].dp, false, t->dp[1]);
}

void st_prior(struct st_model *m, double x) {
    for (size_t i = 0; i < m->n_terms; i++)
        if (m->term[i].kind == ST_TERM_STATES) term_prior(m, &m->term[i], x);
}

/* One system over a step: A, Q, P at its start and end, A P A', and their derivatives; all n x n,
 * row-major. */
struct system_step {
    int n;
    double a[64], q[64], p[64], end[64], apa[64], da[64], dq[64], dp[64], dend[64], dapa[64];
};

/* out += x p y', all n x n. */
static void sandwich(int n, const double *x, const double *p, const double *y, double *out) {
    double left[64];
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) {
            left[i * n + j] = 0;
            for (int k = 0; k < n; k++) left[i * n + j] += x[i * n + k] * p[k * n + j];
        }
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
            for (int k = 0; k < n; k++) out[i * n + j] += left[i * n + k] * y[j * n + k];
}

static double gap_of(const struct kern *k, double from, double gap) {
    if (!k->cls->states->starts || from >= k->par[k->npar - 1]) return gap;
    return since(k, from + gap) - since(k, from);
}

static void system_move(const struct st_factor *f, double from, double gap, bool slopes,
                        struct system_step *v) {
    const struct kern_states *form = f->k->cls->states;
    size_t bytes = (size_t)(form->n * form->n) * sizeof(double);
    bool d = slopes && form->length;
    v->n = form->n;
    memset(v->da, 0, bytes), memset(v->dq, 0, bytes);
    one_prior(f, from, slopes, v->p, v->dp);
    form->step(f->k, v->p, gap_of(f->k, from, gap), v->a, v->q, d ? v->da : NULL, d ? v->dq : NULL);
}

/* x and y are independent and the state is x (x) y: A = Ax (x) Ay. Q without subtraction is Qx (x)
 * Py' + Ax Px Ax' (x) Qy, with Py' at the end of the step. */
static void joint_step(const struct st_model *m, struct st_term *t, double from, double gap) {
    struct system_step v[2];
    for (int f = 0; f < 2; f++) {
        struct system_step *u = &v[f];
        system_move(t->system[f], from, gap, m->slopes, u);
        one_prior(t->system[f], from + gap, m->slopes, u->end, u->dend);
        memset(u->apa, 0, sizeof u->apa), memset(u->dapa, 0, sizeof u->dapa);
        sandwich(u->n, u->a, u->p, u->a, u->apa);
        if (!m->slopes) continue;
        sandwich(u->n, u->da, u->p, u->a, u->dapa);
        sandwich(u->n, u->a, u->dp, u->a, u->dapa);
        sandwich(u->n, u->a, u->p, u->da, u->dapa);
    }
    int n = v[0].n, k = v[1].n;
    kronecker(n, v[0].a, k, v[1].a, false, t->a);
    kronecker(n, v[0].q, k, v[1].end, false, t->q);
    kronecker(n, v[0].apa, k, v[1].q, true, t->q);
    kronecker(n, v[0].p, k, v[1].p, false, t->p);
    if (!m->slopes) return;
    kronecker(n, v[0].da, k, v[1].a, false, t->da[0]);
    kronecker(n, v[0].a, k, v[1].da, false, t->da[1]);
    kronecker(n, v[0].dq, k, v[1].end, false, t->dq[0]);
    kronecker(n, v[0].dapa, k, v[1].q, true, t->dq[0]);
    kronecker(n, v[0].q, k, v[1].dend, false, t->dq[1]);
    kronecker(n, v[0].apa, k, v[1].dq, true, t->dq[1]);
}

static void term_step(const struct st_model *m, struct st_term *t, double from, double gap) {
    if (t->systems == 0) {
        t->a[0] = 1, t->q[0] = 0;
        return;
    }
    if (t->systems == 2) {
        joint_step(m, t, from, gap);
        return;
    }
    const struct kern *k = t->system[0]->k;
    const struct kern_states *form = k->cls->states;
    bool d = m->slopes && form->length;
    form->step(k, t->p, gap_of(k, from, gap), t->a, t->q, d ? t->da[0] : NULL, d ? t->dq[0] : NULL);
}

/* Equal steps are computed once, except for processes with a start, whose step depends on t. */
void st_step(struct st_model *m, double from, double gap) {
    bool same = gap == m->last;
    for (size_t i = 0; i < m->n_terms; i++) {
        struct st_term *t = &m->term[i];
        if (t->kind == ST_TERM_STATES && (!same || t->moving)) term_step(m, t, from, gap);
    }
    m->last = gap;
}

bool st_static(const struct st_term *t) {
    return t->systems == 0;
}

/* ---- observation ---- */

/* cos and sin of 2 pi f (t - t0) with whole turns removed; cs, sn: nc. */
static void angles(const struct st_term *t, double since, double *cs, double *sn) {
    for (int j = 0; j < t->nc; j++) {
        double turns = t->freq[j] * since, a = 2 * M_PI * (turns - floor(turns));
        cs[j] = cos(a), sn[j] = sin(a);
    }
}

/* Multiples of one frequency by recurrence: one sine and cosine instead of many. */
static void harmonic_angles(const struct st_term *t, double since, double *cs, double *sn) {
    if (t->periodic != 1 || t->nc < 3) {
        angles(t, since, cs, sn);
        return;
    }
    double base = since / t->period[0]->k->par[1], a = 2 * M_PI * (base - floor(base));
    double c1 = cos(a), s1 = sin(a), c = t->nz < t->nc ? 1 : c1, s = t->nz < t->nc ? 0 : s1;
    for (int j = 0; j < t->nc; j++) {
        cs[j] = c, sn[j] = s;
        double next = c * c1 - s * s1;
        s = s * c1 + c * s1, c = next;
    }
}

void st_observe(struct st_model *m, double x, size_t d, double *h) {
    double cs[ST_STATES_MAX], sn[ST_STATES_MAX];
    for (size_t i = 0; i < m->n_terms; i++) {
        struct st_term *t = &m->term[i];
        if (t->kind != ST_TERM_STATES || (size_t)t->off >= d) continue;
        double weight = st_weight(t, x, NULL, 0);
        if (t->periodic)
            harmonic_angles(t, x - m->t0, cs, sn);
        else
            cs[0] = 1;
        for (int s = 0; s < t->ns; s++) {
            double f = weight * t->observe[s], *at = h + t->off + s * t->w;
            for (int j = 0; j < t->nc; j++) at[j] = f * cs[j];
            for (int j = t->nc; j < t->w; j++) at[j] = f * sn[j - t->nz];
        }
    }
}

void st_observe_slope(struct st_model *m, double x, const double *hbar) {
    double cs[ST_STATES_MAX], sn[ST_STATES_MAX];
    for (size_t i = 0; i < m->n_terms; i++) {
        struct st_term *t = &m->term[i];
        if (t->kind != ST_TERM_STATES || (!t->weighted && !t->periodic)) continue;
        double weight = st_weight(t, x, NULL, 0), bar = 0, turn = 2 * M_PI * (x - m->t0);
        if (t->periodic)
            harmonic_angles(t, x - m->t0, cs, sn);
        else
            cs[0] = 1;
        for (int s = 0; s < t->ns; s++) {
            const double *at = hbar + t->off + s * t->w;
            for (int j = 0; j < t->w; j++) {
                bool sine = j >= t->nc;
                int c = sine ? j - t->nz : j;
                bar += at[j] * t->observe[s] * (sine ? sn[c] : cs[c]);
                t->freq_bar[c] += at[j] * weight * t->observe[s] * turn * (sine ? cs[c] : -sn[c]);
            }
        }
        if (t->weighted) st_weight(t, x, NULL, bar);
    }
}

/* ---- derivatives ---- */

void st_clear_slopes(struct st_model *m) {
    for (size_t i = 0; i < m->n_terms; i++) {
        struct st_term *t = &m->term[i];
        t->damp = 0;
        for (int f = 0; f < t->n; f++) memset(t->f[f].own, 0, sizeof t->f[f].own);
        memset(t->length_bar, 0, sizeof t->length_bar);
        if (t->kind != ST_TERM_STATES) continue;
        memset(t->size_bar, 0, (size_t)t->w * sizeof *t->size_bar);
        memset(t->freq_bar, 0, (size_t)t->w * sizeof *t->freq_bar);
    }
}

/* Passes the derivatives of the states on to the factors' own parameters. */
static void states_own(struct st_term *t) {
    for (int j = 0; j < t->w; j++) t->damp += t->size_bar[j] * t->size[j] / t->amp;
    for (int f = 0; f < t->systems; f++)
        if (t->system[f]->k->cls->states->length)
            ((struct st_factor *)t->system[f])->own[1] += t->length_bar[f];
    for (int f = 0; f < t->periodic; f++) {
        struct st_factor *p = (struct st_factor *)t->period[f];
        double period = p->k->par[1], length = 0;
        for (int j = 0; j < t->w; j++) length += t->size_bar[j] * t->dsize[f][j];
        for (int j = 0; j < t->nc; j++)
            p->own[1] -= t->freq_bar[j] * t->turns[f][j] / (period * period);
        if (p->k->npar > 2) p->own[2] += length;
    }
}

void st_deliver(struct st_model *m, double *g) {
    for (size_t i = 0; i < m->n_terms; i++) {
        struct st_term *t = &m->term[i];
        if (t->kind == ST_TERM_STATES) states_own(t);
        for (int f = 0; f < t->n; f++) {
            struct st_factor *p = &t->f[f];
            if (p->k->op == KERN_LEAF && t->amp > 0)
                p->own[0] += t->damp * t->amp / kern_amplitude(p->k) * kern_amp_slope(p->k);
            for (size_t q = 0; q < p->k->npar; q++) /* fixed parameters get no slope */
                if (p->k->op == KERN_LEAF && p->k->cls->par[q].transform == KERN_T_FIXED)
                    p->own[q] = 0;
            for (size_t q = 0; q < p->k->npar; q++) g[p->at + q] += p->own[q];
        }
    }
}

bool st_same_term(const struct st_term *a, const struct st_term *b) {
    if (a->n != b->n) return false;
    for (int i = 0; i < a->n; i++)
        if (a->f[i].kind != b->f[i].kind || !kern_equal(a->f[i].k, b->f[i].k)) return false;
    return true;
}
