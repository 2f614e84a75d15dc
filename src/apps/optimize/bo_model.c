/* SPDX-License-Identifier: Apache-2.0
 * The optimiser's model: kernels, priors, fit; see bo_model.h. */
#include "apps/optimize/bo_model.h"
#include "base/mem.h"
#include "numeric/optim/optim.h"

#include <math.h>
#include <string.h>

#define G_MIN    1e-9
#define NOISE_SD 2.0 /* of log g, the noise's share: 0.002 to 5 times the function's variance */

const char *const bo_kern_names[BO_KERN_COUNT] = {"SE", "M52", "MIX", "ADD"};
static const char *const rows[BO_KERN_COUNT] = {"SE", "MAT52", "MIX", "ADD"};

/* ---- kernels ---- */

static bool is_mixture(enum bo_kern kind) {
    return kind == BO_MIX || kind == BO_ADD;
}

static struct kern *leaf(const char *row, const double *par, const int *col, int n, int D) {
    return kern_leaf_on(kern_class_find(row), par, (size_t)n, col, n == D ? 0 : (size_t)n, NULL);
}

typedef struct kern *combine(struct kern *a, struct kern *b);

/* Takes both over; NULL: one of them is. */
static struct kern *join(combine *how, struct kern *a, struct kern *b) {
    struct kern *k = a && b ? how(a, b) : NULL;
    kern_unref(a);
    kern_unref(b);
    return k;
}

/* Of the numeric coordinates but `without`: sf = 1, lengths, odds and rho of mixtures. */
static struct kern *numeric(const struct bo_model *m, enum bo_kern kind, const double *theta,
                            int without) {
    double *par = NEW_ARRAY(double, (size_t)m->D + 3);
    int *col = NEW_ARRAY(int, (size_t)m->d + 1), n = 0;
    par[0] = 1;
    for (int c = 0; c < m->d; c++)
        if (c != without) col[n++] = c, par[n] = exp(theta[c]);
    for (int i = 1; is_mixture(kind) && i <= 2; i++) par[n + i] = exp(theta[m->D + i]);
    struct kern *k = leaf(rows[kind], par, col, n, m->D);
    mem_free(par);
    mem_free(col);
    return k;
}

static struct kern *categories(const struct bo_model *m, const double *theta) {
    double *par = NEW_ARRAY(double, (size_t)m->n_cat + 1);
    int *col = NEW_ARRAY(int, (size_t)m->n_cat + 1);
    for (int c = 0; c < m->n_cat; c++) col[c] = m->d + c, par[c] = exp(theta[m->d + c]);
    struct kern *k = leaf("HAM", par, col, m->n_cat, m->D);
    mem_free(par);
    mem_free(col);
    return k;
}

/* b^2 (1 - s)(1 - s') */
static struct kern *cheapness(const struct bo_model *m, const double *theta) {
    const double par[2] = {exp(theta[m->D + 3]), 1};
    const struct kern_class *line = kern_class_with(kern_class_find("LIN"), 2);
    return kern_leaf_on(line, par, 1, &m->fidelity, 1, NULL);
}

/* One term: of the coordinates but `without`, and with all of them what less cost changes. */
static struct kern *term(const struct bo_model *m, enum bo_kern kind, const double *theta,
                         int without) {
    if (!m->d) return categories(m, theta);
    struct kern *k = numeric(m, kind, theta, without);
    if (without < 0 && m->fidelity >= 0) k = join(kern_product, k, cheapness(m, theta));
    return m->n_cat ? join(kern_product, k, categories(m, theta)) : k;
}

struct kern *bo_model_kern(const struct bo_model *m, enum bo_kern kind, const double *theta) {
    struct kern *k = term(m, kind, theta, m->fidelity);
    return m->fidelity < 0 ? k : join(kern_sum, k, term(m, kind, theta, -1));
}

/* Adds a term's derivatives in the kernel's parameters to those in theta; returns what is behind
 * them. sf is given. */
static const double *add_slopes(const struct bo_model *m, const double *theta, int without,
                                const double *at, double *grad) {
    at += m->d > 0;
    for (int c = 0; c < m->d; c++)
        if (c != without) grad[c] += exp(theta[c]) * *at++;
    for (int i = 1; m->d && is_mixture(m->kind) && i <= 2; i++)
        grad[m->D + i] += exp(theta[m->D + i]) * *at++;
    if (without < 0 && m->fidelity >= 0) { /* its sf, and the given place where it ends */
        grad[m->D + 3] += exp(theta[m->D + 3]) * *at;
        at += 2;
    }
    for (int c = m->d; c < m->D; c++) grad[c] += exp(theta[c]) * *at++;
    return at;
}

/* d logml / d theta from the derivatives in the kernel's parameters: all of theta are logarithms.
 */
static void from_kernel(const struct bo_model *m, const double *theta, const double *dkern,
                        double *grad) {
    for (int i = 0; i < bo_model_params(m); i++) grad[i] = 0;
    const double *rest = add_slopes(m, theta, m->fidelity, dkern, grad);
    if (m->fidelity >= 0) add_slopes(m, theta, -1, rest, grad);
}

/* A cost is the cost of something: with no other number it is a coordinate as any. */
void bo_model_init(struct bo_model *m, int d, int n_cat, int fidelity, bool noisy) {
    *m = (struct bo_model){.d = d, .n_cat = n_cat, .D = d + n_cat, .noisy = noisy, .widen = 1};
    m->fidelity = d > 1 ? fidelity : -1;
    m->theta = NEW_ARRAY(double, bo_model_size(m));
    m->inv_l = NEW_ARRAY(double, (size_t)m->D);
    for (int k = 0; k < m->D; k++) m->inv_l[k] = 1; /* saved before the first fit */
    m->kind = BO_M52;
    bo_model_prior(m, NULL, m->theta);
    struct kern *k = bo_model_kern(m, m->kind, m->theta);
    m->gp = gp_new(m->D, k, NULL, 1, NULL);
    kern_unref(k);
    gp_set_integrated(m->gp, GP_MEAN | GP_SCALE);
    gp_set_budget(m->gp, 0); /* theta never comes back */
    gp_set_ways(m->gp, GP_FACTORS);
}

void bo_model_release(struct bo_model *m) {
    gp_free(m->gp);
    mem_free(m->theta);
    mem_free(m->inv_l);
}

enum gpm_status bo_model_load(struct bo_model *m, const double *u, const double *y, size_t n) {
    m->widen = 1;
    gp_clear(m->gp);
    return gp_add(m->gp, GP_MEASURED, u, y, n);
}

enum gpm_status bo_model_believe(struct bo_model *m, const double *u, double y) {
    double dof = gp_dof(m->gp);
    enum gpm_status s = gp_add(m->gp, GP_MEASURED, u, &y, 1);
    m->widen *= gp_dof(m->gp) / dof;
    return s;
}

/* ---- priors ---- */

/* What a fidelity changes stands behind the mixtures' two, which stay where they are in kernels
 * that have none. */
size_t bo_model_size(const struct bo_model *m) {
    return (size_t)m->D + 3 + (m->fidelity >= 0);
}

int bo_model_params(const struct bo_model *m) {
    return m->fidelity >= 0 || is_mixture(m->kind) ? (int)bo_model_size(m) : m->D + 1;
}

struct prior { /* of a component of theta: normal, within bounds */
    double mean, sd, lo, hi;
};

/* The length scales grow with the square root of the dimension: distances in the box do. Noisy:
 * a user asks for it because of more than rounding, and all variation may be noise. Less cost is
 * given because it is useful: it shows most of the function. */
static struct prior prior_of(const struct bo_model *m, int i) {
    if (i < m->d)
        return (struct prior){log(0.5 * sqrt(m->D)), m->noisy ? 1 : 0.7, log(0.02), log(20)};
    if (i < m->D) return (struct prior){0, 1, log(0.1), log(20)};
    if (i > m->D + 2) return (struct prior){log(0.2), 1, -6, 4};
    if (i > m->D + 1) return (struct prior){log(4), 0.7, 0, log(50)};
    if (i > m->D) return (struct prior){0, 1.5, -6, 6};
    if (m->noisy) return (struct prior){log(0.1), NOISE_SD, log(G_MIN), log(1e4)};
    return (struct prior){log(1e-9), 6, log(G_MIN), log(1e-4)};
}

void bo_model_prior(const struct bo_model *m, struct rng *r, double *theta) {
    for (int i = 0; i < (int)bo_model_size(m); i++) {
        struct prior p = prior_of(m, i);
        theta[i] = r ? fmin(p.hi, fmax(p.lo, p.mean + p.sd * rng_normal(r))) : p.mean;
    }
    if (!m->noisy) theta[m->D] = log(1e-8);
}

static double prior_nlp(const struct bo_model *m, const double *theta, double *grad) {
    double nlp = 0;
    for (int i = 0; i < bo_model_params(m); i++) {
        struct prior p = prior_of(m, i);
        double t = (theta[i] - p.mean) / p.sd;
        nlp += 0.5 * t * t;
        if (grad) grad[i] += t / p.sd;
    }
    return nlp;
}

/* ---- likelihood and fit ---- */

static enum gpm_status use(struct bo_model *m, const double *theta) {
    struct kern *k = bo_model_kern(m, m->kind, theta);
    enum gpm_status s = k ? gp_set_model(m->gp, k, NULL, exp(0.5 * theta[m->D])) : GPM_E_ARG;
    kern_unref(k);
    for (int c = 0; c < m->D; c++) m->inv_l[c] = exp(-theta[c]);
    m->widen = 1;
    return s;
}

double bo_model_nlp(struct bo_model *m, const double *theta, double *grad) {
    double logml = -INFINITY, dnoise, *dkern = NULL;
    enum gpm_status s = use(m, theta);
    if (!s && grad) {
        dkern = NEW_ARRAY(double, kern_nparam(gp_kern(m->gp)) + 1);
        s = gp_logml_grad(m->gp, &logml, dkern, &dnoise);
        from_kernel(m, theta, dkern, grad);
        grad[m->D] = 0.5 * gp_noise(m->gp) * dnoise;
        for (int i = 0; i < bo_model_params(m); i++) grad[i] = -grad[i];
        mem_free(dkern);
    } else if (!s) {
        s = gp_logml(m->gp, &logml);
    }
    double nlp = prior_nlp(m, theta, grad) - logml;
    return s || isnan(nlp) ? INFINITY : nlp;
}

enum gpm_status bo_model_factor(struct bo_model *m) {
    double s2;
    enum gpm_status s = use(m, m->theta);
    return s ? s : gp_scale2(m->gp, &s2);
}

static double fit_objective(void *ctx, const double *theta, double *grad) {
    return bo_model_nlp(ctx, theta, grad);
}

double bo_model_fit(struct bo_model *m, int iterations) {
    size_t p = (size_t)bo_model_params(m);
    double *lo = NEW_ARRAY(double, 2 * p + 1), *hi = lo + p;
    struct optim_options opt = {iterations, 1000, 0, 1e-6, 0.3, 1.0, 0.1, lo, hi, NULL};
    for (size_t i = 0; i < p; i++) {
        struct prior q = prior_of(m, (int)i);
        lo[i] = q.lo, hi[i] = q.hi;
    }
    double nlp = optim_minimise(fit_objective, m, p, m->theta, &opt);
    mem_free(lo);
    return nlp;
}

/* Alternates one coordinate and all coordinates, step sizes log-normal around 0.6/sqrt(p). */
void bo_model_mcmc(struct bo_model *m, int steps, double *nlp, struct rng *r) {
    int p = bo_model_params(m);
    double *t = NEW_ARRAY(double, (size_t)p);
    for (int step = 0; step < steps; step++) {
        bool inside = true;
        double size = exp(0.7 * rng_normal(r)) * 0.6;
        memcpy(t, m->theta, (size_t)p * sizeof *t);
        if (step % 2) {
            for (int i = 0; i < p; i++) t[i] += size / sqrt(p) * rng_normal(r);
        } else {
            t[rng_below(r, (uint64_t)p)] += size * rng_normal(r);
        }
        for (int i = 0; i < p; i++)
            inside = inside && t[i] >= prior_of(m, i).lo && t[i] <= prior_of(m, i).hi;
        double u = log(rng_uniform(r)), proposed = inside ? bo_model_nlp(m, t, NULL) : INFINITY;
        if (!(u < *nlp - proposed)) continue;
        memcpy(m->theta, t, (size_t)p * sizeof *t);
        *nlp = proposed;
    }
    mem_free(t);
}

/* ---- prediction: after a factor it cannot fail but for memory; then nothing is known ---- */

#define LEAST_VAR 1e-14 /* of the scale: log EI divides by the standard deviation */

static double least(struct bo_model *m) {
    double s2 = 1;
    return gp_scale2(m->gp, &s2) ? INFINITY : LEAST_VAR * s2;
}

void bo_model_predict(struct bo_model *m, const double *x, double *mean, double *var) {
    if (gp_point(m->gp, x, mean, var)) *mean = 0, *var = INFINITY;
    *var = m->widen * fmax(*var, least(m));
}

void bo_model_slope(struct bo_model *m, double a, double b, double *grad) {
    if (gp_point_slope(m->gp, a, m->widen * b, grad)) memset(grad, 0, (size_t)m->D * sizeof *grad);
}

double bo_model_mean(struct bo_model *m, const double *x, double *grad) {
    double mean;
    enum gpm_status s =
        grad ? gp_mean_slope(m->gp, x, &mean, grad) : gp_point(m->gp, x, &mean, NULL);
    return s ? 0 : mean;
}

void bo_model_predict_many(struct bo_model *m, const double *x, size_t count, double *mean,
                           double *var) {
    enum gpm_status s = gp_predict(m->gp, x, count, GP_LATENT, mean, var);
    double low = least(m);
    for (size_t i = 0; i < count; i++) {
        if (s) mean[i] = 0, var[i] = INFINITY;
        var[i] = m->widen * fmax(var[i], low);
    }
}

double bo_model_noise_sd(struct bo_model *m) {
    double s2 = 0;
    return gp_scale2(m->gp, &s2) ? 0 : sqrt(s2) * gp_noise(m->gp);
}
