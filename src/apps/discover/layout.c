/* SPDX-License-Identifier: Apache-2.0
 * See layout.h. */
#include "apps/discover/layout.h"
#include "base/ascii.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/number.h"
#include <math.h>
#include <string.h>

/* ---- what a cell is ---- */

/* The month (of twelve parts of a year) or the quarter (of four) of this name; 0: none. */
static int part_of(const char *cell, int parts) {
    if (parts == 12) return time_month(cell);
    bool first = ascii_lower(cell[0]) == 'q', last = cell[0] && ascii_lower(cell[1]) == 'q';
    char digit = first ? cell[1] : last ? cell[0] : 0;
    return digit >= '1' && digit <= '4' && !cell[2] ? digit - '0' : 0;
}

/* Beside the column of times, if any (-1). */
static bool has_number(const struct csv *c, size_t row, int time) {
    for (int j = 0; j < c->n_cols; j++)
        if (j != time && cell_kind(csv_text(c, row, j)) == CELL_NUMBER) return true;
    return false;
}

/* ---- years by parts of a year ---- */

/* Cells of a table, or of the one that has its rows for columns. */
static const char *cell_at(const struct csv *c, bool turned, size_t row, size_t col) {
    return turned ? csv_text(c, col, (int)row) : csv_text(c, row, (int)col);
}

struct grid {
    bool turned;
    int parts;
    size_t first;      /* column of the first part */
    size_t rows, cols; /* as it stands when turned */
};

/* All parts in order in the first row. */
static bool find_parts(const struct csv *c, struct grid *g) {
    for (g->first = 1; g->first + (size_t)g->parts <= g->cols; g->first++) {
        int k = 0;
        while (k < g->parts &&
               part_of(cell_at(c, g->turned, 0, g->first + (size_t)k), g->parts) == k + 1)
            k++;
        if (k == g->parts) return true;
    }
    return false;
}

/* Every row is one of a year, each after the one before, but for totals and the like. */
static bool has_years(const struct csv *c, const struct grid *g) {
    size_t n = 0;
    double before = 0;
    for (size_t i = 1; i < g->rows; i++) {
        const char *cell = cell_at(c, g->turned, i, 0);
        if (!*cell || csv_total(cell)) continue;
        double year = 0;
        if (!time_is_year(cell) || !number_parse(cell, strlen(cell), &year) || !(year > before))
            return false;
        before = year;
        n++;
    }
    return n > 1;
}

static void melt(struct csv *c, const struct grid *g) {
    size_t most = (g->rows - 1) * (size_t)g->parts + 1, n = 1;
    const char **cells = NEW_ARRAY(const char *, 2 * most);
    size_t *lines = NEW_ARRAY(size_t, most);
    struct buf time = BUF_INIT;
    cells[0] = g->parts == 12 ? "month" : "quarter";
    cells[1] = "value";
    lines[0] = c->lines[0];
    for (size_t i = 1; i < g->rows; i++) {
        const char *year = cell_at(c, g->turned, i, 0);
        for (int k = 0; k < g->parts && time_is_year(year); k++, n++) {
            buf_reset(&time);
            buf_printf(&time, g->parts == 12 ? "%.4s-%02d" : "%.4sQ%d", year, k + 1);
            cells[2 * n] = arena_strndup(&c->arena, time.data, time.len);
            cells[2 * n + 1] = cell_at(c, g->turned, i, g->first + (size_t)k);
            lines[n] = c->lines[g->turned ? g->first + (size_t)k : i];
        }
    }
    buf_release(&time);
    csv_reshape(c, 2, n, cells, lines);
    c->layout = CSV_GRID;
}

static bool shape_grid(struct csv *c) {
    for (int k = 0; k < 4; k++) {
        struct grid g = {.turned = k & 1, .parts = k & 2 ? 4 : 12};
        g.rows = g.turned ? (size_t)c->n_cols : c->n_rows;
        g.cols = g.turned ? c->n_rows : (size_t)c->n_cols;
        if (!find_parts(c, &g) || !has_years(c, &g)) continue;
        melt(c, &g);
        return true;
    }
    return false;
}

/* ---- times as the names of columns ---- */

/* Are the cells of the first row from `first` on times, each after the one before? Numbers that are
 * no years are names like others. */
static bool are_times(const struct csv *c, int first, int end) {
    size_t n = end > first ? (size_t)(end - first) : 0;
    double *x = NEW_ARRAY(double, n + 1);
    struct time_form form = {0};
    struct buf err = BUF_INIT;
    bool good = n >= 8 && times_read(&form, NULL, n, c->cells + first, x, &err) == GPM_OK;
    for (size_t i = 0; good && i < n; i++)
        good = isfinite(x[i]) && (!i || x[i] > x[i - 1]) &&
               (form.kind != TIME_NUMBER || time_is_year(c->cells[(size_t)first + i]));
    time_form_release(&form);
    buf_release(&err);
    mem_free(x);
    return good;
}

/* The name of a row: its first cell, or all before the times where two begin alike. */
static const char *row_name(struct csv *c, size_t row, int first) {
    bool alike = false;
    for (size_t i = 1; i < c->n_rows; i++)
        alike |= i != row && !strcmp(csv_text(c, i, 0), csv_text(c, row, 0));
    if (!alike) return csv_text(c, row, 0);
    struct buf name = BUF_INIT;
    for (int j = 0; j < first; j++)
        buf_printf(&name, "%s%s", j && *csv_text(c, row, j) ? " " : "", csv_text(c, row, j));
    const char *text = arena_strndup(&c->arena, name.data, name.len);
    buf_release(&name);
    return text;
}

static void turn(struct csv *c, int first, int end) {
    size_t times = (size_t)(end - first), width = c->n_rows;
    const char **cells = NEW_ARRAY(const char *, (times + 1) * width);
    size_t *lines = NEW_ARRAY(size_t, times + 1);
    cells[0] = "time";
    for (size_t i = 1; i < width; i++) cells[i] = row_name(c, i, first);
    for (size_t k = 0; k <= times; k++) lines[k] = c->lines[width > 1 ? 1 : 0];
    for (size_t k = 0; k < times; k++)
        for (size_t i = 0; i < width; i++)
            cells[(k + 1) * width + i] = csv_text(c, i, first + (int)k);
    csv_reshape(c, (int)width, times + 1, cells, lines);
    c->layout = CSV_ACROSS;
}

static bool shape_across(struct csv *c) {
    enum { LABELS = 6, ROWS = 5000 }; /* columns before the times; series */
    if (c->n_rows < 2 || c->n_rows > ROWS) return false;
    for (size_t i = 1; i < c->n_rows; i++) {
        const char *name = csv_text(c, i, 0);
        if (!*name || time_is_one(name)) return false;
    }
    int end = c->n_cols; /* lines end with a separator, or with a total */
    while (end > 1 && (!*csv_text(c, 0, end - 1) || csv_total(csv_text(c, 0, end - 1)))) end--;
    for (int first = 1; first <= LABELS && first < end; first++) {
        if (!are_times(c, first, end)) continue;
        turn(c, first, end);
        return true;
    }
    return false;
}

/* ---- rows outside the table ---- */

void layout_shape(struct csv *c, const struct series_options *o) {
    if (c->n_cols < 2) return;
    if (o->time) return;
    bool named = false; /* one of the columns is asked for as it stands */
    for (int j = 0; j < c->n_cols && o->value; j++) named |= !strcmp(csv_text(c, 0, j), o->value);
    if (!named && !o->wide && !o->by && shape_grid(c)) return;
    if (!named && !o->by) (void)shape_across(c);
}

void layout_rows(struct csv *c, const struct series_options *o, int time) {
    if (time < 0 || c->n_rows < 2 || !c->header || c->tidy) return;
    c->tidy = true;
    bool *drop = mem_zalloc((c->n_rows + 1) * sizeof *drop);
    size_t n = c->n_rows, left = 0;
    bool known = (o->date_format || time_is_one(csv_text(c, 0, time))) &&
                 has_number(c, 0, time); /* a list of names has no rows without numbers */
    for (size_t i = 0; i < n && known; i++) drop[i] = csv_total(csv_text(c, i, time));
    for (size_t i = n; known && i-- > 1;) { /* what stands after the last time */
        const char *cell = csv_text(c, i, time);
        if (drop[i]) continue;
        if (o->date_format ? *cell != 0 : *cell && (time_is_one(cell) || has_number(c, i, time)))
            break;
        drop[i] = true;
    }
    for (size_t i = 0; i < n; i++) left += !drop[i];
    if (left) csv_drop(c, drop);
    mem_free(drop);
}

/* The number of words that serve as names of series; 0 if the column has no such words, or too
 * many. */
static size_t count_names(const struct csv *c, int col) {
    struct map names = {0};
    struct table_column k;
    size_t n = 0;
    table_column_read(&k, c, col, &(struct column_wish){0});
    bool words = k.kind == COLUMN_WORDS && k.cells == c->n_rows && !(k.numbers % k.cells);
    for (size_t i = 0; i < c->n_rows && words; i++) {
        uint64_t key = hash_key(k.cell[i], strlen(k.cell[i]), 1);
        if (map_get(&names, key)) continue;
        map_put(&names, key, &names);
        words = 8 * ++n <= c->n_rows;
    }
    table_column_release(&k);
    map_release(&names);
    return words ? n : 0;
}

int layout_apart(const struct csv *c, int time, int value) {
    int found = -1;
    for (int j = 0; j < c->n_cols && c->header && found < 0; j++) {
        if (j == time || j == value || count_names(c, j) < 2) continue;
        struct map rows = {0};
        bool once = true;
        for (size_t i = 0; i < c->n_rows && once; i++) {
            const char *t = csv_text(c, i, time), *name = csv_text(c, i, j);
            uint64_t key = hash_key(name, strlen(name), hash_key(t, strlen(t), 1));
            once = !map_get(&rows, key);
            map_put(&rows, key, &rows);
        }
        if (once) found = j;
        map_release(&rows);
    }
    return found;
}

void layout_say(const struct series *s, struct buf *out) {
    static const char *const from[] = {[CSV_GRID] = "a table of years by parts of a year",
                                       [CSV_ACROSS] = "a row of the table",
                                       [CSV_YEARLESS] = "columns without a year (one is assumed)"};
    if (s->layout != CSV_COLUMNS) buf_printf(out, ", from %s", from[s->layout]);
    if (s->aside == 1)
        buf_printf(out, ", line %zu, which is no row of the table, left out", s->aside_line);
    if (s->aside > 1)
        buf_printf(out, ", %zu lines that are no rows of the table left out (the first: line %zu)",
                   s->aside, s->aside_line);
}
