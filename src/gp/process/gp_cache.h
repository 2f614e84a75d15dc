/* SPDX-License-Identifier: Apache-2.0
 *
 * Cache of term matrices. The kernel of a GP is a sum of terms; each is an amplitude times a kernel
 * of unit amplitude, and the matrices of the unit kernels are kept (packed lower triangles,
 * diagonal left out), least recently used first out. So a change of an amplitude or of the noise
 * fills nothing again and a change of one length scale fills one term. A matrix is stored when a
 * unit kernel is asked for the second time: a rejected proposal then leaves nothing behind.
 */
#ifndef GP_GP_CACHE_H
#define GP_GP_CACHE_H
#include "gp/kernel/kernel.h"

enum { GP_CACHE_ENTRIES = 24 };
struct gp_cache {
    struct gp_cached {
        struct kern *key;     /* unit kernel */
        double *a;            /* packed columns below the diagonal; NULL: seen once */
    } slot[GP_CACHE_ENTRIES]; /* the one used last first */
    size_t n, room;           /* entries; how many there may be */
    size_t points;            /* inputs the matrices belong to */
    size_t budget;            /* bytes; 0: off */
};

void gp_cache_clear(struct gp_cache *c); /* the inputs changed */
/* Lower triangle of the Gram matrix of distinct points, through the cache. */
GPM_MUST_USE enum gpm_status gp_cache_fill(struct gp_cache *c, const struct kern *k,
                                           struct kern_pts x, double *a, size_t ld);
/* The matrix of entry i, which has none. */
GPM_MUST_USE enum gpm_status gp_cache_make(struct gp_cache *c, size_t i, struct kern_pts x);
#endif
