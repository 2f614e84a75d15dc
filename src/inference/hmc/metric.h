/* SPDX-License-Identifier: Apache-2.0
 *
 * Inside inference/: the metric of Hamiltonian Monte Carlo, M^-1 ~ covariance of the posterior,
 * learned from the points of a window of the warm-up:
 *
 *     diag       D
 *     dense      S, n^2 numbers
 *     low_rank   D^1/2 (I + U (L - I) U') D^1/2, U few orthonormal directions
 *
 * D is learned from points z and gradients g of the log density. For a normal posterior with
 * covariance S, g is -S^-1 (z - m). If S is diagonal, D_i = sqrt(var z_i / var g_i) equals S_ii
 * exactly, however few points there are and however far from the typical set. Of all diagonals it
 * has the smallest Fisher divergence from the posterior (the rule of nutpie). */
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
    double *diag;   /* n: D; owns the arrays up to `room` */
    double *root;   /* n: D^1/2 */
    /* The window: mean and squared deviations of points and gradients (Welford 1962). */
    double seen;
    double *z_mean, *z_m2, *g_mean, *g_m2;
    double *room;       /* n: scratch */
    double *cov;        /* dense: n x n sums of products of deviations; owned, or NULL */
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
/* Adds a point of the window, with its gradient. */
void metric_note(struct metric *m, const double *z, const double *g);
/* Ends a window: M^-1 is estimated from its points, and a new window begins. False: too few points,
 * or they did not move; M^-1 stays. */
bool metric_learn(struct metric *m);
/* Number i has a new coordinate with this variance; metric_forget discards what was learned about
 * directions. */
void metric_set(struct metric *m, size_t i, double variance);
void metric_forget(struct metric *m);
/* Reads into a new metric of the same kind and size. */
void metric_pack(struct pack *p, struct metric *m);
#endif
