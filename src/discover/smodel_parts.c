/* SPDX-License-Identifier: Apache-2.0
 *
 * The building blocks of the covariance: tables of stationary factors over distances with their
 * derivatives, the multipliers u, cross-covariances for prediction.
 */
#include "base/mem.h"
#include "math/special.h"
#include "discover/smodel_priv.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define HAS(mask, f) ((mask)&FACTOR_BIT(f))

static void table_smooth(const struct smodel *m, const double *z, int k, const double *d, size_t n,
                         double *a) {
    const struct sterm *e = &m->term[k];
    double l = exp(z[e->l]);
    if (HAS(e->mask, FACTOR_SE)) { /* exp(-d^2 / 2l^2) */
        double c = -0.5 / (l * l);
        for (size_t i = 0; i < n; i++) a[i] *= exp(c * d[i] * d[i]);
    } else if (HAS(e->mask, FACTOR_MAT)) { /* (1 + r) exp(-r), r = sqrt3 d / l */
        double c = sqrt(3.0) / l;
        for (size_t i = 0; i < n; i++) a[i] *= (1 + c * d[i]) * exp(-c * d[i]);
    } else { /* (1 + d^2 / (2 alpha l^2))^-alpha */
        double al = exp(z[e->alpha]), c = 0.5 / (al * l * l);
        for (size_t i = 0; i < n; i++) a[i] *= exp(-al * log1p(c * d[i] * d[i]));
    }
}

/* Zero-mean PER: (E - i0e) / (1 - i0e), E = exp(q (cos(2 pi d/p) - 1)), q = 1/l^2. */
static void table_per(const struct smodel *m, const double *z, int k, const double *d, size_t n,
                      double *a) {
    const struct sterm *e = &m->term[k];
    double w = 2 * M_PI / smodel_value(m, e->period, z[e->period]), q = exp(-2 * z[e->lper]);
    double i0 = bessel_i0e(q), r = 1 / (1 - i0);
    for (size_t i = 0; i < n; i++) a[i] *= (exp(q * (cos(w * d[i]) - 1)) - i0) * r;
}

void smodel_table(const struct smodel *m, const double *z, int k, const double *d, size_t n,
                  double *a, double *rest) {
    unsigned mask = m->term[k].mask;
    for (size_t i = 0; i < n; i++) a[i] = 1;
    if (mask & SMOOTH_MASK) table_smooth(m, z, k, d, n, a);
    if (!HAS(mask, FACTOR_PER)) return;
    if (rest) memcpy(rest, a, n * sizeof *a);
    table_per(m, z, k, d, n, a);
}

/* d/dlog p: q sin(a) a E / (1-i0e);  d/dlog l: -2q [(cosm1 E - i)(1-i0e) + (E-i0e) i] / (1-i0e)^2
 * with i = i1e - i0e. */
static void dtable_per(const struct smodel *m, const double *z, int k, int par, const double *d,
                       size_t n, const double *rest, double *out) {
    const struct sterm *e = &m->term[k];
    double w = 2 * M_PI / smodel_value(m, e->period, z[e->period]), q = exp(-2 * z[e->lper]);
    double i0 = bessel_i0e(q), di = bessel_i1e(q) - i0, r = 1 / (1 - i0);
    if (par == e->period) {
        double f = q * r * smodel_dvalue(m, par, z[par]);
        for (size_t i = 0; i < n; i++) {
            double a = w * d[i];
            out[i] = rest[i] * f * sin(a) * a * exp(q * (cos(a) - 1));
        }
        return;
    }
    for (size_t i = 0; i < n; i++) {
        double c = cos(w * d[i]) - 1, x = exp(q * c);
        out[i] = rest[i] * -2 * q * ((c * x - di) * (1 - i0) + (x - i0) * di) * r * r;
    }
}

void smodel_dtable(const struct smodel *m, const double *z, int k, int par, const double *d,
                   size_t n, const double *a, const double *rest, double *out) {
    const struct sterm *e = &m->term[k];
    if (par == e->period || par == e->lper) {
        dtable_per(m, z, k, par, d, n, rest, out);
        return;
    }
    double l = exp(z[e->l]), l2 = l * l;
    if (HAS(e->mask, FACTOR_SE)) {
        for (size_t i = 0; i < n; i++) out[i] = a[i] * d[i] * d[i] / l2;
    } else if (HAS(e->mask, FACTOR_MAT)) {
        for (size_t i = 0; i < n; i++) {
            double r = sqrt(3.0) * d[i] / l;
            out[i] = a[i] * r * r / (1 + r);
        }
    } else {
        double al = exp(z[e->alpha]);
        for (size_t i = 0; i < n; i++) {
            double x = d[i] * d[i] / l2, b = 1 + 0.5 * x / al;
            out[i] = par == e->l ? a[i] * x / b : a[i] * (0.5 * x / b - al * log(b));
        }
    }
}

bool smodel_stationary_pars(const struct smodel *m, int k) {
    return m->term[k].l >= 0 || m->term[k].period >= 0;
}

/* ---- u ---- */
bool smodel_has_u(const struct smodel *m, int k) {
    const struct sterm *e = &m->term[k];
    return e->gate != GATE_NONE || HAS(e->mask, FACTOR_LIN) || e->tau >= 0;
}

static double sigmoid(double x) {
    return x >= 0 ? 1 / (1 + exp(-x)) : exp(x) / (1 + exp(x));
}

/* h and its derivatives in the start and the width of the window (in t). */
static double gate_value(const struct smodel *m, const double *z, double t, double dh[2]) {
    double tau = smodel_value(m, m->tau, z[m->tau]), a = sigmoid((t - tau) / GATE_WIDTH);
    double da = a * (1 - a) / GATE_WIDTH;
    if (m->width < 0) {
        dh[0] = -da;
        dh[1] = 0;
        return a;
    }
    double end = tau + smodel_value(m, m->width, z[m->width]);
    double b = sigmoid((end - t) / GATE_WIDTH), db = b * (1 - b) / GATE_WIDTH;
    dh[0] = -da * b + a * db;
    dh[1] = a * db;
    return a * b;
}

/* One value of u with its derivatives by c (or the term's tau), the change's tau and width. */
static double u_value(const struct smodel *m, const double *z, int k, double t, double du[3]) {
    const struct sterm *e = &m->term[k];
    double f = 1, df = 0, h = 1, dh[2] = {0, 0};
    if (HAS(e->mask, FACTOR_LIN)) {
        f = sqrt(12.0) * (t - (e->c >= 0 ? z[e->c] : 0.5));
        df = -sqrt(12.0);
    } else if (HAS(e->mask, FACTOR_RAMP)) {
        double tau = smodel_value(m, e->tau, z[e->tau]);
        f = t > tau ? 3 * (t - tau) : 0;
        df = t > tau ? -3 * smodel_dvalue(m, e->tau, z[e->tau]) : 0;
    } else if (HAS(e->mask, FACTOR_STEP)) {
        double tau = smodel_value(m, e->tau, z[e->tau]);
        f = sigmoid((t - tau) / (0.5 * GATE_WIDTH));
        df = -f * (1 - f) / (0.5 * GATE_WIDTH) * smodel_dvalue(m, e->tau, z[e->tau]);
    }
    if (e->gate != GATE_NONE) {
        h = gate_value(m, z, t, dh);
        if (e->gate == GATE_BEFORE || e->gate == GATE_OUTSIDE) {
            h = 1 - h;
            dh[0] = -dh[0];
            dh[1] = -dh[1];
        }
    }
    du[0] = df * h;
    du[1] = f * dh[0] * (m->tau >= 0 ? smodel_dvalue(m, m->tau, z[m->tau]) : 0);
    du[2] = f * dh[1] * (m->width >= 0 ? smodel_dvalue(m, m->width, z[m->width]) : 0);
    return f * h;
}

void smodel_u(const struct smodel *m, const double *z, int k, const double *t, size_t n,
              double *u) {
    double du[3];
    for (size_t i = 0; i < n; i++) u[i] = u_value(m, z, k, t[i], du);
}

int smodel_du(const struct smodel *m, const double *z, int k, const double *t, size_t n, int par[3],
              double *du[3]) {
    const struct sterm *e = &m->term[k];
    int which[3], np = 0;
    int own = e->c >= 0 ? e->c : e->tau;
    if (own >= 0) which[np] = 0, par[np++] = own;
    if (e->gate != GATE_NONE && m->tau >= 0) which[np] = 1, par[np++] = m->tau;
    if (e->gate != GATE_NONE && m->width >= 0) which[np] = 2, par[np++] = m->width;
    for (size_t i = 0; i < n && np; i++) {
        double all[3];
        u_value(m, z, k, t[i], all);
        for (int q = 0; q < np; q++) du[q][i] = all[which[q]];
    }
    return np;
}

/* ---- prediction ---- */
static double pair_value(const struct sterm *e, double a, double b) {
    double lo = fmin(a, b), gap = fabs(a - b);
    if (HAS(e->mask, FACTOR_W)) return lo;
    return lo * lo * (lo / 3 + gap / 2);
}

/* The places of the times on the data's grid; NULL when one of them is not on it. */
static int *grid_places(const struct smodel_data *d, const double *t, size_t n) {
    if (!d->grid) return NULL;
    int *g = NEW_ARRAY(int, n + 1);
    for (size_t i = 0; i < n; i++) {
        double k = t[i] / d->dt, r = floor(k + 0.5);
        if (!(fabs(k - r) < 1e-6) || fabs(r) > 1e8) {
            mem_free(g);
            return NULL;
        }
        g[i] = (int)r;
    }
    return g;
}

/* The stationary factors of a term between times: looked up by the distance in steps where all are
 * on the grid, otherwise evaluated pair by pair. */
struct cross_table {
    int *gr, *gc;
    double *tab; /* by distance */
    double *buf; /* a column of distances, of values, and one of scratch */
    const double *tr;
    size_t nr;
};

static void cross_table_init(struct cross_table *c, const struct smodel *m, const double *z, int k,
                             const double *tr, size_t nr, const double *tc, size_t nc) {
    const struct smodel_data *d = m->data;
    *c = (struct cross_table){.tr = tr, .nr = nr, .buf = NEW_ARRAY(double, 3 * nr + 1)};
    c->gr = grid_places(d, tr, nr);
    c->gc = c->gr ? grid_places(d, tc, nc) : NULL;
    if (!c->gc || nr == 0 || nc == 0) return;
    int lo = c->gr[0], hi = c->gr[0];
    for (size_t i = 0; i < nr; i++)
        lo = c->gr[i] < lo ? c->gr[i] : lo, hi = c->gr[i] > hi ? c->gr[i] : hi;
    for (size_t i = 0; i < nc; i++)
        lo = c->gc[i] < lo ? c->gc[i] : lo, hi = c->gc[i] > hi ? c->gc[i] : hi;
    size_t n = (size_t)(hi - lo) + 1;
    if (n > nr * nc) return;
    double *x = NEW_ARRAY(double, 2 * n);
    c->tab = NEW_ARRAY(double, n);
    for (size_t l = 0; l < n; l++) x[l] = (double)l * d->dt;
    smodel_table(m, z, k, x, n, c->tab, x + n);
    mem_free(x);
}

/* Values between all rows and column j (time t). */
static const double *cross_column(struct cross_table *c, const struct smodel *m, const double *z,
                                  int k, size_t j, double t) {
    double *v = c->buf, *d = v + c->nr;
    if (c->tab) {
        for (size_t i = 0; i < c->nr; i++) v[i] = c->tab[abs(c->gr[i] - c->gc[j])];
    } else {
        for (size_t i = 0; i < c->nr; i++) d[i] = fabs(c->tr[i] - t);
        smodel_table(m, z, k, d, c->nr, v, d + c->nr);
    }
    return v;
}

static void cross_table_release(struct cross_table *c) {
    mem_free(c->gr);
    mem_free(c->gc);
    mem_free(c->tab);
    mem_free(c->buf);
}

static void cross_term(const struct smodel *m, const double *z, int k, const double *tr, size_t nr,
                       const double *tc, size_t nc, double *a, size_t lda) {
    const struct sterm *e = &m->term[k];
    if (HAS(e->mask, FACTOR_WN)) return;
    double s2 = exp(2 * z[e->sd]), *ur = NEW_ARRAY(double, nr + nc + 1), *uc = ur + nr;
    bool pair = HAS(e->mask, FACTOR_W) || HAS(e->mask, FACTOR_IW);
    struct cross_table table;
    cross_table_init(&table, m, z, k, tr, nr, tc, nc);
    smodel_u(m, z, k, tr, nr, ur);
    smodel_u(m, z, k, tc, nc, uc);
    for (size_t j = 0; j < nc; j++) {
        const double *v = cross_column(&table, m, z, k, j, tc[j]);
        for (size_t i = 0; i < nr; i++)
            a[i + j * lda] += s2 * ur[i] * uc[j] * v[i] * (pair ? pair_value(e, tr[i], tc[j]) : 1);
    }
    cross_table_release(&table);
    mem_free(ur);
}

void smodel_cross(const struct smodel *m, const double *z, int k, const double *tr, size_t nr,
                  const double *tc, size_t nc, double *a, size_t lda) {
    for (size_t j = 0; j < nc; j++)
        for (size_t i = 0; i < nr; i++) a[i + j * lda] = k < 0 ? 1.0 : 0.0;
    if (k == -2) return;
    for (int q = 0; q < m->n_terms; q++)
        if (k == -1 || q == k) cross_term(m, z, q, tr, nr, tc, nc, a, lda);
}

double smodel_variance(const struct smodel *m, const double *z, int k, double t) {
    double v = k < 0 ? 1 : 0;
    for (int q = 0; q < m->n_terms && k != -2; q++) {
        const struct sterm *e = &m->term[q];
        if ((k != -1 && q != k) || HAS(e->mask, FACTOR_WN)) continue;
        double du[3], u = u_value(m, z, q, t, du);
        bool pair = HAS(e->mask, FACTOR_W) || HAS(e->mask, FACTOR_IW);
        v += exp(2 * z[e->sd]) * u * u * (pair ? pair_value(e, t, t) : 1);
    }
    return v;
}

double smodel_noise_var(const struct smodel *m, const double *z, double t) {
    double v = exp(2 * z[0]) + NOISE_FLOOR;
    for (int k = 0; k < m->n_terms; k++) {
        if (!HAS(m->term[k].mask, FACTOR_WN)) continue;
        double u, du[3];
        u = u_value(m, z, k, t, du);
        v += exp(2 * z[m->term[k].sd]) * u * u;
    }
    return v;
}
