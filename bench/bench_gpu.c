/* SPDX-License-Identifier: Apache-2.0
 *
 * Gaussian processes on a GPU; the peers and the table are bench/gpu.py's.
 *
 *   bench_gpu card                   the card, its driver and libraries, the BLAS of this machine
 *   bench_gpu large N...             likelihood, with gradient, 1000 predictions, one process each
 *   bench_gpu check N...             the same numbers by this machine's cores, and their
 * differences bench_gpu batch N B              B processes of N inputs at once, in one call
 *   bench_gpu low N...               low rank and conjugate gradients; beside the exact answer up
 *                                    to 40,000 inputs
 *   bench_gpu append N               one input more
 */
#include "base/clock.h"
#include "base/mem.h"
#include "gp/process/gp.h"
#include "io/gpu/gpu.h"
#include "numeric/la/blas.h"
#include "numeric/special/rng.h"
#include "../tests/support/gp_batch.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define KERNEL "LIN(sf=0.4) + SE(sf=1.1, l=0.7)*PER(sf=1, p=1.3, l=0.9) + WN(sigma=0.1)"
enum { NEW_POINTS = 1000, PARAMETERS = 7 };

static void must(enum gpm_status st) {
    if (!st) return;
    printf("failed: %s\n", st == GPM_E_DEVICE ? gp_device_error() : gpm_status_text(st));
    exit(1);
}

static struct gp *process(size_t n, uint64_t seed, enum gp_device device) {
    struct kern *k;
    struct rng r;
    double *x = NEW_ARRAY(double, 2 * n), *y = x + n;
    rng_init(&r, seed, 0, 0);
    for (size_t i = 0; i < n; i++) {
        x[i] = 10 * rng_uniform(&r);
        y[i] = sin(x[i]) + 0.3 * (rng_uniform(&r) - 0.5);
    }
    must(kern_parse(KERNEL, &k, NULL));
    struct gp *g = gp_new(1, k, NULL, 0.3, NULL);
    gp_set_ways(g, GP_FACTORS);
    gp_set_device(g, device);
    must(gp_add(g, GP_MEASURED, x, y, n));
    kern_unref(k);
    mem_free(x);
    return g;
}

static int by_size(const void *a, const void *b) {
    double d = *(const double *)a - *(const double *)b;
    return d < 0 ? -1 : d > 0;
}

/* Median of a few, and their spread; the first, which compiles and allocates, is apart. */
struct times {
    double first, median, low, high;
};
static struct times measure(int reps, void (*f)(void *), void *arg) {
    double t[32];
    struct times o;
    for (int i = -1; i < reps; i++) {
        double start = clock_seconds();
        f(arg);
        double took = clock_seconds() - start;
        if (i < 0)
            o.first = took;
        else
            t[i] = took;
    }
    qsort(t, (size_t)reps, sizeof *t, by_size);
    o.median = t[reps / 2], o.low = t[0], o.high = t[reps - 1];
    return o;
}

struct job {
    struct gp *g;
    double logml, grad[PARAMETERS + 1], *x, *mean, *var;
};
static void likelihood(void *p) {
    struct job *j = p;
    gp_forget(j->g);
    must(gp_logml(j->g, &j->logml));
}
static void gradient(void *p) {
    struct job *j = p;
    gp_forget(j->g);
    must(gp_logml_grad(j->g, &j->logml, j->grad, &j->grad[PARAMETERS]));
}
static void predict(void *p) {
    struct job *j = p;
    must(gp_predict(j->g, j->x, NEW_POINTS, GP_LATENT, j->mean, j->var));
}

static void one(size_t n, enum gp_device device, struct job *j, bool print) {
    int reps = n < 30000 ? 5 : n < 90000 ? 2 : 1;
    *j = (struct job){.g = process(n, n, device)};
    j->x = NEW_ARRAY(double, 3 * NEW_POINTS);
    j->mean = j->x + NEW_POINTS, j->var = j->mean + NEW_POINTS;
    for (int i = 0; i < NEW_POINTS; i++) j->x[i] = 0.01 * i + 0.003;
    struct times a = measure(reps, likelihood, j), b = measure(reps, gradient, j),
                 c = measure(reps, predict, j);
    if (print)
        printf(
            "large n=%zu likelihood_ms=%.3f (%.3f..%.3f, first %.0f) gradient_ms=%.3f (%.3f..%.3f) "
            "predict1000_ms=%.2f tflops=%.1f logml=%.12g method=%s\n",
            n, 1e3 * a.median, 1e3 * a.low, 1e3 * a.high, 1e3 * a.first, 1e3 * b.median,
            1e3 * b.low, 1e3 * b.high, 1e3 * c.median, 1e-12 * pow((double)n, 3) / 3 / a.median,
            j->logml, gp_method(j->g));
    fflush(stdout);
}

static double worst(const double *a, const double *b, int n) {
    double size = 1e-300, d = 0;
    for (int i = 0; i < n; i++) size = fmax(size, fabs(a[i]));
    for (int i = 0; i < n; i++) d = fmax(d, fabs(a[i] - b[i]) / size);
    return d;
}

static void check(size_t n) {
    struct job a, b;
    one(n, GP_ON_GPU, &a, false);
    one(n, GP_ON_CPU, &b, false);
    printf(
        "check n=%zu relative differences: likelihood %.1e gradient %.1e mean %.1e variance %.1e\n",
        n, fabs(a.logml - b.logml) / fabs(b.logml), worst(b.grad, a.grad, PARAMETERS + 1),
        worst(b.mean, a.mean, NEW_POINTS), worst(b.var, a.var, NEW_POINTS));
    gp_free(a.g);
    gp_free(b.g);
}

static void low(size_t n) {
    struct job a, b;
    a = (struct job){.g = process(n, n, GP_ON_GPU)};
    gp_set_approx(a.g, GP_LOW_RANK, 0);
    double start = clock_seconds();
    must(gp_logml(a.g, &a.logml));
    double middle = clock_seconds();
    gradient(&a);
    printf("low n=%zu likelihood_s=%.2f gradient_s=%.2f bound=%.1e logml=%.12g method=%s", n,
           middle - start, clock_seconds() - middle, gp_approx_error(a.g), a.logml, gp_method(a.g));
    if (n <= 40000) {
        one(n, GP_ON_GPU, &b, false);
        printf(" likelihood_off=%.1e gradient_off=%.1e", fabs(a.logml - b.logml) / fabs(b.logml),
               worst(b.grad, a.grad, PARAMETERS + 1));
        gp_free(b.g);
    }
    printf("\n");
    fflush(stdout);
    gp_free(a.g);
}

static void append(size_t n) {
    struct gp *g = process(n, n, GP_ON_GPU);
    double v, x = 3.33333, y = 0.1;
    must(gp_logml(g, &v));
    for (int i = 0; i < 4; i++, x += 0.0101) {
        double start = clock_seconds();
        must(gp_add(g, GP_MEASURED, &x, &y, 1));
        must(gp_logml(g, &v));
        printf("append n=%zu one_more_ms=%.3f\n", n, 1e3 * (clock_seconds() - start));
    }
    gp_free(g);
}

/* ---- many small ones ---- */
struct many {
    struct gp **g;
    struct gp_batch_item *item;
    size_t n;
    double *grads;
    bool slopes;
    double seconds; /* on the card */
};
static void run_batch(void *p) {
    struct many *m = p;
    for (size_t i = 0; i < m->n; i++) {
        m->item[i] = (struct gp_batch_item){.g = m->g[i], .kern = gp_kern(m->g[i]), .noise = 0.3};
        if (m->slopes)
            m->item[i].dkern = m->grads + i * (PARAMETERS + 1),
            m->item[i].dnoise = m->item[i].dkern + PARAMETERS;
    }
    (void)gp_jobs_seconds();
    must(gp_batch(m->item, m->n));
    m->seconds = gp_jobs_seconds();
}

static void batch(size_t n, size_t b, enum gp_device device) {
    struct many m = {.n = b,
                     .g = NEW_ARRAY(struct gp *, b),
                     .item = NEW_ARRAY(struct gp_batch_item, b),
                     .grads = NEW_ARRAY(double, b *(PARAMETERS + 1))};
    for (size_t i = 0; i < b; i++) m.g[i] = process(n, i + 1, device);
    for (int s = 0; s < 2; s++) {
        m.slopes = s;
        struct times t = measure(5, run_batch, &m);
        printf("batch n=%zu B=%zu %s: whole call %.4f us each (%.4f..%.4f), kernel %.4f us each\n",
               n, b, s ? "gradient" : "likelihood", 1e6 * t.median / (double)b,
               1e6 * t.low / (double)b, 1e6 * t.high / (double)b, 1e6 * m.seconds / (double)b);
    }
    double d = 0, dg = 0;
    for (size_t i = 0; i < b; i += b / 9 + 1) {
        struct gp *c = process(n, i + 1, GP_ON_CPU);
        double v, g[PARAMETERS + 1];
        must(gp_logml_grad(c, &v, g, &g[PARAMETERS]));
        d = fmax(d, fabs(v - m.item[i].logml) / fabs(v));
        dg = fmax(dg, worst(g, m.item[i].dkern, PARAMETERS + 1));
        gp_free(c);
    }
    printf("batch n=%zu relative differences: likelihood %.1e gradient %.1e\n", n, d, dg);
    fflush(stdout);
    for (size_t i = 0; i < b; i++) gp_free(m.g[i]);
}

static void card(void) {
    const struct gpu_info *i = gpu_info();
    printf("card: %s, compute capability %d.%d, %d processors, %.1f GB (%.1f free), driver CUDA "
           "%d.%d, NVRTC %d.%d, "
           "cuBLAS %d\n",
           i->name, i->major, i->minor, i->processors, 1e-9 * (double)i->memory,
           1e-9 * (double)i->free, i->driver / 1000, i->driver % 1000 / 10, i->nvrtc / 1000,
           i->nvrtc % 1000 / 10, i->cublas);
    printf("this machine's BLAS: %s\n", la_blas_core());
}

int main(int argc, char **argv) {
    const char *what = argc > 1 ? argv[1] : "card";
    double start = clock_seconds();
    must(gp_device_use(GP_ON_GPU));
    if (strcmp(what, "card") == 0) {
        card();
        printf("start-up %.2f s\n", clock_seconds() - start);
    }
    for (int i = 2; i < argc; i++) {
        struct job j;
        size_t n = (size_t)atol(argv[i]);
        if (strcmp(what, "large") == 0) {
            one(n, GP_ON_GPU, &j, true);
            gp_free(j.g);
        } else if (strcmp(what, "check") == 0)
            check(n);
        else if (strcmp(what, "low") == 0)
            low(n);
        else if (strcmp(what, "append") == 0)
            append(n);
    }
    if (strcmp(what, "batch") == 0 && argc > 3)
        batch((size_t)atol(argv[2]), (size_t)atol(argv[3]), argc > 4 ? GP_ON_CPU : GP_ON_GPU);
    return 0;
}
