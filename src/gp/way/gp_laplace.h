/* SPDX-License-Identifier: Apache-2.0
 *
 * A Gaussian process whose measurements are not normal (counts, truth values, values with
 * outliers): the posterior of the function at the inputs is approximated by the normal distribution
 * at its mode, and so are the marginal likelihood, its gradient and predictions (Laplace;
 * Rasmussen and Williams 2006, 3.4 and 5.5.1). Values of the function itself, without noise, may be
 * among the data.
 */
#ifndef GP_GP_LAPLACE_H
#define GP_GP_LAPLACE_H
#include "base/vec.h"
#include "gp/process/gp_likelihood.h"
#include "gp/way/gp_white.h"

/* A model: kernel, mean (NULL: zero) and likelihood, and what was computed for it. */
struct laplace_model {
    struct kern *kern; /* counted, as is the mean */
    struct mean *mean;
    const struct gp_likelihood *likelihood;
    double par[LIKELIHOOD_PARAMETERS];
    /* f = m + L u at the mode; b: factor of B = 1 + L'WL there (curved: it is); c: of 1 + W^1/2 K
     * W^1/2, k: K; at: the measurements there */
    bool solved, curved;
    struct gp_white white;
    struct chol b, c;
    double *k, *root;       /* root: W^1/2, in the memory of f */
    double *u, *f, *spread; /* spread: variance of what is exact, a part of the prior's */
    struct gp_likely *at;
    size_t n; /* points solved for */
    double logml;
};

struct laplace_pair {
    double y;
    bool exact; /* a value of the function */
};

struct gp_laplace {
    int dim;
    VEC(double) x; /* points one after another */
    VEC(struct laplace_pair) pairs;
    struct laplace_model model;
};

void laplace_model_release(struct laplace_model *m);
void gp_laplace_release(struct gp_laplace *g);
/* The data are others now, or the model is. */
void gp_laplace_changed(struct gp_laplace *g);
/* GPM_OK with -inf: a measurement that cannot be, or a matrix that cannot be factored. */
GPM_MUST_USE enum gpm_status gp_laplace_logml(struct gp_laplace *g, double *out);
/* Its gradient in the parameters of kernel, mean and likelihood. GPM_E_NOT_PD: there is none. */
GPM_MUST_USE enum gpm_status gp_laplace_gradient(struct gp_laplace *g, double *dkern, double *dmean,
                                                 double *dlikelihood);
/* The gradient in the values of pairs from `first` on, which are values of the function. */
GPM_MUST_USE enum gpm_status gp_laplace_value_slope(struct gp_laplace *g, size_t first, double *dy);
/* Mean and covariance (n x n, both triangles) of the function at n points. */
GPM_MUST_USE enum gpm_status gp_laplace_predict(struct gp_laplace *g, const double *x, size_t n,
                                                double *mean, double *cov);
/* A joint draw of the function from n standard normals. */
GPM_MUST_USE enum gpm_status gp_laplace_sample(struct gp_laplace *g, const double *x, size_t n,
                                               const double *z, double *out);
#endif
