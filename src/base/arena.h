/* SPDX-License-Identifier: Apache-2.0
 *
 * Bump arena: allocations live until it is released; one of zeros is empty. Blocks double up to
 * 1 MiB.
 */
#ifndef BASE_ARENA_H
#define BASE_ARENA_H
#include <stddef.h>

struct arena_block;
struct arena {
    struct arena_block *head; /* current block; older ones behind it */
    size_t used;
};

void arena_release(struct arena *a);
void *arena_alloc(struct arena *a, size_t size);  /* 16-byte aligned, uninitialised, never NULL */
void *arena_zalloc(struct arena *a, size_t size); /* zeroed */
char *arena_strndup(struct arena *a, const char *s, size_t n);

#define ARENA_NEW(a, type)      ((type *)arena_zalloc((a), sizeof(type)))
#define ARENA_ARRAY(a, type, n) ((type *)arena_zalloc((a), sizeof(type) * (size_t)(n)))
#endif
