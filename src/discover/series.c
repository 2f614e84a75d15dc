/* SPDX-License-Identifier: Apache-2.0
 *
 * From CSV cells to a sorted series.
 */
#include "discover/series.h"
#include "base/ascii.h"
#include "base/calendar.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/number.h"
#include "host/csv.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

struct point {
    double x, y;
    size_t order;
};
struct reading {
    struct csv csv;
    struct series *s;
    const struct series_options *o;
    struct buf *err;
    int time, value; /* columns; time -1: row numbers */
    struct point *p;
    size_t n, kind_line;
};

/* ---- columns ---- */
static bool is_number(const char *text, double *v) {
    return number_parse(text, strlen(text), v) && isfinite(*v);
}

/* The first row is a header when no column could be a value of the series. */
static bool has_header(const struct csv *c) {
    double x;
    enum time_kind kind;
    int last = c->n_cols - 1;
    if (c->n_cols > 1 && series_parse_time(csv_text(c, 0, 0), &x, &kind) == GPM_OK) return false;
    return !is_number(csv_text(c, 0, last), &x) && !csv_missing(c, 0, last);
}

/* The first of the names, up to NULL, that the header has; -1: none. */
static int find_named(const struct csv *c, const char *const *names) {
    for (; c->header && *names; names++)
        for (int j = 0; j < c->n_cols; j++)
            if (!ascii_casecmp(c->header[j], *names)) return j;
    return -1;
}

static enum gpm_status choose_value(struct reading *r) {
    static const char *const usual[] = {"y", "value", "values", NULL};
    if (r->o->value)
        return csv_find(&r->csv, r->o->value, &r->value, r->err) ? GPM_E_FORMAT : GPM_OK;
    r->value = find_named(&r->csv, usual);
    if (r->value >= 0 && r->value != r->time) return GPM_OK;
    r->value = r->csv.n_cols == 2 && r->time == 0;
    if (r->csv.n_cols <= 2) return GPM_OK;
    buf_printf(r->err, "%s has %d columns; choose the values with --column:", r->csv.name,
               r->csv.n_cols);
    for (int c = 0; c < r->csv.n_cols; c++)
        if (c != r->time)
            buf_printf(r->err, " '%s'", r->csv.header ? r->csv.header[c] : "(number)");
    return GPM_E_FORMAT;
}

static enum gpm_status choose_columns(struct reading *r) {
    static const char *const usual[] = {"ds",   "date", "time",  "timestamp", "datetime",
                                        "t",    "year", "month", "day",       "quarter",
                                        "week", "x",    NULL};
    if (has_header(&r->csv)) csv_take_header(&r->csv);
    r->time = -1;
    if (r->o->time) {
        if (csv_find(&r->csv, r->o->time, &r->time, r->err)) return GPM_E_FORMAT;
    } else if (r->csv.n_cols > 1) {
        r->time = find_named(&r->csv, usual);
        if (r->time < 0) r->time = 0;
    }
    return choose_value(r);
}

/* ---- rows ---- */
static enum gpm_status bad_row(struct reading *r, size_t row, const char *what, const char *cell) {
    if (r->o->skip_bad) {
        r->s->bad++;
        return GPM_OK;
    }
    return buf_fail(r->err, GPM_E_FORMAT,
                    "%s:%zu: %s '%s'; correct the row, or skip such rows with --skip-bad",
                    r->csv.name, r->csv.lines[row], what, cell);
}

/* NaN: the row is skipped. */
static enum gpm_status read_time(struct reading *r, size_t row, double *x) {
    if (r->time < 0) {
        *x = (double)row + 1;
        return GPM_OK;
    }
    enum time_kind kind;
    const char *cell = csv_text(&r->csv, row, r->time);
    if (csv_missing(&r->csv, row, r->time) || series_parse_time(cell, x, &kind) != GPM_OK) {
        *x = NAN;
        return bad_row(r, row,
                       "cannot read the time (a number, 1949, 1949-01, 1949Q1, 1949-01-31, "
                       "1949-01-31T12:00)",
                       cell);
    }
    if (!r->kind_line) {
        r->s->kind = kind;
        r->kind_line = r->csv.lines[row];
    } else if (kind != r->s->kind) {
        *x = NAN;
        struct buf what = BUF_INIT;
        buf_printf(&what,
                   "the times change their format (line %zu has another one): ", r->kind_line);
        enum gpm_status st = bad_row(r, row, what.data, cell);
        buf_release(&what);
        return st;
    }
    if (!r->s->form || strlen(cell) > strlen(r->s->form)) {
        mem_free(r->s->form);
        r->s->form = mem_strdup(cell);
    }
    return GPM_OK;
}

static enum gpm_status read_row(struct reading *r, size_t row) {
    double x, y;
    enum gpm_status st = read_time(r, row, &x);
    if (st != GPM_OK || isnan(x)) return st;
    const char *cell = csv_text(&r->csv, row, r->value);
    if (csv_missing(&r->csv, row, r->value)) {
        r->s->missing++;
        return GPM_OK;
    }
    if (!is_number(cell, &y)) {
        const char *what = strchr(cell, ',')
                               ? "the value is not a number (no commas; decimals have a point):"
                               : "the value is not a number:";
        return bad_row(r, row, what, cell);
    }
    r->p[r->n] = (struct point){x, y, r->n};
    r->n++;
    return GPM_OK;
}

static int by_time(const void *a, const void *b) {
    const struct point *p = a, *q = b;
    if (p->x != q->x) return p->x < q->x ? -1 : 1;
    return p->order < q->order ? -1 : 1;
}

/* ---- the calendar ---- */
/* Days that are all the first of a month count as months: equal steps, and a year is 1. */
static bool month_start(double day, double *x) {
    int y, m, d;
    calendar_date((long)day, &y, &m, &d);
    *x = y + (m - 1) / 12.0;
    return d == 1;
}

/* Replaces the times when the function knows every one of them. */
static bool replace_times(struct reading *r, bool (*read)(double v, double *x)) {
    double x;
    for (size_t i = 0; i < r->n; i++)
        if (!read(r->p[i].x, &x)) return false;
    for (size_t i = 0; i < r->n; i++) (void)read(r->p[i].x, &r->p[i].x);
    return true;
}

enum gpm_status series_read_time(const struct series *s, const char *text, double *x) {
    enum time_kind kind;
    bool days = !strcmp(s->unit, "day");
    if (series_parse_time(text, x, &kind) != GPM_OK) return GPM_E_FORMAT;
    if (s->kind == TIME_DATE && kind == TIME_NUMBER && series_compact_date(*x, x)) kind = TIME_DATE;
    if (days ? kind < TIME_DATE : kind != (series_dated(s) ? s->kind : TIME_NUMBER))
        return GPM_E_FORMAT;
    if (s->kind == TIME_DATE && !days) (void)month_start(*x, x);
    return GPM_OK;
}

static void set_unit(struct reading *r) {
    struct series *s = r->s;
    bool some = r->time >= 0 && r->n > 1;
    s->unit = "step";
    if (s->kind == TIME_NUMBER && some && replace_times(r, series_compact_date))
        s->kind = TIME_DATE;
    if (s->kind == TIME_DATE && some && replace_times(r, month_start)) {
        s->unit = "year";
    } else if (s->kind == TIME_DATE || s->kind == TIME_INSTANT) {
        s->unit = "day";
    } else if (s->kind == TIME_MONTH || s->kind == TIME_QUARTER) {
        s->unit = "year";
    } else if (r->time >= 0 && r->n && r->p[0].x >= 1000 && r->p[r->n - 1].x <= 2200) {
        s->kind = TIME_YEAR; /* numbers between 1000 and 2200 are taken for years */
        s->unit = "year";
    }
}

static void set_seasons(struct series *s) {
    if (!strcmp(s->unit, "year")) s->season[s->n_season++] = 1;
    if (strcmp(s->unit, "day")) return;
    s->season[s->n_season++] = 7;
    s->season[s->n_season++] = 365.2425;
    if (s->kind == TIME_INSTANT) s->season[s->n_season++] = 1;
}

static void set_hash(struct series *s) {
    s->hash = hash_bytes(s->y, s->n * sizeof *s->y, hash_bytes(s->x, s->n * sizeof *s->x, 1));
}

/* -99, -999 ... as the least value, far below every other one. */
static void find_code(struct series *s) {
    double least = INFINITY, next = INFINITY;
    for (size_t i = 0; i < s->n; i++) least = fmin(least, s->y[i]);
    for (size_t i = 0; i < s->n; i++) {
        s->coded += s->y[i] == least;
        if (s->y[i] > least) next = fmin(next, s->y[i]);
    }
    double nines = 1 - least; /* a power of ten */
    s->code = least;
    if (!(least <= -99) || fabs(log10(nines) - round(log10(nines))) > 1e-12 || !(next > least / 4))
        s->coded = 0;
}

static void finish(struct reading *r) {
    struct series *s = r->s;
    s->rows = r->csv.n_rows;
    s->sorted = true;
    for (size_t i = 1; i < r->n; i++) s->sorted &= r->p[i].x >= r->p[i - 1].x;
    qsort(r->p, r->n, sizeof *r->p, by_time);
    size_t drop = r->o->max_points && r->n > r->o->max_points ? r->n - r->o->max_points : 0;
    set_unit(r);
    s->left_out = drop;
    s->n = r->n - drop;
    s->x = NEW_ARRAY(double, s->n + 1);
    s->y = NEW_ARRAY(double, s->n + 1);
    for (size_t i = 0; i < s->n; i++) {
        s->x[i] = r->p[drop + i].x;
        s->y[i] = r->p[drop + i].y;
        if (i && s->x[i] == s->x[i - 1]) s->repeated++;
    }
    find_code(s);
    set_seasons(s);
    set_hash(s);
}

static enum gpm_status check(const struct reading *r) {
    const struct series *s = r->s;
    const char *name = r->csv.name;
    if (s->rows == 0) return buf_fail(r->err, GPM_E_FORMAT, "%s has no rows", name);
    if (s->n == 0)
        return buf_fail(r->err, GPM_E_FORMAT,
                        "%s: no value in %zu rows (%zu missing, %zu unreadable)", name, s->rows,
                        s->missing, s->bad);
    if (s->n < 8)
        return buf_fail(r->err, GPM_E_FORMAT,
                        "%s: %zu value%s too few to look for structure; 8 are needed", name, s->n,
                        s->n == 1 ? " is" : "s are");
    double span = s->x[s->n - 1] - s->x[0];
    if (!isfinite(span) || !(span > 0))
        return buf_fail(r->err, GPM_E_FORMAT, "%s: %s", name,
                        isfinite(span) ? "all values have the same time"
                                       : "the times lie too far apart");
    for (size_t i = 1; i < s->n; i++)
        if (s->y[i] != s->y[0]) return GPM_OK;
    return buf_fail(r->err, GPM_E_FORMAT,
                    "%s: the series is constant (every value is %g): nothing to discover", name,
                    s->y[0]);
}

char *series_clean_name(const char *text) {
    struct buf b = BUF_INIT;
    buf_line(&b, text);
    return buf_take(&b);
}

static enum gpm_status read_all(struct reading *r) {
    enum gpm_status st = choose_columns(r);
    if (st != GPM_OK) return st;
    struct series *s = r->s;
    const char **head = r->csv.header;
    s->name = series_clean_name(r->csv.name);
    s->time_name = series_clean_name(head && r->time >= 0 ? head[r->time] : "time");
    s->value_name = series_clean_name(head ? head[r->value] : "value");
    r->p = NEW_ARRAY(struct point, r->csv.n_rows + 1);
    for (size_t row = 0; row < r->csv.n_rows && st == GPM_OK; row++) st = read_row(r, row);
    if (st != GPM_OK) return st;
    finish(r);
    return check(r);
}

enum gpm_status series_read(struct series *s, const char *name, const char *text, size_t len,
                            const struct series_options *o, struct buf *err) {
    struct reading r = {.s = s, .o = o, .err = err};
    memset(s, 0, sizeof *s);
    enum gpm_status st =
        text ? csv_parse(&r.csv, name, text, len, err) : csv_read(&r.csv, name, err);
    if (st != GPM_OK) return st;
    st = read_all(&r);
    csv_release(&r.csv);
    mem_free(r.p);
    if (st != GPM_OK) series_release(s);
    return st;
}

void series_release(struct series *s) {
    mem_free(s->x);
    mem_free(s->y);
    mem_free(s->name);
    mem_free(s->time_name);
    mem_free(s->form);
    mem_free(s->value_name);
    memset(s, 0, sizeof *s);
}

bool series_dated(const struct series *s) {
    return s->kind != TIME_NUMBER && s->kind != TIME_YEAR;
}

void series_cut(struct series *s, size_t n) {
    s->n = n;
    set_hash(s);
}

struct series_options series_options_copy(const struct series_options *o) {
    struct series_options c = *o;
    c.time = o->time ? mem_strdup(o->time) : NULL;
    c.value = o->value ? mem_strdup(o->value) : NULL;
    return c;
}

void series_options_release(struct series_options *o) {
    mem_free((char *)o->time);
    mem_free((char *)o->value);
    o->time = o->value = NULL;
}
