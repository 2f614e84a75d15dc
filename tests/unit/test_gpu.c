/* SPDX-License-Identifier: Apache-2.0
 * The engine "gpu" against the engine "cpu", on a CUDA that is this machine
 * (tests/gpu/fake_cuda.c): the loader, the device text of whole kernels, block columns and
 * everything that a process is asked for. With GPMEM_REAL_GPU set, on the card that is there. */
#include "support/check.h"
#include "support/gp_batch.h"
#include "support/random_kernel.h"

#include "base/fibres.h"
#include "io/gpu/gpu.h"
#include "gp/process/gp.h"
#include "gp/way/gp_path.h"

#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MOST = 1200, NEW = 7 };
static struct rng rng;

struct pair {
    struct gp *cpu, *gpu;
    int dim;
    size_t n;
};
static double inputs[MOST * 3], values[MOST];

static struct gp *process(const char *kernel, int dim, double noise, size_t n,
                          enum gp_device device) {
    struct kern *k = NULL;
    char *why = NULL;
    if (kern_parse(kernel, &k, &why)) fail_msg("%s: %s", kernel, why);
    struct gp *g = gp_new(dim, k, NULL, noise, NULL);
    kern_unref(k);
    assert_non_null(g);
    gp_set_ways(g, GP_FACTORS);
    gp_set_device(g, device);
    assert_int_equal(gp_add(g, GP_MEASURED, inputs, values, n), GPM_OK);
    return g;
}

static struct pair pair(const char *kernel, int dim, double noise, size_t n) {
    rng_init(&rng, n, 1, 0);
    for (size_t i = 0; i < n; i++) {
        values[i] = 0.3 * rng_normal(&rng);
        for (int c = 0; c < dim; c++) {
            double *x = &inputs[i * (size_t)dim + (size_t)c];
            *x = 4 * rng_uniform(&rng);
            values[i] += sin(3 * *x);
        }
    }
    return (struct pair){process(kernel, dim, noise, n, GP_ON_CPU),
                         process(kernel, dim, noise, n, GP_ON_GPU), dim, n};
}
static void release(struct pair p) {
    gp_free(p.cpu);
    gp_free(p.gpu);
}

static void ok(enum gpm_status st) {
    if (st) fail_msg("%s", st == GPM_E_DEVICE ? gp_device_error() : gpm_status_text(st));
}
static void same(const char *what, const double *a, const double *b, size_t n, double tol) {
    double size = 1;
    for (size_t i = 0; i < n; i++) size = fmax(size, fabs(a[i]));
    for (size_t i = 0; i < n; i++)
        if (!(fabs(a[i] - b[i]) <= tol * size))
            fail_msg("%s %zu: %.17g here, %.17g on the GPU", what, i, a[i], b[i]);
}

static void compare_likelihood(struct pair p) {
    double a, b, da[64] = {0}, db[64] = {0};
    size_t np = kern_nparam(gp_kern(p.cpu));
    ok(gp_logml(p.cpu, &a));
    ok(gp_logml(p.gpu, &b));
    same("logml", &a, &b, 1, 1e-10);
    gp_forget(p.cpu);
    gp_forget(p.gpu);
    ok(gp_logml_grad(p.cpu, &a, da, &da[np]));
    ok(gp_logml_grad(p.gpu, &b, db, &db[np]));
    same("logml", &a, &b, 1, 1e-10);
    same("gradient", da, db, np + 1, 1e-8);
    assert_string_equal(gp_method(p.cpu), "Cholesky");
    assert_string_equal(gp_method(p.gpu), "Cholesky (GPU)");
}

static void compare_posterior(struct pair p) {
    double x[NEW * 3], m[2][NEW], v[2][NEW], c[2][NEW * NEW], z[NEW], y[2][NEW], d[2];
    for (int i = 0; i < NEW * p.dim; i++) x[i] = 4 * rng_uniform(&rng);
    memcpy(x, inputs, (size_t)p.dim * sizeof *x); /* one that was measured */
    for (int i = 0; i < NEW; i++) z[i] = rng_normal(&rng);
    for (int k = 0; k < 2; k++) {
        struct gp *g = k ? p.gpu : p.cpu;
        ok(gp_predict(g, x, NEW, GP_MEASURED, m[k], v[k]));
        ok(gp_predict_cov(g, x, NEW, GP_LATENT, NULL, c[k], NEW));
        ok(gp_sample(g, x, NEW, GP_MEASURED, z, y[k]));
        ok(gp_conditional(g, GP_MEASURED, x, z, NEW, &d[k]));
    }
    same("mean", m[0], m[1], NEW, 1e-10);
    same("variance", v[0], v[1], NEW, 1e-10);
    same("covariance", c[0], c[1], NEW * NEW, 1e-10);
    same("draw", y[0], y[1], NEW, 1e-8);
    same("density", &d[0], &d[1], 1, 1e-9);
}

static void compare_rest(struct pair p) {
    double *a = NEW_ARRAY(double, 6 * p.n), g[2][3], f[2], v[2];
    for (int k = 0; k < 2; k++) {
        struct gp *q = k ? p.gpu : p.cpu;
        double *to = a + (k ? 3 * p.n : 0), at[3] = {1.5, 0.7, 2.1}, total;
        ok(gp_innovations(q, to));
        ok(gp_loo(q, to + p.n, to + 2 * p.n, &total));
        ok(gp_point(q, at, &f[k], &v[k]));
        ok(gp_point_slope(q, 0.7, 0.2, g[k]));
    }
    same("innovation, left out", a, a + 3 * p.n, 3 * p.n, 1e-8);
    same("point", f, f + 1, 1, 1e-10);
    same("its variance", v, v + 1, 1, 1e-10);
    same("its slope", g[0], g[1], (size_t)p.dim, 1e-8);
    mem_free(a);
}

static void test_kernels(void **state) {
    static const struct {
        const char *kernel;
        int dim;
        size_t n;
    } cases[] = {
        {"LIN(sf=0.4) + SE(sf=1.1, l=0.7)*PER(sf=1, p=1.3, l=0.9) + WN(sigma=0.1)", 1, 300},
        {"SE(sf=1.2, l=[0.4, 0.9, 2]) + MAT32(sf=0.7, l=0.5) + C(sf=0.5)", 3, 270},
        {"CP(SE(sf=1, l=1), MAT12(sf=1, l=0.4), tau=2, s=0.3) + gp_cov_se(0.7)*LIN(sf=1, c=0.4)", 1,
         140}};
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct pair p = pair(cases[i].kernel, cases[i].dim, 0.3, cases[i].n);
        compare_likelihood(p);
        compare_posterior(p);
        if (i < 2) compare_rest(p);
        release(p);
    }
}

/* Random expressions over the table, small ones: that whole programs compile and agree. */
static void test_random(void **state) {
    struct rng r;
    int many = getenv("GPMEM_REAL_GPU") ? 100 : 4;
    rng_init(&r, 9, 0, 0);
    for (int i = 0; i < many; i++) {
        int dim = 1 + i % 3;
        struct kern *k = random_kernel(dim, 2, &r);
        struct pair p = pair("SE(sf=1, l=1)", dim, 0.5, 60);
        ok(gp_set_model(p.cpu, k, NULL, 0.5));
        ok(gp_set_model(p.gpu, k, NULL, 0.5));
        compare_likelihood(p);
        compare_posterior(p);
        kern_unref(k);
        release(p);
    }
}

/* Mean and scale integrated out, replicates, exact values, a mean function. */
static void test_integrated(void **state) {
    struct pair p = pair("MAT52(sf=1, l=0.8)", 1, 0.3, 200);
    double again[3] = {0.4, -0.2, 1.1};
    for (int k = 0; k < 2; k++) {
        struct gp *g = k ? p.gpu : p.cpu;
        ok(gp_add(g, GP_MEASURED, inputs, again, 3));
        gp_set_integrated(g, GP_MEAN | GP_SCALE);
    }
    compare_likelihood(p);
    compare_posterior(p);
    release(p);
}

/* Points that come one by one and in numbers, within a block and beyond; and that go. */
static void test_appending(void **state) {
    struct pair p = pair("SE(sf=1, l=0.8) + MAT12(sf=0.5, l=1)", 1, 0.3, 320);
    static const size_t steps[] = {250, 251, 255, 259, 300, 320};
    struct gp *whole = p.gpu;
    p.gpu = process("SE(sf=1, l=0.8) + MAT12(sf=0.5, l=1)", 1, 0.3, steps[0], GP_ON_GPU);
    double a, b;
    ok(gp_logml(p.gpu, &a));
    for (size_t i = 1; i < COUNT_OF(steps); i++) {
        size_t from = steps[i - 1];
        ok(gp_add(p.gpu, GP_MEASURED, inputs + from, values + from, steps[i] - from));
        ok(gp_logml(p.gpu, &a));
    }
    ok(gp_logml(whole, &b));
    same("appended", &a, &b, 1, 1e-11);
    compare_posterior(p);
    for (int k = 0; k < 2; k++)
        ok(gp_remove(k ? p.gpu : p.cpu, GP_MEASURED, inputs + 9, values[9]));
    compare_likelihood(p);
    gp_free(whole);
    release(p);
}

static void test_proposals(void **state) {
    struct pair p = pair("SE(sf=1, l=0.8)", 1, 0.3, 150);
    struct kern *k;
    double a[3], b[3];
    ok(kern_parse("SE(sf=1.4, l=0.5)", &k, NULL));
    for (int i = 0; i < 2; i++) {
        struct gp *g = i ? p.gpu : p.cpu;
        double *to = i ? b : a;
        ok(gp_logml(g, &to[0]));
        ok(gp_propose(g, k, NULL, 0.2, &to[1]));
        gp_accept(g);
        struct gp *copy;
        ok(gp_copy(g, &copy));
        ok(gp_logml(copy, &to[2]));
        assert_true(to[2] == to[1]);
        gp_free(copy);
    }
    same("proposal", a, b, 3, 1e-10);
    compare_posterior(p);
    kern_unref(k);
    release(p);
}

/* A matrix that needs jitter, one that no jitter helps. */
static void test_trouble(void **state) {
    struct pair p = pair("SE(sf=1, l=30)", 1, 0, 120);
    double a, b;
    enum gpm_status s = gp_logml(p.cpu, &a), t = gp_logml(p.gpu, &b);
    assert_int_equal(s, t);
    if (!s) same("logml", &a, &b, 1, 1e-3);
    release(p);
    p = pair("gp_cov_delta(3)", 1, 0, 60);
    assert_int_equal(gp_logml(p.cpu, &a), GPM_E_NOT_PD);
    assert_int_equal(gp_logml(p.gpu, &b), GPM_E_NOT_PD);
    assert_true(isinf(a) && isinf(b));
    release(p);
}

static void test_bits(void **state) {
    double v[2], g[2][16];
    for (int k = 0; k < 2; k++) {
        struct pair p =
            pair("LIN(sf=0.4) + SE(sf=1.1, l=0.7)*PER(sf=1, p=1.3, l=0.9)", 1, 0.3, 200);
        ok(gp_logml_grad(p.gpu, &v[k], g[k], &g[k][15]));
        release(p);
    }
    assert_memory_equal(&v[0], &v[1], sizeof v[0]);
    assert_memory_equal(g[0], g[1], 6 * sizeof(double));
}

static void test_paths(void **state) {
    struct pair p = pair("SE(sf=1, l=0.8)", 1, 0.3, 150);
    double x[3] = {0.4, 1.3, 3.1}, f[2][3];
    for (int k = 0; k < 2; k++) {
        struct gp_path *path;
        struct rng r;
        rng_init(&r, 4, 0, 0);
        ok(gp_path_new(k ? p.gpu : p.cpu, 200, &r, &path));
        ok(gp_path_eval(path, x, 3, f[k], NULL));
        gp_path_free(path);
    }
    same("path", f[0], f[1], 3, 1e-8);
    release(p);
}

/* As programs do it: many values drawn from the prior, then observed at once. */
static void test_many_new(void **state) {
    enum { N = 520 };
    static double z[N], f[2][N], d[2];
    struct pair p = pair("MAT32(sf=1, l=0.8) + SE(sf=1, l=0.2)", 1, 0.3, N);
    for (int i = 0; i < N; i++) z[i] = rng_normal(&rng);
    for (int k = 0; k < 2; k++) {
        struct gp *g = k ? p.gpu : p.cpu;
        gp_clear(g);
        ok(gp_sample(g, inputs, N, GP_MEASURED, z, f[k]));
        ok(gp_conditional(g, GP_MEASURED, inputs, values, N, &d[k]));
    }
    same("draw of the prior", f[0], f[1], N, 1e-8);
    same("density", &d[0], &d[1], 1, 1e-10);
    release(p);
}

/* Many small processes: shapes and sizes mixed, with and without gradients, replicates, tiles on
 * the chip and in memory; beside the same by a loop. */
static void test_batch(void **state) {
    static const struct {
        const char *kernel;
        int dim;
        size_t n;
    } cases[] = {{"LIN(sf=0.4) + SE(sf=1.1, l=0.7)*PER(sf=1, p=1.3, l=0.9) + WN(sigma=0.1)", 1, 50},
                 {"SE(sf=1.2, l=[0.4, 0.9]) + C(sf=0.5)", 2, 20},
                 {"LIN(sf=0.4) + SE(sf=0.9, l=0.4)*PER(sf=1, p=1.1, l=0.7) + WN(sigma=0.2)", 1, 71},
                 {"C(sf=1) + WN(sigma=0.3)", 1, 9},
                 {"SE(sf=1.2, l=[0.8, 0.3]) + C(sf=0.1)", 2, 1},
                 {"MAT12(sf=1, l=0.4)", 1, 232}};
    struct gp_batch_item item[2][COUNT_OF(cases)];
    struct pair p[COUNT_OF(cases)];
    double grad[2][COUNT_OF(cases)][12] = {{{0}}};
    for (int slopes = 0; slopes < 2; slopes++) {
        for (size_t i = 0; i < COUNT_OF(cases); i++) {
            p[i] = pair(cases[i].kernel, cases[i].dim, 0.3, cases[i].n);
            double again = 0.1;
            if (i == 1)
                for (int k = 0; k < 2; k++)
                    ok(gp_add(k ? p[i].gpu : p[i].cpu, GP_MEASURED, inputs, &again, 1));
            for (int k = 0; k < 2; k++) {
                struct gp *g = k ? p[i].gpu : p[i].cpu;
                item[k][i] = (struct gp_batch_item){.g = g, .kern = gp_kern(g), .noise = 0.25};
                if (slopes) item[k][i].dkern = grad[k][i], item[k][i].dnoise = &grad[k][i][11];
            }
        }
        ok(gp_batch(item[0], COUNT_OF(cases)));
        ok(gp_batch(item[1], COUNT_OF(cases)));
        for (size_t i = 0; i < COUNT_OF(cases); i++) {
            same(cases[i].kernel, &item[0][i].logml, &item[1][i].logml, 1, 1e-10);
            same(cases[i].kernel, grad[0][i], grad[1][i], 12, 1e-8);
            gp_accept(p[i].gpu);
            assert_string_equal(gp_method(p[i].gpu), "Cholesky (GPU)");
            double v;
            ok(gp_logml(p[i].gpu, &v));
            assert_true(v == item[1][i].logml);
            release(p[i]);
        }
    }
}

/* One program for any shape: the whole table, random expressions and change operators of one
 * column in one launch, beside the same by a loop; with it and without, twice the same bits. */
static void test_any_shape(void **state) {
    static const char *const own[] = {
        "CP(SE(sf=1, l=1), LIN(sf=1, c=0.3)*MAT12(sf=1, l=0.4), tau=2, s=0.3) + gp_cov_se(0.7)",
        "CW(C(sf=1), PER(sf=1, p=1.3, l=0.9) + WN(sigma=0.4), tau1=1, tau2=2, s=0.2)*LIN(sf=0.7, "
        "c=4)",
        "C(sf=1) + SE(sf=0.7, l=0.2)*PER(sf=1, p=0.7, l=1.1)*LIN(sf=1, c=-2) + WN(sigma=0.1)"};
    enum { OWN = COUNT_OF(own), RANDOM = 60, ALL = OWN + RANDOM };
    static struct gp_batch_item item[3][ALL];
    static double grad[3][ALL][64];
    struct pair p[ALL];
    struct kern *k[ALL];
    struct rng r;
    rng_init(&r, 5, 0, 0);
    for (int slopes = 0; slopes < 2; slopes++) {
        for (int i = 0; i < ALL; i++) {
            p[i] = pair("SE(sf=1, l=1)", 1, 0.4, i == 7 ? 150 : 5 + (size_t)i);
            gp_set_roaming(p[i].gpu);
            if (i < OWN)
                ok(kern_parse(own[i], &k[i], NULL));
            else
                k[i] = random_kernel(1, 2, &r);
            for (int j = 0; j < 3; j++) {
                item[j][i] = (struct gp_batch_item){
                    .g = j ? p[i].gpu : p[i].cpu, .kern = k[i], .noise = 0.35};
                memset(grad[j][i], 0, sizeof grad[j][i]);
                if (slopes) item[j][i].dkern = grad[j][i], item[j][i].dnoise = &grad[j][i][63];
            }
        }
        for (int j = 0; j < 3; j++) ok(gp_batch(item[j], ALL));
        for (int i = 0; i < ALL; i++) {
            struct buf shown = BUF_INIT;
            kern_print(k[i], &shown);
            same(shown.data, &item[0][i].logml, &item[1][i].logml, 1, 1e-10);
            same(shown.data, grad[0][i], grad[1][i], 64, 1e-8);
            assert_true(item[1][i].logml == item[2][i].logml);
            assert_memory_equal(grad[1][i], grad[2][i], sizeof grad[1][i]);
            buf_release(&shown);
            kern_unref(k[i]);
            release(p[i]);
        }
    }
}

/* Fibres that ask one by one, as chains do: the bits are those of a batch of one, in any company;
 * the gradient that was asked for with each likelihood comes with it. */
enum { MEMBERS = 12, ASKED = 6 };
struct member {
    struct gp *g;
    int own; /* of its kernel and size */
    double logml[ASKED], slopes[ASKED][8];
};
static const struct {
    const char *kernel;
    size_t n;
} of_member[] = {{"SE(sf=%g, l=0.7) + LIN(sf=0.4)", 40}, {"SE(sf=%g, l=0.7)", 71}};

static struct kern *kernel_of(int own, int k) {
    char text[80];
    struct kern *out;
    snprintf(text, sizeof text, of_member[own % 2].kernel, 0.5 + 0.1 * own + 0.2 * k);
    ok(kern_parse(text, &out, NULL));
    return out;
}

static void *ask_many(void *arg) {
    struct member *m = arg;
    for (int k = 0; k < ASKED; k++) {
        struct kern *kern = kernel_of(m->own, k);
        if (gp_propose(m->g, kern, NULL, 0.2, &m->logml[k])) m->logml[k] = NAN;
        double again;
        if (m->own % 3 == 0 &&
            gp_grad_weighted(m->g, 1, &again, m->slopes[k], NULL, &m->slopes[k][7]))
            m->logml[k] = NAN;
        if (k % 2) gp_accept(m->g);
        kern_unref(kern);
    }
    return NULL;
}

static void *as_fibre(void *arg) {
    enum { STACK = 1 << 20 };
    const char *lowest;
    return fibres_run(STACK, ask_many, arg, &lowest) ? arg : NULL;
}

static void test_company(void **state) {
    struct member m[MEMBERS];
    pthread_t threads[MEMBERS];
    for (int i = 0; i < MEMBERS; i++) {
        struct pair p = pair("SE(sf=1, l=1)", 1, 0.3, of_member[i % 2].n);
        gp_free(p.cpu);
        m[i] = (struct member){.g = p.gpu, .own = i};
    }
    for (int i = 0; i < MEMBERS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, as_fibre, &m[i]), 0);
    for (int i = 0; i < MEMBERS; i++) {
        void *back;
        pthread_join(threads[i], &back);
        assert_non_null(back);
        for (int k = 0; k < ASKED; k++) {
            double slopes[8] = {0};
            struct kern *kern = kernel_of(i, k);
            struct gp_batch_item alone = {.g = m[i].g, .kern = kern, .noise = 0.2};
            if (i % 3 == 0) alone.dkern = slopes, alone.dnoise = &slopes[7];
            ok(gp_batch(&alone, 1));
            same("in company", &m[i].logml[k], &alone.logml, 1, 1e-13);
            same("its gradient", m[i].slopes[k], slopes, 8, 1e-13);
            kern_unref(kern);
        }
        gp_free(m[i].g);
    }
}

/* What one block of threads cannot do goes the other way: jitter, procedures, means. */
static void test_batch_alone(void **state) {
    struct pair p = pair("SE(sf=1, l=30)", 1, 0, 40);
    struct mean *m = mean_const(0.3);
    struct gp_batch_item item[2] = {{.g = p.cpu, .kern = gp_kern(p.cpu)},
                                    {.g = p.gpu, .kern = gp_kern(p.gpu)}};
    ok(gp_batch(item, 2));
    same("with jitter", &item[0].logml, &item[1].logml, 1, 1e-5);
    for (int k = 0; k < 2; k++) item[k].mean = m, item[k].noise = 0.3;
    ok(gp_batch(item, 2));
    same("with a mean", &item[0].logml, &item[1].logml, 1, 1e-10);
    mean_unref(m);
    release(p);
}

/* Low rank and conjugate gradients on the card, beside the exact answer of the CPU; a rough kernel
 * is refused. */
static void test_low_rank(void **state) {
    struct pair p = pair("LIN(sf=0.4) + SE(sf=1.1, l=0.9) + WN(sigma=0.2)", 1, 0.3, 260);
    double a, b, da[8] = {0}, db[8] = {0}, x[NEW], m[2][NEW], v[2][NEW];
    gp_set_approx(p.gpu, GP_LOW_RANK, 0);
    ok(gp_logml_grad(p.cpu, &a, da, &da[7]));
    ok(gp_logml_grad(p.gpu, &b, db, &db[7]));
    assert_string_equal(gp_method(p.gpu), "low rank and conjugate gradients (GPU)");
    assert_true(gp_approx_error(p.gpu) <= 1e-6);
    same("logml", &a, &b, 1, 1e-9);
    same("gradient", da, db, 8, 1e-6);
    for (int i = 0; i < NEW; i++) x[i] = 4 * rng_uniform(&rng);
    for (int k = 0; k < 2; k++) ok(gp_predict(k ? p.gpu : p.cpu, x, NEW, GP_LATENT, m[k], v[k]));
    same("mean", m[0], m[1], NEW, 1e-7);
    same("variance", v[0], v[1], NEW, 1e-7);
    struct kern *k;
    ok(kern_parse("MAT12(sf=1, l=0.4)", &k, NULL));
    ok(gp_set_model(p.gpu, k, NULL, 0.3));
    gp_set_approx(p.gpu, GP_LOW_RANK, 100);
    assert_int_equal(gp_logml(p.gpu, &b), GPM_E_DEVICE);
    assert_non_null(strstr(gp_device_error(), "low rank is refused: after 100 of 260 pivots"));
    kern_unref(k);
    release(p);
}

/* Chains ask whether there is a card at every step: they do not wait for whoever has its lock (the
 * test would never end). */
static void test_open_does_not_wait(void **state) {
    ok(gpu_lock());
    ok(gpu_open());
    gpu_unlock();
}

int main(int argc, char **argv) {
    const char *at = getenv("LD_LIBRARY_PATH");
    if (!getenv("GPMEM_REAL_GPU") &&
        (!at || !strstr(at, "fake_cuda"))) { /* the loader reads it once */
        setenv("LD_LIBRARY_PATH", BUILD_DIR "/tests/fake_cuda", 1);
        setenv("GPMEM_DEVICE_FROM", "1", 1);
        setenv("XDG_CACHE_HOME", BUILD_DIR "/tests/fake_cuda/cache", 1);
        execv("/proc/self/exe", argv);
        return 1;
    }
    setenv("GPMEM_DEVICE_FROM", "1", 1);
    if (gp_device_use(GP_ON_GPU)) {
        printf("%s\n", gp_device_error());
        return 1;
    }
    if (argc > 1) cmocka_set_test_filter(argv[1]);
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_kernels),
                                       cmocka_unit_test(test_integrated),
                                       cmocka_unit_test(test_appending),
                                       cmocka_unit_test(test_proposals),
                                       cmocka_unit_test(test_trouble),
                                       cmocka_unit_test(test_bits),
                                       cmocka_unit_test(test_paths),
                                       cmocka_unit_test(test_random),
                                       cmocka_unit_test(test_batch),
                                       cmocka_unit_test(test_company),
                                       cmocka_unit_test(test_any_shape),
                                       cmocka_unit_test(test_low_rank),
                                       cmocka_unit_test(test_batch_alone),
                                       cmocka_unit_test(test_many_new),
                                       cmocka_unit_test(test_open_does_not_wait)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
