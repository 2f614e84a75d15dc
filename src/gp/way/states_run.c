/* SPDX-License-Identifier: Apache-2.0
 * Filters over a series; contract in states_run.h. */
#include "gp/way/states_run.h"

#include "base/mem.h"
#include "numeric/la/blas.h"
#include "base/vec.h"
#include "numeric/special/special.h"

#include <float.h>
#include <math.h>
#include <string.h>

#define GUARD_TOLERANCE 1e-10
#define SUMS_TOLERANCE  1e-6 /* nats */
#define PIECE_MIN       32
#define BLOCK           64 /* events whose products are summed together */
#define BLOCK_LEAST     9  /* columns from which on that is faster */
#define READY_MOST      ((size_t)1 << 20)

/* ---- columns ---- */

/* y (less beta times the regressors) and the regressors at event k, before mixing; u: 1 +
 * n_columns. */
static void regressors(struct st_run *r, size_t k, double *u) {
    double y = r->x->y[k];
    u[0] = isnan(y) ? 0 : y;
    for (size_t c = 0; c < r->m->n_columns; c++) {
        u[1 + c] = st_column(r->m, c, r->x->x[k], st_further(r->x, k));
        u[0] -= r->beta[c] * u[1 + c];
    }
}

static void raw_columns(struct st_run *r, size_t k, double *u) {
    size_t at = 1 + r->m->n_columns;
    const double *h = r->work + r->d;
    regressors(r, k, u);
    for (size_t j = 0; j < r->n_standing; j++) u[at + j] = r->root[j] * h[j];
    for (size_t i = 0; i < r->n_special; i++) u[at + i] = r->special[i] == k;
}

void st_columns(struct st_run *r, size_t k, double *u) {
    double raw[ST_MIX_MAX];
    if (r->ready.u && r->mixed) {
        memcpy(u, r->ready.u + (k - r->ready.from) * r->all, r->cols * sizeof *u);
        return;
    }
    raw_columns(r, k, r->mixed ? raw : u);
    for (size_t c = 0; c < r->cols && r->mixed; c++)
        u[c] = st_dot(r->all, r->mix + c * r->all, raw);
}

/* Computes the mixed columns of the events [from, to) unless they exist. */
static void make_ready(struct st_run *r, size_t from, size_t to) {
    struct st_ready *d = &r->ready;
    size_t all = r->all;
    if (from >= d->from && to <= d->to) return;
    for (size_t k = from; k < to; k++) {
        if (r->n_standing) st_observe(r->m, r->x->x[k], r->m->d, r->work);
        raw_columns(r, k, d->raw + (k - from) * all);
    }
    la_gemm(true, false, all, to - from, all, 1, r->mix, all, d->raw, all, 0, d->u, all);
    d->from = from, d->to = to;
}

void st_combine(const struct st_term *t, bool trans, size_t len, const double *restrict in,
                double *restrict out) {
    size_t n = (size_t)t->ns;
    memset(out, 0, n * len * sizeof *out);
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++) {
            double f = trans ? t->a[j * n + i] : t->a[i * n + j];
            if (f != 0) st_axpy(len, f, in + j * len, out + i * len);
        }
}

/* Cholesky factor of the n x n matrix a (row-major, ld) in place, lower triangle. */
static bool small_factor(size_t n, double *a, size_t ld) {
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j <= i; j++) {
            double z = a[i * ld + j] - st_dot(j, a + i * ld, a + j * ld);
            if (i == j && !(z > 0)) return false;
            a[i * ld + j] = i == j ? sqrt(z) : z / a[j * ld + j];
        }
    return true;
}

/* x: n. x = L^-1 x, and if `back` then x = L^-T x; l: n x n, row-major with row length ld. */
static void small_solve(size_t n, const double *l, size_t ld, double *x, bool back) {
    for (size_t i = 0; i < n; i++) x[i] = (x[i] - st_dot(i, l + i * ld, x)) / l[i * ld + i];
    for (size_t i = n; i-- > 0 && back;) {
        for (size_t j = i + 1; j < n; j++) x[i] -= l[j * ld + i] * x[j];
        x[i] /= l[i * ld + i];
    }
}

/* Least squares removes the large parts of y, which would cancel in G. A small multiple of the
 * diagonal allows collinear columns. */
static void fit_columns(struct st_run *r) {
    enum { N = ST_COLUMNS_MAX };
    size_t n = r->m->n_columns, ld = N;
    double a[N * N] = {0}, b[N] = {0}, u[1 + N];
    memset(r->beta, 0, sizeof r->beta);
    for (size_t k = 0; k < r->x->n && n; k++) {
        if (isnan(r->x->y[k])) continue;
        regressors(r, k, u);
        for (size_t i = 0; i < n; i++) {
            b[i] += u[1 + i] * u[0];
            for (size_t j = 0; j <= i; j++) a[i * ld + j] += u[1 + i] * u[1 + j];
        }
    }
    for (size_t i = 0; i < n; i++) a[i * ld + i] = a[i * ld + i] * (1 + 1e-9) + 1e-300;
    if (n && small_factor(n, a, ld)) {
        small_solve(n, a, ld, b, true);
        memcpy(r->beta, b, n * sizeof *b);
    }
}

/* ---- forwards ---- */

static void standing_roots(struct st_run *r) {
    for (size_t i = 0; i < r->m->n_terms && r->n_standing; i++) {
        const struct st_term *t = &r->m->term[i];
        if (t->kind != ST_TERM_STATES || !st_static(t)) continue;
        for (int j = 0; j < t->w; j++) r->root[(size_t)(t->off + j) - r->d] = sqrt(t->size[j]);
    }
}

enum gpm_status st_run_init(struct st_run *r, struct st_model *m, const struct st_series *x,
                            enum st_way way) {
    bool grid = way == ST_GRID;
    *r = (struct st_run){.m = m, .x = x, .filter = grid ? &st_chandrasekhar : &st_kalman};
    for (size_t k = 0; k < x->n && grid; k++)
        if (isnan(x->y[k]) && r->n_special < ST_SPECIAL_MAX) r->special[r->n_special++] = k;
    r->d = way == ST_STEPS ? m->d_steps : m->d;
    r->n_standing = m->d - r->d;
    r->all = r->cols = 1 + m->n_columns + r->n_standing + r->n_special;
    r->work = mem_try_doubles(r->filter->size(r) * 3 + (16 + ST_SYSTEM_MAX) * m->d + 64);
    size_t square = r->all * r->all;
    r->square = mem_try_doubles(3 * square + r->n_standing + BLOCK * r->all);
    if (!r->work || !r->square) {
        st_run_release(r);
        return GPM_E_NOMEM;
    }
    r->g = r->square;
    r->mix = r->g + square;
    r->mixing = r->mix + square;
    r->root = r->mixing + square;
    r->block = r->root + r->n_standing;
    standing_roots(r);
    fit_columns(r);
    return GPM_OK;
}

void st_run_release(struct st_run *r) {
    double **owned[] = {&r->work, &r->square, &r->ready.raw, &r->back.now, &r->back.next};
    for (size_t i = 0; i < COUNT_OF(owned); i++) {
        mem_free(*owned[i]);
        *owned[i] = NULL;
    }
}

static void sum_block(struct st_run *r) {
    if (r->n_block) la_syrk(false, r->all, r->n_block, 1, r->block, r->all, 1, r->g, r->all);
    r->n_block = 0;
}

/* Adds v v'/s of an event to G. */
static void add_products(struct st_run *r) {
    size_t n = r->all;
    if (n < BLOCK_LEAST) {
        for (size_t i = 0; i < n; i++) st_axpy(n - i, r->v[i] / r->s, r->v + i, r->g + i * (n + 1));
        return;
    }
    double f = 1 / sqrt(r->s), *row = r->block + r->n_block++ * n;
    for (size_t i = 0; i < n; i++) row[i] = f * r->v[i];
    if (r->n_block == BLOCK) sum_block(r);
}

/* Filters events [from, to) from `state` on, which becomes the state at `to`. */
static bool feed(struct st_run *r, size_t from, size_t to, double *state) {
    double product = 1; /* of s: one logarithm for many factors */
    for (size_t k = from; k < to; k++) {
        if (!r->filter->step(r, k, state)) return false;
        if (r->s == 0) continue;
        r->observed++;
        if (!r->mixed) add_products(r);
        product *= r->s;
        if (product > 1e-100 && product < 1e100) continue;
        r->log_s += log(product);
        product = 1;
    }
    r->log_s += log(product);
    sum_block(r);
    return isfinite(r->log_s);
}

/* Computes the results from G. */
static bool solve(struct st_run *r) {
    size_t n = r->all - 1, nz = n - r->n_special, ld = r->all;
    double *w = mem_zalloc(ld * ld * sizeof *w), delta[ST_MIX_MAX], quad = r->g[0], det = 0;
    for (size_t i = 0; i < n; i++) {
        double prior = i < nz;
        for (size_t j = 0; j <= i; j++)
            w[i * ld + j] = r->g[(1 + j) * ld + 1 + i] + (i == j) * prior;
        delta[i] = r->g[1 + i] - prior * r->beta[i];
    }
    bool ok = small_factor(n, w, ld);
    if (ok) small_solve(n, w, ld, delta, true);
    for (size_t i = 0; i < n && ok;
         i++) { /* (y - Zx)'(S + noise)^-1 (y - Zx) + x'x, x = beta + delta */
        double x = r->beta[i] + delta[i], row = 0;
        for (size_t j = 0; j < n; j++)
            row += delta[j] * r->g[(1 + (i > j ? j : i)) * ld + 1 + (i > j ? i : j)];
        quad += delta[i] * (row - 2 * r->g[1 + i]) + (i < nz ? x * x : 0);
        det += 2 * log(w[i * ld + i]);
        r->x_post[i] = x;
        double *mixing = r->mixing + i * ld; /* row i of C = L^-T */
        memset(mixing, 0, n * sizeof *mixing);
        mixing[i] = 1;
    }
    for (size_t i = 0; i < n && ok; i++) small_solve(n, w, ld, r->mixing + i * ld, false);
    size_t observed = r->observed - r->n_special;
    r->quad = quad;
    r->logdet = r->log_s + det;
    r->logml = -0.5 * (quad + r->logdet + (double)observed * LOG_2PI);
    mem_free(w);
    return ok && isfinite(r->logml);
}

/* Rows of the mix: y - Zx (times the root of the weight), then Z C. */
static void set_mix(struct st_run *r, double weight) {
    size_t n = r->all - 1, ld = r->all;
    memset(r->mix, 0, ld * ld * sizeof *r->mix);
    r->mix[0] = sqrt(weight);
    for (size_t i = 0; i < n; i++) r->mix[1 + i] = sqrt(weight) * (r->beta[i] - r->x_post[i]);
    for (size_t c = 0; c < n; c++) /* C_jc = (L^-1)_cj; mixing holds C row by row */
        for (size_t j = 0; j < n; j++) r->mix[(1 + c) * ld + 1 + j] = r->mixing[j * ld + c];
    r->mixed = true;
}

/* Recomputes the quadratic form from y - Zx: with little noise and large harmonics the sums in G
 * cancel. */
static enum gpm_status refine(struct st_run *r, bool *ok) {
    double sum = 0, *state;
    size_t cols = r->cols;
    set_mix(r, 1);
    r->cols = 1;
    state = mem_try_doubles(r->filter->size(r));
    if (state) r->filter->start(r, state);
    for (size_t k = 0; k < r->x->n && state && *ok; k++) {
        *ok = r->filter->step(r, k, state);
        if (r->s > 0) sum += r->v[0] * r->v[0] / r->s;
    }
    for (size_t i = 0; i + 1 < r->all; i++) sum += r->x_post[i] * r->x_post[i];
    r->logml -= 0.5 * (sum - r->quad);
    r->quad = sum;
    r->cols = cols;
    r->mixed = false;
    mem_free(state);
    return state ? GPM_OK : GPM_E_NOMEM;
}

static size_t piece_of(size_t n) {
    size_t p = (size_t)sqrt((double)n);
    return p < PIECE_MIN ? PIECE_MIN : p;
}

enum gpm_status st_run_value(struct st_run *r, double **end, bool *ok) {
    double *state = mem_try_doubles(r->filter->size(r));
    enum gpm_status st = GPM_OK;
    if (!state) return GPM_E_NOMEM;
    memset(r->g, 0, r->all * r->all * sizeof *r->g);
    r->log_s = 0, r->n_block = r->observed = 0, r->mixed = false;
    r->filter->start(r, state);
    *ok = feed(r, 0, r->x->n, state) && solve(r);
    if (*ok && r->n_standing) st = refine(r, ok);
    if (end)
        *end = state;
    else
        mem_free(state);
    return st;
}

bool st_run_append(struct st_run *r, const struct st_series *more, double last, double *state) {
    r->x = more;
    for (size_t i = 0; i < r->n_special; i++) r->special[i] = SIZE_MAX; /* past events */
    double gap = more->step > 0 ? more->step : more->x[0] - last;
    r->filter->resume(r, last, gap, state);
    if (!feed(r, 0, more->n, state) || !solve(r)) return false;
    /* Harmonics that cancel cannot be refined without the past events. */
    return r->n_standing == 0 || DBL_EPSILON * r->g[0] < SUMS_TOLERANCE;
}

enum gpm_status st_run_guard(struct st_model *m, const struct st_series *x, bool *ok) {
    struct st_run a = {0}, b = {0};
    const double measured[ST_GUARD_EVENTS] = {0}; /* Variances do not depend on the values; after a
                                                  missing value those of the two filters differ */
    struct st_series head = *x;
    if (head.n > ST_GUARD_EVENTS) head.n = ST_GUARD_EVENTS;
    head.y = measured;
    enum gpm_status st = st_run_init(&a, m, &head, ST_GRID);
    if (!st) st = st_run_init(&b, m, &head, ST_WHOLE);
    double *p = st ? NULL : mem_try_doubles(a.filter->size(&a)), *q = NULL;
    if (p) q = mem_try_doubles(b.filter->size(&b));
    if (!st && !q) st = GPM_E_NOMEM;
    *ok = !st;
    if (!st) {
        a.filter->start(&a, p);
        b.filter->start(&b, q);
    }
    for (size_t k = 0; k < head.n && *ok; k++) {
        *ok = a.filter->step(&a, k, p) && b.filter->step(&b, k, q);
        if (*ok) *ok = fabs(a.s - b.s) <= GUARD_TOLERANCE * b.s;
    }
    mem_free(p);
    mem_free(q);
    st_run_release(&a);
    st_run_release(&b);
    return st;
}

/* ---- backwards ---- */

/* bar: n_standing derivatives in the columns of the standing states; raw: these columns, root times
 * h. */
static void standing_slopes(struct st_run *r, size_t k, const double *raw, const double *bar) {
    double hbar[ST_STATES_MAX] = {0};
    for (size_t i = 0; i < r->m->n_terms; i++) {
        struct st_term *t = &r->m->term[i];
        if (t->kind != ST_TERM_STATES || !st_static(t)) continue;
        for (int j = 0; j < t->w; j++) {
            size_t at = (size_t)(t->off + j) - r->d;
            hbar[t->off + j] = bar[at] * r->root[at];
            if (t->size[j] > 0) t->size_bar[j] += bar[at] * raw[at] / (2 * t->size[j]);
        }
    }
    st_observe_slope(r->m, r->x->x[k], hbar);
}

/* Passes derivatives in the mixed columns at the events [from, to) on to the columns'
 * parameters. */
static void column_slopes(struct st_run *r, size_t from, size_t to) {
    const struct st_ready *d = &r->ready;
    size_t all = r->all, nz = r->m->n_columns, at = from - d->from;
    double *rows = d->e + d->room * all;
    if (nz + r->n_standing == 0) return;
    la_gemm(false, false, all, to - from, all, 1, r->mix, all, d->e + at * all, all, 0, rows, all);
    for (size_t k = from; k < to; k++) {
        const double *bar = rows + (k - from) * all, *z = st_further(r->x, k);
        for (size_t j = 0; j < nz; j++)
            st_column_slope(r->m, j, r->x->x[k], z, bar[1 + j] - r->beta[j] * bar[0]);
        if (r->n_standing && !isnan(r->x->y[k]))
            standing_slopes(r, k, d->raw + (k - d->from) * all + 1 + nz, bar + 1 + nz);
    }
}

/* Allocates room for the whole series if it is small, otherwise for a piece. */
static bool ready_room(struct st_run *r, size_t piece) {
    struct st_ready *d = &r->ready;
    d->room = r->x->n * r->all <= READY_MOST ? r->x->n : piece;
    size_t n = d->room * r->all;
    d->from = d->to = 0;
    mem_free(d->raw);
    d->raw = mem_try_doubles(3 * n + piece * r->all);
    d->u = d->raw + n;
    d->e = d->u + n;
    return d->raw;
}

enum gpm_status st_run_back(struct st_run *r, bool slopes, double weight, st_visit visit,
                            void *ctx) {
    size_t n = r->x->n, size = r->filter->size(r), piece = piece_of(n),
           pieces = (n + piece - 1) / piece;
    double *first = mem_try_doubles((pieces + 1) * size),
           *part = mem_try_doubles((piece + 1) * size);
    r->back.now = mem_try_doubles(size);
    r->back.next = mem_try_doubles(size);
    bool ok = first && part && r->back.now && r->back.next && ready_room(r, piece);
    double log_s = r->log_s;
    size_t observed = r->observed;
    enum gpm_status st = ok ? GPM_OK : GPM_E_NOMEM;
    if (ok) {
        set_mix(r, weight);
        r->back.slopes = r->m->slopes = slopes;
        r->m->last = NAN;
        memset(r->back.now, 0, size * sizeof *first);
        r->filter->start(r, first);
        if (r->ready.room == n) make_ready(r, 0, n);
        for (size_t p = 0; p + 1 < pieces && ok; p++) {
            make_ready(r, p * piece, (p + 1) * piece);
            memcpy(first + (p + 1) * size, first + p * size, size * sizeof *first);
            ok = feed(r, p * piece, (p + 1) * piece, first + (p + 1) * size);
        }
    }
    for (size_t p = pieces; p-- > 0 && ok;) {
        size_t from = p * piece, to = from + piece < n ? from + piece : n;
        make_ready(r, from, to);
        memcpy(part, first + p * size, size * sizeof *part);
        for (size_t k = from; k + 1 < to && ok; k++) {
            double *here = part + (k - from) * size;
            memcpy(here + size, here, size * sizeof *here);
            ok = r->filter->step(r, k, here + size);
        }
        for (size_t k = to; k-- > from && ok;) {
            const double *here = part + (k - from) * size;
            r->filter->back(r, k, here);
            memcpy(r->ready.e + (k - r->ready.from) * r->all, r->back.e, r->all * sizeof *here);
            if (visit) visit(ctx, r, k, here);
        }
        if (ok && slopes) column_slopes(r, from, to);
    }
    if (ok && slopes) r->filter->finish(r);
    r->mixed = r->m->slopes = false;
    mem_free(r->ready.raw);
    r->ready = (struct st_ready){0};
    r->m->last = NAN;
    r->log_s = log_s, r->observed = observed;
    mem_free(first);
    mem_free(part);
    return !st && !ok ? GPM_E_NOT_PD : st;
}
