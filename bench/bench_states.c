/* SPDX-License-Identifier: Apache-2.0
 *
 * Filters beside the dense factor, Toeplitz and the approximations, in one run: thread CPU time of
 * a likelihood and of a gradient, best of some repetitions, and by how many nats the others are
 * off. Prints Markdown tables. Usage: bench_states [quick]
 */
#include "base/mem.h"
#include "gp/process/gp.h"
#include "gp/process/gp_int.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static uint64_t state_ = 1;
static double uniform(void) {
    state_ = state_ * 6364136223846793005u + 1442695040888963407u;
    return (double)(state_ >> 11) * 0x1p-53;
}
static double normal(void) {
    return sqrt(-2 * log(uniform() + 1e-300)) * cos(2 * M_PI * uniform());
}

/* A trend, a cycle of 365 steps, a rough function and noise. */
static struct gp *process(const char *kernel, size_t n, bool grid) {
    double *x = NEW_ARRAY(double, n), *y = NEW_ARRAY(double, n), rough = 0;
    struct kern *k = NULL;
    state_ = n;
    for (size_t i = 0; i < n; i++) {
        x[i] = grid ? 0.01 * (double)i : i ? x[i - 1] + 0.02 * uniform() : 0;
        rough = 0.98 * rough + 0.1 * normal();
        y[i] = 0.01 * x[i] + sin(2 * M_PI * x[i] / 3.65) + rough + 0.3 * normal();
    }
    if (kern_parse(kernel, &k, NULL)) abort();
    struct gp *g = gp_new(1, k, NULL, 0.3, NULL);
    gp_set_budget(g, 0);
    if (!g || gp_add(g, GP_MEASURED, x, y, n)) abort();
    kern_unref(k);
    mem_free(x);
    mem_free(y);
    return g;
}

struct result {
    double logml, value, slope;
    const char *method;
};

static struct result measure(struct gp *g, int reps) {
    struct result r = {0, INFINITY, INFINITY, ""};
    double d[64], dn, t;
    for (int i = 0; i < reps; i++) {
        gp_forget(g);
        t = now();
        if (gp_logml(g, &r.logml)) abort();
        r.value = fmin(r.value, now() - t);
        r.method = gp_method(g);
        gp_forget(g);
        t = now();
        if (gp_logml_grad(g, &r.logml, d, &dn)) abort();
        r.slope = fmin(r.slope, now() - t);
    }
    return r;
}

static const char *const MODELS[] = {
    "LIN(sf=0.1)+WIENER(sf=0.2)",
    "LIN(sf=0.1)+MAT32(sf=0.3, l=1)+PER(sf=1, p=3.65, l=1)",
    "MAT32(sf=1, l=20)*PER(sf=1, p=3.65, l=1)",
};

static void row(const char *model, size_t n, bool grid, bool dense) {
    struct gp *g = process(model, n, grid), *o;
    int reps = n > 200000 ? 1 : n > 20000 ? 2 : 5;
    struct result a = measure(g, reps), b;
    char method[80];
    snprintf(method, sizeof method, "%s", gp_current(g)->have_logml ? gp_method(g) : a.method);
    gp_free(g);
    printf("| `%s` | %zu | %s | %.5f | %.1f |", model, n, grid ? "grid" : "irregular", a.value,
           a.slope / a.value);
    if (dense) {
        o = process(model, n, grid);
        gp_set_ways(o, GP_FACTORS);
        b = measure(o, n > 1500 ? 1 : 3);
        printf(" %.5f | %.0f | %.1e |", b.value, b.value / a.value, fabs(a.logml - b.logml));
        gp_free(o);
    } else
        printf(" | | |");
    printf(" %s |\n", method);
    fflush(stdout);
}

/* What would be chosen without filters. */
static void instead(const char *model, size_t n, bool grid) {
    struct gp *g = process(model, n, grid), *o = process(model, n, grid);
    struct result a = measure(g, 1);
    double t = now(), ml;
    gp_set_ways(o, grid ? GP_TOEPLITZ | GP_FACTORS : GP_FACTORS);
    t = now();
    if (gp_logml(o, &ml)) abort();
    t = now() - t;
    printf("| `%s` | %zu | %s | %.5f | %.4f | %.0f | %s | %+.2f |\n", model, n,
           grid ? "grid" : "irregular", a.value, t, t / a.value, gp_method(o), ml - a.logml);
    fflush(stdout);
    gp_free(g);
    gp_free(o);
}

static size_t resident_kb(void) { /* high-water mark */
    struct rusage u;
    getrusage(RUSAGE_SELF, &u);
    return (size_t)u.ru_maxrss;
}

int main(int argc, char **argv) {
    bool quick = argc > 1 && !strcmp(argv[1], "quick");
    printf(
        "## Filters beside the dense factor\n\nSeconds of a likelihood; a gradient in likelihoods; "
        "difference of the values in nats\n\n| kernel | n | times | filter | gradient | dense | "
        "dense / filter | difference | method |\n|---|--:|---|--:|--:|--:|--:|--:|---|\n");
    for (size_t m = 0; m < COUNT_OF(MODELS); m++)
        for (int grid = 1; grid >= 0; grid--) {
            for (size_t n = 500; n <= (quick ? 1000 : 4000); n *= 2) row(MODELS[m], n, grid, true);
            row(MODELS[m], 10000, grid, false);
            if (!quick) row(MODELS[m], 100000, grid, false);
        }
    printf("\n## What would be chosen without them\n\n| kernel | n | times | filter | otherwise | "
           "ratio "
           "| method | nats off |\n|---|--:|---|--:|--:|--:|---|--:|\n");
    for (size_t m = 0; m < COUNT_OF(MODELS); m++)
        for (int grid = 1; grid >= 0; grid--) instead(MODELS[m], 10000, grid);
    printf("\n## A million points\n\n");
    struct gp *g = process(MODELS[1], 1000000, true);
    size_t before = resident_kb();
    double ml, t = now();
    if (gp_logml(g, &ml)) abort();
    printf("`%s`, grid: %.3f s, %zu MB above the data, %s\n", MODELS[1], now() - t,
           (resident_kb() - before) / 1024, gp_method(g));
    gp_free(g);
    return 0;
}
