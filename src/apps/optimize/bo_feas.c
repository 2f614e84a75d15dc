/* SPDX-License-Identifier: Apache-2.0
 * Where evaluations fail: a probit Gaussian process on the labels (Matern-5/2 with the objective's
 * length scales, a nugget for failures by chance), by Laplace's approximation (Rasmussen and
 * Williams, algorithm 3.1). A draw of its latent function marks the region a Thompson step may
 * use; log EI gets log P(success) added.
 *
 *   latent = m0 + f,  f ~ GP(0, s^2 (M52 + nugget)),  P(success) = Phi(latent)
 *   posterior f ~ GP given pseudo data t = f_hat + W^-1 grad with noise W^-1
 */
#include "numeric/la/blas.h"
#include "numeric/special/special.h"
#include "apps/optimize/bo_priv.h"

#include <math.h>
#include <string.h>

#define PRIOR_MEAN 1.0 /* success is likelier than not where nothing is known */
#define SCALE2     9.0
#define NUGGET     0.05 /* of the scale */

struct bo_feas {
    size_t n;
    double *u;       /* D x n, the points column by column; owns all that follow */
    double *L;       /* n x n: factor of K + W^-1 over SCALE2 */
    double *t;       /* pseudo targets minus PRIOR_MEAN */
    double *w;       /* W */
    double *alpha;   /* (K + W^-1)^-1 t */
    double *v, *row; /* of the drawn function; scratch */
    struct kern_view *view;
    struct gp *prior; /* without data: its paths are draws of the prior */
    struct gp_path *path;
};

void bo_feas_free(struct bo_feas *f) {
    if (!f) return;
    kern_view_free(f->view);
    gp_path_free(f->path);
    gp_free(f->prior);
    mem_free(f->u);
    mem_free(f);
}

/* Points, labels and kernel: a border is sharper than the objective, so scales of half the size, at
 * most half the box. */
static bool load(struct bo *b, struct bo_feas *f, double *label) {
    size_t n = f->n, D = (size_t)b->D;
    const struct bo_model *lead = &bo_lead(b)->model;
    double *theta = NEW_ARRAY(double, bo_model_size(lead));
    for (size_t i = 0; i < n; i++) {
        const struct bo_point *p = &b->points.at[i];
        for (size_t k = 0; k < D; k++) f->u[k * n + i] = p->u[k];
        label[i] = p->count ? 1 : -1;
    }
    memcpy(theta, lead->theta, bo_model_size(lead) * sizeof *theta);
    for (int k = 0; k < b->space->d; k++) theta[k] = fmin(log(0.5), theta[k] - log(2));
    struct kern *k = bo_model_kern(lead, BO_M52, theta);
    struct kern_pts at = {.x = f->u, .n = n, .ld = n, .dim = b->D};
    f->view = k ? kern_view_new(k, at) : NULL;
    f->prior = k ? gp_new(b->D, k, NULL, 0, NULL) : NULL;
    kern_unref(k);
    mem_free(theta);
    return f->view && f->prior;
}

/* Probit terms at latent value h with label y: gradient and W = -second derivative. */
static void probit(double h, double y, double *grad, double *w) {
    double z = y * h, lp = norm_log_cdf(z);
    double ratio = exp(-0.5 * z * z - LOG_SQRT_2PI - lp);
    *grad = y * ratio;
    *w = fmax(1e-6, ratio * (ratio + z));
}

/* K + W^-1 in units of SCALE2, factored; K (lower) is in gram. */
static bool factor(struct bo_feas *f, const double *gram) {
    size_t n = f->n, pivot;
    for (size_t j = 0; j < n; j++) {
        memcpy(f->L + j * n + j, gram + j * n + j, (n - j) * sizeof(double));
        f->L[j * n + j] += 1 / (f->w[j] * SCALE2);
    }
    return la_potrf(n, f->L, n, &pivot) == GPM_OK;
}

/* alpha = (K + W^-1)^-1 t, and f_hat = K alpha. */
static void solve(struct bo_feas *f, const double *gram, double *fhat) {
    size_t n = f->n;
    for (size_t i = 0; i < n; i++) f->alpha[i] = f->t[i] / SCALE2;
    la_trsv(false, n, f->L, n, f->alpha);
    la_trsv(true, n, f->L, n, f->alpha);
    la_symv(n, SCALE2, gram, n, f->alpha, 0, fhat);
}

static bool newton(struct bo_feas *f, const double *label, const double *gram, double *fhat) {
    size_t n = f->n;
    memset(fhat, 0, n * sizeof *fhat);
    for (int it = 0; it < 12; it++) {
        double change = 0;
        for (size_t i = 0; i < n; i++) {
            double grad;
            probit(PRIOR_MEAN + fhat[i], label[i], &grad, &f->w[i]);
            f->t[i] = fhat[i] + grad / f->w[i];
            f->v[i] = fhat[i];
        }
        if (!factor(f, gram)) return false;
        solve(f, gram, fhat);
        for (size_t i = 0; i < n; i++) change = fmax(change, fabs(fhat[i] - f->v[i]));
        if (change < 1e-6) break;
    }
    return true;
}

/* The labels' posterior; false: it is unavailable, and failures are not modelled. */
static bool learn(struct bo *b, struct bo_feas *f) {
    size_t n = f->n = b->points.n, D = (size_t)b->D;
    double *label = mem_try_doubles(n * (n + 2)), *fhat = label + n, *gram = fhat + n;
    f->u = mem_try_doubles(n * (D + n + 5));
    f->L = f->u + n * D, f->t = f->L + n * n, f->w = f->t + n;
    f->alpha = f->w + n, f->v = f->alpha + n, f->row = f->v + n;
    bool ok = label && f->u && load(b, f, label);
    for (size_t j = 0; ok && j < n; j++) {
        ok = kern_view_row(f->view, b->points.at[j].u, gram + j * n) == GPM_OK;
        gram[j * n + j] = 1 + NUGGET;
    }
    ok = ok && newton(f, label, gram, fhat);
    mem_free(label);
    return ok;
}

void bo_feas_update(struct bo *b) {
    bool any = false;
    for (size_t i = 0; i < b->points.n; i++) any = any || !b->points.at[i].count;
    bo_feas_free(b->feas);
    b->feas = NULL;
    if (!any || b->points.n > 1000) return;
    b->feas = NEW(struct bo_feas);
    if (learn(b, b->feas)) return;
    bo_feas_free(b->feas);
    b->feas = NULL;
}

/* K(points, u) into row; zero where memory fails. */
static const double *row_at(struct bo_feas *f, const double *u) {
    if (kern_view_row(f->view, u, f->row)) memset(f->row, 0, f->n * sizeof *f->row);
    return f->row;
}

double bo_feas_log_prob(struct bo *b, const double *u) {
    struct bo_feas *f = b->feas;
    size_t n = f->n;
    double mean = PRIOR_MEAN, var = 1 + NUGGET;
    const double *row = row_at(f, u);
    for (size_t i = 0; i < n; i++) {
        mean += SCALE2 * row[i] * f->alpha[i];
        f->v[i] = row[i];
    }
    la_trsv(false, n, f->L, n, f->v);
    for (size_t i = 0; i < n; i++) var -= f->v[i] * f->v[i];
    return norm_log_cdf(mean / sqrt(1 + SCALE2 * fmax(0, var)));
}

static double prior_at(struct bo_feas *f, const double *u) {
    double v = 0;
    if (f->path && gp_path_eval(f->path, u, 1, &v, NULL)) v = 0;
    return sqrt(SCALE2) * v;
}

void bo_feas_draw(struct bo *b, struct rng *r) {
    struct bo_feas *f = b->feas;
    gp_path_free(f->path);
    f->path = NULL;
    if (gp_path_new(f->prior, 512, r, &f->path)) f->path = NULL;
    for (size_t i = 0; i < f->n; i++) {
        double eps = rng_normal(r) * sqrt(1 / f->w[i] + SCALE2 * NUGGET);
        f->v[i] = (f->t[i] - prior_at(f, b->points.at[i].u) - eps) / SCALE2;
    }
    la_trsv(false, f->n, f->L, f->n, f->v);
    la_trsv(true, f->n, f->L, f->n, f->v);
}

double bo_feas_path(struct bo *b, const double *u) {
    struct bo_feas *f = b->feas;
    double v = PRIOR_MEAN + prior_at(f, u);
    const double *row = row_at(f, u);
    for (size_t i = 0; i < f->n; i++) v += SCALE2 * row[i] * f->v[i];
    return v;
}
