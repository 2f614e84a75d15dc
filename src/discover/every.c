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

/* The shortest round step that makes at most `most` of the span; 0: none. */
static double choose(struct series *s, double span, double most) {
    for (size_t i = 0; i < COUNT_OF(choices); i++) {
        const struct step_unit *u = unit_of(choices[i].name, s->unit);
        if (!u || span / (choices[i].count * u->size) > most) continue;
        write_step(s, choices[i].count, u->name);
        return choices[i].count * u->size;
    }
    if (strcmp(s->unit, "step")) return 0;
    double step = pow(10, floor(log10(span / most))); /* 1, 2, 5 times a power of ten */
    while (span / step > most)
        step *= span / step > 5 * most ? 10 : span / (2 * step) > most ? 5 : 2;
    write_step(s, step, "");
    return step;
}

/* A step as it is said, "3 months", "week": how many, and of which of the units. */
static double read_count(const char *text, const char **unit) {
    static const char *const words[][2] = {{"sec", "s"},        {"second", "s"},  {"minute", "min"},
                                           {"hour", "h"},       {"day", "d"},     {"week", "w"},
                                           {"months", "month"}, {"years", "year"}};
    char *end;
    double count = number_read(text, &end);
    if (end == text) count = 1;
    while (*end == ' ') end++;
    *unit = end;
    size_t n = strlen(end);
    for (size_t i = 0; i < COUNT_OF(words); i++)
        if (!strncmp(end, words[i][0], strlen(words[i][0])) &&
            (n == strlen(words[i][0]) || !strcmp(end + strlen(words[i][0]), "s")))
            *unit = words[i][1];
    if (!strcmp(end, "quarter") || !strcmp(end, "quarters")) *unit = "month", count *= 3;
    return *text ? count : NAN;
}

/* Days as parts of their months, for steps of months. */
static void count_months(struct series *s, struct every_row *row, size_t n) {
    for (size_t i = 0; i < n; i++) {
        double day = row[i].x + s->form.zone / 1440.0, month = series_month_of(day + 1e-9);
        double from = series_first_day(month), to = series_first_day(month + 1);
        row[i].x = (month + fmax(day - from, 0) / (to - from)) / 12;
    }
    time_form_release(&s->form);
    s->form = (struct time_form){.kind = TIME_MONTH, .pattern = mem_strdup("%Y-%m")};
    s->unit = "year";
}

static enum gpm_status read_step(struct series *s, const char *text, double *step,
                                 struct every_row *row, size_t n, struct buf *err) {
    const char *end;
    double count = read_count(text, &end);
    bool months = !strcmp(s->unit, "day") && unit_of(end, "year");
    const struct step_unit *u = unit_of(end, months ? "year" : s->unit);
    if (!u || !(count > 0) || !isfinite(count)) {
        buf_printf(err, "every '%s' is no step of these times; such are ", text);
        buf_puts(err, !strcmp(s->unit, "day")    ? "10min, 1h, 1d, 1w, 1month, 1year"
                      : !strcmp(s->unit, "year") ? "3month, 1year"
                                                 : "numbers above 0");
        return buf_fail(err, GPM_E_ARG, ", and none");
    }
    if (months) count_months(s, row, n);
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

/* Steps begin at round times; weeks on Monday. */
static double origin_of(const struct series *s, double step, const struct every_row *row) {
    return !strcmp(s->unit, "step") ? row[0].x : step == 7 * floor(step / 7) ? 4 : 0;
}

/* The number of the step that a time lies in. */
static double step_of(double x, double origin, double step) {
    return floor((x - origin) / step + 1e-9); /* of rounding, at the beginning of a step */
}

/* How many of the rows from the first on lie in its step. */
static size_t in_step(const struct every_row *row, size_t n, double origin, double step) {
    double k = step_of(row[0].x, origin, step);
    size_t m = 1;
    while (m < n && step_of(row[m].x, origin, step) == k) m++;
    return m;
}

/* What varies within steps; how many there are. */
static struct spread spread_of(const struct series *s, double step, const struct every_row *row,
                               size_t n, size_t *steps) {
    struct spread v = {0};
    double origin = origin_of(s, step, row);
    *steps = 0;
    for (size_t i = 0, m; i < n; i += m, ++*steps) {
        m = in_step(row + i, n - i, origin, step);
        add_spread(&v, row + i, m);
    }
    return v;
}

/* The share of it that is not noise from row to row. */
static double share_lost(const struct spread *v) {
    if (!v->dof || !v->pairs || !(v->within > 0)) return 0;
    return 1 - v->next / (double)v->pairs / (v->within / (double)v->dof);
}

static void average(struct series *s, double step, struct every_row *row, size_t *n) {
    size_t steps, out = 0;
    double origin = origin_of(s, step, row);
    struct spread v = spread_of(s, step, row, *n, &steps);
    for (size_t i = 0, m; i < *n; i += m) {
        double k = step_of(row[i].x, origin, step), sum = 0;
        m = in_step(row + i, *n - i, origin, step);
        for (size_t j = 0; j < m; j++) sum += row[i + j].y;
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

/* By the number of means; a shorter one where that would average away most of what is there (a
 * daily cycle in days) and the shorter one does not. */
static double choose_step(struct series *s, const struct every_row *row, size_t n) {
    double span = row[n - 1].x - row[0].x;
    static const double most[] = {EVERY_MOST, EVERY_LONG};
    for (size_t i = 0; i < COUNT_OF(most); i++) {
        size_t steps;
        double step = choose(s, span, most[i]);
        if (!(step > 0)) return step;
        struct spread v = spread_of(s, step, row, n, &steps);
        if (share_lost(&v) <= 0.5) return step;
    }
    return choose(s, span, EVERY_MOST);
}

enum gpm_status every_average(struct series *s, const char *text, struct every_row *row, size_t *n,
                              struct buf *err) {
    double step = 0;
    if (text && !strcmp(text, "none")) return GPM_OK;
    if (*n < 2 || (!text && *n <= EVERY_ROWS)) return GPM_OK;
    if (text) {
        enum gpm_status st = read_step(s, text, &step, row, *n, err);
        if (st != GPM_OK) return st;
    } else
        step = choose_step(s, row, *n);
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
