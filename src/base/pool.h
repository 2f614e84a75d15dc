/* SPDX-License-Identifier: Apache-2.0
 *
 * Pool of small objects in size classes of 16 bytes: objects of one size are adjacent in large
 * blocks, which keeps big traces dense in caches and page tables. The pool returns its memory when
 * it is released. Builds with GPMEM_CHECKS use plain allocation, so that sanitizers see each
 * object. */
#ifndef BASE_POOL_H
#define BASE_POOL_H
#include <stddef.h>
#include <stdint.h>

enum { POOL_UNIT = 16, POOL_CLASSES = 32, POOL_MAX = POOL_UNIT * POOL_CLASSES };

struct pool {
    void *free[POOL_CLASSES + 1]; /* lists of freed objects, by class */
    char *at[POOL_CLASSES + 1];   /* next unused byte of the current block */
    size_t left[POOL_CLASSES + 1];
    struct pool_block *blocks;
    unsigned char grown[POOL_CLASSES + 1]; /* number of blocks of the class */
};

void pool_release(struct pool *p);
void *pool_zalloc(struct pool *p, size_t size);       /* zeroed; never NULL */
void pool_free(struct pool *p, void *q, size_t size); /* the size it was allocated with */

/* Small arrays in a pool, with small headers: PVEC(struct foo) v = {0}; pvec_push(p, &v, x);
 * pvec_release(p, &v). Fields as in VEC. */
#define PVEC(type)                                                                                 \
    struct {                                                                                       \
        type *at;                                                                                  \
        uint32_t n, cap;                                                                           \
    }
#define pvec_push(p, v, x)                                                                         \
    do {                                                                                           \
        if ((v)->n == (v)->cap) (v)->at = pool_grow((p), (v)->at, &(v)->cap, sizeof *(v)->at);     \
        (v)->at[(v)->n++] = (x);                                                                   \
    } while (0)
#define pvec_release(p, v)                                                                         \
    (pool_free((p), (v)->at, (v)->cap * sizeof *(v)->at), (v)->at = NULL, (v)->n = (v)->cap = 0)
/* Grows an array beyond *cap items of that size; *cap becomes the new capacity. */
void *pool_grow(struct pool *p, void *at, uint32_t *cap, size_t size);
#endif
