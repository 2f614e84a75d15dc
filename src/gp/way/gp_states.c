/* SPDX-License-Identifier: Apache-2.0
 * Likelihood and gradient of a GP by filters, and when they are chosen; contract in gp_states.h. */
#include "gp/way/gp_states.h"

#include "gp/process/gp_engine.h"
#include "gp/process/gp_way.h"

#include "base/mem.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* SE's form serves where the noise is at least this part of its amplitude. */
#define SE_NOISE 0.03

/* ---- costs ---- */

/* An event by the Kalman filter with d states and c columns, and by Chandrasekhar's, whose guard
 * takes the Kalman filter with all states over the first events. */
static double kalman_event(double d, double c) {
    return 80 + d * (70 + 2.8 * d) + 1.2 * c * c;
}
static double grid_event(double d, double c) {
    return 130 + 4 * d + c * (20 + 2 * d);
}
enum { SETUP = 3000 };

/* How many likelihoods a question costs. */
static double runs_of(enum gp_asked asked, bool grid) {
    static const double kalman[] = {1, 5, 4, 5};
    return grid && asked == GP_SLOPES ? 6 : kalman[asked];
}

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

/* Chandrasekhar: regular, no more gaps than columns, nothing that depends on the time, processes
 * that start have done so and turn with no harmonics. */
static bool fits_grid(struct gp *g, const struct st_model *m) {
    const struct gp_places *p = gp_places(g);
    if (!p->n || p->repeats || p->n - g->n > GRID_MAX_SPECIAL || m->weighted || m->white_varies)
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

/* The model, and whether Chandrasekhar's filter fits; false: no filter serves. */
bool gp_series_model(struct gp *g, struct gp_slot *s, bool data_alone, size_t more, size_t most,
                     struct gp_series *e, const char **why) {
    memset(e, 0, sizeof *e);
    *why = "kernels of several columns that are no lines but in the first";
    if (g->dim > 1 && !on_single_columns(s->kern)) return false;
    sort_times(g);
    *why = "several columns, and a time that is there twice";
    if (g->dim > 1 && times_repeat(g)) return false;
    e->least = least_noise(g, s);
    double white = 0;
    struct kern *rest = gp_without_white(s->kern, &white); /* the harmonics see it as noise */
    kern_unref(rest);
    e->least += white;
    struct st_scope scope = {.first = g->n ? g->x[entry_at(&g->times, 0)] : 0,
                             .last = g->n ? g->x[entry_at(&g->times, g->n - 1)] : 0,
                             .noise = e->least,
                             .n = power_of_two(g->n + more),
                             .most = most,
                             .step = data_alone ? step_of(g) : 0};
    *why = "the kernel has no form, or one with too many states";
    if (!st_model_init(&e->m, s->kern, &scope)) return false;
    e->grid = fits_grid(g, &e->m);
    *why = "the kernel's form is not exact, and the matrix not too large";
    if (exact_enough(g, g->n + more, &e->m, e->least)) return true;
    gp_series_release(e);
    return false;
}

enum gpm_status gp_series_fill(struct gp *g, struct gp_slot *s, struct gp_series *e) {
    enum gpm_status st = gp_slot_residual(g, s);
    return st ? st : fill_events(g, s, e);
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
    *k = (struct gp_kept){0};
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
    size_t states = r->m->d + r->m->n_columns;
    snprintf(s->kept.label, sizeof s->kept.label, "state space (%zu state%s%s)", states,
             states == 1 ? "" : "s", r->m->error > 0 ? ", SE by order 8" : "");
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

/* ---- what it costs ---- */

static double of_kalman(const struct st_model *m, double n) {
    return n * kalman_event((double)m->d_steps, (double)(m->d - m->d_steps + m->n_columns));
}

/* With the guard's run; at points it is the Kalman filter that answers. */
static double of_grid(struct gp *g, const struct gp_series *e, double n) {
    const struct gp_places *p = gp_places(g);
    double d = (double)e->m.d, c = (double)(e->m.n_columns + p->n - g->n);
    return fmin(n, ST_GUARD_EVENTS) * kalman_event(d, (double)e->m.n_columns) +
           n * grid_event(d, c);
}

/* Where filters serve or nothing does (gp_set_filtered) they serve as long as a likelihood takes a
 * fraction of a second, or has few states. It alone decides: what has a likelihood has predictions
 * at any number of points. */
static bool bearable(struct gp *g, const struct gp_series *e) {
    double n = (double)g->n, most = fmax(4e7, n * kalman_event(32, 0)), price = of_kalman(&e->m, n);
    return price < most || (e->grid && of_grid(g, e, n) < most && price < 4 * most);
}

void gp_series_drop(struct gp_question *q) {
    if (!q->series) return;
    gp_series_release(q->series);
    mem_free(q->series);
    q->series = NULL;
}

/* Data that grow cost what is new, from the second likelihood on. */
static double cost(struct gp_question *q) {
    struct gp *g = q->g;
    const struct gp_slot *s = q->s;
    bool alone = g->filtered && g->n > gp_exact_max(g);
    bool grown = q->asked == GP_VALUE && s->counted && s->counted < g->n;
    double n = (double)(g->n + q->xs.n), runs = runs_of(q->asked, false),
           events = grown ? (double)(g->n - s->counted) : n;
    q->why = "a draw of few points is a linear function of normals";
    if (q->asked == GP_JOINT && q->xs.n <= GP_JOINT_MAX) return INFINITY;
    if (grown && follows(g, &s->kept)) return events * of_kalman(s->kept.model, 1);
    double least = SETUP + runs * events * fmin(kalman_event(1, 0), grid_event(1, 0));
    if (least >= q->below) return least;
    gp_series_drop(q);
    struct gp_series e;
    double event = (q->below - SETUP) / (runs * events); /* so many states cost more */
    double most = fmin(gp_places(g)->n ? event / 4 : sqrt(event), ST_STATES_MAX);
    if (!gp_series_model(g, q->s, q->asked <= GP_SLOPES, q->asked == GP_JOINT ? q->xs.n : 0,
                         (size_t)most, &e, &q->why))
        return INFINITY;
    bool bears = !alone || bearable(g, &e);
    double by_steps = runs * of_kalman(&e.m, events),
           by_grid = runs_of(q->asked, true) * of_grid(g, &e, events);
    e.grid = e.grid && q->asked <= GP_SLOPES && by_grid < by_steps;
    e.rival = q->below;
    double price = SETUP + (e.grid ? by_grid : by_steps);
    q->why = "it would take too long";
    if (!bears || !(price < q->below)) {
        gp_series_release(&e);
        return bears ? price : INFINITY;
    }
    q->series = NEW(struct gp_series);
    *q->series = e;
    return price;
}

/* ---- the way ---- */

static enum gpm_status run_series(struct gp *g, struct gp_slot *s, struct gp_series *e,
                                  const struct gp_slopes *want, bool *done) {
    struct st_run r;
    double *end = NULL;
    enum gpm_status st = GPM_OK;
    *done = true;
    if (e->grid) st = st_run_guard(&e->m, &e->x, done);
    if (!st && !*done) { /* Chandrasekhar's filter would lose its digits */
        e->grid = false;
        if (runs_of(want ? GP_SLOPES : GP_VALUE, false) * of_kalman(&e->m, (double)e->x.n) >=
            e->rival)
            return GPM_OK;
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

static enum gpm_status of_model(struct gp_question *q, bool *done) {
    enum gpm_status st = q->want ? GPM_OK : append(q->g, q->s, done);
    if (st || *done) return st;
    gp_kept_release(&q->s->kept);
    q->below = q->series ? q->below : INFINITY;
    if (!q->series) (void)cost(q); /* what was kept was to be gone on with */
    if (!q->series) return GPM_OK;
    st = gp_series_fill(q->g, q->s, q->series);
    return st ? st : run_series(q->g, q->s, q->series, q->want, done);
}

static enum gpm_status answer(struct gp_question *q, bool *done) {
    if (q->asked == GP_POINTS) return gp_states_points(q, done);
    return q->asked == GP_JOINT ? gp_states_draw(q, done) : of_model(q, done);
}

const struct gp_way gp_way_filters =
    GP_WAY("filters", GP_EXACT,
           GP_DOES_VALUE | GP_DOES_SLOPES | GP_DOES_POINTS | GP_DOES_COVARIANCE | GP_DOES_DRAWS |
               GP_DOES_PARTS | GP_DOES_EXACT | GP_DOES_COLUMNS | GP_DOES_WEIGHTS,
           GP_FILTERS);
