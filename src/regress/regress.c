/* SPDX-License-Identifier: Apache-2.0
 * A regression from the file to predictions: see regress.h. */
#include "regress/regress.h"
#include "base/mem.h"
#include "infer/diagnostics.h"
#include "la/parallel.h"
#include "math/special.h"
#include <math.h>
#include <string.h>

/* ---- draws ---- */

struct each {
    const struct regress *r;
    size_t draws;
    struct gp **g; /* one for each thread */
    enum gpm_status *st;
    rdraw_fn job;
    void *ctx;
};

static void each_draw(void *ctx, size_t draw, int thread) {
    struct each *e = ctx;
    const struct rmodel *m = &e->r->model;
    size_t at = draw * m->kept / e->draws; /* fewer than there are: from all chains */
    if (stop_asked(m->stop)) e->st[thread] = GPM_E_INTERRUPT;
    if (e->st[thread]) return;
    if (!e->g[thread]) e->g[thread] = rmodel_gp(m);
    enum gpm_status st =
        e->g[thread] ? rmodel_use(m, e->g[thread], m->z + at * (size_t)m->d) : GPM_E_NOMEM;
    e->st[thread] = st ? st : e->job(e->ctx, draw, e->g[thread]);
}

enum gpm_status regress_each(const struct regress *r, size_t draws, rdraw_fn job, void *ctx) {
    size_t threads = (size_t)r->o.threads;
    struct each e = {
        r, draws, mem_zalloc(threads * sizeof *e.g), mem_zalloc(threads * sizeof *e.st), job, ctx};
    enum gpm_status st = GPM_OK;
    la_parallel((int)threads, draws, each_draw, &e);
    for (size_t i = 0; i < threads; i++) {
        gp_free(e.g[i]);
        if (!st) st = e.st[i];
    }
    mem_free(e.g);
    mem_free(e.st);
    return st;
}

struct rinterval rinterval_of(const double *draws, size_t n, double level) {
    return (struct rinterval){draws_quantile(draws, n, 0.5),
                              draws_quantile(draws, n, (1 - level) / 2),
                              draws_quantile(draws, n, (1 + level) / 2)};
}

/* ---- quantiles of mixtures ---- */

static double mix_cdf(size_t n, const double *w, const double *mean, const double *sd, size_t step,
                      double x, double *density) {
    double cdf = 0;
    *density = 0;
    for (size_t i = 0; i < n; i++) {
        double share = w ? w[i] : 1 / (double)n, s = sd[i * step], t = (x - mean[i * step]) / s;
        cdf += share * norm_cdf(t);
        *density += share * exp(-0.5 * t * t) / (s * 2.5066282746310002);
    }
    return cdf;
}

/* Newton's steps, and halves of the interval where they leave it. */
double rmix_quantile(size_t n, const double *w, const double *mean, const double *sd, size_t step,
                     double p) {
    double lo = INFINITY, hi = -INFINITY, z = norm_quantile(p), x = 0;
    for (size_t i = 0; i < n; i++) {
        double q = mean[i * step] + z * sd[i * step];
        lo = fmin(lo, q), hi = fmax(hi, q);
        x += (w ? w[i] : 1 / (double)n) * q;
    }
    for (int it = 0; it < 100 && hi - lo > 1e-12 * (fabs(lo) + fabs(hi)); it++) {
        double density, off = mix_cdf(n, w, mean, sd, step, x, &density) - p;
        if (off > 0)
            hi = x;
        else
            lo = x;
        double next = x - off / density;
        if (!(next > lo && next < hi)) next = 0.5 * (lo + hi);
        if (fabs(next - x) <= 1e-10 * fabs(sd[0])) return next;
        x = next;
    }
    return x;
}

/* ---- predictions ---- */

struct predicting {
    const double *x; /* standardised */
    size_t m;
    double *mean, *sd, *new_sd; /* draws x m */
};

static enum gpm_status predict_draw(void *ctx, size_t draw, struct gp *g) {
    struct predicting *p = ctx;
    double *mean = p->mean + draw * p->m, *sd = p->sd + draw * p->m,
           *new_sd = p->new_sd + draw * p->m, noise = gp_noise(g);
    enum gpm_status st = gp_predict(g, p->x, p->m, GP_LATENT, mean, sd);
    for (size_t i = 0; i < p->m && !st; i++) {
        new_sd[i] = sqrt(sd[i] + noise * noise);
        sd[i] = sqrt(fmax(sd[i], 1e-24));
    }
    return st;
}

static struct rprediction mixed(const struct regress *r, const struct predicting *p, size_t i) {
    size_t n = r->model.used;
    const double *mean = p->mean + i, *sd = p->sd + i, *new_sd = p->new_sd + i;
    double low = (1 - r->o.level) / 2, m = 0, s = 0, t = 0, unit = r->t.y_sd, base = r->t.y_mean;
    for (size_t k = 0; k < n; k++) m += mean[k * p->m] / (double)n;
    for (size_t k = 0; k < n; k++) {
        double off = mean[k * p->m] - m;
        s += (off * off + sd[k * p->m] * sd[k * p->m]) / (double)n;
        t += (off * off + new_sd[k * p->m] * new_sd[k * p->m]) / (double)n;
    }
    return (struct rprediction){
        .mean = base + unit * m,
        .median = base + unit * rmix_quantile(n, NULL, mean, sd, p->m, 0.5),
        .sd = unit * sqrt(s),
        .lo = base + unit * rmix_quantile(n, NULL, mean, sd, p->m, low),
        .hi = base + unit * rmix_quantile(n, NULL, mean, sd, p->m, 1 - low),
        .new_sd = unit * sqrt(t),
        .new_lo = base + unit * rmix_quantile(n, NULL, mean, new_sd, p->m, low),
        .new_hi = base + unit * rmix_quantile(n, NULL, mean, new_sd, p->m, 1 - low)};
}

/* At most this many rows at a time, of which a matrix with all draws is held. */
enum { BLOCK = 8192 };

static enum gpm_status predict_block(const struct regress *r, const double *x, size_t m,
                                     struct rprediction *out) {
    size_t d = (size_t)r->t.d, draws = r->model.used, whole = 0;
    double *z = NEW_ARRAY(double, m *d + 1), *room = NEW_ARRAY(double, 3 * draws * m + 1);
    size_t *place = NEW_ARRAY(size_t, m + 1);
    for (size_t i = 0; i < m; i++) {
        bool known = true;
        for (size_t k = 0; k < d; k++) known = known && isfinite(x[i * d + k]);
        place[i] = known ? whole : SIZE_MAX;
        if (known) rtable_standard(&r->t, x + i * d, z + d * whole++);
    }
    struct predicting p = {z, whole, room, room + draws * whole, room + 2 * draws * whole};
    enum gpm_status st = whole ? regress_each(r, draws, predict_draw, &p) : GPM_OK;
    for (size_t i = 0; i < m && !st; i++)
        out[i] = place[i] < SIZE_MAX ? mixed(r, &p, place[i])
                                     : (struct rprediction){NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN};
    mem_free(z);
    mem_free(room);
    mem_free(place);
    return st;
}

enum gpm_status regress_predict(const struct regress *r, const double *x, size_t m,
                                struct rprediction *out) {
    enum gpm_status st = GPM_OK;
    for (size_t i = 0; i < m && !st; i += BLOCK)
        st = predict_block(r, x + i * (size_t)r->t.d, m - i < BLOCK ? m - i : BLOCK, out + i);
    return st;
}

/* ---- the fit ---- */

void regress_fill(struct regress *r) {
    size_t d = (size_t)r->t.d;
    for (size_t i = 0; i < r->t.n; i++) {
        rtable_standard(&r->t, r->t.x + r->row[i] * d, r->x + i * d);
        r->y[i] = (r->t.y[r->row[i]] - r->t.y_mean) / r->t.y_sd;
    }
}

/* A random order of the rows where there are too many, else theirs. */
static void choose_rows(struct regress *r) {
    size_t n = r->t.n, d = (size_t)r->t.d;
    struct rng g;
    r->n = n < r->o.max_rows ? n : r->o.max_rows;
    r->row = NEW_ARRAY(size_t, n + 1);
    r->x = NEW_ARRAY(double, n *d + 1);
    r->y = NEW_ARRAY(double, n + 1);
    for (size_t i = 0; i < n; i++) r->row[i] = i;
    rng_init(&g, r->o.seed, 29, 0);
    for (size_t i = 0; r->n < n && i + 1 < n; i++) {
        size_t j = i + rng_below(&g, n - i), k = r->row[i];
        r->row[i] = r->row[j];
        r->row[j] = k;
    }
    regress_fill(r);
}

static void find_noise(struct regress *r) {
    const struct rmodel *m = &r->model;
    double *s = NEW_ARRAY(double, m->kept + 1);
    for (size_t k = 0; k < m->kept; k++)
        s[k] = r->t.y_sd * rmodel_value(m, m->d - 1, m->z[k * (size_t)m->d + (size_t)m->d - 1]);
    r->noise = rinterval_of(s, m->kept, r->o.level);
    r->explained = 1 - fmin(1, r->noise.mid * r->noise.mid / (r->t.y_sd * r->t.y_sd));
    mem_free(s);
}

enum gpm_status regress_read(struct regress *r, const struct rtext *from,
                             const struct regress_options *o, struct buf *err) {
    memset(r, 0, sizeof *r);
    r->o = *o;
    enum gpm_status st = rtable_read(&r->t, from, &o->table, err);
    if (st) return st;
    choose_rows(r);
    return rmodel_init(&r->model, r->t.d, r->n, r->x, r->y, o->kernel, err);
}

enum gpm_status regress_run(struct regress *r, struct buf *err) {
    r->model.stop = r->o.stop;
    enum gpm_status st = rmodel_find(&r->model, r->o.seed, r->o.threads);
    if (!st && r->o.noise != RNOISE_NORMAL) st = regress_set_aside(r);
    if (!st) st = rmodel_sample(&r->model, r->o.seed, r->o.threads);
    if (!st) find_noise(r);
    if (!st) st = regress_check(r);
    if (!st) st = regress_effects(r);
    if (st == GPM_E_NOT_PD)
        buf_puts(err, "no parameters of the kernel fit these data: its matrix cannot be factored");
    else if (st)
        buf_puts(err, gp_status_text(st));
    return st;
}

void regress_release(struct regress *r) {
    for (int j = 0; j < r->t.n_inputs && r->effect; j++)
        mem_free(r->effect[j].at), mem_free(r->effect[j].f);
    mem_free(r->effect);
    mem_free(r->order);
    mem_free(r->check.mean);
    mem_free(r->check.odd);
    rmodel_release(&r->model);
    mem_free(r->row);
    mem_free(r->x);
    mem_free(r->y);
    rtable_release(&r->t);
    memset(r, 0, sizeof *r);
}
