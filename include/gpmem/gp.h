/* SPDX-License-Identifier: Apache-2.0
 *
 * Gaussian-process regression without a session: a kernel as text, pairs in, fitted parameters,
 * predictions and joint draws out.
 *
 *   gpm_gp *g = gpm_gp_new();
 *   if (gpm_gp_model(g, 1, "SE(sf=1, l=0.5)", 0.1) || gpm_gp_add(g, x, y, n) ||
 *       gpm_gp_fit(g, NULL) || gpm_gp_predict(g, xs, m, false, mean, var)) puts(gpm_gp_error(g));
 *   gpm_gp_free(g);
 *
 * Points are contiguous, one after another: x[i * dim + c]. A handle belongs to one thread at a
 * time. Texts stay valid until the next call on the handle.
 */
#ifndef GPMEM_GP_H
#define GPMEM_GP_H
#include "gpmem/gpmem.h"
#if defined(__cplusplus)
extern "C" {
#endif

typedef struct gpm_gp gpm_gp;

/* A handle without a model. Never NULL. */
GPM_API gpm_gp *gpm_gp_new(void);
GPM_API void gpm_gp_free(gpm_gp *g);
/* Why the last call failed; "" when it did not. */
GPM_API const char *gpm_gp_error(const gpm_gp *g);

/* Sets the model; drops the data when the dimension changes. kernel: a sum of products such as
 * "SE(sf=1, l=[1, 2]) + 0.5*PER(p=12, l=1)"; noise: standard deviation of the measurements. The
 * mean is zero. GPM_E_FORMAT, GPM_E_ARG: see the error text. */
GPM_API enum gpm_status gpm_gp_model(gpm_gp *g, int dim, const char *kernel, double noise);
GPM_API enum gpm_status gpm_gp_add(gpm_gp *g, const double *x, const double *y, size_t n);
GPM_API void gpm_gp_clear(gpm_gp *g);

struct gpm_gp_fit_options {
    uint64_t seed;   /* of the random starts; default 1 */
    unsigned starts; /* random starts besides the current parameters; default 0 */
    bool keep_noise; /* the noise stays as it is */
    double range;    /* positive parameters move by this factor up or down; default 1e5 */
};
GPM_API void gpm_gp_fit_options_init(struct gpm_gp_fit_options *o);
/* Maximises the log marginal likelihood in the parameters of the kernel and the noise, by L-BFGS
 * with exact gradients. o may be NULL. */
GPM_API enum gpm_status gpm_gp_fit(gpm_gp *g, const struct gpm_gp_fit_options *o);

GPM_API enum gpm_status gpm_gp_log_likelihood(gpm_gp *g, double *out);
/* mean, var: n values each, may be NULL. measured: of a new noisy measurement, otherwise of the
 * function itself. */
GPM_API enum gpm_status gpm_gp_predict(gpm_gp *g, const double *x, size_t n, bool measured,
                                       double *mean, double *var);
/* cov: n x n, symmetric. */
GPM_API enum gpm_status gpm_gp_predict_cov(gpm_gp *g, const double *x, size_t n, bool measured,
                                           double *mean, double *cov);
/* `draws` joint draws of the function at n points, one after another. */
GPM_API enum gpm_status gpm_gp_sample(gpm_gp *g, const double *x, size_t n, uint64_t seed,
                                      size_t draws, double *out);

GPM_API const char *gpm_gp_kernel(gpm_gp *g); /* as text, with the current parameters */
GPM_API double gpm_gp_noise(const gpm_gp *g);
GPM_API size_t gpm_gp_count(const gpm_gp *g); /* pairs */
/* How the likelihood was computed: "Cholesky", "Toeplitz", ... */
GPM_API const char *gpm_gp_method(const gpm_gp *g);
#if defined(__cplusplus)
}
#endif
#endif
