/* SPDX-License-Identifier: Apache-2.0
 *
 * Series on grids and scattered, and processes whose likelihood is that of a filter.
 */
#ifndef SUPPORT_FILTERED_H
#define SUPPORT_FILTERED_H
#include "support/check.h"
#include "support/kernel_text.h"
#include "gp/process/gp.h"
#include <math.h>
#include <string.h>

static inline double uniform(uint64_t *s) {
    *s = *s * 6364136223846793005u + 1442695040888963407u;
    return (double)(*s >> 11) * 0x1p-53;
}
static inline double normal(uint64_t *s) {
    return sqrt(-2 * log(uniform(s) + 1e-300)) * cos(2 * M_PI * uniform(s));
}

enum layout { GRID, GAPS, SCATTERED };

static inline void fill(size_t n, enum layout how, uint64_t *seed, double *x, double *y) {
    double t = 0.3, walk = 0;
    for (size_t i = 0; i < n; i++) {
        x[i] = how == SCATTERED ? t : 0.3 + 0.02 * (double)(i + (how == GAPS ? 1 + i / 40 : 0));
        t += 0.04 * uniform(seed);
        walk += 0.05 * normal(seed);
        y[i] = 1 + 0.3 * x[i] + sin(2 * M_PI * x[i]) + walk + 0.2 * normal(seed);
    }
}

/* Whichever way is the fastest. */
static inline struct gp *any_process(const char *kernel, double noise, size_t n, const double *x,
                                     const double *y) {
    struct kern *k = kernel_of(kernel);
    struct gp *g = gp_new(1, k, NULL, noise, NULL);
    kern_unref(k);
    assert_non_null(g);
    assert_int_equal(gp_add(g, GP_MEASURED, x, y, n), GPM_OK);
    return g;
}

/* By filters alone, also where another way is faster. */
static inline struct gp *process(const char *kernel, double noise, size_t n, const double *x,
                                 const double *y) {
    struct gp *g = any_process(kernel, noise, n, x, y);
    gp_set_ways(g, GP_FILTERS);
    return g;
}

static inline bool by_states(const struct gp *g) {
    return strncmp(gp_method(g), "state space", 11) == 0;
}
#endif
