/* SPDX-License-Identifier: Apache-2.0
 *
 * Likelihood and gradient in O(N^2) on a regular grid of N points.
 *
 * Stationary terms, constant and noise make a Toeplitz matrix. A Wiener term becomes stationary
 * after one difference, an integrated Wiener term after two; differencing is a linear map of
 * determinant 1, so the density does not change. With q differences the first q values stay as a
 * border: y~ = (y_0, y_1 - y_0, second differences ...), and
 *
 *   K~^-1 = T^-1 + sum_c sign_c w_c w_c'
 *
 * with T the Toeplitz part, one column (sign +) for each border row (block elimination), one
 * (sign -) for each rank-one term s^2 u u' (Sherman-Morrison) and each gap. A value that is not
 * there is one that may be anything: a rank-one term along u = (differences of the unit vector)
 * whose variance grows without limit, its log taken out of the determinant.
 * Then M = alpha alpha' - K~^-1, and the gradient needs only its sums along diagonals: sums of T^-1
 * by Gohberg-Semencul, autocorrelations of the rest, pulled back to the table K(lag) by the adjoint
 * of the differencing.
 */
#include "base/mem.h"
#include "la/blas.h"
#include "la/toeplitz.h"
#include "discover/smodel_priv.h"
#include <math.h>
#include <string.h>

#define HAS(mask, f) ((mask)&FACTOR_BIT(f))
#define MAX_BORDER   2
#define MAX_RANK     (STRUCTURE_MAX_TERMS + TOEPLITZ_MAX_GAPS)
#define MAX_COLUMNS  (MAX_RANK + MAX_BORDER)

struct toep {
    const struct smodel *m;
    size_t n, nt;  /* grid length; size of the Toeplitz part */
    int q;         /* differences */
    double *rhs;   /* 1 + MAX_COLUMNS columns of nt: T^-1 of y, u's, borders */
    double *y;     /* n: differenced data */
    double *u;     /* MAX_RANK columns of n: rank-one vectors, differenced */
    double *w;     /* correction columns of n */
    double *cov;   /* MAX_BORDER columns of nt: covariances of the border with the rest */
    double *r;     /* nt: first column of T */
    double *first; /* nt: first column of T^-1 */
    double *alpha; /* n */
    double *scratch;
    double border[MAX_BORDER][MAX_BORDER]; /* covariance of the border values */
    double sign[MAX_COLUMNS];
    int term[MAX_RANK], n_rank, n_w; /* term -1: a gap */
};

int smodel_differences(const struct smodel *m) {
    int q = 0;
    for (int k = 0; k < m->n_terms; k++) {
        if (HAS(m->term[k].mask, FACTOR_W) && q < 1) q = 1;
        if (HAS(m->term[k].mask, FACTOR_IW)) q = 2;
    }
    return q;
}

static bool bind(struct toep *p, const struct smodel *m, struct smodel_work *w) {
    size_t n = m->data->ng;
    if (w->toep_n < n) {
        mem_free(w->toep);
        w->toep =
            mem_try_doubles(n * (1 + MAX_COLUMNS + 1 + MAX_RANK + MAX_COLUMNS + MAX_BORDER + 6));
        w->toep_n = w->toep ? n : 0;
    }
    if (!w->toep) return false;
    *p = (struct toep){.m = m, .n = n, .q = smodel_differences(m)};
    p->nt = n - (size_t)p->q;
    p->rhs = w->toep;
    p->y = p->rhs + n * (1 + MAX_COLUMNS);
    p->u = p->y + n;
    p->w = p->u + n * MAX_RANK;
    p->cov = p->w + n * MAX_COLUMNS;
    p->r = p->cov + n * MAX_BORDER;
    p->first = p->r + n;
    p->alpha = p->first + n;
    p->scratch = p->alpha + n;
    return true;
}

/* In place: v_0, v_1 - v_0, then differences of order q. */
static void difference(double *v, size_t n, int q) {
    for (int pass = 0; pass < q; pass++)
        for (size_t i = n - 1; i > (size_t)pass; i--) v[i] -= v[i - 1];
}

/* ---- the matrix ---- */
/* K(lag) without the constant, which differencing removes but for the first value. */
static void table(const struct toep *p, struct smodel_work *w, const double *z) {
    const struct smodel *m = p->m;
    const struct smodel_data *d = m->data;
    double constant = p->q ? 0 : 1;
    for (size_t i = 0; i < d->m; i++) w->sum[i] = constant;
    for (int k = 0; k < m->n_terms; k++) {
        if (!smodel_stationary_pars(m, k)) continue;
        smodel_table(m, z, k, d->d, d->m, w->tab[k], w->rest[k]);
        la_axpy(d->m, exp(2 * z[m->term[k].sd]), w->tab[k], w->sum);
    }
    w->sum[0] += exp(2 * z[0]) + NOISE_FLOOR;
}

static double *column(const struct toep *p, int c) {
    return p->rhs + (size_t)c * p->nt;
}

/* First column of T and the border's covariances (into the right hand sides at `b`). */
static void difference_table(struct toep *p, const double *k, int b) {
    size_t nt = p->nt;
    if (p->q == 0) memcpy(p->r, k, nt * sizeof *k);
    if (p->q == 1) {
        double *c = column(p, b);
        for (size_t l = 0; l < nt; l++) {
            p->r[l] = 2 * k[l] - k[l ? l - 1 : 1] - k[l + 1];
            c[l] = k[l + 1] - k[l];
        }
        p->border[0][0] = k[0] + 1;
    }
    if (p->q == 2) {
        double *c0 = column(p, b), *c1 = column(p, b + 1);
        for (size_t l = 0; l < nt; l++) {
            double a = k[l >= 2 ? l - 2 : 2 - l], e = k[l ? l - 1 : 1];
            p->r[l] = (6 * k[l] - 4 * (e + k[l + 1])) + (a + k[l + 2]);
            c0[l] = k[l + 2] - 2 * k[l + 1] + k[l];
            c1[l] = (k[l + 1] - 2 * k[l] + e) - c0[l];
        }
        p->border[0][0] = k[0] + 1;
        p->border[0][1] = p->border[1][0] = k[1] - k[0];
        p->border[1][1] = 2 * (k[0] - k[1]);
    }
}

/* Wiener terms after differencing: increments s^2 dt are independent; second differences of the
 * integrated one have variance 2/3 and covariance 1/6 of s^2 dt^3. */
static void add_wiener(struct toep *p, const double *z, int b) {
    const struct smodel *m = p->m;
    double dt = m->data->dt;
    for (int k = 0; k < m->n_terms; k++) {
        double s2 = exp(2 * z[m->term[k].sd]);
        double *c1 = p->q == 2 ? column(p, b + 1) : NULL;
        if (HAS(m->term[k].mask, FACTOR_W) && p->q == 1) p->r[0] += s2 * dt;
        if (HAS(m->term[k].mask, FACTOR_W) && p->q == 2) {
            p->r[0] += 2 * s2 * dt;
            p->r[1] -= s2 * dt;
            p->border[1][1] += s2 * dt;
            c1[0] -= s2 * dt;
        }
        if (HAS(m->term[k].mask, FACTOR_IW)) {
            double v = s2 * dt * dt * dt;
            p->r[0] += v * 2 / 3;
            p->r[1] += v / 6;
            p->border[1][1] += v / 3;
            c1[0] += v / 6;
        }
    }
}

/* ---- right hand sides ---- */
/* The next rank-one vector, zero. */
static double *new_rank(struct toep *p, int term) {
    double *u = p->u + (size_t)p->n_rank * p->n;
    p->term[p->n_rank++] = term;
    memset(u, 0, p->n * sizeof *u);
    return u;
}

static void load_ranks(struct toep *p, struct smodel_work *w, const double *z) {
    const struct smodel *m = p->m;
    const struct smodel_data *d = m->data;
    for (int k = 0; k < m->n_terms; k++) {
        if (!smodel_has_u(m, k)) continue;
        double *u = new_rank(p, k);
        smodel_u(m, z, k, d->t, d->n, w->col);
        for (size_t i = 0; i < d->n; i++) u[d->g[i]] = w->col[i];
    }
    size_t next = 0;
    for (size_t i = 0; i < p->n && !d->no_gaps; i++) {
        if (next < d->n && (size_t)d->g[next] == i)
            next++;
        else
            new_rank(p, -1)[i] = 1;
    }
}

static void load(struct toep *p, struct smodel_work *w, const double *z) {
    const struct smodel_data *d = p->m->data;
    size_t n = p->n, q = (size_t)p->q;
    memset(p->y, 0, n * sizeof *p->y);
    for (size_t i = 0; i < d->n; i++) p->y[d->g[i]] = p->m->y[i];
    difference(p->y, n, p->q);
    memcpy(column(p, 0), p->y + q, p->nt * sizeof(double));
    load_ranks(p, w, z);
    for (int r = 0; r < p->n_rank; r++) {
        double *u = p->u + (size_t)r * n;
        difference(u, n, p->q);
        memcpy(column(p, 1 + r), u + q, p->nt * sizeof(double));
    }
}

/* ---- the inverse ---- */
/* x += sum_c sign_c w_c (w_c' x0), with x = T^-1 x0 on entry. */
static void correct(const struct toep *p, const double *x0, double *x) {
    for (int c = 0; c < p->n_w; c++) {
        const double *w = p->w + (size_t)c * p->n;
        la_axpy(p->n, p->sign[c] * la_dot(p->n, w, x0), w, x);
    }
}

static double *new_column(struct toep *p, double sign) {
    p->sign[p->n_w] = sign;
    double *w = p->w + (size_t)p->n_w * p->n;
    memset(w, 0, p->n * sizeof *w);
    return w;
}

/* Border values from the last to the first: w = (1, -K^-1 g) / sqrt(k - g' K^-1 g), g the
 * covariances with what is already inside. */
static bool add_borders(struct toep *p, int b, double *logdet) {
    size_t q = (size_t)p->q;
    for (size_t k = q; k-- > 0;) {
        double *w = new_column(p, 1), *g = p->scratch;
        memset(g, 0, q * sizeof *g);
        for (size_t j = k + 1; j < q; j++) g[j] = p->border[k][j];
        memcpy(g + q, p->cov + k * p->nt, p->nt * sizeof *g);
        memcpy(w + q, column(p, b + (int)k), p->nt * sizeof *w);
        correct(p, g, w);
        double schur = p->border[k][k] - la_dot(p->n, g, w);
        if (!(schur > 0)) return false;
        *logdet += log(schur);
        for (size_t i = 0; i < p->n; i++) w[i] = -w[i] / sqrt(schur);
        w[k] = 1 / sqrt(schur);
        p->n_w++;
    }
    return true;
}

static bool add_rank_one(struct toep *p, const double *z, double *logdet) {
    for (int k = 0; k < p->n_rank; k++) {
        const double *u = p->u + (size_t)k * p->n;
        bool gap = p->term[k] < 0;
        double *w = new_column(p, -1), s2 = gap ? 1 : exp(2 * z[p->m->term[p->term[k]].sd]);
        memcpy(w + p->q, column(p, 1 + k), p->nt * sizeof *w);
        correct(p, u, w);
        double kappa = (gap ? 0 : 1 / s2) + la_dot(p->n, u, w);
        if (!(kappa > 0)) return false;
        *logdet += log(s2 * kappa);
        for (size_t i = 0; i < p->n; i++) w[i] /= sqrt(kappa);
        p->n_w++;
    }
    return true;
}

/* A gap leaves row i of K~ alpha = y~ free. */
static bool free_row(const struct toep *p, size_t i) {
    for (int r = 0; r < p->n_rank; r++)
        if (p->term[r] < 0 && p->u[(size_t)r * p->n + i] != 0) return true;
    return false;
}

/* Checks K~ alpha = y~ at a few rows: Levinson loses digits when T is nearly singular. */
static bool accurate(const struct toep *p, const double *z) {
    size_t q = (size_t)p->q;
    for (size_t k = 0; k < 4; k++) {
        size_t row = (p->nt - 1) * k / 3;
        if (free_row(p, q + row)) continue;
        double s = 0, scale = fabs(p->y[q + row]) + 1e-3;
        for (size_t j = 0; j < p->nt; j++) s += p->r[row > j ? row - j : j - row] * p->alpha[q + j];
        for (size_t b = 0; b < q; b++) s += p->cov[b * p->nt + row] * p->alpha[b];
        for (int r = 0; r < p->n_rank; r++) {
            const double *u = p->u + (size_t)r * p->n;
            if (p->term[r] < 0) continue;
            s += exp(2 * z[p->m->term[p->term[r]].sd]) * u[q + row] * la_dot(p->n, u, p->alpha);
        }
        if (!(fabs(s - p->y[q + row]) < 1e-5 * scale)) return false;
    }
    return true;
}

/* ---- gradient ---- */
static void grad_rank_one(struct toep *p, struct smodel_work *w, const double *z, double *grad) {
    const struct smodel *m = p->m;
    const struct smodel_data *d = m->data;
    for (int r = 0; r < p->n_rank; r++) {
        int k = p->term[r];
        if (k < 0) continue;
        const double *u = p->u + (size_t)r * p->n;
        double *x = p->scratch, s2 = exp(2 * z[m->term[k].sd]), ua = la_dot(p->n, u, p->alpha);
        memset(x, 0, p->n * sizeof *x);
        memcpy(x + p->q, column(p, 1 + r), p->nt * sizeof *x);
        correct(p, u, x);
        grad[m->term[k].sd] += s2 * (ua * ua - la_dot(p->n, u, x));
        int par[3], np = smodel_du(m, z, k, d->t, d->n, par, w->du);
        for (int c = 0; c < np; c++) {
            memset(w->col, 0, p->n * sizeof *w->col);
            for (size_t i = 0; i < d->n; i++) w->col[d->g[i]] = w->du[c][i];
            difference(w->col, p->n, p->q);
            double a = la_dot(p->n, w->col, p->alpha), b = la_dot(p->n, w->col, x);
            grad[par[c]] += s2 * (ua * a - b);
        }
    }
}

/* M(b, i) for a border row: T^-1 has no part in it. */
static double border_m(const struct toep *p, size_t b, size_t i) {
    double s = p->alpha[b] * p->alpha[i];
    for (int c = 0; c < p->n_w; c++)
        s -= p->sign[c] * p->w[(size_t)c * p->n + b] * p->w[(size_t)c * p->n + i];
    return s;
}

/* Sums of M over equal lags of the Toeplitz part (both triangles) into g. */
static void diagonal_sums(const struct toep *p, double *g) {
    size_t q = (size_t)p->q;
    toeplitz_inverse_sums(p->nt, p->first, g, p->scratch);
    for (size_t l = 0; l < p->nt; l++) g[l] = -g[l];
    toeplitz_add_correlation(p->nt, 1, p->alpha + q, g);
    for (int c = 0; c < p->n_w; c++)
        toeplitz_add_correlation(p->nt, -p->sign[c], p->w + (size_t)c * p->n + q, g);
    for (size_t l = 1; l < p->nt; l++) g[l] *= 2;
}

/* s[lag] = sum of M dK~/dK(lag): the adjoint of difference_table. */
static void pull_back(const struct toep *p, const double *g, double *s) {
    memset(s, 0, p->n * sizeof *s);
    if (p->q == 0) memcpy(s, g, p->n * sizeof *s);
    if (p->q == 1) {
        for (size_t l = 0; l < p->nt; l++) {
            double m = 2 * border_m(p, 0, 1 + l);
            s[l] += 2 * g[l] - m;
            s[l ? l - 1 : 1] -= g[l];
            s[l + 1] -= g[l] - m;
        }
        s[0] += border_m(p, 0, 0);
    }
    if (p->q == 2) {
        for (size_t l = 0; l < p->nt; l++) {
            double m0 = 2 * border_m(p, 0, 2 + l), m1 = 2 * border_m(p, 1, 2 + l);
            s[l] += 6 * g[l] + m0 - 3 * m1;
            s[l ? l - 1 : 1] += -4 * g[l] + m1;
            s[l + 1] += -4 * g[l] - 2 * m0 + 3 * m1;
            s[l >= 2 ? l - 2 : 2 - l] += g[l];
            s[l + 2] += g[l] + m0 - m1;
        }
        double b01 = 2 * border_m(p, 0, 1), b11 = border_m(p, 1, 1);
        s[0] += border_m(p, 0, 0) - b01 + 2 * b11;
        s[1] += b01 - 2 * b11;
    }
}

static void grad_wiener(const struct toep *p, const double *z, const double *g, double *grad) {
    const struct smodel *m = p->m;
    double dt = m->data->dt;
    for (int k = 0; k < m->n_terms; k++) {
        double s2 = exp(2 * z[m->term[k].sd]), x = 0;
        if (HAS(m->term[k].mask, FACTOR_W) && p->q == 1) x = dt * g[0];
        if (HAS(m->term[k].mask, FACTOR_W) && p->q == 2)
            x = dt * (2 * g[0] - g[1] + border_m(p, 1, 1) - 2 * border_m(p, 1, 2));
        if (HAS(m->term[k].mask, FACTOR_IW))
            x = dt * dt * dt *
                (g[0] * 2 / 3 + g[1] / 6 + border_m(p, 1, 1) / 3 + border_m(p, 1, 2) / 3);
        grad[m->term[k].sd] += s2 * x;
    }
}

static void grad_tables(const struct smodel *m, struct smodel_work *w, const double *z,
                        double *grad) {
    const struct smodel_data *d = m->data;
    grad[0] += exp(2 * z[0]) * w->s[0];
    for (int k = 0; k < m->n_terms; k++) {
        if (!smodel_stationary_pars(m, k)) continue;
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
    table(&p, w, z);
    load(&p, w, z);
    int b = 1 + p.n_rank;
    double logdet;
    difference_table(&p, w->sum, b);
    add_wiener(&p, z, b);
    memcpy(p.cov, column(&p, b), (size_t)p.q * p.nt * sizeof *p.cov);
    size_t columns = (size_t)(b + p.q);
    if (toeplitz_solve(p.nt, p.r, columns, p.rhs, p.first, &logdet, p.scratch) != GPM_OK ||
        !add_borders(&p, b, &logdet) || !add_rank_one(&p, z, &logdet))
        return 0;
    memset(p.alpha, 0, p.n * sizeof *p.alpha);
    memcpy(p.alpha + p.q, column(&p, 0), p.nt * sizeof *p.alpha);
    correct(&p, p.y, p.alpha);
    if (!accurate(&p, z)) return 0;
    *ok = true;
    if (grad) {
        grad_rank_one(&p, w, z, grad);
        diagonal_sums(&p, p.r);
        pull_back(&p, p.r, w->s);
        grad_wiener(&p, z, p.r, grad);
        grad_tables(m, w, z, grad);
    }
    double quad = la_dot(p.n, p.y, p.alpha);
    return -0.5 * quad - 0.5 * logdet - (double)m->data->n * 0.91893853320467274;
}
