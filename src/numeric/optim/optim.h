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

/* Returns f(x) and writes the gradient; grad is NULL only where `late` says so. */
typedef double (*optim_fn)(void *ctx, const double *x, double *grad);

struct optim_options {
    int max_iter;        /* iterations; default 200 */
    int max_eval;        /* calls of the objective; default 1000 */
    double grad_tol;     /* projected gradient, max norm; default 1e-6 */
    double f_tol;        /* decrease over one iteration, relative above 1; default 1e-10 */
    double first_step;   /* length of the first step, in x; default 0: the gradient's, at most 1 */
    double step_cap;     /* largest change of one coordinate tried first; default: none */
    double least_cut;    /* a step that is too long is cut to this part of it at least, where a
                            parabola says so, and to half at most; default 0.5: always to half */
    const double *lower; /* borrowed, may be NULL: no bound */
    const double *upper;
    /* May be NULL. True: at a new point the objective is asked for its value (no gradient), and for
     * the gradient there only where the value lets it step: no more than both at once. */
    bool (*late)(void *ctx);
};
#define OPTIM_OPTIONS_INIT                                                                         \
    { 200, 1000, 1e-6, 1e-10, 0, INFINITY, 0.5, NULL, NULL, NULL }

/* Minimises from x (clipped first), which is replaced by the best point; returns its value, that at
 * the start where it is not finite. */
double optim_minimise(optim_fn f, void *ctx, size_t n, double *x, const struct optim_options *opt);
/* The same, seen by `seen` at the start and after every iteration. */
typedef void (*optim_seen_fn)(void *ctx, const double *x, const double *grad);
double optim_path(optim_fn f, optim_seen_fn seen, void *ctx, size_t n, double *x,
                  const struct optim_options *opt);
#endif
