/* SPDX-License-Identifier: Apache-2.0
 * Checked allocation; see mem.h for the convention. */
#include "base/mem.h"

#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static _Atomic long fail_countdown;

static void *give_up(size_t size) {
    fprintf(stderr, "gpmem: out of memory (%zu bytes)\n", size);
    abort();
}

void *mem_alloc(size_t size) {
    void *p = malloc(size ? size : 1);
    return p ? p : give_up(size);
}

void *mem_zalloc(size_t size) {
    /* glibc's malloc keeps small blocks at hand for each thread; its calloc does not look there */
    if (size <= 1024) return memset(mem_alloc(size), 0, size);
    void *p = calloc(1, size ? size : 1);
    return p ? p : give_up(size);
}

void *mem_realloc(void *p, size_t size) {
    void *q = realloc(p, size ? size : 1);
    return q ? q : give_up(size);
}

void *mem_array(size_t n, size_t size) {
    if (size && n > SIZE_MAX / size) return give_up(SIZE_MAX);
    return mem_alloc(n * size);
}

void mem_free(void *p) {
    free(p);
}

char *mem_strndup(const char *s, size_t n) {
    char *p = mem_alloc(n + 1);
    memcpy(p, s, n);
    p[n] = 0;
    return p;
}

char *mem_strdup(const char *s) {
    return mem_strndup(s, strlen(s));
}

void mem_fail_nth(long n) {
    atomic_store(&fail_countdown, n);
}

static bool must_fail(void) {
    if (atomic_load_explicit(&fail_countdown, memory_order_relaxed) == 0) return false;
    return atomic_fetch_sub(&fail_countdown, 1) == 1;
}

void *mem_try_alloc(size_t n, size_t size) {
    if (must_fail()) return NULL;
    if (size && n > (SIZE_MAX - 64) / size) return NULL;
    size_t bytes = (n * size + 63) & ~(size_t)63;
    return aligned_alloc(64, bytes ? bytes : 64);
}

double *mem_try_doubles(size_t n) {
    return mem_try_alloc(n, sizeof(double));
}
