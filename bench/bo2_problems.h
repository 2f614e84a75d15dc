/* SPDX-License-Identifier: Apache-2.0
 * Test problems of the literature in families: noise, bounds, several objectives, mixed spaces,
 * many variables, hard shapes. */
#ifndef BENCH_BO2_PROBLEMS_H
#define BENCH_BO2_PROBLEMS_H
#include <stdbool.h>
#include <stddef.h>

enum { P_MAX_D = 100, P_MAX_K = 12 };
struct problem {
    const char *name, *family;
    void (*f)(const double *x, double *y); /* objectives first, then bounds c <= 0 */
    int d, n_obj, n_con;
    double lo, hi;     /* of every variable, unless */
    const double *box; /* there are lo, hi of each */
    const char *space; /* or the space as text */
    double best;       /* least value within the bounds; volume of the front */
    const double *ref; /* of the volume */
    bool untold;       /* the search does not know it */
    int budget;
    bool fidelity; /* the last variable is the cost of an evaluation; budget: their sum */
    double noise;  /* standard deviation as a share of the interquartile range */
    double iqr;    /* of the first number over the box */
    double target; /* promised median at the end of the budget; 0: none */
};
extern const struct problem problems[];
extern const size_t n_problems;
#endif
