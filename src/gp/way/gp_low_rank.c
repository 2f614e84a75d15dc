/* SPDX-License-Identifier: Apache-2.0
 * See gp_low_rank.h. */
#include "gp/way/gp_low_rank.h"
#include "gp/process/gp_engine.h"

#include "base/mem.h"
#include "io/gpu/gpu.h"
#include "numeric/la/blas.h"
#include "numeric/la/vec_ops.h"

#include <math.h>
#include <string.h>

enum { CHUNK = 512, ITERATIONS = 60 };
#define SOLVED 1e-11 /* residual relative to the right-hand side */

/* ---- pivots ---- */

/* The residual diagonal `left`: returns its sum over the noise; *top: where it is largest. */
static double look(const struct approx_data *d, const double *left, size_t *top) {
    double bound = 0;
    *top = 0;
    for (size_t i = 0; i < d->x.n; i++) {
        if (left[i] > left[*top]) *top = i;
        if (left[i] > 0) bound += left[i] / d->noise[i];
    }
    return bound;
}

/* Finds L, the indexes of its pivots, and the residual diagonal. */
static enum gpm_status find_pivots(struct low_rank *w, size_t *pivot, double *left, double *bound) {
    size_t n = w->n, top;
    double *c = mem_try_doubles(n + 1);
    enum gpm_status st = c ? kern_diag(w->d->kern, w->d->x, left) : GPM_E_NOMEM;
    if (!st) *bound = look(w->d, left, &top);
    while (!st && *bound > LOW_RANK_PROOF && w->rank < w->most && left[top] > 0) {
        st = w->ops->column(w, top, c);
        if (st) break;
        double scale = 1 / sqrt(left[top]);
        for (size_t i = 0; i < n; i++) {
            c[i] *= scale;
            left[i] -= c[i] * c[i];
        }
        left[top] = 0; /* exactly, despite rounding */
        pivot[w->rank] = top;
        st = w->ops->keep(w, c);
        w->rank++;
        *bound = look(w->d, left, &top);
    }
    mem_free(c);
    return st;
}

/* ---- conjugate gradients ---- */

/* P = L L' + D, with D the noise plus the residual diagonal; q->a is the factor of I + L'D^-1 L. */
struct solver {
    struct low_rank *w;
    const struct inducing *q;
    const double *inverse; /* of D */
    double *c, *v;         /* scratch: rank, n */
};

/* z = P^-1 b = D^-1 (b - L A^-1 L'D^-1 b). */
static enum gpm_status precondition(struct solver *s, const double *b, double *z) {
    size_t n = s->w->n;
    for (size_t i = 0; i < n; i++) s->v[i] = s->inverse[i] * b[i];
    enum gpm_status st = s->w->ops->lt_times(s->w, s->v, s->c);
    if (st) return st;
    chol_solve_l(&s->q->a, s->c, 1, s->w->rank);
    chol_solve_lt(&s->q->a, s->c, 1, s->w->rank);
    st = s->w->ops->l_times(s->w, s->c, s->v);
    for (size_t i = 0; i < n; i++) z[i] = s->inverse[i] * (b[i] - s->v[i]);
    return st;
}

static enum gpm_status whole_times(struct solver *s, const double *x, double *out) {
    enum gpm_status st = s->w->ops->k_times(s->w, x, out);
    for (size_t i = 0; i < s->w->n; i++) out[i] += s->w->d->noise[i] * x[i];
    return st;
}

/* *quad = b'(K + noise)^-1 b. work: 4 n. */
static enum gpm_status solve(struct solver *s, const double *b, double *work, double *quad) {
    size_t n = s->w->n;
    double *x = work, *r = x + n, *p = r + n, *k = p + n;
    const struct vec_ops *o = vec_ops();
    double size = sqrt(o->dot(n, b, b)), rz = 0, before;
    memset(x, 0, n * sizeof *x);
    memcpy(r, b, n * sizeof *r);
    enum gpm_status st = precondition(s, r, p);
    if (!st) rz = o->dot(n, r, p);
    for (int i = 0; !st && sqrt(o->dot(n, r, r)) > SOLVED * size; i++) {
        if (i == ITERATIONS)
            return gpu_fail(
                "low rank is refused: conjugate gradients do not end in %d steps; with %zu "
                "inputs the last pivots are below what rounding leaves of the kernel",
                ITERATIONS, n);
        st = whole_times(s, p, k);
        if (st) break;
        double step = rz / o->dot(n, p, k);
        o->axpy(n, step, p, x);
        o->axpy(n, -step, k, r);
        st = precondition(s, r, k);
        before = rz;
        rz = st ? 0 : o->dot(n, r, k);
        for (size_t j = 0; j < n; j++) p[j] = k[j] + rz / before * p[j];
    }
    *quad = o->dot(n, b, x);
    return st;
}

/* ---- the whole ---- */

static enum gpm_status refuse(const struct low_rank *w, double bound) {
    return gpu_fail("low rank is refused: after %zu of %zu pivots the rest may change the log "
                    "likelihood by %.2g, more than %g; the kernel is not smooth enough for its "
                    "noise",
                    w->rank, w->n, bound, LOW_RANK_PROOF);
}

static enum gpm_status build(struct low_rank *w, struct inducing *q, size_t *pivot, double *vectors,
                             double *logml, double *bound) {
    size_t n = w->n;
    const struct approx_data *d = w->d;
    double *left = vectors, *work = left + n, quad = 0, own = 0;
    enum gpm_status st = find_pivots(w, pivot, left, bound);
    if (st) return st;
    if (!(*bound <= LOW_RANK_PROOF)) return refuse(w, *bound);
    st = inducing_build(q, d, pivot, w->rank, logml, &own);
    if (st) return st;
    for (size_t i = 0; i < n; i++) left[i] = 1 / (d->noise[i] + fmax(left[i], 0));
    struct solver s = {w, q, left, work + 5 * n, work + 4 * n};
    st = solve(&s, d->r, work, &quad);
    if (!st) *logml += 0.5 * (own - quad);
    return st;
}

enum gpm_status low_rank_build(struct gp *g, const struct low_rank_ops *ops, struct inducing *q,
                               const struct approx_data *d, size_t most, double *logml,
                               double *bound) {
    struct low_rank w = {ops, g, d, d->x.n, most < d->x.n ? most : d->x.n, 0, NULL, 0};
    size_t *pivot = NEW_ARRAY(size_t, w.most + 1);
    double *vectors = mem_try_doubles(6 * w.n + w.most + 1);
    enum gpm_status st = vectors ? ops->begin(&w) : GPM_E_NOMEM;
    if (!st) st = build(&w, q, pivot, vectors, logml, bound);
    ops->end(&w);
    mem_free(vectors);
    mem_free(pivot);
    return st;
}

/* ---- on this processor ---- */

static enum gpm_status cpu_begin(struct low_rank *w) {
    w->l = mem_try_doubles(w->n * w->most + 1);
    return w->l ? GPM_OK : GPM_E_NOMEM;
}
static void cpu_end(struct low_rank *w) {
    mem_free(w->l);
}

/* Inputs [from, from + n). */
static struct kern_pts some(const struct low_rank *w, size_t from, size_t n) {
    struct kern_pts x = w->d->x;
    x.x += from;
    x.n = n;
    x.step = 0;
    return x;
}

static enum gpm_status cpu_column(struct low_rank *w, size_t p, double *out) {
    double row[LOW_RANK_MOST];
    enum gpm_status st = kern_cross(w->d->kern, some(w, 0, w->n), some(w, p, 1), out, w->n);
    for (size_t k = 0; k < w->rank; k++) row[k] = w->l[p + k * w->n];
    if (!st && w->rank) la_gemv(w->n, w->rank, -1, w->l, w->n, row, 1, out);
    return st;
}
static enum gpm_status cpu_keep(struct low_rank *w, const double *column) {
    memcpy(w->l + w->rank * w->n, column, w->n * sizeof *column);
    return GPM_OK;
}
static enum gpm_status cpu_l_times(struct low_rank *w, const double *c, double *out) {
    la_gemv(w->n, w->rank, 1, w->l, w->n, c, 0, out);
    return GPM_OK;
}
static enum gpm_status cpu_lt_times(struct low_rank *w, const double *v, double *out) {
    for (size_t k = 0; k < w->rank; k++) out[k] = vec_ops()->dot(w->n, w->l + k * w->n, v);
    return GPM_OK;
}
static enum gpm_status cpu_k_times(struct low_rank *w, const double *v, double *out) {
    double *block = mem_try_doubles(w->n * CHUNK + 1);
    enum gpm_status st = block ? GPM_OK : GPM_E_NOMEM;
    memset(out, 0, w->n * sizeof *out);
    for (size_t from = 0; from < w->n && !st; from += CHUNK) {
        size_t m = w->n - from < CHUNK ? w->n - from : CHUNK;
        st = kern_cross(w->d->kern, some(w, 0, w->n), some(w, from, m), block, w->n);
        if (!st) la_gemv(w->n, m, 1, block, w->n, v + from, 1, out);
    }
    mem_free(block);
    return st;
}

const struct low_rank_ops low_rank_cpu = {
    .method = "low rank and conjugate gradients",
    .begin = cpu_begin,
    .column = cpu_column,
    .keep = cpu_keep,
    .l_times = cpu_l_times,
    .lt_times = cpu_lt_times,
    .k_times = cpu_k_times,
    .end = cpu_end,
};
