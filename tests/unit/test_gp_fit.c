/* SPDX-License-Identifier: Apache-2.0
 * The public Gaussian processes (gpmem/gp.h): fits, predictions, draws, errors. */
#include "gpmem/gp.h"
#include "support/check.h"

#include <math.h>
#include <string.h>

enum { N = 25 };

static void curve(double *x, double *y) {
    for (int i = 0; i < N; i++) {
        x[i] = 0.25 * i;
        y[i] = sin(x[i]) + 0.02 * (i * i * 7 % 11 - 5); /* rough, in the place of noise */
    }
}

static gpm_gp *fitted(unsigned starts) {
    double x[N], y[N];
    curve(x, y);
    gpm_gp *g = gpm_gp_new();
    assert_int_equal(gpm_gp_model(g, 1, "SE(sf=1, l=1)", 0.2), GPM_OK);
    assert_int_equal(gpm_gp_add(g, x, y, N), GPM_OK);
    struct gpm_gp_fit_options o;
    gpm_gp_fit_options_init(&o);
    o.starts = starts;
    assert_int_equal(gpm_gp_fit(g, &o), GPM_OK);
    return g;
}

/* Exact for one pair: mean k/(k+s^2) y, variance k - k^2/(k+s^2), log N(y; 0, k+s^2). */
static void one_pair(void **state) {
    (void)state;
    gpm_gp *g = gpm_gp_new();
    double x = 0, y = 3, at[2] = {0, 1}, m[2], v[2], logml, cov[4];
    assert_int_equal(gpm_gp_model(g, 1, "SE(sf=2, l=1)", 1), GPM_OK);
    assert_int_equal(gpm_gp_add(g, &x, &y, 1), GPM_OK);
    assert_int_equal(gpm_gp_predict(g, at, 2, false, m, v), GPM_OK);
    double k = 4 * exp(-0.5);
    assert_close(m[0], 4.0 / 5 * 3, 1e-12);
    assert_close(m[1], k / 5 * 3, 1e-12);
    assert_close(v[1], 4 - k * k / 5, 1e-12);
    assert_int_equal(gpm_gp_predict_cov(g, at, 2, true, m, cov), GPM_OK);
    assert_close(cov[0], 4 - 16.0 / 5 + 1, 1e-12);
    assert_close(cov[1], k - 4 * k / 5, 1e-12);
    assert_int_equal(gpm_gp_log_likelihood(g, &logml), GPM_OK);
    assert_close(logml, -0.5 * (9.0 / 5 + log(5) + log(2 * M_PI)), 1e-12);
    assert_int_equal(gpm_gp_count(g), 1);
    gpm_gp_free(g);
}

/* The fit ends where the likelihood is flat: no neighbour is better. */
static void fit_is_a_maximum(void **state) {
    (void)state;
    gpm_gp *g = fitted(2);
    double best, other, noise = gpm_gp_noise(g), sf, l;
    assert_int_equal(gpm_gp_log_likelihood(g, &best), GPM_OK);
    assert_int_equal(sscanf(gpm_gp_kernel(g), "SE(sf=%lf, l=%lf)", &sf, &l), 2);
    for (int i = 0; i < 6; i++) {
        double f = i % 2 ? 1.02 : 1 / 1.02;
        char text[99];
        snprintf(text, sizeof text, "SE(sf=%.17g, l=%.17g)", i / 2 == 0 ? sf * f : sf,
                 i / 2 == 1 ? l * f : l);
        assert_int_equal(gpm_gp_model(g, 1, text, i / 2 == 2 ? noise * f : noise), GPM_OK);
        assert_int_equal(gpm_gp_count(g), N); /* the data stay */
        assert_int_equal(gpm_gp_log_likelihood(g, &other), GPM_OK);
        assert_true(other < best);
    }
    gpm_gp_free(g);
}

static void draws(void **state) {
    (void)state;
    gpm_gp *g = fitted(0);
    double at[3] = {0.1, 3.3, 9}, a[6], b[6];
    assert_int_equal(gpm_gp_sample(g, at, 3, 7, 2, a), GPM_OK);
    assert_int_equal(gpm_gp_sample(g, at, 3, 7, 2, b), GPM_OK);
    assert_memory_equal(a, b, sizeof a);
    assert_true(a[2] != a[5]);
    assert_close(a[1], sin(3.3), 0.15);
    gpm_gp_free(g);
}

static void refuses(gpm_gp *g, enum gpm_status st, const char *words) {
    assert_int_not_equal(st, GPM_OK);
    if (!strstr(gpm_gp_error(g), words)) fail_msg("'%s' lacks '%s'", gpm_gp_error(g), words);
}

static void errors(void **state) {
    (void)state;
    gpm_gp *g = gpm_gp_new();
    double x = 0, y = NAN, out;
    refuses(g, gpm_gp_add(g, &x, &x, 1), "gpm_gp_model");
    refuses(g, gpm_gp_model(g, 0, "SE", 0.1), "dimension");
    refuses(g, gpm_gp_model(g, 1, "SE", -1), "noise");
    refuses(g, gpm_gp_model(g, 1, "NOPE", 1), "NOPE");
    refuses(g, gpm_gp_model(g, 1, "SE(l=[1, 2])", 1), "2");
    assert_int_equal(gpm_gp_model(g, 1, "SE", 0.1), GPM_OK);
    assert_string_equal(gpm_gp_error(g), "");
    refuses(g, gpm_gp_add(g, &x, &y, 1), "value");
    refuses(g, gpm_gp_predict(g, &y, 1, false, &out, NULL), "input");
    struct gpm_gp_fit_options o;
    gpm_gp_fit_options_init(&o);
    o.range = 0.5;
    refuses(g, gpm_gp_fit(g, &o), "range");
    gpm_gp_clear(g);
    gpm_gp_free(g);
    gpm_gp_free(NULL);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_pair),
        cmocka_unit_test(fit_is_a_maximum),
        cmocka_unit_test(draws),
        cmocka_unit_test(errors),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
