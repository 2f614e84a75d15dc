/* SPDX-License-Identifier: Apache-2.0
 *
 * Shared by the files that evaluate smodel: workspace, tables over distances, the factor u.
 */
#ifndef DISCOVER_SMODEL_PRIV_H
#define DISCOVER_SMODEL_PRIV_H
#include "discover/smodel.h"

#define SMOOTH_MASK       (FACTOR_BIT(FACTOR_SE) | FACTOR_BIT(FACTOR_MAT) | FACTOR_BIT(FACTOR_RQ))
#define TOEPLITZ_MAX_GAPS 8
#define GATE_WIDTH        0.01 /* of the sigmoid, in units of the span */
#define NOISE_FLOOR       1e-8 /* variance added to the diagonal, standardised units */

struct smodel_work {
    const struct smodel_data *data;
    double *k;                         /* n x n */
    double *tab[STRUCTURE_MAX_TERMS];  /* A_k over distances */
    double *rest[STRUCTURE_MAX_TERMS]; /* A_k without PER, for terms with PER */
    double *sum, *s, *dtab;            /* m each: summed table, distance sums, derivative */
    double *u[STRUCTURE_MAX_TERMS];    /* n each */
    double *du[3];                     /* n each: derivatives of the u at hand */
    double *alpha, *col, *tmp;         /* n (ng) each */
    double *toep;                      /* Toeplitz scratch, allocated on first use */
    size_t toep_n;
    long evals, fast, fallback; /* all; by Toeplitz; Toeplitz not accurate enough */
};

double smodel_dvalue(const struct smodel *m, int i, double z); /* d value or log value / dz */

/* A_k (and rest) of the stationary factors of term k at the m distances d. */
void smodel_table(const struct smodel *m, const double *z, int k, const double *d, size_t n,
                  double *a, double *rest);
/* dA_k / dz_par into out. */
void smodel_dtable(const struct smodel *m, const double *z, int k, int par, const double *d,
                   size_t n, const double *a, const double *rest, double *out);
bool smodel_has_u(const struct smodel *m, int k);
/* u_k at the times t. */
void smodel_u(const struct smodel *m, const double *z, int k, const double *t, size_t n, double *u);
/* Parameters that u_k depends on (at most 3) and the derivatives at the times t. */
int smodel_du(const struct smodel *m, const double *z, int k, const double *t, size_t n, int par[3],
              double *du[3]);
bool smodel_stationary_pars(const struct smodel *m, int k);

/* Differences that make the Wiener terms stationary: 0, 1 or 2. */
int smodel_differences(const struct smodel *m);
/* Log likelihood by the fast path; *ok false: not accurate enough here, use the dense one. */
double smodel_toeplitz(const struct smodel *m, struct smodel_work *w, const double *z, double *grad,
                       bool *ok);
#endif
