/* SPDX-License-Identifier: Apache-2.0
 *
 * See holidays.h.
 */
#include "apps/discover/holidays.h"
#include "base/mem.h"
#include "table/table.h"
#include <math.h>
#include <string.h>

#define STEPS_MOST 100000 /* after the series */

struct holidays {
    struct series *s;
    struct csv csv;
    int date, name;   /* columns; name -1: all days are of one */
    int first, names; /* of the series' columns, those of the list */
    size_t n;
    double *day; /* since 1970 */
    double last; /* that the list knows of */
    int *of;     /* which name */
    double step; /* of the series: months, or days */
    bool months;
};

static enum gpm_status read_days(struct holidays *h, struct buf *err) {
    const struct csv *c = &h->csv;
    struct table_column k;
    enum gpm_status st = table_column_times(&k, c, h->date, "", NULL, err);
    if (st == GPM_OK && k.form.kind != TIME_DATE)
        st = buf_fail(err, GPM_E_FORMAT,
                      "%s: holidays are days (2024-12-25) with a name each, not '%s'", c->name,
                      csv_text(c, 0, h->date));
    for (size_t i = 0; i < c->n_rows && st == GPM_OK; i++)
        if (isnan(k.x[i]))
            st = buf_fail(err, GPM_E_FORMAT, "%s:%zu: '%s' is no day", c->name, c->lines[i],
                          csv_text(c, i, h->date));
    h->n = c->n_rows;
    h->day = k.x;
    k.x = NULL;
    table_column_release(&k);
    return st;
}

/* The number of a name among the list's, -1: there is no room for it, or a column has it. */
static int name_number(struct holidays *h, char *names[REGRESSORS_MAX], const char *name) {
    const struct regressors *r = &h->s->reg;
    int j = 0;
    while (j < h->names && strcmp(names[j], name)) j++;
    if (j < h->names) return j;
    for (int i = 0; i < r->n; i++)
        if (!strcmp(r->name[i], name)) return -1;
    if (r->n + h->names == REGRESSORS_MAX) return -1;
    names[h->names++] = mem_strdup(name);
    return j;
}

static enum gpm_status no_name(const struct holidays *h, const char *name, struct buf *err) {
    const struct regressors *r = &h->s->reg;
    if (r->n + h->names < REGRESSORS_MAX)
        return buf_fail(err, GPM_E_ARG, "%s: '%s' is a column with an effect and a holiday",
                        h->csv.name, name);
    return buf_fail(err, GPM_E_ARG,
                    "%s: more than %d names of holidays%s; give those that act alike one",
                    h->csv.name, REGRESSORS_MAX, r->n ? " and other columns" : "");
}

/* Room for the list's columns, after those with linear effects; what is there does not tell them.
 */
static void insert_columns(struct holidays *h, char *names[REGRESSORS_MAX]) {
    struct regressors *r = &h->s->reg;
    int was = r->n, add = h->names;
    size_t k = (size_t)(was + add), first;
    while (h->first < was && !r->smooth[h->first]) h->first++;
    first = (size_t)h->first;
    for (int j = was - 1; j >= h->first; j--) {
        r->name[j + add] = r->name[j];
        r->smooth[j + add] = r->smooth[j];
        r->listed[j + add] = r->listed[j];
    }
    for (int j = 0; j < add; j++) {
        r->name[h->first + j] = names[j];
        r->smooth[h->first + j] = false;
        r->listed[h->first + j] = true;
    }
    double *z = NEW_ARRAY(double, r->rows *k + 1);
    for (size_t i = 0; i < r->rows; i++)
        for (size_t j = 0; j < k; j++) {
            bool ours = j >= first && j < first + (size_t)add;
            size_t old = i * (size_t)was + j - (j >= first ? (size_t)add : 0);
            z[i * k + j] = ours ? NAN : r->z[old];
        }
    mem_free(r->z);
    r->z = z;
    r->n += add;
}

/* A column for each name, in the order of the list. */
static enum gpm_status read_names(struct holidays *h, struct buf *err) {
    char *names[REGRESSORS_MAX];
    enum gpm_status st = GPM_OK;
    h->of = NEW_ARRAY(int, h->n + 1);
    for (size_t i = 0; i < h->n && st == GPM_OK; i++) {
        char *name = series_clean_name(h->name < 0 ? "holiday" : csv_text(&h->csv, i, h->name));
        h->of[i] = name_number(h, names, name);
        if (h->of[i] < 0) st = no_name(h, name, err);
        mem_free(name);
    }
    if (st == GPM_OK) insert_columns(h, names);
    for (int j = 0; j < h->names && st != GPM_OK; j++) mem_free(names[j]);
    return st;
}

/* The usual step of the series, in months or in days. */
static enum gpm_status find_step(struct holidays *h, struct buf *err) {
    const struct series *s = h->s;
    enum time_kind kind = s->form.kind;
    bool days = kind == TIME_DATE || kind == TIME_INSTANT || kind == TIME_WEEK || kind == TIME_UNIX;
    h->months = kind == TIME_MONTH || kind == TIME_QUARTER || series_counts_months(s);
    if (!h->months && !days)
        return buf_fail(err, GPM_E_FORMAT,
                        "%s: holidays (--holidays) need times that are days, weeks, months or "
                        "quarters",
                        s->name);
    double least = INFINITY;
    for (size_t i = 1; i < s->n; i++)
        if (s->x[i] > s->x[i - 1]) least = fmin(least, s->x[i] - s->x[i - 1]);
    h->step = h->months ? fmax(floor(least * 12 + 0.5), 1) / 12 : least;
    return GPM_OK;
}

/* The days of a value at x: from *from on, before *to. */
static void days_of_step(const struct holidays *h, double x, double *from, double *to) {
    double k = floor(x * 12 + 0.5);
    *from = h->months ? series_first_day(k) : floor(x);
    *to = h->months ? series_first_day(k + floor(h->step * 12 + 0.5))
                    : *from + fmax(floor(h->step + 0.5), 1);
}

/* Does a day lie in a step of the series? */
static bool in_series(const struct holidays *h, double day) {
    double from, to;
    for (size_t i = 0; i < h->s->n; i++) {
        days_of_step(h, h->s->x[i], &from, &to);
        if (day >= from && day < to) return true;
    }
    return false;
}

/* Names that have no day in the series have no effect that could be seen: they are left out, unless
 * there is no other. */
static void leave_unseen(struct holidays *h) {
    bool *drop = mem_zalloc(h->n + 1), *seen = mem_zalloc(h->n + 1);
    size_t left = 0, kept = 0;
    for (size_t i = 0; i < h->n && h->name >= 0; i++) seen[i] = in_series(h, h->day[i]);
    for (size_t i = 0; i < h->n && h->name >= 0; i++) {
        const char *name = csv_text(&h->csv, i, h->name);
        bool first = true;
        drop[i] = true;
        for (size_t k = 0; k < h->n && drop[i]; k++)
            if (!strcmp(csv_text(&h->csv, k, h->name), name)) {
                drop[i] = !seen[k];
                first &= k >= i;
            }
        h->s->unseen += drop[i] && first;
        left += !drop[i];
    }
    if (left && left < h->n) {
        for (size_t i = 0; i < h->n; i++)
            if (!drop[i]) h->day[kept++] = h->day[i];
        csv_drop(&h->csv, drop);
        h->n = left;
    } else {
        h->s->unseen = 0;
    }
    mem_free(drop);
    mem_free(seen);
}

/* The list's columns at x; others are not its matter. */
static void count_days(const struct holidays *h, double x, double *z) {
    double from, to;
    days_of_step(h, x, &from, &to);
    for (int j = 0; j < h->s->reg.n; j++) z[j] = h->s->reg.listed[j] ? 0 : NAN;
    for (size_t i = 0; i < h->n; i++)
        if (h->day[i] >= from && h->day[i] < to) z[h->first + h->of[i]]++;
}

/* A list has all days of its last year. */
static double last_day(const struct holidays *h) {
    double last = h->day[0];
    for (size_t i = 1; i < h->n; i++) last = fmax(last, h->day[i]);
    return series_first_day(12 * floor(series_month_of(last) / 12) + 12) - 1;
}

/* Rows for the values, and for the steps after them as far as the list goes. */
static void fill_rows(struct holidays *h) {
    struct series *s = h->s;
    double last = h->last, from, to, end = s->x[s->n - 1];
    size_t k = (size_t)s->reg.n, more = 0;
    for (; more < STEPS_MOST; more++) {
        days_of_step(h, end + (double)(more + 1) * h->step, &from, &to);
        if (from > last) break;
    }
    size_t rows = s->n + more;
    double *x = NEW_ARRAY(double, rows + 1), *z = NEW_ARRAY(double, rows *k + 1);
    for (size_t i = 0; i < rows; i++) {
        x[i] = i < s->n ? s->x[i] : end + (double)(i + 1 - s->n) * h->step;
        count_days(h, x[i], z + i * k);
    }
    regressors_add(&s->reg, rows, x, z);
    mem_free(x);
    mem_free(z);
}

enum gpm_status holidays_add(struct series *s, const char *path, struct buf *err) {
    struct holidays h = {.s = s, .name = -1};
    struct series_options o = {0};
    enum gpm_status st = csv_table(&h.csv, path, NULL, 0, err);
    if (st != GPM_OK) return st;
    st = series_time_column(&h.csv, &o, &h.date, err);
    if (h.date < 0) h.date = 0;
    if (h.csv.n_cols > 1) h.name = h.date == 0 ? 1 : 0;
    if (st == GPM_OK && !h.csv.n_rows) st = buf_fail(err, GPM_E_FORMAT, "%s has no rows", path);
    if (st == GPM_OK) st = find_step(&h, err);
    if (st == GPM_OK) st = read_days(&h, err);
    if (st == GPM_OK) h.last = last_day(&h);
    if (st == GPM_OK) leave_unseen(&h);
    if (st == GPM_OK) st = read_names(&h, err);
    if (st == GPM_OK) fill_rows(&h);
    csv_release(&h.csv);
    mem_free(h.day);
    mem_free(h.of);
    return st;
}
