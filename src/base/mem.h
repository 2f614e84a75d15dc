/* SPDX-License-Identifier: Apache-2.0
 *
 * Checked allocation. Small allocations that fail call the hook and abort; allocations whose size
 * the user chose (n x n matrices) use mem_try_* and return NULL. Test builds can make the n-th
 * mem_try_* allocation fail.
 */
#ifndef BASE_MEM_H
#define BASE_MEM_H
#include <stdbool.h>
#include <stddef.h>

#define UNUSED(x) ((void)(x))
#define COUNT_OF(a) (sizeof(a) / sizeof((a)[0]))

void *mem_alloc(size_t size);             /* uninitialised; never NULL */
void *mem_zalloc(size_t size);            /* zeroed; never NULL */
void *mem_realloc(void *p, size_t size);  /* never NULL */
void *mem_array(size_t n, size_t size);   /* n*size, overflow checked; never NULL */
void mem_free(void *p);
char *mem_strdup(const char *s);
char *mem_strndup(const char *s, size_t n);

/* For sizes that come from the user: NULL on failure or overflow. 64-byte aligned doubles. */
double *mem_try_doubles(size_t n);
void *mem_try_alloc(size_t n, size_t size);

/* Bytes that the process holds from the allocator, for limits that users set: the resident size
 * first, which is cheap and never below it by much; the allocator's own count when that is above
 * `enough`. */
size_t mem_held(size_t enough);

/* Makes the n-th following mem_try_* call fail (n = 1: the next one); 0 switches it off. */
void mem_fail_nth(long n);

#define NEW(type) ((type *)mem_zalloc(sizeof(type)))
#define NEW_ARRAY(type, n) ((type *)mem_array((n), sizeof(type)))
#endif
