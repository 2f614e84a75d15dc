/* SPDX-License-Identifier: Apache-2.0
 *
 * Series: options as copies, times as text.
 */
#include "base/calendar.h"
#include "base/mem.h"
#include "apps/discover/series.h"
#include <math.h>
#include <string.h>

static const char *own(const char *text) {
    return text ? mem_strdup(text) : NULL;
}

struct series_options series_options_copy(const struct series_options *o) {
    struct series_options c = *o;
    c.time = own(o->time);
    c.value = own(o->value);
    c.date_format = own(o->date_format);
    c.missing = own(o->missing);
    c.by = own(o->by);
    c.every = own(o->every);
    c.least = own(o->least);
    c.most = own(o->most);
    c.with = own(o->with);
    c.smooth = own(o->smooth);
    c.holidays = own(o->holidays);
    return c;
}

void series_options_release(struct series_options *o) {
    mem_free((char *)o->time);
    mem_free((char *)o->value);
    mem_free((char *)o->date_format);
    mem_free((char *)o->missing);
    mem_free((char *)o->by);
    mem_free((char *)o->every);
    mem_free((char *)o->least);
    mem_free((char *)o->most);
    mem_free((char *)o->with);
    mem_free((char *)o->smooth);
    mem_free((char *)o->holidays);
    *o = (struct series_options){0};
}

/* ---- times as text ---- */

double series_month_time(double day, int *d, bool *last) {
    int y, m;
    calendar_date((long)floor(day), &y, &m, d);
    *last = *d == calendar_month_length(y, m);
    return y + (m - 1) / 12.0;
}

bool series_counts_months(const struct series *s) {
    return s->form.kind >= TIME_DATE && s->form.kind != TIME_WEEK && !strcmp(s->unit, "year");
}

/* Months and their days name each other: of days that count as months, July 1961 is the one there;
 * of months, 1961-07-01 is its month. */
static enum gpm_status read_month(const struct series *s, const char *text, double *x) {
    struct time_form other;
    enum gpm_status st = GPM_E_FORMAT;
    int d;
    bool last;
    if (!series_dated(s) || time_form_of(text, &other)) return st;
    bool months = other.kind == TIME_MONTH || other.kind == TIME_QUARTER;
    if (series_counts_months(s) ? months : s->form.kind == TIME_MONTH && other.kind == TIME_DATE)
        st = time_read(&other, text, x);
    if (st == GPM_OK && !months) *x = series_month_time(*x, &d, &last);
    time_form_release(&other);
    return st;
}

enum gpm_status series_read_time(const struct series *s, const char *text, double *x) {
    int d;
    bool last;
    if (time_read(&s->form, text, x)) return read_month(s, text, x);
    if (series_counts_months(s))
        *x = series_month_time(*x + s->form.zone / 1440.0 + 1e-9, &d, &last);
    return GPM_OK;
}

/* A time in days where x counts months. */
static double in_days(const struct series *s, double x) {
    if (!series_counts_months(s) || !(fabs(x) < 1e6)) return x;
    double k = floor(x * 12 + 0.5);
    int year = (int)floor(k / 12), month = (int)(k - 12.0 * year) + 1;
    int day = s->month_end ? calendar_month_length(year, month) : 1;
    return (double)calendar_days(year, month, day) + s->month_at;
}

void series_print_time(const struct series *s, double x, struct buf *out) {
    time_print(&s->form, in_days(s, x), out);
}

void series_print_plain(const struct series *s, double x, struct buf *out) {
    if (s->form.kind == TIME_UNIX)
        time_print_iso(&s->form, in_days(s, x), out);
    else
        series_print_time(s, x, out);
}

void series_print_rounded(const struct series *s, double x, int digits, struct buf *out) {
    if (series_dated(s))
        series_print_plain(s, x, out);
    else
        buf_printf(out, "%.*g", digits, x);
}

enum gpm_status series_no_time(const struct series *s, const char *text, struct buf *err) {
    buf_printf(err, "cannot read the time '%s'; write it as the data file does, such as ", text);
    series_print_time(s, s->x[s->n - 1], err);
    return GPM_E_FORMAT;
}
