/* SPDX-License-Identifier: Apache-2.0
 * Checked allocation; see mem.h for the convention. */
#include "base/mem.h"
#include <fcntl.h>
#include <malloc.h>
#include <unistd.h>

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

/* Resident pages: the second number of /proc/self/statm. */
static size_t resident(void) {
    char text[128];
    int fd = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
    ssize_t n = fd >= 0 ? read(fd, text, sizeof text - 1) : -1;
    unsigned long pages = 0;
    if (fd >= 0) close(fd);
    if (n <= 0) return 0;
    text[n] = 0;
    if (sscanf(text, "%*u %lu", &pages) != 1) return 0;
    return (size_t)pages * (size_t)sysconf(_SC_PAGESIZE);
}

size_t mem_held(size_t enough) {
    size_t r = resident();
    if (r <= enough) return r;
#if defined(__GLIBC__)
    struct mallinfo2 m = mallinfo2(); /* freed memory may stay resident */
    size_t in_use = m.uordblks + m.hblkhd;
    if (in_use > 0 && in_use < r) return in_use;
#endif
    return r;
}
