/* SPDX-License-Identifier: Apache-2.0
 *
 * The Gaussian-process model of one structure on standardised data: t in [0,1], y with mean 0 and
 * standard deviation 1. All parameters are unconstrained (z); priors are densities in z, so there
 * are no Jacobians.
 *
 *   K_ij = 1 + noise^2 [i=j] + sum_k s_k^2 u_k(i) u_k(j) A_k(|t_i-t_j|) B_k(t_i,t_j)
 *
 * u: linear factor sqrt(12)(t-c), ramps, steps, gates of change points; A: product of stationary
 * factors with A(0) = 1; B: Wiener min(t,t') or integrated Wiener, or 1. One amplitude per term.
 *
 * Exponentials are evaluated once per distinct distance: a regular grid (with gaps) has n of them,
 * irregular times one per pair. Gradients use sums of M = alpha alpha' - K^-1 over equal distances,
 * so that a gradient costs one factorisation and one inverse whatever the number of parameters.
 * Structures whose varying part is stationary on a regular grid go through Toeplitz recursions
 * (toeplitz.h), the others through Cholesky.
 *
 * A workspace belongs to one thread; data and model are shared and read-only.
 */
#ifndef DISCOVER_SMODEL_H
#define DISCOVER_SMODEL_H
#include "gpmem/status.h"
#include "discover/structure.h"
#include <stdbool.h>
#include <stddef.h>

struct smodel_data {
    size_t n;
    double *t;    /* ascending, [0,1] */
    double *y[2]; /* standardised, per transform; y[TRANSFORM_LOG] NULL unless all values > 0 */
    double mean[2], sd[2];
    double
        log_measure[2]; /* log density of the standardised y -> of the user's y: added to log Z */
    double x0, span;    /* user's x = x0 + span * t */
    bool grid;          /* t_i = g_i * dt up to rounding */
    int *g;
    size_t ng;   /* grid length, gaps included */
    double dt;   /* grid step, or the median step */
    double step; /* median step */
    size_t m;    /* distinct distances: ng, or n(n+1)/2 packed by columns */
    double *d;
    bool regular;     /* at least half of the grid's points are there, each once */
    bool no_gaps;     /* all of them */
    double season[4]; /* periods (in t) that the calendar suggests; n_season of them */
    int n_season;
};
/* Copies x (ascending) and y; GPM_E_ARG when n < 3, x spans nothing or y is constant. */
GPM_MUST_USE enum gpm_status smodel_data_init(struct smodel_data *d, size_t n, const double *x,
                                              const double *y);
/* At most k of the points, first and last among them, chosen by a fixed random stream; keeps the
 * span, the step that bounds periods, and the seasons, so that parameters mean the same. */
GPM_MUST_USE enum gpm_status smodel_data_subset(const struct smodel_data *full, size_t k,
                                                struct smodel_data *out);
void smodel_data_release(struct smodel_data *d);
/* A regular grid with few gaps: most structures have a fast likelihood (toeplitz below). */
bool smodel_fast_grid(const struct smodel_data *d);

enum spar_kind {
    SPAR_NOISE, /* log sd */
    SPAR_SD,    /* log sd of a term */
    SPAR_L,     /* log length-scale, lone */
    SPAR_L_PER, /* log length-scale of a smooth factor that multiplies PER */
    SPAR_PERIOD,
    SPAR_LPER, /* log length-scale of PER */
    SPAR_ALPHA,
    SPAR_C,
    SPAR_SD_W, /* log sd of Wiener, of integrated Wiener */
    SPAR_SD_IW,
    SPAR_TAU,
    SPAR_WIDTH
};
#define SMODEL_MAX_PAR 32

struct spar {
    int kind, term; /* term -1: of the whole structure */
};
struct sterm {
    uint16_t mask, gate;
    int sd, l, period, lper, alpha, c, tau; /* indices of parameters, -1: none */
};
struct smodel {
    struct structure s;
    const struct smodel_data *data; /* borrowed */
    const double *y;
    int d;
    struct spar par[SMODEL_MAX_PAR];
    struct sterm term[STRUCTURE_MAX_TERMS];
    int n_terms, tau, width; /* change point, window */
    bool toeplitz;           /* qualifies */
    double log_copies;       /* log of the number of orders of equal terms */
};
void smodel_init(struct smodel *m, const struct smodel_data *data, const struct structure *s);

struct smodel_work;
struct smodel_work *smodel_work_new(const struct smodel_data *data); /* NULL: out of memory */
void smodel_work_free(struct smodel_work *w);
long smodel_work_evals(const struct smodel_work *w);

/* log p(y|z) + log p(z); gradient when grad is not NULL. -inf where the matrix is singular. */
double smodel_eval(const struct smodel *m, struct smodel_work *w, const double *z, double *grad);
double smodel_log_prior(const struct smodel *m, const double *z, double *grad);

/* Value on the standardised scale of parameter i (sd, l, period in t, c, tau ...). */
double smodel_value(const struct smodel *m, int i, double z);
double smodel_unvalue(const struct smodel *m, int i, double value);
void smodel_prior_draw_hint(const struct smodel *m, double *z); /* z at the prior's centre */
/* Puts equal terms in the order of their length-scale or period; true when something moved. */
bool smodel_order(const struct smodel *m, double *z);
bool smodel_ordered(const struct smodel *m, const double *z);

/* ---- prediction (dense) ---- */
/* Cholesky factor of K (n x n) and K^-1 y, both in the workspace until its next use. */
GPM_MUST_USE enum gpm_status smodel_factor(const struct smodel *m, struct smodel_work *w,
                                           const double *z, const double **l, const double **alpha);
/* Prior variance of term k (numbers as below) at one time. */
double smodel_variance(const struct smodel *m, const double *z, int k, double t);
/* Covariance of term k (-1: everything but noise, -2: the constant) between times; a is rows x
 * cols.
 */
void smodel_cross(const struct smodel *m, const double *z, int k, const double *tr, size_t nr,
                  const double *tc, size_t nc, double *a, size_t lda);
double smodel_noise_var(const struct smodel *m, const double *z, double t); /* with LIN*WN */
#endif
