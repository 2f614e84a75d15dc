/* SPDX-License-Identifier: Apache-2.0
 *
 * From starts to modes: which starts are polished.
 */
#include "base/mem.h"
#include "numeric/posterior/fit.h"
#include "support/check.h"
#include <math.h>
#include <string.h>

/* A normal density around 3, nothing below -10. */
static double around_three(void *ctx, const double *z, double *grad) {
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
    for (size_t c = 0; c < COUNT_OF(cases); c++) {
        struct fit_starts *s = fit_starts_new(1, 4);
        memcpy(s->z, cases[c].z, sizeof cases[c].z);
        fit_polish(&t, s, 4, &rules, -INFINITY);
        assert_int_equal(s->n, cases[c].n);
        for (int k = 0; k < s->n; k++) assert_int_equal(s->best[k].at, cases[c].best[k]);
        mem_free(s);
    }
}

/* Two hills; the higher one is seen from its own slope alone. */
static double hills(void *ctx, const double *z, double *grad) {
    bool far = z[0] > 10;
    double off = z[0] - (far ? 20 : 3), top = far ? 0 : -5, slope = far ? 4 : 1;
    if (grad) grad[0] = -slope * off;
    return top - 0.5 * slope * off * off;
}

/* The best of the starts that lie apart is polished however low it begins, and comes first where it
 * leads higher; one that is impossible is none. */
static void test_apart(void **state) {
    struct fit_rules r = rules;
    struct density t = {.d = 1, .eval = hills};
    r.iterations = 20;
    for (int apart = 0; apart < 2; apart++) {
        struct fit_starts *s = fit_starts_new(1, 5);
        memcpy(s->z, (double[]){0, 1, 2, 12, 14}, 5 * sizeof *s->z);
        s->apart = apart ? 2 : 0;
        fit_polish(&t, s, 5, &r, -INFINITY);
        assert_int_equal(s->n, apart ? 3 : 2);
        assert_int_equal(s->best[0].at == 4, apart);
        assert_close(s->best[0].logp, apart ? 0 : -5, 1e-6);
        mem_free(s);
    }
    struct fit_starts *s = fit_starts_new(1, 2);
    memcpy(s->z, (double[]){1, -100}, 2 * sizeof *s->z);
    s->apart = 1;
    t.eval = around_three;
    fit_polish(&t, s, 2, &rules, -INFINITY);
    assert_int_equal(s->n, 1);
    mem_free(s);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_ranks), cmocka_unit_test(test_apart)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
