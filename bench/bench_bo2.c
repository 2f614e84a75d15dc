/* SPDX-License-Identifier: Apache-2.0
 * The optimiser on families of problems: noise, bounds, several objectives, spaces, many variables,
 * hard shapes. Median over seeds of what is missing at the end: the value above the least possible
 * (noise: the true value at the recommendation; bounds: of the best point within them, relative),
 * or the share of the front's volume. Usage: bench_bo2 [SEEDS [FAMILY or NAME]]; bench_bo2 serve
 * NAME: a point per line in, its numbers out, for peers; bench_bo2 list: what there is for them. */
#include "bo2_problems.h"
#include "math/rng.h"
#include "optimize/bayesopt.h"
#include "optimize/pareto.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static double cpu_now(void) {
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}
static int ascending(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}
static double median(double *v, int n) {
    qsort(v, (size_t)n, sizeof *v, ascending);
    return n % 2 ? v[n / 2] : 0.5 * (v[n / 2 - 1] + v[n / 2]);
}

static void make_space(const struct problem *p, struct bo_space *space) {
    struct buf text = BUF_INIT, err = BUF_INIT;
    if (p->space) buf_puts(&text, p->space);
    for (int j = 0; j < p->d && !p->space; j++)
        buf_printf(&text, "x%d=%.17g:%.17g\n", j + 1, p->box ? p->box[2 * j] : p->lo,
                   p->box ? p->box[2 * j + 1] : p->hi);
    if (bo_space_parse(space, text.data, &err)) {
        fprintf(stderr, "%s: %s\n", p->name, err.data);
        exit(2);
    }
    buf_release(&text);
    buf_release(&err);
}

static double missing_value(const struct problem *p, double y) {
    return (y - p->best) / (p->n_con ? fabs(p->best) : 1);
}

struct result {
    double half, end, spent;
    bool held; /* the interval of 90% around the recommendation holds the truth */
};

/* What is missing after these evaluations. */
static double judge(const struct problem *p, struct bo *b, const double *ys, int n) {
    int K = p->n_obj + p->n_con;
    double best = INFINITY;
    if (p->n_obj == 1) {
        for (int i = 0; i < n; i++) {
            bool fine = true;
            for (int k = 1; k < K; k++) fine = fine && ys[i * K + k] <= 0;
            if (fine) best = fmin(best, ys[i * K]);
        }
        return missing_value(p, best);
    }
    return 1 - pareto_volume(ys, (size_t)n, p->n_obj, p->ref) / p->best;
}

static void run(const struct problem *p, uint64_t seed, struct result *out) {
    struct bo_space space;
    struct bo_goal goals[P_MAX_K];
    struct gpm_optimize_options opt = {.mcmc = -1, .noisy = p->noise > 0};
    struct rng r;
    int K = p->n_obj + p->n_con;
    double x[P_MAX_D], *ys = malloc(sizeof *ys * (size_t)(K * p->budget)), mean, sd;
    rng_init(&r, seed, 99, 0);
    make_space(p, &space);
    for (int k = 0; k < K; k++)
        goals[k] = k < p->n_obj ? (struct bo_goal){1, -INFINITY, INFINITY, p->ref ? p->ref[k] : NAN}
                                : (struct bo_goal){0, -INFINITY, 0, NAN};
    struct bo *b = bo_new_goals(&space, &opt, goals, K, seed);
    for (int n = 0; n < p->budget; n++) {
        double t = cpu_now(), *y = ys + n * K, told[P_MAX_K];
        if (bo_ask(b, x)) exit(2);
        p->f(x, y);
        memcpy(told, y, sizeof *y * (size_t)K);
        for (int k = 0; k < K; k++) told[k] += p->noise * p->iqr * rng_normal(&r);
        bo_tell_all(b, x, told);
        out->spent += cpu_now() - t;
        if (n + 1 == p->budget / 2 && !p->noise) out->half = judge(p, b, ys, n + 1);
        bool last = n + 1 == p->budget;
        if (p->noise && (last || n + 1 == p->budget / 2) && bo_recommend(b, x, &mean, &sd)) {
            double truth;
            p->f(x, &truth);
            *(last ? &out->end : &out->half) = missing_value(p, truth);
            out->held = fabs(truth - mean) <= 1.645 * sd;
        }
    }
    if (!p->noise) out->end = judge(p, b, ys, p->budget);
    bo_free(b);
    bo_space_release(&space);
    free(ys);
}

static int serve(const char *name) {
    double x[P_MAX_D], y[P_MAX_K];
    for (size_t i = 0; i < n_problems; i++) {
        const struct problem *p = &problems[i];
        if (strcmp(p->name, name) != 0) continue;
        for (int j = 0; scanf("%lf", &x[j]) == 1; j = (j + 1) % p->d) {
            if (j + 1 < p->d) continue;
            p->f(x, y);
            for (int k = 0; k < p->n_obj + p->n_con; k++) printf("%.17g ", y[k]);
            printf("\n");
            fflush(stdout);
        }
        return 0;
    }
    return 2;
}

/* What peers need to know: problems in a box of numbers whose values are exact. */
static int list(void) {
    for (size_t i = 0; i < n_problems; i++) {
        const struct problem *p = &problems[i];
        if (p->space || p->noise > 0) continue;
        printf("%s\t%s\t%d\t%d\t%d\t%d\t%.17g\t", p->name, p->family, p->d, p->n_obj, p->n_con,
               p->budget, p->best);
        for (int j = 0; j < p->d; j++)
            printf("%.17g %.17g ", p->box ? p->box[2 * j] : p->lo,
                   p->box ? p->box[2 * j + 1] : p->hi);
        printf("\n");
    }
    return 0;
}

int main(int argc, char **argv) {
    if (argc > 1 && strcmp(argv[1], "list") == 0) return list();
    if (argc > 2 && strcmp(argv[1], "serve") == 0) return serve(argv[2]);
    int seeds = argc > 1 ? atoi(argv[1]) : 10, broken = 0;
    double half[200], end[200];
    if (seeds < 1 || seeds > 200) return 2;
    printf("| problem | family | half way | at the end | promised | ms per decision | intervals |\n"
           "|---|---|---|---|---|---|---|\n");
    for (size_t i = 0; i < n_problems; i++) {
        const struct problem *p = &problems[i];
        if (argc > 2 && strcmp(argv[2], p->name) != 0 && strcmp(argv[2], p->family) != 0) continue;
        double spent = 0;
        int held = 0;
        for (int s = 0; s < seeds; s++) {
            struct result r = {0};
            run(p, (uint64_t)s + 1, &r);
            half[s] = r.half, end[s] = r.end;
            spent += r.spent;
            held += r.held;
        }
        double h = median(half, seeds), e = median(end, seeds);
        printf("| %s | %s | %.2g at %d | %.2g at %d |", p->name, p->family, h, p->budget / 2, e,
               p->budget);
        broken += p->target > 0 && !(e <= p->target);
        if (p->target > 0)
            printf(" %.2g%s |", p->target, e <= p->target ? "" : " **missed**");
        else
            printf(" |");
        printf(" %.2f |", 1000 * spent / seeds / p->budget);
        if (p->noise) printf(" %.2f", (double)held / seeds);
        printf(" |\n");
        fflush(stdout);
    }
    return broken ? 1 : 0;
}
