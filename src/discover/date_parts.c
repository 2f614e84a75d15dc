/* SPDX-License-Identifier: Apache-2.0
 * See date_parts.h. */
#include "discover/date_parts.h"
#include "base/ascii.h"
#include "base/number.h"

#include <string.h>

enum { YEAR, MONTH, DAY, PARTS };

static void find_parts(const struct csv *c, int *col) {
    static const char *const names[PARTS][2] = {{"year", "yr"}, {"month", "mon"}, {"day", "mday"}};
    for (int part = 0; part < PARTS; part++) {
        col[part] = -1;
        for (int j = 0; c->header && j < c->n_cols && col[part] < 0; j++)
            if (!ascii_casecmp(c->header[j], names[part][0]) ||
                !ascii_casecmp(c->header[j], names[part][1]))
                col[part] = j;
    }
}

/* The whole number of a cell, -1 when it is none from lo to hi. */
static int whole(const struct csv *c, size_t row, int col, int lo, int hi) {
    double x;
    const char *cell = csv_text(c, row, col);
    if (!number_parse(cell, strlen(cell), &x) || !(x >= lo && x <= hi) || x != (int)x) return -1;
    return (int)x;
}

/* 2001-01, 2001-01-31, Jan 2001 or Jan 31, 2001. Whether a month has that day, or that name is one,
 * is told when the date is read; false: the numbers are none of a date. */
static bool put_date(const struct csv *c, size_t row, const int *col, struct buf *out) {
    const char *name = csv_text(c, row, col[MONTH]);
    int year = whole(c, row, col[YEAR], 1000, 9999), month = whole(c, row, col[MONTH], 1, 12);
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

/* The parts as they stand, for the message about a row that has no date (the means of years as
 * those of a month 13, say). */
static void put_parts(const struct csv *c, size_t row, const int *col, struct buf *out) {
    for (int part = 0; part < PARTS; part++)
        if (col[part] >= 0) buf_printf(out, "%s%s", part ? "-" : "", csv_text(c, row, col[part]));
}

void date_parts_join(struct csv *c, int time) {
    int col[PARTS];
    struct buf text = BUF_INIT;
    find_parts(c, col);
    if (time < 0 || time != col[YEAR] || col[MONTH] < 0 || !c->n_rows) return;
    if (col[DAY] >= 0 && whole(c, 0, col[DAY], 1, 31) < 0) col[DAY] = -1; /* of the week, say */
    bool dates = put_date(c, 0, col, &text);
    for (size_t row = 0; dates && row < c->n_rows; row++) {
        if (csv_missing(c, row, col[YEAR])) continue;
        buf_reset(&text);
        if (!put_date(c, row, col, &text)) put_parts(c, row, col, &text);
        c->cells[row * (size_t)c->n_cols + (size_t)col[YEAR]] =
            arena_strndup(&c->arena, text.data, text.len);
    }
    buf_release(&text);
}

bool date_parts_has(const struct csv *c, int time, int col) {
    int part[PARTS];
    find_parts(c, part);
    return time >= 0 && time == part[YEAR] && (col == part[MONTH] || col == part[DAY]) &&
           c->n_rows && strpbrk(csv_text(c, 0, time), "- ");
}
