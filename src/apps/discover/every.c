/* SPDX-License-Identifier: Apache-2.0
 * What is made of the rows of equal steps; contract in every.h. */
#include "apps/discover/every.h"

#include "base/json.h"
#include "base/mem.h"
#include "base/number.h"
#include "base/units.h"
#include "numeric/special/robust.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- what is taken ---- */

static double mean_of(struct every_row *row, size_t m) {
    double sum = 0;
    for (size_t i = 0; i < m; i++) sum += row[i].y;
    return sum / (double)m;
}

/* NaN: none of the rows has a value. */
static double total_of(struct every_row *row, size_t m) {
    double sum = 0;
    size_t some = 0;
    for (size_t i = 0; i < m; i++)
        if (!isnan(row[i].y)) sum += row[i].y, some++;
    return some ? sum : NAN;
}

static double count_of(struct every_row *row, size_t m) {
    (void)row;
    return (double)m;
}

static int by_value(const void *a, const void *b) {
    const struct every_row *p = a, *q = b;
    return (p->y > q->y) - (p->y < q->y);
}

static double median_of(struct every_row *row, size_t m) {
    qsort(row, m, sizeof *row, by_value);
    return m % 2 ? row[m / 2].y : (row[m / 2 - 1].y + row[m / 2].y) / 2;
}

static double last_of(struct every_row *row, size_t m) {
    return row[m - 1].y;
}

static double min_of(struct every_row *row, size_t m) {
    qsort(row, m, sizeof *row, by_value);
    return row[0].y;
}

static double max_of(struct every_row *row, size_t m) {
    qsort(row, m, sizeof *row, by_value);
    return row[m - 1].y;
}

/* Of the rows of a step, which may be put into another order. */
static const struct taking {
    const char *name, *words;
    double (*of)(struct every_row *row, size_t m);
    bool adds_up; /* over steps: no rows are 0, and a part of a step is not like one */
    bool smooths; /* what varies within a step is lost */
} takings[TAKES] = {
    [TAKE_AUTO] = {"auto", "means", mean_of, false, true},
    [TAKE_MEAN] = {"mean", "means", mean_of, false, true},
    [TAKE_TOTAL] = {"total", "totals", total_of, true, false},
    [TAKE_COUNT] = {"count", "counts", count_of, true, false},
    [TAKE_MEDIAN] = {"median", "medians", median_of, false, true},
    [TAKE_LAST] = {"last", "last values", last_of, false, false},
    [TAKE_MIN] = {"min", "least values", min_of, false, false},
    [TAKE_MAX] = {"max", "greatest values", max_of, false, false},
};

const char *series_take_name(enum series_take take) {
    return takings[take].name;
}

bool series_take_find(const char *name, enum series_take *take) {
    for (int i = 0; i < TAKES; i++)
        if (!strcmp(takings[i].name, name)) {
            *take = (enum series_take)i;
            return true;
        }
    return false;
}

bool series_take_adds(enum series_take take) {
    return takings[take].adds_up;
}

/* ---- steps ---- */

/* What is chosen from, ascending. */
struct nice {
    double count;
    int unit;
};
static const struct nice choices[] = {
    {2, UNIT_SECOND},  {5, UNIT_SECOND}, {10, UNIT_SECOND}, {15, UNIT_SECOND}, {30, UNIT_SECOND},
    {1, UNIT_MINUTE},  {2, UNIT_MINUTE}, {5, UNIT_MINUTE},  {10, UNIT_MINUTE}, {15, UNIT_MINUTE},
    {30, UNIT_MINUTE}, {1, UNIT_HOUR},   {2, UNIT_HOUR},    {3, UNIT_HOUR},    {6, UNIT_HOUR},
    {12, UNIT_HOUR},   {1, UNIT_DAY},    {2, UNIT_DAY},     {1, UNIT_WEEK},    {2, UNIT_WEEK},
    {4, UNIT_WEEK},    {13, UNIT_WEEK},  {52, UNIT_WEEK},   {3, UNIT_MONTH},   {6, UNIT_MONTH},
    {1, UNIT_YEAR},    {2, UNIT_YEAR},   {5, UNIT_YEAR},    {10, UNIT_YEAR},   {50, UNIT_YEAR},
    {100, UNIT_YEAR},
};

static bool calendar_unit(const struct time_unit *u) {
    return u >= &time_units[UNIT_MONTH];
}

/* A unit in those of the series' times; 0: steps of these have no such one. */
static double unit_size(const struct series *s, const struct time_unit *u) {
    if (!strcmp(s->unit, "day")) return calendar_unit(u) ? 0 : u->days;
    return calendar_unit(u) && !strcmp(s->unit, "year") ? u->years : 0;
}

static void write_step(struct series *s, double count, const char *name) {
    number_snprintf(s->every, sizeof s->every, "%.6g%s", count, name);
}

/* The shortest round step that makes at most `most` of the span; 0: none. */
static double choose(struct series *s, double span, double most) {
    for (size_t i = 0; i < COUNT_OF(choices); i++) {
        const struct time_unit *u = &time_units[choices[i].unit];
        double step = choices[i].count * unit_size(s, u);
        if (!(step > 0) || span / step > most) continue;
        write_step(s, choices[i].count, u->brief);
        return step;
    }
    if (strcmp(s->unit, "step")) return 0;
    double step = pow(10, floor(log10(span / most))); /* 1, 2, 5 times a power of ten */
    while (span / step > most)
        step *= span / step > 5 * most ? 10 : span / (2 * step) > most ? 5 : 2;
    write_step(s, step, "");
    return step;
}

/* A step as it is said, "3 months", "week": how many, and of which unit (NULL: plain numbers); NaN
 * for other texts. */
static double read_count(const char *text, const struct time_unit **unit) {
    char *end;
    double count = number_read(text, &end);
    if (end == text) count = 1;
    while (*end == ' ') end++;
    *unit = unit_find(end, strlen(end), true);
    if (*unit == &time_units[UNIT_QUARTER]) *unit = &time_units[UNIT_MONTH], count *= 3;
    return *text && (*unit || !*end) ? count : NAN;
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

/* So many of a unit as the step; days count as months where these are asked for. 0: no step. */
static double take_step(struct series *s, double count, const struct time_unit *u,
                        struct every_row *row, size_t n) {
    if (u && calendar_unit(u) && !strcmp(s->unit, "day")) count_months(s, row, n);
    double step = count * (u ? unit_size(s, u) : !strcmp(s->unit, "step"));
    write_step(s, count, u ? u->brief : "");
    return step > 0 && isfinite(step) ? step : 0;
}

static enum gpm_status read_step(struct series *s, const char *text, double *step,
                                 struct every_row *row, size_t n, struct buf *err) {
    const struct time_unit *u;
    const char *unit = s->unit;
    double count = read_count(text, &u);
    *step = count > 0 && isfinite(count) ? take_step(s, count, u, row, n) : 0;
    if (*step > 0) return GPM_OK;
    buf_printf(err, "every '%s' is no step of these times; such are ", text);
    buf_puts(err, !strcmp(unit, "day")    ? "10min, 1h, 1d, 1w, 1month, 1year"
                  : !strcmp(unit, "year") ? "3month, 1year"
                                          : "numbers above 0");
    return buf_fail(err, GPM_E_ARG, ", and none");
}

/* ---- what varies within them ---- */

/* Rows [0, m) of one step: adds squared deviations from their line, and of neighbours. */
struct spread {
    double within, next;
    size_t dof, pairs;
};

static void add_spread(struct spread *v, const struct every_row *r, size_t m) {
    double mx = 0, my = 0, xx = 0, xy = 0, yy = 0;
    if (m < 4 || !(r[m - 1].x > r[0].x)) return; /* no shorter step tells rows of one time apart */
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

/* Steps begin at round times; weeks on Monday. */
static double origin_of(const struct series *s, double step, const struct every_row *row) {
    return !strcmp(s->unit, "step") ? row[0].x : step == 7 * floor(step / 7) ? 4 : 0;
}

/* The number of the step that a time lies in; without a step every time is one. */
static double step_of(double x, double origin, double step) {
    if (!(step > 0)) return x;
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

/* ---- steps at the ends ---- */

/* The times of the rows: what one of them stands for, and how far apart they are. */
struct times {
    double res;    /* a day where times are dates; 0: an instant */
    double gap;    /* that 95% of neighbours do not have between them */
    double own;    /* the step of all, at a third of whose times at least there are rows; 0: none */
    size_t differ; /* different times */
};

static double resolution(const struct series *s) {
    if (series_counts_months(s)) return 1.0 / 12;
    switch (s->form.kind) {
    case TIME_MONTH: return 1.0 / 12;
    case TIME_QUARTER: return 1.0 / 4;
    case TIME_DATE: return 1;
    case TIME_WEEK: return 7;
    default: return 0;
    }
}

static struct times times_of(const struct series *s, const struct every_row *row, size_t n) {
    struct times t = {.res = resolution(s), .differ = 1};
    double *d = NEW_ARRAY(double, n + 1), span = row[n - 1].x - row[0].x;
    size_t k = robust_steps(&row->x, n, sizeof *row / sizeof(double), d);
    t.differ = k + 1;
    if (k) {
        t.gap = d[(size_t)((double)(k - 1) * 0.95)];
        t.own = d[0];
        for (size_t i = 0; i < k && t.own > 0; i++) {
            double m = d[i] / t.own;
            if (fabs(m - floor(m + 0.5)) > 0.01) t.own = 0;
        }
        if (t.own > 0 && span / t.own + 1 > 3.0 * (double)t.differ) t.own = 0;
        if (t.own > 0) t.own = span / floor(span / t.own + 0.5); /* of rounding */
        t.res = fmax(t.res, t.own);
    }
    mem_free(d);
    return t;
}

/* May so much of a step lie before the first row, or after the last one, and the step be seen in
 * full? As much as between neighbours elsewhere, and no more of it than the end of a week has. */
static bool seen(double before, double step, const struct times *t) {
    return before <= fmax(fmin(t->gap - t->res, 0.3 * step), 0) + 1e-6 * step;
}

/* Does the first or last step hold less than half of what the others do on average? */
static bool half_empty(size_t m, size_t rows, size_t steps) {
    return steps > 2 && 2 * m * steps < rows;
}

/* ---- rows of steps ---- */

struct cut {
    double origin, step;
    bool own; /* the step is that of the times, which stay as they are */
    struct times times;
    size_t steps; /* that have rows */
    const struct taking *take;
    struct every_row *at; /* what was taken */
    size_t n;
    const struct every_beside *beside;
    double *means; /* of the other columns, by step */
};

/* Whether rows [i, i + m) of n are an end that is left out. */
static bool left_out(const struct cut *c, const struct every_row *row, size_t i, size_t m,
                     size_t n) {
    if ((i && i + m < n) || !(c->step > 0)) return false;
    if (!c->take->adds_up) return half_empty(m, n, c->steps);
    double from = c->origin + step_of(row[i].x, c->origin, c->step) * c->step;
    if (!i && !seen(row[0].x - from, c->step, &c->times)) return true;
    return i + m == n && !seen(from + c->step - row[n - 1].x - c->times.res, c->step, &c->times);
}

/* The means of the other columns over the next step to be put; none of m rows tells one: false. */
static bool take_beside(struct cut *c, const struct every_row *row, size_t m) {
    size_t k = c->beside->k;
    bool told = true;
    for (size_t j = 0; j < k; j++) {
        double sum = 0, some = 0;
        for (size_t i = 0; i < m; i++) {
            double z = c->beside->z[row[i].order * k + j];
            if (!isnan(z)) sum += z, some++;
        }
        c->means[c->n * k + j] = some > 0 ? sum / some : NAN;
        told &= some > 0;
    }
    return told;
}

static void put_row(struct cut *c, double k, double y) {
    if (isnan(y)) return; /* rows without values: missing */
    double x = c->step > 0 ? c->origin + k * c->step : k;
    c->at[c->n] = (struct every_row){x, y, c->n};
    c->n++;
}

static void take_rows(struct series *s, struct cut *c, struct every_row *row, size_t n) {
    double next = NAN; /* the step after the last one with rows */
    for (size_t i = 0, m; i < n; i += m) {
        double k = step_of(row[i].x, c->origin, c->step);
        m = in_step(row + i, n - i, c->origin, c->step);
        bool out = left_out(c, row, i, m, n);
        for (; c->take->adds_up && next < k; next++, s->empty++) {
            (void)take_beside(c, NULL, 0);
            put_row(c, next, 0);
        }
        if (out)
            s->ends += m;
        else if (take_beside(c, row + i, m))
            put_row(c, k, c->take->of(row + i, m));
        next = k + 1;
    }
}

static enum gpm_status make_steps(struct series *s, struct cut *c, struct every_row **row,
                                  size_t *n, struct every_beside *beside, struct buf *err) {
    double first = (*row)[0].x, last = (*row)[*n - 1].x, most = (double)*n;
    struct spread v = spread_of(s, c->step, *row, *n, &c->steps);
    c->origin = c->own ? first : origin_of(s, c->step, *row);
    if (c->take->adds_up && c->step > 0) most = floor((last - first) / c->step) + 2;
    if (most > EVERY_STEPS)
        return buf_fail(err, GPM_E_ARG, "every '%s' makes %.0f steps of these times, too many",
                        s->every, most);
    size_t room = (size_t)fmax(most, (double)*n) + 1;
    c->at = NEW_ARRAY(struct every_row, room);
    c->beside = beside;
    c->means = NEW_ARRAY(double, room * beside->k + 1);
    for (size_t i = 1; i < *n; i++) s->same += (*row)[i].x == (*row)[i - 1].x;
    take_rows(s, c, *row, *n);
    s->averaged = *n;
    if (c->take->smooths) {
        s->within = v.dof ? sqrt(v.within / (double)v.dof) : 0;
        s->next = v.pairs ? sqrt(v.next / (double)v.pairs) : 0;
    }
    mem_free(*row);
    mem_free(beside->z);
    *row = c->at;
    *n = c->n;
    beside->z = c->means;
    return GPM_OK;
}

/* ---- which step ---- */

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

/* A step of all times, in the longest unit that it has a whole number of. */
static void write_own(struct series *s, double step) {
    for (size_t i = UNITS; i-- > 0;) {
        const struct time_unit *u = &time_units[i];
        double size = unit_size(s, u), count = step / size;
        if (i == UNIT_QUARTER || !(size > 0) || fabs(count - floor(count + 0.5)) > 1e-6 * count)
            continue;
        write_step(s, count, u->brief);
        return;
    }
    write_step(s, step, "");
}

/* The step of totals and counts: that of the times where they have one; else the shortest of the
 * calendar by which there are rows in every second step on average. */
static double choose_sums(struct series *s, const struct times *t, struct every_row *row,
                          size_t n) {
    static const struct nice calendar[] = {
        {1, UNIT_SECOND}, {10, UNIT_SECOND}, {1, UNIT_MINUTE}, {10, UNIT_MINUTE},
        {1, UNIT_HOUR},   {1, UNIT_DAY},     {1, UNIT_WEEK},   {1, UNIT_MONTH},
        {3, UNIT_MONTH},  {1, UNIT_YEAR},    {10, UNIT_YEAR},
    };
    double span = row[n - 1].x - row[0].x, most = fmin(2 * (double)n, EVERY_LONG);
    bool once = t->differ == n && s->take == TAKE_COUNT; /* every count would be 1 */
    if (t->own > 0 && span / t->own <= EVERY_LONG && !once) {
        write_own(s, t->own);
        return t->own;
    }
    if (!strcmp(s->unit, "step")) return choose(s, span, most);
    bool years = !strcmp(s->unit, "year");
    size_t i = years ? COUNT_OF(calendar) - 4 : 0, last = COUNT_OF(calendar) - 1;
    for (; i < last; i++) {
        const struct time_unit *u = &time_units[calendar[i].unit];
        double size = calendar[i].count * (years ? u->years : u->days);
        if (size >= 0.99 * t->res && span / size <= most) break;
    }
    return take_step(s, calendar[i].count, &time_units[calendar[i].unit], row, n);
}

/* Days are days wherever their instants were written. */
static void count_days(struct series *s, double step, struct every_row *row, size_t n) {
    if (strcmp(s->unit, "day") || s->form.kind != TIME_INSTANT || step < 1 || step != floor(step))
        return;
    for (size_t i = 0; i < n; i++) row[i].x += s->form.zone / 1440.0;
    time_form_days(&s->form);
}

enum gpm_status every_take(struct series *s, const char *text, struct every_row **row, size_t *n,
                           struct every_beside *beside, struct buf *err) {
    bool none = text && !strcmp(text, "none"), asked = s->take != TAKE_AUTO;
    struct cut c = {.take = &takings[s->take]};
    enum gpm_status st = GPM_OK;
    if (none) text = NULL;
    if (*n < 2 || (!text && !asked && (none || *n <= EVERY_ROWS))) return GPM_OK;
    if (c.take->adds_up || asked) c.times = times_of(s, *row, *n);
    bool days = !strcmp(s->unit, "day");
    if (text)
        st = read_step(s, text, &c.step, *row, *n, err);
    else if (c.take->adds_up)
        c.step = choose_sums(s, &c.times, *row, *n);
    else if (asked && (none || c.times.differ <= EVERY_ROWS))
        c.step = 0; /* rows of the same time */
    else if (!((c.step = choose_step(s, *row, *n)) > 0))
        return GPM_OK;
    if (st != GPM_OK) return st;
    if (days && strcmp(s->unit, "day")) c.times.res /= DAYS_PER_YEAR, c.times.gap /= DAYS_PER_YEAR;
    c.own = c.step > 0 && c.step == c.times.own && !text;
    if (!c.own) count_days(s, c.step, *row, *n);
    return make_steps(s, &c, row, n, beside, err);
}

/* ---- in words ---- */

static void say_spread(const struct series *s, struct buf *out) {
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

void every_json(const struct series *s, struct buf *out) {
    if (!s->averaged) return;
    JSON(out, FIELD("taken", s->take == TAKE_AUTO ? "mean" : series_take_name(s->take)),
         FIELD("every", (const char *)s->every), FIELD("rows_taken", s->averaged - s->ends),
         FIELD("rows_at_ends", s->ends), FIELD("empty_steps", s->empty));
}

void every_say(const struct series *s, struct buf *out) {
    bool asked = s->take != TAKE_AUTO;
    if (!s->averaged) return;
    buf_printf(out, "; %s ", takings[s->take].words);
    if (*s->every)
        buf_printf(out, "over %s%s of %zu rows (%s--every)", s->every,
                   strcmp(s->unit, "step") ? "" : " in time", s->averaged, asked ? "--take, " : "");
    else
        buf_printf(out, "of the rows of each time, %zu in all (--take)", s->averaged);
    if (!asked && 10 * s->same > s->averaged)
        buf_puts(out, ", many of the same time (totals or counts: --take)");
    if (s->empty)
        buf_printf(out, ", %zu step%s without rows %s 0", s->empty, s->empty == 1 ? "" : "s",
                   s->empty == 1 ? "is" : "are");
    if (s->ends)
        buf_printf(out, ", %zu row%s at the ends fill%s no step", s->ends, s->ends == 1 ? "" : "s",
                   s->ends == 1 ? "s" : "");
    say_spread(s, out);
}
