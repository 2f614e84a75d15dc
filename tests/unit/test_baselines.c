/* SPDX-License-Identifier: Apache-2.0
 *
 * Simple forecasts against those of R's package forecast 8.x (thetaf, ets) on the same values, and
 * on series whose continuation is known.
 */
#include "apps/discover/baselines.h"
#include "table/table.h"
#include "support/check.h"
#include <math.h>
#include <string.h>

/* The passengers up to the end of 1958. */
static void airline(double *y, size_t n) {
    struct csv c;
    struct buf err = BUF_INIT;
    assert_int_equal(csv_table(&c, SOURCE_DIR "/data/airline.csv", NULL, 0, &err), GPM_OK);
    table_head(&c, NULL);
    struct table_column k;
    table_column_read(&k, &c, c.n_cols - 1, &(struct column_wish){0});
    memcpy(y, k.x, n * sizeof *y);
    table_column_release(&k);
    csv_release(&c);
    buf_release(&err);
}

static void test_against_r(void **state) {
    static const double theta[12] = {341.62, 335.58, 385.40, 370.13, 371.19, 423.50,
                                     464.32, 460.89, 408.72, 355.77, 310.41, 351.43};
    static const double ets[12] = {345.48, 342.02, 391.69, 376.66, 375.24, 427.31,
                                   469.33, 466.12, 409.14, 356.20, 309.28, 349.28};
    double y[120], out[12];
    airline(y, 120);
    baseline_forecast(BASELINE_THETA, 120, y, 12, 12, out);
    for (int i = 0; i < 12; i++) assert_close(out[i], theta[i], 0.005);
    baseline_forecast(BASELINE_SMOOTHING, 120, y, 12, 12, out);
    for (int i = 0; i < 12; i++) assert_close(out[i], ets[i], 0.03); /* other starts and errors */
    baseline_forecast(BASELINE_SEASONAL, 120, y, 12, 12, out);
    for (int i = 0; i < 12; i++) assert_close(out[i], y[108 + i], 0);
    baseline_forecast(BASELINE_NAIVE, 120, y, 12, 12, out);
    for (int i = 0; i < 12; i++) assert_close(out[i], y[119], 0);
}

static void test_known_continuations(void **state) {
    double y[60], out[24];
    for (int i = 0; i < 60; i++) y[i] = 10 + 0.5 * i + 3 * ((i % 4) - 1.5);
    baseline_forecast(BASELINE_SMOOTHING, 60, y, 4, 24, out);
    for (int i = 0; i < 24; i++)
        assert_close(out[i], 10 + 0.5 * (60 + i) + 3 * (((60 + i) % 4) - 1.5), 0.02);
    for (int i = 0; i < 60; i++) y[i] = -5; /* nothing to divide by */
    for (int b = 0; b < BASELINES; b++) {
        baseline_forecast((enum baseline)b, 60, y, 4, 24, out);
        for (int i = 0; i < 24; i++) assert_close(out[i], -5, 1e-9);
    }
    for (size_t n = 2; n < 14; n++) /* short ones, seasons longer than the series */
        for (int b = 0; b < BASELINES; b++) {
            for (size_t i = 0; i < n; i++) y[i] = (double)(i * i % 7) - 3;
            baseline_forecast((enum baseline)b, n, y, 12, 24, out);
            for (int i = 0; i < 24; i++) assert_true(isfinite(out[i]));
        }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_against_r),
                                       cmocka_unit_test(test_known_continuations)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
