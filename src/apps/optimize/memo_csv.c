/* SPDX-License-Identifier: Apache-2.0
 * Memo tables as CSV; see memo_csv.h. */
#include "apps/optimize/bo_rules.h"
#include "apps/optimize/memo_csv.h"
#include "base/mem.h"
#include "table/table.h"

#include <math.h>
#include <string.h>
#include <time.h>

#define LAST_TIME 253402300800.0 /* end of the year 9999; later ones are not written */

enum gpm_status memo_space(struct memo *m, struct bo_space *space, struct buf *err) {
    char *text = NULL;
    enum gpm_status s = memo_get(m, "space", &text, err);
    if (!s) s = bo_space_parse(space, text, err);
    mem_free(text);
    if (s || space->n == m->dim) return s;
    buf_printf(err,
               "the search space of the table has %d variables, its rows have %d; the file "
               "is damaged",
               space->n, m->dim);
    bo_space_release(space);
    return GPM_E_FORMAT;
}

enum gpm_status memo_inputs(struct memo *m, struct bo_space *space, struct buf *err) {
    enum gpm_status s = memo_space(m, space, err);
    if (s != GPM_E_NOT_FOUND) return s;
    bo_space_any(space, m->names, m->dim);
    return GPM_OK;
}

struct export {
    const struct bo_space *space;
    struct buf *out;
    bool outputs; /* rows hold several numbers */
};

void memo_time(struct buf *out, const char *format, double when) {
    if (!(when > 0 && when < LAST_TIME)) return;
    time_t t = (time_t)when;
    struct tm tm;
    char text[40];
    gmtime_r(&t, &tm);
    strftime(text, sizeof text, format, &tm);
    buf_puts(out, text);
}

/* Text that came from outside; a CSV file is often looked at in a terminal. */
static void put_foreign(struct buf *out, const char *text) {
    struct buf clean = BUF_INIT;
    buf_visible(&clean, text, strlen(text));
    csv_put(out, clean.data);
    buf_release(&clean);
}

static bool export_row(const struct memo_row *r, void *user) {
    struct export *e = user;
    struct buf text = BUF_INIT;
    for (int j = 0; j < r->dim; j++) {
        buf_reset(&text);
        bo_space_value(e->space, j, r->x[j], 0, &text);
        csv_put(e->out, text.data);
        buf_putc(e->out, ',');
    }
    if (r->status == MEMO_DONE) buf_number(e->out, r->y);
    buf_printf(e->out, ",%s,", memo_status_name(r->status));
    buf_printf(e->out, "%.6g,", r->seconds);
    put_foreign(e->out, r->error);
    buf_putc(e->out, ',');
    memo_time(e->out, "%Y-%m-%dT%H:%M:%SZ", r->finished);
    buf_putc(e->out, ',');
    put_foreign(e->out, r->host);
    buf_printf(e->out, ",%d", r->rep);
    if (e->outputs) {
        buf_putc(e->out, ',');
        put_foreign(e->out, r->outputs);
    }
    buf_putc(e->out, '\n');
    buf_release(&text);
    return true;
}

static bool has_outputs(const struct memo_row *r, void *any) {
    *(bool *)any = *r->outputs != 0;
    return !*r->outputs;
}

enum gpm_status memo_csv_export(struct memo *m, const struct bo_space *space, struct buf *out,
                                struct buf *err) {
    struct export e = {space, out, false};
    enum gpm_status s = memo_each(m, -1, has_outputs, &e.outputs, err);
    if (s) return s;
    for (int j = 0; j < space->n; j++) buf_printf(out, "%s,", space->vars[j].name);
    buf_printf(out, "value,status,seconds,error,finished,host,replicate%s\n",
               e.outputs ? ",outputs" : "");
    return memo_each(m, -1, export_row, &e, err);
}

/* ---- import ---- */

struct columns {
    int *input, value, status, seconds, error, outputs;
    struct table_column values, times; /* what they hold; of the seconds, where there are some */
};

static enum gpm_status find_columns(const struct bo_space *space, const struct csv *c,
                                    struct columns *cols, struct buf *err) {
    for (int j = 0; j < space->n; j++) {
        cols->input[j] = j;
        if (c->header && csv_find(c, space->vars[j].name, &cols->input[j], err))
            return GPM_E_NOT_FOUND;
    }
    cols->value = csv_column(c, "value");
    if (cols->value < 0 && c->n_cols == space->n + 1) cols->value = space->n;
    if (cols->value < 0)
        return buf_fail(err, GPM_E_FORMAT, "%s: there is no column 'value' with the results",
                        c->name);
    cols->status = csv_column(c, "status");
    cols->seconds = csv_column(c, "seconds");
    cols->error = csv_column(c, "error");
    cols->outputs = csv_column(c, "outputs");
    table_column_read(&cols->values, c, cols->value, &(struct column_wish){0});
    if (cols->seconds >= 0)
        table_column_read(&cols->times, c, cols->seconds, &(struct column_wish){0});
    return GPM_OK;
}

/* Skips rows that are neither done nor failed; other processes work on them. */
static enum gpm_status import_row(struct memo *m, const struct bo_space *space, const struct csv *c,
                                  size_t i, const struct columns *cols, bool replicate, double *x,
                                  size_t *added, struct buf *err) {
    enum gpm_status s = GPM_OK;
    const char *status = cols->status >= 0 ? csv_text(c, i, cols->status) : "done";
    const char *value = csv_text(c, i, cols->value), *error = NULL;
    double y = NAN, seconds = 0;
    if (strcmp(value, "fail") == 0 || strcmp(status, "failed") == 0)
        error = cols->error >= 0 && *csv_text(c, i, cols->error) ? csv_text(c, i, cols->error)
                                                                 : "failed";
    else if (strcmp(status, "done") != 0)
        return GPM_OK;
    struct buf why = BUF_INIT;
    for (int j = 0; j < space->n && !s; j++)
        s = bo_space_read(space, j, csv_text(c, i, cols->input[j]), &x[j], &why);
    if (!s) s = bo_space_check(space, x, &why);
    if (s) buf_printf(err, "%s:%zu: %s", c->name, c->lines[i], why.data);
    buf_release(&why);
    if (!s && !error) s = table_column_number(&cols->values, i, &y, err);
    if (!s && cols->seconds >= 0 && !csv_missing_as(c, i, cols->seconds, NULL))
        s = table_column_number(&cols->times, i, &seconds, err);
    if (s) return s;
    bool more = false;
    const char *outputs = cols->outputs >= 0 ? csv_text(c, i, cols->outputs) : NULL;
    s = memo_add(m, x, y, outputs, error, seconds, replicate, &more, err);
    if (s == GPM_E_CONFLICT) buf_printf(err, " (%s:%zu)", c->name, c->lines[i]);
    *added += more;
    return s;
}

enum gpm_status memo_csv_import(struct memo *m, const struct bo_space *space, const char *path,
                                bool replicate, size_t *added, struct buf *err) {
    struct csv c;
    enum gpm_status s = csv_table(&c, path, NULL, 0, err);
    if (s) return s;
    table_head(&c, NULL);
    struct columns cols = {.input = NEW_ARRAY(int, (size_t)space->n)};
    double *x = NEW_ARRAY(double, (size_t)space->n);
    *added = 0;
    s = find_columns(space, &c, &cols, err);
    if (!s) s = memo_begin(m, err);
    for (size_t i = 0; i < c.n_rows && !s; i++)
        s = import_row(m, space, &c, i, &cols, replicate, x, added, err);
    s = memo_end(m, s, err);
    if (s) *added = 0;
    table_column_release(&cols.values);
    table_column_release(&cols.times);
    mem_free(cols.input);
    mem_free(x);
    csv_release(&c);
    return s;
}
