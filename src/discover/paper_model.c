/* SPDX-License-Identifier: Apache-2.0
 *
 * Density of the paper's model. Every expanded kernel has the form
 *   K_ij = T0(d) + T1(d) x_i x_j + [i=j] (D0 + D1 x_i^2)
 * with tables over distances, so a gradient needs the sums of M = alpha alpha' - K^-1 over equal
 * distances, plain and weighted by x_i x_j, and of its diagonal. 1e-9 of the mean diagonal is
 * added: structures without noise are singular otherwise.
 */
#include "base/mem.h"
#include "la/blas.h"
#include "discover/paper.h"
#include <math.h>
#include <string.h>

#define HAS(mask, f) ((mask)&FACTOR_BIT(f))
#define JITTER       1e-9

struct paper_work {
    double *k, *t0, *t1, *s0, *s1, *se, *per, *tmp, *alpha, *dse, *dpp, *dpl;
    long evals;
};

static void set_distances(struct paper_data *d) {
    size_t n = d->n;
    d->step = (d->x[n - 1] - d->x[0]) / (double)(n - 1);
    d->grid = true;
    for (size_t i = 0; i < n; i++) /* months of 28 to 31 days are equal steps */
        d->grid &= fabs(d->x[i] - d->x[0] - d->step * (double)i) < 0.2 * d->step;
    d->m = d->grid ? n : n * (n + 1) / 2;
    d->d = NEW_ARRAY(double, d->m);
    if (d->grid)
        for (size_t l = 0; l < n; l++) d->d[l] = d->step * (double)l;
    size_t q = 0;
    for (size_t j = 0; j < n && !d->grid; j++)
        for (size_t i = j; i < n; i++) d->d[q++] = d->x[i] - d->x[j];
}

void paper_data_init(struct paper_data *d, const struct series *s, const struct paper_options *o) {
    memset(d, 0, sizeof *d);
    size_t n = d->n = s->n;
    d->x = NEW_ARRAY(double, n);
    d->y = NEW_ARRAY(double, n);
    double mx = 0, my = 0, ss = 0;
    for (size_t i = 0; i < n; i++) {
        mx += s->x[i] / (double)n;
        my += s->y[i] / (double)n;
    }
    for (size_t i = 0; i < n; i++) ss += (s->y[i] - my) * (s->y[i] - my) / (double)n;
    double f = o->y_sd > 0 ? o->y_sd / sqrt(ss) : 1;
    for (size_t i = 0; i < n; i++) {
        d->x[i] = o->x_scale * (s->x[i] - (o->raw_x ? 0 : mx));
        d->y[i] = f * (s->y[i] - my);
    }
    set_distances(d);
}

void paper_data_thin(struct paper_data *d, const struct paper_data *all) {
    memset(d, 0, sizeof *d);
    d->n = (all->n + 1) / 2;
    d->x = NEW_ARRAY(double, d->n);
    d->y = NEW_ARRAY(double, d->n);
    for (size_t i = 0; i < d->n; i++) {
        d->x[i] = all->x[2 * i];
        d->y[i] = all->y[2 * i];
    }
    set_distances(d);
}

void paper_data_release(struct paper_data *d) {
    mem_free(d->x);
    mem_free(d->y);
    mem_free(d->d);
    memset(d, 0, sizeof *d);
}

struct paper_work *paper_work_new(const struct paper_data *d) {
    struct paper_work *w = NEW(struct paper_work);
    double **tables[] = {&w->t0,  &w->t1,  &w->s0,  &w->s1, &w->se,
                         &w->per, &w->dse, &w->dpp, &w->dpl};
    bool ok = (w->k = mem_try_doubles(d->n * d->n)) && (w->tmp = mem_try_doubles(d->n)) &&
              (w->alpha = mem_try_doubles(d->n));
    for (size_t i = 0; i < COUNT_OF(tables) && ok; i++)
        ok = (*tables[i] = mem_try_doubles(d->m)) != NULL;
    if (ok) return w;
    paper_work_free(w);
    return NULL;
}

void paper_work_free(struct paper_work *w) {
    if (!w) return;
    double *all[] = {w->k,   w->t0,  w->t1,    w->s0,  w->s1,  w->se,
                     w->per, w->tmp, w->alpha, w->dse, w->dpp, w->dpl};
    for (size_t i = 0; i < COUNT_OF(all); i++) mem_free(all[i]);
    mem_free(w);
}

int paper_pars(const struct paper_kernel *k, int par[PAPER_PARS]) {
    int n = 0;
    if (HAS(k->leaves, FACTOR_LIN)) par[n++] = PP_LIN_S;
    if (HAS(k->leaves, FACTOR_SE)) par[n++] = PP_SE_S, par[n++] = PP_SE_L;
    if (HAS(k->leaves, FACTOR_PER)) par[n++] = PP_PER_S, par[n++] = PP_PER_P, par[n++] = PP_PER_L;
    if (HAS(k->leaves, FACTOR_WN)) par[n++] = PP_WN_S;
    return n;
}

/* Tables of SE and PER (amplitude 1) and the derivatives of their logs by log l and log p. */
static void leaf_tables(const struct paper_data *d, struct paper_work *w, const double *z) {
    double l = exp(z[PP_SE_L]), p = exp(z[PP_PER_P]), lp = exp(z[PP_PER_L]);
    for (size_t i = 0; i < d->m; i++) {
        double r = d->d[i] / l, a = M_PI * d->d[i] / p, s = sin(a) / lp;
        w->se[i] = exp(-0.5 * r * r);
        w->dse[i] = r * r;
        w->per[i] = exp(-2 * s * s);
        w->dpp[i] = 2 * a * sin(2 * a) / (lp * lp);
        w->dpl[i] = 4 * s * s;
    }
}

/* Amplitude^2 of a product. */
static double amplitude(unsigned mask, const double *z) {
    double s = 0;
    if (HAS(mask, FACTOR_LIN)) s += z[PP_LIN_S];
    if (HAS(mask, FACTOR_SE)) s += z[PP_SE_S];
    if (HAS(mask, FACTOR_PER)) s += z[PP_PER_S];
    if (HAS(mask, FACTOR_WN)) s += z[PP_WN_S];
    return exp(2 * s);
}

static double shape(const struct paper_work *w, unsigned mask, size_t i) {
    double v = 1;
    if (HAS(mask, FACTOR_SE)) v *= w->se[i];
    if (HAS(mask, FACTOR_PER)) v *= w->per[i];
    return v;
}

/* with_noise false: the signal alone, nothing added to the diagonal. */
static void fill(const struct paper_data *d, const struct paper_kernel *k, struct paper_work *w,
                 const double *z, bool with_noise) {
    double d0 = 0, d1 = 0, trace = 0;
    memset(w->t0, 0, d->m * sizeof *w->t0);
    memset(w->t1, 0, d->m * sizeof *w->t1);
    for (int q = 0; q < k->n; q++) {
        unsigned m = k->product[q];
        double a = amplitude(m, z), *t = HAS(m, FACTOR_LIN) ? w->t1 : w->t0;
        if (HAS(m, FACTOR_WN) && !with_noise) continue;
        if (HAS(m, FACTOR_WN))
            *(HAS(m, FACTOR_LIN) ? &d1 : &d0) += a; /* SE(0) = PER(0) = 1 */
        else
            for (size_t i = 0; i < d->m; i++) t[i] += a * shape(w, m, i);
    }
    size_t at = 0;
    for (size_t j = 0; j < d->n; j++) {
        const double *t0 = d->grid ? w->t0 : w->t0 + at, *t1 = d->grid ? w->t1 : w->t1 + at;
        double *c = w->k + j + j * d->n, xj = d->x[j];
        for (size_t i = 0; i < d->n - j; i++) c[i] = t0[i] + t1[i] * xj * d->x[j + i];
        c[0] += d0 + d1 * xj * xj;
        trace += c[0];
        at += d->n - j;
    }
    for (size_t j = 0; j < d->n && with_noise; j++)
        w->k[j + j * d->n] += JITTER * trace / (double)d->n;
}

/* Sums of M over distances, plain and weighted. */
static void sums(const struct paper_data *d, struct paper_work *w, double diag[2]) {
    memset(w->s0, 0, d->m * sizeof *w->s0);
    memset(w->s1, 0, d->m * sizeof *w->s1);
    diag[0] = diag[1] = 0;
    size_t at = 0;
    for (size_t j = 0; j < d->n; j++) {
        double *s0 = d->grid ? w->s0 : w->s0 + at, *s1 = d->grid ? w->s1 : w->s1 + at;
        const double *c = w->k + j + j * d->n;
        for (size_t i = 0; i < d->n - j; i++) {
            double m = (i ? 2 : 1) * (w->alpha[j] * w->alpha[j + i] - c[i]);
            s0[i] += m;
            s1[i] += m * d->x[j] * d->x[j + i];
            if (i == 0) {
                diag[0] += m;
                diag[1] += m * d->x[j] * d->x[j];
            }
        }
        at += d->n - j;
    }
}

/* All seven derivatives by log parameter; JITTER's share is neglected. */
static void gradient(const struct paper_data *d, const struct paper_kernel *k, struct paper_work *w,
                     const double *z, double g[PAPER_PARS]) {
    double diag[2];
    la_potri(d->n, w->k, d->n);
    sums(d, w, diag);
    for (int q = 0; q < k->n; q++) {
        unsigned m = k->product[q];
        bool lin = HAS(m, FACTOR_LIN) != 0;
        double a = amplitude(m, z), total = 0, dl = 0, pp = 0, pl = 0;
        if (HAS(m, FACTOR_WN)) {
            total = diag[lin];
        } else {
            const double *s = lin ? w->s1 : w->s0;
            for (size_t i = 0; i < d->m; i++) {
                double v = shape(w, m, i) * s[i];
                total += v;
                dl += v * w->dse[i];
                pp += v * w->dpp[i];
                pl += v * w->dpl[i];
            }
        }
        if (lin) g[PP_LIN_S] += a * total;
        if (HAS(m, FACTOR_WN)) g[PP_WN_S] += a * total;
        if (HAS(m, FACTOR_SE)) {
            g[PP_SE_S] += a * total;
            g[PP_SE_L] += 0.5 * a * dl;
        }
        if (HAS(m, FACTOR_PER)) {
            g[PP_PER_S] += a * total;
            g[PP_PER_P] += 0.5 * a * pp;
            g[PP_PER_L] += 0.5 * a * pl;
        }
    }
}

double paper_eval(const struct paper_data *d, const struct paper_kernel *k, struct paper_work *w,
                  const double *z, double *grad) {
    int par[PAPER_PARS], n = paper_pars(k, par);
    double full[PAPER_PARS] = {0}, g[PAPER_PARS] = {0}, lp = 0, ld = 0;
    w->evals++;
    for (int i = 0; i < n; i++) {
        if (!(fabs(z[i]) < 15)) return -INFINITY;
        full[par[i]] = z[i];
        lp += 5 * z[i] - exp(z[i]) - 3.1780538303479458; /* Gamma(5,1) in log: lgamma(5) */
    }
    leaf_tables(d, w, full);
    fill(d, k, w, full, true);
    size_t pivot;
    if (la_potrf(d->n, w->k, d->n, &pivot) != GPM_OK) return -INFINITY;
    for (size_t j = 0; j < d->n; j++) ld += log(w->k[j + j * d->n]);
    memcpy(w->alpha, d->y, d->n * sizeof *w->alpha);
    la_trsv(false, d->n, w->k, d->n, w->alpha);
    double ll = -0.5 * la_dot(d->n, w->alpha, w->alpha) - ld - (double)d->n * 0.91893853320467274;
    if (!isfinite(ll)) return -INFINITY;
    if (grad) {
        la_trsv(true, d->n, w->k, d->n, w->alpha);
        gradient(d, k, w, full, g);
        for (int i = 0; i < n; i++) grad[i] = g[par[i]] + 5 - exp(z[i]);
    }
    return ll + lp;
}

enum gpm_status paper_fit(const struct paper_data *d, const struct paper_kernel *k,
                          struct paper_work *w, const double *z, double *mean, double *sd) {
    int par[PAPER_PARS], np = paper_pars(k, par);
    double full[PAPER_PARS] = {0}, *signal = mem_try_doubles(d->n * d->n);
    size_t n = d->n, pivot;
    if (!signal) return GPM_E_NOMEM;
    for (int i = 0; i < np; i++) full[par[i]] = z[i];
    leaf_tables(d, w, full);
    fill(d, k, w, full, false);
    for (size_t j = 0; j < n; j++)
        for (size_t i = j; i < n; i++) signal[i + j * n] = signal[j + i * n] = w->k[i + j * n];
    fill(d, k, w, full, true);
    enum gpm_status st = la_potrf(n, w->k, n, &pivot);
    if (st == GPM_OK) {
        memcpy(w->alpha, d->y, n * sizeof *w->alpha);
        la_trsv(false, n, w->k, n, w->alpha);
        la_trsv(true, n, w->k, n, w->alpha);
        for (size_t i = 0; i < n; i++) {
            mean[i] = la_dot(n, signal + i * n, w->alpha);
            sd[i] = signal[i + i * n];
        }
        la_trsm(false, n, n, w->k, n, signal, n);
        for (size_t i = 0; i < n; i++)
            sd[i] = sqrt(fmax(sd[i] - la_dot(n, signal + i * n, signal + i * n), 0));
    }
    mem_free(signal);
    return st;
}
