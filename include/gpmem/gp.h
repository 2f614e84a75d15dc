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
typedef struct gpm_kernel gpm_kernel; /* immutable */
typedef struct gpm_path gpm_path;     /* one function drawn from the posterior */

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
    size_t size;     /* set by init */
    uint64_t seed;   /* of the random starts; default 1 */
    unsigned starts; /* random starts besides the current parameters; default 0 */
    bool keep_noise; /* the noise stays as it is */
    double range;    /* positive parameters move by this factor up or down; default 1e5 */
};
GPM_API void gpm_gp_fit_options_init_sized(struct gpm_gp_fit_options *o, size_t size);
static inline void gpm_gp_fit_options_init(struct gpm_gp_fit_options *o) {
    gpm_gp_fit_options_init_sized(o, sizeof *o);
}
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
/* How the likelihood was computed: "Cholesky", "Toeplitz", "state space (19 states)", ... */
GPM_API const char *gpm_gp_method(const gpm_gp *g);
/* By how much the likelihood may be off, in nats, where it is approximated (above 8,000 distinct
 * inputs, or on request); 0 where it is exact or was not computed. */
GPM_API double gpm_gp_likelihood_error(const gpm_gp *g);
/* ---- more ---- */
/* Another observation less, in O(n^2), as gpm_gp_add of one costs. GPM_E_NOT_FOUND. */
GPM_API enum gpm_status gpm_gp_remove(gpm_gp *g, const double *x, double y);
GPM_API enum gpm_status gpm_gp_copy(const gpm_gp *g, gpm_gp **out);
/* The model from a kernel handle; keeps mean and data unless the dimension changes. */
GPM_API enum gpm_status gpm_gp_set_kernel(gpm_gp *g, int dim, const gpm_kernel *k, double noise);
GPM_API gpm_kernel *gpm_gp_get_kernel(const gpm_gp *g); /* the caller frees it; NULL: no model */
/* Mean functions; gpm_gp_model sets the zero mean again. */
GPM_API enum gpm_status gpm_gp_set_mean_constant(gpm_gp *g, double c);
GPM_API enum gpm_status gpm_gp_set_mean_linear(gpm_gp *g, double a, const double *slopes);
typedef enum gpm_status (*gpm_mean_fn)(void *user, const double *x, int dim, double *out);
GPM_API enum gpm_status gpm_gp_set_mean_function(gpm_gp *g, gpm_mean_fn fn, void *user,
                                                 void (*drop)(void *user));
enum gpm_approximation {
    GPM_APPROX_AUTO, /* exact up to 8000 distinct inputs, and above where a filter serves; else by
                      * size and smoothness */
    GPM_APPROX_NONE,
    GPM_APPROX_INDUCING, /* size: inducing points */
    GPM_APPROX_VECCHIA,  /* size: neighbours per block */
    GPM_APPROX_LOW_RANK  /* size: most pivots; as good as exact, or refused with the reason */
};
/* size 0: the default (512 inducing points, 256 neighbours). gpm_gp_method names what was used. */
GPM_API enum gpm_status gpm_gp_set_approximation(gpm_gp *g, enum gpm_approximation kind,
                                                 size_t size);
/* One computation on many processes, all of which run the same program: where an approximation
 * falls into blocks, each process does some of them, and `sum` adds up n numbers over all (v := sum
 * of v; 0: it could). The results are the same bits whatever the number of processes. Set once,
 * before anything is computed; then a process computes in one thread. MPI: gpmem-mpi does this. */
typedef int gpm_sum_fn(void *user, double *v, size_t n);
GPM_API void gpm_parts(unsigned part, unsigned parts, gpm_sum_fn *sum, void *user);
GPM_API unsigned gpm_parts_number(void);                           /* of this process, from 0 on */
GPM_API unsigned gpm_parts_count(void);                            /* 1: it is alone */
GPM_API enum gpm_status gpm_gp_set_cache(gpm_gp *g, size_t bytes); /* for term matrices */
/* As gpm_device_use, for this one. */
GPM_API enum gpm_status gpm_gp_set_device(gpm_gp *g, const char *device);
/* With its gradient in the kernel's parameters (gpm_kernel_nparams) and the noise (may be NULL). */
GPM_API enum gpm_status gpm_gp_log_likelihood_grad(gpm_gp *g, double *value, double *dkernel,
                                                   double *dnoise);
/* Log likelihood under another model, kept beside the current one until accept, reject or a change
 * of data; rejecting costs nothing. -inf when its matrix cannot be factored. */
GPM_API enum gpm_status gpm_gp_propose(gpm_gp *g, const gpm_kernel *k, double noise, double *value);
GPM_API void gpm_gp_accept(gpm_gp *g);
GPM_API void gpm_gp_reject(gpm_gp *g);
/* Log density of new pairs given the data. Without noise, values at known inputs add 0 when they
 * agree and -inf when they do not. */
GPM_API enum gpm_status gpm_gp_conditional(gpm_gp *g, const double *x, const double *y, size_t n,
                                           double *logpdf);
/* Leave-one-out predictions of every pair; each may be NULL. GPM_E_LIMIT under an approximation. */
GPM_API enum gpm_status gpm_gp_loo(gpm_gp *g, double *mean, double *var, double *logpdf);
/* A function drawn from the posterior that can be evaluated anywhere; features: 0 for the default.
 */
GPM_API enum gpm_status gpm_path_new(gpm_gp *g, size_t features, uint64_t seed, gpm_path **out);
GPM_API void gpm_path_free(gpm_path *p);
/* grad (may be NULL): n x dim. */
GPM_API enum gpm_status gpm_path_eval(const gpm_path *p, const double *x, size_t n, double *f,
                                      double *grad);
/* Jitter that was needed, the nearest pair of inputs, the condition number, the hyper-parameters.
 */
GPM_API const char *gpm_gp_report(gpm_gp *g);

/* ---- kernels ---- */
GPM_API enum gpm_status gpm_kernel_parse(const char *text, gpm_kernel **out, char *err,
                                         size_t err_size);
/* A covariance function of the caller's: must be symmetric and positive semi-definite. A status
 * other than GPM_OK from it ends the computation under way and is passed on. */
typedef enum gpm_status (*gpm_covariance_fn)(void *user, const double *x1, const double *x2,
                                             int dim, double *out);
GPM_API gpm_kernel *gpm_kernel_function(gpm_covariance_fn fn, void *user, void (*drop)(void *user),
                                        const char *label);
GPM_API gpm_kernel *gpm_kernel_copy(const gpm_kernel *k);
GPM_API void gpm_kernel_free(gpm_kernel *k);
GPM_API gpm_kernel *gpm_kernel_sum(const gpm_kernel *a, const gpm_kernel *b); /* NULL: too deep */
GPM_API gpm_kernel *gpm_kernel_product(const gpm_kernel *a,
                                       const gpm_kernel *b);                /* NULL: too deep */
GPM_API gpm_kernel *gpm_kernel_scale(double variance, const gpm_kernel *k); /* NULL: negative */
GPM_API gpm_kernel *gpm_kernel_simplify(const gpm_kernel *k); /* NULL: too many terms */
GPM_API const char *gpm_kernel_text(gpm_kernel *k);           /* as parsed by gpm_kernel_parse */
GPM_API const char *
gpm_kernel_structure(gpm_kernel *k); /* "LIN + SE*PER + WN"; NULL: too many terms */
GPM_API enum gpm_status gpm_kernel_contains(const gpm_kernel *k, const char *structure, int *yes);
GPM_API enum gpm_status gpm_kernel_eval(const gpm_kernel *k, const double *x1, const double *x2,
                                        int dim, double *out);
GPM_API size_t gpm_kernel_nparams(const gpm_kernel *k);
GPM_API void gpm_kernel_params(const gpm_kernel *k, double *theta);
GPM_API const char *gpm_kernel_param_name(gpm_kernel *k, size_t i); /* "SE.l" */
/* The same expression with other parameters. */
GPM_API enum gpm_status gpm_kernel_with_params(const gpm_kernel *k, const double *theta,
                                               gpm_kernel **out, char *err, size_t err_size);
/* Row i of the table of kernels: name, formula; 0 past the end. */
GPM_API int gpm_kernel_row(size_t i, const char **name, const char **formula);
#if defined(__cplusplus)
}
#endif
#endif
