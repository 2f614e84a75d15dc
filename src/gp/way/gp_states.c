/* SPDX-License-Identifier: Apache-2.0
 * Likelihood and gradient of a GP by filters, and when they are chosen; contract in gp_states.h. */
#include "gp/way/gp_states.h"

#include "gp/process/gp_engine.h"

#include "base/mem.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* From so many points on the filters are faster than the other exact ways (bench/run states):
 * Chandrasekhar's, with the guard's run of the Kalman filter over the first events, than Toeplitz
 * (GP_GRID_LEAST, with so many more for each state; values lie a third below, gradients above) and
 * than a dense factor; elsewhere the Kalman filter than a dense factor, with so many more for each
 * state, or for so many columns that are harmonics. */
#define GRID_STATE     35
#define GRID_DENSE     300
#define GRID_SEVERAL   2000 /* either with regressors of other columns, each a vector more */
#define KALMAN_LEAST   60
#define KALMAN_STATE   13
#define KALMAN_COLUMNS 2
#define SE_NOISE       0.03
/* Where filters serve or nothing does (gp_set_filtered) they serve as long as they are fast: n d^2
 * is what the Kalman filter takes, and with Chandrasekhar's the predictions. */
#define STATES_ANY  32
#define GRID_WORK   1e8
#define KALMAN_WORK 1e7

/* ---- time order ---- */

void gp_timeline_release(struct gp *g) {
    mem_free(g->times.order);
    g->times = (struct gp_timeline){.epoch = g->times.epoch + 1};
}

void gp_timeline_changed(struct gp *g, size_t first, bool changed) {
    struct gp_timeline *t = &g->times;
    if (changed || g->dim != 1) {
        t->n = 0;
        t->epoch++;
    } else if (t->n > first)
        t->n = first;
}

struct when {
    double x;
    size_t i;
};
static int by_time(const void *a, const void *b) {
    const struct when *p = a, *q = b;
    if (p->x != q->x) return p->x < q->x ? -1 : 1;
    return (p->i > q->i) - (p->i < q->i);
}

static size_t entry_at(const struct gp_timeline *t, size_t k) {
    return t->order ? t->order[k] : k;
}

static void sort_all(struct gp *g) {
    struct gp_timeline *t = &g->times;
    struct when *w = NEW_ARRAY(struct when, g->n + 1);
    for (size_t i = 0; i < g->n; i++) w[i] = (struct when){g->x[i], i};
    qsort(w, g->n, sizeof *w, by_time);
    if (t->cap < g->n || !t->order) {
        t->cap = g->cap;
        t->order = mem_realloc(t->order, (t->cap + 1) * sizeof *t->order);
    }
    for (size_t i = 0; i < g->n; i++) t->order[i] = w[i].i;
    mem_free(w);
    t->epoch++;
}

/* Entries that follow in time extend the order; others make a new one. */
static void sort_times(struct gp *g) {
    struct gp_timeline *t = &g->times;
    bool ascending = true;
    double last = t->n ? g->x[entry_at(t, t->n - 1)] : -INFINITY;
    for (size_t i = t->n; i < g->n && ascending; i++) {
        ascending = g->x[i] >= last;
        last = g->x[i];
    }
    if (!ascending)
        sort_all(g);
    else if (t->n == 0) {
        mem_free(t->order);
        t->order = NULL;
        t->cap = 0;
    } else if (t->order) {
        if (t->cap < g->n) {
            t->cap = g->cap;
            t->order = mem_realloc(t->order, (t->cap + 1) * sizeof *t->order);
        }
        for (size_t i = t->n; i < g->n; i++) t->order[i] = i;
    }
    t->n = g->n;
}

/* ---- when it serves ---- */

static size_t power_of_two(size_t n) { /* so that a longer series has the same harmonics */
    size_t p = 1;
    while (p < n) p *= 2;
    return p;
}

static double least_noise(const struct gp *g, const struct gp_slot *s) {
    double share = 1;
    for (size_t i = 0; i < g->n; i++) share = fmin(share, gp_share(g, i));
    return s->noise * s->noise * share;
}

static bool equal_shares(const struct gp *g) {
    for (size_t i = 1; i < g->n; i++)
        if (gp_share(g, i) != gp_share(g, 0)) return false;
    return true;
}

/* Each missing value is a column more for Chandrasekhar's filter, O(d); with more columns than
 * states the Kalman filter, O(d^2), is as fast. */
static bool few_gaps(const struct gp_places *p, size_t n, size_t d) {
    size_t gaps = p->n - n;
    return gaps <= GRID_ANY_SPECIAL || (gaps <= grid_most_special(n) && gaps <= d);
}

/* Chandrasekhar: regular, few gaps, nothing that depends on the time, processes that start have
 * done so and turn with no harmonics. */
static bool fits_grid(struct gp *g, const struct st_model *m) {
    const struct gp_places *p = gp_places(g);
    if (!p->n || p->repeats || !few_gaps(p, g->n, m->d) || m->weighted || m->white_varies)
        return false;
    for (size_t i = 0; i < m->n_terms; i++) {
        const struct st_term *t = &m->term[i];
        if (t->kind != ST_TERM_STATES || !t->moving) continue;
        const struct kern *k = t->system[0]->k;
        if (t->systems > 1 || t->periodic || p->x0 < k->par[k->npar - 1]) return false;
    }
    return m->rank <= ST_RANK_MAX && equal_shares(g);
}

/* SE's form: amplitudes times the form's error, against the noise. */
static bool exact_enough(const struct gp *g, size_t n, const struct st_model *m, double least) {
    if (m->error == 0) return true;
    if (g->approx != GP_AUTO || n <= gp_exact_max(g)) return false;
    for (size_t i = 0; i < m->n_terms; i++) {
        const struct st_term *t = &m->term[i];
        for (int f = 0; f < t->systems && t->kind == ST_TERM_STATES; f++)
            if (t->system[f]->k->cls->states->error > 0 && least < SE_NOISE * SE_NOISE * t->amp)
                return false;
    }
    return true;
}

static bool long_enough(const struct gp *g, size_t n, const struct gp_series *e,
                        enum gp_rival rival) {
    const struct st_model *m = &e->m;
    size_t d = e->grid ? m->d : m->d_steps + (m->d - m->d_steps) / KALMAN_COLUMNS;
    if (g->filtered && n > gp_exact_max(g))
        return d <= STATES_ANY ||
               (double)n * (double)(d * d) <= (e->grid ? GRID_WORK : KALMAN_WORK);
    if (n > GP_EXACT_MAX) return true;
    if (!e->grid) return n > KALMAN_LEAST + KALMAN_STATE * d;
    if (g->dim > 1) return n >= GRID_SEVERAL;
    return n >= (rival == GP_BESIDE_GRID ? GP_GRID_LEAST + GRID_STATE * d : GRID_DENSE);
}

/* With more of them no filter is long_enough for n inputs. */
static size_t most_states(const struct gp *g, size_t n) {
    if (n >= GRID_DENSE || (g->filtered && n > gp_exact_max(g))) return ST_STATES_MAX;
    return (n - KALMAN_LEAST - 1) / KALMAN_STATE * KALMAN_COLUMNS + KALMAN_COLUMNS - 1;
}

/* Of inputs with several columns: has every leaf one of them, and change operators the first? */
static bool on_single_columns(const struct kern *k) {
    if (k->op == KERN_LEAF) return kern_is_constant(k) || kern_is_white(k) || k->ncol == 1;
    if (k->op == KERN_CHANGE && k->col[0] != 0) return false;
    for (size_t i = 0; i < k->nkids; i++)
        if (!on_single_columns(k->kid[i])) return false;
    return true;
}

/* Inputs of one time that differ in other columns are left to matrices: which of them a point
 * shares its white noise with is not looked for. */
static bool times_repeat(const struct gp *g) {
    for (size_t k = 1; k < g->n; k++)
        if (g->x[entry_at(&g->times, k)] == g->x[entry_at(&g->times, k - 1)]) return true;
    return false;
}

/* ---- the series ---- */

static enum gpm_status fill_events(struct gp *g, struct gp_slot *s, struct gp_series *e) {
    const struct gp_places *p = gp_places(g);
    size_t n = e->grid ? p->n : g->n;
    size_t nz = (size_t)g->dim - 1;
    double *x = e->buf = mem_try_doubles((3 + nz) * n + 1), *y = x + n, *noise = y + n,
           *z = noise + n;
    if (!x) return GPM_E_NOMEM;
    e->entry = mem_try_alloc(n + 1, sizeof *e->entry);
    bool places = p->n && !p->repeats;
    e->place = places && !e->grid ? mem_try_alloc(n, sizeof *e->place) : NULL;
    if (!e->entry || (places && !e->grid && !e->place)) return GPM_E_NOMEM;
    double white = n ? st_white(&e->m, g->x[0]) : 0;
    for (size_t k = 0; k < n && e->grid; k++) {
        x[k] = p->x0 + (double)k * p->step;
        y[k] = NAN;
        noise[k] = s->noise * s->noise * gp_share(g, 0) + white;
        e->entry[k] = SIZE_MAX;
        memset(z + k * nz, 0, nz * sizeof *z);
    }
    for (size_t k = 0; k < g->n; k++) {
        size_t i = entry_at(&g->times, k), at = e->grid ? p->place[i] : k;
        e->entry[at] = i;
        y[at] = s->r[i];
        for (size_t c = 0; c < nz; c++) z[at * nz + c] = g->x[i + (c + 1) * g->cap];
        if (e->grid) continue;
        x[at] = g->x[i];
        noise[at] = s->noise * s->noise * gp_share(g, i) +
                    (e->m.white_varies ? st_white(&e->m, x[at]) : white);
        if (e->place) e->place[at] = p->place[i];
    }
    e->x = (struct st_series){n, x, y, noise, places ? p->step : 0, e->place, nz ? z : NULL, nz};
    return GPM_OK;
}

/* Questions about other times take the unfolded model. Where nothing else could answer them the
 * likelihood has it, too: both serve or neither does. */
static double step_of(struct gp *g) {
    size_t most = g->filtered ? gp_exact_max(g) : GP_EXACT_MAX;
    const struct gp_places *p = gp_places(g);
    return g->n <= most && p->n ? p->step : 0;
}

enum gpm_status gp_series_init(struct gp *g, struct gp_slot *s, enum gp_asked asked, size_t more,
                               enum gp_rival rival, struct gp_series *e, bool *done) {
    memset(e, 0, sizeof *e);
    *done = false;
    if (!(g->structured & GP_FILTERS) || g->integrated || gp_approx_asked(g) ||
        g->n + more <= KALMAN_LEAST || (g->dim > 1 && !on_single_columns(s->kern)))
        return GPM_OK;
    sort_times(g);
    if (g->dim > 1 && times_repeat(g)) return GPM_OK;
    e->least = least_noise(g, s);
    double white = 0;
    struct kern *rest = gp_without_white(s->kern, &white); /* the harmonics see it as noise */
    kern_unref(rest);
    e->least += white;
    struct st_scope scope = {.first = g->n ? g->x[entry_at(&g->times, 0)] : 0,
                             .last = g->n ? g->x[entry_at(&g->times, g->n - 1)] : 0,
                             .noise = e->least,
                             .n = power_of_two(g->n + more),
                             .most = most_states(g, g->n + more),
                             .step = asked == GP_OF_DATA ? step_of(g) : 0};
    if (!st_model_init(&e->m, s->kern, &scope)) return GPM_OK;
    e->grid = fits_grid(g, &e->m);
    if (!exact_enough(g, g->n + more, &e->m, e->least) || !long_enough(g, g->n + more, e, rival)) {
        gp_series_release(e);
        return GPM_OK;
    }
    enum gpm_status st = gp_slot_residual(g, s);
    if (!st) st = fill_events(g, s, e);
    *done = !st;
    if (st) gp_series_release(e);
    return st;
}

void gp_series_release(struct gp_series *e) {
    st_model_release(&e->m);
    mem_free(e->buf);
    mem_free(e->entry);
    mem_free(e->place);
    memset(e, 0, sizeof *e);
}

/* ---- likelihood ---- */

void gp_kept_release(struct gp_kept *k) {
    if (k->run) st_run_release(k->run);
    if (k->model) st_model_release(k->model);
    mem_free(k->run);
    mem_free(k->model);
    mem_free(k->state);
    *k = (struct gp_kept){.asked = k->asked};
}

/* 2 d log p = a'dK a - tr(K^-1 dK), a = K^-1 y, every entry of dK within `error`; |a|^2 is at most
 * the quadratic form over the noise. */
double gp_form_error(const struct st_run *r, double noise) {
    return r->m->error > 0 ? 0.5 * r->m->error * ((double)r->observed + r->quad) / noise : 0;
}

static void set_answer(struct gp *g, struct gp_slot *s, const struct st_run *r) {
    s->logml = r->logml + gp_replicate_term(g, s->noise);
    s->error = gp_form_error(r, least_noise(g, s) + st_white(r->m, r->m->t0));
    s->kept.used = true;
    s->quad = r->quad;
    s->have_quad = true;
    s->kept.states = r->m->d + r->m->n_columns;
    snprintf(s->kept.label, sizeof s->kept.label, "state space (%zu state%s%s)", s->kept.states,
             s->kept.states == 1 ? "" : "s", r->m->error > 0 ? ", SE by order 8" : "");
    s->method = s->kept.label;
}

/* The derivatives, from a run that has its value. */
struct slopes_job {
    struct gp *g;
    struct gp_slot *s;
    const struct gp_series *e;
    double *alpha, noise; /* alpha by entry, may be NULL */
};

static void visit_slopes(void *ctx, struct st_run *r, size_t k, const double *state) {
    struct slopes_job *j = ctx;
    size_t i = j->e->entry[k];
    if (i == SIZE_MAX) return;
    if (j->alpha) j->alpha[i] = -r->back.e[0];
    if (j->e->grid) return;
    j->noise += gp_share(j->g, i) * r->back.noise_bar;
    st_white_slope(r->m, r->x->x[k], r->back.noise_bar);
}

static enum gpm_status slopes(struct gp *g, struct gp_slot *s, struct gp_series *e,
                              struct st_run *r, const struct gp_slopes *want) {
    struct slopes_job j = {g, s, e, want->dmean ? gp_work(g, g->n) : NULL, 0};
    if (want->dmean && !j.alpha) return GPM_E_NOMEM;
    st_clear_slopes(&e->m);
    enum gpm_status st = st_run_back(r, true, want->weight, visit_slopes, &j);
    if (st) return st;
    if (e->grid) {
        j.noise = gp_share(g, 0) * r->back.noise_bar;
        st_white_slope(&e->m, e->x.x[0], r->back.noise_bar);
    }
    st_deliver(&e->m, want->dkern);
    if (want->dnoise && s->noise > 0)
        *want->dnoise = 2 * s->noise * j.noise + gp_replicate_slope(g, s->noise, want->weight);
    if (!want->dmean) return GPM_OK;
    mean_grad(s->mean, gp_inputs(g), j.alpha, want->dmean);
    for (size_t i = 0; i < mean_nparam(s->mean); i++) want->dmean[i] *= sqrt(want->weight);
    return GPM_OK;
}

/* What more data can go on from. Takes model, run and state over. */
static void keep(struct gp *g, struct gp_slot *s, struct gp_series *e, const struct st_run *r,
                 double *state) {
    struct gp_kept *k = &s->kept;
    k->model = NEW(struct st_model);
    k->run = NEW(struct st_run);
    *k->model = e->m;
    *k->run = *r;
    k->run->m = k->model;
    k->state = state;
    k->last = e->x.x[e->x.n - 1];
    k->step = e->grid ? e->x.step : 0;
    k->lattice = k->model->folded ? gp_places(g)->step : 0;
    k->n = g->n;
    k->room = power_of_two(g->n);
    k->epoch = g->times.epoch;
    k->valid = true;
    e->m = (struct st_model){0};
}

/* Do the entries that are new follow the end, in time order and (grid) step by step? */
static bool follows(struct gp *g, const struct gp_kept *k) {
    double last = k->last;
    if (!k->valid || k->epoch != g->times.epoch || k->n >= g->n || g->n > k->room) return false;
    for (size_t i = k->n; i < g->n; i++) {
        double gap = g->x[i] - last, rounding = 4 * DBL_EPSILON * fabs(g->x[i]);
        if (!(gap >= 0) || g->at[i].exact) return false;
        if (k->step > 0 && !(fabs(gap - k->step) <= fmax(1e-10 * k->step, rounding))) return false;
        if (k->lattice > 0 && fabs(gap / k->lattice - floor(gap / k->lattice + 0.5)) > 1e-10)
            return false;
        if (k->step > 0 && gp_share(g, i) != gp_share(g, 0)) return false;
        last = g->x[i];
    }
    return true;
}

/* The likelihood of a longer series from that of its beginning: O(d^2) or less for each point. */
static enum gpm_status append(struct gp *g, struct gp_slot *s, bool *done) {
    struct gp_kept *k = &s->kept;
    *done = false;
    if (!follows(g, k)) return GPM_OK;
    size_t n = g->n - k->n;
    double *y = mem_try_doubles(2 * n), *noise = y + n;
    if (!y) return GPM_E_NOMEM;
    struct kern_pts x = {.x = g->x + k->n, .n = n, .ld = g->cap, .dim = 1};
    enum gpm_status st = mean_eval(s->mean, x, y);
    for (size_t i = 0; i < n; i++) {
        y[i] = g->at[k->n + i].ybar - y[i];
        noise[i] = s->noise * s->noise * gp_share(g, k->n + i) + st_white(k->model, x.x[i]);
    }
    struct st_series more = {.n = n, .x = x.x, .y = y, .noise = noise, .step = k->step};
    if (!st) *done = st_run_append(k->run, &more, k->last, k->state);
    if (*done) {
        set_answer(g, s, k->run);
        k->last = g->x[g->n - 1];
        k->n = g->n;
    }
    mem_free(y);
    return st;
}

static enum gpm_status run_series(struct gp *g, struct gp_slot *s, struct gp_series *e,
                                  const struct gp_slopes *want, bool *done) {
    struct st_run r;
    double *end = NULL;
    enum gpm_status st = GPM_OK;
    if (e->grid) st = st_run_guard(&e->m, &e->x, done);
    if (!st && !*done) { /* Chandrasekhar's filter would lose its digits */
        e->grid = false;
        if (!long_enough(g, g->n, e, GP_BESIDE_FACTOR)) return GPM_OK;
    }
    if (!st) st = st_run_init(&r, &e->m, &e->x, e->grid ? ST_GRID : ST_STEPS);
    if (st) return st;
    st = st_run_value(&r, &end, done);
    if (!st && *done && want) {
        st = slopes(g, s, e, &r, want);
        *done = st == GPM_OK;
        if (st == GPM_E_NOT_PD) st = GPM_OK;
    }
    if (!st && *done) {
        set_answer(g, s, &r);
        keep(g, s, e, &r, end);
        return GPM_OK;
    }
    mem_free(end);
    st_run_release(&r);
    return st;
}

enum gpm_status gp_states_logml(struct gp *g, struct gp_slot *s, enum gp_rival rival,
                                const struct gp_slopes *want, bool *done) {
    struct gp_series e;
    enum gpm_status st = GPM_OK;
    *done = false;
    if (!want) st = append(g, s, done);
    if (st || *done) return st;
    gp_kept_release(&s->kept);
    st = gp_series_init(g, s, GP_OF_DATA, 0, rival, &e, done);
    if (st || !*done) return st;
    st = run_series(g, s, &e, want, done);
    gp_series_release(&e);
    return st;
}

enum gpm_status gp_states_conditional(struct gp *g, enum gp_target target, const double *x,
                                      const double *y, size_t n, double *logpdf, bool *done) {
    struct gp_slot *s = gp_current(g), *t;
    struct gp *all;
    double before = 0;
    *done = false;
    if (g->dim != 1 || g->integrated || gp_approx_asked(g)) return GPM_OK;
    enum gpm_status st = gp_copy(g, &all);
    if (st) return st;
    t = gp_current(all);
    gp_slot_forget(t); /* a factor would be extended */
    st = gp_add(all, target, x, y, n);
    bool never = !st && gp_contradicts(all, t->noise);
    if (never)
        t->logml = -INFINITY, *done = true;
    else if (!st)
        st = gp_states_logml(all, t, GP_BESIDE_FACTOR, NULL, done);
    if (!st && *done && g->n) {
        st = gp_slot_logml(g, s);
        before = s->logml;
    }
    *logpdf = *done && !st ? t->logml - before : 0;
    gp_free(all);
    return st;
}
