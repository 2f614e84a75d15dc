/* SPDX-License-Identifier: Apache-2.0
 *
 * Bounded quasi-Newton minimisation: L-BFGS with projection on box bounds and a backtracking line
 * search that satisfies the weak Wolfe conditions. The objective may return infinity (or any
 * non-finite value) for points outside its domain: the step is then shortened.
 */
#ifndef LA_OPTIM_H
#define LA_OPTIM_H
#include <math.h>
#include <stdbool.h>
#include <stddef.h>

/* Returns f(x) and writes the gradient; grad is NULL only if `late` returns true. */
typedef double (*optim_fn)(void *ctx, const double *x, double *grad);

struct optim_options {
    int max_iter;      /* iterations; default 200 */
    int max_eval;      /* calls of the objective; default 1000 */
    double grad_tol;   /* projected gradient, max norm; default 1e-6 */
    double f_tol;      /* decrease over one iteration, relative above 1; default 1e-10 */
    double first_step; /* length of the first step, in x; default 0: the gradient's, at most 1 */
    double step_cap;   /* largest first change tried in a coordinate; default: unlimited */
    double least_cut;  /* a step that is too long is cut by a parabola to between this share and one
                          half; default 0.5: always halved */
    const double *lower; /* borrowed, may be NULL: no bound */
    const double *upper;
    /* May be NULL. True: at a new point the objective is first asked for its value alone. The
     * gradient is requested only if the value permits the step. Both together must not cost more
     * than one call. */
    bool (*late)(void *ctx);
};
#define OPTIM_OPTIONS_INIT                                                                         \
    { 200, 1000, 1e-6, 1e-10, 0, INFINITY, 0.5, NULL, NULL, NULL }

/* Minimises from x (clipped first), which becomes the best point. Returns its value; if the start
 * is not finite, the value there. */
double optim_minimise(optim_fn f, void *ctx, size_t n, double *x, const struct optim_options *opt);
/* The same; calls `seen` at the start and after every iteration. */
typedef void (*optim_seen_fn)(void *ctx, const double *x, const double *grad);
double optim_path(optim_fn f, optim_seen_fn seen, void *ctx, size_t n, double *x,
                  const struct optim_options *opt);
#endif
