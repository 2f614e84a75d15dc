/* SPDX-License-Identifier: Apache-2.0
 *
 * Minimisation of a smooth function under smooth bounds c(x) <= 0 in a box, for functions that are
 * cheap to evaluate with their derivatives: sequential quadratic programming. Each step solves
 *
 *   min g'p + p'Bp/2  with  J p <= -c  and p within the box and the step's limit
 *
 * by a dual active-set method (Goldfarb and Idnani 1983); B follows the Lagrangian by damped BFGS
 * (Powell 1978), and the step is shortened until f + sum mu_i max(0, c_i) decreases (Han 1977).
 * Constraints that cannot all be met within a step are met in part. For a problem without a
 * feasible point the result has small violation. */
#ifndef LA_SQP_H
#define LA_SQP_H
#include "gpmem/status.h"
#include <stdbool.h>
#include <stddef.h>

/* f and m values c at x; unless gf is NULL also the gradients: gf: n, J: m x n, row-major. False or
 * non-finite numbers: x is outside the domain. */
typedef bool (*sqp_fn)(void *ctx, const double *x, double *f, double *c, double *gf, double *J);

struct sqp_options {
    int max_iter;            /* default 40 */
    double step_cap;         /* largest change of a coordinate in one step */
    double tol;              /* stops when a step is shorter, with constraints met within it */
    const double *low, *upp; /* the box, n numbers each */
};

struct sqp_result {
    double f, violation; /* at x; violation: sum of max(0, c_i) */
    int iterations;
};

/* Starts at x (clipped first), which becomes the best point: least violation, then least f. lambda:
 * m multipliers of the last step, or NULL. GPM_E_ARG: the start is outside the domain. */
GPM_MUST_USE enum gpm_status sqp_minimise(sqp_fn fn, void *ctx, size_t n, size_t m, double *x,
                                          const struct sqp_options *opt, double *lambda,
                                          struct sqp_result *out);

/* min g'p + p'Bp/2 subject to k rows a_i'p >= b_i. A: k x n, row-major. B: n x n, both triangles;
 * overwritten by its factor. u: k multipliers. GPM_E_NOT_FOUND: the rows are incompatible.
 * GPM_E_NOT_PD: B is not positive definite. */
GPM_MUST_USE enum gpm_status sqp_quadratic(size_t n, double *B, const double *g, size_t k,
                                           const double *A, const double *b, double *p, double *u);
#endif
