/* SPDX-License-Identifier: Apache-2.0
 * The posterior of a regression's parameters: see rmodel.h. */
#include "regress/rmodel.h"
#include "base/mem.h"
#include "infer/fit.h"
#include "la/blas.h"
#include "la/parallel.h"
#include "regress/rchains.h"
#include <math.h>
#include <string.h>

#define LOG_2PI 1.8378770664093453

/* ---- the model ---- */

void rmodel_kernel_text(int dim, struct buf *out) {
    buf_puts(out, "1 + LIN(sf=0.5) + SE(sf=1, l=[");
    for (int k = 0; k < dim; k++) buf_printf(out, "%s%.3g", k ? ", " : "", RMODEL_LENGTH(dim));
    buf_puts(out, "])");
}

/* Positive parameters are free, but for plain numbers and those that are zero: nothing in k. */
static bool is_free(const struct kern *k, size_t i, double value) {
    struct buf name = BUF_INIT;
    const struct kern_param *p = kern_param_at(k, i);
    kern_param_name(k, i, &name);
    bool number = !strncmp(name.data, "CONST", 5);
    buf_release(&name);
    return !number && p->transform == KERN_T_LOG && value > 0;
}

static enum gpm_status parse(struct rmodel *m, const char *text, struct buf *err) {
    char *why = NULL;
    enum gpm_status st = kern_parse(text, &m->k, &why);
    if (!st) st = kern_check_dim(m->k, m->dim, &why);
    if (st) buf_printf(err, "kernel '%s': %s", text, why ? why : gpm_status_text(st));
    mem_free(why);
    return st ? GPM_E_FORMAT : GPM_OK;
}

enum gpm_status rmodel_init(struct rmodel *m, int dim, size_t n, const double *x, const double *y,
                            const char *text, struct buf *err) {
    *m = (struct rmodel){.dim = dim, .n = n, .x = x, .y = y};
    struct buf own = BUF_INIT;
    if (!text) rmodel_kernel_text(dim, &own);
    enum gpm_status st = parse(m, text ? text : own.data, err);
    buf_release(&own);
    if (st) return st;
    m->npar = kern_nparam(m->k);
    double *theta = NEW_ARRAY(double, m->npar + 1);
    m->free = NEW_ARRAY(int, m->npar + 1);
    m->centre = NEW_ARRAY(double, m->npar + 1);
    kern_params(m->k, theta);
    for (size_t i = 0; i < m->npar; i++)
        if (is_free(m->k, i, theta[i])) {
            m->centre[m->d] = log(theta[i]);
            m->free[m->d++] = (int)i;
        }
    m->centre[m->d++] = log(RMODEL_NOISE);
    mem_free(theta);
    if (m->d > PROPOSAL_MAX_DIM)
        return buf_fail(err, GPM_E_FORMAT, "the kernel has %d free parameters, at most %d",
                        m->d - 1, PROPOSAL_MAX_DIM - 1);
    return GPM_OK;
}

void rmodel_release(struct rmodel *m) {
    kern_unref(m->k);
    mem_free(m->free);
    mem_free(m->centre);
    mem_free(m->z);
    proposal_release(&m->q);
    memset(m, 0, sizeof *m);
}

void rmodel_name(const struct rmodel *m, int i, struct buf *out) {
    if (i == m->d - 1)
        buf_puts(out, "noise");
    else
        kern_param_name(m->k, (size_t)m->free[i], out);
}

struct gp *rmodel_gp(const struct rmodel *m) {
    struct gp *g = gp_new(m->dim, m->k, NULL, RMODEL_NOISE, NULL);
    if (!g) return NULL;
    gp_set_budget(g, 0); /* parameters never come back */
    gp_set_structured(g, 0);
    gp_set_approx(g, GP_EXACT, 0);
    if (gp_add(g, GP_MEASURED, m->x, m->y, m->n)) {
        gp_free(g);
        return NULL;
    }
    return g;
}

double rmodel_value(const struct rmodel *m, int i, double z) {
    return i == m->d - 1 ? hypot(exp(z), RMODEL_FLOOR) : exp(z);
}

enum gpm_status rmodel_use(const struct rmodel *m, struct gp *g, const double *z) {
    double *theta = NEW_ARRAY(double, m->npar + 1), noise = rmodel_value(m, m->d - 1, z[m->d - 1]);
    kern_params(m->k, theta);
    for (int i = 0; i < m->d - 1; i++) theta[m->free[i]] = exp(z[i]);
    struct kern *k = kern_with_params(m->k, theta, NULL);
    enum gpm_status st =
        k && kern_in_range(noise) && noise > 0 ? gp_set_model(g, k, NULL, noise) : GPM_E_ARG;
    kern_unref(k);
    mem_free(theta);
    return st;
}

/* ---- the density ---- */

struct density_of {
    const struct rmodel *m;
    struct gp *g;
    int threads;
    struct gp **each; /* a process for each thread; NULL: not needed yet */
};

static void density_release(struct density_of *of) {
    for (int i = 0; i < of->threads; i++) gp_free(of->each[i]);
    mem_free(of->each);
    gp_free(of->g);
}

static double log_prior(const struct rmodel *m, const double *z, double *grad) {
    double sum = 0;
    for (int i = 0; i < m->d; i++) {
        double t = (z[i] - m->centre[i]) / RMODEL_PRIOR_SD;
        sum -= 0.5 * (t * t + LOG_2PI) + log(RMODEL_PRIOR_SD);
        if (grad) grad[i] -= t / RMODEL_PRIOR_SD;
    }
    return sum;
}

static double eval(void *ctx, const double *z, double *grad) {
    const struct density_of *t = ctx;
    const struct rmodel *m = t->m;
    double logml = -INFINITY, dnoise = 0;
    if (rmodel_use(m, t->g, z)) return -INFINITY;
    if (!grad) return gp_logml(t->g, &logml) ? -INFINITY : logml + log_prior(m, z, NULL);
    double *dkern = NEW_ARRAY(double, m->npar + 1);
    enum gpm_status st = gp_logml_grad(t->g, &logml, dkern, &dnoise);
    for (int i = 0; i < m->d - 1; i++) grad[i] = exp(z[i]) * dkern[m->free[i]];
    double s = exp(z[m->d - 1]); /* d sqrt(s^2 + floor^2) / d log s */
    grad[m->d - 1] = s * s / rmodel_value(m, m->d - 1, z[m->d - 1]) * dnoise;
    mem_free(dkern);
    return st ? -INFINITY : logml + log_prior(m, z, grad);
}

/* Points on several threads. What a process computed before leaves no trace in its numbers, so it
 * does not matter which of them a point comes to. */
struct points {
    struct density_of *of;
    const double *z;
    double *logp, *grad;
};

static void one_point(void *ctx, size_t i, int thread) {
    struct points *p = ctx;
    const struct rmodel *m = p->of->m;
    size_t d = (size_t)m->d;
    struct gp **g = &p->of->each[thread];
    p->logp[i] = -INFINITY;
    if (stop_asked(m->stop)) return;
    if (!*g) *g = rmodel_gp(m);
    if (!*g) return;
    gp_forget(*g);
    struct density_of own = {.m = m, .g = *g};
    p->logp[i] = eval(&own, p->z + i * d, p->grad ? p->grad + i * d : NULL);
}

static void eval_many(void *ctx, size_t n, const double *z, double *logp, double *grad) {
    struct density_of *of = ctx;
    struct points p = {of, z, logp, grad};
    la_parallel(of->threads, n, one_point, &p);
}

/* ---- from starts to draws ---- */

enum { KEPT = 200 };

struct reffort rmodel_effort(size_t n) {
    static const struct {
        size_t rows;
        struct reffort e;
    } rows[] = {{150, {2000, 200, 24, 4, 8}}, {400, {1000, 120, 16, 3, 2}},
                {700, {400, 60, 10, 2, 0}},   {1200, {200, 40, 1, 1, 0}},
                {2000, {100, 20, 1, 1, 0}},   {SIZE_MAX, {60, 12, 1, 1, 0}}};
    size_t i = 0;
    while (n > rows[i].rows) i++;
    return rows[i].e;
}

static const struct fit_rules rules = {.iterations = 12,
                                       .modes = 60,
                                       .range = 6,
                                       .apart = 0.3,
                                       .typical = 1.4,
                                       .least = 1,
                                       .hope = 1e6};

/* The prior's centre; the same with little noise, with much; then draws from the prior. */
static void make_starts(const struct rmodel *m, int n, struct rng *r, double *z) {
    for (int s = 0; s < n; s++)
        for (int i = 0; i < m->d; i++)
            z[s * m->d + i] = m->centre[i] + (s < 3 ? 0 : 0.7 * rng_normal(r));
    if (n > 1) z[1 * m->d + m->d - 1] -= 2;
    if (n > 2) z[2 * m->d + m->d - 1] += 1;
}

/* ---- the optimum of many rows ---- */

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

/* Optimum and shape of the posterior of THIN_ROWS rows, evenly chosen, from z. */
enum { THINNED = 700, THIN_ROWS = 400 };

static void thinned_mode(const struct rmodel *m, double *z, struct proposal *mode) {
    struct rmodel thin = *m;
    size_t d = (size_t)m->dim;
    double *x = NEW_ARRAY(double, THIN_ROWS *(d + 1)), *y = x + THIN_ROWS * d;
    for (size_t i = 0; i < THIN_ROWS; i++) {
        size_t at = i * m->n / THIN_ROWS;
        memcpy(x + i * d, m->x + at * d, d * sizeof *x);
        y[i] = m->y[at];
    }
    thin.n = THIN_ROWS, thin.x = x, thin.y = y;
    struct density_of of = {.m = &thin, .g = rmodel_gp(&thin)};
    struct density t = {.d = m->d, .eval = eval, .ctx = &of, .stop = m->stop};
    if (of.g) {
        (void)fit_optimise(&t, z, 100);
        (void)proposal_add_mode(mode, &t, z);
    }
    gp_free(of.g);
    mem_free(x);
}

/* From z to the optimum of all rows. */
static double optimise_many(const struct rmodel *m, const struct density *t, double *z) {
    struct proposal thin = {0};
    double u[PROPOSAL_MAX_DIM] = {0}, logp = -INFINITY;
    thinned_mode(m, z, &thin);
    if (thin.n) {
        struct whitened w = {t, &thin.mode[0]};
        struct density round = {.d = m->d, .eval = eval_whitened, .ctx = &w};
        logp = fit_optimise(&round, u, 150);
        mode_point(&thin.mode[0], m->d, u, z);
    }
    proposal_release(&thin);
    return isfinite(logp) ? logp : fit_optimise(t, z, 150);
}

/* Systematic resampling: with one uniform u, draw k is the first whose weights sum to more than
 * (k + u) / kept. */
static void resample(struct rmodel *m, const struct draws *d, struct rng *r) {
    double u = rng_uniform(r), sum = 0;
    size_t at = 0;
    for (size_t k = 0; k < m->kept; k++) {
        double want = ((double)k + u) / (double)m->kept;
        while (at + 1 < d->n && sum + d->w[at] < want) sum += d->w[at++];
        memcpy(m->z + k * (size_t)m->d, d->z + at * d->d, (size_t)m->d * sizeof *m->z);
    }
}

/* Each chain has a process of its own. */
struct chains_of {
    const struct rmodel *m;
    struct density_of of[RCHAINS];
};

static struct density chain_density(void *ctx, int chain) {
    struct chains_of *c = ctx;
    return (struct density){.d = c->m->d, .eval = eval, .ctx = &c->of[chain], .stop = c->m->stop};
}

static enum gpm_status run_chains(struct rmodel *m, uint64_t seed, int threads) {
    struct chains_of c = {.m = m};
    struct rchains run = {.z = m->z, .kept = m->kept, .apart = rmodel_effort(m->n).chain};
    enum gpm_status st = GPM_OK;
    for (int i = 0; i < RCHAINS; i++) {
        c.of[i] = (struct density_of){.m = m, .g = rmodel_gp(m)};
        if (!c.of[i].g) st = GPM_E_NOMEM;
    }
    if (!st) rchains_run(&run, &m->q, chain_density, &c, seed, threads);
    for (int i = 0; i < RCHAINS; i++) gp_free(c.of[i].g);
    m->method = RMODEL_CHAINS;
    m->rhat = run.rhat;
    return st;
}

/* Draws of the normal distribution at the best mode. */
static void run_laplace(struct rmodel *m, struct rng *r) {
    const struct mode *q = &m->q.mode[0];
    for (size_t k = 0; k < m->kept; k++) {
        double t[PROPOSAL_MAX_DIM];
        for (int j = 0; j < m->d; j++) t[j] = rng_normal(r);
        mode_point(q, m->d, t, m->z + k * (size_t)m->d);
    }
    m->method = RMODEL_LAPLACE;
}

/* Draws that hold the weight, or as many as are used where that is fewer. */
#define ENOUGH 100

static enum gpm_status sample(struct rmodel *m, const struct density *t, uint64_t seed,
                              int threads) {
    struct draws d = {0};
    struct rng *r = &m->rng;
    enum gpm_status st = GPM_OK;
    m->z = NEW_ARRAY(double, m->kept *(size_t)m->d);
    m->is = importance(t, &m->q, m->draws / 4, m->draws, r, &d);
    bool enough = m->is.ess * (double)m->draws >= fmin(ENOUGH, (double)m->used);
    if (stop_asked(m->stop))
        st = GPM_E_INTERRUPT;
    else if (isfinite(m->is.logz) && enough)
        is_draws_even(&d), resample(m, &d, r);
    else if (rmodel_effort(m->n).chain)
        st = run_chains(m, seed, threads);
    else
        run_laplace(m, r);
    is_draws_release(&d);
    return st ? st : stop_asked(m->stop) ? GPM_E_INTERRUPT : GPM_OK;
}

static enum gpm_status density_init(struct density_of *of, struct rmodel *m, int threads,
                                    struct density *t) {
    *of = (struct density_of){.m = m, .g = rmodel_gp(m), .threads = threads};
    of->each = mem_zalloc((size_t)threads * sizeof *of->each);
    *t = (struct density){
        .d = m->d, .eval = eval, .many = eval_many, .ctx = of, .evals = &m->evals, .stop = m->stop};
    return of->g ? GPM_OK : GPM_E_NOMEM;
}

enum gpm_status rmodel_find(struct rmodel *m, uint64_t seed, int threads) {
    struct reffort effort = rmodel_effort(m->n);
    struct fit_rules rule = rules;
    struct density_of of;
    struct density t;
    struct fit_starts *s = fit_starts_new(m->d, effort.starts);
    double map;
    enum gpm_status st = density_init(&of, m, threads, &t);
    m->kept = KEPT;
    m->used = effort.used;
    m->draws = effort.draws;
    rule.polished = effort.polished;
    rng_init(&m->rng, seed, 17, 0);
    make_starts(m, effort.starts, &m->rng, s->z);
    if (!st && m->n > THINNED) {
        s->best[0] = (struct fit_rank){optimise_many(m, &t, s->z), 0};
        s->n = isfinite(s->best[0].logp);
    } else if (!st) {
        fit_polish(&t, s, effort.starts, &rule, -INFINITY);
        if (s->n) s->best[0].logp = fit_optimise(&t, fit_best(&t, s, 0), 150);
    }
    if (!st && !s->n) st = GPM_E_NOT_PD;
    if (!st) {
        m->laplace = fit_modes(&t, s, s->n, &rule, &m->q, &map);
        if (!isfinite(m->laplace)) st = GPM_E_NOT_PD;
    }
    mem_free(s);
    density_release(&of);
    return stop_asked(m->stop) ? GPM_E_INTERRUPT : st;
}

enum gpm_status rmodel_sample(struct rmodel *m, uint64_t seed, int threads) {
    struct density_of of;
    struct density t;
    enum gpm_status st = density_init(&of, m, threads, &t);
    if (!st) st = sample(m, &t, seed, threads);
    density_release(&of);
    return st;
}
