/* SPDX-License-Identifier: Apache-2.0
 *
 * Predictive mixtures: every chosen draw gives a normal distribution (on the scale of its
 * transform) at each new time; means, quantiles and densities are those of the mixture.
 */
#include "discover/predict.h"
#include "base/mem.h"
#include "la/blas.h"
#include "math/special.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

struct component {
    const struct evidence *e;
    const double *z;
    double weight;
    double *mean, *sd; /* n each, scale of the transform */
};
struct mixture {
    const struct posterior *p;
    struct component *c;
    size_t n_c, n;
    const double *t; /* new times, standardised */
    bool failed;
};

/* ---- which draws ---- */
const double *evidence_draw(const struct evidence *e, size_t k, size_t n) {
    if (e->draws.n == 0) return e->prop.mode[0].z;
    double u = ((double)k + 0.5) / (double)n, s = 0;
    for (size_t i = 0; i < e->draws.n; i++) {
        s += e->draws.w[i];
        if (s >= u) return e->draws.z + i * e->draws.d;
    }
    return e->prop.mode[0].z;
}

static void choose(struct mixture *m, size_t budget) {
    const struct posterior *p = m->p;
    double kept = 0;
    for (size_t i = 0; i < p->n_ev; i++)
        if (p->weight[i] >= 0.004 && p->search->at[i]->prop.n) kept += p->weight[i];
    m->c = NEW_ARRAY(struct component, budget + p->n_ev);
    for (size_t i = 0; i < p->n_ev; i++) {
        const struct evidence *e = p->search->at[i];
        if (p->weight[i] < 0.004 || !e->prop.n) continue;
        size_t k = (size_t)ceil(p->weight[i] / kept * (double)budget);
        if (e->draws.n == 0) k = 1;
        for (size_t j = 0; j < k; j++)
            m->c[m->n_c++] = (struct component){e, evidence_draw(e, j, k),
                                                p->weight[i] / kept / (double)k, NULL, NULL};
    }
}

static void run_component(void *ctx, size_t job, int thread) {
    struct mixture *m = ctx;
    struct component *c = &m->c[job];
    const struct smodel *sm = &c->e->m;
    const struct smodel_data *d = sm->data;
    const double *l, *alpha;
    double *cross = mem_try_doubles(d->n * m->n);
    if (!cross || smodel_factor(sm, m->p->search->work[thread], c->z, &l, &alpha) != GPM_OK) {
        mem_free(cross);
        m->failed |= !cross;
        return; /* a draw whose matrix is singular drops out */
    }
    smodel_cross(sm, c->z, -1, d->t, d->n, m->t, m->n, cross, d->n);
    c->mean = NEW_ARRAY(double, m->n);
    c->sd = NEW_ARRAY(double, m->n);
    int tr = sm->s.transform;
    for (size_t i = 0; i < m->n; i++)
        c->mean[i] = d->mean[tr] + d->sd[tr] * la_dot(d->n, cross + i * d->n, alpha);
    la_trsm(false, d->n, m->n, l, d->n, cross, d->n);
    for (size_t i = 0; i < m->n; i++) {
        const double *v = cross + i * d->n;
        double var = smodel_variance(sm, c->z, -1, m->t[i]) - la_dot(d->n, v, v);
        var = fmax(var, 0) + smodel_noise_var(sm, c->z, m->t[i]);
        c->sd[i] = d->sd[tr] * sqrt(var);
    }
    mem_free(cross);
}

/* ---- the mixture at one time ---- */
static double to_scale(const struct component *c, double y) {
    if (c->e->m.s.transform == TRANSFORM_NONE) return y;
    return y > 0 ? log(y) : -INFINITY;
}

static double from_scale(const struct component *c, double v) {
    return c->e->m.s.transform == TRANSFORM_NONE ? v : exp(v);
}

static double mixture_cdf(const struct mixture *m, size_t i, double y) {
    double s = 0, w = 0;
    for (size_t k = 0; k < m->n_c; k++) {
        const struct component *c = &m->c[k];
        if (!c->mean) continue;
        w += c->weight;
        s += c->weight * norm_cdf((to_scale(c, y) - c->mean[i]) / c->sd[i]);
    }
    return s / w;
}

static double mixture_quantile(const struct mixture *m, size_t i, double q) {
    double lo = INFINITY, hi = -INFINITY;
    for (size_t k = 0; k < m->n_c; k++) {
        const struct component *c = &m->c[k];
        if (!c->mean) continue;
        lo = fmin(lo, from_scale(c, c->mean[i] - 8 * c->sd[i]));
        hi = fmax(hi, from_scale(c, c->mean[i] + 8 * c->sd[i]));
    }
    for (int it = 0; it < 80 && hi - lo > 1e-10 * (fabs(lo) + fabs(hi)); it++) {
        double mid = 0.5 * (lo + hi);
        if (mixture_cdf(m, i, mid) < q)
            lo = mid;
        else
            hi = mid;
    }
    return 0.5 * (lo + hi);
}

/* Mean and standard deviation; of a lognormal part exp(m + s^2/2). */
static void mixture_moments(const struct mixture *m, size_t i, double *mean, double *sd) {
    double s1 = 0, s2 = 0, w = 0;
    for (size_t k = 0; k < m->n_c; k++) {
        const struct component *c = &m->c[k];
        if (!c->mean) continue;
        double mu = c->mean[i], var = c->sd[i] * c->sd[i];
        if (c->e->m.s.transform == TRANSFORM_LOG) {
            mu = exp(c->mean[i] + 0.5 * var);
            var = mu * mu * expm1(var);
        }
        w += c->weight;
        s1 += c->weight * mu;
        s2 += c->weight * (var + mu * mu);
    }
    *mean = s1 / w;
    *sd = sqrt(fmax(s2 / w - *mean * *mean, 0));
}

static double mixture_logp(const struct mixture *m, size_t i, double y) {
    double best = -INFINITY, s = 0, w = 0;
    for (int pass = 0; pass < 2; pass++)
        for (size_t k = 0; k < m->n_c; k++) {
            const struct component *c = &m->c[k];
            if (!c->mean) continue;
            double v = to_scale(c, y), r = (v - c->mean[i]) / c->sd[i];
            double lp = -0.5 * r * r - log(c->sd[i]) - 0.91893853320467274;
            if (c->e->m.s.transform == TRANSFORM_LOG) lp = y > 0 ? lp - v : -INFINITY;
            if (pass == 0) {
                best = fmax(best, lp);
                w += c->weight;
            } else {
                s += c->weight * exp(lp - best);
            }
        }
    return best + log(s / w);
}

/* Continuous ranked probability score: integral of (F(v) - [v >= y])^2, by the trapezoid rule on
 * 200 steps between extreme quantiles (and y). */
static double mixture_crps(const struct mixture *m, size_t i, double y) {
    double lo = fmin(mixture_quantile(m, i, 0.0005), y),
           hi = fmax(mixture_quantile(m, i, 0.9995), y);
    double s = 0, h = (hi - lo) / 200;
    for (int k = 0; k < 200; k++) {
        double v = lo + h * (k + 0.5), f = mixture_cdf(m, i, v) - (v >= y);
        s += h * f * f;
    }
    return s;
}

/* ---- the whole ---- */
static void prediction_init(struct prediction *o, size_t n, const double *x, bool score) {
    memset(o, 0, sizeof *o);
    o->n = n;
    double **at[] = {&o->x, &o->mean, &o->median, &o->sd, &o->lo, &o->hi};
    for (size_t k = 0; k < COUNT_OF(at); k++) *at[k] = NEW_ARRAY(double, n + 1);
    memcpy(o->x, x, n * sizeof *x);
    if (!score) return;
    o->pit = NEW_ARRAY(double, n + 1);
    o->logp = NEW_ARRAY(double, n + 1);
    o->crps = NEW_ARRAY(double, n + 1);
}

void prediction_release(struct prediction *p) {
    mem_free(p->x);
    mem_free(p->mean);
    mem_free(p->median);
    mem_free(p->sd);
    mem_free(p->lo);
    mem_free(p->hi);
    mem_free(p->pit);
    mem_free(p->logp);
    mem_free(p->crps);
    memset(p, 0, sizeof *p);
}

static void mixture_release(struct mixture *m) {
    for (size_t k = 0; k < m->n_c; k++) {
        mem_free(m->c[k].mean);
        mem_free(m->c[k].sd);
    }
    mem_free(m->c);
}

/* Times on the grid are exact multiples of the step, as in the data. */
static double *standard_times(const struct smodel_data *d, size_t n, const double *x) {
    double *t = NEW_ARRAY(double, n + 1);
    for (size_t i = 0; i < n; i++) {
        t[i] = (x[i] - d->x0) / d->span;
        double g = floor(t[i] / d->dt + 0.5);
        if (d->grid && fabs(t[i] / d->dt - g) < 0.15) t[i] = g * d->dt;
    }
    return t;
}

enum gpm_status predict(const struct posterior *p, size_t n, const double *x, const double *y,
                        double level, size_t draws, struct prediction *out) {
    const struct search *s = p->search;
    struct mixture m = {.p = p, .n = n};
    double *t = standard_times(s->data, n, x);
    m.t = t;
    if (!draws) draws = s->data->n <= 300 ? 60 : s->data->n <= 700 ? 40 : 24;
    choose(&m, draws);
    search_parallel(s->opt.threads, m.n_c, run_component, &m);
    bool any = false;
    for (size_t k = 0; k < m.n_c; k++) any |= m.c[k].mean != NULL;
    if (any) {
        prediction_init(out, n, x, y != NULL);
        for (size_t i = 0; i < n; i++) {
            mixture_moments(&m, i, &out->mean[i], &out->sd[i]);
            out->median[i] = mixture_quantile(&m, i, 0.5);
            out->lo[i] = mixture_quantile(&m, i, 0.5 * (1 - level));
            out->hi[i] = mixture_quantile(&m, i, 0.5 * (1 + level));
            if (!y) continue;
            out->pit[i] = mixture_cdf(&m, i, y[i]);
            out->logp[i] = mixture_logp(&m, i, y[i]);
            out->crps[i] = mixture_crps(&m, i, y[i]);
        }
    }
    mixture_release(&m);
    mem_free(t);
    return any ? GPM_OK : m.failed ? GPM_E_NOMEM : GPM_E_NOT_PD;
}
