/* SPDX-License-Identifier: Apache-2.0
 *
 * See words.h.
 */
#include "apps/discover/words.h"
#include "base/mem.h"
#include "base/number.h"
#include "base/units.h"
#include <math.h>
#include <string.h>

void words_number(const char *before, double v, const char *after, struct buf *out) {
    buf_printf(out, "%s%s%s", before, FIGURE(3, v), after);
}

void words_value(const struct discovery *d, double v, int least, struct buf *out) {
    double mean = fabs(d->data.mean[0]), sd = d->data.sd[0];
    int digits = mean > sd ? 1 + (int)ceil(log10(mean / sd)) : 0;
    if (digits > least)
        buf_printf(out, "%.*g", digits < 15 ? digits : 15, v);
    else if (least > 3)
        buf_printf(out, "%.*g", least, v);
    else
        words_number("", v, "", out);
}

/* ---- time ---- */
/* The units of durations in words, and from how many days on the next one serves better. */
static const struct {
    const struct time_unit *unit;
    double below;
} told[] = {{&time_units[UNIT_SECOND], 90 / 86400.0},
            {&time_units[UNIT_MINUTE], 90 / 1440.0},
            {&time_units[UNIT_HOUR], 1.5},
            {&time_units[UNIT_DAY], 45},
            {&time_units[UNIT_MONTH], 1.95 * DAYS_PER_YEAR},
            {&time_units[UNIT_YEAR], INFINITY}};

/* Days in a unit of x; 0: times are plain numbers. */
static double unit_days(const struct discovery *d) {
    const char *u = d->series.unit;
    return !strcmp(u, "year") ? DAYS_PER_YEAR : !strcmp(u, "day") ? 1 : 0;
}

/* What times that are numbers count: steps where they are one apart, else units of the column. */
static const char *unit_name(const struct discovery *d) {
    const struct smodel_data *m = &d->data;
    bool steps = m->regular && fabs(m->dt * m->span - 1) < 1e-6;
    return strcmp(d->series.unit, "step") || steps ? d->series.unit : "unit";
}

static bool near(double v, double to) {
    return fabs(v / to - 1) < 0.005;
}

static void count(double v, const char *unit, struct buf *out) {
    words_number("", v, " ", out);
    buf_printf(out, "%s%s", unit, near(v, 1) ? "" : "s");
}

/* The unit in which a duration is given; weeks: *n of days. */
static const char *unit_of(double days, double *n) {
    size_t i = 0;
    while (days >= told[i].below) i++;
    for (size_t k = 0; k < COUNT_OF(told); k++) /* one day rather than 24 hours */
        if (near(days, told[k].unit->days)) i = k;
    bool weeks = days >= 13.9 && days < 45 && near(days / 7, floor(days / 7 + 0.5));
    const struct time_unit *u = weeks ? &time_units[UNIT_WEEK] : told[i].unit;
    *n = u->days;
    return u->name;
}

void words_duration_about(const struct discovery *d, double v, double mid, struct buf *out) {
    double days = unit_days(d), n = 1;
    if (!(v > mid / 2 && v < 2 * mid)) mid = v;
    const char *name = days > 0 ? unit_of(mid * days, &n) : unit_name(d);
    count(days > 0 ? v * days / n : v, name, out);
}

void words_duration(const struct discovery *d, double v, struct buf *out) {
    words_duration_about(d, v, v, out);
}

void words_period(const struct discovery *d, double v, struct buf *out) {
    double days = v * unit_days(d);
    for (size_t k = 0; k < COUNT_OF(told) && days > 0; k++)
        if (near(days, told[k].unit->days)) {
            buf_puts(out, told[k].unit->name);
            return;
        }
    if (near(days, 7))
        buf_puts(out, "week");
    else
        words_duration(d, v, out);
}

/* Numbers as times: that of the value next to it, where there is a grid. */
void words_date(const struct discovery *d, double t, struct buf *out) {
    const struct smodel_data *m = &d->data;
    if (m->regular && !series_dated(&d->series)) t = m->dt * floor(t / m->dt + 0.5);
    series_print_rounded(&d->series, m->x0 + m->span * t, 6, out);
}

const char *words_rate_unit(const struct discovery *d, double *x) {
    double per = unit_days(d), span = d->data.span * per;
    size_t i = COUNT_OF(told) - 1;
    *x = 1;
    if (!per) return unit_name(d);
    while (i > 0 && span < 3 * told[i].unit->days) i--;
    *x = told[i].unit->days / per;
    return told[i].unit->name;
}

/* ---- values ---- */
bool words_log(const struct discovery *d) {
    return smodel_multiplies(&d->data, smodel_of(discovery_top(d))->s.transform);
}

/* The unit of the values after a number of them: " EUR", or points of a percentage. */
static const char *value_unit(const struct discovery *d, char *room) {
    const char *u = d->series.style.unit;
    if (!*u) return "";
    if (!strcmp(u, "%")) return " points";
    room[0] = ' ';
    strcpy(room + 1, u);
    return room;
}

void words_amount(const struct discovery *d, double sd, struct buf *out) {
    char room[16];
    if (smodel_scale(&d->data) ==
        LINK_CHANCE) /* exact wherever the chance lies, as an amount is not */
        words_number(
            "a factor of ",
            exp(sd / link_slope(&d->data.link[TRANSFORM_LOG], d->data.mean[TRANSFORM_LOG])),
            " in the odds", out);
    else if (!words_log(d))
        words_number("", sd, value_unit(d, room), out);
    else if (sd > 1.2)
        words_number("a factor of ", exp(sd), "", out);
    else
        words_number("", 100 * expm1(sd), "%", out);
}

/* Per unit: in units, or in percent. */
static double rate(const struct discovery *d, double slope) {
    return words_log(d) ? 100 * expm1(slope) : slope;
}

void words_rate(const struct discovery *d, double slope, double sd, bool past, struct buf *out) {
    double per;
    char room[16];
    const char *unit = words_rate_unit(d, &per), *mark = words_log(d) ? "%" : value_unit(d, room);
    double lo = rate(d, per * (slope - 1.96 * sd)), hi = rate(d, per * (slope + 1.96 * sd));
    double mid = rate(d, per * slope);
    double unit_of_values = smodel_unit(&d->data, smodel_of(discovery_top(d))->s.transform);
    if ((fabs(slope) + 1.96 * sd) * d->data.span < 1e-4 * unit_of_values) { /* after a step, say */
        buf_puts(out, past ? "did not change" : "does not change");
        return;
    }
    if (lo < 0 && hi > 0) { /* the direction is open */
        words_number(past ? "changed by " : "changes by ", mid, mark, out);
    } else {
        buf_puts(out, mid < 0 ? (past ? "fell" : "falls") : past ? "rose" : "rises");
        words_number(" by ", fabs(mid), mark, out);
    }
    buf_printf(out, " per %s", unit);
    if (!(sd > 0)) return;
    bool down = hi <= 0; /* a fall by 2 to 3 */
    words_number(" (95%: ", down ? -hi : lo, " to ", out);
    words_number("", down ? -lo : hi, lo < 0 && hi > 0 ? "; which direction is open)" : ")", out);
}

void words_share(double share, double fine, struct buf *out) {
    if (share < 0.0005)
        buf_puts(out, "below 0.1%");
    else
        buf_printf(out, "%.*f%%", share < fine, 100 * share);
}

void words_probability(double p, struct buf *out) {
    const char *word = p >= 0.99   ? "almost certain"
                       : p >= 0.9  ? "very likely"
                       : p >= 0.66 ? "likely"
                       : p >= 0.33 ? "as likely as not"
                       : p >= 0.1  ? "unlikely"
                                   : "very unlikely";
    if (p > 0.999)
        buf_printf(out, "%s (above 99.9%%)", word);
    else if (p < 0.001)
        buf_printf(out, "%s (below 0.1%%)", word);
    else
        buf_printf(out, "%s (%.*f%%)", word, p > 0.99 || p < 0.01 ? 1 : 0, 100 * p);
}
