/* SPDX-License-Identifier: Apache-2.0
 *
 * The state-space form of a kernel row: at unit amplitude the function is f = observe'x of a state
 * x that is driven by white noise,
 *
 *   x(t + dt) = A(dt) x(t) + N(0, Q(dt)),   cov x(t) = P(t)
 *
 * or a sum of harmonics of one period, each a pair of states that turns and is never disturbed. It
 * stands beside the row's other functions; sums, products and weights of rows are made of these
 * (states_model.h). Matrices are row-major n x n; derivatives are those in parameter 1 (the length
 * scale), for rows that have one.
 */
#ifndef GP_KERN_STATES_H
#define GP_KERN_STATES_H
#include "gp/kernel/kern_tree.h"

#define KERN_STATES_MAX    8  /* of one row */
#define KERN_HARMONICS_MAX 96 /* of one row; shorter patterns have no form */

struct kern_states {
    int n;        /* states; 0: harmonics */
    bool length;  /* parameter 1 shapes it */
    bool starts;  /* at the last parameter: t is max(0, x - x0). Others are stationary */
    double error; /* of the covariance at unit amplitude; 0: exact up to rounding */
    const double *observe;
    /* A and Q of a step dt >= 0; p is P of a stationary row. da, dq may be NULL. No difference of
     * nearly equal numbers: Q keeps its digits for the shortest steps. */
    void (*step)(const struct kern *k, const double *p, double dt, double *a, double *q, double *da,
                 double *dq);
    /* P at time t, which stationary rows ignore; dp may be NULL. */
    void (*prior)(const struct kern *k, double t, double *p, double *dp);
    /* Weights q[j] of cos(2 pi (first + j) d / p), p parameter 1, until those left out sum to less
     * than `tail`, and their derivatives in parameter 2. Returns how many; 0: too many. */
    size_t (*harmonics)(const struct kern *k, double tail, double *q, double *dq);
    int first;
};
#endif
