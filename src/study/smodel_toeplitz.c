/* SPDX-License-Identifier: Apache-2.0
 *
 * Likelihood and gradient in O(N^2) on a regular grid of N points: K = P (T + sum_j s_j^2 u_j u_j')
 * P', T Toeplitz (stationary terms, constant, noise), u_j the rank-one terms, P picks the observed
 * grid points. All vectors live on the whole grid and are zero at gaps:
 *   K^-1 = T^-1 - sum_c w_c w_c',  one column w per gap and per rank-one term
 * (gaps: log|T_oo| = log|T| + log|(T^-1)_mm|; rank one: Sherman-Morrison). Then
 *   M = alpha alpha' - T^-1 + sum_c w_c w_c'
 * and its sums over equal lags are autocorrelations and Gohberg-Semencul sums.
 */
#include "base/mem.h"
#include "la/blas.h"
#include "la/toeplitz.h"
#include "study/smodel_priv.h"
#include <math.h>
#include <string.h>

#define HAS(mask, f) ((mask)&FACTOR_BIT(f))
#define MAX_RANK     STRUCTURE_MAX_TERMS
#define COLUMNS      (1 + MAX_RANK + TOEPLITZ_MAX_GAPS) /* right hand sides: y, u's, gaps */

struct toep {
    const struct smodel *m;
    size_t n;        /* grid length */
    double *rhs;     /* COLUMNS columns: on return T^-1 y, T^-1 u_j, T^-1 e_gap */
    double *u;       /* MAX_RANK columns: the rank-one vectors, zero at gaps */
    double *w;       /* correction columns */
    double *first;   /* first column of T^-1 */
    double *scratch; /* 3 n */
    int term[MAX_RANK], n_rank, n_gaps, n_w;
    size_t gap[TOEPLITZ_MAX_GAPS];
};

static bool bind(struct toep *p, const struct smodel *m, struct smodel_work *w) {
    size_t n = m->data->ng;
    if (w->toep_n < n) {
        mem_free(w->toep);
        w->toep = mem_try_doubles(n * (COLUMNS + MAX_RANK + COLUMNS + 4));
        w->toep_n = w->toep ? n : 0;
    }
    if (!w->toep) return false;
    *p = (struct toep){.m = m, .n = n};
    p->rhs = w->toep;
    p->u = p->rhs + n * COLUMNS;
    p->w = p->u + n * MAX_RANK;
    p->first = p->w + n * COLUMNS;
    p->scratch = p->first + n;
    return true;
}

/* Right hand sides: y, the rank-one vectors, unit vectors of the gaps. */
static void load(struct toep *p, struct smodel_work *w, const double *z) {
    const struct smodel *m = p->m;
    const struct smodel_data *d = m->data;
    size_t n = p->n;
    memset(p->rhs, 0, n * COLUMNS * sizeof(double));
    memset(p->u, 0, n * MAX_RANK * sizeof(double));
    for (size_t i = 0; i < d->n; i++) p->rhs[d->g[i]] = m->y[i];
    for (int k = 0; k < m->n_terms; k++) {
        if (!smodel_has_u(m, k)) continue;
        double *u = p->u + (size_t)p->n_rank * n;
        smodel_u(m, z, k, d->t, d->n, w->col);
        for (size_t i = 0; i < d->n; i++) u[d->g[i]] = w->col[i];
        memcpy(p->rhs + (size_t)(1 + p->n_rank) * n, u, n * sizeof(double));
        p->term[p->n_rank++] = k;
    }
    size_t next = 0;
    for (size_t i = 0; i < n; i++) {
        if (next < d->n && (size_t)d->g[next] == i) {
            next++;
            continue;
        }
        p->rhs[(size_t)(1 + p->n_rank + p->n_gaps) * n + i] = 1;
        p->gap[p->n_gaps++] = i;
    }
}

static void table(const struct smodel *m, struct smodel_work *w, const double *z) {
    const struct smodel_data *d = m->data;
    for (size_t i = 0; i < d->m; i++) w->sum[i] = 1;
    for (int k = 0; k < m->n_terms; k++) {
        if (smodel_has_u(m, k)) continue;
        smodel_table(m, z, k, d->d, d->m, w->tab[k], w->rest[k]);
        la_axpy(d->m, exp(2 * z[m->term[k].sd]), w->tab[k], w->sum);
    }
    w->sum[0] += exp(2 * z[0]) + NOISE_FLOOR;
}

/* x -= sum_c w_c (w_c' x0), with x = T^-1 x0 on entry: K^-1 x0 as far as the columns go. */
static void correct(const struct toep *p, const double *x0, double *x) {
    for (int c = 0; c < p->n_w; c++) {
        const double *w = p->w + (size_t)c * p->n;
        la_axpy(p->n, -la_dot(p->n, w, x0), w, x);
    }
}

/* Gaps one after the other: w = q / sqrt(q_i), q = (current inverse) e_i. */
static bool eliminate_gaps(struct toep *p, double *logdet) {
    size_t n = p->n;
    for (int k = 0; k < p->n_gaps; k++) {
        double *q = p->rhs + (size_t)(1 + p->n_rank + k) * n, *w = p->w + (size_t)p->n_w * n;
        for (int c = 0; c < p->n_w; c++) {
            const double *v = p->w + (size_t)c * n;
            la_axpy(n, -v[p->gap[k]], v, q);
        }
        double r = q[p->gap[k]];
        if (!(r > 0)) return false;
        *logdet += log(r);
        for (size_t i = 0; i < n; i++) w[i] = q[i] / sqrt(r);
        p->n_w++;
    }
    return true;
}

static bool add_rank_one(struct toep *p, const double *z, double *logdet) {
    size_t n = p->n;
    for (int k = 0; k < p->n_rank; k++) {
        double *q = p->rhs + (size_t)(1 + k) * n, *w = p->w + (size_t)p->n_w * n;
        const double *u = p->u + (size_t)k * n;
        double s2 = exp(2 * z[p->m->term[p->term[k]].sd]);
        memcpy(w, q, n * sizeof *w);
        correct(p, u, w);
        double kappa = 1 / s2 + la_dot(n, u, w);
        if (!(kappa > 0)) return false;
        *logdet += log(s2 * kappa);
        for (size_t i = 0; i < n; i++) w[i] /= sqrt(kappa);
        p->n_w++;
    }
    return true;
}

/* Checks K alpha = y at a few rows: Levinson loses digits when K is nearly singular. */
static bool accurate(const struct toep *p, const struct smodel_work *w, const double *z,
                     const double *alpha) {
    const struct smodel_data *d = p->m->data;
    for (size_t k = 0; k < 4; k++) {
        size_t row = (d->n - 1) * k / 3, i = (size_t)d->g[row];
        double s = 0;
        for (size_t j = 0; j < p->n; j++) s += w->sum[i > j ? i - j : j - i] * alpha[j];
        for (int r = 0; r < p->n_rank; r++) {
            const double *u = p->u + (size_t)r * p->n;
            s += exp(2 * z[p->m->term[p->term[r]].sd]) * u[i] * la_dot(p->n, u, alpha);
        }
        if (!(fabs(s - p->m->y[row]) < 1e-6)) return false;
    }
    return true;
}

static void grad_rank_one(struct toep *p, struct smodel_work *w, const double *z,
                          const double *alpha, double *grad) {
    const struct smodel *m = p->m;
    const struct smodel_data *d = m->data;
    size_t n = p->n;
    for (int r = 0; r < p->n_rank; r++) {
        int k = p->term[r];
        const double *u = p->u + (size_t)r * n;
        double *q = p->rhs + (size_t)(1 + r) * n, s2 = exp(2 * z[m->term[k].sd]);
        correct(p, u, q);
        double ua = la_dot(n, u, alpha);
        grad[m->term[k].sd] += s2 * (ua * ua - la_dot(n, u, q));
        int par[3], np = smodel_du(m, z, k, d->t, d->n, par, w->du);
        for (int c = 0; c < np; c++) {
            double x = 0;
            for (size_t i = 0; i < d->n; i++) x += w->du[c][i] * (ua * alpha[d->g[i]] - q[d->g[i]]);
            grad[par[c]] += s2 * x;
        }
    }
}

static void grad_stationary(const struct toep *p, struct smodel_work *w, const double *z,
                            const double *alpha, double *grad) {
    const struct smodel *m = p->m;
    const struct smodel_data *d = m->data;
    toeplitz_inverse_sums(p->n, p->first, w->s, p->scratch);
    for (size_t l = 0; l < p->n; l++) w->s[l] = -w->s[l];
    toeplitz_add_correlation(p->n, 1, alpha, w->s);
    for (int c = 0; c < p->n_w; c++)
        toeplitz_add_correlation(p->n, 1, p->w + (size_t)c * p->n, w->s);
    for (size_t l = 1; l < p->n; l++) w->s[l] *= 2;
    grad[0] += exp(2 * z[0]) * w->s[0];
    for (int k = 0; k < m->n_terms; k++) {
        if (smodel_has_u(m, k)) continue;
        const struct sterm *e = &m->term[k];
        double s2 = exp(2 * z[e->sd]);
        grad[e->sd] += s2 * la_dot(d->m, w->tab[k], w->s);
        int pars[4] = {e->l, e->alpha, e->period, e->lper};
        for (int q = 0; q < 4; q++) {
            if (pars[q] < 0) continue;
            smodel_dtable(m, z, k, pars[q], d->d, d->m, w->tab[k], w->rest[k], w->dtab);
            grad[pars[q]] += 0.5 * s2 * la_dot(d->m, w->dtab, w->s);
        }
    }
}

double smodel_toeplitz(const struct smodel *m, struct smodel_work *w, const double *z, double *grad,
                       bool *ok) {
    struct toep p;
    *ok = false;
    if (!bind(&p, m, w)) return 0;
    table(m, w, z);
    load(&p, w, z);
    double logdet;
    size_t columns = (size_t)(1 + p.n_rank + p.n_gaps);
    if (toeplitz_solve(p.n, w->sum, columns, p.rhs, p.first, &logdet, p.scratch) != GPM_OK ||
        !eliminate_gaps(&p, &logdet) || !add_rank_one(&p, z, &logdet))
        return 0;
    double *alpha = p.rhs, *y = p.scratch, quad = 0;
    memset(y, 0, p.n * sizeof *y);
    for (size_t i = 0; i < m->data->n; i++) y[m->data->g[i]] = m->y[i];
    correct(&p, y, alpha);
    for (int k = 0; k < p.n_gaps; k++) alpha[p.gap[k]] = 0;
    quad = la_dot(p.n, y, alpha);
    if (!accurate(&p, w, z, alpha)) return 0;
    *ok = true;
    if (grad) {
        grad_rank_one(&p, w, z, alpha, grad);
        grad_stationary(&p, w, z, alpha, grad);
    }
    return -0.5 * quad - 0.5 * logdet - (double)m->data->n * 0.91893853320467274;
}
