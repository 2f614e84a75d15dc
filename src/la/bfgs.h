/* SPDX-License-Identifier: Apache-2.0
 *
 * Dense BFGS in a box for small problems whose objective costs microseconds: no allocation when the
 * caller passes workspace, an Armijo search that mostly takes one evaluation, a cap on the step so
 * that a wild first model does no harm. For many variables or a tolerance use optim.h.
 */
#ifndef LA_BFGS_H
#define LA_BFGS_H
#include <stddef.h>

/* Returns f(x) and writes the gradient; a non-finite value makes the search shorten its step. */
typedef double (*bfgs_fn)(void *ctx, const double *x, double *grad);

struct bfgs_options {
    int max_iter;
    double first_step; /* length of the first step, in x */
    double step_cap;   /* largest change of one coordinate in one step */
    double f_tol;      /* stop when the decrease falls below f_tol * (1 + |f|) */
};
#define BFGS_WORK(n) ((n) * (n) + 6 * (n)) /* doubles of workspace */

/* Minimises in lo <= x <= hi from x (clipped first), which is replaced by the best point; returns
 * its value. work: BFGS_WORK(n) doubles. */
double bfgs_box(bfgs_fn f, void *ctx, size_t n, double *x, const double *lo, const double *hi,
                const struct bfgs_options *opt, double *work);
#endif
