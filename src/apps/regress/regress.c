/* SPDX-License-Identifier: Apache-2.0
 * A regression from the file to predictions: see regress.h. */
#include "apps/regress/regress.h"
#include "base/mem.h"
#include "numeric/posterior/diagnostics.h"
#include "numeric/la/parallel.h"
#include "numeric/special/special.h"
#include <math.h>
#include <string.h>

/* ---- draws ---- */

struct each {
    const struct regress *r;
    size_t draws;
    struct rprocess *p; /* one for each thread; of no model: not needed yet */
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
    struct rprocess *p = &e->p[thread];
    enum gpm_status st = p->m ? GPM_OK : rprocess_init(p, m);
    if (!st) st = rprocess_use(p, m->z + at * (size_t)m->d);
    if (!st) st = rprocess_settle(p);
    e->st[thread] = st ? st : e->job(e->ctx, draw, p);
}

enum gpm_status regress_each(const struct regress *r, size_t draws, rdraw_fn job, void *ctx) {
    size_t threads = (size_t)r->o.threads;
    struct each e = {
        r, draws, mem_zalloc(threads * sizeof *e.p), mem_zalloc(threads * sizeof *e.st), job, ctx};
    enum gpm_status st = GPM_OK;
    la_parallel((int)threads, draws, each_draw, &e);
    for (size_t i = 0; i < threads; i++) {
        rprocess_release(&e.p[i]);
        if (!st) st = e.st[i];
    }
    mem_free(e.p);
    mem_free(e.st);
    return st;
}

struct rinterval rinterval_of(const double *draws, size_t n, double level) {
    return (struct rinterval){draws_quantile(draws, n, 0.5),
                              draws_quantile(draws, n, (1 - level) / 2),
                              draws_quantile(draws, n, (1 + level) / 2)};
}

double *regress_sizes(const struct regress *r, size_t draws) {
    const struct rmodel *m = &r->model;
    double *size = NEW_ARRAY(double, draws + 1);
    for (size_t k = 0; k < draws; k++) {
        size_t at = k * m->kept / draws;
        size[k] =
            m->d > m->nk ? rmodel_value(m, m->nk, m->z[at * (size_t)m->d + (size_t)m->nk]) : 1;
    }
    return size;
}

/* ---- predictions ---- */

struct predicting {
    const double *x; /* standardised */
    size_t m;
    double *mean, *sd, *new_sd; /* draws x m */
    double *size;               /* draws */
};

static enum gpm_status predict_draw(void *ctx, size_t draw, struct rprocess *at) {
    struct predicting *p = ctx;
    double *mean = p->mean + draw * p->m, *sd = p->sd + draw * p->m,
           *new_sd = p->new_sd + draw * p->m, noise = gp_noise(at->g);
    enum gpm_status st = gp_predict(at->g, p->x, p->m, GP_LATENT, mean, sd);
    for (size_t i = 0; i < p->m && !st; i++) {
        new_sd[i] = sqrt(sd[i] + noise * noise);
        sd[i] = sqrt(fmax(sd[i], 1e-24));
    }
    return st;
}

static struct rprediction mixed(const struct regress *r, const struct predicting *p, size_t i) {
    size_t n = r->model.used;
    struct rmix f = {r->model.family, n, NULL, p->mean + i, p->sd + i, p->m, p->size}, y = f;
    if (regress_hidden(r)) return rmix_predict(&f, r->o.level, r->o.seed, i);
    y.sd = p->new_sd + i;
    double low = (1 - r->o.level) / 2, unit = r->t.y_sd, base = r->t.y_mean;
    struct mixture m = {0};
    rmix_normals(&f, 0, &m);
    struct rprediction out = {.mean = base + unit * mixture_mean(&m),
                              .median = base + unit * mixture_quantile(&m, 0.5),
                              .sd = unit * mixture_sd(&m),
                              .lo = base + unit * mixture_quantile(&m, low),
                              .hi = base + unit * mixture_quantile(&m, 1 - low)};
    rmix_normals(&y, r->wild_share, &m);
    out.new_sd = unit * mixture_sd(&m);
    out.new_lo = base + unit * mixture_quantile(&m, low);
    out.new_hi = base + unit * mixture_quantile(&m, 1 - low);
    mixture_release(&m);
    return out;
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
    struct predicting p = {
        z, whole, room, room + draws * whole, room + 2 * draws * whole, regress_sizes(r, draws)};
    enum gpm_status st = whole ? regress_each(r, draws, predict_draw, &p) : GPM_OK;
    for (size_t i = 0; i < m && !st; i++)
        out[i] = place[i] < SIZE_MAX ? mixed(r, &p, place[i])
                                     : (struct rprediction){NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN};
    mem_free(z);
    mem_free(p.size);
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
        double y = r->t.y[r->row[i]];
        rtable_standard(&r->t, r->t.x + r->row[i] * d, r->x + i * d);
        if (r->family == RFAMILY_CHANCE)
            r->y[i] = y == r->high;
        else
            r->y[i] = regress_hidden(r) ? y : (y - r->t.y_mean) / r->t.y_sd;
    }
}

void regress_choose_rows(struct regress *r) {
    size_t n = r->t.n, most = r->o.max_rows;
    struct rng g;
    if (!most) most = regress_hidden(r) ? REGRESS_FAMILY_ROWS : REGRESS_ROWS;
    r->n = n < most ? n : most;
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
    double *s = regress_sizes(r, m->kept);
    if (!m->likelihood)
        for (size_t k = 0; k < m->kept; k++) s[k] *= r->t.y_sd;
    r->noise = rinterval_of(s, m->kept, r->o.level);
    mem_free(s);
}

enum gpm_status regress_read(struct regress *r, const struct rtext *from,
                             const struct regress_options *o, struct buf *err) {
    memset(r, 0, sizeof *r);
    r->o = *o;
    enum gpm_status st = rtable_read(&r->t, from, &o->table, err);
    if (st) return st;
    r->row = NEW_ARRAY(size_t, r->t.n + 1);
    r->x = NEW_ARRAY(double, r->t.n *(size_t)r->t.d + 1);
    r->y = NEW_ARRAY(double, r->t.n + 1);
    return regress_find_family(r, err);
}

enum gpm_status regress_run(struct regress *r, struct buf *err) {
    r->model.stop = r->o.stop;
    enum gpm_status st = regress_contest(r);
    if (!st) st = rmodel_find(&r->model, r->o.seed, r->o.threads);
    if (!st && r->o.noise != RNOISE_NORMAL && !regress_hidden(r)) st = regress_set_aside(r);
    if (!st) st = rmodel_sample(&r->model, r->o.seed, r->o.threads);
    if (!st && !r->o.rough && !rmodel_settled(&r->model)) {
        buf_puts(err, "not settled, no answer: ");
        regress_open(r, err);
        buf_puts(err, "; --rough gives the answer as it stands");
        return GPM_E_NO_CONVERGENCE;
    }
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
    mem_free(r->together);
    mem_free(r->check.mean);
    mem_free(r->check.odd);
    rmodel_release(&r->model);
    mem_free(r->row);
    mem_free(r->x);
    mem_free(r->y);
    rtable_release(&r->t);
    memset(r, 0, sizeof *r);
}
