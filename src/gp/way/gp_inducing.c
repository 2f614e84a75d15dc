/* SPDX-License-Identifier: Apache-2.0
 * Inducing-point approximation (FITC, Snelson and Ghahramani 2006); see gp_approx.h. */
#include "gp/way/gp_approx.h"

#include "base/mem.h"
#include "numeric/la/blas.h"
#include "numeric/la/mat.h"
#include "numeric/la/parts.h"
#include "numeric/la/vec_ops.h"
#include "numeric/special/special.h"

#include <math.h>
#include <string.h>

#define CHUNK 512 /* data points per pass */

/* Sums over all data are computed for GROUPS of chunks separately, then over the groups in order.
 * Each part (numeric/la/parts.h) takes whole groups, so the result does not depend on the number of
 * parts. */
enum { GROUPS = 16 };
typedef enum gpm_status chunk_fn(void *ctx, size_t from, size_t n, double *sum);

/* total (`size` zeros) += fn over all chunks of n points; fn adds to `sum`. */
static enum gpm_status sum_chunks(size_t n, size_t size, chunk_fn *fn, void *ctx, double *total) {
    size_t chunks = (n + CHUNK - 1) / CHUNK, groups = chunks < GROUPS ? chunks : GROUPS;
    size_t own = parts_many() ? groups : 1;
    double *sums = mem_try_doubles(own * size + size);
    enum gpm_status st = sums ? GPM_OK : GPM_E_NOMEM;
    if (!sums && !parts_many()) return st;
    for (size_t g = 0; g < groups; g++) {
        double *sum = sums ? sums + (parts_many() ? g * size : 0) : NULL;
        if (sum) memset(sum, 0, size * sizeof *sum);
        size_t end = (g + 1) * chunks / groups;
        for (size_t c = g * chunks / groups; c < end && !st && parts_mine(g); c++)
            st = fn(ctx, c * CHUNK, n - c * CHUNK < CHUNK ? n - c * CHUNK : CHUNK, sum);
        for (size_t i = 0; i < size && !st && !parts_many(); i++) total[i] += sum[i];
    }
    for (size_t g = 0; g < groups && parts_many(); g++) {
        st = parts_sum(sums ? sums + g * size : NULL, sums ? size : 0, st);
        for (size_t i = 0; i < size && !st; i++) total[i] += sums[g * size + i];
        if (st) break;
    }
    mem_free(sums);
    return st;
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
        double lo, hi;
        approx_range(x, c, &lo, &hi);
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

/* Points [from, from + n) of the data. */
static struct kern_pts chunk_points(const struct approx_data *d, size_t from, size_t n) {
    struct kern_pts x = d->x;
    x.x += from;
    x.n = n;
    x.step = 0;
    return x;
}

/* V' = K(x, u) Luu^-T (rows are points), kd = k(x, x), and the part of kd that the inducing points
 * explain: the squared length of the row. */
static enum gpm_status explain(const struct inducing *q, const struct approx_data *d,
                               struct kern_pts x, double *v, double *kd, double *explained) {
    enum gpm_status st = kern_cross(d->kern, x, inducing_points(q), v, x.n);
    if (!st) st = kern_diag(d->kern, x, kd);
    if (st) return st;
    la_solve_rows(q->m, x.n, q->kuu.l, q->kuu.ld, v, x.n);
    memset(explained, 0, x.n * sizeof *explained);
    for (size_t j = 0; j < q->m; j++) vec_ops()->add_square(x.n, v + j * x.n, explained);
    return GPM_OK;
}

/* The variance D of a point, at least this share of k(x, x). */
#define FLOOR 1e-12
static double own_variance(double kd, double left, double noise) {
    return left + noise > FLOOR * kd ? left + noise : FLOOR * kd + 1e-300;
}

/* One chunk of data points: scales V' by D^-1/2, then A += V D^-1 V', b += V D^-1 r, and the sums
 * of the likelihood. */
struct sums {
    const struct inducing *q;
    const struct approx_data *d;
    double *a, *b, *v, *kd, *rest; /* a, b and the sums are over all data, in one array */
    size_t lda;
};
enum { SUM_LOGD, SUM_QUAD, SUM_LOSS, SUMS }; /* behind b */

static enum gpm_status add_chunk(void *ctx, size_t from, size_t n, double *sum) {
    struct sums *s = ctx;
    const struct inducing *q = s->q;
    const struct approx_data *d = s->d;
    double *b = sum + s->lda * q->m, *more = b + q->m;
    enum gpm_status st = explain(q, d, chunk_points(d, from, n), s->v, s->kd, s->rest);
    if (st) return st;
    for (size_t i = 0; i < n; i++) {
        double left = fmax(0, s->kd[i] - s->rest[i]), noise = d->noise[from + i];
        double var = own_variance(s->kd[i], left, noise);
        /* Ignores rounding errors. */
        if (left > 1e-9 * s->kd[i]) more[SUM_LOSS] += left / noise;
        more[SUM_LOGD] += log(var);
        more[SUM_QUAD] += d->r[from + i] * d->r[from + i] / var;
        s->kd[i] = 1 / sqrt(var);
        s->rest[i] = d->r[from + i] / sqrt(var);
    }
    for (size_t j = 0; j < q->m; j++) vec_ops()->mul(n, s->kd, s->v + j * n);
    la_syrk(true, q->m, n, 1, s->v, n, 1, sum, s->lda);
    for (size_t j = 0; j < q->m; j++) b[j] += vec_ops()->dot(n, s->v + j * n, s->rest);
    return GPM_OK;
}

/* logml = -1/2 (sum log D + log|A| + r'D^-1 r - b'A^-1 b + n log 2 pi). */
static enum gpm_status finish(struct inducing *q, size_t n, struct sums *s, double *logml,
                              double *quad) {
    for (size_t i = 0; i < q->m; i++) s->a[i * (s->lda + 1)] += 1;
    enum gpm_status st = chol_build_from(&q->a, q->m, s->a, s->lda);
    if (st) return st;
    memcpy(q->c, s->b, q->m * sizeof *q->c);
    chol_solve_l(&q->a, q->c, 1, q->m);
    double fit = vec_ops()->dot(q->m, q->c, q->c);
    chol_solve_lt(&q->a, q->c, 1, q->m);
    const double *more = s->b + q->m;
    q->loss = more[SUM_LOSS];
    if (quad) *quad = more[SUM_QUAD] - fit;
    *logml =
        -0.5 * (more[SUM_LOGD] + chol_logdet(&q->a) + more[SUM_QUAD] - fit + (double)n * LOG_2PI);
    return GPM_OK;
}

enum gpm_status inducing_build(struct inducing *q, const struct approx_data *d,
                               const size_t *places, size_t size, double *logml, double *quad) {
    size_t m = size < d->x.n ? size : d->x.n, ld = mat_ld(m);
    struct sums s = {q, d, .lda = ld};
    size_t room = (ld + 1) * m + SUMS;
    q->m = m;
    q->dim = d->x.dim;
    q->u = mem_realloc(q->u, (m * (size_t)q->dim + 1) * sizeof *q->u);
    q->c = mem_realloc(q->c, (m + 1) * sizeof *q->c);
    if (!places) choose(q, d->x, m);
    for (size_t k = 0; places && k < m; k++)
        for (int c = 0; c < q->dim; c++)
            q->u[k + (size_t)c * m] = d->x.x[places[k] + (size_t)c * d->x.ld];
    struct fill f = {d->kern, inducing_points(q)};
    enum gpm_status st = chol_build(&q->kuu, m, fill_kuu, &f);
    if (st) return st;
    s.a = mem_try_doubles(room + CHUNK * (m + 2));
    if (!s.a) return GPM_E_NOMEM;
    memset(s.a, 0, room * sizeof *s.a);
    s.b = s.a + ld * m;
    s.v = s.a + room;
    s.kd = s.v + CHUNK * m;
    s.rest = s.kd + CHUNK;
    st = sum_chunks(d->x.n, room, add_chunk, &s, s.a);
    if (!st) st = finish(q, d->x.n, &s, logml, quad);
    mem_free(s.a);
    return st;
}

/* Gradient. With S = V'V + D the covariance, a = S^-1 r, G = (a a' - S^-1)/2:
 *   dL = tr(G dS) = sum_i G_ii dD_i + tr(G dQ),   dD_i = dk_ii - dQ_ii + dnoise_i,
 *   dQ = dKfu P + P'dKuf - P'dKuu P,  P = Kuu^-1 Kuf = Luu^-T V,
 * so with W = G - diag(h), h_i = G_ii where D_i holds k_ii - Q_ii (not clipped at 0 or the floor),
 *   dL = sum_i h_i dk_ii + sum_i G_ii dnoise_i + tr(2 P W dKfu) - tr(P W P' dKuu).
 * By Woodbury V S^-1 = A^-1 V D^-1 and V a = c, hence for the column v_i of V
 *   a_i = (r_i - v_i'c) / D_i,   G_ii = (a_i^2 - 1/D_i + v_i'A^-1 v_i / D_i^2) / 2,
 *   (2 V W)_i = c a_i - A^-1 v_i / D_i - 2 h_i v_i.
 * A's factor has no jitter (A >= I). */
struct adjoint {
    const struct inducing *q;
    const struct approx_data *d;
    struct approx_slopes points;  /* derivatives in the points */
    double *v, *w;                /* V' and (2 V W)' of a chunk, rows are points */
    double *kd, *known, *fit;     /* k(x, x); |v_i|^2, then v_i'A^-1 v_i; v_i'c, then a_i */
    double *inverse, *own, *diag; /* 1/D_i, 2 h_i, the weight of dk_ii */
    double *kuu; /* - V W V', m x m; followed by derivatives in kernel parameters */
    size_t ld;
};

static void chunk_weights(const struct inducing *q, const struct approx_data *d, size_t from,
                          size_t n, struct adjoint *t, const struct approx_slopes *out) {
    for (size_t i = 0; i < n; i++) t->inverse[i] = fmax(0, t->kd[i] - t->known[i]); /* residual */
    memset(t->known, 0, n * sizeof *t->known);
    for (size_t j = 0; j < q->m; j++)
        for (size_t i = 0; i < n; i++) t->known[i] += t->v[i + j * n] * t->w[i + j * n];
    for (size_t i = 0; i < n; i++) {
        double left = t->inverse[i], noise = d->noise[from + i];
        double var = own_variance(t->kd[i], left, noise), a = (d->r[from + i] - t->fit[i]) / var;
        double g = 0.5 * (a * a - (1 - t->known[i] / var) / var);
        bool floored = var != left + noise, live = left > 0 && !floored;
        t->inverse[i] = 1 / var;
        t->fit[i] = a;
        t->own[i] = live ? 2 * g : 0;
        t->diag[i] = live ? g : floored ? FLOOR * g : 0;
        out->mean[from + i] += a;
        out->noise[from + i] += floored ? 0 : g;
    }
    for (size_t j = 0; j < q->m; j++) {
        const double *v = t->v + j * n;
        double *w = t->w + j * n;
        for (size_t i = 0; i < n; i++)
            w[i] = q->c[j] * t->fit[i] - w[i] * t->inverse[i] - t->own[i] * v[i];
    }
}

static enum gpm_status grad_chunk(void *ctx, size_t from, size_t n, double *sum) {
    struct adjoint *t = ctx;
    const struct inducing *q = t->q;
    const struct approx_data *d = t->d;
    double *kern = sum + t->ld * q->m;
    struct kern_pts x = chunk_points(d, from, n);
    enum gpm_status st = explain(q, d, x, t->v, t->kd, t->known);
    if (st) return st;
    memcpy(t->w, t->v, n * q->m * sizeof *t->w);
    la_solve_rows(q->m, n, q->a.l, q->a.ld, t->w, n);
    la_solve_rows_t(q->m, n, q->a.l, q->a.ld, t->w, n);
    la_gemv(n, q->m, 1, t->v, n, q->c, 0, t->fit);
    chunk_weights(q, d, from, n, t, &t->points);
    la_gemm(true, false, q->m, q->m, n, -0.5, t->w, n, t->v, n, 1, sum, t->ld);
    la_solve_rows_t(q->m, n, q->kuu.l, q->kuu.ld, t->w, n); /* 2 W P' */
    st = kern_grad_cross(d->kern, x, inducing_points(q), t->w, n, kern);
    return st ? st : kern_grad_diag(d->kern, x, t->diag, kern);
}

/* The gradient of the inducing matrix with its jitter, a share of the mean diagonal. */
static enum gpm_status grad_inducing(const struct inducing *q, const struct approx_data *d,
                                     struct adjoint *t, double *g) {
    size_t m = q->m;
    double trace = 0;
    la_solve_rows_t(m, m, q->kuu.l, q->kuu.ld, t->kuu, t->ld);
    la_trsm(true, m, m, q->kuu.l, q->kuu.ld, t->kuu, t->ld);
    for (size_t i = 0; i < m; i++) trace += t->kuu[i * (t->ld + 1)];
    double jitter = approx_jitter(&q->kuu) * trace / (double)m;
    for (size_t i = 0; i < m; i++) t->kuu[i * (t->ld + 1)] += jitter;
    return kern_grad_add(d->kern, inducing_points(q), NULL, t->kuu, t->ld, g);
}

enum gpm_status inducing_grad(const struct inducing *q, const struct approx_data *d,
                              const struct approx_slopes *out) {
    size_t m = q->m, n = d->x.n, n_kern = kern_nparam(d->kern);
    struct adjoint t = {.q = q, .d = d, .ld = mat_ld(m)};
    size_t size = t.ld * m + n_kern;
    double *work = mem_try_doubles(CHUNK * (2 * m + 6) + size + 2 * n + 1);
    if (!work) return GPM_E_NOMEM;
    double **part[] = {&t.kd, &t.known, &t.fit, &t.inverse, &t.own, &t.diag};
    t.v = work;
    t.w = t.v + CHUNK * m;
    t.kuu = t.w + CHUNK * m;
    for (size_t i = 0; i < 6; i++, t.kuu += CHUNK) *part[i] = t.kuu;
    memset(t.kuu, 0, (size + 2 * n) * sizeof *t.kuu);
    t.points.noise = t.kuu + size;
    t.points.mean = t.points.noise + n;
    enum gpm_status st = sum_chunks(n, size, grad_chunk, &t, t.kuu);
    st = parts_sum(t.points.noise, 2 * n, st); /* each point is in one chunk */
    for (size_t i = 0; i < n_kern && !st; i++) out->kern[i] += t.kuu[t.ld * m + i];
    for (size_t i = 0; i < n && !st; i++) {
        out->noise[i] += t.points.noise[i];
        out->mean[i] += t.points.mean[i];
    }
    if (!st) st = grad_inducing(q, d, &t, out->kern);
    mem_free(work);
    return st;
}

/* With v = Luu^-1 k(u, x*): mean v'c, var k** - v'v + |LA^-1 v|^2. */
enum gpm_status inducing_predict(const struct inducing *q, const struct kern *k, struct kern_pts xs,
                                 double *mean, double *var, double *cov, size_t ld) {
    size_t m = q->m, n = xs.n;
    double *v = mem_try_doubles(2 * n * (m + 1)), *w = v + n * (m + 1);
    if (!v) return GPM_E_NOMEM;
    enum gpm_status st = kern_cross(k, xs, inducing_points(q), v, n);
    if (!st) {
        la_solve_rows(m, n, q->kuu.l, q->kuu.ld, v, n);
        memcpy(w, v, n * m * sizeof *w);
        la_solve_rows(m, n, q->a.l, q->a.ld, w, n);
        st = gp_project(k, xs, m, v, q->c, mean, var, cov, ld);
    }
    for (size_t j = 0; j < m && var && !st; j++) vec_ops()->add_square(n, w + j * n, var);
    if (!st && cov) la_syrk(false, n, m, 1, w, n, 1, cov, ld);
    mem_free(v);
    return st;
}
