/* SPDX-License-Identifier: Apache-2.0
 *
 * Checked allocation. Allocations whose size the user chose (n x n matrices) use mem_try_* and
 * return NULL. The small ones never do: the process keeps a reserve of address space, which goes
 * back to the allocator when it has no more, and the allocation that failed is served from it. Work
 * that may take long compares mem_shortages() with its value at the start and ends with
 * GPM_E_NOMEM; a call of the API first makes sure that there is a reserve. So a shortage ends in a
 * status or in a right result. Only when an allocation fails with the reserve used up does the
 * process end, with a message. Tests make the n-th allocation fail.
 */
#ifndef BASE_MEM_H
#define BASE_MEM_H
#include <stdbool.h>
#include <stddef.h>

#define COUNT_OF(a) (sizeof(a) / sizeof((a)[0]))

void *mem_alloc(size_t size);            /* uninitialised; never NULL */
void *mem_zalloc(size_t size);           /* zeroed; never NULL */
void *mem_realloc(void *p, size_t size); /* never NULL */
void *mem_array(size_t n, size_t size);  /* n*size, overflow checked; never NULL */
void mem_free(void *p);
char *mem_strdup(const char *s);
char *mem_strndup(const char *s, size_t n);

/* For sizes chosen by the user: NULL on failure or overflow, or if the work's limits (base/work.h)
 * do not permit it. 64-byte aligned doubles. */
double *mem_try_doubles(size_t n);
void *mem_try_alloc(size_t n, size_t size);

/* Bytes the process holds from the allocator, for user limits. First the resident size, which is
 * cheap and never much too low; the allocator's own count if that is above `enough`. */
size_t mem_held(size_t enough);

/* Returns freed memory to the system if the process has more than `enough`. */
void mem_give_back(size_t enough);

/* Number of times the allocator ran out since the process started. */
unsigned long mem_shortages(void);
/* Ensures that the reserve exists; false: no memory for one. */
bool mem_reserve(void);

/* For copies that must not fail: releases the reserve for one more try. After a second failure the
 * process ends with a message. `tries` counts from 0. */
void mem_insist(int tries);

/* Makes the n-th following allocation fail (n = 1: the next one); 0 switches it off. _try counts
 * only mem_try_*. mem_fail_pending: the failure is still to come. */
void mem_fail_nth(long n);
void mem_fail_nth_try(long n);
bool mem_fail_pending(void);

#define NEW(type)          ((type *)mem_zalloc(sizeof(type)))
#define NEW_ARRAY(type, n) ((type *)mem_array((n), sizeof(type)))
#endif
