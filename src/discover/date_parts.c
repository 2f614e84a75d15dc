/* SPDX-License-Identifier: Apache-2.0
 * See date_parts.h. */
#include "discover/date_parts.h"
#include "base/ascii.h"
#include "base/mem.h"
#include "base/number.h"
#include "host/times.h"

#include <string.h>

enum { YEAR, MONTH, DAY, QUARTER, WEEK, CLOCK, PARTS };

static int column_of(const struct csv *c, const char *const *names) {
    for (int j = 0; c->header && j < c->n_cols; j++)
        for (size_t k = 0; names[k]; k++)
            if (!ascii_casecmp(c->header[j], names[k])) return j;
    return -1;
}

/* The columns that make a time with the column `time`; -1: there is none such. */
static void find_parts(const struct csv *c, int time, int *col) {
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
    for (int part = 0; part < PARTS; part++) col[part] = column_of(c, names[part]);
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

/* The whole number of a cell, -1 when it is none from lo to hi. */
static int whole(const struct csv *c, size_t row, int col, int lo, int hi) {
    double x;
    const char *cell = csv_text(c, row, col);
    if (!number_parse(cell, strlen(cell), &x) || !(x >= lo && x <= hi) || x != (int)x) return -1;
    return (int)x;
}

/* " 14:30" of 14:30, " 14:00" of 14; false: the cell is no clock. */
static bool put_clock(const struct csv *c, size_t row, int col, struct buf *out) {
    int hour = whole(c, row, col, 0, 24);
    const char *cell = csv_text(c, row, col), *colon = strchr(cell, ':');
    if (hour >= 0)
        buf_printf(out, " %02d:00", hour);
    else
        buf_printf(out, " %s", cell);
    return hour >= 0 || (ascii_digit(*cell) && colon && colon - cell <= 2);
}

/* 2001-01, 2001-01-31, Jan 2001, Jan 31, 2001, 2001Q1 or 2001-W05. Whether a month has that day, or
 * that name is one, is told when the date is read; false: the numbers are none of a date. */
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

static bool put_time(const struct csv *c, size_t row, int time, const int *col, struct buf *out) {
    if (col[YEAR] >= 0) {
        if (!put_day(c, row, col, out)) return false;
    } else {
        const char *date = csv_text(c, row, time);
        if (!*date || strchr(date, ':')) return false; /* joined before, say */
        buf_puts(out, date);
    }
    return col[CLOCK] < 0 || put_clock(c, row, col[CLOCK], out);
}

/* The parts as they stand, for the message about a row that has no date (the means of years as
 * those of a month 13, say). */
static void put_parts(const struct csv *c, size_t row, int time, const int *col, struct buf *out) {
    buf_puts(out, csv_text(c, row, time));
    for (int part = MONTH; part < PARTS; part++)
        if (col[part] >= 0) buf_printf(out, "-%s", csv_text(c, row, col[part]));
}

/* Do the parts of the first row make a time? */
static bool make_time(const struct csv *c, int time, const int *col) {
    struct buf text = BUF_INIT;
    bool some = col[CLOCK] >= 0;
    for (int part = MONTH; part < CLOCK; part++) some |= col[part] >= 0;
    bool good = some && time >= 0 && c->n_rows && put_time(c, 0, time, col, &text);
    if (good && col[YEAR] < 0) good = time_is_one(text.data); /* a number and an hour are none */
    buf_release(&text);
    return good;
}

void date_parts_join(struct csv *c, int time) {
    int col[PARTS];
    struct buf text = BUF_INIT;
    find_parts(c, time, col);
    if (col[DAY] >= 0 && c->n_rows && whole(c, 0, col[DAY], 1, 31) < 0)
        col[DAY] = col[CLOCK] = -1; /* of the week, say */
    bool dates = make_time(c, time, col);
    for (size_t row = 0; dates && row < c->n_rows; row++) {
        if (csv_missing(c, row, time)) continue;
        buf_reset(&text);
        if (!put_time(c, row, time, col, &text)) {
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
    find_parts(c, time, part);
    if (time < 0 || !c->n_rows) return false;
    const char *cell = csv_text(c, 0, time);
    if (part[YEAR] < 0) return col == part[CLOCK] && strchr(cell, ':');
    for (int k = MONTH; k < PARTS; k++)
        if (col == part[k] && (k != CLOCK || strchr(cell, ':')))
            return strpbrk(cell, "- Q") != NULL;
    return false;
}
