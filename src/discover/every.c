/* SPDX-License-Identifier: Apache-2.0
 * Means over equal steps; contract in every.h. */
#include "discover/every.h"

#include "base/number.h"
#include "base/mem.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Steps by the unit of the series' times. */
struct step_unit {
    const char *name, *unit;
    double size; /* in units of x */
};
static const struct step_unit units[] = {
    {"s", "day", 1.0 / 86400}, {"min", "day", 1.0 / 1440},  {"h", "day", 1.0 / 24}, {"d", "day", 1},
    {"w", "day", 7},           {"month", "year", 1.0 / 12}, {"year", "year", 1},    {"", "step", 1},
};
/* What is chosen from, ascending. */
struct nice {
    double count;
    const char *name;
};
static const struct nice choices[] = {
    {2, "s"},     {5, "s"},     {10, "s"},     {15, "s"},    {30, "s"},   {1, "min"},  {2, "min"},
    {5, "min"},   {10, "min"},  {15, "min"},   {30, "min"},  {1, "h"},    {2, "h"},    {3, "h"},
    {6, "h"},     {12, "h"},    {1, "d"},      {2, "d"},     {1, "w"},    {2, "w"},    {4, "w"},
    {13, "w"},    {52, "w"},    {3, "month"},  {6, "month"}, {1, "year"}, {2, "year"}, {5, "year"},
    {10, "year"}, {50, "year"}, {100, "year"},
};

static const struct step_unit *unit_of(const char *name, const char *unit) {
    for (size_t i = 0; i < COUNT_OF(units); i++)
        if (!strcmp(units[i].name, name) && !strcmp(units[i].unit, unit)) return &units[i];
    return NULL;
}

static void write_step(struct series *s, double count, const char *name) {
    number_snprintf(s->every, sizeof s->every, "%.6g%s", count, name);
}

/* The shortest round step that makes at most EVERY_MOST of the span; 0: none. */
static double choose(struct series *s, double span) {
    for (size_t i = 0; i < COUNT_OF(choices); i++) {
        const struct step_unit *u = unit_of(choices[i].name, s->unit);
        if (!u || span / (choices[i].count * u->size) > EVERY_MOST) continue;
        write_step(s, choices[i].count, u->name);
        return choices[i].count * u->size;
    }
    if (strcmp(s->unit, "step")) return 0;
    double step = pow(10, floor(log10(span / EVERY_MOST))); /* 1, 2, 5 times a power of ten */
    while (span / step > EVERY_MOST)
        step *= span / step > 5 * EVERY_MOST ? 10 : span / (2 * step) > EVERY_MOST ? 5 : 2;
    write_step(s, step, "");
    return step;
}

static enum gpm_status read_step(struct series *s, const char *text, double *step,
                                 struct buf *err) {
    char *end;
    double count = number_read(text, &end);
    while (*end == ' ') end++;
    const struct step_unit *u = end > text ? unit_of(end, s->unit) : NULL;
    if (!u || !(count > 0) || !isfinite(count)) {
        buf_printf(err, "every '%s' is no step of these times; such are ", text);
        buf_puts(err, !strcmp(s->unit, "day")    ? "10min, 1h, 1d, 1w"
                      : !strcmp(s->unit, "year") ? "3month, 1year"
                                                 : "numbers above 0");
        return buf_fail(err, GPM_E_ARG, ", and none");
    }
    write_step(s, count, u->name);
    *step = count * u->size;
    return GPM_OK;
}

/* Rows [0, m) of one step: adds squared deviations from their line, and of neighbours. */
struct spread {
    double within, next;
    size_t dof, pairs;
};

static void add_spread(struct spread *v, const struct every_row *r, size_t m) {
    double mx = 0, my = 0, xx = 0, xy = 0, yy = 0;
    if (m < 4) return;
    for (size_t i = 0; i < m; i++) mx += r[i].x / (double)m, my += r[i].y / (double)m;
    for (size_t i = 0; i < m; i++) {
        double x = r[i].x - mx, y = r[i].y - my;
        xx += x * x, xy += x * y, yy += y * y;
    }
    if (!(xx > 0)) return;
    v->within += yy - xy * xy / xx;
    v->dof += m - 2;
    for (size_t i = 1; i < m; i++) {
        double d = r[i].y - r[i - 1].y;
        v->next += 0.5 * d * d;
    }
    v->pairs += m - 1;
}

/* Does the first or last step hold less than half of what the others do on average? */
static bool half_empty(size_t m, size_t rows, size_t steps) {
    return steps > 2 && 2 * m * steps < rows;
}

static void average(struct series *s, double step, struct every_row *row, size_t *n) {
    double origin = !strcmp(s->unit, "step")      ? row[0].x
                    : step == 7 * floor(step / 7) ? 4
                                                  : 0; /* Monday */
    double lost = 1e-9 * step;                         /* of rounding, at the beginning of a step */
    struct spread v = {0};
    size_t steps = 0, out = 0;
    for (size_t i = 0; i < *n; i++)
        steps += i == 0 || floor((row[i].x - origin + lost) / step) >
                               floor((row[i - 1].x - origin + lost) / step);
    for (size_t i = 0, m; i < *n; i += m) {
        double k = floor((row[i].x - origin + lost) / step), sum = 0;
        for (m = 0; i + m < *n && floor((row[i + m].x - origin + lost) / step) == k; m++)
            sum += row[i + m].y;
        add_spread(&v, row + i, m);
        if ((i == 0 || i + m == *n) && half_empty(m, *n, steps)) {
            s->ends += m;
            continue;
        }
        row[out] = (struct every_row){origin + k * step, sum / (double)m, out}; /* out <= i */
        out++;
    }
    s->averaged = *n;
    s->within = v.dof ? sqrt(v.within / (double)v.dof) : 0;
    s->next = v.pairs ? sqrt(v.next / (double)v.pairs) : 0;
    *n = out;
}

enum gpm_status every_average(struct series *s, const char *text, struct every_row *row, size_t *n,
                              struct buf *err) {
    double step = 0;
    if (text && !strcmp(text, "none")) return GPM_OK;
    if (*n < 2 || (!text && *n <= EVERY_ROWS)) return GPM_OK;
    if (text) {
        enum gpm_status st = read_step(s, text, &step, err);
        if (st != GPM_OK) return st;
    } else
        step = choose(s, row[*n - 1].x - row[0].x);
    if (!(step > 0)) return GPM_OK;
    average(s, step, row, n);
    return GPM_OK;
}

void every_say(const struct series *s, struct buf *out) {
    if (!s->averaged) return;
    buf_printf(out, "; means over %s%s of %zu rows (--every)", s->every,
               strcmp(s->unit, "step") ? "" : " in time", s->averaged);
    if (s->ends) buf_printf(out, ", %zu rows at the ends fill no step", s->ends);
    if (!(s->within > 0)) return;
    double share = 1 - s->next * s->next / (s->within * s->within);
    if (share < 0.1)
        buf_printf(out, ", within which values differ by noise alone (sd %.3g)", s->within);
    else
        buf_printf(out,
                   ", within which %.0f%% of the variance is more than noise from row to row: a "
                   "shorter step keeps it",
                   100 * share);
}
