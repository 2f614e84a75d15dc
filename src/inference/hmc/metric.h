/* SPDX-License-Identifier: Apache-2.0
 *
 * Inside infer/: the metric of Hamiltonian Monte Carlo, M^-1 ~ covariance of the posterior, and how
 * it is learned from the points of a window of the warm-up:
 *
 *     diag       D
 *     dense      S, n^2 numbers
 *     low_rank   D^1/2 (I + U (L - I) U') D^1/2, U few orthonormal directions
 *
 * D is learned from points z and gradients g of the log density there: for a normal posterior with
 * covariance S they are z and -S^-1 (z - m), so D_i = sqrt(var z_i / var g_i) is S_i at once where
 * S is diagonal, however few and however far from the typical set the points are. Of all diagonals
 * it has the smallest Fisher divergence from the posterior (the rule of nutpie).
 */
#ifndef INFER_METRIC_H
#define INFER_METRIC_H
#include "base/pack.h"
#include "gpmem/status.h"
#include "numeric/special/rng.h"
#include <stdbool.h>
#include <stddef.h>

enum metric_kind { METRIC_DIAG, METRIC_DENSE, METRIC_LOW_RANK };

struct metric {
    enum metric_kind kind;
    size_t n, rank; /* numbers; columns of U */
    double *diag;   /* n: D; owns all arrays but those below */
    double *root;   /* n: D^1/2 */
    /* the window: mean and squared deviations of points and gradients (Welford 1962) */
    double seen;
    double *z_mean, *z_m2, *g_mean, *g_m2;
    double *room;       /* n: scratch */
    double *cov;        /* dense: n x n sums of products of deviations; owned, NULL otherwise */
    double *full, *l;   /* dense: S and its Cholesky factor, lower triangles; NULL: D */
    double *u, *lambda; /* low_rank: n x rank and rank; NULL: D */
    double *points;     /* low_rank: the last points and gradients of the window, 2n each */
};

void metric_init(struct metric *m, enum metric_kind kind, size_t n);
void metric_release(struct metric *m);
/* v = M^-1 p */
void metric_velocity(const struct metric *m, const double *p, double *v);
/* p ~ N(0, M) */
void metric_momentum(const struct metric *m, struct rng *rng, double *p);
/* A point of the window, with the gradient there. */
void metric_note(struct metric *m, const double *z, const double *g);
/* The window is over: M^-1 is what its points say, and a new window begins. False: they say
 * nothing (too few, or they stood still), and M^-1 stays. */
bool metric_learn(struct metric *m);
/* One number is another coordinate now, of this variance; and what was learned about directions
 * does not hold any more. */
void metric_set(struct metric *m, size_t i, double variance);
void metric_forget(struct metric *m);
/* Read into one of the same kind and size that has learned nothing. */
void metric_pack(struct pack *p, struct metric *m);
#endif
