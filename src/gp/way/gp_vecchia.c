/* SPDX-License-Identifier: Apache-2.0
 * Block Vecchia approximation (Vecchia 1988; blocks after Stein, Chi and Welty 2004); see
 * gp_approx.h. */
#include "gp/way/gp_approx.h"

#include "base/mem.h"
#include "numeric/la/blas.h"
#include "numeric/la/mat.h"
#include "numeric/la/parts.h"
#include "numeric/special/special.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

void vecchia_release(struct vecchia *v) {
    mem_free(v->order);
    mem_free(v->code);
    memset(v, 0, sizeof *v);
}

/* ---- order ---- */

/* Morton code: the bits of the scaled coordinates interleaved. One column keeps its full order. */
static uint64_t code_of(const struct vecchia *v, const double *x, size_t i, size_t ld) {
    uint64_t q[8], out = 0;
    for (int c = 0; c < v->used; c++) {
        double t = (x[i + (size_t)c * ld] - v->lo[c]) * v->scale[c];
        t = t < 0 ? 0 : t > 1 ? 1 : t;
        q[c] = (uint64_t)(t * (double)(((uint64_t)1 << v->bits) - 1));
    }
    for (int b = v->bits - 1; b >= 0; b--)
        for (int c = 0; c < v->used; c++) out = out << 1 | (q[c] >> b & 1);
    return out;
}

struct keyed {
    uint64_t code;
    size_t i;
};
static int by_code(const void *a, const void *b) {
    const struct keyed *p = a, *q = b;
    if (p->code != q->code) return p->code < q->code ? -1 : 1;
    return (p->i > q->i) - (p->i < q->i);
}

void vecchia_order(struct vecchia *v, struct kern_pts x, size_t size) {
    struct keyed *key = NEW_ARRAY(struct keyed, x.n + 1);
    v->n = x.n;
    v->size = size;
    v->used = x.dim < 8 ? x.dim : 8;
    v->bits = x.dim == 1 ? 52 : 60 / v->used;
    for (int c = 0; c < v->used; c++) {
        double hi;
        approx_range(x, c, &v->lo[c], &hi);
        v->scale[c] = hi > v->lo[c] ? 1 / (hi - v->lo[c]) : 0;
    }
    for (size_t i = 0; i < x.n; i++) key[i] = (struct keyed){code_of(v, x.x, i, x.ld), i};
    qsort(key, x.n, sizeof *key, by_code);
    v->order = mem_realloc(v->order, (x.n + 1) * sizeof *v->order);
    v->code = mem_realloc(v->code, (x.n + 1) * sizeof *v->code);
    for (size_t i = 0; i < x.n; i++) v->order[i] = key[i].i, v->code[i] = key[i].code;
    mem_free(key);
}

/* ---- local problems ---- */

/* Gathered data points. */
struct local {
    const struct vecchia *v;
    const struct approx_data *d;
    double *x; /* column-major, ld = cap */
    double *w; /* L^-1 r */
    size_t *idx, cap, n;
    struct chol f;
};

static void local_init(struct local *l, const struct vecchia *v, const struct approx_data *d,
                       size_t cap) {
    memset(l, 0, sizeof *l);
    l->v = v;
    l->d = d;
    l->cap = cap;
    l->x = NEW_ARRAY(double, cap *(size_t)d->x.dim + 1);
    l->w = NEW_ARRAY(double, cap + 1);
    l->idx = NEW_ARRAY(size_t, cap + 1);
}

static void local_release(struct local *l) {
    mem_free(l->x);
    mem_free(l->w);
    mem_free(l->idx);
    chol_release(&l->f);
}

static void copy_points(struct local *l) {
    for (int c = 0; c < l->d->x.dim; c++)
        for (size_t i = 0; i < l->n; i++)
            l->x[i + (size_t)c * l->cap] = l->d->x.x[l->idx[i] + (size_t)c * l->d->x.ld];
}

/* Points [from, from + n) of the order. */
static void gather(struct local *l, size_t from, size_t n) {
    l->n = n;
    for (size_t i = 0; i < n; i++) l->idx[i] = l->v->order[from + i];
    copy_points(l);
}

static struct kern_pts local_points(const struct local *l) {
    struct kern_pts x = {.x = l->x, .n = l->n, .ld = l->cap, .dim = l->d->x.dim, .distinct = true};
    return x;
}

static enum gpm_status fill_local(void *ctx, double *a, size_t n, size_t ld) {
    struct local *l = ctx;
    enum gpm_status st = kern_fill(l->d->kern, local_points(l), a, ld);
    for (size_t i = 0; i < n && !st; i++) a[i * (ld + 1)] += l->d->noise[l->idx[i]];
    return st;
}

/* The factor of the gathered points and w = L^-1 r. */
static enum gpm_status local_solve(struct local *l) {
    enum gpm_status st = chol_build(&l->f, l->n, fill_local, l);
    if (st) return st;
    for (size_t i = 0; i < l->n; i++) l->w[i] = l->d->r[l->idx[i]];
    chol_solve_l(&l->f, l->w, 1, l->n);
    return GPM_OK;
}

/* log p of the gathered points from index `before` on, given those before them. One factorisation
 * gives it for every suffix, row by row: log p(y_i | before) = -w_i^2/2 - log L_ii - log(2
 * pi)/2. */
static enum gpm_status suffix_density(struct local *l, size_t before, double *sum) {
    enum gpm_status st = local_solve(l);
    *sum = 0;
    for (size_t k = before; k < l->n && !st; k++)
        *sum -= 0.5 * (l->w[k] * l->w[k] + LOG_2PI) + log(l->f.l[k * (l->f.ld + 1)]);
    return st;
}

/* Gathers the block starting at index i, preceded by the points it is conditioned on; returns their
 * number. */
static size_t gather_block(struct local *l, size_t i) {
    size_t size = l->v->size, before = i < size ? i : size;
    size_t here = l->v->n - i < size ? l->v->n - i : size;
    gather(l, i - before, before + here);
    return before;
}

static size_t blocks_of(const struct vecchia *v) {
    return (v->n + v->size - 1) / v->size;
}

enum gpm_status vecchia_logml(const struct vecchia *v, const struct approx_data *d, double *logml) {
    struct local l;
    size_t blocks = blocks_of(v);
    double sum = 0, *part = mem_zalloc((blocks + 1) * sizeof *part);
    enum gpm_status st = GPM_OK;
    local_init(&l, v, d, 2 * v->size);
    for (size_t b = 0; b < blocks && !st; b++)
        if (parts_mine(b)) st = suffix_density(&l, gather_block(&l, b * v->size), &part[b]);
    st = parts_sum(part, blocks, st);
    for (size_t b = 0; b < blocks; b++) sum += part[b];
    local_release(&l);
    mem_free(part);
    if (!st) *logml = sum;
    return st;
}

/* Gradient of log p(block | before) = log p(block, before) - log p(before): the difference of two
 * dense gradients, tr(W dK) with W = (a a' - K^-1 - (b b' - K0^-1))/2, a = K^-1 r, b = K0^-1 r0
 * (padded with zeros). One factor suffices, since that of K0 is its leading part. The inverses
 * differ by K^-1 - K0^-1 = U U', U = L^-T E, with E the unit vectors of the block, so large numbers
 * are not subtracted. m holds (U U' + b b')/2, so W = a a'/2 - m. */
struct window {
    double *u, *m, *a,
        *b; /* n x (block + 1), its last column b; n x n; n, with the factor 1/2^1/2 */
    size_t ld;
};

static void window_weights(struct local *l, size_t before, struct window *w) {
    size_t n = l->n, here = n - before, ld = w->ld;
    memset(w->u, 0, ld * (here + 1) * sizeof *w->u);
    for (size_t j = 0; j < here; j++) w->u[before + j + j * ld] = M_SQRT1_2;
    chol_solve_lt(&l->f, w->u, here, ld);
    w->b = w->u + here * ld;
    for (size_t i = 0; i < n; i++) {
        w->a[i] = M_SQRT1_2 * l->w[i];
        if (i < before) w->b[i] = w->a[i];
    }
    chol_solve_lt(&l->f, w->a, 1, n);
    la_trsv(true, before, l->f.l, l->f.ld, w->b);
    la_syrk(false, n, here + 1, 1, w->u, ld, 0, w->m, ld);
}

/* The factor's jitter is a share of the mean diagonal, noise included. */
static enum gpm_status add_window(struct local *l, struct window *w,
                                  const struct approx_slopes *out) {
    double trace = 0;
    for (size_t i = 0; i < l->n; i++) trace += w->a[i] * w->a[i] - w->m[i * (w->ld + 1)];
    double jitter = approx_jitter(&l->f) * trace / (double)l->n;
    for (size_t i = 0; i < l->n; i++) {
        double *own = &w->m[i * (w->ld + 1)];
        *own -= jitter;
        out->noise[l->idx[i]] += w->a[i] * w->a[i] - *own;
        out->mean[l->idx[i]] += M_SQRT2 * (w->a[i] - w->b[i]);
    }
    return kern_grad_add(l->d->kern, local_points(l), w->a, w->m, w->ld, out->kern);
}

/* Derivatives in the kernel's parameters, by block, added in the order of the blocks. A point
 * belongs to at most two blocks, so its sums do not depend on the order. */
struct slopes_by_block {
    size_t blocks, n_kern, size;
    double *all, *noise, *mean; /* one piece of memory */
};

static struct slopes_by_block slopes_begin(const struct vecchia *v, const struct approx_data *d) {
    struct slopes_by_block by = {.blocks = blocks_of(v), .n_kern = kern_nparam(d->kern)};
    by.size = by.blocks * by.n_kern + 2 * v->n;
    by.all = mem_zalloc((by.size + 1) * sizeof *by.all);
    by.noise = by.all + by.blocks * by.n_kern;
    by.mean = by.noise + v->n;
    return by;
}

static enum gpm_status slopes_end(struct slopes_by_block *by, const struct vecchia *v,
                                  const struct approx_slopes *out, enum gpm_status st) {
    st = parts_sum(by->all, by->size, st);
    for (size_t i = 0; i < by->blocks * by->n_kern && !st; i++)
        out->kern[i % by->n_kern] += by->all[i];
    for (size_t i = 0; i < v->n && !st; i++) {
        out->noise[i] += by->noise[i];
        out->mean[i] += by->mean[i];
    }
    mem_free(by->all);
    return st;
}

enum gpm_status vecchia_grad(const struct vecchia *v, const struct approx_data *d,
                             const struct approx_slopes *out) {
    struct local l;
    size_t cap = 2 * v->size < v->n ? 2 * v->size : v->n;
    struct window w = {.ld = mat_ld(cap)};
    double *work = mem_try_doubles(w.ld * (v->size + cap + 2));
    if (!work) return GPM_E_NOMEM;
    enum gpm_status st = GPM_OK;
    w.a = work;
    w.m = w.a + w.ld;
    w.u = w.m + w.ld * cap;
    local_init(&l, v, d, 2 * v->size);
    struct slopes_by_block by = slopes_begin(v, d);
    for (size_t b = 0; b < by.blocks && !st; b++) {
        if (!parts_mine(b)) continue;
        size_t before = gather_block(&l, b * v->size);
        st = local_solve(&l);
        if (st) break;
        window_weights(&l, before, &w);
        const struct approx_slopes here = {by.all + b * by.n_kern, by.noise, by.mean};
        st = add_window(&l, &w, &here);
    }
    st = slopes_end(&by, v, out, st);
    local_release(&l);
    mem_free(work);
    return st;
}

/* Estimates the contribution of omitted points. Some blocks, spread over the data, are evaluated
 * again with as many additional points from the whole past. This reveals a period or trend longer
 * than the neighbourhood; with short dependence nothing changes. */
enum gpm_status vecchia_error(const struct vecchia *v, const struct approx_data *d, double *error) {
    enum { SAMPLED = 12 };
    size_t size = v->size, blocks = blocks_of(v), tried = 0;
    double part[SAMPLED + 2] = {0};
    struct local l;
    enum gpm_status st = GPM_OK;
    *error = 0;
    if (blocks < 3) return GPM_OK;
    local_init(&l, v, d, 3 * size);
    size_t step = (blocks - 2 + SAMPLED - 1) / SAMPLED;
    for (size_t b = blocks - 1; b >= 2 && !st; b -= b > step ? step : b, tried++) {
        if (!parts_mine(tried)) continue;
        size_t from = b * size, here = v->n - from < size ? v->n - from : size, past = from - size;
        double near = 0, all = 0;
        gather(&l, from - size, size + here);
        st = suffix_density(&l, size, &near);
        size_t far = past < size ? past : size;
        l.n = far + size + here;
        for (size_t i = 0; i < far; i++) l.idx[i] = v->order[i * past / far];
        for (size_t i = far; i < l.n; i++) l.idx[i] = v->order[from - size + i - far];
        copy_points(&l);
        if (!st) st = suffix_density(&l, far + size, &all);
        part[tried] = fabs(all - near);
    }
    st = parts_sum(part, SAMPLED + 2, st);
    for (size_t i = 0; i < tried && !st; i++) *error += part[i];
    local_release(&l);
    if (tried) *error *= (double)(blocks - 2) / (double)tried;
    return st;
}

/* The position of a new point in the order. */
static size_t insertion(const struct vecchia *v, uint64_t code) {
    size_t lo = 0, hi = v->n;
    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        if (v->code[mid] < code)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

/* Predicts points from the gathered ones; adds to the mean. */
static enum gpm_status predict_window(struct local *l, struct kern_pts xs, double *mean,
                                      double *var, double *cov, size_t ld) {
    size_t m = xs.n;
    enum gpm_status st = local_solve(l);
    double *v = st ? NULL : mem_try_doubles(m * (l->n + 1));
    if (!st && !v) st = GPM_E_NOMEM;
    if (!st) st = kern_cross(l->d->kern, xs, local_points(l), v, m);
    if (!st) {
        la_solve_rows(l->n, m, l->f.l, l->f.ld, v, m);
        st = gp_project(l->d->kern, xs, l->n, v, l->w, mean, var, cov, ld);
    }
    mem_free(v);
    return st;
}

/* New points are sorted by position, in groups that fit one window with half a window of data on
 * each side. */
enum gpm_status vecchia_predict(const struct vecchia *v, const struct approx_data *d,
                                struct kern_pts xs, double *mean, double *var) {
    enum { GROUP = 512 };
    size_t n = xs.n, half = v->size / 2;
    struct keyed *key = NEW_ARRAY(struct keyed, n + 1); /* code = place in the order */
    double *x = mem_zalloc((n * ((size_t)xs.dim + 2) + 1) * sizeof *x), *m = x + n * (size_t)xs.dim;
    struct local l;
    enum gpm_status st = GPM_OK;
    local_init(&l, v, d, 2 * v->size);
    for (size_t i = 0; i < n; i++)
        key[i] = (struct keyed){insertion(v, code_of(v, xs.x, i, xs.ld)), i};
    qsort(key, n, sizeof *key, by_code);
    for (size_t i = 0; i < n * (size_t)xs.dim; i++) x[i] = xs.x[key[i % n].i + i / n * xs.ld];
    for (size_t i = 0, some, group = 0; i < n && !st; i += some, group++) {
        for (some = 1; i + some < n && some < GROUP; some++)
            if (key[i + some].code - key[i].code > half) break;
        size_t lo = (size_t)key[i].code, hi = (size_t)key[i + some - 1].code;
        size_t from = lo > half ? lo - half : 0, end = hi + half < v->n ? hi + half : v->n;
        if (!parts_mine(group)) continue;
        struct kern_pts here = {.x = x + i, .n = some, .ld = n, .dim = xs.dim};
        gather(&l, from, end - from);
        st = predict_window(&l, here, m + i, var ? m + n + i : NULL, NULL, 0);
    }
    st = parts_sum(m, 2 * n, st);
    for (size_t i = 0; i < n && !st; i++) {
        if (mean) mean[key[i].i] += m[i];
        if (var) var[key[i].i] = m[n + i];
    }
    mem_free(key);
    mem_free(x);
    local_release(&l);
    return st;
}

/* Gathers the union of the points' neighbourhoods; they shrink if it would exceed 4000 points. */
static void gather_union(struct local *l, struct kern_pts xs) {
    size_t n = l->v->n, half = l->v->size / 2;
    char *mark = mem_zalloc(n + 1);
    if (xs.n * 2 * half > 4000 && xs.n) half = 4000 / (2 * xs.n) + 4;
    for (size_t i = 0; i < xs.n; i++) {
        size_t at = insertion(l->v, code_of(l->v, xs.x, i, xs.ld));
        size_t from = at > half ? at - half : 0, end = at + half < n ? at + half : n;
        memset(mark + from, 1, end - from);
    }
    l->n = 0;
    for (size_t i = 0; i < n && l->n < l->cap; i++)
        if (mark[i]) l->idx[l->n++] = l->v->order[i];
    mem_free(mark);
    copy_points(l);
}

enum gpm_status vecchia_joint(const struct vecchia *v, const struct approx_data *d,
                              struct kern_pts xs, double *mean, double *cov, size_t ld) {
    struct local l;
    local_init(&l, v, d, 4000 + 8 * xs.n + v->size);
    gather_union(&l, xs);
    enum gpm_status st = predict_window(&l, xs, mean, NULL, cov, ld);
    local_release(&l);
    return st;
}
