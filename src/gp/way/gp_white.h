/* SPDX-License-Identifier: Apache-2.0
 *
 * A Gaussian process at given inputs as a function of independent standard normals, f = m + L z
 * with L L' = K: what samplers move where the values of the function, not its data, are unknown.
 */
#ifndef GP_GP_WHITE_H
#define GP_GP_WHITE_H
#include "gp/kernel/kernel.h"
#include "gp/process/mean.h"
#include "numeric/la/chol.h"

struct gp_white {
    const struct kern *kern; /* borrowed, as is the mean */
    const struct mean *mean; /* NULL: zero */
    struct kern_pts at;
    double *x, *m; /* owned: the inputs by columns, the mean at them */
    struct chol f;
};

/* x: n points one after another. GPM_E_NOT_PD when no jitter helps; GPM_E_ARG when the kernel does
 * not fit the dimension. gp_white_release in any case. */
GPM_MUST_USE enum gpm_status gp_white_init(struct gp_white *w, const struct kern *k,
                                           const struct mean *mean, const double *x, size_t n,
                                           int dim);
void gp_white_release(struct gp_white *w);
void gp_white_values(const struct gp_white *w, const double *z, double *f); /* f = m + L z */
void gp_white_times(const struct gp_white *w, bool transposed, double *v);  /* v = L v or L' v */
/* Adjoints from d, that of f: dz (n values), dkern and dmean (as many as there are parameters). */
GPM_MUST_USE enum gpm_status gp_white_back(const struct gp_white *w, const double *z,
                                           const double *d, double *dz, double *dkern,
                                           double *dmean);
#endif
