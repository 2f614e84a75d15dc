/* SPDX-License-Identifier: Apache-2.0
 *
 * Small words of reports: durations with their intervals, shares.
 */
#include "apps/discover/words.h"
#include "support/check.h"
#include <stdio.h>
#include <string.h>

static void expect(struct buf *b, const char *text) {
    assert_string_equal(b->data, text);
    buf_reset(b);
}

/* Ends of an interval are in the unit of its middle; far from it in their own. */
static void test_durations(void **state) {
    struct discovery d;
    struct buf b = BUF_INIT;
    memset(&d, 0, sizeof d);
    d.series.unit = "day";
    words_duration(&d, 30.44, &b);
    expect(&b, "1 month");
    words_duration(&d, 14, &b);
    expect(&b, "2 weeks");
    words_duration_about(&d, 30.44, 30.6, &b);
    expect(&b, "30.4 days");
    words_duration_about(&d, 14, 16.4, &b);
    expect(&b, "14 days");
    words_duration_about(&d, 0.25, 16.4, &b);
    expect(&b, "6 hours");
    words_duration_about(&d, 1461, 16.4, &b);
    expect(&b, "4 years");
    buf_release(&b);
}

static void test_shares(void **state) {
    static const struct {
        double share;
        const char *text;
    } cases[] = {{1.78, "178%"},  {0.12, "12%"},          {0.014, "1%"},
                 {0.004, "0.4%"}, {0.0002, "below 0.1%"}, {0, "below 0.1%"}};
    struct buf b = BUF_INIT;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        words_share(cases[i].share, 0.01, &b);
        expect(&b, cases[i].text);
    }
    buf_release(&b);
}

static void test_probabilities(void **state) {
    static const struct {
        double p;
        const char *text;
    } cases[] = {{0.9999, "almost certain (above 99.9%)"}, {0.995, "almost certain (99.5%)"},
                 {0.5, "as likely as not (50%)"},          {0.006, "very unlikely (0.6%)"},
                 {0.0002, "very unlikely (below 0.1%)"},   {0, "very unlikely (below 0.1%)"}};
    struct buf b = BUF_INIT;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        words_probability(cases[i].p, &b);
        expect(&b, cases[i].text);
    }
    buf_release(&b);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_durations),
                                       cmocka_unit_test(test_shares),
                                       cmocka_unit_test(test_probabilities)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
