/* SPDX-License-Identifier: Apache-2.0
 * From starts to optima: see rstarts.h. */
#include "apps/regress/rstarts.h"
#include "base/mem.h"
#include "numeric/posterior/fit.h"
#include "numeric/la/blas.h"
#include "numeric/la/parallel.h"
#include <string.h>

enum {
    STARTS = 12,
    FEW = 200,  /* rows of the first stage, */
    SOME = 400, /* and of the second */
    STEPS = 100
};
#define APART 0.3
/* Nats below the best on some of the rows: with them an optimum may well be the best on all. */
#define HOPE 20.0
/* On all of them, below which an optimum is of no interest. */
#define RANGE 12.0

/* ---- some of the rows ---- */

/* The same model of n rows, chosen at random, so that no order of the table takes part; the caller
 * frees x, and nothing else. */
static struct rmodel some_rows(const struct rmodel *m, size_t n) {
    struct rmodel some = *m;
    size_t d = (size_t)m->dim;
    size_t *row = NEW_ARRAY(size_t, m->n + 1);
    double *x = NEW_ARRAY(double, n *(d + 1) + 1), *y = x + n * d;
    struct rng r;
    rng_init(&r, 1, 43, 0);
    for (size_t i = 0; i < m->n; i++) row[i] = i;
    for (size_t i = 0; i < n; i++) {
        size_t k = i + rng_below(&r, m->n - i), at = row[k];
        row[k] = row[i];
        memcpy(x + i * d, m->x + at * d, d * sizeof *x);
        y[i] = m->y[at];
    }
    mem_free(row);
    some.n = n, some.x = x, some.y = y;
    return some;
}

/* ---- starts ---- */

struct optimum {
    double z[PROPOSAL_MAX_DIM], logp;
    struct proposal shape; /* of some rows; of no mode: unknown */
    long evals;            /* of the last stage */
};

/* The priors' centre; the same with little noise, with much. Then draws that begin with little
 * noise, and with all scales longer or shorter: what is taken for noise never becomes a function
 * again, a function that is too wiggly becomes smoother. */
static void make_starts(struct rmodel *m, struct optimum *at) {
    static const double longer[] = {-0.4, 0.4, -1.2, 0, -0.8};
    bool noise = m->d > m->nk && !m->likelihood;
    for (int s = 0; s < STARTS; s++) {
        double *z = at[s].z, shift = s < 3 ? 0 : longer[(size_t)s % COUNT_OF(longer)];
        for (int i = 0; i < m->d; i++)
            z[i] = m->centre[i] + (s < 3 ? 0 : 0.7 * rng_normal(&m->rng));
        for (int i = 0; i < m->nk; i++)
            if (kern_param_at(m->k, (size_t)m->free[i])->vector) z[i] += shift;
        if (noise && s) z[m->nk] += s == 2 ? 1 : -2;
    }
}

/* ---- following them ---- */

/* z = origin + scale u: the posterior of some of the rows is round in u, that of all nearly so, and
 * the optimiser takes a tenth of the gradients. */
struct whitened {
    const struct density *t;
    const struct mode *shape;
};

static double eval_whitened(void *ctx, const double *u, double *grad) {
    const struct whitened *w = ctx;
    int d = w->t->d;
    double z[PROPOSAL_MAX_DIM];
    mode_point(w->shape, d, u, z);
    double f = density_eval(w->t, z, grad);
    if (grad) la_trmv(true, (size_t)d, w->shape->scale, (size_t)d, grad);
    return f;
}

double rstarts_near(const struct mode *like, const struct density *t, double *z) {
    double u[PROPOSAL_MAX_DIM] = {0};
    struct whitened w = {t, like};
    struct density round = {.d = t->d, .eval = eval_whitened, .ctx = &w};
    double logp = fit_optimise(&round, u, 150);
    mode_point(like, t->d, u, z);
    return logp;
}

struct following {
    const struct rmodel *m;
    bool shapes; /* are wanted */
    struct optimum *at;
};

/* Each from where it stands, by a process of its own. */
static void follow_one(void *ctx, size_t i, int thread) {
    struct following *f = ctx;
    struct optimum *o = &f->at[i];
    struct rprocess p;
    o->logp = -INFINITY;
    o->evals = 0;
    if (!rprocess_init(&p, f->m)) {
        struct density t = rprocess_density(&p);
        t.evals = &o->evals;
        o->logp =
            o->shape.n ? rstarts_near(&o->shape.mode[0], &t, o->z) : fit_optimise(&t, o->z, STEPS);
        if (f->shapes && isfinite(o->logp)) (void)proposal_add_mode(&o->shape, &t, o->z);
    }
    rprocess_release(&p);
}

static bool same(const struct optimum *a, const struct optimum *b, int d) {
    double far = 0;
    for (int i = 0; i < d; i++) far = fmax(far, fabs(a->z[i] - b->z[i]));
    return far <= APART;
}

/* The best first, at most `most` that differ and are no more than `below` below it; how many. */
static int sift(struct optimum *at, int n, int most, double below, int d) {
    int kept = 0;
    while (kept < most) {
        int best = -1;
        for (int i = kept; i < n; i++) {
            bool known = !isfinite(at[i].logp) || at[i].logp < at[0].logp - (kept ? below : 0);
            for (int k = 0; k < kept && !known; k++) known = same(&at[i], &at[k], d);
            if (!known && (best < 0 || at[i].logp > at[best].logp)) best = i;
        }
        if (best < 0) break;
        struct optimum x = at[kept];
        at[kept++] = at[best];
        at[best] = x;
    }
    return kept;
}

static int follow(const struct rmodel *m, size_t rows, bool shapes, struct optimum *at, int n,
                  int most, int threads) {
    struct rmodel some = rows < m->n ? some_rows(m, rows) : *m;
    struct following f = {&some, shapes, at};
    la_parallel(threads, (size_t)n, follow_one, &f);
    if (rows < m->n) mem_free((double *)some.x);
    return sift(at, n, most, rows < m->n ? HOPE : RANGE, m->d);
}

int rstarts_find(struct rmodel *m, int most, int threads, double *z) {
    struct optimum *at = mem_zalloc(STARTS * sizeof *at);
    int n = STARTS, last;
    make_starts(m, at);
    if (m->n > FEW) n = follow(m, FEW, false, at, n, most, threads);
    if (m->n > RSTARTS_MANY) n = follow(m, SOME, true, at, n, most, threads);
    n = follow(m, m->n, false, at, last = n, most, threads);
    for (int i = 0; i < last; i++) m->evals += at[i].evals;
    for (int i = 0; i < n; i++) memcpy(z + i * m->d, at[i].z, (size_t)m->d * sizeof *z);
    for (int i = 0; i < STARTS; i++) proposal_release(&at[i].shape);
    mem_free(at);
    return n;
}

void rstarts_one(const struct rmodel *m, double *z) {
    struct optimum one = {0};
    memcpy(one.z, m->centre, (size_t)m->d * sizeof *z);
    if (m->d) (void)follow(m, m->n < SOME ? m->n : SOME, false, &one, 1, 1, 1);
    memcpy(z, one.z, (size_t)m->d * sizeof *z);
}
