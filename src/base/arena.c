/* SPDX-License-Identifier: Apache-2.0
 * Bump arena; see arena.h. */
#include "base/arena.h"
#include "base/mem.h"

#include <stdalign.h>
#include <string.h>

struct arena_block {
    struct arena_block *prev;
    size_t size; /* bytes of data */
    alignas(16) char data[];
};

void arena_release(struct arena *a) {
    while (a->head) {
        struct arena_block *b = a->head;
        a->head = b->prev;
        mem_free(b);
    }
    *a = (struct arena){0};
}

static void grow(struct arena *a, size_t need) {
    /* the first block is one that malloc keeps at hand: most arenas are small and short-lived */
    size_t size = a->head ? a->head->size * 4 : 960;
    if (size > (size_t)1 << 20) size = (size_t)1 << 20;
    if (size < need) size = need;
    struct arena_block *b = mem_alloc(sizeof *b + size);
    b->prev = a->head;
    b->size = size;
    a->head = b;
    a->used = 0;
}

void *arena_alloc(struct arena *a, size_t size) {
    size = (size + 15) & ~(size_t)15;
    if (!a->head || a->head->size - a->used < size) grow(a, size);
    void *p = a->head->data + a->used;
    a->used += size;
    return p;
}

void *arena_zalloc(struct arena *a, size_t size) {
    return memset(arena_alloc(a, size), 0, size);
}

char *arena_strndup(struct arena *a, const char *s, size_t n) {
    char *p = arena_alloc(a, n + 1);
    memcpy(p, s, n);
    p[n] = 0;
    return p;
}
