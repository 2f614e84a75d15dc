/* SPDX-License-Identifier: Apache-2.0
 * Checked allocation; see mem.h for the convention. */
#include "base/mem.h"
#include "base/work.h"
#include <fcntl.h>
#include <malloc.h>
#include <sys/mman.h>
#include <unistd.h>

#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { RESERVE = 8 << 20, LARGE = 1 << 20 };

static _Atomic long fail_countdown, fail_try_countdown;
static _Atomic unsigned long shortages;
static _Atomic(void *) reserve;

unsigned long mem_shortages(void) {
    return atomic_load_explicit(&shortages, memory_order_relaxed);
}

/* Mapped, never touched: it costs address space, which is what limits and overcommit count. */
bool mem_reserve(void) {
    if (atomic_load(&reserve)) return true;
    void *p = mmap(NULL, RESERVE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED) return false;
    void *none = NULL;
    if (!atomic_compare_exchange_strong(&reserve, &none, p)) munmap(p, RESERVE);
    return true;
}

/* An allocation failed: counts it and gives the reserve back, if there still is one. */
static void relieve(void) {
    atomic_fetch_add(&shortages, 1);
    void *p = atomic_exchange(&reserve, NULL);
    if (p) munmap(p, RESERVE);
}

static void *give_up(size_t size) {
    fprintf(stderr, "gpmem: out of memory (%zu bytes)\n", size);
    abort();
}

void mem_insist(int tries) {
    if (tries == 0)
        relieve();
    else
        give_up(0);
}

static bool counts_down(_Atomic long *countdown) {
    if (atomic_load_explicit(countdown, memory_order_relaxed) == 0) return false;
    return atomic_fetch_sub(countdown, 1) == 1;
}

static bool must_fail(void) {
    return counts_down(&fail_countdown);
}

void *mem_alloc(size_t size) {
    void *p = must_fail() ? NULL : malloc(size ? size : 1);
    if (p) return p;
    relieve();
    p = malloc(size ? size : 1);
    return p ? p : give_up(size);
}

void *mem_zalloc(size_t size) {
    /* glibc's malloc keeps small blocks at hand for each thread; its calloc does not look there */
    if (size <= 1024) return memset(mem_alloc(size), 0, size);
    void *p = must_fail() ? NULL : calloc(1, size);
    if (p) return p;
    relieve();
    p = calloc(1, size);
    return p ? p : give_up(size);
}

void *mem_realloc(void *p, size_t size) {
    void *q = must_fail() ? NULL : realloc(p, size ? size : 1);
    if (q) return q;
    relieve();
    q = realloc(p, size ? size : 1);
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

void mem_fail_nth_try(long n) {
    atomic_store(&fail_try_countdown, n);
}

bool mem_fail_pending(void) {
    return atomic_load(&fail_countdown) > 0 || atomic_load(&fail_try_countdown) > 0;
}

void *mem_try_alloc(size_t n, size_t size) {
    if (size && n > (SIZE_MAX - 64) / size) return NULL;
    size_t bytes = (n * size + 63) & ~(size_t)63;
    if (bytes >= LARGE && !work_room(bytes)) return NULL;
    bool fail = must_fail() || counts_down(&fail_try_countdown);
    void *p = fail ? NULL : aligned_alloc(64, bytes ? bytes : 64);
    if (!p) atomic_fetch_add(&shortages, 1); /* the reserve is not for these */
    return p;
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

void mem_give_back(size_t enough) {
#if defined(__GLIBC__)
    if (resident() > enough) malloc_trim(0); /* each thread frees to an arena of its own */
#endif
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
