/* SPDX-License-Identifier: Apache-2.0
 *
 * Which column of a file holds the times: the one that is named, or has a usual name, or the first.
 * The first of several is one by what it holds: dates, or numbers in order (series_guessed_times).
 */
#include "base/ascii.h"
#include "base/mem.h"
#include "apps/discover/date_parts.h"
#include "apps/discover/layout.h"
#include "apps/discover/series.h"
#include "table/table.h"
#include <string.h>

/* The first column with a usual name of times; -1: none. */
static int usual_name(const struct csv *c) {
    static const char *const usual[] = {"ds",   "date", "time",  "timestamp", "datetime",
                                        "t",    "year", "month", "day",       "quarter",
                                        "week", "x",    NULL};
    return csv_column_of(c, usual);
}

/* Is a single column one of times, not of values? By most of its first cells; numbers are times
 * where rows are to be counted. */
static bool lists_times(const struct csv *c, const struct series_options *o) {
    enum { CELLS = 50 };
    size_t cells = 0, times = 0;
    for (size_t i = 0; i < c->n_rows && cells < CELLS; i++) {
        enum cell_kind kind = cell_kind(csv_text(c, i, 0));
        if (kind == CELL_EMPTY || kind == CELL_MISSING) continue;
        bool number = kind == CELL_NUMBER;
        times += number ? o->take == TAKE_COUNT : o->date_format || kind == CELL_TIME;
        cells++;
    }
    return 2 * times > cells;
}

bool series_times_are_rows(const struct csv *c, const char *name) {
    return name && !strcmp(name, "rows") && csv_column(c, name) < 0;
}

enum gpm_status series_time_column(struct csv *file, const struct series_options *o, int *time,
                                   struct buf *err) {
    if (!file->header) layout_shape(file, o);
    if (!file->header) table_head(file, o->missing);
    return series_find_time(file, o, time, err);
}

enum gpm_status series_find_time(struct csv *file, const struct series_options *o, int *time,
                                 struct buf *err) {
    *time = -1;
    if (series_times_are_rows(file, o->time)) return GPM_OK;
    if (!o->time && file->n_cols < 2 && !lists_times(file, o)) return GPM_OK;
    if (o->time && csv_find(file, o->time, time, err)) return GPM_E_FORMAT;
    if (!o->time) *time = usual_name(file);
    if (!o->time && *time >= 0 && file->n_cols == 2 && !ascii_casecmp(file->header[*time], "x") &&
        csv_counts_rows(file, 1 - *time))
        *time = 1 - *time; /* R writes a vector as numbered rows of x */
    if (*time < 0) *time = 0;
    layout_rows(file, o, *time);
    if (!o->time) date_parts_join(file, *time);
    return GPM_OK;
}

enum gpm_status series_guessed_times(const struct csv *c, const struct series_options *o, int time,
                                     const char *what, struct buf *err) {
    if (time < 0 || o->time || o->date_format || c->n_cols < 2 || c->layout != CSV_COLUMNS ||
        usual_name(c) == time)
        return GPM_OK;
    buf_printf(err, "%s: no column is a time: the first", c->name);
    if (c->header) {
        char *name = series_clean_name(c->header[time]);
        buf_printf(err, ", '%s',", name);
        mem_free(name);
    }
    return buf_fail(err, GPM_E_FORMAT,
                    " holds %s; name one with --time NAME, or take rows as steps of time with "
                    "--time rows",
                    what);
}
