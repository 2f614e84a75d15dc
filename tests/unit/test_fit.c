/* SPDX-License-Identifier: Apache-2.0
 *
 * From starts to modes: which starts are polished.
 */
#include "base/mem.h"
#include "infer/fit.h"
#include "support/check.h"
#include <math.h>
#include <string.h>

/* A normal density around 3, nothing below -10. */
static double around_three(void *ctx, const double *z, double *grad) {
    UNUSED(ctx);
    if (z[0] < -10) return -INFINITY;
    if (grad) grad[0] = 3 - z[0];
    return -5 - 0.5 * (z[0] - 3) * (z[0] - 3);
}

static const struct fit_rules rules = {.polished = 2, .modes = 10, .range = 10, .apart = 0.1};

/* Starts where nothing can be are passed over, wherever they stand; equal ones count once. */
static void test_ranks(void **state) {
    static const struct {
        double z[4];
        int n, best[2];
    } cases[] = {
        {{0, 1, 2, -5}, 2, {2, 1}},          {{-100, 0, 1, 2}, 2, {3, 2}},
        {{0, -100, 2, 1}, 2, {2, 3}},        {{2, 2, 2, 2}, 1, {0, -1}},
        {{-100, -100, -100, 1}, 1, {3, -1}}, {{-100, -100, -100, -100}, 0, {-1, -1}},
    };
    struct density t = {.d = 1, .eval = around_three};
    UNUSED(state);
    for (size_t c = 0; c < COUNT_OF(cases); c++) {
        struct fit_starts *s = fit_starts_new(1, 4);
        memcpy(s->z, cases[c].z, sizeof cases[c].z);
        fit_polish(&t, s, 4, &rules, -INFINITY);
        assert_int_equal(s->n, cases[c].n);
        for (int k = 0; k < s->n; k++) assert_int_equal(s->best[k].at, cases[c].best[k]);
        mem_free(s);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_ranks)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
