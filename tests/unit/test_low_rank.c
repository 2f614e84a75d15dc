/* SPDX-License-Identifier: Apache-2.0
 * Low rank and conjugate gradients (gp/way/gp_low_rank.h) beside the exact factor: likelihood,
 * gradient, predictions; what is not smooth enough is refused with the reason. */
#include "support/check.h"

#include "gp/process/gp.h"
#include "gp/process/mean.h"
#include "numeric/special/rng.h"

#include <math.h>
#include <string.h>

enum { N = 400, NEW = 9 };

static struct gp *process(const char *kernel, int dim, double noise, bool low) {
    static double x[2 * N], y[N];
    struct rng r;
    struct kern *k;
    assert_int_equal(kern_parse(kernel, &k, NULL), GPM_OK);
    struct mean *m = mean_const(0.2);
    struct gp *g = gp_new(dim, k, m, noise, NULL);
    rng_init(&r, 3, 0, 0);
    for (int i = 0; i < N; i++) {
        y[i] = 0.3 * rng_normal(&r);
        for (int c = 0; c < dim; c++) {
            x[i * dim + c] = 4 * rng_uniform(&r);
            y[i] += sin(2 * x[i * dim + c]);
        }
    }
    double again[2] = {0.4, 0.9}; /* inputs that were measured twice */
    gp_set_ways(g, GP_FACTORS);
    gp_set_approx(g, low ? GP_LOW_RANK : GP_EXACT, 0);
    assert_int_equal(gp_add(g, GP_MEASURED, x, y, N), GPM_OK);
    assert_int_equal(gp_add(g, GP_MEASURED, x, again, 2), GPM_OK);
    kern_unref(k);
    mean_unref(m);
    return g;
}

static void near(const char *what, const double *a, const double *b, size_t n, double tol) {
    double size = 1;
    for (size_t i = 0; i < n; i++) size = fmax(size, fabs(a[i]));
    for (size_t i = 0; i < n; i++)
        if (!(fabs(a[i] - b[i]) <= tol * size))
            fail_msg("%s %zu: %.15g exact, %.15g by low rank", what, i, a[i], b[i]);
}

static void compare(const char *kernel, int dim, double noise) {
    double logml[2], slopes[2][16] = {{0}}, x[2 * NEW], mean[2][NEW], var[2][NEW];
    static double cov[2][NEW * NEW];
    for (int i = 0; i < 2 * NEW; i++) x[i] = 0.21 * i + 0.1 * sin(5.0 * i);
    for (int low = 0; low < 2; low++) {
        struct gp *g = process(kernel, dim, noise, low);
        assert_int_equal(
            gp_grad_weighted(g, 1, &logml[low], slopes[low], &slopes[low][14], &slopes[low][15]),
            GPM_OK);
        assert_int_equal(gp_predict(g, x, NEW, GP_MEASURED, mean[low], var[low]), GPM_OK);
        assert_int_equal(gp_predict_cov(g, x, NEW, GP_LATENT, NULL, cov[low], NEW), GPM_OK);
        assert_string_equal(gp_method(g), low ? "low rank and conjugate gradients" : "Cholesky");
        assert_true(low ? gp_approx_error(g) <= 1e-6 : gp_approx_error(g) == 0);
        gp_free(g);
    }
    near("logml", &logml[0], &logml[1], 1, 1e-9);
    near("gradient", slopes[0], slopes[1], 16, 1e-6);
    near("mean", mean[0], mean[1], NEW, 1e-7);
    near("variance", var[0], var[1], NEW, 1e-7);
    near("covariance", cov[0], cov[1], NEW * NEW, 1e-7);
}

static void test_smooth(void **state) {
    compare("SE(sf=1.1, l=0.8)", 1, 0.3);
    compare("LIN(sf=0.4) + SE(sf=1, l=1.2)*PER(sf=1, p=2.3, l=1.5) + WN(sigma=0.2)", 1, 0.1);
    compare("SE(sf=1, l=[1.5, 2.5]) + C(sf=2)", 2, 0.2);
    compare("C(sf=1)", 1, 0.5);
}

static void refused(const char *kernel, double noise, const char *words) {
    struct gp *g = process(kernel, 1, noise, true);
    double logml, grad[8];
    gp_set_approx(g, GP_LOW_RANK, 150);
    assert_int_equal(gp_logml(g, &logml), GPM_E_DEVICE);
    assert_non_null(strstr(gp_status_text(GPM_E_DEVICE), words));
    assert_int_equal(gp_logml_grad(g, &logml, grad, &grad[7]), GPM_E_DEVICE);
    gp_free(g);
}

static void test_refused(void **state) {
    refused("MAT12(sf=1, l=0.5)", 0.3, "low rank is refused: after 150 of 400 pivots");
    refused("SE(sf=1, l=0.001)", 0.3, "the kernel is not smooth enough for its noise");
    refused("SE(sf=1, l=1) + LIN(sf=1)*WN(sigma=0.5)", 0.3, "low rank is refused");
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_smooth),
                                       cmocka_unit_test(test_refused)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
