/* SPDX-License-Identifier: Apache-2.0
 * Pool of small objects; see pool.h. */
#include "base/pool.h"
#include "base/mem.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

struct pool_block {
    struct pool_block *next;
    char pad[56]; /* objects start on a cache line */
};

enum { FIRST_BLOCK = 1024, HUGE = 2 << 20 };

void pool_release(struct pool *p) {
    while (p->blocks) {
        struct pool_block *b = p->blocks;
        p->blocks = b->next;
        free(b);
    }
    memset(p, 0, sizeof *p);
}

/* Blocks of a class double up to 2 MiB; those are aligned so that the system can use one large page
 * each. */
static void grow(struct pool *p, size_t class) {
    size_t size = (size_t)FIRST_BLOCK << p->grown[class];
    if (size < HUGE) p->grown[class]++;
    struct pool_block *b = aligned_alloc(size < HUGE ? 64 : HUGE, size);
    if (!b) b = mem_alloc(size);
    if (size == HUGE) madvise(b, size, MADV_HUGEPAGE);
    b->next = p->blocks;
    p->blocks = b;
    p->at[class] = (char *)(b + 1);
    p->left[class] = size - sizeof *b;
}

void *pool_zalloc(struct pool *p, size_t size) {
#ifdef GPMEM_CHECKS
    return mem_zalloc(size);
#endif
    if (size > POOL_MAX) return mem_zalloc(size);
    size_t class = (size + POOL_UNIT - 1) / POOL_UNIT, bytes = class * POOL_UNIT;
    void *q = p->free[class];
    if (q)
        memcpy(&p->free[class], q, sizeof(void *));
    else {
        if (p->left[class] < bytes) grow(p, class);
        q = p->at[class];
        p->at[class] += bytes;
        p->left[class] -= bytes;
    }
    return memset(q, 0, bytes);
}

void pool_free(struct pool *p, void *q, size_t size) {
#ifdef GPMEM_CHECKS
    mem_free(q);
    return;
#endif
    if (!q) return;
    if (size > POOL_MAX) {
        mem_free(q);
        return;
    }
    size_t class = (size + POOL_UNIT - 1) / POOL_UNIT;
    memcpy(q, &p->free[class], sizeof(void *));
    p->free[class] = q;
}

/* From one item on, to what the size class holds and then twice as many. Large arrays grow in place
 * and by an eighth at a time: several of them may grow at once when there is little memory left,
 * and what is kept for that case must do (mem.c). */
void *pool_grow(struct pool *p, void *at, uint32_t *cap, size_t size) {
    enum { LARGE = 1 << 20 };
    uint32_t old = *cap, fits = (uint32_t)(POOL_UNIT / size);
    uint32_t more = old * size < LARGE ? old : old / 8;
    *cap = old ? old + more : fits ? fits : 1;
    if (old * size > POOL_MAX) return mem_realloc(at, *cap * size);
    void *fresh = pool_zalloc(p, *cap * size);
    if (old) memcpy(fresh, at, old * size);
    pool_free(p, at, old * size);
    return fresh;
}
