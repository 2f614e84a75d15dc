/* SPDX-License-Identifier: Apache-2.0
 *
 * The state-space form of a kernel row. At unit amplitude the function is f = observe'x, with a
 * state x driven by white noise,
 *
 *   x(t + dt) = A(dt) x(t) + N(0, Q(dt)),   cov x(t) = P(t)
 *
 * or a sum of harmonics of one period, each a pair of states that rotates without noise. Sums,
 * products and weights of rows are combined from these forms (states_model.h). Matrices are n x n,
 * row-major. Derivatives are in parameter 1 (the length scale), for rows that have one. */
#ifndef GP_KERN_STATES_H
#define GP_KERN_STATES_H
#include "gp/kernel/kern_tree.h"

#define KERN_STATES_MAX    8  /* of one row */
#define KERN_HARMONICS_MAX 96 /* of one row; rows with more harmonics have no form */

struct kern_states {
    int n;        /* states; 0: harmonics */
    bool length;  /* depends on parameter 1 */
    bool starts;  /* starts at the last parameter: t = max(0, x - x0). Otherwise stationary */
    double error; /* of the covariance at unit amplitude; 0: exact to rounding */
    const double *observe;
    /* A (n x n) and Q (n x n) of a step dt >= 0; p is P of a stationary row. da, dq may be NULL.
     * Nearly equal numbers are never subtracted, so Q keeps its digits for the shortest steps. */
    void (*step)(const struct kern *k, const double *p, double dt, double *a, double *q, double *da,
                 double *dq);
    /* P (n x n) at time t; stationary rows ignore t. dp may be NULL. */
    void (*prior)(const struct kern *k, double t, double *p, double *dp);
    /* Weights q[j] of cos(2 pi (first + j) d / p), where p is parameter 1, and their derivatives
     * dq[j] in parameter 2. The omitted weights sum to less than `tail`. Returns their number; 0:
     * too many. */
    size_t (*harmonics)(const struct kern *k, double tail, double *q, double *dq);
    int first;
};
#endif
