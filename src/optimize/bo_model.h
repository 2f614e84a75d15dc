/* SPDX-License-Identifier: Apache-2.0
 *
 * The optimiser's Gaussian process: inputs u in the unit box, outputs z, K = s2 (R + g diag(1/c))
 * with c replicates per input; mean mu and scale s2 are integrated out (flat mu, 1/s2 prior).
 * theta = (log l_1..D, log g[, logit w, log rho]); D counts real coordinates, then categories.
 *
 *   nlp(theta) = (N-1)/2 log S + sum log L_ii + 1/2 log q + (N-n)/2 log g + prior
 *   b = R^-1 1, q = 1'b, mu = z'b / q, a = R^-1 (z - mu), S = (z-mu)'a + M2/g, s2 = S/(N-1)
 *
 * with n distinct inputs, N observations and M2 their sum of squares within replicates.
 * Use: init, set data, fit (or set theta), then predict and draw paths.
 */
#ifndef OPTIMIZE_BO_MODEL_H
#define OPTIMIZE_BO_MODEL_H
#include "math/rng.h"
#include "optimize/bo_kern.h"
#include <gpmem/status.h>
#include <stdbool.h>
#include <stddef.h>

#define BO_G_MIN 1e-9

struct bo_model {
    int d, n_cat, D; /* real coordinates, categories, both */
    size_t n, ld;    /* points, capacity */
    double N;        /* observations, replicates counted */
    double m2;       /* sum of squares within replicates */
    bool noisy;
    enum bo_kern kind;
    double *u;     /* D x ld: unit coordinates, then categories */
    double *z;     /* n */
    double *count; /* n: replicates */
    double *theta; /* D + 3 */
    /* what model_factor leaves */
    double *s;              /* d x ld: coordinates over length scales */
    double *L;              /* ld x ld, lower */
    double *a, *b;          /* n */
    double *inv_l;          /* D */
    double mu, q, S, s2, g; /* g: the nugget in use, after the ladder */
    double w, rho;
    double *work;  /* see model.c */
    double *M;     /* ld x ld scratch */
    double *point; /* D scratch */
};

void bo_model_init(struct bo_model *m, int d, int n_cat, bool noisy);
void bo_model_release(struct bo_model *m);
/* Room for n points. Contents of u, z, count are then the caller's to fill (u[k * ld + i]). */
GPM_MUST_USE enum gpm_status bo_model_reserve(struct bo_model *m, size_t n);
int bo_model_params(const struct bo_model *m); /* length of theta for m->kind */
void bo_model_prior_mean(const struct bo_model *m, double *theta);
void bo_model_bounds(const struct bo_model *m, double *lo, double *hi);
void bo_model_prior_draw(const struct bo_model *m, struct rng *r, double *theta);

/* nlp at theta with its gradient (grad may be NULL); infinity when R is not positive definite.
 * Leaves the factor of theta behind. */
double bo_model_nlp(struct bo_model *m, const double *theta, double *grad);
/* Factor at m->theta; on failure the nugget grows tenfold, at most 8 times. */
GPM_MUST_USE enum gpm_status bo_model_factor(struct bo_model *m);
/* MAP from m->theta by at most `iterations` of BFGS; returns the nlp; leaves no factor. */
double bo_model_fit(struct bo_model *m, int iterations);
/* `steps` of Metropolis-Hastings from m->theta on the full nlp; nlp is that of theta, updated. */
void bo_model_mcmc(struct bo_model *m, int steps, double *nlp, struct rng *r);

/* Mean and variance of the latent function at x (unit coordinates, then categories); the gradients
 * (d numbers each) may be NULL, together. */
void bo_model_predict(struct bo_model *m, const double *x, double *mean, double *var,
                      double *g_mean, double *g_var);
double bo_model_mean(struct bo_model *m, const double *x, double *grad);
/* count candidates, point i at x + i * D; var may be NULL. */
void bo_model_predict_many(struct bo_model *m, const double *x, size_t count, double *mean,
                           double *var);
/* Leave-one-out: mean and variance of each point from the others (n numbers each). */
void bo_model_loo(struct bo_model *m, double *mean, double *var);

/* A row against the data, and sum_i c_i dk_i/dx (d numbers, added to out). Shared with the paths.
 */
void bo_model_row(struct bo_model *m, const double *x, struct bo_row *row);
void bo_model_row_grad(const struct bo_model *m, const struct bo_row *row, const double *x,
                       const double *c, double scale, double *out);

/* ---- one draw of the whole function (Matheron's rule), mixed with the mean by tau ---- */
struct bo_path {
    int m, d, n_cat;   /* features */
    float *w, *b, *a;  /* d x m frequencies in turns, phases, weights */
    float *sign;       /* per category and level, m signs */
    const int *levels; /* borrowed: number of levels per category */
    size_t cap;
    double *v, base; /* kernel weights, constant */
};
#define BO_FEATURES 512
void bo_path_init(struct bo_path *p);
void bo_path_release(struct bo_path *p);
/* Draws at the model's factor: tau * path + (1 - tau) * mean. tau = 1 is Thompson sampling. */
void bo_path_draw(struct bo_path *p, struct bo_model *m, const int *levels, double tau,
                  struct rng *r);
double bo_path_eval(const struct bo_path *p, struct bo_model *m, const double *x, double *grad);
/* The prior part alone (for models that condition in their own way). */
void bo_path_features(struct bo_path *p, const struct bo_model *m, const int *levels, double scale,
                      struct rng *r);
double bo_path_prior(const struct bo_path *p, const double *x, double *grad);
#endif
