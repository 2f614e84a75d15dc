/* SPDX-License-Identifier: Apache-2.0
 * Cells and columns by what they hold; see table.h. */
#include "table/table.h"
#include "base/ascii.h"
#include "base/mem.h"

#include <math.h>
#include <string.h>

enum cell_kind cell_kind(const char *cell) {
    struct number_style style;
    double x;
    if (!*cell) return CELL_EMPTY;
    if (csv_is_missing(cell)) return CELL_MISSING;
    number_style_find(1, &cell, 0, &style);
    if (number_style_read(&style, cell, &x)) return CELL_NUMBER;
    return time_is_one(cell) ? CELL_TIME : CELL_WORD;
}

/* ---- the head of a table ---- */

static enum cell_kind kind_at(const struct csv *c, size_t row, int col, const char *missing) {
    return csv_missing_as(c, row, col, missing) ? CELL_MISSING : cell_kind(csv_text(c, row, col));
}

/* Do numbers alone stand below the first row, or times, where these count? At least so many. */
static bool holds_data(const struct csv *c, int col, const char *missing, bool times,
                       size_t least) {
    enum { ROWS = 20 };
    size_t data = 0;
    for (size_t i = 1; i < c->n_rows && i <= ROWS; i++) {
        enum cell_kind kind = kind_at(c, i, col, missing);
        if (kind == CELL_WORD) return false;
        data += kind == CELL_NUMBER || (times && kind == CELL_TIME);
    }
    return data >= least;
}

/* Do words stand in the first row, and neither numbers nor times? Sets *above: do they stand above
 * numbers or times alone, two at least where `units`? A broken number begins with a digit and is no
 * name. */
static bool names_alone(const struct csv *c, const char *missing, bool units, bool *above) {
    size_t data = 0, words = 0;
    *above = false;
    for (int j = 0; j < c->n_cols; j++) {
        enum cell_kind kind = kind_at(c, 0, j, missing);
        const char *cell = csv_text(c, 0, j);
        data += kind == CELL_NUMBER || kind == CELL_TIME;
        if (kind != CELL_WORD) continue;
        words++;
        *above |= !ascii_digit(cell[strspn(cell, "+-.(")]) &&
                  holds_data(c, j, missing, !units, 1 + units);
    }
    return words && !data;
}

void table_head(struct csv *c, const char *missing) {
    bool above, alone = c->n_rows && names_alone(c, missing, false, &above);
    if (!c->n_rows || !(alone || above)) return;
    csv_take_header(c);
    bool *drop = mem_zalloc((c->n_rows + 1) * sizeof *drop);
    drop[0] = c->n_rows > 1 && names_alone(c, missing, true, &above) && above;
    if (drop[0]) csv_drop(c, drop);
    mem_free(drop);
}

/* ---- columns ---- */

static void take_cells(struct table_column *k, const struct csv *c, int col, const char *missing) {
    *k = (struct table_column){.file = c, .number = col, .bad = SIZE_MAX};
    k->cell = NEW_ARRAY(const char *, c->n_rows + 1);
    k->x = NEW_ARRAY(double, c->n_rows + 1);
    for (size_t row = 0; row < c->n_rows; row++) {
        bool gone = csv_missing_as(c, row, col, missing);
        k->cell[row] = gone ? NULL : csv_text(c, row, col);
        k->x[row] = NAN;
        k->cells += !gone;
    }
}

/* Whole numbers of three digits and more, some of which begin with 0, are names (08123). */
static bool are_codes(const struct table_column *k, size_t n) {
    bool led = false;
    for (size_t row = 0; row < n; row++) {
        const char *cell = k->cell[row];
        if (!cell) continue;
        size_t digits = strspn(cell, "0123456789");
        if (cell[digits]) return false;
        led |= *cell == '0' && digits > 2;
    }
    return led;
}

static void take_numbers(struct table_column *k, size_t n, const struct column_wish *w) {
    number_style_find(n, k->cell, w->decimal, &k->style);
    if (!w->truths) k->style.truth = NULL;
    for (size_t row = 0; row < n; row++) {
        if (!k->cell[row]) continue;
        bool number = number_style_read(&k->style, k->cell[row], &k->x[row]);
        k->numbers += number;
        if (number) continue;
        k->x[row] = NAN;
        if (k->bad == SIZE_MAX) k->bad = row;
    }
}

/* Where every cell is a time, and it is certain which (3/4/2001 may be two). */
static bool take_times(struct table_column *k, size_t n, const char *format) {
    struct buf err = BUF_INIT;
    enum gpm_status st = times_read(&k->form, format, n, k->cell, k->x, &err);
    bool all = !st && time_dated(&k->form);
    if (st) k->doubt = buf_take(&err);
    for (size_t row = 0; row < n && all; row++) all = !k->cell[row] || isfinite(k->x[row]);
    buf_release(&err);
    return all;
}

void table_column_read(struct table_column *k, const struct csv *c, int col,
                       const struct column_wish *w) {
    take_cells(k, c, col, w->missing);
    take_numbers(k, c->n_rows, w);
    bool numbers = k->cells == k->numbers && !are_codes(k, c->n_rows);
    k->kind = !k->cells ? COLUMN_EMPTY : numbers ? COLUMN_NUMBERS : COLUMN_WORDS;
    if (k->numbers || !k->cells) return;
    bool times = take_times(k, c->n_rows, w->date_format);
    if (times) k->kind = COLUMN_TIMES;
    for (size_t row = 0; row < c->n_rows; row++) {
        const char *cell = csv_text(c, row, col);
        if (!times || !w->times) k->x[row] = NAN;
        if (times || k->cell[row] || !csv_is_none(cell, w->missing)) continue;
        k->cell[row] = cell;
        k->none++;
    }
    k->cells += k->none;
}

enum gpm_status table_column_times(struct table_column *k, const struct csv *c, int col,
                                   const char *missing, const char *date_format, struct buf *err) {
    struct buf why = BUF_INIT;
    take_cells(k, c, col, missing);
    enum gpm_status st = times_read(&k->form, date_format, c->n_rows, k->cell, k->x, &why);
    if (st) buf_printf(err, "%s: %s", c->name, why.data);
    k->kind = COLUMN_TIMES;
    buf_release(&why);
    return st;
}

void table_column_release(struct table_column *k) {
    mem_free(k->cell);
    mem_free(k->x);
    mem_free(k->doubt);
    time_form_release(&k->form);
    *k = (struct table_column){0};
}

enum gpm_status table_column_number(const struct table_column *k, size_t row, double *x,
                                    struct buf *err) {
    const struct csv *c = k->file;
    *x = k->x[row];
    if (k->cell[row] && !isnan(*x) && !k->style.open) return GPM_OK;
    buf_printf(err, "%s:%zu: column ", c->name, c->lines[row]);
    if (c->header)
        buf_printf(err, "'%s'", c->header[k->number]);
    else
        buf_printf(err, "%d", k->number + 1);
    if (!k->cell[row]) return buf_fail(err, GPM_E_FORMAT, ": the value is missing");
    if (isnan(*x)) return buf_fail(err, GPM_E_FORMAT, ": '%.40s' is not a number", k->cell[row]);
    buf_puts(err, ": ");
    number_style_doubt(&k->style, err);
    return GPM_E_FORMAT;
}
