/* SPDX-License-Identifier: Apache-2.0
 *
 * Reading time series: formats of times, missing and bad rows, columns, messages with line numbers.
 */
#include "discover/series.h"
#include "support/check.h"

static enum gpm_status parse(const char *text, struct series_options o, struct series *s,
                             struct buf *err) {
    buf_reset(err);
    return series_read(s, "f.csv", text, strlen(text), &o, err);
}

static void rows(struct buf *b, const char *fmt_year, int n) {
    for (int i = 0; i < n; i++) {
        buf_printf(b, fmt_year, 2000 + i / 12, i % 12 + 1);
        buf_printf(b, ",%d\n", i * i % 17);
    }
}

static void test_times(void **state) {
    UNUSED(state);
    static const struct {
        const char *text;
        double x;
        enum time_kind kind;
    } good[] = {{"1949", 1949, TIME_NUMBER},
                {"-3.5e2", -350, TIME_NUMBER},
                {"1949-01", 1949, TIME_MONTH},
                {"1949/07", 1949.5, TIME_MONTH},
                {"Jul 1949", 1949.5, TIME_MONTH},
                {"1949-Jul", 1949.5, TIME_MONTH},
                {"1949Q2", 1949.25, TIME_QUARTER},
                {"1949-Q4", 1949.75, TIME_QUARTER},
                {"1970-01-01", 0, TIME_DATE},
                {"2000-03-01", 11017, TIME_DATE},
                {"1969-12-31", -1, TIME_DATE},
                {"1970-01-02T12:00", 1.5, TIME_INSTANT},
                {"1970-01-02 06:00:00Z", 1.25, TIME_INSTANT},
                {"1970-01-02T06:00:00+06:00", 1, TIME_INSTANT}};
    for (size_t i = 0; i < COUNT_OF(good); i++) {
        double x;
        enum time_kind kind;
        assert_int_equal(series_parse_time(good[i].text, &x, &kind), GPM_OK);
        assert_close(x, good[i].x, 1e-12);
        assert_int_equal(kind, good[i].kind);
    }
    static const char *const bad[] = {
        "",       "01/02/2020", "2020-13",          "2020-02-30", "2020-1-1", "20200101x",
        "1949Q5", "yesterday",  "1970-01-01T25:00", "nan",        "inf",      "1949-"};
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        double x;
        enum time_kind kind;
        assert_int_equal(series_parse_time(bad[i], &x, &kind), GPM_E_FORMAT);
    }
}

static void test_round_trip_of_dates(void **state) {
    UNUSED(state);
    for (long day = -800000; day < 800000; day += 977) {
        struct buf b = BUF_INIT;
        double x;
        enum time_kind kind;
        series_print_time(&(struct series){.kind = TIME_DATE, .unit = "day"}, (double)day, &b);
        if (day > -719000) { /* years 0001 and later have four digits */
            assert_int_equal(series_parse_time(b.data, &x, &kind), GPM_OK);
            assert_close(x, (double)day, 1e-15);
        }
        buf_release(&b);
    }
    for (int kind = TIME_NUMBER; kind <= TIME_INSTANT; kind++) { /* no calendar goes that far */
        struct buf b = BUF_INIT;
        series_print_time(&(struct series){.kind = (enum time_kind)kind, .unit = "day"}, -1.5e300,
                          &b);
        assert_string_equal(b.data, "-1.5e+300");
        buf_release(&b);
    }
}

static void test_months(void **state) {
    UNUSED(state);
    struct series s;
    struct buf err = BUF_INIT, text = BUF_INIT;
    buf_puts(&text, "ds,y\n");
    rows(&text, "%04d-%02d-01", 30);
    assert_int_equal(parse(text.data, (struct series_options){0}, &s, &err), GPM_OK);
    assert_int_equal(s.n, 30);
    assert_string_equal(s.unit, "year");
    assert_close(s.x[13], 2001 + 1 / 12.0, 1e-12);
    assert_string_equal(s.value_name, "y");
    series_release(&s);
    buf_reset(&text);
    rows(&text, "%04d-%02d", 30); /* no header */
    assert_int_equal(parse(text.data, (struct series_options){0}, &s, &err), GPM_OK);
    assert_int_equal(s.n, 30);
    assert_int_equal(s.kind, TIME_MONTH);
    series_release(&s);
    buf_release(&text);
    buf_release(&err);
}

static void test_order_missing_repeated(void **state) {
    UNUSED(state);
    struct series s;
    struct buf err = BUF_INIT;
    const char *text = "t,v\n9,1\n8,2\n7,3\n6,NA\n5,5\n4,\n3,7\n3,8\n2,9\n1,2\n0,4\n";
    struct series_options o = {0};
    assert_int_equal(parse(text, o, &s, &err), GPM_OK);
    assert_int_equal(s.n, 9);
    assert_int_equal(s.missing, 2);
    assert_int_equal(s.repeated, 1);
    assert_false(s.sorted);
    assert_close(s.x[0], 0, 0);
    assert_close(s.y[3], 7, 0); /* repeated times keep the order of the file */
    assert_close(s.y[4], 8, 0);
    series_release(&s);
    o.max_points = 8;
    assert_int_equal(parse(text, o, &s, &err), GPM_OK);
    assert_int_equal(s.n, 8);
    assert_int_equal(s.left_out, 1);
    series_release(&s);
    buf_release(&err);
}

static void expect_error(const char *text, struct series_options o, const char *part) {
    struct series s;
    struct buf err = BUF_INIT;
    assert_int_not_equal(parse(text, o, &s, &err), GPM_OK);
    if (!strstr(err.data, part)) fail_msg("message '%s' lacks '%s'", err.data, part);
    buf_release(&err);
}

static void test_errors(void **state) {
    UNUSED(state);
    struct series_options o = {0}, skip = {.skip_bad = true}, col = {.value = "nope"};
    expect_error("", o, "no rows");
    expect_error("ds,y\n", o, "no rows");
    expect_error("ds,y\n2000,1\n", o, "too few");
    expect_error("1,1\n2,1\n3,1\n4,1\n5,1\n6,1\n7,1\n8,1\n", o, "constant");
    expect_error("1,NA\n2,NA\n3,NA\n", o, "no value");
    expect_error("ds,y\n2000-01-01,1\n2000-02-01,x\n", o, "f.csv:3");
    expect_error("ds;y\n2000-01;1,5\n2000-02;2,5\n", o, "decimals have a point");
    expect_error("ds,y\n2000-01-01,1\n02/01/2000,2\n", o, "f.csv:3");
    expect_error("ds,y\n2000-01-01,1\n2000-02,2\n", o, "change their format");
    expect_error("a,b,c\n1,2,3\n2,3,4\n", o, "--column");
    expect_error("a,b,c\n1,2,3\n2,3,4\n", col, "no column 'nope'");
    expect_error("ds,y\n1,1\n1,2\n1,3\n1,4\n1,5\n1,6\n1,7\n1,8\n", o, "same time");
    struct series s;
    struct buf err = BUF_INIT;
    assert_int_equal(
        parse("ds,y\n1,1\n2,x\nz,3\n4,4\n5,5\n6,6\n7,7\n8,8\n9,9\n10,1\n", skip, &s, &err), GPM_OK);
    assert_int_equal(s.bad, 2);
    assert_int_equal(s.n, 8);
    series_release(&s);
    buf_release(&err);
}

static void test_choice_of_column(void **state) {
    UNUSED(state);
    struct series s;
    struct buf err = BUF_INIT;
    const char *text = "year,a,b\n1,2,3\n2,3,5\n3,4,7\n4,5,6\n5,2,1\n6,3,2\n7,4,4\n8,1,9\n";
    struct series_options o = {.value = "b"};
    assert_int_equal(parse(text, o, &s, &err), GPM_OK);
    assert_string_equal(s.value_name, "b");
    assert_close(s.y[1], 5, 0);
    series_release(&s);
    o.value = "2"; /* by number */
    assert_int_equal(parse(text, o, &s, &err), GPM_OK);
    assert_string_equal(s.value_name, "a");
    series_release(&s);
    buf_release(&err);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_times),  cmocka_unit_test(test_round_trip_of_dates),
        cmocka_unit_test(test_months), cmocka_unit_test(test_order_missing_repeated),
        cmocka_unit_test(test_errors), cmocka_unit_test(test_choice_of_column)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
