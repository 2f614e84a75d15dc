/* SPDX-License-Identifier: Apache-2.0
 *
 * A Gaussian process with measurements that are not normal (counts, truth values, values with
 * outliers). The posterior of the function at the inputs is approximated by a normal distribution
 * at its mode. The marginal likelihood, its gradient and predictions follow from it (Laplace;
 * Rasmussen and Williams 2006, 3.4 and 5.5.1). The data may include values of the function itself,
 * without noise. */
#ifndef GP_GP_LAPLACE_H
#define GP_GP_LAPLACE_H
#include "base/vec.h"
#include "gp/process/gp_likelihood.h"
#include "gp/way/gp_white.h"

/* A model (kernel, mean (NULL: zero), likelihood) with its computed results. */
struct laplace_model {
    struct kern *kern; /* counted, as is the mean */
    struct mean *mean;
    const struct gp_likelihood *likelihood;
    double par[LIKELIHOOD_PARAMETERS];
    /* f = m + L u at the mode. b: factor of B = 1 + L'WL there (valid if curved); c: factor of 1 +
     * W^1/2 K W^1/2; k: K; at: the measurements' likelihoods there. */
    bool solved, curved;
    struct gp_white white;
    struct chol b, c;
    double *k, *root;       /* root: W^1/2, in the memory of f */
    double *u, *f, *spread; /* spread: variance of exact values, a share of the prior's */
    struct gp_likely *at;
    size_t n; /* number of points solved for */
    double logml;
};

struct laplace_pair {
    double y;
    bool exact; /* a value of the function */
};

struct gp_laplace {
    int dim;
    VEC(double) x; /* n x dim, row-major */
    VEC(struct laplace_pair) pairs;
    struct laplace_model model;
};

void laplace_model_release(struct laplace_model *m);
void gp_laplace_release(struct gp_laplace *g);
/* Call after a change of the data or of the model. */
void gp_laplace_changed(struct gp_laplace *g);
/* GPM_OK with -inf: an impossible measurement, or a matrix without factor. */
GPM_MUST_USE enum gpm_status gp_laplace_logml(struct gp_laplace *g, double *out);
/* Its gradient in the parameters of kernel, mean and likelihood. GPM_E_NOT_PD if unavailable. */
GPM_MUST_USE enum gpm_status gp_laplace_gradient(struct gp_laplace *g, double *dkern, double *dmean,
                                                 double *dlikelihood);
/* The gradient in the values of the pairs from `first` on, which must be values of the function. */
GPM_MUST_USE enum gpm_status gp_laplace_value_slope(struct gp_laplace *g, size_t first, double *dy);
/* Mean and covariance (n x n, both triangles) of the function at n points. */
GPM_MUST_USE enum gpm_status gp_laplace_predict(struct gp_laplace *g, const double *x, size_t n,
                                                double *mean, double *cov);
/* A joint draw of the function from n standard normals. */
GPM_MUST_USE enum gpm_status gp_laplace_sample(struct gp_laplace *g, const double *x, size_t n,
                                               const double *z, double *out);
#endif
