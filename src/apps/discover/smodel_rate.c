/* SPDX-License-Identifier: Apache-2.0
 *
 * Few counts: y ~ negative binomial with mean e^f, f = mean + sd * (the process of the structure),
 * by the Laplace approximation (gp/way/gp_laplace.h). Values of 0 and 1: 1 with the chance
 * 1 / (1 + e^-f), which leaves no scatter to be learnt: their noise has its prior alone. The
 * parameter that is the noise of normal values is how much more than Poisson counts they scatter:
 * of a rate that itself scatters by a share s, the variance is m + s^2 m^2, which is size 1 / s^2.
 *
 * At the mode f^ with slopes g and curvatures W the posterior of f is that of normal values
 * f^ + g / W with variances 1 / W. With those at hand everything else (components, joint
 * covariances, effects) is computed by struct gp as for normal values. Their standard deviations
 * are the last coordinate of a point, so that the variances are part of the kernel; a point where
 * the function is asked for has 0 there.
 *
 * Standardised like the counts by the delta method: log rate = log mean + (sd / mean) * f, log odds
 * = logit mean + (1 / sd) * f.
 */
#include "base/mem.h"
#include "apps/discover/smodel.h"
#include "gp/way/gp_laplace.h"
#include "gp/kernel/kern_class.h"
#include <math.h>
#include <string.h>

#define RATE_MEAN    20.0 /* counts on average below which they are few */
#define RATE_VALUES  240  /* at most: a likelihood is a dozen dense ones */
#define TRUTH_VALUES 400  /* they say less each, and normal errors of rare ones are farther off */

bool smodel_few_counts(const struct smodel_data *d) {
    bool ends = isfinite(d->low) || isfinite(d->high);
    if (d->truths) return d->n <= TRUTH_VALUES;
    return d->counts && !ends && d->n <= RATE_VALUES && d->mean[0] < RATE_MEAN &&
           (smodel_scale(d) == LINK_ROOT || smodel_scale(d) == LINK_LOG);
}

void smodel_data_rates(struct smodel_data *d) {
    mem_free(d->y[TRANSFORM_LOG]);
    mem_free(d->y[TRANSFORM_POWER]);
    d->y[TRANSFORM_POWER] = NULL;
    d->y[TRANSFORM_LOG] = NEW_ARRAY(double, d->n);
    memcpy(d->y[TRANSFORM_LOG], d->y[0], d->n * sizeof *d->y[0]);
    double mean = d->mean[0];
    d->link[TRANSFORM_LOG].kind = d->truths ? LINK_CHANCE : LINK_RATE;
    d->linear = false;
    d->mean[TRANSFORM_LOG] = d->truths ? log(mean / (1 - mean)) : log(mean);
    d->sd[TRANSFORM_LOG] = d->truths ? 1 / d->sd[0] : d->sd[0] / mean;
    d->log_measure[TRANSFORM_LOG] = d->rounding[TRANSFORM_LOG] = 0;
    d->dim++;
    mem_free(d->points);
    d->points = smodel_points(d, d->n, d->t);
}

/* ---- the mode ---- */

const struct gp_likelihood *smodel_likelihood(const struct smodel_data *d) {
    return gp_likelihood_find(smodel_scale(d) == LINK_CHANCE ? "bernoulli" : "negative_binomial");
}

double smodel_count_size(const struct smodel *m, const double *z) {
    double more = exp(z[0]) * m->data->sd[TRANSFORM_LOG];
    return 1 / (more * more);
}

static struct gp_laplace *workspace(const struct smodel_data *d, struct smodel_work *w) {
    if (w->rate) return w->rate;
    struct gp_laplace *g = w->rate = NEW(struct gp_laplace);
    g->dim = d->dim - 1; /* the last coordinate is that of the normal values below */
    for (size_t i = 0; i < d->n * (size_t)d->dim; i++)
        if ((i + 1) % (size_t)d->dim) vec_push(&g->x, d->points[i]);
    for (size_t i = 0; i < d->n; i++)
        vec_push(&g->pairs, ((struct laplace_pair){.y = d->values[i]}));
    g->model.mean = mean_const(d->mean[TRANSFORM_LOG]);
    g->model.likelihood = smodel_likelihood(d);
    return g;
}

void smodel_rate_release(struct smodel_work *w) {
    if (w->rate) gp_laplace_release(w->rate);
    mem_free(w->rate);
    w->rate = NULL;
}

static struct gp_laplace *set_rate(const struct smodel *m, struct smodel_work *w, const double *z,
                                   const struct kern *k) {
    const struct smodel_data *d = m->data;
    struct gp_laplace *g = workspace(d, w);
    double sd = d->sd[TRANSFORM_LOG];
    kern_unref(g->model.kern);
    g->model.kern = kern_join(KERN_PRODUCT, kern_constant(sd * sd), kern_ref(k));
    g->model.par[0] = smodel_count_size(m, z);
    gp_laplace_changed(g);
    return g;
}

/* dkern: of k's parameters, which follow that of the factor; dnoise: of exp(z[0]). */
enum gpm_status smodel_rate_logml(const struct smodel *m, struct smodel_work *w, const double *z,
                                  const struct kern *k, double *out, double *dkern,
                                  double *dnoise) {
    struct gp_laplace *g = set_rate(m, w, z, k);
    enum gpm_status st = gp_laplace_logml(g, out);
    if (!dkern || st != GPM_OK || !isfinite(*out)) return st;
    size_t n = kern_nparam(g->model.kern);
    double *all = NEW_ARRAY(double, n + 1), dmean[1], dsize[LIKELIHOOD_PARAMETERS] = {0};
    st = gp_laplace_gradient(g, all, dmean, dsize);
    memcpy(dkern, all + 1, (n - 1) * sizeof *dkern);
    *dnoise = m->data->truths ? 0 : -2 * dsize[0] * g->model.par[0] / exp(z[0]);
    mem_free(all);
    return st;
}

/* ---- normal values in their place ---- */

/* The variances of the values as a kernel: s s' of a value with itself. */
static struct kern *own_noise(int dim) {
    const double one[] = {1}, line[] = {1, 0};
    const int at[] = {0, dim - 1};
    struct kern *white = kern_leaf_on(factor_class(factor_find("WN", 2)), one, 1, at, 2, NULL);
    struct kern *size = kern_leaf_on(factor_class(factor_find("LIN", 3)), line, 1, at + 1, 1, NULL);
    return kern_join(KERN_PRODUCT, white, size);
}

enum gpm_status smodel_rate_condition(const struct smodel *m, struct smodel_work *w,
                                      const double *z, const struct kern *k) {
    const struct smodel_data *d = m->data;
    struct gp_laplace *g = set_rate(m, w, z, k);
    double ll, sd = d->sd[TRANSFORM_LOG], mean = d->mean[TRANSFORM_LOG];
    size_t dim = (size_t)d->dim;
    enum gpm_status st = gp_laplace_logml(g, &ll);
    if (st != GPM_OK || !g->model.solved) return st != GPM_OK ? st : GPM_E_NOT_PD;
    double *x = NEW_ARRAY(double, d->n *(dim + 1)), *y = x + d->n * dim;
    memcpy(x, d->points, d->n * dim * sizeof *x);
    for (size_t i = 0; i < d->n; i++) {
        const struct gp_likely *at = &g->model.at[i];
        double curve = fmax(at->w, 1e-9); /* a rate so small that a 0 says nothing */
        y[i] = (g->model.f[i] + at->slope / curve - mean) / sd;
        x[i * dim + dim - 1] = 1 / (sqrt(curve) * sd);
    }
    struct kern *all = kern_join(KERN_SUM, kern_ref(k), own_noise(d->dim));
    struct gp *values = gp_new(d->dim, all, NULL, 1e-5, NULL);
    kern_unref(all);
    if (values) gp_set_apart(values);
    st = values ? gp_add(values, GP_MEASURED, x, y, d->n) : GPM_E_ARG;
    gp_free(w->gp[TRANSFORM_LOG]);
    w->gp[TRANSFORM_LOG] = values;
    mem_free(x);
    return st;
}
