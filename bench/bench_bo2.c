/* SPDX-License-Identifier: Apache-2.0
 * The optimiser on families of problems: noise, bounds, several objectives, spaces, many variables,
 * hard shapes. Median over seeds of what is missing at the end: the value above the least possible
 * (noise: the true value at the recommendation; bounds: of the best point within them, relative),
 * or the share of the front's volume; fidelity: of the best point of full cost, the budget being
 * cost. Usage: bench_bo2 [SEEDS [FAMILY or NAME]]; bench_bo2 one NAME SEED [MOVED]: what is missing
 * half way and at the end, CPU seconds a decision, by how many standard deviations the value of the
 * recommendation was off; MOVED > 0: with the
 * optimum elsewhere. bench_bo2 serve NAME: a point per line in, its numbers out, for peers;
 * bench_bo2 list: what there is. */
#include "bo2_problems.h"
#include "numeric/special/rng.h"
#include "apps/optimize/bayesopt.h"
#include "apps/optimize/pareto.h"

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

/* Where x of the moved problem lies in the problem, in units of the search: each number turned
 * around or not, and, unless whole, bent by u/(u + c (1 - u)), which keeps the box and the values;
 * the levels of a category that nothing depends on change places in a circle. What an evaluation
 * costs stays as it is. */
static void unmove(const struct problem *p, const struct bo_space *space, int moved,
                   const double *x, double *out) {
    double u[P_MAX_D];
    bool decides[P_MAX_D] = {false};
    struct rng r;
    memcpy(out, x, (size_t)p->d * sizeof *x);
    if (!moved) return;
    rng_init(&r, (uint64_t)moved, 77, 0);
    bo_space_to_unit(space, x, u);
    for (int j = 0; j < p->d; j++)
        if (space->vars[j].parent >= 0) decides[space->vars[j].parent] = true;
    for (int j = 0; j < p->d; j++) {
        const struct bo_var *v = &space->vars[j];
        double c = exp(0.5 * (2 * rng_uniform(&r) - 1)), turned = rng_uniform(&r), *at = &u[v->at];
        if (v->fidelity || decides[j]) continue;
        if (v->n_levels) {
            *at = fmod(*at + floor(turned * v->n_levels), v->n_levels);
            continue;
        }
        if (turned < 0.5) *at = 1 - *at;
        if (!v->integer) *at /= *at + c * (1 - *at);
    }
    bo_space_from_unit(space, u, out);
}

static double missing_value(const struct problem *p, double y) {
    return (y - p->best) / (p->n_con ? fabs(p->best) : 1);
}

struct result {
    double half, end, spent; /* CPU seconds a decision */
    double off; /* the truth at the recommendation less its mean, in standard deviations */
};

/* A run of the optimiser on a problem. */
struct trial {
    const struct problem *p;
    int K, n, most;
    struct bo_space space;
    struct bo *b;
    struct rng noise;
    int moved;
    double *ys; /* numbers of the evaluations, K each */
    double *spent, cost;
};

/* What is missing after the evaluations so far. Less than the full cost: not what was asked for. */
static double judge(struct trial *t, struct result *out) {
    const struct problem *p = t->p;
    double best = INFINITY, x[P_MAX_D], at[P_MAX_D], mean, sd, truth[P_MAX_K];
    if (p->noise > 0) {
        if (!bo_recommend(t->b, x, &mean, &sd)) return INFINITY;
        unmove(p, &t->space, t->moved, x, at);
        p->f(at, truth);
        out->off = (truth[0] - mean) / sd;
        return missing_value(p, truth[0]);
    }
    if (p->n_obj > 1) return 1 - pareto_volume(t->ys, (size_t)t->n, p->n_obj, p->ref) / p->best;
    for (int i = 0; i < t->n; i++) {
        bool fine = !p->fidelity || t->spent[i] >= 1;
        for (int k = 1; k < t->K; k++) fine = fine && t->ys[i * t->K + k] <= 0;
        if (fine) best = fmin(best, t->ys[i * t->K]);
    }
    return missing_value(p, best);
}

static void trial_begin(struct trial *t, const struct problem *p, uint64_t seed, int moved) {
    struct bo_goal goals[P_MAX_K];
    struct gpm_optimize_options opt = {.mcmc = -1, .noisy = p->noise > 0};
    *t = (struct trial){.p = p, .K = p->n_obj + p->n_con, .moved = moved};
    t->most = p->fidelity ? 20 * p->budget : p->budget;
    t->ys = malloc(sizeof *t->ys * (size_t)((t->K + 1) * t->most));
    t->spent = t->ys + t->K * t->most;
    rng_init(&t->noise, seed, 99, 0);
    make_space(p, &t->space);
    for (int k = 0; k < t->K; k++)
        goals[k] = k < p->n_obj ? (struct bo_goal){1, -INFINITY, INFINITY,
                                                   p->ref && !p->untold ? p->ref[k] : NAN}
                                : (struct bo_goal){0, -INFINITY, 0, NAN};
    t->b = bo_new_goals(&t->space, &opt, goals, t->K, seed);
}

static void trial_step(struct trial *t) {
    const struct problem *p = t->p;
    double x[P_MAX_D], at[P_MAX_D], told[P_MAX_K], *y = t->ys + t->n * t->K;
    if (bo_ask(t->b, x)) exit(2);
    unmove(p, &t->space, t->moved, x, at);
    p->f(at, y);
    for (int k = 0; k < t->K; k++) told[k] = y[k] + p->noise * p->iqr * rng_normal(&t->noise);
    bo_tell_all(t->b, x, told);
    t->spent[t->n] = p->fidelity ? x[p->d - 1] : 1;
    t->cost += t->spent[t->n++];
}

static void run(const struct problem *p, uint64_t seed, int moved, struct result *out) {
    struct trial t;
    bool half = false;
    *out = (struct result){0};
    trial_begin(&t, p, seed, moved);
    while (t.cost < p->budget && t.n < t.most) {
        double from = cpu_now();
        trial_step(&t);
        out->spent += cpu_now() - from;
        if (half || t.cost < p->budget / 2) continue;
        half = true;
        out->half = judge(&t, out);
    }
    out->spent /= t.n;
    out->end = judge(&t, out);
    bo_free(t.b);
    bo_space_release(&t.space);
    free(t.ys);
}

static const struct problem *find(const char *name) {
    for (size_t i = 0; i < n_problems; i++)
        if (strcmp(problems[i].name, name) == 0) return &problems[i];
    fprintf(stderr, "bench_bo2: there is no problem %s\n", name);
    exit(2);
}

static int one(const char *name, int seed, int moved) {
    struct result r;
    run(find(name), (uint64_t)seed, moved, &r);
    printf("%.6g %.6g %.6g %.4g\n", r.half, r.end, r.spent, r.off);
    return 0;
}

static int serve(const char *name) {
    const struct problem *p = find(name);
    double x[P_MAX_D], y[P_MAX_K];
    for (int j = 0; scanf("%lf", &x[j]) == 1; j = (j + 1) % p->d) {
        if (j + 1 < p->d) continue;
        p->f(x, y);
        for (int k = 0; k < p->n_obj + p->n_con; k++) printf("%.17g ", y[k]);
        printf("\n");
        fflush(stdout);
    }
    return 0;
}

/* A line each: what a peer needs to know, the space as text last, its lines joined by |. */
static int list(void) {
    for (size_t i = 0; i < n_problems; i++) {
        const struct problem *p = &problems[i];
        printf("%s\t%s\t%d\t%d\t%d\t%.17g\t%.17g\t%.17g\t%d\t", p->name, p->family, p->n_obj,
               p->n_con, p->budget, p->best, p->target, p->noise * p->iqr, p->fidelity);
        for (int k = 0; p->ref && k < p->n_obj; k++) printf("%s%.17g", k ? " " : "", p->ref[k]);
        printf("\t");
        for (const char *c = p->space ? p->space : ""; *c; c++) putchar(*c == '\n' ? '|' : *c);
        for (int j = 0; j < p->d && !p->space; j++)
            printf("x%d=%.17g:%.17g|", j + 1, p->box ? p->box[2 * j] : p->lo,
                   p->box ? p->box[2 * j + 1] : p->hi);
        printf("\n");
    }
    return 0;
}

int main(int argc, char **argv) {
    if (argc > 1 && strcmp(argv[1], "list") == 0) return list();
    if (argc > 2 && strcmp(argv[1], "serve") == 0) return serve(argv[2]);
    if (argc > 3 && strcmp(argv[1], "one") == 0)
        return one(argv[2], atoi(argv[3]), argc > 4 ? atoi(argv[4]) : 0);
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
            struct result r;
            run(p, (uint64_t)s + 1, 0, &r);
            half[s] = r.half, end[s] = r.end;
            spent += r.spent;
            held += fabs(r.off) <= 1.645;
        }
        double h = median(half, seeds), e = median(end, seeds);
        printf("| %s | %s | %.2g at %d | %.2g at %d |", p->name, p->family, h, p->budget / 2, e,
               p->budget);
        broken += p->target > 0 && !(e <= p->target);
        if (p->target > 0)
            printf(" %.2g%s |", p->target, e <= p->target ? "" : " **missed**");
        else
            printf(" |");
        printf(" %.2f |", 1000 * spent / seeds);
        if (p->noise) printf(" %.2f", (double)held / seeds);
        printf(" |\n");
        fflush(stdout);
    }
    return broken ? 1 : 0;
}
