/* SPDX-License-Identifier: Apache-2.0
 *
 * Times and numbers as people write them: what is read, what is refused, what is asked, and that
 * what is written is read back.
 */
#include "table/amounts.h"
#include "table/times.h"
#include "support/check.h"

static void test_one_time(void **state) {
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
                {"1949M07", 1949.5, TIME_MONTH},
                {"1949Q2", 1949.25, TIME_QUARTER},
                {"1949-Q4", 1949.75, TIME_QUARTER},
                {"Q3 1949", 1949.5, TIME_QUARTER},
                {"1970-01-01", 0, TIME_DATE},
                {"2000-03-01", 11017, TIME_DATE},
                {"2000-3-1", 11017, TIME_DATE},
                {"1.3.2000", 11017, TIME_DATE},
                {"Mar 1 2000", 11017, TIME_DATE},
                {"March 1, 2000", 11017, TIME_DATE},
                {"01-Mar-2000", 11017, TIME_DATE},
                {"13/3/2000", 11029, TIME_DATE},
                {"3/13/2000", 11029, TIME_DATE},
                {"1969-12-31", -1, TIME_DATE},
                {"1970-W01", -3, TIME_WEEK},
                {"1970-W01-4", 0, TIME_WEEK},
                {"1970-01-02T12:00", 1.5, TIME_INSTANT},
                {"1970-01-02 06:00:00Z", 1.25, TIME_INSTANT},
                {"1970-01-02 06:00:00.75", 1.25 + 0.75 / 86400, TIME_INSTANT},
                {"1/13/1970 6:00 PM", 12.75, TIME_INSTANT},
                {"1970-01-02T06:00:00+06:00", 1, TIME_INSTANT}};
    for (size_t i = 0; i < COUNT_OF(good); i++) {
        struct time_form f;
        double x;
        if (time_form_of(good[i].text, &f) != GPM_OK) fail_msg("'%s'", good[i].text);
        assert_int_equal(time_read(&f, good[i].text, &x), GPM_OK);
        assert_close(x, good[i].x, 1e-12);
        assert_int_equal(f.kind, good[i].kind);
        time_form_release(&f);
    }
    static const char *const bad[] = {"",          "01/02/2020", "2020-13",   "2020-02-30",
                                      "20200101x", "1949Q5",     "yesterday", "1949-",
                                      "2021-W53",  "nan",        "inf",       "1970-01-01T25:00",
                                      "32.1.2000", "1 Janu 2000"};
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        struct time_form f;
        assert_int_equal(time_form_of(bad[i], &f), GPM_E_FORMAT);
    }
}

/* Every pattern that can be given: times that are written by it are read back, to the precision
 * that it has. */
static void test_written_is_read(void **state) {
    static const struct {
        const char *pattern, *like;
        double step;
    } rows[] = {{"%Y-%m-%d", "2000-01-01", 1},
                {"%-d/%-m/%Y", "31/12/2000", 1},
                {"%b %d, %Y", "January 01, 2000", 1},
                {"%d-%b-%Y", "01-JAN-2000", 1},
                {"%Y%m%d", "20000101", 1},
                {"%G-W%V", "2000-W01", 7},
                {"%G-W%V-%u", "2000-W01-1", 1},
                {"%Y-%m-%d %T", "2000-01-01 00:00:00.000", 1 / 86400e3},
                {"%Y-%m-%dT%T%z", "2000-01-01T00:00:00-03:30", 1 / 86400.0},
                {"%m/%d/%Y %I:%M %p", "12/31/2000 11:59 pm", 1 / 1440.0},
                {"unix", "1600000000", 1 / 86400.0},
                {"unix-ms", "1600000000000", 1 / 86400e3},
                {"%b %Y", "Jan 2000", 1 / 12.0},
                {"%YM%m", "2000M01", 1 / 12.0},
                {"Q%q %Y", "Q1 2000", 0.25}};
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct time_form f;
        struct buf err = BUF_INIT;
        double x;
        assert_int_equal(times_read(&f, rows[i].pattern, 1, &rows[i].like, &x, &err), GPM_OK);
        bool years = f.kind == TIME_MONTH || f.kind == TIME_QUARTER;
        for (int k = -400; k < 400; k++) {
            double t = (years                 ? 2000
                        : f.kind == TIME_WEEK ? 10959 - 10959 % 7 - 3
                                              : 10957) +
                       k * rows[i].step * (k % 5 ? 1 : 13),
                   back;
            struct buf b = BUF_INIT;
            time_print(&f, t, &b);
            if (time_read(&f, b.data, &back) != GPM_OK) fail_msg("%s: '%s'", f.pattern, b.data);
            if (!(fabs(back - t) < rows[i].step / 100 + 1e-10))
                fail_msg("%s: '%s' is %.12g, not %.12g", f.pattern, b.data, back, t);
            buf_release(&b);
        }
        struct buf b = BUF_INIT; /* no calendar goes that far */
        time_print(&f, -1.5e300, &b);
        assert_string_equal(b.data, "-1.5e+300");
        buf_release(&b);
        time_form_release(&f);
        buf_release(&err);
    }
}

/* What the cells of a column say together. */
static void test_columns(void **state) {
    static const struct {
        const char *cells[3], *pattern; /* NULL: ambiguous */
    } rows[] = {{{"1/2/2001", "2/2/2001", "3/2/2001"}, NULL},
                {{"1/2/2001", "2/2/2001", "13/2/2001"}, "%-d/%-m/%Y"},
                {{"01/02/2001", "02/02/2001", "02/13/2001"}, "%m/%d/%Y"},
                {{"01-02-03", "01-03-03", "01-04-03"}, NULL},
                {{"5/5/2001", "5/5/2001", "6/6/2001"}, "%-d/%-m/%Y"}, /* alike both ways */
                {{"20010101", "20010102", "20010103"}, "%Y%m%d"},
                {{"200101", "200102", "200103"}, "number"}, /* too few to tell */
                {{"20010101", "20010102", "20010199"}, "number"},
                {{"1600000000", "1600003600", "1600007200"}, "unix"},
                {{"1600000000000", "1600003600000", "1600007200000"}, "unix-ms"},
                {{"2001q1", "2001q2", "2001q3"}, "%Yq%q"},
                {{"2001:1", "2001:2", "2001:3"}, NULL},
                {{"1", "x", "3"}, "number"},
                {{"Jan 1, 2001", "bad", "Feb 1, 2001"}, "%b %-d, %Y"}};
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct time_form f;
        struct buf err = BUF_INIT;
        double x[3];
        enum gpm_status st = times_read(&f, NULL, 3, rows[i].cells, x, &err);
        if ((st == GPM_OK) != (rows[i].pattern != NULL))
            fail_msg("%s: %s %s", rows[i].cells[0], f.pattern, err.data);
        if (st == GPM_OK)
            assert_string_equal(f.pattern, rows[i].pattern);
        else if (!strstr(err.data, "--date-format"))
            fail_msg("%s", err.data);
        if (st == GPM_OK) time_form_release(&f);
        buf_release(&err);
    }
    struct time_form f;
    struct buf err = BUF_INIT;
    double x[3];
    static const char *const given[] = {"%d", "%Y-%k", "", "unix-s", "%Y%"};
    for (size_t i = 0; i < COUNT_OF(given); i++)
        assert_int_equal(times_read(&f, given[i], 3, rows[0].cells, x, &err), GPM_E_FORMAT);
    static const char *const zones[] = {"2001-03-24T12:00+01:00", "2001-03-25T12:00+02:00"};
    assert_int_equal(times_read(&f, NULL, 2, zones, x, &err), GPM_OK);
    assert_true(f.zones && f.zone == 0);
    assert_close(x[1] - x[0], 23 / 24.0, 1e-10);
    time_form_release(&f);
    buf_release(&err);
}

/* Times that come after are written as those of the file are: so many of the last step further. */
static void test_as_the_file(void **state) {
    static const struct {
        const char *cells[3], *pattern;
        double first; /* of the first cell */
        int steps;
        const char *then;
    } rows[] = {
        {{"Jan 2001", "Feb 2001", "Mär 2001"}, "%b %Y", 2001, 9, "Dez 2001"},
        {{"Jan 2001", "Feb 2001", "Mrz 2001"}, "%b %Y", 2001, 2, "Mai 2001"},
        {{"Januar 2001", "Februar 2001", "Maerz 2001"}, "%b %Y", 2001, 7, "Oktober 2001"},
        {{"1. Januar 2001", "1. Februar 2001", "1. März 2001"}, "%-d. %b %Y", 11323, 1, NULL},
        {{"janv. 2001", "févr. 2001", "mars 2001"}, "%b %Y", 2001, 9, "déc. 2001"},
        {{"janv. 2001", "févr. 2001", "mars 2001"}, "%b %Y", 2001, 2, "mai 2001"},
        {{"JANVIER 2001", "FÉVRIER 2001", "MARS 2001"}, "%b %Y", 2001, 9, "DÉCEMBRE 2001"},
        {{"janvier 2001", "février 2001", "mars 2001"}, "%b %Y", 2001, 5, "août 2001"},
        {{"1er janvier 2001", "2 janvier 2001", "3 janvier 2001"}, "%-d %b %Y", 11323, 1, NULL},
        {{"enero 2001", "febrero 2001", "marzo 2001"}, "%b %Y", 2001, 9, "diciembre 2001"},
        {{"1 de enero de 2001", "2 de enero de 2001", "3 de enero de 2001"},
         "%-d de %b de %Y",
         11323,
         1,
         "4 de enero de 2001"},
        {{"Gen-2001", "Feb-2001", "Mar-2001"}, "%b-%Y", 2001, 4, "Lug-2001"},
        {{"janeiro 2001", "fevereiro 2001", "março 2001"}, "%b %Y", 2001, 9, "dezembro 2001"},
        {{"januari 2001", "februari 2001", "maart 2001"}, "%b %Y", 2001, 2, "mei 2001"},
        {{"October 2001", "November 2001", "December 2001"}, "%b %Y", 2001.75, 1, "January 2002"},
        {{"H1 2000", "H2 2000", "H1 2001"}, "H%h %Y", 2000, 1, "H2 2001"},
        {{"2000H1", "2000H2", "2001H1"}, "%YH%h", 2000, 1, "2001H2"},
        {{"2000-s1", "2000-s2", "2001-s1"}, "%Y-s%h", 2000, 2, "2002-s1"},
        {{"2001-01-01/2001-01-07", "2001-01-08/2001-01-14", "2001-01-15/2001-01-21"},
         "%Y-%m-%d/%e",
         11323,
         2,
         "2001-01-29/2001-02-04"},
        {{"1.1.2001 - 7.1.2001", "8.1.2001 - 14.1.2001", "15.1.2001 - 21.1.2001"},
         "%-d.%-m.%Y - %e",
         11323,
         1,
         "22.1.2001 - 28.1.2001"},
        {{"2001-01-01 12:00 EST", "2001-01-01 13:00 EST", "2001-01-01 14:00 EST"},
         "%Y-%m-%d %T %z",
         11323 + 17 / 24.0,
         1,
         "2001-01-01 15:00 EST"},
        {{"2001-03-25 00:59:00 CET", "2001-03-25 01:59:00 CET", "2001-03-25 03:59:00 CEST"},
         "%Y-%m-%d %T %z",
         11405 + 23 / 24.0 + 59 / 1440.0,
         1,
         "2001-03-25 02:59:00 UTC"},
        {{"23:59:00", "24:00:00", "24:01:00"}, "elapsed", 24 - 1 / 60.0, 2, "24:03:00"},
        {{"0 days 23:00:00", "1 days 00:00:00", "1 days 01:00:00"},
         "elapsed",
         23,
         24,
         "2 days 01:00:00"},
        {{"0:00:00.5", "0:00:01.0", "0:00:01.5"}, "elapsed", 0.5 / 3600, 1, "0:00:02.0"}};
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct time_form f;
        struct buf err = BUF_INIT, then = BUF_INIT;
        double x[3], back;
        if (times_read(&f, NULL, 3, rows[i].cells, x, &err) != GPM_OK) fail_msg("%s", err.data);
        assert_string_equal(f.pattern, rows[i].pattern);
        if (!(fabs(x[0] - rows[i].first) < 1e-9)) fail_msg("%s: %.12g", rows[i].cells[0], x[0]);
        double next = x[2] + rows[i].steps * (x[2] - x[1]);
        time_print(&f, next, &then);
        if (rows[i].then && strcmp(then.data, rows[i].then))
            fail_msg("%s: '%s', not '%s'", rows[i].cells[0], then.data, rows[i].then);
        assert_int_equal(time_read(&f, then.data, &back), GPM_OK);
        if (!(fabs(back - next) < 1e-6)) fail_msg("'%s': %.12g, not %.12g", then.data, back, next);
        time_form_release(&f);
        buf_release(&err);
        buf_release(&then);
    }
}

/* What several zones are called, and a clock that begins anew every day, is not guessed. */
static void test_not_guessed(void **state) {
    static const struct {
        const char *cells[2], *why; /* NULL: no time */
    } rows[] = {{{"2001-01-01 12:00 CST", "2001-01-01 12:00 UTC"}, "'CST' is that of several"},
                {{"2001-01-01 12:00 IST", "2001-01-01 12:00 CET"}, "'IST' is that of several"},
                {{"23:59:00", "00:01:00"}, NULL},
                {{"juil 2001", "jui 2001"}, NULL},
                {{"2001-01-07/2001-01-01", "2001-01-14/2001-01-08"}, NULL},
                {{"H3 2000", "H4 2000"}, NULL},
                {{"2001-01-01 12:00 XYZ", "2001-01-02 12:00 XYZ"}, NULL}};
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct time_form f;
        struct buf err = BUF_INIT;
        double x[2];
        enum gpm_status st = times_read(&f, NULL, 2, rows[i].cells, x, &err);
        assert_true((st == GPM_OK) == !rows[i].why);
        if (rows[i].why && !strstr(err.data, rows[i].why)) fail_msg("%s", err.data);
        if (!rows[i].why) assert_true(isnan(x[1]));
        if (st == GPM_OK) time_form_release(&f);
        buf_release(&err);
    }
    static const char *const pair[] = {"2001-04-01 00:00 CST", "2001-04-01 12:00 CDT"};
    struct time_form f;
    struct buf err = BUF_INIT;
    double x[2];
    assert_int_equal(times_read(&f, NULL, 2, pair, x, &err), GPM_OK);
    assert_close(x[1] - x[0], 11 / 24.0, 1e-9);
    time_form_release(&f);
    buf_release(&err);
}

static void test_numbers(void **state) {
    static const struct {
        const char *cells[3]; /* the first one is looked at */
        double value;         /* NaN: open; infinite: no number */
        const char *unit;
    } rows[] = {{{"1,5", "2,25", "3"}, 1.5, ""},          {{"1,234", "2,345", "12,345"}, NAN, ""},
                {{"1,234", "998", "5"}, 1234, ""},        {{"1,234", "1,234,567", "5"}, 1234, ""},
                {{"1,234", "0,5", "5"}, 1.234, ""},       {{"1,234.5", "2", "3"}, 1234.5, ""},
                {{"1.234,5", "2", "3"}, 1234.5, ""},      {{"1.234", "1.234.567", "5"}, 1234, ""},
                {{"1.234", "2.345", "3"}, 1.234, ""},     {{"1 234,5", "2", "3"}, 1234.5, ""},
                {{"1'234.5", "2", "3"}, 1234.5, ""},      {{"1\u00a0234", "2", "3"}, 1234, ""},
                {{"$1,234.50", "$2", "$3"}, 1234.5, "$"}, {{"-$5", "$2", "$3"}, -5, "$"},
                {{"$-5", "$2", "$3"}, -5, "$"},           {{"(5.5)", "2", "3"}, -5.5, ""},
                {{"\u22125,5", "2", "3"}, -5.5, ""},      {{"5,5 EUR", "2 EUR", "3"}, 5.5, "EUR"},
                {{"12 %", "2%", "3%"}, 12, "%"},          {{"1e3", "2", "3"}, 1000, ""},
                {{"1,5e3", "2", "3"}, 1500, ""},          {{"1,00,000", "2", "3"}, 100000, ""},
                {{"1,2,3", "2", "3"}, INFINITY, ""},      {{"12,34,5.5", "2", "3"}, INFINITY, ""},
                {{"5 5", "2", "3"}, INFINITY, ""},        {{"inf", "2", "3"}, INFINITY, ""},
                {{"$5%", "2", "3"}, INFINITY, ""},        {{"5 apples", "2", "3"}, INFINITY, ""},
                {{"--5", "2", "3"}, INFINITY, ""}};
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct number_style s;
        double v = INFINITY;
        number_style_find(3, rows[i].cells, 0, &s);
        if (s.open != (bool)isnan(rows[i].value)) fail_msg("%s", rows[i].cells[0]);
        bool read = number_style_read(&s, rows[i].cells[0], &v);
        if (isnan(rows[i].value)) continue;
        if (read != (bool)isfinite(rows[i].value)) fail_msg("'%s': %d", rows[i].cells[0], read);
        if (read && v != rows[i].value) fail_msg("'%s' is %g", rows[i].cells[0], v);
        if (read) assert_string_equal(s.unit, rows[i].unit);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one_time),    cmocka_unit_test(test_written_is_read),
        cmocka_unit_test(test_columns),     cmocka_unit_test(test_as_the_file),
        cmocka_unit_test(test_not_guessed), cmocka_unit_test(test_numbers)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
