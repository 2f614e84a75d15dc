/* SPDX-License-Identifier: Apache-2.0
 *
 * The optimiser's model: a Gaussian process (gp/process/gp.h) with integrated mean and scale over
 * points u of the unit box and categories; what is the optimiser's own are the kernels it tries,
 * the parameters theta = (log l_1..D, log g[, logit w, log rho]) with their priors, and the fit. D
 * counts real coordinates, then categories; g is the noise's share of the scale.
 *
 * With a coordinate s that sets the cost, f(x, s) = f(x, 1) + (1 - s) e(x, s): the function meant
 * and what evaluating it for less changes, which is nothing at s = 1,
 *
 *   k = k_x(x, x') + b^2 (1 - s)(1 - s') k_xs((x, s), (x', s')),    log b the last of theta;
 *
 * the two have the same scales, and e one for s besides.
 *
 * Use: init, set data, fit (or set theta), factor, then predict and draw paths from `gp`.
 */
#ifndef OPTIMIZE_BO_MODEL_H
#define OPTIMIZE_BO_MODEL_H
#include "gp/process/gp.h"
#include "gp/way/gp_path.h"
#include "numeric/special/rng.h"

enum bo_kern { BO_SE, BO_M52, BO_MIX, BO_ADD, BO_KERN_COUNT }; /* rows of gp */
extern const char *const bo_kern_names[BO_KERN_COUNT];

struct bo_model {
    int d, n_cat, D; /* real coordinates, categories, both */
    bool noisy;
    int fidelity; /* coordinate that sets the cost; -1: none */
    enum bo_kern kind;
    double *theta; /* bo_model_size */
    double *inv_l; /* D: 1/l of the last theta in use */
    struct gp *gp; /* the data, and the model of that theta */
    double widen;  /* of variances: believed points must not make the scale smaller */
};

void bo_model_init(struct bo_model *m, int d, int n_cat, int fidelity, bool noisy);
void bo_model_release(struct bo_model *m);
/* The kernel of unit variance with parameters theta; NULL: they are out of range. */
struct kern *bo_model_kern(const struct bo_model *m, enum bo_kern kind, const double *theta);
/* n values y at points u (D numbers each); a point may come up again. */
GPM_MUST_USE enum gpm_status bo_model_load(struct bo_model *m, const double *u, const double *y,
                                           size_t n);
/* The point u with the value y is added to the data and to the factor; no sign of the scale. */
GPM_MUST_USE enum gpm_status bo_model_believe(struct bo_model *m, const double *u, double y);
int bo_model_params(const struct bo_model *m);  /* length of theta for m->kind */
size_t bo_model_size(const struct bo_model *m); /* for every kind */
/* A draw from the prior of theta; r NULL: its mean. */
void bo_model_prior(const struct bo_model *m, struct rng *r, double *theta);

/* Negative log posterior at theta with its gradient (grad may be NULL); infinity when the matrix is
 * not positive definite. Leaves the model of theta behind. */
double bo_model_nlp(struct bo_model *m, const double *theta, double *grad);
GPM_MUST_USE enum gpm_status bo_model_factor(struct bo_model *m); /* at m->theta */
/* MAP from m->theta by at most `iterations` of BFGS; returns the nlp; leaves no factor. */
double bo_model_fit(struct bo_model *m, int iterations);
/* `steps` of Metropolis-Hastings from m->theta on the full nlp; nlp is that of theta, updated. */
void bo_model_mcmc(struct bo_model *m, int steps, double *nlp, struct rng *r);

/* Mean and variance of the function at x (unit coordinates, then categories), and the gradient (D
 * numbers) of a mean + b var there. */
void bo_model_predict(struct bo_model *m, const double *x, double *mean, double *var);
void bo_model_slope(struct bo_model *m, double a, double b, double *grad);
double bo_model_mean(struct bo_model *m, const double *x, double *grad);
/* count candidates, point i at x + i * D. */
void bo_model_predict_many(struct bo_model *m, const double *x, size_t count, double *mean,
                           double *var);
double bo_model_noise_sd(struct bo_model *m); /* in units of y */
#endif
