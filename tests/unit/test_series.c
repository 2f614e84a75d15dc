/* SPDX-License-Identifier: Apache-2.0
 *
 * Reading time series: formats of times, missing and bad rows, columns, messages with line numbers.
 */
#include "apps/discover/series.h"
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

static void test_months(void **state) {
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
    assert_int_equal(s.form.kind, TIME_MONTH);
    series_release(&s);
    buf_release(&text);
    buf_release(&err);
}

static void test_order_missing_repeated(void **state) {
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

/* A minute's rows: hh:mm from 2024-01-01 on, which is a Monday. */
static void minutes(size_t n, struct buf *text) {
    buf_puts(text, "t,v\n");
    for (size_t i = 0; i < n; i++)
        buf_printf(text, "2024-01-%02zuT%02zu:%02zu,%zu\n", 1 + i / 1440, i / 60 % 24, i % 60,
                   i % 3 + 10 * (i / 60));
}

/* Rows of every hour: means of a day, unless those hide a daily cycle that shorter ones show. */
static void test_every_cycle(void **state) {
    static const struct {
        size_t days;
        double cycle;
        const char *every;
    } cases[] = {{700, 0, "1d"}, {700, 5, "6h"}, {1100, 5, "1d"}};
    for (size_t c = 0; c < COUNT_OF(cases); c++) {
        struct series s;
        struct buf err = BUF_INIT, text = BUF_INIT;
        buf_puts(&text, "t,v\n");
        for (size_t i = 0; i < cases[c].days * 24; i++)
            buf_printf(&text, "%zu,%.4f\n", 1600000000 + 3600 * i,
                       cases[c].cycle * sin((double)(i % 24) * M_PI / 12) +
                           (double)(i * 7919 % 101) / 101 + (i % 3 == 1));
        assert_int_equal(parse(text.data, (struct series_options){0}, &s, &err), GPM_OK);
        assert_string_equal(s.every, cases[c].every);
        series_release(&s);
        buf_release(&err);
        buf_release(&text);
    }
}

/* Means over steps: asked for, by themselves above 2000 values, and not. */
static void test_every(void **state) {
    struct series s;
    struct buf err = BUF_INIT, text = BUF_INIT, said = BUF_INIT;
    struct series_options o = {.every = "1h"};
    minutes(610, &text);
    assert_int_equal(parse(text.data, o, &s, &err), GPM_OK);
    assert_int_equal(s.n, 10); /* the last ten minutes do not half fill their hour */
    assert_int_equal(s.averaged, 610);
    assert_int_equal(s.ends, 10);
    for (size_t i = 0; i < s.n; i++) {
        assert_close(s.y[i], 10.0 * (double)i + 1, 1e-12);
        assert_close(s.x[i], s.x[0] + (double)i / 24, 1e-9);
    }
    series_print_time(&s, s.x[3], &said);
    assert_string_equal(said.data, "2024-01-01T03:00");
    assert_close(s.within, sqrt(2.0 / 3), 0.02); /* 0, 1, 2 again and again */
    series_release(&s);
    o.every = NULL;
    assert_int_equal(parse(text.data, o, &s, &err), GPM_OK);
    assert_int_equal(s.n, 610);
    assert_string_equal(s.every, "");
    series_release(&s);
    buf_reset(&text);
    minutes(9000, &text);
    assert_int_equal(parse(text.data, o, &s, &err), GPM_OK);
    assert_string_equal(s.every, "10min");
    assert_int_equal(s.n, 900);
    series_release(&s);
    o.every = "none";
    assert_int_equal(parse(text.data, o, &s, &err), GPM_OK);
    assert_int_equal(s.n, 9000);
    series_release(&s);
    o.every = NULL;
    o.max_points = 100; /* then it is the most recent ones */
    assert_int_equal(parse(text.data, o, &s, &err), GPM_OK);
    assert_int_equal(s.n, 100);
    assert_int_equal(s.left_out, 8900);
    series_release(&s);
    buf_release(&said);
    buf_release(&text);
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
    const char *days = "t,v\n2001-01-01,1\n2001-01-02,2\n2001-01-03,1\n";
    expect_error(days, (struct series_options){.every = "3moons"}, "10min, 1h, 1d, 1w, 1month");
    expect_error(days, (struct series_options){.every = "3month"}, "1 value is too few");
    expect_error(days, (struct series_options){.every = "-1d"}, "is no step");
    expect_error("t,v\n1,1\n2,2\n", (struct series_options){.every = "1h"}, "numbers above 0");
    struct series_options o = {0}, skip = {.skip_bad = true}, col = {.value = "nope"};
    expect_error("", o, "no rows");
    expect_error("ds,y\n", o, "no rows");
    expect_error("ds,y\n2000,1\n", o, "too few");
    expect_error("1,1\n2,1\n3,1\n4,1\n5,1\n6,1\n7,1\n8,1\n", o, "constant");
    expect_error("1,NA\n2,NA\n3,NA\n", o, "no value");
    expect_error("ds,y\n2000-01-01,1\n2000-02-01,x\n", o, "f.csv:3");
    expect_error("ds;y\n2000-01;1,500\n2000-02;2,500\n", o, "--decimal comma");
    expect_error("ds,y\n1/2/2000,1\n2/2/2000,2\n", o, "'%m/%d/%Y'; say which");
    expect_error("ds,y\n1,$1\n2,\u20ac2\n", o, "f.csv:3");
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

/* Spellings of one series are one series. */
static void test_people_write_it(void **state) {
    static const struct {
        const char *date, *value, *end;
        struct series_options o;
    } ways[] = {
        {"%3$d-%2$02d-%1$02d,", "%d.%d5", "\n", {0}},
        {"%1$d/%2$d/%3$d;", "%d,%d5", "\r\n", {.date_format = "%d/%m/%Y"}},
        {"%2$d/%1$d/%3$d\t", "$1,%03d.%d5", "\n", {.date_format = "%m/%d/%Y"}},
        {"%1$02d.%2$02d.%3$d;", "%d,%d5 \u20ac", "\n", {0}},
        {"%3$d%2$02d%1$02d,", "%d.%d5%%", "\n", {0}},
        {"%3$d-%2$02d-%1$02d,", "\"1'%03d.%d5\"", "\n", {0}},
        {"%3$d-%2$02d-%1$02d|", "1 %03d,%d5", "\n", {.decimal = DECIMAL_COMMA}},
    };
    double first[40] = {0};
    for (size_t k = 0; k < COUNT_OF(ways); k++) {
        struct buf text = BUF_INIT, err = BUF_INIT;
        struct series s;
        for (int i = 0; i < 40; i++) {
            buf_printf(&text, ways[k].date, i % 28 + 1, i / 28 + 1, 2001);
            buf_printf(&text, ways[k].value, i, i % 7);
            buf_printf(&text, "%s%s", ways[k].end, i % 9 ? "" : "\n");
        }
        if (parse(text.data, ways[k].o, &s, &err) != GPM_OK) fail_msg("%zu: %s", k, err.data);
        assert_int_equal(s.n, 40);
        double shift = s.y[0] > 500 ? 1000 : 0;
        for (int i = 0; i < 40; i++) {
            if (k == 0) first[i] = s.y[i];
            assert_close(s.y[i], first[i] + shift, 1e-12);
            assert_close(s.x[i], s.x[0] + (i < 28 ? i : i + 3), 1e-12);
        }
        series_release(&s);
        buf_release(&text);
        buf_release(&err);
    }
}

static void test_codes_for_missing(void **state) {
    static const char *const cases[] = {"-999", "9999", "-5", "999.5", "99"};
    for (size_t k = 0; k < COUNT_OF(cases); k++) {
        struct buf text = BUF_INIT, err = BUF_INIT;
        struct series s;
        for (int i = 0; i < 20; i++)
            buf_printf(&text, "%d,%s\n", i, i == 7 ? cases[k] : i % 3 ? "4.5" : "6");
        assert_int_equal(parse(text.data, (struct series_options){0}, &s, &err), GPM_OK);
        assert_int_equal(s.n, 20);
        series_release(&s);
        struct series_options o = {.missing = "x,-999,9999,999.5,-5,99"};
        assert_int_equal(parse(text.data, o, &s, &err), GPM_OK);
        assert_int_equal(s.missing, 1);
        assert_int_equal(s.n, 19);
        series_release(&s);
        buf_release(&text);
        buf_release(&err);
    }
}

static void test_choice_of_column(void **state) {
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
        cmocka_unit_test(test_months),          cmocka_unit_test(test_order_missing_repeated),
        cmocka_unit_test(test_errors),          cmocka_unit_test(test_every),
        cmocka_unit_test(test_every_cycle),     cmocka_unit_test(test_choice_of_column),
        cmocka_unit_test(test_people_write_it), cmocka_unit_test(test_codes_for_missing)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
