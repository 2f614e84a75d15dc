/* SPDX-License-Identifier: Apache-2.0
 *
 * Pareto smoothing, leave-one-out and WAIC against R's package loo (2.5.1). The fixtures, in R:
 *
 *     i <- 1:1000; u <- (i * 0.6180339887498949) %% 1
 *     p <- psis(matrix(-a * log1p(-u), 1000, 1), r_eff = 0.5)      for a in 0.3, 0.8, 1.4
 *     p$diagnostics$pareto_k; w <- weights(p, log = TRUE); max(w); sort(w)[950]; w[7]
 *     ll <- sapply(1:4, function(j)
 *         -0.5 * j * qnorm((i * 0.6180339887498949 + 0.1 * j) %% 1)^2 - j)
 *     waic(ll)$estimates
 */
#include "support/check.h"

#include "base/number.h"
#include "numeric/posterior/loo.h"
#include "numeric/special/special.h"

enum { N = 1000 };

static double uniform(size_t i, double shift) {
    return fmod((double)i * 0.6180339887498949 + shift, 1);
}

static void smoothing_is_that_of_loo(void **state) {
    (void)state;
    static const struct {
        double a, k, largest, at_950, seventh;
    } want[] = {
        {0.3, 0.328464758110311, -4.95513890731382, -6.36854138613467, -7.14649219886358},
        {0.8, 0.782571864406565, -2.30933612861557, -5.93602946638861, -8.00480383544963},
        {1.4, 1.32657704430298, -0.718876166558418, -6.86381223516787, -10.4736750319312},
    };
    for (size_t t = 0; t < 3; t++) {
        double w[N];
        for (size_t i = 0; i < N; i++) w[i] = -want[t].a * log1p(-uniform(i + 1, 0));
        assert_close(psis(w, N, 0.5), want[t].k, 1e-10);
        assert_close(w[6], want[t].seventh, 1e-10);
        qsort(w, N, sizeof *w, number_compare);
        assert_close(w[N - 1], want[t].largest, 1e-10);
        assert_close(w[949], want[t].at_950, 1e-10);
    }
}

/* Weights that are all alike, and too few for a tail: nothing to smooth, and the sum is 1. */
static void flat_weights_stay(void **state) {
    (void)state;
    double w[40], few[4] = {0, 1, 2, 3};
    for (size_t i = 0; i < 40; i++) w[i] = 3;
    assert_close(psis(w, 40, 1), 0, 1e-12);
    for (size_t i = 0; i < 40; i++) assert_close(w[i], -log(40), 1e-12);
    assert_true(isinf(psis(few, 4, 1)));
    assert_close(exp(few[0]) + exp(few[1]) + exp(few[2]) + exp(few[3]), 1, 1e-12);
}

static void fill(struct draw_table *d) {
    static const char *const names[] = {"mu", "log_lik.1", "log_lik.2", "log_lik.3", "log_lik.4"};
    draw_table_init(d, 1);
    for (size_t i = 1; i <= N; i++) {
        double row[5] = {(double)i};
        for (size_t j = 1; j <= 4; j++) {
            double z = norm_quantile(uniform(i, 0.1 * (double)j));
            row[j] = -0.5 * (double)j * z * z - (double)j;
        }
        draw_table_push(d, 0, names, row, 5);
    }
}

static void waic_is_that_of_loo(void **state) {
    (void)state;
    struct draw_table d;
    struct buf why = BUF_INIT;
    struct loo l;
    fill(&d);
    assert_true(loo_of_table(&d, &l, &why));
    assert_int_equal(l.n, 4);
    struct loo_sum waic = loo_total(&l, offsetof(struct loo_point, elpd_waic));
    assert_close(waic.sum, -27.3166596871, 1e-10);
    assert_close(waic.se, 9.36968706877, 1e-10);
    assert_close(loo_total(&l, offsetof(struct loo_point, p_waic)).sum, 14.9233036577, 1e-10);
    /* with draws that alternate, a draw is worth more than one: loo is asked with r_eff = 1 */
    assert_close(loo_total(&l, offsetof(struct loo_point, elpd)).sum, -40.2372876594, 0.05);
    assert_true(loo_complain(&l, &why) > 0);
    loo_release(&l);
    buf_release(&why);
    draw_table_release(&d);
}

static void what_cannot_be_computed_is_refused(void **state) {
    (void)state;
    struct draw_table d;
    struct loo l;
    struct buf why = BUF_INIT;
    draw_table_init(&d, 1);
    assert_false(loo_of_table(&d, &l, &why));
    assert_non_null(strstr(why.data, "log_lik()"));
    draw_table_release(&d);
    fill(&d);
    d.chain.at[0].columns.at[2].x.at[1] = -INFINITY;
    buf_reset(&why);
    assert_false(loo_of_table(&d, &l, &why));
    assert_non_null(strstr(why.data, "observation 2 has probability zero"));
    buf_release(&why);
    draw_table_release(&d);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(smoothing_is_that_of_loo),
        cmocka_unit_test(flat_weights_stay),
        cmocka_unit_test(waic_is_that_of_loo),
        cmocka_unit_test(what_cannot_be_computed_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
