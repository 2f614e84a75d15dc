/* SPDX-License-Identifier: Apache-2.0
 *
 * gpmem from inside the language, through the public runtime, beside plain C loops in the same
 * process: a Metropolis-Hastings step on a hyper-parameter, the paper's optimisation program over a
 * hundred seeds, and a loop that appends up to 2,000 points. Prints Markdown. */
#include "gpmem/gpmem.h"
#include "limit_gp.h"

#include "base/buf.h"
#include "base/mem.h"
#include "numeric/la/chol.h"
#include "numeric/dist/dist.h"
#include "numeric/special/rng.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t); /* of all threads; others share the machine */
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int by_value(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *v, size_t n) {
    qsort(v, n, sizeof *v, by_value);
    return v[n / 2];
}

static void must_run(gpm_session *s, const char *text) {
    if (gpm_run_text(s, "bench", text, strlen(text)) == GPM_OK) return;
    fprintf(stderr, "%s\n", gpm_last_error(s));
    exit(1);
}

static gpm_session *session(uint64_t seed) {
    struct gpm_options o;
    gpm_options_init(&o);
    o.seed = seed;
    return gpm_session_new(&o);
}

static void data(size_t n, double *x, double *y) {
    struct rng r;
    rng_init(&r, 3, 0, 0);
    for (size_t i = 0; i < n; i++) { /* no grid: nothing but the general factorisation serves */
        x[i] = 10 * rng_uniform(&r);
        y[i] = sin(x[i]) + 0.3 * rng_normal(&r);
    }
}

/* ---- a step on a hyper-parameter ---------------------------------------------------------- */

/* SE(sf, l) + WN(sigma), gamma(5, 1) each, proposals from the prior. Seconds a step. */
static double plain_loop(size_t n, const double *x, const double *y, int steps) {
    double *a = mem_try_doubles(n * (n + 8)), *w = mem_try_doubles(4 * n);
    struct rng r;
    rng_init(&r, 1, 0, 0);
    double theta[3];
    for (int j = 0; j < 3; j++) theta[j] = draw_gamma(&r, 5);
    struct limit_par p = {.sf = theta[0], .l = theta[1], .wn = theta[2]};
    double lp = limit_logml(n, x, y, &p, a, n + 8, w), t = now();
    for (int i = 0; i < steps; i++) {
        int j = (int)(3 * rng_uniform(&r));
        double old = theta[j];
        theta[j] = draw_gamma(&r, 5);
        p = (struct limit_par){.sf = theta[0], .l = theta[1], .wn = theta[2]};
        double next = limit_logml(n, x, y, &p, a, n + 8, w);
        if (log(rng_uniform(&r)) < next - lp)
            lp = next;
        else
            theta[j] = old;
    }
    t = (now() - t) / steps;
    mem_free(a);
    mem_free(w);
    return t;
}

static void model(struct buf *b, size_t n, const double *x, const double *y) {
    for (int j = 0; j < 3; j++)
        buf_printf(b, "assume t%d = tag(scope=\"hyper\", gamma(5, 1));\n", j);
    buf_puts(b, "assume k = add_funcs(make_squaredexp(t0, t1), make_whitenoise(t2));\n"
                "assume (f_compute, f_emu) = gpmem(proc(x) { x }, k);\nobserve f_emu(array(");
    for (size_t i = 0; i < n; i++) buf_printf(b, "%s%.17g", i ? ", " : "", x[i]);
    buf_puts(b, ")) = array(");
    for (size_t i = 0; i < n; i++) buf_printf(b, "%s%.17g", i ? ", " : "", y[i]);
    buf_puts(b, ");\n");
}

static double in_language(gpm_session *s, int steps) {
    char text[80];
    snprintf(text, sizeof text, "infer mh(scope=\"hyper\", steps=%d);", steps);
    double t = now();
    must_run(s, text);
    return (now() - t) / steps;
}

static void step_bench(size_t n, int steps, double limit) {
    enum { ROUNDS = 9 };
    double *x = mem_try_doubles(n), *y = mem_try_doubles(n), plain[ROUNDS], lang[ROUNDS];
    data(n, x, y);
    struct buf program = BUF_INIT;
    model(&program, n, x, y);
    gpm_session *s = session(1);
    must_run(s, program.data);
    in_language(s, steps / 4 + 1);
    for (int i = 0; i < ROUNDS; i++) { /* side by side, so that both see the same machine */
        plain[i] = plain_loop(n, x, y, steps);
        lang[i] = in_language(s, steps);
    }
    double p = median(plain, ROUNDS), l = median(lang, ROUNDS);
    printf("| %zu | %.1f | %.1f | %.2f | %.2f |\n", n, 1e6 * p, 1e6 * l, l / p, limit);
    gpm_session_free(s);
    buf_release(&program);
    mem_free(x);
    mem_free(y);
}

/* ---- the paper's optimisation program ----------------------------------------------------- */

static const char bayesopt[] =
    "assume sf = tag(scope=\"hyper\", uniform_continuous(0, 10));\n"
    "assume l = tag(scope=\"hyper\", uniform_continuous(0, 10));\n"
    "assume se = make_squaredexp(sf, l);\n"
    "assume blackbox_f = get_bayesopt_blackbox();\n"
    "assume (f_compute, f_emulate) = gpmem(blackbox_f, se);\n"
    "define mc_argmax = proc(func) {\n"
    "  candidate_xs = mapv(proc(i) { uniform_continuous(-20, 20) }, arange(20));\n"
    "  candidate_ys = mapv(func, candidate_xs);\n"
    "  lookup(candidate_xs, argmax_of_array(candidate_ys))\n};\n"
    "define emulate_pointwise = proc(x) { run(sample(lookup(f_emulate(array(unquote(x))), 0))) };\n"
    "infer repeat(15, do(pass,\n"
    "  predict(f_compute(unquote(mc_argmax(emulate_pointwise)))),\n"
    "  mh(scope=\"hyper\", steps=50)));\n";

static void bayesopt_bench(void) {
    enum { SEEDS = 100 };
    double ms[SEEDS];
    int finished = 0;
    for (int i = 0; i < SEEDS; i++) {
        gpm_session *s = session((uint64_t)i + 1);
        double t = now();
        bool ok = gpm_run_text(s, "bayesopt", bayesopt, sizeof bayesopt - 1) == GPM_OK;
        ms[i] = 1e3 * (now() - t);
        finished += ok;
        if (!ok) fprintf(stderr, "seed %d: %s\n", i + 1, gpm_last_error(s));
        gpm_session_free(s);
    }
    double mid = median(ms, SEEDS);
    printf("| seeds finished | fastest, ms | median, ms | slowest, ms | wanted "
           "|\n|---|---|---|---|---|\n");
    printf("| %d of %d | %.2f | %.2f | %.2f | all, under 5 ms |\n\n", finished, SEEDS, ms[0], mid,
           ms[SEEDS - 1]);
}

/* ---- appending ---------------------------------------------------------------------------- */

/* Points [from, to) appended to the factor one by one in plain C, each followed by the solve of a
 * draw at a new input: column of the covariance, triangular solve, new row. Seconds. */
static double plain_append(struct chol *f, const double *x, size_t from, size_t to, double *w) {
    double t = now();
    for (size_t n = from; n < to; n++) {
        double corner = 1 + 0.3 * 0.3;
        for (int draw = 0; draw < 2; draw++) {
            double at = draw ? x[n] + 0.01 : x[n];
            size_t m = n + (size_t)draw;
            for (size_t i = 0; i < m; i++) w[i] = exp(-0.125 * (x[i] - at) * (x[i] - at));
            if (draw)
                chol_solve_l(f, w, 1, m);
            else if (chol_append(f, 1, w, m ? m : 1, &corner, 1) != GPM_OK)
                exit(1);
        }
    }
    return now() - t;
}

static void append_bench(void) {
    enum { MOST = 2000 };
    gpm_session *s = session(1);
    must_run(s, "assume (f_compute, f_emu) = gpmem(proc(x) { sin(x) }, "
                "add_funcs(make_squaredexp(1, 2), make_whitenoise(0.3)));");
    printf("| points | in the language, s | growth | plain C, s | ratio | one factorisation, s |\n"
           "|---|---|---|---|---|---|\n");
    double total = 0, plain = 0, *x = mem_try_doubles(MOST), *y = mem_try_doubles(MOST);
    double *a = mem_try_doubles((size_t)MOST * (MOST + 8)), *w = mem_try_doubles(4 * MOST);
    struct limit_par p = {.sf = 1, .l = 2, .wn = 0.3};
    struct chol f = {0};
    data(MOST, x, y);
    for (size_t done = 0, next = 250; next <= MOST; done = next, next *= 2) {
        char text[240];
        snprintf(text, sizeof text,
                 "infer repeat(%zu, do(x <- action(uniform_continuous(0, 10)), "
                 "predict(f_compute(unquote(x))), y <- sample(f_emu(unquote(x + 0.01))), pass));",
                 next - done);
        double t = now(), before = total;
        must_run(s, text);
        total += now() - t;
        plain += plain_append(&f, x, done, next, w);
        t = now();
        limit_logml(next, x, y, &p, a, MOST + 8, w);
        double once = now() - t;
        printf("| %zu | %.4f | %.1f | %.4f | %.2f | %.4f |\n", next, total,
               done ? total / before : 0, plain, total / plain, once);
    }
    chol_release(&f);
    gpm_session_free(s);
    mem_free(x);
    mem_free(y);
    mem_free(a);
    mem_free(w);
}

int main(int argc, char **argv) {
    if (argc > 1 && !strcmp(argv[1], "bayesopt")) { /* for a profiler */
        bayesopt_bench();
        return 0;
    }
    if (argc > 1 && !strcmp(argv[1], "append")) {
        append_bench();
        return 0;
    }
    printf(
        "# gpmem from inside the language\n\n"
        "A Metropolis-Hastings step on one of three hyper-parameters of SE + WN, beside a plain C "
        "loop (fill, Cholesky, solve) in the same process; medians of nine rounds.\n\n"
        "| n | plain C, us | in the language, us | ratio | wanted at most "
        "|\n|---|---|---|---|---|\n");
    step_bench(150, 400, 1.3);
    step_bench(500, 60, 1.15);
    printf("\nThe paper's optimisation program: 15 probes, 50 steps after each.\n\n");
    bayesopt_bench();
    printf("One point probed, one emulator draw at a new input, again and again, beside the same "
           "two triangular solves a point in plain C; growth: over the row before (n^3: 8).\n\n");
    append_bench();
    return 0;
}
