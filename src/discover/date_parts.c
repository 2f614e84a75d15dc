/* SPDX-License-Identifier: Apache-2.0
 * See date_parts.h. */
#include "discover/date_parts.h"
#include "base/ascii.h"
#include "base/number.h"

#include <stdlib.h>
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

static bool whole(const struct csv *c, size_t row, int col, int lo, int hi) {
    double x;
    const char *cell = csv_text(c, row, col);
    return number_parse(cell, strlen(cell), &x) && x >= lo && x <= hi && x == (int)x;
}

static bool named_months(const struct csv *c, const int *col) {
    return ascii_alpha(*csv_text(c, 0, col[MONTH]));
}

/* Whether it is a month, or has that day, is told when the date is read. */
static bool is_date(const struct csv *c, size_t row, const int *col) {
    return whole(c, row, col[YEAR], 1000, 9999) &&
           (named_months(c, col) ? ascii_alpha(*csv_text(c, row, col[MONTH]))
                                 : whole(c, row, col[MONTH], 1, 12)) &&
           (col[DAY] < 0 || whole(c, row, col[DAY], 1, 31));
}

/* 2001-01, 2001-01-31, Jan 2001 or Jan 31, 2001. */
static void put_date(const struct csv *c, size_t row, const int *col, struct buf *out) {
    const char *year = csv_text(c, row, col[YEAR]), *month = csv_text(c, row, col[MONTH]);
    const char *day = col[DAY] < 0 ? NULL : csv_text(c, row, col[DAY]);
    if (named_months(c, col)) {
        buf_puts(out, month);
        if (day) buf_printf(out, " %d,", atoi(day));
        buf_printf(out, " %d", atoi(year));
    } else {
        buf_printf(out, "%d-%02d", atoi(year), atoi(month));
        if (day) buf_printf(out, "-%02d", atoi(day));
    }
}

void date_parts_join(struct csv *c, int time) {
    int col[PARTS];
    find_parts(c, col);
    if (time < 0 || time != col[YEAR] || col[MONTH] < 0) return;
    for (size_t row = 0; row < c->n_rows; row++)
        if (!is_date(c, row, col)) return;
    struct buf text = BUF_INIT;
    for (size_t row = 0; row < c->n_rows; row++) {
        buf_reset(&text);
        put_date(c, row, col, &text);
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
