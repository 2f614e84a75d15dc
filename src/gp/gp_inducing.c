/* SPDX-License-Identifier: Apache-2.0
 * Inducing-point approximation (FITC, Snelson and Ghahramani 2006); see gp_approx.h. */
#include "gp/gp_approx.h"

#include "base/mem.h"
#include "la/blas.h"
#include "la/mat.h"
#include "la/vec.h"

#include <math.h>
#include <string.h>

#define LOG_2PI 1.8378770664093454836
#define CHUNK   512 /* data points per pass */

void inducing_init(struct inducing *q) {
    memset(q, 0, sizeof *q);
    chol_init(&q->kuu);
    chol_init(&q->a);
}

void inducing_release(struct inducing *q) {
    chol_release(&q->kuu);
    chol_release(&q->a);
    mem_free(q->u);
    mem_free(q->c);
    memset(q, 0, sizeof *q);
}

/* Farthest-first traversal in coordinates scaled by their range: covers the inputs evenly. */
static void choose(struct inducing *q, struct kern_pts x, size_t m) {
    double *far = NEW_ARRAY(double, x.n), *inv = NEW_ARRAY(double, (size_t)x.dim);
    size_t next = 0;
    for (int c = 0; c < x.dim; c++) {
        double lo = INFINITY, hi = -INFINITY;
        for (size_t i = 0; i < x.n; i++) {
            lo = fmin(lo, x.x[i + (size_t)c * x.ld]);
            hi = fmax(hi, x.x[i + (size_t)c * x.ld]);
        }
        inv[c] = hi > lo ? 1 / (hi - lo) : 0;
    }
    for (size_t i = 0; i < x.n; i++) far[i] = INFINITY;
    for (size_t k = 0; k < m; k++) {
        double best = -1;
        size_t at = next;
        for (int c = 0; c < x.dim; c++) q->u[k + (size_t)c * m] = x.x[at + (size_t)c * x.ld];
        for (size_t i = 0; i < x.n; i++) {
            double d = 0;
            for (int c = 0; c < x.dim; c++) {
                const double *col = x.x + (size_t)c * x.ld;
                d += (col[i] - col[at]) * (col[i] - col[at]) * inv[c] * inv[c];
            }
            if (d < far[i]) far[i] = d;
            if (far[i] > best) best = far[i], next = i;
        }
    }
    mem_free(far);
    mem_free(inv);
}

static struct kern_pts inducing_points(const struct inducing *q) {
    struct kern_pts u = {.x = q->u, .n = q->m, .ld = q->m, .dim = q->dim, .distinct = true};
    return u;
}

struct fill {
    const struct kern *k;
    struct kern_pts u;
};
static enum gpm_status fill_kuu(void *ctx, double *a, size_t n, size_t ld) {
    struct fill *f = ctx;
    return kern_fill(f->k, f->u, a, ld);
}

/* One chunk of data points: V' = K(x, u) Luu^-T (rows are points), scaled by D^-1/2, then
 * A += V D^-1 V', b += V D^-1 r and the sums of the likelihood. */
struct sums {
    double *a, *b, *v, *kd, *rest;
    size_t lda;
    double logd, quad, loss;
};

static enum gpm_status add_chunk(const struct inducing *q, const struct approx_data *d, size_t from,
                                 size_t n, struct sums *s) {
    struct kern_pts x = d->x;
    x.x += from;
    x.n = n;
    x.step = 0;
    enum gpm_status st = kern_cross(d->kern, x, inducing_points(q), s->v, n);
    if (!st) st = kern_diag(d->kern, x, s->kd);
    if (st) return st;
    la_solve_rows(q->m, n, q->kuu.l, q->kuu.ld, s->v, n);
    memset(s->rest, 0, n * sizeof *s->rest);
    for (size_t j = 0; j < q->m; j++) vec_ops()->add_square(n, s->v + j * n, s->rest);
    for (size_t i = 0; i < n; i++) {
        double left = fmax(0, s->kd[i] - s->rest[i]), var = left + d->noise[from + i];
        /* what rounding leaves is nothing */
        if (left > 1e-9 * s->kd[i]) s->loss += left / d->noise[from + i];
        if (!(var > 1e-12 * s->kd[i])) var = 1e-12 * s->kd[i] + 1e-300;
        s->logd += log(var);
        s->quad += d->r[from + i] * d->r[from + i] / var;
        s->kd[i] = 1 / sqrt(var);
        s->rest[i] = d->r[from + i] / sqrt(var);
    }
    for (size_t j = 0; j < q->m; j++) vec_ops()->mul(n, s->kd, s->v + j * n);
    la_syrk(true, q->m, n, 1, s->v, n, 1, s->a, s->lda);
    la_gemv_t(n, q->m, 1, s->v, n, s->rest, 1, s->b);
    return GPM_OK;
}

/* logml = -1/2 (sum log D + log|A| + r'D^-1 r - b'A^-1 b + n log 2 pi). */
static enum gpm_status finish(struct inducing *q, size_t n, struct sums *s, double *logml) {
    for (size_t i = 0; i < q->m; i++) s->a[i * (s->lda + 1)] += 1;
    enum gpm_status st = chol_build_from(&q->a, q->m, s->a, s->lda);
    if (st) return st;
    memcpy(q->c, s->b, q->m * sizeof *q->c);
    chol_solve_l(&q->a, q->c, 1, q->m);
    double fit = la_dot(q->m, q->c, q->c);
    chol_solve_lt(&q->a, q->c, 1, q->m);
    q->loss = s->loss;
    *logml = -0.5 * (s->logd + chol_logdet(&q->a) + s->quad - fit + (double)n * LOG_2PI);
    return GPM_OK;
}

enum gpm_status inducing_build(struct inducing *q, const struct approx_data *d, size_t size,
                               double *logml) {
    size_t m = size < d->x.n ? size : d->x.n, ld = mat_ld(m);
    struct sums s = {.lda = ld};
    q->m = m;
    q->dim = d->x.dim;
    q->u = mem_realloc(q->u, (m * (size_t)q->dim + 1) * sizeof *q->u);
    q->c = mem_realloc(q->c, (m + 1) * sizeof *q->c);
    choose(q, d->x, m);
    struct fill f = {d->kern, inducing_points(q)};
    enum gpm_status st = chol_build(&q->kuu, m, fill_kuu, &f);
    if (st) return st;
    s.a = mem_try_doubles(ld * m + 1);
    s.v = mem_try_doubles(CHUNK * (m + 2));
    s.b = mem_zalloc((m + 1) * sizeof *s.b);
    if (!s.a || !s.v) st = GPM_E_NOMEM;
    if (!st) {
        memset(s.a, 0, ld * m * sizeof *s.a);
        s.kd = s.v + CHUNK * m;
        s.rest = s.kd + CHUNK;
    }
    for (size_t i = 0; i < d->x.n && !st; i += CHUNK)
        st = add_chunk(q, d, i, d->x.n - i < CHUNK ? d->x.n - i : CHUNK, &s);
    if (!st) st = finish(q, d->x.n, &s, logml);
    mem_free(s.a);
    mem_free(s.v);
    mem_free(s.b);
    return st;
}

/* With v = Luu^-1 k(u, x*): mean v'c, var k** - v'v + |LA^-1 v|^2. */
enum gpm_status inducing_predict(const struct inducing *q, const struct kern *k, struct kern_pts xs,
                                 double *mean, double *var, double *cov, size_t ld) {
    size_t m = q->m, n = xs.n;
    double *v = mem_try_doubles(2 * n * (m + 1));
    if (!v) return GPM_E_NOMEM;
    double *w = v + n * (m + 1);
    enum gpm_status st = kern_cross(k, xs, inducing_points(q), v, n);
    if (!st) {
        la_solve_rows(m, n, q->kuu.l, q->kuu.ld, v, n);
        memcpy(w, v, n * m * sizeof *w);
        la_solve_rows(m, n, q->a.l, q->a.ld, w, n);
        la_gemv(n, m, 1, v, n, q->c, 0, mean);
    }
    if (!st && var) st = kern_diag(k, xs, var);
    for (size_t i = 0; i < n && var && !st; i++) {
        double known = 0;
        for (size_t j = 0; j < m; j++)
            known += v[i + j * n] * v[i + j * n] - w[i + j * n] * w[i + j * n];
        var[i] = var[i] > known ? var[i] - known : 0;
    }
    if (!st && cov) st = kern_fill(k, xs, cov, ld);
    if (!st && cov) {
        la_syrk(false, n, m, -1, v, n, 1, cov, ld);
        la_syrk(false, n, m, 1, w, n, 1, cov, ld);
    }
    mem_free(v);
    return st;
}
