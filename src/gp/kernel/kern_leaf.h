/* SPDX-License-Identifier: Apache-2.0
 *
 * Small helpers of the family files: the columns of a leaf, and common parameter rows. */
#ifndef GP_KERN_LEAF_H
#define GP_KERN_LEAF_H
#include "gp/kernel/kern_tree.h"

#include "numeric/la/vec_ops.h"

#include <string.h>

static inline int leaf_dim(const struct kern *k, int dim) {
    return k->ncol ? (int)k->ncol : dim;
}
/* The input column of the leaf's column c. */
static inline int leaf_place(const struct kern *k, int c) {
    return k->ncol ? k->col[c] : c;
}
static inline const double *leaf_col(const struct kern *k, struct kern_pts x, int c) {
    return x.x + (size_t)leaf_place(k, c) * x.ld;
}
static inline void leaf_prepare(const struct kern *k, struct kern_pts x, double *f, size_t ld) {
    if (x.n == 0) return; /* their place may be NULL */
    if (k->cls->prepare)
        k->cls->prepare(k, x, f, ld);
    else
        for (int c = 0; c < k->cls->features * leaf_dim(k, x.dim); c++)
            memcpy(f + (size_t)c * ld, leaf_col(k, x, c), x.n * sizeof *f);
}
/* q = squared distance of the features over the strip. */
static inline void leaf_squared(const struct kern_strip *s, double *q) {
    vec_ops()->sqdist(s->m, (size_t)s->nf, s->row, s->ld, s->col, q);
}

/* Standard deviation of a term; prior from experience with standardised series. */
#define KERN_SD(mean, sd)                                                                          \
    { "sf", KERN_NONNEGATIVE, KERN_T_LOG, KERN_P_LOGNORMAL, mean, sd, 1, false }
#define KERN_SF KERN_SD(-0.7, 1)
#endif
