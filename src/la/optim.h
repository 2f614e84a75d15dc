/* SPDX-License-Identifier: Apache-2.0
 *
 * Bounded quasi-Newton minimisation: L-BFGS with projection on box bounds and a backtracking line
 * search that satisfies the weak Wolfe conditions. The objective may return infinity (or any
 * non-finite value) for points outside its domain: the step is then shortened.
 */
#ifndef LA_OPTIM_H
#define LA_OPTIM_H
#include "gpmem/status.h"
#include <stddef.h>

/* Returns f(x) and writes the gradient. A non-zero *stop ends the search at the best point so far.
 */
typedef double (*optim_fn)(void *ctx, size_t n, const double *x, double *grad, int *stop);

struct optim_options {
    int max_iter;        /* iterations; default 200 */
    int max_eval;        /* calls of the objective; default 1000 */
    int memory;          /* pairs kept; default 10 */
    double grad_tol;     /* projected gradient, max norm; default 1e-6 */
    double f_tol;        /* relative decrease over one iteration; default 1e-10 */
    const double *lower; /* borrowed, may be NULL: no bound */
    const double *upper;
};
#define OPTIM_OPTIONS_INIT                                                                         \
    { 200, 1000, 10, 1e-6, 1e-10, NULL, NULL }

struct optim_result {
    double f;
    int iterations, evaluations;
    double grad_norm; /* projected, max norm */
};

/* Minimises from x, which is replaced by the best point. GPM_OK when a tolerance was met,
 * GPM_E_LIMIT at max_iter or max_eval, GPM_E_INTERRUPT when the objective asked to stop,
 * GPM_E_ARG when f(x) is not finite at the start. opt may be NULL. */
GPM_MUST_USE enum gpm_status optim_lbfgs(optim_fn f, void *ctx, size_t n, double *x,
                                         const struct optim_options *opt, struct optim_result *res);
#endif
