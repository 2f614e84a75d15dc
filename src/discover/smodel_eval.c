/* SPDX-License-Identifier: Apache-2.0
 *
 * Log posterior density of a structure's parameters and its gradient, the dense way:
 *   log N(y; 0, K) and d/dz = 1/2 sum_ij M_ij dK_ij/dz,  M = alpha alpha' - K^-1.
 * For terms without a multiplier u only the sums of M over equal distances are needed.
 */
#include "base/mem.h"
#include "la/blas.h"
#include "discover/smodel_priv.h"
#include <math.h>
#include <string.h>

#define HAS(mask, f) ((mask)&FACTOR_BIT(f))

/* ---- workspace ---- */
struct smodel_work *smodel_work_new(const struct smodel_data *data) {
    struct smodel_work *w = NEW(struct smodel_work);
    /* a grid may be longer than the data (gaps) or shorter (repeated times) */
    size_t n = data->n, m = data->m, big = data->grid && data->ng > n ? data->ng : n;
    w->data = data;
    bool ok = (w->k = mem_try_doubles(n * n)) != NULL;
    for (int i = 0; i < STRUCTURE_MAX_TERMS && ok; i++)
        ok = (w->tab[i] = mem_try_doubles(m)) && (w->rest[i] = mem_try_doubles(m)) &&
             (w->u[i] = mem_try_doubles(big));
    ok = ok && (w->sum = mem_try_doubles(m)) && (w->s = mem_try_doubles(m)) &&
         (w->dtab = mem_try_doubles(m)) && (w->alpha = mem_try_doubles(big)) &&
         (w->col = mem_try_doubles(big)) && (w->tmp = mem_try_doubles(big));
    for (int i = 0; i < 3 && ok; i++) ok = (w->du[i] = mem_try_doubles(big)) != NULL;
    if (ok) return w;
    smodel_work_free(w);
    return NULL;
}

void smodel_work_free(struct smodel_work *w) {
    if (!w) return;
    mem_free(w->k);
    for (int i = 0; i < STRUCTURE_MAX_TERMS; i++) {
        mem_free(w->tab[i]);
        mem_free(w->rest[i]);
        mem_free(w->u[i]);
    }
    for (int i = 0; i < 3; i++) mem_free(w->du[i]);
    mem_free(w->sum);
    mem_free(w->s);
    mem_free(w->dtab);
    mem_free(w->alpha);
    mem_free(w->col);
    mem_free(w->tmp);
    mem_free(w->toep);
    mem_free(w);
}

long smodel_work_evals(const struct smodel_work *w) {
    return w->evals;
}

/* ---- tables and columns ---- */
/* The table's values for rows j..n-1 of column j, contiguous. */
static const double *column(const struct smodel_data *d, const double *tab, size_t j,
                            double *scratch) {
    if (!d->grid) return tab + j * d->n - j * (j - 1) / 2;
    if (d->no_gaps) return tab;
    for (size_t i = j; i < d->n; i++) scratch[i - j] = tab[d->g[i] - d->g[j]];
    return scratch;
}

/* s[distance] += v for rows j..n-1 of column j. */
static void scatter(const struct smodel_data *d, double *s, size_t j, const double *v) {
    size_t n = d->n - j;
    if (d->grid && !d->no_gaps) {
        for (size_t i = 0; i < n; i++) s[d->g[j + i] - d->g[j]] += v[i];
        return;
    }
    double *p = d->grid ? s : s + (size_t)(column(d, s, j, NULL) - s);
    for (size_t i = 0; i < n; i++) p[i] += v[i];
}

static bool plain_term(const struct smodel *m, int k) {
    unsigned mask = m->term[k].mask;
    return !smodel_has_u(m, k) && !HAS(mask, FACTOR_W) && !HAS(mask, FACTOR_IW);
}

static void prepare(const struct smodel *m, struct smodel_work *w, const double *z) {
    const struct smodel_data *d = m->data;
    for (size_t i = 0; i < d->m; i++) w->sum[i] = 1; /* the constant */
    for (int k = 0; k < m->n_terms; k++) {
        if (smodel_stationary_pars(m, k)) smodel_table(m, z, k, d->d, d->m, w->tab[k], w->rest[k]);
        if (plain_term(m, k)) {
            double s2 = exp(2 * z[m->term[k].sd]);
            for (size_t i = 0; i < d->m; i++) w->sum[i] += s2 * w->tab[k][i];
        } else {
            smodel_u(m, z, k, d->t, d->n, w->u[k]);
        }
    }
}

/* v_i *= B(t_i, t_j) for rows j.. of column j (t ascending, so the smaller time is t_j). */
static void times_pair(const struct sterm *e, const double *t, size_t j, size_t n, double *v) {
    double a = t[j];
    if (HAS(e->mask, FACTOR_W))
        for (size_t i = 0; i < n; i++) v[i] *= a;
    else if (HAS(e->mask, FACTOR_IW))
        for (size_t i = 0; i < n; i++) v[i] *= a * a * (a / 3 + (t[j + i] - a) / 2);
}

/* v_i = A(i,j) B(i,j), or 1 where a term has neither. */
static void shape_column(const struct smodel *m, struct smodel_work *w, int k, size_t j,
                         double *v) {
    const struct smodel_data *d = m->data;
    size_t n = d->n - j;
    if (smodel_stationary_pars(m, k)) {
        const double *c = column(d, w->tab[k], j, w->tmp);
        memcpy(v, c, n * sizeof *v);
    } else {
        for (size_t i = 0; i < n; i++) v[i] = 1;
    }
    times_pair(&m->term[k], d->t, j, n, v);
}

static void add_term(const struct smodel *m, struct smodel_work *w, const double *z, int k) {
    const struct smodel_data *d = m->data;
    double s2 = exp(2 * z[m->term[k].sd]);
    if (HAS(m->term[k].mask, FACTOR_WN)) {
        for (size_t j = 0; j < d->n; j++) w->k[j + j * d->n] += s2 * w->u[k][j] * w->u[k][j];
        return;
    }
    for (size_t j = 0; j < d->n; j++) {
        shape_column(m, w, k, j, w->col);
        double f = s2 * w->u[k][j], *a = w->k + j + j * d->n;
        const double *u = w->u[k] + j;
        for (size_t i = 0; i < d->n - j; i++) a[i] += f * u[i] * w->col[i];
    }
}

static void fill(const struct smodel *m, struct smodel_work *w, const double *z) {
    const struct smodel_data *d = m->data;
    for (size_t j = 0; j < d->n; j++)
        memcpy(w->k + j + j * d->n, column(d, w->sum, j, w->tmp), (d->n - j) * sizeof *w->k);
    double noise = exp(2 * z[0]) + NOISE_FLOOR;
    for (size_t j = 0; j < d->n; j++) w->k[j + j * d->n] += noise;
    for (int k = 0; k < m->n_terms; k++)
        if (!plain_term(m, k)) add_term(m, w, z, k);
}

/* ---- gradient ---- */
/* K^-1 (lower) becomes M, off-diagonal elements doubled: sums over the triangle are then sums over
 * the whole matrix. */
static void make_m(const struct smodel_data *d, double *k, const double *alpha) {
    for (size_t j = 0; j < d->n; j++) {
        double *a = k + j + j * d->n, f = 2 * alpha[j];
        a[0] = alpha[j] * alpha[j] - a[0];
        for (size_t i = 1; i < d->n - j; i++) a[i] = f * alpha[j + i] - 2 * a[i];
    }
}

static void distance_sums(const struct smodel *m, struct smodel_work *w) {
    const struct smodel_data *d = m->data;
    memset(w->s, 0, d->m * sizeof *w->s);
    for (size_t j = 0; j < d->n; j++) scatter(d, w->s, j, w->k + j + j * d->n);
}

/* Parameters inside A: 1/2 s^2 sum_distance A'(d) S(d). */
static void grad_table(const struct smodel *m, struct smodel_work *w, const double *z, int k,
                       double *grad) {
    const struct sterm *e = &m->term[k];
    const struct smodel_data *d = m->data;
    double s2 = exp(2 * z[e->sd]);
    int pars[4] = {e->l, e->alpha, e->period, e->lper};
    for (int q = 0; q < 4; q++) {
        if (pars[q] < 0) continue;
        smodel_dtable(m, z, k, pars[q], d->d, d->m, w->tab[k], w->rest[k], w->dtab);
        grad[pars[q]] += 0.5 * s2 * la_dot(d->m, w->dtab, w->s);
    }
}

static void grad_noise_term(const struct smodel *m, struct smodel_work *w, const double *z, int k,
                            double *grad) {
    const struct smodel_data *d = m->data;
    double s2 = exp(2 * z[m->term[k].sd]);
    int par[3], np = smodel_du(m, z, k, d->t, d->n, par, w->du);
    for (size_t j = 0; j < d->n; j++) {
        double mjj = w->k[j + j * d->n], u = w->u[k][j];
        grad[m->term[k].sd] += s2 * mjj * u * u;
        for (int q = 0; q < np; q++) grad[par[q]] += s2 * mjj * u * w->du[q][j];
    }
}

/* A term with u or a pair factor: one pass over the triangle. */
static void grad_term(const struct smodel *m, struct smodel_work *w, const double *z, int k,
                      double *grad) {
    const struct smodel_data *d = m->data;
    double s2 = exp(2 * z[m->term[k].sd]), gs = 0, gu[3] = {0, 0, 0};
    int par[3], np = smodel_du(m, z, k, d->t, d->n, par, w->du);
    bool table = smodel_stationary_pars(m, k);
    if (table) memset(w->s, 0, d->m * sizeof *w->s);
    for (size_t j = 0; j < d->n; j++) {
        size_t n = d->n - j;
        const double *mj = w->k + j + j * d->n, *u = w->u[k] + j;
        shape_column(m, w, k, j, w->col);
        for (int q = 0; q < np; q++) {
            const double *du = w->du[q] + j;
            double x = 0;
            for (size_t i = 0; i < n; i++) x += mj[i] * w->col[i] * (du[i] * u[0] + u[i] * du[0]);
            gu[q] += x;
        }
        double x = 0;
        for (size_t i = 0; i < n; i++) x += mj[i] * w->col[i] * u[i];
        gs += x * u[0];
        if (!table) continue;
        for (size_t i = 0; i < n; i++) w->col[i] = mj[i] * u[i] * u[0];
        times_pair(&m->term[k], d->t, j, n, w->col);
        scatter(d, w->s, j, w->col);
    }
    grad[m->term[k].sd] += s2 * gs;
    for (int q = 0; q < np; q++) grad[par[q]] += 0.5 * s2 * gu[q];
    if (table) grad_table(m, w, z, k, grad);
}

static void gradient(const struct smodel *m, struct smodel_work *w, const double *z, double *grad) {
    const struct smodel_data *d = m->data;
    la_potri(d->n, w->k, d->n);
    make_m(d, w->k, w->alpha);
    double trace = 0;
    for (size_t j = 0; j < d->n; j++) trace += w->k[j + j * d->n];
    grad[0] += exp(2 * z[0]) * trace;
    distance_sums(m, w);
    for (int k = 0; k < m->n_terms; k++) {
        if (!plain_term(m, k)) continue;
        grad[m->term[k].sd] += exp(2 * z[m->term[k].sd]) * la_dot(d->m, w->tab[k], w->s);
        grad_table(m, w, z, k, grad);
    }
    for (int k = 0; k < m->n_terms; k++) {
        if (plain_term(m, k)) continue;
        if (HAS(m->term[k].mask, FACTOR_WN))
            grad_noise_term(m, w, z, k, grad);
        else
            grad_term(m, w, z, k, grad);
    }
}

static double dense(const struct smodel *m, struct smodel_work *w, const double *z, double *grad) {
    const struct smodel_data *d = m->data;
    prepare(m, w, z);
    fill(m, w, z);
    size_t pivot;
    if (la_potrf(d->n, w->k, d->n, &pivot) != GPM_OK) return -INFINITY;
    double ld = 0, quad;
    for (size_t j = 0; j < d->n; j++) ld += log(w->k[j + j * d->n]);
    memcpy(w->alpha, m->y, d->n * sizeof *w->alpha);
    la_trsv(false, d->n, w->k, d->n, w->alpha);
    quad = la_dot(d->n, w->alpha, w->alpha);
    double ll = -0.5 * quad - ld - (double)d->n * 0.91893853320467274;
    if (!isfinite(ll)) return -INFINITY;
    if (grad) {
        la_trsv(true, d->n, w->k, d->n, w->alpha);
        gradient(m, w, z, grad);
    }
    return ll;
}

enum gpm_status smodel_factor(const struct smodel *m, struct smodel_work *w, const double *z,
                              const double **l, const double **alpha) {
    const struct smodel_data *d = m->data;
    size_t pivot;
    prepare(m, w, z);
    fill(m, w, z);
    enum gpm_status st = la_potrf(d->n, w->k, d->n, &pivot);
    if (st != GPM_OK) return st;
    memcpy(w->alpha, m->y, d->n * sizeof *w->alpha);
    la_trsv(false, d->n, w->k, d->n, w->alpha);
    la_trsv(true, d->n, w->k, d->n, w->alpha);
    *l = w->k;
    *alpha = w->alpha;
    return GPM_OK;
}

static bool in_range(const struct smodel *m, const double *z) {
    for (int i = 0; i < m->d; i++)
        if (!(fabs(z[i]) < 30)) return false;
    return true;
}

double smodel_eval(const struct smodel *m, struct smodel_work *w, const double *z, double *grad) {
    w->evals++;
    if (!in_range(m, z)) return -INFINITY;
    bool ok = false;
    double ll = 0;
    if (grad) memset(grad, 0, sizeof *grad * (size_t)m->d);
    if (m->toeplitz) ll = smodel_toeplitz(m, w, z, grad, &ok);
    w->fast += ok;
    w->fallback += m->toeplitz && !ok;
    if (!ok) {
        if (grad) memset(grad, 0, sizeof *grad * (size_t)m->d);
        ll = dense(m, w, z, grad);
    }
    if (!isfinite(ll)) return -INFINITY;
    return ll + smodel_log_prior(m, z, grad);
}
