/* SPDX-License-Identifier: Apache-2.0
 * Where evaluations fail: a probit Gaussian process on the labels (Matern-5/2 with the objective's
 * length scales, a nugget for failures by chance), by Laplace's approximation (Rasmussen and
 * Williams, algorithm 3.1). A draw of its latent function marks the region a Thompson step may
 * use; log EI gets log P(success) added.
 *
 *   latent = m0 + f,  f ~ GP(0, s^2 (M52 + nugget)),  P(success) = Phi(latent)
 *   posterior f ~ GP given pseudo data t = f_hat + W^-1 grad with noise W^-1
 */
#include "la/blas.h"
#include "math/special.h"
#include "optimize/bo_priv.h"

#include <math.h>
#include <string.h>

#define PRIOR_MEAN 1.0 /* success is likelier than not where nothing is known */
#define SCALE2     9.0
#define NUGGET     0.05 /* of the scale */

struct bo_feas {
    struct bo_model m; /* inputs and length scales; its L is the factor of K + W^-1 over SCALE2 */
    double *t;         /* pseudo targets minus PRIOR_MEAN */
    double *w;         /* W */
    double *alpha;     /* (K + W^-1)^-1 t */
    size_t cap;
    struct bo_path path;
    double *v;
};

void bo_feas_free(struct bo_feas *f) {
    if (!f) return;
    bo_model_release(&f->m);
    bo_path_release(&f->path);
    mem_free(f->t);
    mem_free(f->w);
    mem_free(f->alpha);
    mem_free(f->v);
    mem_free(f);
}

static bool load(struct bo *b, struct bo_feas *f, double *label) {
    struct bo_model *m = &f->m;
    size_t n = b->points.n;
    if (bo_model_reserve(m, n)) return false;
    m->n = n;
    for (size_t i = 0; i < n; i++) {
        const struct bo_point *p = &b->points.at[i];
        for (int k = 0; k < b->D; k++) m->u[(size_t)k * m->ld + i] = p->u[k];
        m->z[i] = 0;
        m->count[i] = 1;
        label[i] = p->count ? 1 : -1;
    }
    m->N = (double)n;
    memcpy(m->theta, b->model.theta, sizeof(double) * (size_t)b->D);
    /* A border is sharper than the objective: scales of half the size, at most half the box. */
    for (int k = 0; k < b->space.d; k++) m->theta[k] = fmin(log(0.5), m->theta[k] - log(2));
    m->theta[b->D] = log(NUGGET);
    return true;
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
    struct bo_model *m = &f->m;
    size_t pivot;
    for (size_t j = 0; j < m->n; j++) {
        memcpy(m->L + j * m->ld + j, gram + j * m->n + j, (m->n - j) * sizeof(double));
        m->L[j * m->ld + j] += 1 / (f->w[j] * SCALE2);
    }
    return la_potrf(m->n, m->L, m->ld, &pivot) == GPM_OK;
}

/* alpha = (K + W^-1)^-1 t, and f_hat = K alpha. */
static void solve(struct bo_feas *f, const double *gram, double *fhat) {
    struct bo_model *m = &f->m;
    size_t n = m->n;
    for (size_t i = 0; i < n; i++) f->alpha[i] = f->t[i] / SCALE2;
    la_trsv(false, n, m->L, m->ld, f->alpha);
    la_trsv(true, n, m->L, m->ld, f->alpha);
    la_symv(n, SCALE2, gram, n, f->alpha, 0, fhat);
}

static bool newton(struct bo_feas *f, const double *label, const double *gram, double *fhat) {
    size_t n = f->m.n;
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

static void grow(struct bo_feas *f, size_t n) {
    if (n <= f->cap) return;
    f->cap = 2 * n;
    double **all[] = {&f->t, &f->w, &f->alpha, &f->v};
    for (size_t i = 0; i < COUNT_OF(all); i++)
        *all[i] = mem_realloc(*all[i], f->cap * sizeof(double));
}

void bo_feas_update(struct bo *b) {
    bool any = false;
    for (size_t i = 0; i < b->points.n; i++) any = any || !b->points.at[i].count;
    if (!any || b->points.n > 1000) {
        bo_feas_free(b->feas);
        b->feas = NULL;
        return;
    }
    if (!b->feas) {
        b->feas = NEW(struct bo_feas);
        bo_model_init(&b->feas->m, b->space.d, b->space.n_cat, false);
        bo_path_init(&b->feas->path);
    }
    struct bo_feas *f = b->feas;
    size_t n = b->points.n;
    double *label = NEW_ARRAY(double, n *(n + 2)), *fhat = label + n, *gram = fhat + n;
    grow(f, n);
    bool ok = load(b, f, label) && bo_model_factor(&f->m) == GPM_OK;
    struct bo_row row;
    double *u = NEW_ARRAY(double, (size_t)b->D);
    for (size_t j = 0; ok && j < n; j++) {
        memcpy(u, b->points.at[j].u, (size_t)b->D * sizeof *u);
        bo_model_row(&f->m, u, &row);
        memcpy(gram + j * n, row.k, n * sizeof *gram);
        gram[j * n + j] = 1 + NUGGET;
    }
    mem_free(u);
    ok = ok && newton(f, label, gram, fhat);
    mem_free(label);
    if (ok) return;
    bo_feas_free(b->feas);
    b->feas = NULL;
}

double bo_feas_log_prob(struct bo *b, const double *u) {
    struct bo_feas *f = b->feas;
    struct bo_row row;
    size_t n = f->m.n;
    double mean = PRIOR_MEAN, var = 1 + NUGGET;
    bo_model_row(&f->m, u, &row);
    for (size_t i = 0; i < n; i++) {
        mean += SCALE2 * row.k[i] * f->alpha[i];
        f->v[i] = row.k[i];
    }
    la_trsv(false, n, f->m.L, f->m.ld, f->v);
    for (size_t i = 0; i < n; i++) var -= f->v[i] * f->v[i];
    return norm_log_cdf(mean / sqrt(1 + SCALE2 * fmax(0, var)));
}

void bo_feas_draw(struct bo *b, struct rng *r) {
    struct bo_feas *f = b->feas;
    struct bo_model *m = &f->m;
    bo_path_features(&f->path, m, b->space.levels, sqrt(SCALE2), r);
    for (size_t i = 0; i < m->n; i++) {
        double eps = rng_normal(r) * sqrt(1 / f->w[i] + SCALE2 * NUGGET);
        f->v[i] = (f->t[i] - bo_path_prior(&f->path, b->points.at[i].u, NULL) - eps) / SCALE2;
    }
    la_trsv(false, m->n, m->L, m->ld, f->v);
    la_trsv(true, m->n, m->L, m->ld, f->v);
}

double bo_feas_path(struct bo *b, const double *u) {
    struct bo_feas *f = b->feas;
    struct bo_row row;
    double v = PRIOR_MEAN + bo_path_prior(&f->path, u, NULL);
    bo_model_row(&f->m, u, &row);
    for (size_t i = 0; i < f->m.n; i++) v += SCALE2 * row.k[i] * f->v[i];
    return v;
}
