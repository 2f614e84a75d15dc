/* SPDX-License-Identifier: Apache-2.0
 *
 * A Gaussian process at given inputs as a function of independent standard normals, f = m + L z
 * with L L' = K. Samplers move z if the function's values are unknown. */
#ifndef GP_GP_WHITE_H
#define GP_GP_WHITE_H
#include "gp/kernel/kernel.h"
#include "gp/process/mean.h"
#include "numeric/la/chol.h"

struct gp_white {
    const struct kern *kern; /* borrowed, like the mean */
    const struct mean *mean; /* NULL: zero */
    struct kern_pts at;
    double *x, *m; /* owned: the inputs, column-major, and the mean at them */
    struct chol f;
};

/* x: n x dim, row-major. GPM_E_NOT_PD if no jitter helps; GPM_E_ARG if the kernel does not fit the
 * dimension. Call gp_white_release in any case. */
GPM_MUST_USE enum gpm_status gp_white_init(struct gp_white *w, const struct kern *k,
                                           const struct mean *mean, const double *x, size_t n,
                                           int dim);
void gp_white_release(struct gp_white *w);
void gp_white_values(const struct gp_white *w, const double *z, double *f); /* f = m + L z */
void gp_white_times(const struct gp_white *w, bool transposed, double *v);  /* v = L v or L' v */
/* Adjoints from d: n, that of f. dz: n; dkern and dmean: one number per parameter. */
GPM_MUST_USE enum gpm_status gp_white_back(const struct gp_white *w, const double *z,
                                           const double *d, double *dz, double *dkern,
                                           double *dmean);
#endif
