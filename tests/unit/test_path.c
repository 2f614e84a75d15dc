/* SPDX-License-Identifier: Apache-2.0
 *
 * Pathwise draws: over many paths the values at a few points have the exact posterior's mean and
 * covariance, a path agrees with itself and with noiseless data, gradients are slopes. And the
 * maximum likelihood fit.
 */
#include "support/check.h"

#include "gp/process/gp.h"
#include "gp/way/gp_path.h"

static struct rng rng_;

static struct gp *make(const char *text, int dim, double noise, size_t n, double *x) {
    struct kern *k = NULL;
    double y[16];
    assert_int_equal(kern_parse(text, &k, NULL), GPM_OK);
    struct gp *g = gp_new(dim, k, NULL, noise, NULL);
    for (size_t i = 0; i < n * (size_t)dim; i++) x[i] = 3 * rng_uniform(&rng_);
    x[0] = 0, x[n * (size_t)dim - 1] = 3; /* support points lie in the range of the data */
    for (size_t i = 0; i < n; i++) y[i] = 2 * rng_uniform(&rng_) - 1;
    assert_int_equal(gp_add(g, GP_MEASURED, x, y, n), GPM_OK);
    kern_unref(k);
    return g;
}

static void moments(void **state) {
    static const struct {
        const char *text;
        int dim;
        bool features;
    } row[] = {{"SE(sf=1, l=0.8)", 1, true},
               {"SE(sf=1, l=[0.8, 1.5]) + LIN(sf=0.3)", 2, true},
               {"LIN(sf=0.5) * PER(sf=1, p=1.4, l=0.8) + C(sf=0.5) + WN(sigma=0.2)", 1, true},
               {"PER(sf=1, p=1.4, l=0.05)", 1, true}, /* hundreds of harmonics */
               {"MAT32(sf=1, l=1) + RQ(sf=0.5, l=1, alpha=2) * COS(sf=1, p=2)", 1, true},
               {"MAT12(sf=1, l=1) + MAT52(sf=1, l=2) + RAMP(sf=0.5, tau=1)", 1, true},
               {"SE(sf=0.5, l=1) + STEP(sf=1, tau=1.2, s=0.3)", 1, true},
               {"MIX(sf=1, l=[0.6, 0.9], odds=0.7, rho=3)", 2, true},
               {"0.8 * ADD(sf=1, l=[0.6, 0.9], odds=2, rho=2)", 2, true},
               {"SE(sf=1, l=0.8, dims=[0]) * HAM(l=1.4, dims=[1])", 2, true},
               {"WIENER(sf=1) + SE(sf=0.5, l=1)", 1, false}};
    enum { P = 3, R = 1000 };
    for (size_t c = 0; c < COUNT_OF(row); c++) {
        double x[32], xs[2 * P], mean[P], cov[P * P], f[P], sum[P] = {0}, sq[P * P] = {0};
        rng_init(&rng_, 100 + c, 0, 0);
        struct gp *g = make(row[c].text, row[c].dim, 0.3, 8, x);
        for (int i = 0; i < P * row[c].dim; i++) xs[i] = 0.2 + 0.55 * i;
        assert_int_equal(gp_predict_cov(g, xs, P, GP_LATENT, mean, cov, P), GPM_OK);
        double white = strstr(row[c].text, "WN") ? 0.04 : 0;
        for (int i = 0; i < P; i++) cov[i * (P + 1)] -= white; /* paths leave it out */
        for (int r = 0; r < R; r++) {
            struct gp_path *p = NULL;
            assert_int_equal(gp_path_new(g, row[c].features ? 120 : 60, &rng_, &p), GPM_OK);
            assert_int_equal(gp_path_eval(p, xs, P, f, NULL), GPM_OK);
            double at_once[P];
            assert_int_equal(gp_path_eval_block(p, xs, P, at_once), GPM_OK);
            for (int i = 0; i < P; i++) assert_close(at_once[i], f[i], 1e-8);
            for (int i = 0; i < P; i++) {
                sum[i] += f[i] - mean[i];
                for (int j = 0; j < P; j++) sq[i + P * j] += (f[i] - mean[i]) * (f[j] - mean[j]);
            }
            gp_path_free(p);
        }
        for (int i = 0; i < P; i++) {
            assert_true(fabs(sum[i] / R) < 5 * sqrt(cov[i * (P + 1)] / R) + 1e-3);
            for (int j = 0; j < P; j++) {
                double se = sqrt(2 * cov[i * (P + 1)] * cov[j * (P + 1)] / R);
                assert_true(fabs(sq[i + P * j] / R - cov[i + P * j]) < 6 * se + 5e-3);
            }
        }
        gp_free(g);
    }
}

static void one_path(void **state) {
    double x[32], xs[2] = {0.7, 1.9}, f[2], again[2], alone[2], grad[2], y;
    rng_init(&rng_, 5, 0, 0);
    struct gp *g = make("SE(sf=1, l=0.8)", 1, 0, 6, x);
    struct gp_path *p = NULL;
    assert_int_equal(gp_path_new(g, 500, &rng_, &p), GPM_OK);
    assert_int_equal(gp_path_eval(p, xs, 2, f, grad), GPM_OK);
    assert_int_equal(gp_path_eval(p, xs, 2, again, grad), GPM_OK);
    assert_true(f[0] == again[0] && f[1] == again[1]);
    assert_int_equal(gp_path_eval(p, xs, 2, alone, NULL), GPM_OK); /* summed in another order */
    assert_close(alone[0], f[0], 1e-11);
    assert_int_equal(gp_path_eval(p, xs, 2, again, NULL), GPM_OK);
    assert_true(alone[0] == again[0] && alone[1] == again[1]);
    double near[2] = {0.7 + 1e-4, 0.7 - 1e-4};
    assert_int_equal(gp_path_eval(p, near, 2, again, NULL), GPM_OK);
    assert_close((again[0] - again[1]) / 2e-4, grad[0], 1e-4);
    for (size_t i = 0; i < 6; i++) { /* through the data */
        double at;
        gp_pair(g, i, &at, &y);
        assert_int_equal(gp_path_eval(p, &at, 1, f, NULL), GPM_OK);
        assert_close(f[0], y, 1e-6);
    }
    gp_path_free(p);
    gp_free(g);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(moments), cmocka_unit_test(one_path)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
