/* SPDX-License-Identifier: Apache-2.0
 * Series that jump again and again on one side, and those that do not. */
#include "apps/discover/shots.h"
#include "numeric/special/rng.h"
#include "support/check.h"
#include <math.h>

#define N 400

/* Falls back slowly to 10; now and then it rises. */
static void moisture(double *y, double share, unsigned seed) {
    struct rng r;
    double v = 30;
    rng_init(&r, seed, 0, 0);
    for (int i = 0; i < N; i++) {
        v = 10 + (v - 10) * 0.97;
        if (rng_uniform(&r) < share) v += 8 + 12 * rng_uniform(&r);
        y[i] = v + 0.2 * rng_normal(&r);
    }
}

static void test_found(void **state) {
    double y[N];
    for (unsigned seed = 1; seed <= 10; seed++) {
        moisture(y, 0.05, seed);
        struct shots s = shots_find(N, y, NULL);
        assert_true(s.side == 1 && s.count >= 8 && s.count <= 40);
        for (int i = 0; i < N; i++) y[i] = 100 - y[i];
        s = shots_find(N, y, NULL);
        assert_true(s.side == -1);
        for (int i = 0; i < N; i++) y[i] = exp(0.1 * (100 - y[i])); /* as logarithms show it */
        assert_true(shots_find(N, y, NULL).side == 1);
    }
}

static void test_others(void **state) {
    double y[N], walk = 0;
    struct rng r;
    rng_init(&r, 3, 0, 0);
    moisture(y, 0.005, 1); /* two or three of them are events */
    assert_int_equal(shots_find(N, y, NULL).side, 0);
    for (int i = 0; i < N; i++) y[i] = walk += rng_normal(&r);
    assert_int_equal(shots_find(N, y, NULL).side, 0);
    for (int i = 0; i < N; i++) y[i] = i % 7 == 6 ? 0 : 100 + 40 * (i % 7 == 5) + rng_normal(&r);
    assert_int_equal(shots_find(N, y, NULL).side,
                     0); /* closed on Sundays: it is taken back at once */
    for (int i = 0; i < N; i++) y[i] = 0.1 * (i % 100) + 0.05 * rng_normal(&r);
    assert_int_equal(shots_find(N, y, NULL).side, 0); /* three resets */
    for (int i = 0; i < N; i++) y[i] = i / 50;
    assert_int_equal(shots_find(N, y, NULL).side, 0); /* hardly ever moves */
    assert_int_equal(shots_find(5, y, NULL).side, 0);
    assert_int_equal(shots_find(0, y, NULL).side, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_found), cmocka_unit_test(test_others)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
