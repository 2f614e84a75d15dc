/* SPDX-License-Identifier: Apache-2.0
 *
 * Values that follow those of a run: forecasts are of all values, with the structures, the weights
 * and the draws of parameters that were learnt from the first ones.
 */
#include "base/mem.h"
#include "apps/discover/discovery.h"
#include "table/csv.h"
#include <math.h>
#include <string.h>

/* The column of values: that of the run, or the other one of two. */
static enum gpm_status value_column(const struct series *s, const struct csv *c, int *col,
                                    struct buf *err) {
    *col = csv_column(c, s->value_name);
    int time = csv_column(c, s->time_name);
    if (*col < 0 && c->n_cols == 2) *col = time == 1 ? 0 : 1;
    if (*col >= 0) return GPM_OK;
    return buf_fail(err, GPM_E_FORMAT, "%s has no column '%s' of values", c->name, s->value_name);
}

/* Rows with a value, after the data and in order: their number, times and values. */
static enum gpm_status read_rows(const struct series *s, const struct csv *c, size_t *n, double *x,
                                 double *y, struct buf *err) {
    int col;
    enum gpm_status st = value_column(s, c, &col, err);
    double last = s->x[s->n - 1];
    *n = 0;
    for (size_t i = 0; i < c->n_rows && st == GPM_OK; i++) {
        const char *cell = csv_text(c, i, col);
        if (csv_missing_as(c, i, col, NULL)) continue;
        if (!number_style_read(&s->style, cell, &y[*n])) {
            st = buf_fail(err, GPM_E_FORMAT, "%s:%zu: '%s' is not a number", c->name, c->lines[i],
                          cell);
        } else if (!(x[i] > last)) {
            buf_printf(err, "%s:%zu: ", c->name, c->lines[i]);
            series_print_time(s, x[i], err);
            buf_puts(err, " does not follow ");
            series_print_time(s, last, err);
            st = buf_fail(err, GPM_E_ARG,
                          "; values that are added come after those of the run, in "
                          "order");
        } else {
            last = x[(*n)++] = x[i];
        }
    }
    return st;
}

static enum gpm_status may_add(const struct discovery *d, struct buf *err) {
    const char *why = *d->series.every ? "its values are those of steps"
                      : d->hold.n      ? "values of it were held out"
                                       : NULL;
    if (!why) return GPM_OK;
    return buf_fail(err, GPM_E_ARG,
                    "%s: values cannot be added to this run: %s; learn it anew from "
                    "all of them",
                    d->series.name, why);
}

static void series_add(struct series *s, size_t n, const double *x, const double *y) {
    s->x = mem_realloc(s->x, (s->n + n) * sizeof *x);
    s->y = mem_realloc(s->y, (s->n + n) * sizeof *y);
    memcpy(s->x + s->n, x, n * sizeof *x);
    memcpy(s->y + s->n, y, n * sizeof *y);
    series_cut(s, s->n + n);
}

/* The run with these data in the place of d->data, which are freed, or stay where it fails. */
static enum gpm_status take_data(struct discovery *d, struct smodel_data *data, struct buf *err) {
    struct smodel_data former = d->data;
    struct prediction fit = d->fit;
    struct decomposition dec = d->dec;
    struct smodel_work **works;
    d->data = *data;
    memset(&d->fit, 0, sizeof d->fit);
    memset(&d->dec, 0, sizeof d->dec);
    enum gpm_status st = series_search_renew(&d->search, &works);
    if (st != GPM_OK) buf_puts(err, "not enough memory");
    bool turned = st == GPM_OK;
    if (turned) st = discovery_finish(d, err);
    if (st == GPM_OK) {
        series_search_free_works(&d->search, works);
        prediction_release(&fit);
        decomposition_release(&dec);
        smodel_data_release(&former);
        return st;
    }
    prediction_release(&d->fit);
    decomposition_release(&d->dec);
    d->data = former;
    if (turned) series_search_put_back(&d->search, works);
    d->fit = fit;
    d->dec = dec;
    smodel_data_release(data);
    return st;
}

enum gpm_status discovery_add(struct discovery *d, struct csv *c, struct buf *err) {
    struct series *s = &d->series;
    struct smodel_data data;
    size_t rows, n = 0, before = s->n;
    double *x = NULL;
    enum gpm_status st = may_add(d, err);
    if (st == GPM_OK) st = series_read_times(s, c, &d->opt.series, &rows, &x, err);
    if (st != GPM_OK) return st;
    double *y = NEW_ARRAY(double, rows + 1);
    if (s->reg.n) st = series_read_future(s, c, &d->opt.series, x, err);
    if (st == GPM_OK) st = read_rows(s, c, &n, x, y, err);
    if (st == GPM_OK && !n) st = buf_fail(err, GPM_E_FORMAT, "%s has no values", c->name);
    if (st == GPM_OK) st = smodel_data_add(&d->data, n, x, y, &data);
    if (st == GPM_E_ARG && !err->len)
        buf_printf(err,
                   "%s: a value cannot be on the scale that is modelled; learn it anew from all "
                   "of them",
                   c->name);
    if (st == GPM_OK) {
        series_add(s, n, x, y);
        st = take_data(d, &data, err);
        if (st != GPM_OK) series_cut(s, before);
    }
    mem_free(x);
    mem_free(y);
    return st;
}
