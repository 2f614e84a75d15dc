/* SPDX-License-Identifier: Apache-2.0
 *
 * The O(n^2) likelihood on regular grids against the dense factorisation, over many kernels and
 * decreasing noise: wherever it is used the two agree as well as the condition of the matrix
 * allows, and it hands over before it gets worse.
 */
#include "support/check.h"

#include "gp/gp.h"

static uint64_t state_;
static double uniform(void) {
    state_ = state_ * 6364136223846793005u + 1442695040888963407u;
    return (double)(state_ >> 11) * 0x1p-53;
}

static double likelihood(const char *text, const double *x, const double *y, size_t n, double noise,
                         bool structured, const char **method) {
    struct kern *k = NULL;
    double lm = NAN;
    assert_int_equal(kern_parse(text, &k, NULL), GPM_OK);
    struct gp *g = gp_new(1, k, NULL, noise, NULL);
    gp_set_structured(g, structured);
    assert_int_equal(gp_add(g, GP_MEASURED, x, y, n), GPM_OK);
    enum gpm_status st = gp_logml(g, &lm);
    assert_true(st == GPM_OK || st == GPM_E_NOT_PD);
    *method = gp_method(g);
    gp_free(g);
    kern_unref(k);
    return lm;
}

static void agrees(void **state) {
    static const char *const kern[] = {
        "SE(sf=1, l=%g)", "LIN(sf=0.3) + SE(sf=1, l=%g) * PER(sf=1, p=1.1, l=1)",
        "LIN(sf=0.3, c=2) + RAMP(sf=0.4, tau=3) + MAT32(sf=1, l=%g) + C(sf=3) + STEP(sf=1, tau=2)",
        "4 * gp_cov_linear(origin=1) * LIN(sf=0.1) + RQ(sf=1, l=%g, alpha=1) + WN(sigma=0.01)"};
    double x[200], y[200];
    int fast = 0, slow = 0;
    state_ = 5;
    for (int c = 0; c < 4; c++)
        for (int e = 0; e < 7; e++)
            for (int l = 0; l < 3; l++) {
                char text[200];
                const char *how, *dense;
                snprintf(text, sizeof text, kern[c], 0.1 * pow(5, l));
                for (int i = 0; i < 200; i++) {
                    x[i] = 1 + 0.05 * i;
                    y[i] = sin(3 * x[i]) + uniform();
                }
                double noise = pow(10, -e);
                double a = likelihood(text, x, y, 200, noise, true, &how);
                double b = likelihood(text, x, y, 200, noise, false, &dense);
                assert_string_equal(dense, "Cholesky");
                bool toeplitz = strcmp(how, "Toeplitz") == 0;
                fast += toeplitz;
                slow += !toeplitz;
                /* With next to no noise two dense factorisations (one filled by lag) differ by
                 * 1e-7 to 3e-3: the matrix is that ill-conditioned. */
                if (noise >= 1e-3)
                    assert_close(a, b, 1e-7);
                else if (toeplitz)
                    assert_close(a, b, 1e-5);
            }
    assert_true(fast > 40 && slow >= 8);
}

static void falls_back(void **state) {
    static const char *const kern[] = {"LIN(sf=1) * SE(sf=1, l=1)", "WIENER(sf=1)",
                                       "CP(SE, LIN, tau=3, s=1)"};
    double x[60], y[60];
    const char *how;
    state_ = 6;
    for (int i = 0; i < 60; i++) x[i] = 0.1 * (i + 1), y[i] = uniform();
    for (int c = 0; c < 3; c++) {
        double a = likelihood(kern[c], x, y, 60, 0.3, true, &how);
        assert_string_equal(how, "Cholesky");
        double b = likelihood(kern[c], x, y, 60, 0.3, false, &how);
        assert_close(a, b, 1e-10);
    }
    x[30] += 0.01; /* not regular */
    likelihood("SE(sf=1, l=1)", x, y, 60, 0.3, true, &how);
    assert_string_equal(how, "Cholesky");
}

/* Data that arrive after a likelihood without a factor. */
static void later_data(void **state) {
    double x[60], y[60], a, b;
    struct kern *k = NULL;
    state_ = 7;
    for (int i = 0; i < 60; i++) x[i] = 0.1 * i, y[i] = uniform();
    assert_int_equal(kern_parse("SE(sf=1, l=1)", &k, NULL), GPM_OK);
    struct gp *g = gp_new(1, k, NULL, 0.3, NULL), *h = gp_new(1, k, NULL, 0.3, NULL);
    gp_set_structured(h, false);
    for (size_t n = 0; n < 60; n += 30) {
        assert_int_equal(gp_add(g, GP_MEASURED, x + n, y + n, 30), GPM_OK);
        assert_int_equal(gp_add(h, GP_MEASURED, x + n, y + n, 30), GPM_OK);
        assert_int_equal(gp_logml(g, &a), GPM_OK);
        assert_int_equal(gp_logml(h, &b), GPM_OK);
        assert_string_equal(gp_method(g), "Toeplitz");
        assert_close(a, b, 1e-10);
    }
    assert_int_equal(gp_remove(g, GP_MEASURED, x + 59, y[59]), GPM_OK);
    assert_int_equal(gp_remove(h, GP_MEASURED, x + 59, y[59]), GPM_OK);
    assert_int_equal(gp_logml(g, &a), GPM_OK);
    assert_int_equal(gp_logml(h, &b), GPM_OK);
    assert_close(a, b, 1e-10);
    gp_free(g);
    gp_free(h);
    kern_unref(k);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(agrees), cmocka_unit_test(falls_back),
                                       cmocka_unit_test(later_data)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
