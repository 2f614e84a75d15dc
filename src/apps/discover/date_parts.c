/* SPDX-License-Identifier: Apache-2.0
 * See date_parts.h. */
#include "apps/discover/date_parts.h"
#include "base/ascii.h"
#include "base/mem.h"
#include "base/number.h"
#include "table/times.h"

#include <string.h>

enum { YEAR, MONTH, DAY, QUARTER, WEEK, CLOCK, PARTS };

static void all_parts(const struct csv *c, int *col) {
    static const char *const names[PARTS][12] = {
        {"year", "yr", "jahr",
         "ann\xc3\xa9"
         "e",
         "annee", "a\xc3\xb1o", "ano", "anno", "jaar"},
        {"month", "mon", "monat", "mois", "mes", "m\xc3\xaas", "mese", "maand"},
        {"day", "mday", "tag", "jour",
         "d\xc3\xad"
         "a",
         "dia", "giorno", "dag"},
        {"quarter", "qtr", "quartal", "trimestre", "kwartaal"},
        {"week", "wk", "iso week", "isoweek", "woche", "kw", "semaine", "semana", "settimana"},
        {"time", "hour", "hr", "hour ending", "stunde", "uhrzeit", "heure", "hora", "ora", "uur"}};
    for (int part = 0; part < PARTS; part++) col[part] = csv_column_of(c, names[part]);
}

/* The columns that combine with the column `time` to a time; -1: missing. */
static void find_parts(const struct csv *c, int time, int *col) {
    all_parts(c, col);
    if (col[CLOCK] == time) col[CLOCK] = -1;
    if (time >= 0 && time == col[YEAR]) {
        if (col[MONTH] >= 0) col[QUARTER] = col[WEEK] = -1;
        if (col[MONTH] < 0) col[DAY] = -1;
        if (col[QUARTER] >= 0) col[WEEK] = -1;
        if (col[DAY] < 0) col[CLOCK] = -1;
        return;
    }
    for (int part = 0; part < CLOCK; part++) col[part] = -1; /* a date, and its clock */
}

/* The whole number of a cell; -1 if it is not one from lo to hi. */
static int whole(const struct csv *c, size_t row, int col, int lo, int hi) {
    double x;
    const char *cell = csv_text(c, row, col);
    if (!number_parse(cell, strlen(cell), &x) || !(x >= lo && x <= hi) || x != (int)x) return -1;
    return (int)x;
}

/* Are the clocks of a column numbers of hours and minutes, 840 for 8:40? Hours alone end at 24, and
 * one beyond is a slip. */
static bool has_minutes(const struct csv *c, int col) {
    size_t cells = 0, beyond = 0;
    for (size_t row = 0; row < c->n_rows; row++) {
        if (csv_missing_as(c, row, col, NULL)) continue;
        int v = whole(c, row, col, 0, 2400);
        if (v < 0 || v % 100 > 59) return false;
        cells++;
        beyond += v > 24;
    }
    return 2 * beyond > cells;
}

/* " 14:30" of 14:30 and of 1430, " 14:00" of 14; false: the cell is no clock. */
static bool put_clock(const struct csv *c, size_t row, int col, bool minutes, struct buf *out) {
    int hour = whole(c, row, col, 0, minutes ? 2400 : 24);
    const char *cell = csv_text(c, row, col), *colon = strchr(cell, ':');
    if (hour >= 0)
        buf_printf(out, " %02d:%02d", minutes ? hour / 100 : hour, minutes ? hour % 100 : 0);
    else
        buf_printf(out, " %s", cell);
    return hour >= 0 || (ascii_digit(*cell) && colon && colon - cell <= 2);
}

/* 2001-01, 2001-01-31, Jan 2001, Jan 31, 2001, 2001Q1 or 2001-W05. Reading the date checks whether
 * the month has that day and the name is a month; false: the numbers are not a date. */
static bool put_day(const struct csv *c, size_t row, const int *col, struct buf *out) {
    int year = whole(c, row, col[YEAR], 1000, 9999), part = -1;
    if (col[QUARTER] >= 0) {
        const char *q = csv_text(c, row, col[QUARTER]);
        part = ascii_lower(*q) == 'q' && q[1] >= '1' && q[1] <= '4' && !q[2]
                   ? q[1] - '0'
                   : whole(c, row, col[QUARTER], 1, 4);
        buf_printf(out, "%dQ%d", year, part);
        return year >= 0 && part >= 0;
    }
    if (col[WEEK] >= 0) {
        part = whole(c, row, col[WEEK], 1, 53);
        buf_printf(out, "%d-W%02d", year, part);
        return year >= 0 && part >= 0;
    }
    const char *name = csv_text(c, row, col[MONTH]);
    int month = whole(c, row, col[MONTH], 1, 12);
    int day = col[DAY] < 0 ? 0 : whole(c, row, col[DAY], 1, 31);
    if (year < 0 || day < 0 || (month < 0 && !ascii_alpha(*name))) return false;
    if (month < 0) {
        buf_puts(out, name);
        if (day) buf_printf(out, " %d,", day);
        buf_printf(out, " %d", year);
    } else {
        buf_printf(out, "%d-%02d", year, month);
        if (day) buf_printf(out, "-%02d", day);
    }
    return true;
}

static bool put_time(const struct csv *c, size_t row, int time, const int *col, bool minutes,
                     struct buf *out) {
    if (col[YEAR] >= 0) {
        if (!put_day(c, row, col, out)) return false;
    } else {
        const char *date = csv_text(c, row, time);
        if (!*date || strchr(date, ':')) return false; /* joined before, say */
        buf_puts(out, date);
    }
    return col[CLOCK] < 0 || put_clock(c, row, col[CLOCK], minutes, out);
}

/* The parts as they stand, for the message about a row that has no date (the means of years as
 * those of a month 13, say). */
static void put_parts(const struct csv *c, size_t row, int time, const int *col, struct buf *out) {
    buf_puts(out, csv_text(c, row, time));
    for (int part = MONTH; part < PARTS; part++)
        if (col[part] >= 0) buf_printf(out, "-%s", csv_text(c, row, col[part]));
}

/* Do the parts of the first row make a time? */
static bool make_time(const struct csv *c, int time, const int *col, bool minutes) {
    struct buf text = BUF_INIT;
    bool some = col[CLOCK] >= 0;
    for (int part = MONTH; part < CLOCK; part++) some |= col[part] >= 0;
    bool good = some && time >= 0 && c->n_rows && put_time(c, 0, time, col, minutes, &text);
    if (good && col[YEAR] < 0) good = time_is_one(text.data); /* a number and an hour are no time */
    buf_release(&text);
    return good;
}

/* ---- without a year ---- */
/* Columns of a month and a day, or of days by their numbers and a clock, of which `time` is one. */
static bool find_yearless(const struct csv *c, int time, int *col) {
    all_parts(c, col);
    if (time < 0 || col[YEAR] >= 0 || col[DAY] < 0) return false;
    if (col[MONTH] < 0) return col[CLOCK] >= 0 && (time == col[DAY] || time == col[CLOCK]);
    return time == col[MONTH] || time == col[DAY];
}

/* A row's day; of months and days the years are those behind the first one, which follow one
 * another where January follows December. */
struct day {
    int years, month, day; /* month 0: the number of a day */
};
static bool next_day(const struct csv *c, size_t row, const int *col, struct day *d) {
    struct day then = *d;
    if (col[MONTH] >= 0) {
        d->month = whole(c, row, col[MONTH], 1, 12);
        d->years += then.month == 12 && d->month == 1;
    }
    d->day = whole(c, row, col[DAY], col[MONTH] >= 0, col[MONTH] >= 0 ? 31 : 100000);
    if (d->month < 0 || d->day < 0) return false;
    if (d->years != then.years) return true;
    return d->month > then.month || (d->month == then.month && d->day >= then.day);
}

/* One that begins on a Monday; or one that makes the first 29th of February be in 2000. */
static int year_assumed(const struct csv *c, int time, const int *col) {
    struct day d = {0, 0, 0};
    for (size_t row = 0; row < c->n_rows; row++)
        if (!csv_missing_as(c, row, time, NULL) && next_day(c, row, col, &d) && d.month == 2 &&
            d.day == 29)
            return 2000 - d.years;
    return 2001;
}

/* The times of all rows that have one, as consecutive texts. False: they are not times, not in
 * order, or all of one day, where the clock alone may suffice. */
static bool yearless_times(const struct csv *c, int time, const int *col, struct buf *all) {
    bool minutes = col[CLOCK] >= 0 && has_minutes(c, col[CLOCK]), several = false;
    int year = year_assumed(c, time, col);
    struct day d = {0, 0, 0}, first = {0, -1, 0};
    for (size_t row = 0; row < c->n_rows; row++) {
        if (csv_missing_as(c, row, time, NULL)) continue;
        if (!next_day(c, row, col, &d)) return false;
        if (first.month < 0) first = d;
        several |= d.years > first.years || d.month > first.month || d.day > first.day;
        if (d.month)
            buf_printf(all, "%d-%02d-%02d", year + d.years, d.month, d.day);
        else
            time_put_day_of(year, d.day, all);
        if (col[CLOCK] >= 0 && !put_clock(c, row, col[CLOCK], minutes, all)) return false;
        buf_putc(all, '\0');
    }
    return several;
}

static bool join_yearless(struct csv *c, int time, const int *col) {
    struct buf all = BUF_INIT;
    bool good = c->layout == CSV_COLUMNS && yearless_times(c, time, col, &all);
    const char *at = all.data;
    for (size_t row = 0; good && row < c->n_rows; row++) {
        if (csv_missing_as(c, row, time, NULL)) continue;
        c->cells[row * (size_t)c->n_cols + (size_t)time] = arena_strndup(&c->arena, at, strlen(at));
        at += strlen(at) + 1;
    }
    if (good) c->layout = CSV_YEARLESS;
    buf_release(&all);
    return good;
}

void date_parts_join(struct csv *c, int time) {
    int col[PARTS];
    struct buf text = BUF_INIT;
    if (find_yearless(c, time, col) && join_yearless(c, time, col)) return;
    find_parts(c, time, col);
    bool minutes = col[CLOCK] >= 0 && has_minutes(c, col[CLOCK]);
    if (col[DAY] >= 0 && c->n_rows && whole(c, 0, col[DAY], 1, 31) < 0)
        col[DAY] = col[CLOCK] = -1; /* of the week, say */
    bool dates = make_time(c, time, col, minutes);
    for (size_t row = 0; dates && row < c->n_rows; row++) {
        if (csv_missing_as(c, row, time, NULL)) continue;
        buf_reset(&text);
        if (!put_time(c, row, time, col, minutes, &text)) {
            buf_reset(&text);
            put_parts(c, row, time, col, &text);
        }
        c->cells[row * (size_t)c->n_cols + (size_t)time] =
            arena_strndup(&c->arena, text.data, text.len);
    }
    buf_release(&text);
}

bool date_parts_has(const struct csv *c, int time, int col) {
    int part[PARTS];
    if (c->layout == CSV_YEARLESS && find_yearless(c, time, part))
        return col == part[MONTH] || col == part[DAY] || col == part[CLOCK];
    find_parts(c, time, part);
    if (time < 0 || !c->n_rows) return false;
    const char *cell = csv_text(c, 0, time);
    if (part[YEAR] < 0) return col == part[CLOCK] && strchr(cell, ':');
    for (int k = MONTH; k < PARTS; k++)
        if (col == part[k] && (k != CLOCK || strchr(cell, ':')))
            return strpbrk(cell, "- Q") != NULL;
    return false;
}
