/* SPDX-License-Identifier: Apache-2.0
 *
 * The yardstick: a plain C program for one likelihood. Vectorised fill of the lower triangle with
 * its own polynomial exp (periodic part by angle addition, one exp for SE*PER), dpotrf, one solve.
 */
#ifndef BENCH_LIMIT_GP_H
#define BENCH_LIMIT_GP_H
#include <stddef.h>

struct limit_par {
    double lin, sf, l, p, lp, wn; /* lin = 0 and p = 0: SE + WN only */
};
/* a: n x n with leading dimension ld; w: 4 n doubles of scratch. Returns the log density. */
double limit_logml(size_t n, const double *x, const double *y, const struct limit_par *t, double *a,
                   size_t ld, double *w);
void limit_fill(size_t n, const double *x, const struct limit_par *t, double *a, size_t ld,
                double *w);
double limit_logml_grad(size_t n, const double *x, const double *y, const struct limit_par *t,
                        double *a, size_t ld, double *w, double *g);
#endif
