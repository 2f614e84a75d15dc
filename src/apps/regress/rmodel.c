/* SPDX-License-Identifier: Apache-2.0
 * The posterior of a regression's parameters: see rmodel.h. */
#include "apps/regress/rmodel.h"
#include "base/mem.h"
#include "numeric/la/parallel.h"
#include "numeric/special/special.h"
#include "apps/regress/rstarts.h"
#include <float.h>
#include <math.h>
#include <string.h>

/* ---- the model ---- */

/* The kernel of a regression on `dim` columns, as text. */
static void rmodel_kernel_text(int dim, enum rfamily_kind family, struct buf *out) {
    const struct rfamily *f = rfamily_of(family);
    buf_printf(out, "%g + LIN(sf=%g) + SE(sf=%g, l=[", f->constant * f->constant, 0.5 * f->scale,
               f->scale);
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

enum gpm_status rmodel_init(struct rmodel *m, const struct rmodel_data *data, const char *text,
                            struct buf *err) {
    *m = (struct rmodel){.dim = data->dim,
                         .n = data->n,
                         .x = data->x,
                         .y = data->y,
                         .family = rfamily_of(data->family)};
    if (m->family->likelihood) m->likelihood = gp_likelihood_find(m->family->likelihood);
    struct buf own = BUF_INIT;
    if (!text) rmodel_kernel_text(m->dim, data->family, &own);
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
            m->centre[m->nk] = log(theta[i]);
            m->free[m->nk++] = (int)i;
        }
    m->d = m->nk;
    if (!m->likelihood || m->likelihood->n)
        m->centre[m->d++] = log(m->likelihood ? m->family->size : RMODEL_NOISE);
    mem_free(theta);
    if (m->d > PROPOSAL_MAX_DIM)
        return buf_fail(err, GPM_E_FORMAT, "the kernel has %d free parameters, at most %d", m->nk,
                        PROPOSAL_MAX_DIM - m->d + m->nk);
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
    if (i == m->nk)
        buf_puts(out, m->likelihood ? m->likelihood->parameters[0] : "noise");
    else
        kern_param_name(m->k, (size_t)m->free[i], out);
}

double rmodel_value(const struct rmodel *m, int i, double z) {
    return i == m->nk && !m->likelihood ? hypot(exp(z), RMODEL_FLOOR) : exp(z);
}

/* ---- a process with the data ---- */

static struct gp *new_gp(const struct rmodel *m, const struct kern *k, double noise) {
    struct gp *g = gp_new(m->dim, k, NULL, noise, NULL);
    if (!g) return NULL;
    gp_set_budget(g, 0); /* parameters never come back */
    gp_set_ways(g, GP_FACTORS);
    gp_set_approx(g, GP_EXACT, 0);
    return g;
}

static double *at_columns(const struct rmodel *m) {
    size_t d = (size_t)m->dim;
    double *x = NEW_ARRAY(double, m->n *d + 1);
    for (size_t i = 0; i < m->n * d; i++) x[i % d * m->n + i / d] = m->x[i];
    return x;
}

enum gpm_status rprocess_init(struct rprocess *p, const struct rmodel *m) {
    size_t d = (size_t)m->dim;
    *p = (struct rprocess){.m = m};
    if (!m->likelihood) {
        p->columns = at_columns(m);
        p->g = new_gp(m, m->k, RMODEL_NOISE);
        return p->g ? gp_add(p->g, GP_MEASURED, m->x, m->y, m->n) : GPM_E_NOMEM;
    }
    p->rate.dim = m->dim;
    p->rate.model.likelihood = m->likelihood;
    p->weight = NEW_ARRAY(double, 4 * m->n + 1);
    p->value = p->weight + m->n;
    for (size_t i = 0; i < m->n * d; i++) vec_push(&p->rate.x, m->x[i]);
    for (size_t i = 0; i < m->n; i++) {
        struct laplace_pair pair = {m->y[i], false};
        vec_push(&p->rate.pairs, pair);
    }
    return GPM_OK;
}

void rprocess_release(struct rprocess *p) {
    gp_free(p->g);
    gp_laplace_release(&p->rate);
    mem_free(p->weight);
    mem_free(p->columns);
    *p = (struct rprocess){0};
}

/* The variance that rounding errors of a factor are worth: ROUNDING n times the mean variance of
 * the function at the rows. Less noise than that would be taken for it, or not, by the order of
 * summation (numeric/la/chol.h), and the density would have steps. */
#define ROUNDING (256 * DBL_EPSILON)

static struct kern_pts points_of(const struct rprocess *p) {
    return (struct kern_pts){.x = p->columns, .n = p->m->n, .ld = p->m->n, .dim = p->m->dim};
}

/* Together with a standard deviation. */
static double with_rounding(const struct rprocess *p, const struct kern *k, double sd) {
    double *v = NEW_ARRAY(double, p->m->n + 1), sum = 0;
    enum gpm_status st = kern_diag(k, points_of(p), v);
    for (size_t i = 0; i < p->m->n; i++) sum += v[i];
    mem_free(v);
    return st ? INFINITY : sqrt(sd * sd + ROUNDING * sum);
}

/* What comes by way of it to the derivatives in the kernel's parameters. */
static enum gpm_status rounding_grad(const struct rprocess *p, double dnoise, double *dkern) {
    double *w = NEW_ARRAY(double, p->m->n + 1);
    for (size_t i = 0; i < p->m->n; i++) w[i] = ROUNDING / 2 / gp_noise(p->g) * dnoise;
    enum gpm_status st = kern_grad_diag(gp_kern(p->g), points_of(p), w, dkern);
    mem_free(w);
    return st;
}

enum gpm_status rprocess_use(struct rprocess *p, const double *z) {
    const struct rmodel *m = p->m;
    double *theta = NEW_ARRAY(double, m->npar + 1);
    double last = m->d > m->nk ? rmodel_value(m, m->nk, z[m->nk]) : 1;
    kern_params(m->k, theta);
    for (int i = 0; i < m->nk; i++) theta[m->free[i]] = exp(z[i]);
    struct kern *k = kern_with_params(m->k, theta, NULL);
    mem_free(theta);
    if (k && !m->likelihood) last = with_rounding(p, k, last);
    enum gpm_status st = k && kern_in_range(last) && last > 0 ? GPM_OK : GPM_E_ARG;
    if (!st && !m->likelihood) st = gp_set_model(p->g, k, NULL, last);
    if (!st && m->likelihood) {
        gp_free(p->g);
        p->g = NULL;
        kern_unref(p->rate.model.kern);
        p->rate.model.kern = kern_ref(k);
        p->rate.model.par[0] = last;
        gp_laplace_changed(&p->rate);
    }
    kern_unref(k);
    return st;
}

/* The process of the measurements that stand for the data. */
static enum gpm_status stand_in(struct rprocess *p) {
    const struct rmodel *m = p->m;
    double *share = p->value + m->n; /* scratch */
    for (size_t i = 0; i < m->n; i++) share[i] = 1 / p->weight[i];
    gp_free(p->g);
    p->g = new_gp(m, p->rate.model.kern, 1);
    if (!p->g) return GPM_E_NOMEM;
    gp_set_apart(p->g);
    return gp_add_loud(p->g, m->x, p->value, share, m->n);
}

/* Weights that are next to nothing are raised and very large ones lowered, so that numbers stay in
 * range; with the value, weight * value stays what it is. */
#define LEAST_WEIGHT 1e-6
#define MOST_WEIGHT  1e8

static void set_stand_in(struct rprocess *p, size_t i, double weight, double moment) {
    p->weight[i] = fmin(MOST_WEIGHT, fmax(LEAST_WEIGHT, weight));
    p->value[i] = moment / p->weight[i];
}

/* One sweep of expectation propagation over all rows at once: with N(m, v) the function at a row
 * given the others, and mean and variance of it given the row as well, its stand-in becomes the
 * ratio of the two normal distributions. Most of the way at a time; *moved: the largest step in
 * units of the function's own standard deviation. */
#define WAY 0.8

static enum gpm_status sweep(struct rprocess *p, double *moved) {
    const struct rmodel *m = p->m;
    double *mean = p->value + m->n, *var = mean + m->n;
    enum gpm_status st = gp_loo(p->g, mean, var, NULL);
    *moved = 0;
    for (size_t i = 0; i < m->n && !st; i++) {
        double w = p->weight[i], v = fmax(var[i] - 1 / w, 1e-12 / w), to, spread;
        (void)rfamily_given(m->family, p->rate.model.par, m->y[i], mean[i], sqrt(v), &to, &spread);
        double now = (mean[i] / v + w * p->value[i]) / (1 / v + w); /* given all */
        double weight = w + WAY * (1 / spread - 1 / v - w),
               moment = w * p->value[i] + WAY * (to / spread - mean[i] / v - w * p->value[i]);
        *moved = fmax(*moved, fabs(to - now) / sqrt(spread));
        if (isfinite(weight) && isfinite(moment)) set_stand_in(p, i, weight, moment);
    }
    return st ? st : stand_in(p);
}

enum { SWEEPS = 6 };
#define STILL 0.01

enum gpm_status rprocess_settle(struct rprocess *p) {
    const struct rmodel *m = p->m;
    const struct laplace_model *l = &p->rate.model;
    double logml, moved = INFINITY;
    if (!m->likelihood || p->g) return GPM_OK;
    enum gpm_status st = gp_laplace_logml(&p->rate, &logml);
    if (!st && !isfinite(logml)) st = GPM_E_NOT_PD;
    if (st) return st;
    for (size_t i = 0; i < m->n; i++)
        set_stand_in(p, i, l->at[i].w, l->at[i].w * l->f[i] + l->at[i].slope);
    st = stand_in(p);
    for (int k = 0; k < SWEEPS && moved > STILL && !st; k++) st = sweep(p, &moved);
    return st;
}

enum gpm_status rprocess_loo(struct rprocess *p, double *mean, double *var) {
    enum gpm_status st = rprocess_settle(p);
    if (!st) st = gp_loo(p->g, mean, var, NULL);
    for (size_t i = 0; i < p->m->n && !st && p->weight; i++)
        var[i] = fmax(var[i] - 1 / p->weight[i], 1e-12 / p->weight[i]);
    return st;
}

/* ---- the density ---- */

struct density_of {
    struct rprocess p;
    int threads;
    struct rprocess *each; /* one for each thread; of no model: not needed yet */
};

static void density_release(struct density_of *of) {
    for (int i = 0; i < of->threads; i++) rprocess_release(&of->each[i]);
    mem_free(of->each);
    rprocess_release(&of->p);
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

/* The log likelihood, its derivatives in the kernel's parameters and in what stands behind them. */
static enum gpm_status likelihood(struct rprocess *p, double *logml, double *dkern, double *last) {
    double unused = 0, par[LIKELIHOOD_PARAMETERS] = {0};
    if (!p->m->likelihood)
        return dkern ? gp_logml_grad(p->g, logml, dkern, last) : gp_logml(p->g, logml);
    enum gpm_status st = gp_laplace_logml(&p->rate, logml);
    if (!st && !isfinite(*logml)) st = GPM_E_NOT_PD;
    if (!st && dkern) st = gp_laplace_gradient(&p->rate, dkern, &unused, par);
    if (dkern) *last = par[0];
    return st;
}

static double eval(void *ctx, const double *z, double *grad) {
    struct rprocess *p = ctx;
    const struct rmodel *m = p->m;
    double logml = -INFINITY, last = 0;
    if (rprocess_use(p, z)) return -INFINITY;
    if (!grad) return likelihood(p, &logml, NULL, NULL) ? -INFINITY : logml + log_prior(m, z, NULL);
    double *dkern = NEW_ARRAY(double, m->npar + 1);
    enum gpm_status st = likelihood(p, &logml, dkern, &last);
    if (!st && !m->likelihood) st = rounding_grad(p, last, dkern);
    for (int i = 0; i < m->nk; i++) grad[i] = exp(z[i]) * dkern[m->free[i]];
    if (m->d > m->nk) { /* of the noise d sqrt(s^2 + floor^2) / d log s */
        double s = exp(z[m->nk]);
        grad[m->nk] = s * s / (m->likelihood ? s : gp_noise(p->g)) * last;
    }
    mem_free(dkern);
    return st ? -INFINITY : logml + log_prior(m, z, grad);
}

/* Step of differences of the gradient, beside standard deviations of some hundredths and more: of
 * an outcome without noise rounding leaves a gradient four digits. */
#define DIFFERENCE 1e-2

/* Points on several threads. What a process computed before leaves no trace in its numbers, so it
 * does not matter which of them a point comes to. */
struct points {
    struct density_of *of;
    const double *z;
    double *logp, *grad;
};

static void one_point(void *ctx, size_t i, int thread) {
    struct points *p = ctx;
    const struct rmodel *m = p->of->p.m;
    size_t d = (size_t)m->d;
    struct rprocess *own = &p->of->each[thread];
    p->logp[i] = -INFINITY;
    if (stop_asked(m->stop)) return;
    if (!own->m && rprocess_init(own, m)) return;
    if (own->g) gp_forget(own->g);
    p->logp[i] = eval(own, p->z + i * d, p->grad ? p->grad + i * d : NULL);
}

struct density rprocess_density(struct rprocess *p) {
    return (struct density){
        .d = p->m->d, .eval = eval, .ctx = p, .step = DIFFERENCE, .stop = p->m->stop};
}

static double eval_first(void *ctx, const double *z, double *grad) {
    return eval(&((struct density_of *)ctx)->p, z, grad);
}

static void eval_many(void *ctx, size_t n, const double *z, double *logp, double *grad) {
    struct density_of *of = ctx;
    struct points p = {of, z, logp, grad};
    la_parallel(of->threads, n, one_point, &p);
}

/* ---- from starts to draws ---- */

enum { KEPT = 200 };

/* A likelihood of chances or counts, with its search for the mode, takes the time of one with
 * normal noise and twice the rows, its gradient more: two rounds of 400 rows took 40 s and did not
 * agree. */
enum { HIDDEN_CHAINS = 400 };

static struct reffort rmodel_effort(const struct rmodel *m) {
    size_t n = m->likelihood ? 2 * m->n : m->n;
    static const struct {
        size_t rows;
        struct reffort e;
    } rows[] = {{150, {2000, 200, 4, 40}}, {400, {1000, 120, 4, 20}}, {700, {400, 60, 3, 6}},
                {1200, {200, 40, 2, 2}},   {2000, {100, 20, 2, 0}},   {SIZE_MAX, {60, 12, 2, 0}}};
    size_t i = 0;
    while (n > rows[i].rows) i++;
    struct reffort e = rows[i].e;
    if (m->likelihood && n > HIDDEN_CHAINS) e.chain = 0;
    return e;
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
    struct rprocess of[RCHAINS];
};

static struct density chain_density(void *ctx, int chain) {
    struct chains_of *c = ctx;
    return rprocess_density(&c->of[chain]);
}

static enum gpm_status run_chains(struct rmodel *m, uint64_t seed, int threads) {
    struct chains_of c = {.m = m};
    struct rchains *run = &m->chains;
    *run = (struct rchains){.z = m->z, .kept = m->kept, .rounds = rmodel_effort(m).chain};
    enum gpm_status st = GPM_OK;
    for (int i = 0; i < RCHAINS; i++)
        if (rprocess_init(&c.of[i], m)) st = GPM_E_NOMEM;
    if (!st) rchains_run(run, &m->q, chain_density, &c, seed, threads);
    for (int i = 0; i < RCHAINS; i++) rprocess_release(&c.of[i]);
    m->method = RMODEL_CHAINS;
    return st;
}

/* Draws of the normal distributions at the modes, of each by its evidence. */
static void run_laplace(struct rmodel *m, struct rng *r) {
    for (size_t k = 0; k < m->kept; k++) {
        const struct mode *q = proposal_mode_at(&m->q, ((double)k + 0.5) / (double)m->kept);
        double t[PROPOSAL_MAX_DIM];
        for (int j = 0; j < m->d; j++) t[j] = rng_normal(r);
        mode_point(q, m->d, t, m->z + k * (size_t)m->d);
    }
    m->method = RMODEL_LAPLACE;
}

/* Draws that hold the weight, or as many as are used where that is fewer. Of more parameters than
 * FEW importance sampling leaves no more than one draw in ten its weight, and a draw of a chain,
 * which takes some three gradients, is the cheaper one. */
#define ENOUGH 100
enum { FEW = 16 };

static enum gpm_status sample(struct rmodel *m, const struct density *t, uint64_t seed,
                              int threads) {
    struct draws d = {0};
    struct rng *r = &m->rng;
    enum gpm_status st = GPM_OK;
    m->z = NEW_ARRAY(double, m->kept *(size_t)m->d);
    m->is = (struct is_result){m->laplace, NAN, 0};
    if (m->d <= FEW) m->is = importance(t, &m->q, m->draws / 4, m->draws, r, &d);
    bool enough = m->is.ess * (double)m->draws >= fmin(ENOUGH, (double)m->used);
    if (stop_asked(m->stop))
        st = GPM_E_INTERRUPT;
    else if (isfinite(m->is.logz) && enough)
        is_draws_even(&d), resample(m, &d, r);
    else if (rmodel_effort(m).chain)
        st = run_chains(m, seed, threads);
    else
        run_laplace(m, r);
    is_draws_release(&d);
    return st ? st : stop_asked(m->stop) ? GPM_E_INTERRUPT : GPM_OK;
}

static enum gpm_status density_init(struct density_of *of, struct rmodel *m, int threads,
                                    struct density *t) {
    *of = (struct density_of){.threads = threads};
    of->each = mem_zalloc((size_t)threads * sizeof *of->each);
    *t = (struct density){.d = m->d,
                          .eval = eval_first,
                          .many = eval_many,
                          .ctx = of,
                          .step = DIFFERENCE,
                          .evals = &m->evals,
                          .stop = m->stop};
    return rprocess_init(&of->p, m);
}

static void plan_draws(struct rmodel *m, uint64_t seed) {
    struct reffort effort = rmodel_effort(m);
    m->kept = KEPT;
    m->used = effort.used;
    m->draws = effort.draws;
    rng_init(&m->rng, seed, 17, 0);
}

enum gpm_status rmodel_find_near(struct rmodel *m, const struct mode *like, uint64_t seed,
                                 int threads) {
    if (m->n <= RSTARTS_MANY) return rmodel_find(m, seed, threads);
    struct density_of of;
    struct density t;
    double z[PROPOSAL_MAX_DIM];
    enum gpm_status st = density_init(&of, m, threads, &t);
    plan_draws(m, seed);
    double logp = st ? -INFINITY : rstarts_near(like, &t, z);
    if (!st &&
        (!isfinite(logp) || !proposal_lend_mode(&m->q, m->d, like, m->d, NULL, NULL, z, logp)))
        st = GPM_E_NOT_PD;
    if (!st) m->laplace = m->q.mode[0].log_weight, m->lent = true;
    density_release(&of);
    return stop_asked(m->stop) ? GPM_E_INTERRUPT : st;
}

enum gpm_status rmodel_shape(struct rmodel *m, int threads) {
    struct proposal own = {0};
    struct density_of of;
    struct density t;
    if (!m->lent) return GPM_OK;
    enum gpm_status st = density_init(&of, m, threads, &t);
    if (!st) {
        m->laplace = proposal_add_mode(&own, &t, m->q.mode[0].z);
        if (!isfinite(m->laplace)) st = GPM_E_NOT_PD;
    }
    if (!st) {
        proposal_release(&m->q);
        m->q = own;
        m->lent = false;
    }
    density_release(&of);
    return stop_asked(m->stop) ? GPM_E_INTERRUPT : st;
}

enum gpm_status rmodel_find(struct rmodel *m, uint64_t seed, int threads) {
    struct density_of of;
    struct density t;
    int most = rmodel_effort(m).modes;
    double *z = NEW_ARRAY(double, most * m->d + 1), evidence[PROPOSAL_MAX_MODES] = {0};
    plan_draws(m, seed);
    int n = rstarts_find(m, most, threads, z);
    enum gpm_status st = density_init(&of, m, threads, &t);
    for (int i = 0; i < n && !st; i++) evidence[i] = proposal_add_mode(&m->q, &t, z + i * m->d);
    m->laplace = st ? -INFINITY : logsumexp(evidence, (size_t)n);
    if (!st && !isfinite(m->laplace)) st = GPM_E_NOT_PD;
    density_release(&of);
    mem_free(z);
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
