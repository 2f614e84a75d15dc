/* SPDX-License-Identifier: Apache-2.0
 *
 * The public GP header alone: the worked example compiled and run, every call once, errors with
 * messages, two handles in two threads.
 */
#include "support/check.h"

#include "gpmem/gp.h"

#include <pthread.h>

int example_main(void);
#define main example_main
#include "../../examples/c/gp_example.c"
#undef main

static void example(void **state) {
    assert_int_equal(example_main(), 0);
}

static void kernels(void **state) {
    gpm_kernel *k = NULL, *q = NULL;
    char err[200];
    double theta[8], v, a = 0.2, b = 0.9;
    int yes = 0;
    assert_int_equal(gpm_kernel_parse("LIN + SEE", &k, err, sizeof err), GPM_E_FORMAT);
    assert_non_null(strstr(err, "did you mean SE?"));
    assert_int_equal(gpm_kernel_parse("PER(p=2) * SE(l=3) + LIN(sf=2)", &k, err, sizeof err), 0);
    assert_string_equal(gpm_kernel_structure(k), "LIN + SE*PER");
    assert_int_equal(gpm_kernel_contains(k, "PER*SE", &yes), GPM_OK);
    assert_true(yes);
    assert_int_equal(gpm_kernel_nparams(k), 6);
    assert_string_equal(gpm_kernel_param_name(k, 1), "PER.p");
    gpm_kernel_params(k, theta);
    theta[1] = -1;
    assert_int_equal(gpm_kernel_with_params(k, theta, &q, err, sizeof err), GPM_E_ARG);
    assert_non_null(strstr(err, "p must be positive"));
    theta[1] = 5;
    assert_int_equal(gpm_kernel_with_params(k, theta, &q, err, sizeof err), GPM_OK);
    assert_non_null(strstr(gpm_kernel_text(q), "p=5"));
    gpm_kernel *sum = gpm_kernel_sum(k, q), *scaled = gpm_kernel_scale(2, sum);
    gpm_kernel *prod = gpm_kernel_product(k, q), *simple = gpm_kernel_simplify(scaled);
    double one, two;
    assert_int_equal(gpm_kernel_eval(scaled, &a, &b, 1, &one), GPM_OK);
    assert_int_equal(gpm_kernel_eval(simple, &a, &b, 1, &two), GPM_OK);
    assert_close(one, two, 1e-13);
    assert_int_equal(gpm_kernel_eval(prod, &a, &b, 1, &v), GPM_OK);
    assert_null(gpm_kernel_scale(-1, k));
    const char *name, *formula;
    size_t row = 0; /* every row has a name and a formula; SE is one of them */
    while (gpm_kernel_row(row, &name, &formula) && strcmp(name, "SE")) row++;
    assert_true(gpm_kernel_row(row, &name, &formula));
    assert_non_null(strstr(formula, "exp("));
    assert_false(gpm_kernel_row(1000, &name, &formula));
    gpm_kernel_free(k), gpm_kernel_free(q), gpm_kernel_free(sum), gpm_kernel_free(scaled);
    gpm_kernel_free(prod), gpm_kernel_free(simple);
}

static enum gpm_status twice(void *user, const double *x, int dim, double *out) {
    *out = 2 * x[0];
    return GPM_OK;
}

static void processes(void **state) {
    gpm_kernel *k = NULL;
    gpm_gp *g = gpm_gp_new(), *c = NULL;
    double x[4] = {0, 1, 2, 3}, y[4] = {0, 2, 4, 6}, lm, lm2, m[2], v[2], cov[4], dk[2], dn;
    double xs[2] = {0.5, 9}, f[2], loo[4], slope = 2;
    assert_int_equal(gpm_gp_remove(g, x, 1), GPM_E_ARG);
    assert_non_null(strstr(gpm_gp_error(g), "no model"));
    assert_int_equal(gpm_kernel_parse("SE", &k, NULL, 0), GPM_OK);
    assert_int_equal(gpm_gp_set_kernel(g, 0, k, 0), GPM_E_ARG);
    assert_non_null(strstr(gpm_gp_error(g), "from 1"));
    assert_int_equal(gpm_gp_set_kernel(g, 1, k, -1), GPM_E_ARG);
    assert_non_null(strstr(gpm_gp_error(g), "noise"));
    assert_int_equal(gpm_gp_set_kernel(g, 1, k, 0.1), GPM_OK);
    assert_int_equal(gpm_gp_set_mean_linear(g, 0, &slope), GPM_OK);
    assert_int_equal(gpm_gp_add(g, x, y, 4), GPM_OK);
    assert_int_equal(gpm_gp_count(g), 4);
    assert_int_equal(gpm_gp_predict(g, xs, 2, false, m, v), GPM_OK);
    assert_close(m[0], 1, 1e-12); /* the data lie on the mean */
    assert_close(m[1], 18, 1e-12);
    assert_int_equal(gpm_gp_set_mean_function(g, twice, NULL, NULL), GPM_OK);
    assert_int_equal(gpm_gp_predict_cov(g, xs, 2, true, m, cov), GPM_OK);
    assert_close(m[1], 18, 1e-12);
    assert_close(cov[3], v[1] + 0.01, 1e-10);
    assert_int_equal(gpm_gp_log_likelihood_grad(g, &lm, dk, &dn), GPM_OK);
    assert_int_equal(gpm_gp_loo(g, loo, NULL, NULL), GPM_OK);
    f[0] = 1, f[1] = 18;
    assert_int_equal(gpm_gp_conditional(g, xs, f, 2, &lm2), GPM_OK);
    assert_int_equal(gpm_gp_propose(g, k, 0.2, &lm2), GPM_OK);
    gpm_gp_reject(g);
    assert_true(gpm_gp_noise(g) == 0.1);
    assert_int_equal(gpm_gp_propose(g, k, 0.2, &lm2), GPM_OK);
    gpm_gp_accept(g);
    assert_true(gpm_gp_noise(g) == 0.2);
    assert_int_equal(gpm_gp_copy(g, &c), GPM_OK);
    assert_int_equal(gpm_gp_log_likelihood(c, &lm), GPM_OK);
    assert_close(lm, lm2, 1e-12);
    assert_int_equal(gpm_gp_remove(c, x, 5), GPM_E_NOT_FOUND);
    assert_int_equal(gpm_gp_set_approximation(c, GPM_APPROX_VECCHIA, 10), GPM_OK);
    assert_int_equal(gpm_gp_set_cache(c, 0), GPM_OK);
    assert_int_equal(gpm_gp_log_likelihood(c, &lm), GPM_OK);
    assert_string_equal(gpm_gp_method(c), "Vecchia (block neighbours)");
    assert_int_equal(gpm_gp_loo(c, loo, NULL, NULL), GPM_E_LIMIT);
    assert_non_null(strstr(gpm_gp_error(c), "exact"));
    gpm_gp_free(g), gpm_gp_free(c), gpm_kernel_free(k);
}

/* A stationary point of the likelihood is found from a bad start, the mean kept. */
static void fit(void **state) {
    double x[80], y[80], best, before, theta[2], dk[2], dn;
    unsigned seed = 9;
    for (int i = 0; i < 80; i++) {
        x[i] = 8 * uniform(&seed);
        y[i] = 5 + 3 * sin(x[i]) + uniform(&seed);
    }
    gpm_gp *g = gpm_gp_new();
    assert_int_equal(gpm_gp_model(g, 1, "SE(sf=0.3, l=0.2)", 1), GPM_OK);
    assert_int_equal(gpm_gp_set_mean_constant(g, 5.5), GPM_OK);
    assert_int_equal(gpm_gp_add(g, x, y, 80), GPM_OK);
    assert_int_equal(gpm_gp_log_likelihood(g, &before), GPM_OK);
    assert_int_equal(gpm_gp_fit(g, NULL), GPM_OK);
    assert_int_equal(gpm_gp_log_likelihood_grad(g, &best, dk, &dn), GPM_OK);
    assert_true(best > before + 50);
    gpm_kernel *k = gpm_gp_get_kernel(g);
    gpm_kernel_params(k, theta);
    assert_true(theta[0] > 1 && theta[1] > 0.8 && theta[1] < 4);
    assert_close(gpm_gp_noise(g), sqrt(1.0 / 12), 0.25);
    assert_true(fabs(dk[0] * theta[0]) < 1e-2 && fabs(dk[1] * theta[1]) < 1e-2);
    gpm_kernel_free(k);
    gpm_gp_free(g);
}

static void *worker(void *arg) {
    double x[60], y[60], *out = arg;
    gpm_kernel *k = NULL;
    gpm_gp *g = gpm_gp_new();
    for (int i = 0; i < 60; i++) x[i] = 0.1 * i * i, y[i] = sin(x[i]);
    if (gpm_kernel_parse("SE(l=2) + WN(sigma=0.1)", &k, NULL, 0)) return NULL;
    if (gpm_gp_set_kernel(g, 1, k, 0.1) || gpm_gp_add(g, x, y, 60)) return NULL;
    for (int i = 0; i < 200; i++)
        if (gpm_gp_propose(g, k, 0.1 + 0.001 * i, out)) return NULL;
    gpm_gp_free(g);
    gpm_kernel_free(k);
    return arg;
}

static void threads(void **state) {
    pthread_t t[2];
    double r[2] = {0, 1};
    void *ok;
    for (int i = 0; i < 2; i++) assert_int_equal(pthread_create(&t[i], NULL, worker, &r[i]), 0);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(pthread_join(t[i], &ok), 0);
        assert_non_null(ok);
    }
    assert_true(r[0] == r[1]);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(example), cmocka_unit_test(kernels),
                                       cmocka_unit_test(processes), cmocka_unit_test(fit),
                                       cmocka_unit_test(threads)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
