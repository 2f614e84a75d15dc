/* SPDX-License-Identifier: Apache-2.0
 *
 * Distributions on vectors and matrices, on plain doubles (column-major, leading dimension p).
 * They need factorisations, so they live above la; the rows are in mvn.c, and the collapsed
 * normal-inverse-Wishart in makers/normal.c.
 */
#ifndef DIST_MATDIST_H
#define DIST_MATDIST_H
#include "gpmem/status.h"
#include "math/rng.h"
#include <stdbool.h>
#include <stddef.h>

/* Symmetric up to rounding (1e-8 of the largest element). */
bool matrix_is_symmetric(const double *a, size_t p);
/* Lower Cholesky factor of a into l (p x p, upper part zeroed); GPM_E_NOT_PD. */
GPM_MUST_USE enum gpm_status matrix_factor(const double *a, size_t p, double *l);
/* The same for covariances that may be semidefinite: a ladder of jitter is tried. */
GPM_MUST_USE enum gpm_status covariance_factor(const double *a, size_t p, double *l);
double factor_logdet(const double *l, size_t p);             /* log |LL'| */
void factor_inverse(const double *l, size_t p, double *inv); /* full symmetric (LL')^-1 */

/* multivariate_normal(m, LL') given the factor; out and x have p elements. */
void mvn_draw(struct rng *r, const double *m, const double *l, size_t p, double *out);
double mvn_lp(const double *x, const double *m, const double *l, size_t p);
/* dx = -K^-1 (x - m) (and dm = -dx); dk, p x p: -(K^-1 - dx dx') / 2. May be NULL. */
void mvn_grad(const double *x, const double *m, const double *l, size_t p, double *dx, double *dk);

/* wishart(V = LL', dof > p - 1):
 *   |X|^((dof-p-1)/2) e^(-tr(V^-1 X)/2) / (2^(dof p/2) |V|^(dof/2) Gamma_p(dof/2)) */
void wishart_draw(struct rng *r, const double *l, double dof, size_t p, double *out);
double wishart_lp(const double *x, const double *l, double dof, size_t p);
void wishart_grad(const double *x, const double *l, double dof, size_t p, double *dx, double *dv,
                  double *ddof);
/* inv_wishart(S = LL', dof > p - 1):
 *   |S|^(dof/2) |X|^(-(dof+p+1)/2) e^(-tr(S X^-1)/2) / (2^(dof p/2) Gamma_p(dof/2)) */
void inv_wishart_draw(struct rng *r, const double *l, double dof, size_t p, double *out);
double inv_wishart_lp(const double *x, const double *l, double dof, size_t p);
void inv_wishart_grad(const double *x, const double *l, double dof, size_t p, double *dx,
                      double *ds, double *ddof);
#endif
