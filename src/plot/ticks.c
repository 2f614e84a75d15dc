/* SPDX-License-Identifier: Apache-2.0
 *
 * See ticks.h.
 */
#include "plot/ticks.h"
#include "base/calendar.h"
#include "base/mem.h"
#include "base/number.h"
#include <math.h>
#include <stdarg.h>

/* The round step nearest above range/want: {1, 2, 2.5, 5, 10} * 10^k. */
static double round_step(double range, unsigned want, bool whole) {
    double raw = range / (want ? want : 1);
    double p = pow(10, floor(log10(raw)));
    double m = raw / p;
    double step = (m <= 1 ? 1 : m <= 2 ? 2 : m <= 2.5 ? 2.5 : m <= 5 ? 5 : 10) * p;
    if (whole) step = fmax(1, step == 2.5 ? 5 : step);
    return step;
}

/* Digits after the point that tell neighbouring marks apart. */
static int decimals_of(double step) {
    for (int d = 0; d < 12; d++) {
        double scaled = step * pow(10, d);
        if (fabs(scaled - round(scaled)) < 1e-6 * scaled) return d;
    }
    return 12;
}

static void add_mark(struct plot_ticks *t, double at, const char *format, ...) {
    if (t->n == PLOT_TICKS_MAX) return;
    va_list ap;
    va_start(ap, format);
    number_vsnprintf(t->text[t->n], sizeof t->text[0], format, ap);
    va_end(ap);
    t->at[t->n++] = at;
}

static void add_round_mark(struct plot_ticks *t, double v, double step, double largest) {
    bool scientific = largest >= 1e6 || (largest < 1e-3 && largest > 0);
    if (scientific && v != 0) {
        double e = floor(log10(fabs(v)) + 1e-9), m = v / pow(10, e);
        int d = decimals_of(step / pow(10, e));
        add_mark(t, v, "%.*fe%d", d > 6 ? 6 : d, m, (int)e);
    } else {
        add_mark(t, v, "%.*f", scientific ? 0 : decimals_of(step), v == 0 ? 0.0 : v);
    }
}

void plot_ticks_linear(double lo, double hi, unsigned want, bool whole, struct plot_ticks *t) {
    t->n = 0;
    if (!(hi > lo) || !isfinite(hi - lo)) return;
    double step = round_step(hi - lo, want, whole);
    double first = ceil(lo / step - 1e-9), last = floor(hi / step + 1e-9);
    if (!(last - first < PLOT_TICKS_MAX)) return; /* step below the precision of lo */
    double largest = fmax(fabs(lo), fabs(hi));
    for (double i = first; i <= last && t->n < PLOT_TICKS_MAX; i++)
        add_round_mark(t, i * step, step, largest);
}

void plot_ticks_log(double lo, double hi, unsigned want, struct plot_ticks *t) {
    t->n = 0;
    if (!(lo > 0) || !(hi > lo) || !isfinite(hi)) return;
    double decades = log10(hi) - log10(lo);
    if (decades < 0.7) { /* less than a decade: round numbers read better */
        plot_ticks_linear(lo, hi, want, false, t);
        return;
    }
    int e0 = (int)floor(log10(lo)), e1 = (int)ceil(log10(hi));
    int stride = (int)ceil(decades / (want ? want : 1));
    bool between = decades <= want / 2.0;
    for (int e = e0; e <= e1; e++) {
        double p = pow(10, e);
        for (int m = 1; m <= 5; m = m == 1 ? 2 : m == 2 ? 5 : 6) {
            double v = m * p;
            if (v < lo * (1 - 1e-9) || v > hi * (1 + 1e-9) || (m > 1 && !between)) continue;
            bool written = m > 1 || (e - e0) % (stride < 1 ? 1 : stride) == 0;
            add_mark(t, v, written ? "%g" : "", v);
        }
    }
}

/* ---- the calendar ---- */
#define DAY 86400.0

/* Steps of the calendar: months, or seconds where months is 0. */
static const struct time_step {
    int months;
    double seconds;
} time_steps[] = {
    {0, 1},   {0, 5},       {0, 15},      {0, 30},       {0, 60},       {0, 300},
    {0, 900}, {0, 1800},    {0, 3600},    {0, 3 * 3600}, {0, 6 * 3600}, {0, 12 * 3600},
    {0, DAY}, {0, 2 * DAY}, {0, 7 * DAY}, {0, 14 * DAY}, {1, 0},        {3, 0},
    {6, 0},   {12, 0},      {24, 0},      {60, 0},       {120, 0},      {240, 0},
    {600, 0}, {1200, 0},    {2400, 0},    {6000, 0},     {12000, 0},
};

static double step_length(const struct time_step *s) {
    return s->months ? s->months * 365.2425 / 12 * DAY : s->seconds;
}

/* Marks at the first of every k-th month. */
static void month_marks(enum plot_time time, double lo, double hi, int step, struct plot_ticks *t) {
    bool years = time == PLOT_TIME_YEARS;
    double from = 12 * (years ? lo : lo / 365.2425 + 1970) - 1; /* within a month of the limits */
    double to = 12 * (years ? hi : hi / 365.2425 + 1970) + 1, slack = 1e-6 * (hi - lo);
    for (double m = ceil(from / step) * step; m <= to; m += step) {
        int year = (int)floor(m / 12), month = (int)(m - 12.0 * year) + 1;
        double at = years ? m / 12 : (double)calendar_days(year, month, 1);
        if (at < lo - slack || at > hi + slack) continue;
        if (step % 12 == 0)
            add_mark(t, at, "%d", year);
        else
            add_mark(t, at, "%d-%02d", year, month);
    }
}

/* Marks every `step` seconds from midnight on. */
static void clock_marks(double lo, double hi, double step, struct plot_ticks *t) {
    for (double s = ceil(lo * DAY / step - 1e-6) * step; s <= hi * DAY + 1e-6; s += step) {
        long day = (long)floor(s / DAY);
        int y, m, d, sec = (int)(s - (double)day * DAY);
        calendar_date(day, &y, &m, &d);
        if (step >= DAY)
            add_mark(t, s / DAY, "%d-%02d-%02d", y, m, d);
        else if (step >= 3600 || sec == 0)
            add_mark(t, s / DAY, "%02d-%02d %02d:%02d", m, d, sec / 3600, sec / 60 % 60);
        else if (step >= 60)
            add_mark(t, s / DAY, "%02d:%02d", sec / 3600, sec / 60 % 60);
        else
            add_mark(t, s / DAY, "%02d:%02d:%02d", sec / 3600, sec / 60 % 60, sec % 60);
    }
}

/* About `want` round times of the calendar: years, months, days, hours ... */
static void time_marks(enum plot_time time, double lo, double hi, unsigned want,
                       struct plot_ticks *t) {
    t->n = 0;
    if (!(hi > lo) || !(fabs(lo) < 1e7) || !(fabs(hi) < 1e7)) return;
    double unit = time == PLOT_TIME_YEARS ? 365.2425 * DAY : DAY;
    double raw = (hi - lo) * unit / (want ? want : 1);
    size_t i = time == PLOT_TIME_YEARS ? 16 : 0; /* years: months are the finest marks */
    while (i + 1 < COUNT_OF(time_steps) && step_length(&time_steps[i]) < raw) i++;
    const struct time_step *s = &time_steps[i];
    if (s->months)
        month_marks(time, lo, hi, s->months, t);
    else
        clock_marks(lo, hi, s->seconds, t);
}

void plot_ticks_axis(const struct plot_axis *a, unsigned room, struct plot_ticks *t) {
    if (a->time != PLOT_TIME_NONE) {
        unsigned wide = room * 3 / 5; /* dates are wider than numbers */
        time_marks(a->time, a->lo, a->hi, wide < 2 ? 2 : wide, t);
        if (t->n >= 2) return;
    }
    if (a->log)
        plot_ticks_log(a->lo, a->hi, room, t);
    else
        plot_ticks_linear(a->lo, a->hi, room, a->whole, t);
}
