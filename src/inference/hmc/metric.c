/* SPDX-License-Identifier: Apache-2.0
 *
 * See metric.h.
 */
#include "inference/hmc/metric.h"
#include "base/mem.h"
#include "numeric/la/blas.h"
#include "numeric/la/cols.h"
#include "numeric/la/mat.h"
#include <math.h>
#include <string.h>

/* LEAST: points needed for an estimate. low_rank uses the last KEPT points of a window, which span
 * at most 2 KEPT directions. It keeps directions whose variance differs from D by more than CUTOFF,
 * at most RANK of them, the farthest first. Each costs 4 n operations per leapfrog step. */
enum { LEAST = 5, KEPT = 60 };
#define CUTOFF  2.0
#define RANK(n) (16 + 1000 / (n))

void metric_init(struct metric *m, enum metric_kind kind, size_t n) {
    *m = (struct metric){.kind = kind, .n = n};
    m->diag = mem_zalloc((7 * n + 1) * sizeof(double));
    m->root = m->diag + n;
    m->z_mean = m->root + n;
    m->z_m2 = m->z_mean + n;
    m->g_mean = m->z_m2 + n;
    m->g_m2 = m->g_mean + n;
    m->room = m->g_m2 + n;
    for (size_t i = 0; i < n; i++) m->diag[i] = m->root[i] = 1;
    if (kind == METRIC_DENSE) m->cov = mem_zalloc((n * n + 1) * sizeof(double));
    if (kind == METRIC_LOW_RANK) m->points = NEW_ARRAY(double, 2 * n * KEPT + 1);
}

void metric_forget(struct metric *m) {
    mem_free(m->full);
    mem_free(m->u);
    m->full = m->l = m->u = m->lambda = NULL;
    m->rank = 0;
}

void metric_release(struct metric *m) {
    metric_forget(m);
    mem_free(m->diag);
    mem_free(m->cov);
    mem_free(m->points);
    *m = (struct metric){0};
}

/* x += U f(L) U' x, with f(l) = l - 1 or 1 / sqrt(l) - 1. */
static void along(const struct metric *m, bool inverse_root, double *x) {
    for (size_t k = 0; k < m->rank; k++) {
        const double *u = m->u + k * m->n;
        double l = m->lambda[k], f = (inverse_root ? 1 / sqrt(l) : l) - 1;
        col_add(m->n, f * col_dot(m->n, u, x), u, x);
    }
}

void metric_velocity(const struct metric *m, const double *p, double *v) {
    size_t n = m->n;
    if (m->full) {
        la_symv(n, 1, m->full, n, p, 0, v);
        return;
    }
    if (!m->rank) {
        for (size_t i = 0; i < n; i++) v[i] = m->diag[i] * p[i];
        return;
    }
    for (size_t i = 0; i < n; i++) v[i] = m->root[i] * p[i];
    along(m, false, v);
    for (size_t i = 0; i < n; i++) v[i] *= m->root[i];
}

/* M = S^-1 = (L L')^-1 = L^-T L^-1, so p = L^-T e. With low_rank p = D^-1/2 (I + U (L^-1/2 - I) U')
 * e; the columns of U are orthonormal, so their terms can be added one by one. */
void metric_momentum(const struct metric *m, struct rng *rng, double *p) {
    for (size_t i = 0; i < m->n; i++) p[i] = rng_normal(rng);
    if (m->full) {
        la_trsv(true, m->n, m->l, m->n, p);
        return;
    }
    along(m, true, p);
    for (size_t i = 0; i < m->n; i++) p[i] /= m->root[i];
}

void metric_note(struct metric *m, const double *z, const double *g) {
    size_t n = m->n;
    if (m->points) {
        double *at = m->points + 2 * n * ((size_t)m->seen % KEPT);
        memcpy(at, z, n * sizeof *at);
        memcpy(at + n, g, n * sizeof *at);
    }
    m->seen++;
    for (size_t i = 0; i < n; i++) {
        double dz = z[i] - m->z_mean[i], dg = g[i] - m->g_mean[i];
        m->room[i] = dz;
        m->z_mean[i] += dz / m->seen;
        m->g_mean[i] += dg / m->seen;
        m->z_m2[i] += dz * (z[i] - m->z_mean[i]);
        m->g_m2[i] += dg * (g[i] - m->g_mean[i]);
    }
    for (size_t j = 0; m->cov && j < n; j++)
        for (size_t i = j; i < n; i++) m->cov[i + j * n] += m->room[j] * (z[i] - m->z_mean[i]);
}

void metric_set(struct metric *m, size_t i, double variance) {
    m->diag[i] = fmin(fmax(variance, 1e-20), 1e20);
    m->root[i] = sqrt(m->diag[i]);
}

/* A direction with constant gradient is estimated from its points alone. False: no direction has
 * moved. */
static bool learn_diag(struct metric *m) {
    bool any = false;
    for (size_t i = 0; i < m->n; i++) {
        double by_points = m->z_m2[i] / (m->seen - 1), var = sqrt(m->z_m2[i] / m->g_m2[i]);
        if (!(isfinite(var) && var > 0)) var = by_points;
        if (!(isfinite(var) && var > 0)) continue;
        any = true;
        metric_set(m, i, var);
    }
    return any;
}

/* The covariance of the points, shrunk towards D with the weight of five points. So a window with
 * fewer points than numbers gives no direction variance zero. */
static void learn_dense(struct metric *m) {
    size_t n = m->n, pivot;
    double w = m->seen / (m->seen + 5);
    m->full = NEW_ARRAY(double, 2 * n * n + 1);
    m->l = m->full + n * n;
    for (size_t j = 0; j < n; j++)
        for (size_t i = j; i < n; i++)
            m->full[i + j * n] =
                w * m->cov[i + j * n] / (m->seen - 1) + (i == j ? (1 - w) * m->diag[i] : 0);
    memcpy(m->l, m->full, n * n * sizeof(double));
    if (la_potrf(n, m->l, n, &pivot) != GPM_OK) metric_forget(m);
}

/* C (r x r, full) = Q' X (Q' X)' / m + 1e-5 I, X is n x m. */
static void projected_covariance(const double *q, size_t r, const double *x, size_t n, size_t m,
                                 double *c) {
    double *p = NEW_ARRAY(double, r *m + 1);
    la_gemm(true, false, r, m, n, 1, q, n, x, n, 0, p, r);
    la_gemm(false, true, r, r, m, 1 / (double)m, p, r, p, r, 0, c, r);
    for (size_t i = 0; i < r; i++) c[i + i * r] += 1e-5;
    mem_free(p);
}

/* a = V f(w) V' of a symmetric matrix, f a power; false: it has no such power. */
static bool matrix_power(double *a, size_t r, double power) {
    double *w = NEW_ARRAY(double, r + r * r + 1), *v = w + r;
    bool ok = la_syev(r, a, r, w) == GPM_OK && w[0] > 0;
    for (size_t k = 0; ok && k < r; k++)
        for (size_t i = 0; i < r; i++) v[i + k * r] = a[i + k * r] * pow(w[k], power);
    if (ok) {
        double *vectors = NEW_ARRAY(double, r *r + 1);
        memcpy(vectors, a, r * r * sizeof *a);
        la_gemm(false, true, r, r, r, 1, v, r, vectors, r, 0, a, r);
        mem_free(vectors);
    }
    mem_free(w);
    return ok;
}

/* a = b a b, symmetric matrices */
static void sandwich(double *a, const double *b, size_t r) {
    double *t = NEW_ARRAY(double, r *r + 1);
    la_gemm(false, false, r, r, r, 1, b, r, a, r, 0, t, r);
    la_gemm(false, false, r, r, r, 1, t, r, b, r, 0, a, r);
    mem_free(t);
}

/* The covariance S of the scaled points in the space Q spanned by them and their gradients. With Cz
 * and Cg the two covariances it solves S Cg S = Cz, which is exact for a normal distribution:
 *
 *     S = Cg^-1/2 (Cg^1/2 Cz Cg^1/2)^1/2 Cg^-1/2
 *
 * stored in cz. Eigenvectors of S whose eigenvalues differ from D become U. */
static bool geometric_mean(double *cz, double *cg, size_t r) {
    bool ok = matrix_power(cg, r, 0.5);
    if (ok) sandwich(cz, cg, r);
    ok = ok && matrix_power(cz, r, 0.5) && matrix_power(cg, r, -1);
    if (ok) sandwich(cz, cg, r);
    return ok;
}

/* U = Q V for the farthest eigenvectors V of s (r x r, replaced). */
static void keep_directions(struct metric *m, const double *q, size_t r, double *s, double *w) {
    size_t n = m->n;
    if (la_syev(r, s, r, w) != GPM_OK) return;
    m->u = NEW_ARRAY(double, (n + 1) * r + 1);
    m->lambda = m->u + n * r;
    for (size_t lo = 0, hi = r, k; lo < hi && m->rank < RANK(n); m->rank++) {
        bool low = w[lo] > 0 && w[lo] * w[hi - 1] < 1; /* the end farther from 1 */
        k = low ? lo++ : --hi;
        if (!(w[k] > CUTOFF || (w[k] > 0 && w[k] < 1 / CUTOFF))) break;
        la_gemv(n, r, 1, q, n, s + k * r, 0, m->u + m->rank * n);
        m->lambda[m->rank] = w[k];
    }
}

static void learn_low_rank(struct metric *m) {
    size_t n = m->n, k = m->seen < KEPT ? (size_t)m->seen : KEPT;
    double *z = NEW_ARRAY(double, 4 * n * k + 1), *g = z + n * k, *q = g + n * k;
    for (size_t j = 0; j < k; j++)
        for (size_t i = 0; i < n; i++) {
            z[i + j * n] = (m->points[i + 2 * j * n] - m->z_mean[i]) / m->root[i];
            g[i + j * n] = (m->points[i + (2 * j + 1) * n] - m->g_mean[i]) * m->root[i];
        }
    memcpy(q, z, 2 * n * k * sizeof *q);
    size_t r = mat_orthonormal(q, n, 2 * k);
    double *cz = NEW_ARRAY(double, (2 * r + 1) * r + 1), *cg = cz + r * r, *w = cg + r * r;
    if (mat_max_abs(z, 2 * n * k) < 1e100) {
        projected_covariance(q, r, z, n, k, cz);
        projected_covariance(q, r, g, n, k, cg);
        if (r && geometric_mean(cz, cg, r)) keep_directions(m, q, r, cz, w);
    }
    mem_free(cz);
    mem_free(z);
}

bool metric_learn(struct metric *m) {
    bool learned = m->seen >= LEAST && learn_diag(m);
    if (learned) {
        metric_forget(m);
        if (m->kind == METRIC_DENSE) learn_dense(m);
        if (m->kind == METRIC_LOW_RANK) learn_low_rank(m);
    }
    m->seen = 0;
    memset(m->z_mean, 0, 4 * m->n * sizeof(double));
    if (m->cov) memset(m->cov, 0, m->n * m->n * sizeof(double));
    return learned;
}

void metric_pack(struct pack *p, struct metric *m) {
    size_t n = m->n;
    bool full = m->full != NULL;
    pack_doubles(p, m->diag, 7 * n);
    pack_double(p, &m->seen);
    if (m->cov) pack_doubles(p, m->cov, n * n);
    if (m->points) /* of the present window */
        pack_doubles(p, m->points, 2 * n * (m->seen < KEPT ? (size_t)m->seen : KEPT));
    pack_bool(p, &full);
    if (p->reading && full) {
        m->full = NEW_ARRAY(double, 2 * n * n + 1);
        m->l = m->full + n * n;
    }
    if (full) pack_doubles(p, m->full, 2 * n * n);
    pack_count(p, &m->rank, sizeof(double));
    if (p->reading && m->rank) {
        m->u = NEW_ARRAY(double, m->rank *(n + 1) + 1);
        m->lambda = m->u + n * m->rank;
    }
    if (m->rank) pack_doubles(p, m->u, n * m->rank);
    if (m->rank) pack_doubles(p, m->lambda, m->rank);
}
