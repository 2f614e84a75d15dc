/* SPDX-License-Identifier: Apache-2.0
 *
 * Distributions on vectors and matrices, on plain doubles (column-major, leading dimension p).
 * They need factorisations, so they live above la; the rows are in mvn.c, and the collapsed
 * normal-inverse-Wishart in language/rows/makers/normal.c.
 */
#ifndef DIST_MATDIST_H
#define DIST_MATDIST_H
#include "language/rows/dist/dist_row.h"
#include <stdbool.h>
#include <stddef.h>

/* Symmetric up to rounding (1e-8 of the largest element). */
bool matrix_is_symmetric(const double *a, size_t p);
/* Lower Cholesky factor of a into l (p x p, upper part zeroed); GPM_E_NOT_PD. */
GPM_MUST_USE enum gpm_status matrix_factor(const double *a, size_t p, double *l);
/* The same for covariances that may be semidefinite: a ladder of jitter is tried. */
GPM_MUST_USE enum gpm_status covariance_factor(const double *a, size_t p, double *l);
double factor_logdet(const double *l, size_t p); /* log |LL'| */
/* The full symmetric (LL')^-1. */
void factor_inverse(const double *l, size_t p, double *inv);
/* Lower triangular with a positive diagonal? */
bool matrix_is_factor(const double *l, size_t p);
/* df/dL from G = df/d(LL'), the numbers of LL' taken as free: the lower triangle of (G + G') L. */
void factor_pull(const double *g, const double *l, size_t p, double *dl);

/* How the matrix of a normal distribution is given. */
enum mat_form { MAT_COVARIANCE, MAT_FACTOR, MAT_PRECISION };

/* Parameters as numbers. */
struct mat_dist {
    size_t p;    /* numbers of a vector, rows of a square matrix */
    size_t rows; /* 0: the value is a vector; else a matrix of so many independent rows */
    double *a;   /* mean (NULL: zero) as large as the value, or alphas, p numbers */
    double *l;   /* factor L of the covariance, precision or scale matrix */
    enum mat_form form;
    double dof;   /* 0: a normal distribution, else Student's t */
    bool inverse; /* inv_wishart */
    bool factor;  /* the value is the Cholesky factor of the matrix */
};

/* How the procedures of one kind draw, score and differentiate: what their rows say in `of`, for
 * the functions below. */
struct vector_kind {
    struct scalar_family number; /* its support is the value's (sp_scalar_support) */
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
/* Of a density that is the same everywhere on its support. */
enum gpm_status level_grad(struct sp_call *c, value v, value *dv, value *dargs);
/* What most rows of such procedures have. */
#define VECTOR(kind)                                                                               \
    .of = &kind, .flags = SP_RANDOM | SP_VECTOR, .log_density = vector_log_density,                \
    .simulate = vector_simulate, .grad_density = vector_grad, .support = sp_scalar_support
/* Value or mean (the first argument) vary, the second one is fixed: the density at its centre. */
enum gpm_status vector_centre_bound(struct sp_call *c, value v, uint64_t varies, double *out);

/* A symmetric positive definite argument, and its factor. */
enum gpm_status factor_arg(struct sp_call *c, size_t i, const char *name, bool semidefinite,
                           double **l, size_t *p);
/* An argument that is such a factor. */
enum gpm_status lower_arg(struct sp_call *c, size_t i, const char *name, double **l, size_t *p);

/* multivariate_normal(a, LL'), and its relatives by form and dof (multi.c). */
void mvn_draw(struct rng *r, const struct mat_dist *q, double *out);
double mvn_lp(const double *x, const struct mat_dist *q);

/* wishart(V = LL', dof > p - 1):
 *   |X|^((dof-p-1)/2) e^(-tr(V^-1 X)/2) / (2^(dof p/2) |V|^(dof/2) Gamma_p(dof/2))
 * and, when q->inverse, inv_wishart(S = LL', dof > p - 1):
 *   |S|^(dof/2) |X|^(-(dof+p+1)/2) e^(-tr(S X^-1)/2) / (2^(dof p/2) Gamma_p(dof/2)) */
void wishart_draw(struct rng *r, const struct mat_dist *q, double *out);
double wishart_lp(const double *x, const struct mat_dist *q);
void wishart_grad(const double *x, const struct mat_dist *q, double *dx, value *dargs);
/* The factor X of such a matrix XX', whose density is that of the matrix times
 * 2^p X_11^p X_22^(p-1) ... X_pp; the derivatives are those in L. */
void factor_draw(struct rng *r, const struct mat_dist *q, double *out);
double factor_lp(const double *x, const struct mat_dist *q);
void factor_grad(const double *x, const struct mat_dist *q, double *dx, value *dargs);
#endif
