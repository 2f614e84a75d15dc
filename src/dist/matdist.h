/* SPDX-License-Identifier: Apache-2.0
 *
 * Distributions on vectors and matrices, on plain doubles (column-major, leading dimension p).
 * They need factorisations, so they live above la; the rows are in mvn.c, and the collapsed
 * normal-inverse-Wishart in makers/normal.c.
 */
#ifndef DIST_MATDIST_H
#define DIST_MATDIST_H
#include "dist/dist_row.h"
#include <stdbool.h>
#include <stddef.h>

/* Symmetric up to rounding (1e-8 of the largest element). */
bool matrix_is_symmetric(const double *a, size_t p);
/* Lower Cholesky factor of a into l (p x p, upper part zeroed); GPM_E_NOT_PD. */
GPM_MUST_USE enum gpm_status matrix_factor(const double *a, size_t p, double *l);
/* The same for covariances that may be semidefinite: a ladder of jitter is tried. */
GPM_MUST_USE enum gpm_status covariance_factor(const double *a, size_t p, double *l);
double factor_logdet(const double *l, size_t p); /* log |LL'| */

/* Parameters as numbers. */
struct mat_dist {
    size_t p;  /* rows of the value */
    double *a; /* mean (NULL: zero) or alphas, p numbers */
    double *l; /* factor L of the covariance or scale matrix */
    double dof;
    bool inverse; /* inv_wishart */
};

/* How the procedures of one kind draw, score and differentiate: what their rows say in `of`, for
 * the functions below. */
struct vector_kind {
    struct scalar_family number; /* of rows that take numbers, too: normal */
    bool matrix;                 /* the value is p x p, else p numbers */
    enum gpm_status (*read)(struct sp_call *c, struct mat_dist *q);
    void (*draw)(struct rng *r, const struct mat_dist *q, double *out);
    double (*lp)(const double *x, const struct mat_dist *q);
    /* dx as large as x; dargs owned */
    void (*grad)(const double *x, const struct mat_dist *q, double *dx, value *dargs);
};
enum gpm_status vector_simulate(struct sp_call *c, value *out);
enum gpm_status vector_log_density(struct sp_call *c, value v, double *out);
enum gpm_status vector_grad(struct sp_call *c, value v, value *dv, value *dargs);
/* Value or mean (the first argument) vary, the second one is fixed: the density at its centre. */
enum gpm_status vector_centre_bound(struct sp_call *c, value v, uint64_t varies, double *out);
/* The adjoint of a number that stands for every element: the sum of theirs. */
void vector_sum(value *d);

/* multivariate_normal(a, LL'): out and x have p elements. */
void mvn_draw(struct rng *r, const struct mat_dist *q, double *out);
double mvn_lp(const double *x, const struct mat_dist *q);
/* The gradients fill dx, which is as large as x, and make dargs (owned), one for each of the
 * procedure's arguments. */
void mvn_grad(const double *x, const struct mat_dist *q, double *dx, value *dargs);

/* wishart(V = LL', dof > p - 1):
 *   |X|^((dof-p-1)/2) e^(-tr(V^-1 X)/2) / (2^(dof p/2) |V|^(dof/2) Gamma_p(dof/2))
 * and, when q->inverse, inv_wishart(S = LL', dof > p - 1):
 *   |S|^(dof/2) |X|^(-(dof+p+1)/2) e^(-tr(S X^-1)/2) / (2^(dof p/2) Gamma_p(dof/2)) */
void wishart_draw(struct rng *r, const struct mat_dist *q, double *out);
double wishart_lp(const double *x, const struct mat_dist *q);
void wishart_grad(const double *x, const struct mat_dist *q, double *dx, value *dargs);
#endif
