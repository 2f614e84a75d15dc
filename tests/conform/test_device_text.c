/* SPDX-License-Identifier: Apache-2.0
 * The rows' device text, compiled for this machine, against their C functions: every row with all
 * its ways to be used, and a hundred random expressions. Values to 1e-13, gradients to 1e-10. */
#include "support/check.h"
#include "support/random_kernel.h"

#include "base/mem.h"
#include "gp/way/kern_device.h"

#include <dlfcn.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { RANDOM = 100, MOST = 400, POINTS = 23 };

struct subject {
    struct kern *k;
    struct kern_program p;
};
static struct subject subjects[MOST];
static size_t count;

static void add(struct kern *k, int dim) {
    assert_non_null(k);
    assert_true(count < MOST);
    subjects[count++] = (struct subject){.k = k, .p.dim = dim};
}

static const char HEAD[] = "#include <math.h>\n#include <string.h>\n#define DEVICE static "
                           "inline\n#define CONSTANT_BANK static "
                           "const\nstatic inline long long __double_as_longlong(double d) { long "
                           "long l; memcpy(&l, &d, 8); "
                           "return l; }\nstatic inline double __longlong_as_double(long long l) { "
                           "double d; memcpy(&d, &l, 8); "
                           "return d; }\n";
static const char TAIL[] =
    "void prepare(const double *x, const double *t, double *f) { k_prepare(x, t, f); }\n"
    "double value(const double *f, const double *h, const double *t, int same) { return k_value(f, "
    "h, t, "
    "same); }\n"
    "void grad(const double *f, const double *h, const double *t, int same, double w, double *g) { "
    "k_grad(f, h, t, same, w, g); }\n";

typedef void prepare_fn(const double *x, const double *t, double *f);
typedef double value_fn(const double *f, const double *h, const double *t, int same);
typedef void grad_fn(const double *f, const double *h, const double *t, int same, double w,
                     double *g);

/* Each program is a file of its own: one compiler run makes one library of all, under names of
 * their own. */
static void *build(void) {
    char path[200], command[800], dir[] = "/tmp/device_text_XXXXXX";
    assert_non_null(mkdtemp(dir));
    struct buf all = BUF_INIT, text = BUF_INIT;
    for (size_t i = 0; i < count; i++) {
        buf_reset(&text);
        char *why = NULL;
        enum gpm_status st =
            kern_program(subjects[i].k, subjects[i].p.dim, &subjects[i].p, &text, &why);
        if (st) fail_msg("%s", why);
        snprintf(path, sizeof path, "%s/%zu.c", dir, i);
        FILE *f = fopen(path, "w");
        fprintf(
            f,
            "%s%s#define prepare prepare_%zu\n#define value value_%zu\n#define grad grad_%zu\n%s",
            HEAD, text.data, i, i, i, TAIL);
        fclose(f);
        buf_printf(&all, "#include \"%zu.c\"\n", i);
    }
    snprintf(command, sizeof command,
             "cd %s && ls *.c | xargs -P 2 -n 25 ${CC:-cc} -O0 -fPIC -w -c && ${CC:-cc} -shared -o "
             "lib.so *.o -lm",
             dir);
    assert_int_equal(system(command), 0);
    snprintf(path, sizeof path, "%s/lib.so", dir);
    void *lib = dlopen(path, RTLD_NOW);
    assert_non_null(lib);
    snprintf(command, sizeof command, "rm -rf %s", dir);
    assert_int_equal(system(command), 0);
    buf_release(&all);
    buf_release(&text);
    return lib;
}

static void *named(void *lib, const char *what, size_t i) {
    char name[64];
    snprintf(name, sizeof name, "%s_%zu", what, i);
    void *f = dlsym(lib, name);
    assert_non_null(f);
    return f;
}

static void check(void *lib, size_t which) {
    const struct subject *s = &subjects[which];
    int dim = s->p.dim;
    size_t np = kern_nparam(s->k);
    prepare_fn *prepare = named(lib, "prepare", which);
    value_fn *value = named(lib, "value", which);
    grad_fn *grad = named(lib, "grad", which);
    double x[POINTS * 4], a[POINTS * POINTS], w[POINTS * POINTS], t[KERN_PROGRAM_MAX];
    double f[POINTS][KERN_PROGRAM_MAX], g[KERN_PROGRAM_MAX] = {0}, got[KERN_PROGRAM_MAX] = {0},
                                        want[KERN_PROGRAM_MAX] = {0}, scale = 0;
    struct rng r;
    rng_init(&r, 77 + which, 0, 0);
    for (int i = 0; i < POINTS * dim; i++) x[i] = floor(40 * rng_uniform(&r)) / 16 - 1;
    x[3] = x[3] + 0.01;
    struct kern_pts at = {.x = x, .n = POINTS, .ld = POINTS, .dim = dim};
    assert_int_equal(kern_fill(s->k, at, a, POINTS), GPM_OK);
    kern_program_params(s->k, t);
    for (int i = 0; i < POINTS; i++) {
        double y[4];
        for (int c = 0; c < dim; c++) y[c] = x[i + c * POINTS];
        prepare(y, t, f[i]);
    }
    struct buf text = BUF_INIT;
    kern_print(s->k, &text);
    for (int j = 0; j < POINTS; j++)
        for (int i = j; i < POINTS; i++) scale = fmax(scale, fabs(a[i + j * POINTS]));
    for (int j = 0; j < POINTS; j++)
        for (int i = j; i < POINTS; i++) {
            double v = value(f[i], f[j], t, i == j ? 1 : 2), k = a[i + j * POINTS];
            if (!(fabs(v - k) <= 1e-13 * fmax(scale, 1)))
                fail_msg("%s: %.17g, on the device %.17g", text.data, k, v);
            w[i + j * POINTS] = rng_uniform(&r) - 0.5;
            grad(f[i], f[j], t, i == j ? 1 : 2, (i == j ? 1 : 2) * w[i + j * POINTS], g);
        }
    assert_int_equal(kern_grad_add(s->k, at, NULL, w, POINTS, want), GPM_OK);
    kern_program_slopes(s->k, g, got);
    double most = 1;
    for (size_t p = 0; p < np; p++) most = fmax(most, fabs(want[p]));
    for (size_t p = 0; p < np; p++)
        if (!(fabs(got[p] - want[p]) <= 1e-10 * most))
            fail_msg("%s: derivative %zu is %.17g, on the device %.17g", text.data, p, want[p],
                     got[p]);
    buf_release(&text);
}

static void test_all(void **state) {
    struct rng r;
    const struct kern_class *cls;
    rng_init(&r, 5, 0, 0);
    for (size_t i = 0; (cls = kern_class_at(i)); i++)
        for (int dim = 1; dim <= 3 && cls->op != KERN_CHANGE; dim += 2)
            for (int again = 0; again < (dim > 1 ? 2 : 1); again++)
                add(random_leaf(cls, dim, &r), dim);
    size_t rows = count;
    for (int i = 0; i < RANDOM; i++) {
        int dim = 1 + i % 3;
        add(random_kernel(dim, 3, &r), dim);
    }
    void *lib = build();
    for (size_t i = 0; i < count; i++) check(lib, i);
    printf("%zu rows' uses and %d random expressions\n", rows, RANDOM);
    for (size_t i = 0; i < count; i++) kern_unref(subjects[i].k);
    dlclose(lib);
}

/* Every row has its text, and what cannot have any says so. */
static enum gpm_status procedure(void *user, const double *a, const double *b, int dim,
                                 double *out) {
    *out = 1;
    return GPM_OK;
}
static void test_refused(void **state) {
    const struct kern_class *cls;
    for (size_t i = 0; (cls = kern_class_at(i)); i++)
        if (cls->op != KERN_ALIAS && !cls->device.value && !cls->device.weight)
            fail_msg("%s has no device text", cls->name);
    struct kern *k = kern_callback(procedure, NULL, NULL, "mine");
    struct kern_program p;
    struct buf text = BUF_INIT;
    char *why = NULL;
    assert_int_equal(kern_program(k, 1, &p, &text, &why), GPM_E_LIMIT);
    assert_string_equal(why, "the kernel mine is a procedure, which cannot run on a GPU");
    mem_free(why);
    kern_unref(k);
    assert_int_equal(kern_parse("SE(sf=1, l=1)", &k, NULL), GPM_OK);
    for (int i = 0; i < 7; i++) { /* 128 leaves */
        struct kern *twice = kern_sum(k, k);
        kern_unref(k);
        k = twice;
    }
    assert_int_equal(kern_program(k, 1, &p, &text, &why), GPM_E_LIMIT);
    assert_string_equal(why,
                        "the kernel is too large for a GPU: 256 parameters and 128 features, at "
                        "most 128");
    mem_free(why);
    kern_unref(k);
    buf_release(&text);
}

/* One program serves every expression of a shape. */
static void test_shapes(void **state) {
    static const char *const same[] = {"SE(sf=1, l=1) + PER(sf=1, p=2, l=1)",
                                       "SE(sf=2, l=3) + PER(sf=1, p=1, l=7)"};
    static const char *const other[] = {"SE(sf=1, l=1) * PER(sf=1, p=2, l=1)",
                                        "SE(sf=1, l=1) + PER(sf=1, p=2, l=[1, 2])"};
    struct kern *a, *b, *c;
    assert_int_equal(kern_parse(same[0], &a, NULL), GPM_OK);
    assert_int_equal(kern_parse(same[1], &b, NULL), GPM_OK);
    assert_true(kern_same_shape(a, b));
    assert_true(kern_shape(a) == kern_shape(b));
    for (int i = 0; i < 2; i++) {
        assert_int_equal(kern_parse(other[i], &c, NULL), GPM_OK);
        assert_false(kern_same_shape(a, c));
        assert_true(kern_shape(a) != kern_shape(c));
        kern_unref(c);
    }
    kern_unref(a);
    kern_unref(b);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_all), cmocka_unit_test(test_refused),
                                       cmocka_unit_test(test_shapes)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
