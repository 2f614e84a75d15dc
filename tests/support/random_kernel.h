/* SPDX-License-Identifier: Apache-2.0
 * Random kernel expressions over the whole table: sums, products, change points, ARD, columns. */
#ifndef TEST_RANDOM_KERNEL_H
#define TEST_RANDOM_KERNEL_H
#include "gp/kernel/kernel.h"
#include "gp/kernel/kern_class.h"

/* Parameters near 1, within their domains. */
static inline double random_parameter(const struct kern_param *p, struct rng *r) {
    double u = rng_uniform(r);
    switch (p->domain) {
    case KERN_DEGREE: return 1 + (int)(3 * u);
    case KERN_UPTO2: return 0.5 + 1.4 * u;
    case KERN_REAL: return u - 0.5;
    default: return 0.5 + u;
    }
}

/* A leaf or alias of that row, on all columns or on one, with a value per column or one for all. */
static inline struct kern *random_leaf(const struct kern_class *cls, int dim, struct rng *r) {
    double par[KERN_MAX_PAR + 16];
    int col = (int)(rng_uniform(r) * dim);
    size_t n = 0, ard = 1, ncol = cls->one_column || rng_uniform(r) < 0.3 ? 1 : 0;
    bool vector = false;
    for (size_t p = 0; p < cls->npar; p++) vector = vector || cls->par[p].vector;
    if (vector && !ncol && dim > 1 && rng_uniform(r) < 0.6) ard = (size_t)dim;
    for (size_t p = 0; p < cls->npar; p++)
        for (size_t c = 0; c < (cls->par[p].vector ? ard : 1); c++)
            par[n++] = random_parameter(&cls->par[p], r);
    if (cls->npar == 2 && cls->not_psd && par[1] <= par[0]) par[1] = par[0] + 0.5;
    return kern_leaf_on(cls, par, ard, &col, ncol, NULL);
}

static inline struct kern *random_kernel(int dim, int depth, struct rng *r) {
    size_t rows = 0;
    while (kern_class_at(rows)) rows++;
    double u = rng_uniform(r);
    if (depth == 0 || u < 0.25) {
        const struct kern_class *cls;
        do cls = kern_class_at((size_t)(rng_uniform(r) * (double)rows));
        while (cls->op == KERN_CHANGE || cls->not_psd);
        return random_leaf(cls, dim, r);
    }
    struct kern *a = random_kernel(dim, depth - 1, r), *b = random_kernel(dim, depth - 1, r);
    if (u < 0.9) return kern_join(u < 0.6 ? KERN_SUM : KERN_PRODUCT, a, b);
    const struct kern_class *cls = kern_change_class(rng_uniform(r) < 0.5);
    double par[KERN_MAX_PAR];
    for (size_t p = 0; p < cls->npar; p++) par[p] = random_parameter(&cls->par[p], r);
    struct kern *k = kern_change(cls, par, (int)(rng_uniform(r) * dim), a, b, NULL);
    kern_unref(a);
    kern_unref(b);
    return k;
}
#endif
