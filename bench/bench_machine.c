/* SPDX-License-Identifier: Apache-2.0
 *
 * The machine's own limits, for the tables beside it: Cholesky factorisation (dpotrf of the BLAS in
 * use, one thread), copying memory, a chain of dependent loads. Best and worst of several runs. */
#include "base/mem.h"
#include "numeric/la/blas.h"
#include "numeric/special/rng.h"
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

enum { REPEATS = 7 };

void dpotrf_(const char *uplo, const int *n, double *a, const int *lda, int *info);

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void row(const char *what, const char *unit, const double *rate) {
    double lo = rate[0], hi = rate[0];
    for (int i = 1; i < REPEATS; i++) {
        lo = rate[i] < lo ? rate[i] : lo;
        hi = rate[i] > hi ? rate[i] : hi;
    }
    printf("| %s | %.3g %s | %.3g |\n", what, hi, unit, lo);
}

/* n^3 / 3 operations; the matrix is 2 on the diagonal and small beside it. */
static void factor(size_t n) {
    double *a = mem_try_doubles(n * n), rate[REPEATS];
    char what[64];
    if (!a) return;
    for (int r = 0; r < REPEATS; r++) {
        for (size_t i = 0; i < n * n; i++) a[i] = 1e-3;
        for (size_t i = 0; i < n; i++) a[i * (n + 1)] = 2;
        double t = now();
        int in = (int)n, bad;
        dpotrf_("L", &in, a, &in, &bad);
        rate[r] = bad ? 0 : (double)n * (double)n * (double)n / 3 / (now() - t) / 1e9;
    }
    snprintf(what, sizeof what, "dpotrf, n = %zu", n);
    row(what, "GFLOP/s", rate);
    mem_free(a);
}

static void copying(size_t bytes) {
    char *a = mem_alloc(bytes), *b = mem_alloc(bytes), what[64];
    double rate[REPEATS];
    memset(a, 1, bytes);
    memset(b, 2, bytes);
    for (int r = 0; r < REPEATS; r++) {
        double t = now();
        memcpy(r % 2 ? a : b, r % 2 ? b : a, bytes);
        rate[r] = 2 * (double)bytes / (now() - t) / 1e9;
    }
    snprintf(what, sizeof what, "memory read and written, %zu MiB", bytes >> 20);
    row(what, "GB/s", rate);
    mem_free(a);
    mem_free(b);
}

/* One load after the other, each at an address that the last one gave. */
static void chasing(size_t n) {
    uint32_t *next = NEW_ARRAY(uint32_t, n), at = 0;
    static volatile uint32_t sink; /* or the loads would be left out */
    double rate[REPEATS];
    char what[64];
    struct rng r;
    rng_init(&r, 1, 0, 0);
    for (size_t i = 0; i < n; i++) next[i] = (uint32_t)i;
    for (size_t i = n - 1; i > 0; i--) { /* Sattolo: one cycle */
        size_t j = (size_t)(rng_uniform(&r) * (double)i);
        uint32_t keep = next[i];
        next[i] = next[j];
        next[j] = keep;
    }
    for (int k = 0; k < REPEATS; k++) {
        double t = now();
        for (int i = 0; i < 1000000; i++) at = next[at];
        sink = at;
        rate[k] = 1e6 / (now() - t) / 1e6;
    }
    snprintf(what, sizeof what, "dependent loads in %zu MiB", n * sizeof *next >> 20);
    row(what, "million/s", rate);
    (void)sink;
    mem_free(next);
}

int main(void) {
    la_init();
    printf("## The machine\n\n| what | best | worst of %d |\n|---|---|---|\n", REPEATS);
    factor(150);
    factor(1000);
    factor(4000);
    copying((size_t)256 << 20);
    chasing((size_t)1 << 22);
    return 0;
}
