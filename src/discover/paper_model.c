/* SPDX-License-Identifier: Apache-2.0
 *
 * The paper's model on struct gp: a kernel of the grammar is a sum of products of LIN, SE, PER and
 * WN, whose parameters are shared by all products, so the slopes of equal ones add up. 1e-9 of the
 * mean variance is added as noise: structures without noise are singular otherwise.
 */
#include "base/mem.h"
#include "discover/paper.h"
#include <math.h>
#include <string.h>

#define HAS(mask, f) ((mask)&FACTOR_BIT(f))
#define JITTER       1e-9
#define MAX_THETA    64 /* eight products of at most seven parameters */

/* Months of 28 to 31 days are equal steps. */
static void set_grid(struct paper_data *d) {
    size_t n = d->n;
    d->step = (d->x[n - 1] - d->x[0]) / (double)(n - 1);
    d->grid = true;
    for (size_t i = 0; i < n; i++)
        d->grid &= fabs(d->x[i] - d->x[0] - d->step * (double)i) < 0.2 * d->step;
    double x0 = d->x[0];
    for (size_t i = 0; i < n && d->grid; i++) d->x[i] = x0 + d->step * (double)i;
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
    set_grid(d);
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
    set_grid(d);
}

void paper_data_release(struct paper_data *d) {
    mem_free(d->x);
    mem_free(d->y);
    memset(d, 0, sizeof *d);
}

/* ---- the kernel ---- */
struct expression {
    double value[PAPER_PARS]; /* of the parameters */
    int par[MAX_THETA];       /* which of them each parameter of the kernel is */
    size_t n;
};

static const struct {
    const char *kernel;
    int factor, first, n; /* its parameters follow each other */
} leaves[] = {{"LIN", FACTOR_LIN, PP_LIN_S, 1},
              {"SE", FACTOR_SE, PP_SE_S, 2},
              {"PER", FACTOR_PER, PP_PER_S, 3},
              {"WN", FACTOR_WN, PP_WN_S, 1}};

static struct kern *product(struct expression *e, unsigned mask) {
    struct kern *out = NULL;
    for (size_t i = 0; i < COUNT_OF(leaves); i++) {
        if (!HAS(mask, leaves[i].factor)) continue;
        for (int p = 0; p < leaves[i].n; p++) e->par[e->n++] = leaves[i].first + p;
        out = kern_join(
            KERN_PRODUCT, out,
            kern_named(leaves[i].kernel, e->value + leaves[i].first, (size_t)leaves[i].n, NULL));
    }
    return out;
}

/* NULL: nothing is left without noise. */
static struct kern *kernel_of(struct expression *e, const struct paper_kernel *k, bool noise) {
    struct kern *sum = NULL;
    e->n = 0;
    for (int q = 0; q < k->n; q++)
        if (noise || !HAS(k->product[q], FACTOR_WN))
            sum = kern_join(KERN_SUM, sum, product(e, k->product[q]));
    return sum;
}

int paper_pars(const struct paper_kernel *k, int par[PAPER_PARS]) {
    int n = 0;
    for (size_t i = 0; i < COUNT_OF(leaves); i++)
        for (int p = 0; p < leaves[i].n && HAS(k->leaves, leaves[i].factor); p++)
            par[n++] = leaves[i].first + p;
    return n;
}

static struct expression with_values(const struct paper_kernel *k, const double *z) {
    struct expression e = {.n = 0};
    int par[PAPER_PARS], n = paper_pars(k, par);
    for (int i = 0; i < n; i++) e.value[par[i]] = exp(z[i]);
    return e;
}

/* ---- density ---- */
struct paper_work {
    struct gp *gp;
    double *var; /* of the values */
};

struct paper_work *paper_work_new(const struct paper_data *d) {
    struct paper_work *w = NEW(struct paper_work);
    struct kern *k = kern_constant(1);
    w->gp = gp_new(1, k, NULL, 1, NULL);
    kern_unref(k);
    gp_set_apart(w->gp);
    gp_set_budget(w->gp, 0);
    w->var = mem_try_doubles(d->n);
    if (w->var && gp_add(w->gp, GP_MEASURED, d->x, d->y, d->n) == GPM_OK) return w;
    paper_work_free(w);
    return NULL;
}

void paper_work_free(struct paper_work *w) {
    if (!w) return;
    gp_free(w->gp);
    mem_free(w->var);
    mem_free(w);
}

static enum gpm_status set_model(const struct paper_data *d, const struct paper_kernel *k,
                                 struct paper_work *w, struct expression *e) {
    struct kern *kern = kernel_of(e, k, true);
    struct kern_pts x = {.x = d->x, .n = d->n, .ld = d->n, .dim = 1};
    double mean = 0;
    enum gpm_status st = kern ? kern_diag(kern, x, w->var) : GPM_E_ARG;
    for (size_t i = 0; i < d->n && !st; i++) mean += w->var[i] / (double)d->n;
    if (!st) st = gp_set_model(w->gp, kern, NULL, sqrt(JITTER * mean));
    gp_forget(w->gp);
    kern_unref(kern);
    return st;
}

double paper_eval(const struct paper_data *d, const struct paper_kernel *k, struct paper_work *w,
                  const double *z, double *grad) {
    int par[PAPER_PARS], n = paper_pars(k, par);
    double dkern[MAX_THETA], g[PAPER_PARS] = {0}, lp = 0, ll;
    for (int i = 0; i < n; i++) {
        if (!(fabs(z[i]) < 15)) return -INFINITY;
        lp += 5 * z[i] - exp(z[i]) - 3.1780538303479458; /* Gamma(5,1) in log: lgamma(5) */
    }
    struct expression e = with_values(k, z);
    enum gpm_status st = set_model(d, k, w, &e);
    if (!st) st = grad ? gp_logml_grad(w->gp, &ll, dkern, NULL) : gp_logml(w->gp, &ll);
    if (st != GPM_OK || !isfinite(ll)) return -INFINITY;
    if (grad) {
        for (size_t i = 0; i < e.n; i++) g[e.par[i]] += dkern[i] * e.value[e.par[i]];
        for (int i = 0; i < n; i++) grad[i] = g[par[i]] + 5 - exp(z[i]);
    }
    return ll + lp;
}

enum gpm_status paper_fit(const struct paper_data *d, const struct paper_kernel *k,
                          struct paper_work *w, const double *z, double *mean, double *sd) {
    struct expression e = with_values(k, z);
    enum gpm_status st = set_model(d, k, w, &e);
    struct kern *signal = kernel_of(&e, k, false);
    memset(mean, 0, d->n * sizeof *mean);
    memset(sd, 0, d->n * sizeof *sd);
    if (!st && signal) st = gp_component(w->gp, signal, d->x, d->n, mean, sd);
    for (size_t i = 0; i < d->n && !st; i++) sd[i] = sqrt(sd[i]);
    kern_unref(signal);
    return st;
}
