/* SPDX-License-Identifier: Apache-2.0
 *
 * What is made of the rows of a step: totals of transactions, counts of events, and the rest.
 */
#include "apps/discover/every.h"
#include "support/check.h"

static struct series taken(const char *text, struct series_options o) {
    struct series s;
    struct buf err = BUF_INIT;
    enum gpm_status st = series_read(&s, "f.csv", text, strlen(text), &o, &err);
    if (st != GPM_OK) fail_msg("%s", err.data);
    buf_release(&err);
    return s;
}

static void refused(const char *text, struct series_options o, const char *why) {
    struct series s;
    struct buf err = BUF_INIT;
    assert_int_not_equal(series_read(&s, "f.csv", text, strlen(text), &o, &err), GPM_OK);
    if (!strstr(err.data, why)) fail_msg("%s", err.data);
    buf_release(&err);
}

static void says_time(const struct series *s, size_t i, const char *text) {
    struct buf b = BUF_INIT;
    series_print_time(s, s->x[i], &b);
    assert_string_equal(b.data, text);
    buf_release(&b);
}

static void says(const struct series *s, const char *text, bool yes) {
    struct buf b = BUF_INIT;
    every_say(s, &b);
    if ((strstr(b.data, text) != NULL) != yes) fail_msg("%s", b.data);
    buf_release(&b);
}

/* i of 12 days have i + 1 rows of 1, 2, ...; days 4 and 8 have none, day 6 none with a value. */
static void sales(struct buf *text) {
    buf_puts(text, "date,amount\n");
    for (int i = 0; i < 12; i++)
        for (int k = 0; k <= i && i != 4 && i != 8; k++)
            if (i == 6)
                buf_printf(text, "2021-03-%02d,NA\n", i + 1);
            else
                buf_printf(text, "2021-03-%02d,%d\n", i + 1, k + 1);
}

static void test_of_one_time(void **state) {
    static const struct {
        enum series_take take;
        double first, last; /* of day 1 and of 1, 2, ..., 12 */
        size_t n, empty;
    } cases[] = {{TAKE_TOTAL, 1, 78, 11, 2}, {TAKE_MEAN, 1, 6.5, 9, 0}, {TAKE_MEDIAN, 1, 6.5, 9, 0},
                 {TAKE_LAST, 1, 12, 9, 0},   {TAKE_MIN, 1, 1, 9, 0},    {TAKE_MAX, 1, 12, 9, 0}};
    struct buf text = BUF_INIT;
    sales(&text);
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        if (cases[i].take == TAKE_MIN) continue; /* constant */
        struct series s = taken(text.data, (struct series_options){.take = cases[i].take});
        assert_int_equal(s.n, cases[i].n);
        assert_int_equal(s.empty, cases[i].empty);
        assert_int_equal(s.ends, 0);
        assert_int_equal(s.repeated, 0);
        assert_close(s.y[0], cases[i].first, 0);
        assert_close(s.y[s.n - 1], cases[i].last, 0);
        assert_string_equal(s.value_name, "amount");
        says_time(&s, s.n - 1, "2021-03-12");
        series_release(&s);
    }
    refused(text.data, (struct series_options){.take = TAKE_MIN}, "constant");
    struct series s = taken(text.data, (struct series_options){.take = TAKE_TOTAL});
    assert_close(s.y[4], 0, 0);     /* no rows */
    says_time(&s, 6, "2021-03-08"); /* after the 6th, which has rows and no value */
    assert_string_equal(s.every, "1d");
    says(&s, "totals over 1d of 64 rows", true);
    says(&s, "2 steps without rows are 0", true);
    series_release(&s);
    s = taken(text.data, (struct series_options){.take = TAKE_COUNT, .value = "amount"});
    assert_int_equal(s.n, 12); /* rows that have a value */
    assert_close(s.y[6], 0, 0);
    assert_close(s.y[11], 12, 0);
    series_release(&s);
    s = taken(text.data, (struct series_options){.take = TAKE_COUNT});
    assert_close(s.y[6], 7, 0);
    assert_string_equal(s.value_name, "count");
    series_release(&s);
    buf_release(&text);
}

/* Rows of one time have no shorter step. */
static void test_no_shorter_step(void **state) {
    struct buf text = BUF_INIT;
    buf_puts(&text, "date,amount\n");
    for (int i = 0; i < 2400; i++)
        buf_printf(&text, "20%02d-%02d-%02d,%d.%d\n", 10 + i / 240, 1 + i % 240 / 20,
                   1 + i % 20 / 5, i % 7, i % 3);
    struct series s = taken(text.data, (struct series_options){.every = "1d"});
    says(&s, "means over 1d of 2400 rows (--every), many of the same time", true);
    says(&s, "shorter", false);
    series_release(&s);
    s = taken(text.data, (struct series_options){.every = "1w", .take = TAKE_TOTAL});
    says(&s, "--take, --every", true);
    says(&s, "many", false);
    series_release(&s);
    buf_release(&text);
}

/* A column of times alone: some every six hours and nine minutes. */
static void events(const char *head, const char *form, int n, struct buf *text) {
    buf_puts(text, head);
    for (int i = 0; i < n; i++) {
        int minute = 23 * 60 + 26 + 369 * i;
        buf_printf(text, form, 1 + minute / 1440 % 28, minute / 60 % 24, minute % 60);
    }
}

static void test_events(void **state) {
    static const struct {
        const char *head, *form, *first;
    } cases[] = {{"when\n", "2021-02-%02d %02d:%02d:00\n", "2021-02-02"},
                 {"", "2021-02-%02dT%02d:%02d\n", "2021-02-02"},
                 {"date time\n", "2021-02-%02d %02d:%02d\n", "2021-02-02"},
                 {"date,time\n", "2021-02-%02d,%02d:%02d\n", "2021-02-02"},
                 {"at\n", "%d.2.2021 %d:%02d\n", "2.2.2021"},
                 {"at\n", "2021-02-%02d %02d:%02d:00+02:00\n", "2021-02-02"}};
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct buf text = BUF_INIT;
        events(cases[i].head, cases[i].form, 100, &text);
        struct series s = taken(text.data, (struct series_options){.every = "1d"});
        assert_int_equal(s.take, TAKE_COUNT);
        assert_string_equal(s.value_name, "count");
        assert_int_equal(s.n, 25);
        assert_int_equal(s.ends, 3); /* of the first day, and of the last one to 9 o'clock */
        for (size_t k = 0; k < s.n; k++) assert_true(s.y[k] == 3 || s.y[k] == 4);
        assert_int_equal(s.form.kind, TIME_DATE);
        says_time(&s, 0, cases[i].first);
        series_release(&s);
        s = taken(text.data, (struct series_options){0});
        assert_string_equal(s.every, "1d"); /* every hour would be 598 for 100 */
        series_release(&s);
        buf_release(&text);
    }
}

/* The step follows how many there are: dates of one column. */
static void test_chosen_step(void **state) {
    static const struct {
        int n, days; /* so many rows, so many days apart */
        const char *every;
    } cases[] = {{2000, 1, "1d"}, {400, 5, "1w"}, {150, 30, "1month"}, {40, 100, "3month"}};
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct buf text = BUF_INIT;
        for (int k = 0; k < cases[i].n; k++)
            buf_printf(&text, "%d\n", (12000 + cases[i].days * k + k * k % 3 * 2) * 86400);
        struct series s =
            taken(text.data, (struct series_options){.take = TAKE_COUNT, .date_format = "unix"});
        assert_string_equal(s.every, cases[i].every);
        double sum = 0;
        for (size_t k = 0; k < s.n; k++) sum += s.y[k];
        assert_close(sum, (double)(s.averaged - s.ends), 0);
        series_release(&s);
        buf_release(&text);
    }
}

/* Every day from the 1st of January 2021 but weekends, where these are to be left out. */
static void days(int n, bool weekends, struct buf *text) {
    static const int length[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    buf_puts(text, "date,amount\n");
    for (int i = 0, m = 0, d = 1, y = 2021; i < n; i++) {
        if (weekends || (i + 4) % 7 < 5) buf_printf(text, "%d-%02d-%02d,%d\n", y, m + 1, d, i % 4);
        if (++d > length[m]) d = 1, m++;
        if (m == 12) m = 0, y++;
    }
}

static void test_ends(void **state) {
    struct series_options o = {.take = TAKE_TOTAL, .every = "1month"};
    struct buf text = BUF_INIT;
    days(365 + 19, true, &text); /* 19 of January's days: no total of a month */
    struct series s = taken(text.data, o);
    assert_int_equal(s.n, 12);
    assert_int_equal(s.ends, 19);
    says(&s, "19 rows at the ends fill no step", true);
    series_release(&s);
    o.take = TAKE_MEAN; /* of which 19 days tell */
    s = taken(text.data, o);
    assert_int_equal(s.n, 13);
    series_release(&s);
    buf_reset(&text);
    days(304, false, &text); /* to Friday, the 29th of October: its last days are a weekend */
    o.take = TAKE_TOTAL;
    s = taken(text.data, o);
    assert_int_equal(s.n, 10);
    series_release(&s);
    o.every = "1w"; /* from Friday on; the last week is whole without its weekend */
    s = taken(text.data, o);
    assert_int_equal(s.n, 43);
    assert_int_equal(s.ends, 1);
    says_time(&s, 0, "2021-01-04");
    says_time(&s, s.n - 1, "2021-10-25");
    series_release(&s);
    buf_release(&text);
}

/* Times that have a step of their own keep their places: Sundays, half past. */
static void test_own_places(void **state) {
    struct buf text = BUF_INIT;
    buf_puts(&text, "date,amount\n");
    static const char *const sundays[] = {"2021-08-01", "2021-08-08", "2021-08-15",
                                          "2021-08-22", "2021-08-29", "2021-09-05",
                                          "2021-09-12", "2021-09-19", "2021-09-26"};
    for (size_t i = 0; i < 2 * COUNT_OF(sundays); i++)
        buf_printf(&text, "%s,%zu\n", sundays[i / 2], i);
    struct series s = taken(text.data, (struct series_options){.take = TAKE_TOTAL});
    assert_string_equal(s.every, "1w");
    assert_int_equal(s.n, 9);
    assert_close(s.y[1], 5, 0);
    says_time(&s, 1, "2021-08-08");
    series_release(&s);
    buf_reset(&text);
    for (int i = 0; i < 40; i++) buf_printf(&text, "2021-08-01T%02d:30,%d\n", i / 2, i * i % 7);
    s = taken(text.data, (struct series_options){.take = TAKE_TOTAL});
    assert_string_equal(s.every, "1h");
    assert_int_equal(s.n, 20);
    says_time(&s, 3, "2021-08-01T03:30");
    series_release(&s);
    buf_release(&text);
}

static void test_refused(void **state) {
    struct buf text = BUF_INIT;
    days(300, true, &text);
    refused(text.data, (struct series_options){.take = TAKE_TOTAL, .every = "1s"}, "too many");
    refused(text.data,
            (struct series_options){.take = TAKE_TOTAL, .every = "1month", .max_points = 5},
            "5 values are too few to look for structure, over 1month");
    buf_reset(&text);
    buf_puts(&text, "when,type\n");
    for (int i = 1; i < 20; i++)
        buf_printf(&text, "2021-01-%02d,%s\n", i, i % 3 ? "water" : "noise");
    refused(text.data, (struct series_options){0}, "--take count counts rows");
    buf_reset(&text);
    events("when\njunk\n", "2021-02-%02d %02d:%02d:00\n", 100, &text);
    refused(text.data, (struct series_options){0}, "f.csv:2: cannot read the time");
    struct series s = taken(text.data, (struct series_options){.skip_bad = true});
    assert_int_equal(s.take, TAKE_COUNT);
    assert_int_equal(s.bad, 1);
    series_release(&s);
    buf_release(&text);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_of_one_time), cmocka_unit_test(test_no_shorter_step),
        cmocka_unit_test(test_events),      cmocka_unit_test(test_chosen_step),
        cmocka_unit_test(test_ends),        cmocka_unit_test(test_own_places),
        cmocka_unit_test(test_refused)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
