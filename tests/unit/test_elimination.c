/* SPDX-License-Identifier: Apache-2.0
 *
 * Sums by elimination beside sums over all joint values: totals, marginals, draws.
 */
#include "support/check.h"

#include "inference/sums/elimination.h"
#include <math.h>

enum { VARS = 5, TABLES = 6 };
static const uint32_t sizes[VARS] = {2, 3, 2, 4, 2};
/* A chain 0-1-2, a loop through 3, and one variable by itself. */
static const uint32_t scopes[TABLES][3] = {{0, 1}, {1, 2}, {0, 2, 3}, {3}, {4}, {1}};
static const size_t lengths[TABLES] = {2, 2, 3, 1, 1, 1};

static struct elimination *filled(uint64_t seed) {
    struct elimination *e = elimination_new(sizes, VARS);
    struct rng rng;
    rng_init(&rng, seed, 0, 0);
    for (size_t t = 0; t < TABLES; t++)
        assert_int_equal(elimination_add(e, scopes[t], lengths[t]), t);
    assert_true(elimination_plan(e, 1000));
    for (size_t t = 0; t < TABLES; t++) {
        size_t n;
        double *at = elimination_cells(e, t, &n);
        for (size_t i = 0; i < n; i++)
            at[i] = 3 * rng_uniform(&rng) - (t == 0 && i == 1 ? INFINITY : 0);
    }
    return e;
}

/* Joint value j; its log weight. */
static double weight_of(struct elimination *e, size_t j, uint32_t *digits) {
    double w = 0;
    size_t n;
    for (size_t i = 0; i < VARS; i++) {
        digits[i] = (uint32_t)(j % sizes[i]);
        j /= sizes[i];
    }
    for (size_t t = 0; t < TABLES; t++)
        w += elimination_cells(e, t, &n)[elimination_cell(e, t, digits)];
    return w;
}

enum { JOINT = 2 * 3 * 2 * 4 * 2 };

static void sums_and_marginals(void **state) {
    for (uint64_t seed = 1; seed <= 3; seed++) {
        struct elimination *e = filled(seed);
        uint32_t digits[VARS];
        double total = 0, cell[TABLES][24] = {{0}};
        for (size_t j = 0; j < JOINT; j++) {
            double p = exp(weight_of(e, j, digits));
            total += p;
            for (size_t t = 0; t < TABLES; t++) cell[t][elimination_cell(e, t, digits)] += p;
        }
        assert_true(fabs(elimination_log_sum(e) - log(total)) < 1e-12);
        elimination_marginals(e);
        for (size_t t = 0; t < TABLES; t++) {
            size_t n;
            (void)elimination_cells(e, t, &n);
            for (size_t i = 0; i < n; i++)
                assert_true(fabs(elimination_probabilities(e, t)[i] - cell[t][i] / total) < 1e-12);
        }
        elimination_free(e);
    }
}

static void draws_have_the_probabilities(void **state) {
    enum { DRAWS = 60000 };
    struct elimination *e = filled(4);
    struct rng rng;
    uint32_t digits[VARS];
    size_t count[JOINT] = {0};
    double total = exp(elimination_log_sum(e)), chi2 = 0;
    rng_init(&rng, 5, 0, 0);
    for (size_t k = 0; k < DRAWS; k++) {
        size_t j = 0, stride = 1;
        elimination_draw(e, &rng, digits);
        for (size_t i = 0; i < VARS; i++) {
            j += stride * digits[i];
            stride *= sizes[i];
        }
        count[j]++;
    }
    for (size_t j = 0; j < JOINT; j++) {
        double want = DRAWS * exp(weight_of(e, j, digits)) / total;
        if (want == 0)
            assert_int_equal(count[j], 0);
        else
            chi2 += ((double)count[j] - want) * ((double)count[j] - want) / want;
    }
    assert_true(chi2 < 95 + 5 * sqrt(2 * 95)); /* about 80 degrees of freedom */
    elimination_free(e);
}

static void too_large_is_said(void **state) {
    struct elimination *e = elimination_new(sizes, VARS);
    const uint32_t all[VARS] = {0, 1, 2, 3, 4};
    (void)elimination_add(e, all, VARS);
    assert_false(elimination_plan(e, JOINT - 1));
    elimination_free(e);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sums_and_marginals),
        cmocka_unit_test(draws_have_the_probabilities),
        cmocka_unit_test(too_large_is_said),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
