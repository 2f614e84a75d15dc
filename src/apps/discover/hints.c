/* SPDX-License-Identifier: Apache-2.0
 *
 * Changed units, reset counters, moving holidays: detected from traces in the values and reported
 * as a question, because only the table's author knows. */
#include "apps/discover/hints.h"
#include "apps/discover/shots.h"
#include "base/number.h"
#include "base/units.h"
#include "numeric/special/robust.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char *blank(const struct buf *out) {
    return out->len ? " " : "";
}

/* ---- units ---- */
#define UNIT_VALUES  12  /* on either side of the change that are compared; at least half of them */
#define UNIT_DECADES 0.1 /* how near to a power of ten the factor is */

/* The median size of the values from..to-1. */
static double size_of(const double *y, size_t from, size_t to) {
    double v[UNIT_VALUES];
    size_t n = 0;
    for (size_t i = from; i < to; i++) v[n++] = fabs(y[i]);
    return robust_median(v, n);
}

/* Whether no value before `at` is as large as the least from there on. */
static bool apart(const double *y, size_t n, size_t at, bool up) {
    double small = 0, large = INFINITY;
    for (size_t i = 0; i < n; i++)
        if ((i < at) == up)
            small = fmax(small, fabs(y[i]));
        else
            large = fmin(large, fabs(y[i]));
    return small < large;
}

/* "From 2013-07 on values are about 1000 times as large as before: ..." A season and a trend move
 * values by less than the gap of two decades; a factor of ten they may reach. */
void hint_units(const struct discovery *d, struct buf *out) {
    const struct series *s = &d->series;
    double most = 0;
    size_t at = 0;
    for (size_t i = UNIT_VALUES / 2; i + UNIT_VALUES / 2 <= s->n; i++) {
        double jump = fabs(log10(fabs(s->y[i]) / fabs(s->y[i - 1])));
        if (jump > most && isfinite(jump)) most = jump, at = i;
    }
    if (most < 1.5) return;
    size_t left = at < UNIT_VALUES ? at : UNIT_VALUES;
    size_t right = s->n - at < UNIT_VALUES ? s->n - at : UNIT_VALUES;
    double decades = log10(size_of(s->y, at, at + right) / size_of(s->y, at - left, at));
    double whole = round(fabs(decades));
    if (!(whole >= 2 && fabs(fabs(decades) - whole) < UNIT_DECADES) ||
        !apart(s->y, s->n, at, decades > 0))
        return;
    buf_printf(out, "%sFrom ", blank(out));
    series_print_time(s, s->x[at], out);
    buf_printf(out,
               " on values are about %.10g times as %s as before: if their unit changed there (kg "
               "for t, cents for euros), write all in one, or the change is taken for what "
               "happened.",
               pow(10, whole), decades > 0 ? "large" : "small");
}

/* ---- counters ---- */
#define RESETS_NAMED 3

/* Totals up to each time: no value is less than the one before, but where they fall to nearly
 * nothing. The times of those falls; false: they are something else. */
static bool only_grows(const struct series *s, size_t *fall, size_t *falls) {
    double top = 0;
    size_t up = 0;
    *falls = 0;
    for (size_t i = 0; i < s->n; i++) top = fmax(top, s->y[i]);
    for (size_t i = 0; i < s->n; i++) {
        if (s->y[i] < 0) return false;
        if (!i || s->y[i] >= s->y[i - 1]) {
            up += i && s->y[i] > s->y[i - 1];
            continue;
        }
        if (s->y[i] > 0.15 * s->y[i - 1] || s->y[i - 1] < 0.15 * top) return false;
        if ((*falls)++ < RESETS_NAMED) fall[*falls - 1] = i;
    }
    return s->n >= 20 && 5 * *falls <= s->n && 2 * up > s->n && s->y[0] < 0.15 * top;
}

static double lowest_forecast(const struct discovery *d) {
    double lo = INFINITY;
    for (size_t i = d->series.n; i < d->fit.n; i++) lo = fmin(lo, d->fit.lo[i]);
    return lo;
}

void hint_counter(const struct discovery *d, struct buf *out) {
    const struct series *s = &d->series;
    size_t fall[RESETS_NAMED], n;
    if (!only_grows(s, fall, &n) || (!n && !(lowest_forecast(d) < s->y[s->n - 1]))) return;
    buf_printf(out, "%sNo value is less than the one before", blank(out));
    if (!n)
        buf_puts(out, ", but the interval of the forecast goes lower");
    else
        buf_printf(out, ", but for %zu fall%s to nearly 0 (", n, n == 1 ? "" : "s");
    for (size_t i = 0; i < n && i < RESETS_NAMED; i++) {
        buf_puts(out, i ? ", " : "");
        series_print_time(s, s->x[fall[i]], out);
    }
    if (n) buf_puts(out, n > RESETS_NAMED ? ", ...)" : ")");
    buf_printf(out,
               ": if this is a total that only grows%s, look at what it grows by from one time to "
               "the next instead.",
               n ? " and is reset" : "");
}

/* ---- sudden rises, or falls ---- */
void hint_shots(const struct discovery *d, struct buf *out) {
    const struct structure *s = &smodel_of(discovery_top(d))->s;
    struct shots f = shots_find(d->data.n, d->data.values);
    for (int k = 0; k < s->n; k++) /* a saw-tooth's are those of its pattern */
        if (s->t[k].mask & factors_of(KERN_ROLE_PERIODIC)) return;
    if (!f.side || d->opt.change) return;
    buf_printf(
        out,
        "%s%zu %s from one value to the next are out of all proportion, and hardly any %s: "
        "the series jumps again and again, as a river does after rain. No component says "
        "when the next jump comes; shifts of level are not looked for (--changepoints does).",
        blank(out), f.count, f.side > 0 ? "rises" : "falls", f.side > 0 ? "fall" : "rise");
}

/* ---- feasts ---- */
#define FEAST_DAYS  36 /* Easter is one of 35 */
#define FEAST_YEARS 3

/* The day of the year, from 0, and the year; false: times are not calendar times. */
static bool day_of_year(const struct series *s, double x, double *day, int *year) {
    if (!series_dated(s)) return false;
    if (!strcmp(s->unit, "year")) {
        *year = (int)floor(x + 1e-9);
        *day = DAYS_PER_YEAR * (x - *year);
        return true;
    }
    if (strcmp(s->unit, "day")) return false;
    *year = (int)floor(series_month_of(floor(x)) / 12);
    *day = floor(x) - series_first_day(12.0 * *year);
    return true;
}

/* The number of outliers on one side, where each is of another year, and how many days of the year
 * they lie within; 0: they do not. */
static size_t one_a_year(const struct discovery *d, int side, double *within) {
    double day[OUTLIERS_MAX];
    int year[OUTLIERS_MAX];
    size_t n = 0;
    for (size_t i = 0; i < d->out.n; i++) {
        const struct outlier *o = &d->out.at[i];
        if ((o->y - o->expected) * side < 0) continue;
        if (!day_of_year(&d->series, o->x, &day[n], &year[n])) return 0;
        for (size_t j = 0; j < n; j++)
            if (year[j] == year[n]) return 0;
        n++;
    }
    if (n < FEAST_YEARS) return 0;
    qsort(day, n, sizeof *day, number_compare);
    double gap = day[0] + DAYS_PER_YEAR - day[n - 1]; /* the longest time of the year without one */
    for (size_t i = 1; i < n; i++) gap = fmax(gap, day[i] - day[i - 1]);
    *within = 366 - floor(gap);
    return *within <= FEAST_DAYS ? n : 0;
}

void hint_feast(const struct discovery *d, struct buf *out) {
    double within;
    for (int j = 0; j < d->series.reg.n; j++)
        if (d->series.reg.listed[j]) return;
    for (int side = 1; side >= -1; side -= 2) {
        size_t n = one_a_year(d, side, &within);
        if (!n) continue;
        buf_printf(out,
                   "%s%zu of them, all %s, come in %zu years within the same %.0f days of the "
                   "year: if a moving feast or another event is behind them, --holidays FILE gives "
                   "it an effect, and forecasts know of it.",
                   blank(out), n, side > 0 ? "above" : "below", n, within);
    }
}
