/* SPDX-License-Identifier: Apache-2.0
 *
 * Files that go with a series: times, and what other columns have at them. They are laid out as the
 * file of the series may be.
 */
#include "apps/discover/date_parts.h"
#include "apps/discover/layout.h"
#include "apps/discover/series.h"
#include "base/mem.h"
#include "table/table.h"
#include <math.h>

/* The column of times: of the name that was asked for, or of the series' own, or of a usual one. */
static enum gpm_status find_times(const struct series *s, struct csv *c,
                                  const struct series_options *o, int *col, struct buf *err) {
    double x;
    bool times = false;
    struct series_options own = {.time = o->time, .date_format = o->date_format};
    if (series_times_are_rows(c, own.time)) own.time = NULL;
    layout_shape(c, &own);
    for (int j = 0; j < c->n_cols && !times && !c->header; j++)
        times = series_read_time(s, csv_text(c, 0, j), &x) == GPM_OK;
    if (!times && !c->header) table_head(c, o->missing);
    if (!own.time && csv_column(c, s->time_name) >= 0) own.time = s->time_name;
    return series_find_time(c, &own, col, err);
}

enum gpm_status series_read_times(const struct series *s, struct csv *c,
                                  const struct series_options *o, size_t *n, double **x,
                                  struct buf *err) {
    int col;
    *x = NULL;
    enum gpm_status st = find_times(s, c, o, &col, err);
    if (st != GPM_OK) return st;
    if (col < 0) col = 0;
    if (c->n_rows == 0) return buf_fail(err, GPM_E_FORMAT, "%s has no rows", c->name);
    date_parts_join(c, col);
    *n = c->n_rows;
    double *at = NEW_ARRAY(double, *n);
    for (size_t row = 0; row < *n; row++) {
        if (series_read_time(s, csv_text(c, row, col), &at[row]) == GPM_OK) continue;
        buf_printf(err, "%s:%zu: ", c->name, c->lines[row]);
        mem_free(at);
        return series_no_time(s, csv_text(c, row, col), err);
    }
    *x = at;
    return GPM_OK;
}

/* Column j of the regressors; a missing cell does not tell. */
static enum gpm_status read_column(const struct series *s, size_t j, const struct table_column *k,
                                   double *z, struct buf *err) {
    const struct csv *c = k->file;
    if (k->style.open) {
        buf_printf(err, "%s: in '%s' ", c->name, s->reg.name[j]);
        number_style_doubt(&k->style, err);
        return GPM_E_FORMAT;
    }
    for (size_t i = 0; i < c->n_rows; i++) {
        z[i * (size_t)s->reg.n + j] = k->x[i];
        if (k->cell[i] && isnan(k->x[i]))
            return buf_fail(err, GPM_E_FORMAT, "%s:%zu: '%s' needs a number, not '%s'", c->name,
                            c->lines[i], s->reg.name[j], k->cell[i]);
    }
    return GPM_OK;
}

enum gpm_status series_read_future(struct series *s, const struct csv *c,
                                   const struct series_options *o, const double *x,
                                   struct buf *err) {
    struct column_wish wish = series_wish(o);
    size_t k = (size_t)s->reg.n;
    double *z = NEW_ARRAY(double, c->n_rows *k + 1);
    enum gpm_status st = GPM_OK;
    if (!wish.decimal && s->style.decimal == ',') wish.decimal = ',';
    for (size_t i = 0; i < c->n_rows * k; i++) z[i] = NAN;
    for (size_t j = 0; j < k && st == GPM_OK; j++) {
        int col = csv_column(c, s->reg.name[j]);
        if (col < 0 && s->reg.listed[j]) continue; /* the list tells */
        if (col < 0) {
            st = buf_fail(err, GPM_E_FORMAT,
                          "%s has no column '%s'; future values of every column with an effect are "
                          "needed",
                          c->name, s->reg.name[j]);
            break;
        }
        struct table_column read;
        table_column_read(&read, c, col, &wish);
        st = read_column(s, j, &read, z, err);
        table_column_release(&read);
    }
    if (st == GPM_OK) regressors_add(&s->reg, c->n_rows, x, z);
    mem_free(z);
    return st;
}
