/* SPDX-License-Identifier: Apache-2.0
 *
 * See ticks.h.
 */
#include "io/plot/ticks.h"
#include "base/calendar.h"
#include "base/mem.h"
#include "base/number.h"
#include "base/units.h"
#include <math.h>
#include <stdarg.h>

/* The round step nearest above a raw one: {1, 2, 2.5, 5, 10} * 10^k. */
static double round_step(double raw, bool whole) {
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

/* About `want` round numbers (1, 2, 2.5 or 5 times a power of ten apart). */
static void round_marks(const struct plot_axis *a, unsigned want, struct plot_ticks *t) {
    if (!(a->hi > a->lo) || !isfinite(a->hi - a->lo)) return;
    double step = round_step((a->hi - a->lo) / want, a->whole);
    double first = ceil(a->lo / step - 1e-9), last = floor(a->hi / step + 1e-9);
    if (!(last - first < PLOT_TICKS_MAX)) return; /* step below the precision of lo */
    double largest = fmax(fabs(a->lo), fabs(a->hi));
    for (double i = first; i <= last && t->n < PLOT_TICKS_MAX; i++)
        add_round_mark(t, i * step, step, largest);
}

/* Powers of ten, with 2 and 5 between them when there is room. */
static void log_marks(double lo, double hi, unsigned want, struct plot_ticks *t) {
    double decades = log10(hi) - log10(lo);
    int e0 = (int)floor(log10(lo)), e1 = (int)ceil(log10(hi));
    int stride = (int)ceil(decades / want);
    bool between = decades <= want / 2.0;
    for (int e = e0; e <= e1; e++) {
        double p = pow(10, e);
        for (int m = 1; m <= 5; m = m == 1 ? 2 : m == 2 ? 5 : 6) {
            double v = m * p;
            if (v < lo * (1 - 1e-9) || v > hi * (1 + 1e-9) || (m > 1 && !between)) continue;
            bool written = m > 1 || (e - e0) % stride == 0;
            add_mark(t, v, written ? "%g" : "", v);
        }
    }
}

/* ---- the calendar ---- */
#define DAY   86400.0
#define MONTH (DAYS_PER_YEAR / 12 * DAY)

/* Marks at the first of every k-th month. */
static void month_marks(const struct plot_axis *a, int step, struct plot_ticks *t) {
    bool years = a->time == PLOT_TIME_YEARS;
    double lo = a->lo, hi = a->hi;
    double from =
        12 * (years ? lo : lo / DAYS_PER_YEAR + 1970) - 1; /* within a month of the limits */
    double to = 12 * (years ? hi : hi / DAYS_PER_YEAR + 1970) + 1, slack = 1e-6 * (hi - lo);
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
    for (double k = ceil(lo * DAY / step - 1e-6); k * step <= hi * DAY + 1e-6 * step; k++) {
        double s = k * step;
        long day = (long)floor((s + 1e-4) / DAY);
        double rest = s - (double)day * DAY + 1e-4; /* what a double has of a day, and more */
        int y, m, d, sec = (int)rest, part = (int)(1000 * (rest - sec));
        calendar_date(day, &y, &m, &d);
        if (step >= DAY)
            add_mark(t, s / DAY, "%d-%02d-%02d", y, m, d);
        else if (step < 1 && (sec || part))
            add_mark(t, s / DAY, "%02d:%02d:%02d.%03d", sec / 3600, sec / 60 % 60, sec % 60, part);
        else if (step >= 3600 || sec == 0)
            add_mark(t, s / DAY, "%02d-%02d %02d:%02d", m, d, sec / 3600, sec / 60 % 60);
        else if (step >= 60)
            add_mark(t, s / DAY, "%02d:%02d", sec / 3600, sec / 60 % 60);
        else
            add_mark(t, s / DAY, "%02d:%02d:%02d", sec / 3600, sec / 60 % 60, sec % 60);
    }
}

/* About `want` round times of the calendar: years, months, days, hours ... */
static void time_marks(const struct plot_axis *a, unsigned want, struct plot_ticks *t) {
    static const double seconds[] = {0.001, 0.005, 0.01,  0.05,   0.1,    0.5,    1,
                                     2,     5,     10,    15,     30,     60,     120,
                                     300,   600,   900,   1800,   3600,   7200,   10800,
                                     21600, 43200, 86400, 172800, 604800, 1209600};
    static const int months[] = {1, 3, 6, 12, 24, 60, 120, 240, 600, 1200, 2400, 6000, 12000};
    bool years = a->time == PLOT_TIME_YEARS;
    if (!(a->hi > a->lo) || !(fabs(a->lo) < 1e7) || !(fabs(a->hi) < 1e7)) return;
    double raw = (a->hi - a->lo) * (years ? 12 * MONTH : DAY) / want;
    for (size_t i = 0; !years && i < COUNT_OF(seconds); i++)
        if (seconds[i] >= raw) {
            clock_marks(a->lo, a->hi, seconds[i], t);
            return;
        }
    size_t i = 0;
    while (i + 1 < COUNT_OF(months) && months[i] * MONTH < raw) i++;
    month_marks(a, months[i], t);
}

void plot_ticks_axis(const struct plot_axis *a, unsigned room, struct plot_ticks *t) {
    t->n = 0;
    if (a->time != PLOT_TIME_NONE) { /* dates are wider than numbers */
        for (unsigned want = room * 3 / 5 < 2 ? 2 : room * 3 / 5; want <= 2 * room + 2; want++) {
            t->n = 0; /* finer, until there are two */
            time_marks(a, want, t);
            if (t->n >= 2) return;
        }
        t->n = 0;
    }
    /* less than a decade: round numbers read better */
    if (!a->log || a->hi < pow(10, 0.7) * a->lo)
        round_marks(a, room, t);
    else if (a->lo > 0 && isfinite(a->hi))
        log_marks(a->lo, a->hi, room, t);
}
