/* SPDX-License-Identifier: Apache-2.0
 *
 * The Gaussian process library against the limit of limit_gp.c, as ratios in one run: thread CPU
 * time, best of several interleaved repetitions. Prints Markdown tables. Usage: bench_gp [quick]
 * bench_gp limit N KERNEL  (seconds of the limit, for sk_gp.py)
 */
#include "limit_gp.h"

#include "base/mem.h"
#include "gp/process/gp.h"
#include "numeric/la/blas.h"

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

struct data {
    size_t n, ld;
    double *x, *y, *a, *w;
};

static void data_init(struct data *d, size_t n, bool grid) {
    d->n = n;
    d->ld = (n + 7) & ~(size_t)7;
    if (d->ld % 512 == 0) d->ld += 8;
    d->x = mem_try_doubles(n), d->y = mem_try_doubles(n), d->w = mem_try_doubles(4 * n);
    d->a = mem_try_doubles(d->ld * n);
    state_ = n;
    for (size_t i = 0; i < n; i++) {
        d->x[i] = grid ? 10.0 * (double)i / (double)n : 10 * uniform();
        d->y[i] = sin(d->x[i]) + 0.3 * (uniform() - 0.5);
    }
    memset(d->a, 0, d->ld * n * sizeof *d->a);
}

static void data_release(struct data *d) {
    mem_free(d->x), mem_free(d->y), mem_free(d->w), mem_free(d->a);
}

static const char *const NAMES[] = {"SE+WN", "LIN+SE*PER+WN"};

/* Hyper-parameters vary a little from call to call. */
static struct limit_par params(int kernel, int rep) {
    double s = 1 + 0.01 * (rep % 17);
    struct limit_par t = {0, 1.1 * s, 0.7 * s, 0, 0, 0.3 * s};
    if (kernel) t.lin = 0.4 * s, t.p = 1.3 * s, t.lp = 0.9 * s;
    return t;
}

static struct kern *kernel_of(int kernel, const struct limit_par *t) {
    char text[300];
    if (kernel)
        snprintf(text, sizeof text,
                 "LIN(sf=%.17g) + SE(sf=%.17g, l=%.17g) * PER(sf=1, p=%.17g, l=%.17g)", t->lin,
                 t->sf, t->l, t->p, t->lp);
    else
        snprintf(text, sizeof text, "SE(sf=%.17g, l=%.17g)", t->sf, t->l);
    struct kern *k = NULL;
    if (kern_parse(text, &k, NULL)) exit(1);
    return k;
}

/* The chain's way to a new kernel: the shape is parsed once, parameters are replaced. */
static struct kern *moved(int kernel, const struct kern *shape, const struct limit_par *t) {
    double theta[6] = {t->sf, t->l}, full[6] = {t->lin, t->sf, t->l, 1, t->p, t->lp};
    return kern_with_params(shape, kernel ? full : theta, NULL);
}

static int reps_for(size_t n) {
    return n <= 200 ? 300 : n <= 500 ? 60 : n <= 1000 ? 16 : n <= 2000 ? 6 : 3;
}

static double limit_time(struct data *d, int kernel, int reps) {
    double best = 1e9;
    for (int r = 0; r < reps; r++) {
        struct limit_par t = params(kernel, r);
        double s = now();
        volatile double v = limit_logml(d->n, d->x, d->y, &t, d->a, d->ld, d->w);
        (void)v;
        s = now() - s;
        if (s < best) best = s;
    }
    return best;
}

enum what { FRESH, AMPLITUDE, NOISE, GRADIENT };

/* Limit and library in turn; returns the two best times, and the largest relative difference of the
 * two log densities. */
static double compare(struct data *d, int kernel, enum what what, double *limit, double *lib) {
    struct limit_par t = params(kernel, 0);
    struct kern *shape = kernel_of(kernel, &t);
    struct gp *g = gp_new(1, shape, NULL, t.wn, NULL);
    double lm = 0, dk[8], dn, worst = 0;
    int reps = reps_for(d->n);
    *limit = *lib = 1e9;
    if (gp_add(g, GP_MEASURED, d->x, d->y, d->n)) exit(1);
    gp_set_budget(g, (size_t)256 << 20);
    if (gp_logml(g, &lm)) exit(1);
    gp_set_budget(g, what == FRESH || what == GRADIENT ? 0 : (size_t)256 << 20);
    for (int r = 0; r < reps + 3; r++) { /* three rounds to warm up */
        struct limit_par q = params(kernel, r), one = t;
        if (what == AMPLITUDE) one.sf = q.sf, q = one;
        if (what == NOISE) one.wn = q.wn, q = one;
        double s = now(), ref = limit_logml(d->n, d->x, d->y, &q, d->a, d->ld, d->w);
        s = now() - s;
        if (r >= 3 && s < *limit) *limit = s;
        s = now();
        struct kern *k = moved(kernel, shape, &q);
        if (what == GRADIENT) {
            if (gp_set_model(g, k, NULL, q.wn) || gp_logml_grad(g, &lm, dk, &dn)) exit(1);
        } else if (gp_propose(g, k, NULL, q.wn, &lm))
            exit(1);
        kern_unref(k);
        s = now() - s;
        if (r >= 3 && s < *lib) *lib = s;
        worst = fmax(worst, fabs(lm - ref) / fabs(ref));
    }
    gp_free(g);
    kern_unref(shape);
    return worst;
}

static void row(const char *what, int kernel, size_t n, double limit, double lib, double err) {
    printf("| %s | %s | %zu | %.4g ms | %.4g ms | %.3f | %.0e |\n", what, NAMES[kernel], n,
           1e3 * limit, 1e3 * lib, lib / limit, err);
    fflush(stdout);
}

static void likelihood_tables(bool quick) {
    static const size_t sizes[] = {50, 150, 200, 500, 1000, 2000, 4000};
    static const char *const text[] = {"fresh hyper-parameters", "amplitude changed",
                                       "noise changed", "likelihood + gradient"};
    printf(
        "\n## One log marginal likelihood (limit: vectorised fill + dpotrf + solve)\n\n"
        "| what | kernel | n | limit | gpmem | ratio | difference |\n|---|---|--:|--:|--:|--:|--:|"
        "\n");
    for (int what = 0; what < 4; what++)
        for (int kernel = 0; kernel < 2; kernel++)
            for (size_t s = 0; s < COUNT_OF(sizes); s++) {
                if ((quick && sizes[s] > 1000) || (what == GRADIENT && sizes[s] > 2000)) continue;
                struct data d;
                double limit, lib;
                data_init(&d, sizes[s], false);
                double err = compare(&d, kernel, (enum what)what, &limit, &lib);
                row(text[what], kernel, sizes[s], limit, lib, err);
                data_release(&d);
            }
    for (int kernel = 0; kernel < 2; kernel++)
        for (size_t s = 1; s < COUNT_OF(sizes); s++) {
            if (quick && sizes[s] > 1000) continue;
            struct data d;
            double limit, lib;
            data_init(&d, sizes[s], true);
            double err = compare(&d, kernel, FRESH, &limit, &lib);
            row("regular grid", kernel, sizes[s], limit, lib, err);
            data_release(&d);
        }
}

static void gradient_table(bool quick) {
    static const size_t sizes[] = {150, 500, 1000, 2000};
    printf("\n## Likelihood + gradient over the library's own likelihood\n\n"
           "| kernel | n | likelihood | with gradient | ratio |\n|---|--:|--:|--:|--:|\n");
    for (int kernel = 0; kernel < 2; kernel++)
        for (size_t s = 0; s < COUNT_OF(sizes); s++) {
            if (quick && sizes[s] > 1000) continue;
            struct data d;
            double limit, lik, grad;
            data_init(&d, sizes[s], false);
            compare(&d, kernel, FRESH, &limit, &lik);
            compare(&d, kernel, GRADIENT, &limit, &grad);
            printf("| %s | %zu | %.4g ms | %.4g ms | %.2f |\n", NAMES[kernel], sizes[s], 1e3 * lik,
                   1e3 * grad, grad / lik);
            fflush(stdout);
            data_release(&d);
        }
}

static void update_row(size_t n) {
    struct data d;
    struct limit_par t = params(0, 0);
    struct kern *k = kernel_of(0, &t);
    double lm, best[4] = {1e9, 1e9, 1e9, 1e9}, m, v, *xs = mem_try_doubles(1000);
    double *mean = mem_try_doubles(1000), *var = mem_try_doubles(1000), z[200], f[200];
    data_init(&d, n, false);
    double limit = limit_time(&d, 0, reps_for(n));
    for (int i = 0; i < 1000; i++) xs[i] = 12 * uniform() - 1;
    for (int i = 0; i < 200; i++) z[i] = uniform() - 0.5;
    for (int r = 0; r < 8; r++) {
        struct gp *g = gp_new(1, k, NULL, t.wn, NULL);
        if (gp_add(g, GP_MEASURED, d.x, d.y, n - 1) || gp_predict(g, d.x, 1, GP_LATENT, &m, &v))
            exit(1);
        double s = now();
        if (gp_add(g, GP_MEASURED, d.x + n - 1, d.y + n - 1, 1)) exit(1);
        best[0] = fmin(best[0], now() - s);
        s = now();
        if (gp_predict(g, xs, 1, GP_LATENT, &m, &v)) exit(1);
        best[1] = fmin(best[1], now() - s + best[0]);
        s = now();
        if (gp_predict(g, xs, 1000, GP_LATENT, mean, var)) exit(1);
        best[2] = fmin(best[2], now() - s);
        s = now();
        if (gp_sample(g, xs, 200, GP_LATENT, z, f)) exit(1);
        best[3] = fmin(best[3], now() - s);
        if (gp_logml(g, &lm)) exit(1);
        gp_free(g);
    }
    printf("| %zu | %.4g ms | %.4f (1/%.0f) | %.4f | %.2f | %.2f |\n", n, 1e3 * limit,
           best[0] / limit, limit / best[0], best[1] / limit, best[2] / limit, best[3] / limit);
    fflush(stdout);
    mem_free(xs), mem_free(mean), mem_free(var);
    kern_unref(k);
    data_release(&d);
}

static void update_table(bool quick) {
    printf("\n## Prediction and updating (ratio to the likelihood limit at that n), SE+WN\n\n"
           "| n | limit | append one point | append + predict one | mean and variance at 1000 | "
           "joint draw at 200 |\n|--:|--:|--:|--:|--:|--:|\n");
    for (size_t n = 500; n <= (quick ? 1000u : 2000u); n *= 2) update_row(n);
    update_row(150);
}

/* ---- approximations ---- */

static const char *const BIG[] = {"SE(sf=1, l=0.7)",
                                  "LIN(sf=0.3) + SE(sf=1, l=3) * PER(sf=1, p=1.3, l=0.9)",
                                  "MAT32(sf=1, l=0.7)", "SE(sf=1, l=0.05) + SE(sf=1, l=2)"};

static struct gp *big_gp(const char *text, double *x, double *y, size_t n) {
    struct kern *k = NULL;
    if (kern_parse(text, &k, NULL)) exit(1);
    struct gp *g = gp_new(1, k, NULL, 0.3, NULL);
    kern_unref(k);
    state_ = 11;
    for (size_t i = 0; i < n; i++) {
        x[i] = 10 * uniform();
        y[i] = sin(x[i]) + 0.3 * sin(40 * x[i]) + 1.04 * (uniform() - 0.5);
    }
    gp_set_ways(g, GP_FACTORS);
    return g;
}

/* Error at n = 4000: difference of the log density per point, and of the predicted mean in units of
 * the exact predictive standard deviation (root mean square, largest ratio of standard deviations).
 */
static void accuracy_table(void) {
    enum { N = 4000, M = 500 };
    double *x = mem_try_doubles(N), *y = mem_try_doubles(N), lm, lm0, xs[M];
    double m0[M], v0[M], m[M], v[M];
    printf("\n## Error of the approximations, n = 4000 on [0, 10], noise 0.3\n\n"
           "| kernel | method | size | log density per point | error per point | mean, rms error "
           "in sd | "
           "sd, largest ratio | time / exact |\n|---|---|--:|--:|--:|--:|--:|--:|\n");
    for (int i = 0; i < M; i++) xs[i] = 10.0 * i / (M - 1);
    for (size_t k = 0; k < COUNT_OF(BIG); k++) {
        struct gp *g = big_gp(BIG[k], x, y, N);
        gp_set_approx(g, GP_EXACT, 0);
        if (gp_add(g, GP_MEASURED, x, y, N)) exit(1);
        double s = now();
        if (gp_logml(g, &lm0)) exit(1);
        double exact = now() - s;
        if (gp_predict(g, xs, M, GP_LATENT, m0, v0)) exit(1);
        for (int a = 0; a < 6; a++) {
            size_t size = (size_t)(a < 3 ? 32 : 64) << (2 * (a % 3));
            gp_set_approx(g, a < 3 ? GP_INDUCING : GP_VECCHIA, size);
            s = now();
            if (gp_logml(g, &lm)) exit(1);
            double took = now() - s, rms = 0, ratio = 1;
            if (gp_predict(g, xs, M, GP_LATENT, m, v)) exit(1);
            for (int i = 0; i < M; i++) {
                rms += (m[i] - m0[i]) * (m[i] - m0[i]) / v0[i] / M;
                double q = sqrt(v[i] / v0[i]);
                ratio = fmax(ratio, fmax(q, 1 / q));
            }
            printf("| `%s` | %s | %zu | %.4f | %.1e | %.1e | %.3f | %.3f |\n", BIG[k],
                   a < 3 ? "inducing" : "Vecchia", size, lm / N, fabs(lm - lm0) / N, sqrt(rms),
                   ratio, took / exact);
            fflush(stdout);
        }
        gp_free(g);
    }
    mem_free(x), mem_free(y);
}

/* Runs first, so that the peak memory is its own. */
static void large_table(void) {
    enum { N = 100000, M = 1000 };
    double *x = mem_try_doubles(N), *y = mem_try_doubles(N), lm, m[M], v[M], xs[M];
    struct rusage u;
    printf("\n## n = 100,000 points in one dimension (automatic choice and both by name)\n\n"
           "| kernel | method | likelihood | predictions at 1000 | peak memory |\n"
           "|---|---|--:|--:|--:|\n");
    for (int i = 0; i < M; i++) xs[i] = 10.0 * i / (M - 1);
    for (int k = 0; k < 3; k++)
        for (int a = 0; a < 3; a++) {
            struct gp *g = big_gp(BIG[k], x, y, N);
            static const enum gp_approx kind[] = {GP_AUTO, GP_INDUCING, GP_VECCHIA};
            gp_set_approx(g, kind[a], 0);
            if (gp_add(g, GP_MEASURED, x, y, N)) exit(1);
            double s = now();
            if (gp_logml(g, &lm)) exit(1);
            double lik = now() - s;
            s = now();
            if (gp_predict(g, xs, M, GP_LATENT, m, v)) exit(1);
            double pred = now() - s;
            getrusage(RUSAGE_SELF, &u);
            printf("| `%s` | %s%s | %.2f s | %.3f s | %.0f MB |\n", BIG[k],
                   a ? "" : "auto: ", gp_method(g), lik, pred, (double)u.ru_maxrss / 1024);
            fflush(stdout);
            gp_free(g);
        }
    mem_free(x), mem_free(y);
}

int main(int argc, char **argv) {
    la_init();
    if (argc == 4 && strcmp(argv[1], "limit") == 0) {
        struct data d;
        size_t n = (size_t)atol(argv[2]);
        data_init(&d, n, false);
        printf("%.9g\n", limit_time(&d, atoi(argv[3]), reps_for(n)));
        data_release(&d);
        return 0;
    }
    bool quick = argc > 1 && strcmp(argv[1], "quick") == 0;
    if (argc > 1 && strcmp(argv[1], "gradient") == 0) {
        gradient_table(false);
        return 0;
    }
    printf("# Gaussian process library\n");
    large_table();
    accuracy_table();
    likelihood_tables(quick);
    gradient_table(quick);
    update_table(quick);
    return 0;
}
