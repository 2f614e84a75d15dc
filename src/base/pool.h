/* SPDX-License-Identifier: Apache-2.0
 *
 * Pool of small objects in size classes of 16 bytes: objects of one size lie side by side in large
 * blocks, which keeps big traces dense in caches and page tables. Memory goes back to the system
 * with the pool. Builds with GPMEM_CHECKS use plain allocation, so that sanitizers see each object.
 */
#ifndef BASE_POOL_H
#define BASE_POOL_H
#include <stddef.h>

enum { POOL_UNIT = 16, POOL_CLASSES = 32, POOL_MAX = POOL_UNIT * POOL_CLASSES };

struct pool {
    void *free[POOL_CLASSES + 1]; /* lists of freed objects, by class */
    char *at[POOL_CLASSES + 1];   /* next unused byte of the current block */
    size_t left[POOL_CLASSES + 1];
    struct pool_block *blocks;
    size_t next_size; /* of the next block */
};

void pool_release(struct pool *p);
void *pool_zalloc(struct pool *p, size_t size);       /* zeroed; never NULL */
void pool_free(struct pool *p, void *q, size_t size); /* the size it was allocated with */
#endif
