/* SPDX-License-Identifier: Apache-2.0
 *
 * The detectors: each looks for one trace in the values and, where it finds it, writes what was
 * seen, what to do, and which values it is about.
 */
#include "apps/check/remarks.h"
#include "apps/discover/contest.h"
#include "apps/discover/every.h"
#include "apps/discover/outliers.h"
#include "apps/discover/shots.h"
#include "apps/discover/words.h"
#include "base/number.h"
#include "base/units.h"
#include "numeric/special/robust.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NEARLY_NOTHING 0.15 /* of the greatest value */

/* What the detectors look at. */
struct look {
    const struct discovery *d;
    const struct series *s;
    const double *y; /* n values of the series, and their ends */
    size_t n;
    double least, greatest;
};
struct stamp {
    char text[64];
};

static struct stamp time_of(const struct look *l, size_t i) {
    struct buf b = BUF_INIT;
    struct stamp t;
    series_print_time(l->s, l->s->x[i], &b);
    snprintf(t.text, sizeof t.text, "%s", b.data);
    buf_release(&b);
    return t;
}
#define TIME(l, i) time_of(l, i).text

static void add_value(struct remark *r, size_t i) {
    vec_push(&r->at, (double)i + 1);
}

static void add_run(struct remark *r, size_t from, size_t n) {
    for (size_t i = from; i < from + n; i++) add_value(r, i);
}

static void add_equal(const struct look *l, double v, struct remark *r) {
    for (size_t i = 0; i < l->n; i++)
        if (l->y[i] == v) add_value(r, i);
}

/* ---- codes ---- */

/* 99, 999 ... : a power of ten less one. */
static bool all_nines(double v) {
    double k = log10(v + 1);
    return v >= 99 && fabs(k - round(k)) < 1e-12;
}

/* -99, -999 ... as the least value or 999, 9999 ... as the greatest, far from every other one: four
 * times as far out as these reach. Totals and counts have no codes. */
static void find_code(const struct look *l, struct remark *r) {
    for (int sign = -1; sign <= 1 && !r->at.n && !series_take_adds(l->s->take); sign += 2) {
        double code = sign < 0 ? l->least : l->greatest, far = sign * code, next = -INFINITY;
        double other = sign * (sign < 0 ? l->greatest : l->least);
        for (size_t i = 0; i < l->n; i++)
            if (sign * l->y[i] < far) next = fmax(next, sign * l->y[i]);
        if (!all_nines(far) || !(next < far / 4) || !(other > -far)) continue;
        add_equal(l, code, r);
        buf_printf(&r->seen, "%zu of %zu values %s %.10g, far from every other one.", r->at.n, l->n,
                   r->at.n == 1 ? "is" : "are", code);
        buf_printf(&r->advice, "If that stands for a missing value, say --missing %.10g.", code);
    }
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

/* A season and a trend move values by less than the gap of two decades; a factor of ten they may
 * reach. */
static void find_unit(const struct look *l, struct remark *r) {
    const double *y = l->y;
    double most = 0;
    size_t at = 0;
    for (size_t i = UNIT_VALUES / 2; i + UNIT_VALUES / 2 <= l->n; i++) {
        double jump = fabs(log10(fabs(y[i]) / fabs(y[i - 1])));
        if (jump > most && isfinite(jump)) most = jump, at = i;
    }
    if (most < 1.5) return;
    size_t left = at < UNIT_VALUES ? at : UNIT_VALUES;
    size_t right = l->n - at < UNIT_VALUES ? l->n - at : UNIT_VALUES;
    double decades = log10(size_of(y, at, at + right) / size_of(y, at - left, at));
    double whole = round(fabs(decades));
    if (!(whole >= 2 && fabs(fabs(decades) - whole) < UNIT_DECADES) ||
        !apart(y, l->n, at, decades > 0))
        return;
    add_value(r, at);
    buf_printf(&r->seen, "From %s on values are about %.10g times as %s as before.", TIME(l, at),
               pow(10, whole), decades > 0 ? "large" : "small");
    buf_puts(&r->advice,
             "If their unit changed there (kg for t, cents for euros), write all in one "
             "unit, or the change is taken for what happened.");
}

/* ---- counters ---- */
#define RESETS_NAMED 3

/* Totals up to each time: no value is less than the one before, but where they fall to nearly
 * nothing. The places of those falls; false: they are something else. */
static bool only_grows(const struct look *l, struct remark *falls) {
    size_t up = 0;
    for (size_t i = 1; i < l->n; i++) {
        double before = l->y[i - 1];
        up += l->y[i] > before;
        if (l->y[i] >= before) continue;
        if (l->y[i] > NEARLY_NOTHING * before || before < NEARLY_NOTHING * l->greatest)
            return false;
        add_value(falls, i);
    }
    return l->n >= 20 && 5 * falls->at.n <= l->n && 2 * up > l->n && l->least >= 0 &&
           l->y[0] < NEARLY_NOTHING * l->greatest;
}

static void find_counter(const struct look *l, struct remark *r) {
    if (!only_grows(l, r)) return;
    size_t n = r->at.n;
    buf_puts(&r->seen, "No value is less than the one before");
    if (n) buf_printf(&r->seen, ", but for %zu fall%s to nearly 0 (", n, n == 1 ? "" : "s");
    for (size_t i = 0; i < n && i < RESETS_NAMED; i++)
        buf_printf(&r->seen, "%s%s", i ? ", " : "", TIME(l, (size_t)r->at.at[i] - 1));
    buf_puts(&r->seen, n > RESETS_NAMED ? ", ...)." : n ? ")." : ".");
    buf_printf(&r->advice,
               "If this is a total that only grows%s, look at what it grows by from one time to "
               "the next instead.",
               n ? " and is reset" : "");
}

/* ---- sudden rises, or falls ---- */

/* Of the values that the search sees: those that stand alone are not of the series. */
static void find_jumps(const struct look *l, struct remark *r) {
    double *x = NEW_ARRAY(double, 2 * l->n);
    size_t *at = NEW_ARRAY(size_t, l->n), n = outliers_without(&l->d->out, l->s, x, x + l->n);
    struct shots f = shots_find(n, x + l->n, at);
    for (size_t i = 0; r->at.n < f.count; i++)
        if (l->s->x[i] == x[at[r->at.n]]) add_value(r, i + 1);
    mem_free(x);
    mem_free(at);
    if (!f.side) return;
    buf_printf(&r->seen,
               "%zu %s from one value to the next are out of all proportion, and hardly any %s: "
               "the series jumps again and again, as a river does after rain.",
               f.count, f.side > 0 ? "rises" : "falls", f.side > 0 ? "fall" : "rise");
    buf_puts(&r->advice, "`discover` does not look for shifts of level in it (--changepoints "
                         "does), and only what repeats tells when the next jump comes.");
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

/* Values that stand out on one side, each in another year: how many days of the year they lie
 * within. false: they are something else. */
static bool one_a_year(const struct look *l, int side, double *within, struct remark *r) {
    double day[OUTLIERS_MAX];
    int year[OUTLIERS_MAX];
    size_t n = 0;
    vec_clear(&r->at);
    for (size_t i = 0; i < l->d->out.n; i++) {
        const struct outlier *o = &l->d->out.at[i];
        if (o->sds * side < 0) continue;
        if (!day_of_year(l->s, o->x, &day[n], &year[n])) return false;
        for (size_t j = 0; j < n; j++)
            if (year[j] == year[n]) return false;
        add_value(r, o->at);
        n++;
    }
    if (n < FEAST_YEARS) return false;
    qsort(day, n, sizeof *day, number_compare);
    double gap = day[0] + DAYS_PER_YEAR - day[n - 1]; /* the longest time of the year without one */
    for (size_t i = 1; i < n; i++) gap = fmax(gap, day[i] - day[i - 1]);
    *within = 366 - floor(gap);
    return *within <= FEAST_DAYS;
}

static void find_feast(const struct look *l, struct remark *r) {
    double within;
    for (int j = 0; j < l->s->reg.n; j++)
        if (l->s->reg.listed[j]) return;
    for (int side = 1; side >= -1 && !r->seen.len; side -= 2) {
        if (!one_a_year(l, side, &within, r)) continue;
        buf_printf(&r->seen,
                   "%zu values stand out, all %s, in %zu years within the same %.0f days of the "
                   "year.",
                   r->at.n, side > 0 ? "above" : "below", r->at.n, within);
        buf_puts(&r->advice, "If a moving feast or another event is behind them, --holidays FILE "
                             "gives it an effect, and forecasts know of it.");
    }
}

/* ---- ends ---- */

/* Numbers at which values of some kinds end, shares of a whole and ratings; how near values come to
 * one, in parts of it and of their own range, before it is taken for such an end. */
static const double tops[] = {1, 5, 7, 10, 100};
#define TOP_NEAR   0.25
#define RANGE_NEAR 0.1

/* The number above all values that may be their end; 0: none. */
static double top_of(const struct look *l) {
    for (size_t i = 0; i < COUNT_OF(tops); i++) {
        bool share = tops[i] == 1 || tops[i] == 100; /* else the values' own range must reach it */
        double near = share ? TOP_NEAR * tops[i] : RANGE_NEAR * (l->greatest - l->least);
        if (l->least >= 0 && l->greatest <= tops[i] && l->greatest >= tops[i] - near)
            return tops[i];
    }
    return 0;
}

/* Ends that a forecast would not know of: predictions of counts are not below 0 anyway. */
static void find_ends(const struct look *l, struct remark *r) {
    const struct smodel_data *m = &l->d->data;
    double top = isfinite(m->high) || m->truths ? 0 : top_of(l);
    bool below =
        !isfinite(m->low) && !m->counts && l->least >= 0 && l->least < NEARLY_NOTHING * l->greatest;
    int bottom = top >= 5 && top <= 10 && l->least >= 1; /* ratings begin with 1 */
    if (!top && !below) return;
    if (below) add_equal(l, l->least, r);
    if (top > 0) add_equal(l, l->greatest, r);
    buf_printf(&r->seen, "No value lies%s", below ? " below 0" : "");
    if (top > 0) buf_printf(&r->seen, "%s above %.0f", below ? " or" : "", top);
    buf_puts(&r->seen, ", and some come near.");
    buf_puts(&r->advice, "If values cannot, forecasts cannot either with");
    if (!isfinite(m->low)) buf_printf(&r->advice, " --min %d", bottom);
    if (top > 0) buf_printf(&r->advice, " --max %.0f", top);
    buf_putc(&r->advice, '.');
}

/* ---- equal values ---- */

/* A run of at least eight equal values in a series that hardly ever repeats one: the first of them,
 * and their number; 0 if there is no such run. */
static size_t stuck(const struct look *l, size_t *first) {
    size_t longest = 0, equal = 0, run = 1;
    for (size_t i = 1; i <= l->n; i++) {
        if (i < l->n && l->y[i] == l->y[i - 1]) {
            equal++;
            run++;
            continue;
        }
        if (run > longest) longest = run, *first = i - run;
        run = 1;
    }
    bool rare = (double)(equal + 1 - longest) <= 0.02 * (double)l->n;
    return longest >= 8 && rare && longest < l->n ? longest : 0;
}

/* Zeros at the start are what was before something began. */
static void find_launch(const struct look *l, struct remark *r) {
    size_t first = 0, n = stuck(l, &first);
    if (!n || first || l->y[0] != 0) return;
    add_run(r, 0, n);
    buf_printf(&r->seen, "The first %zu values, up to %s, are 0.", n, TIME(l, n - 1));
    buf_printf(&r->advice,
               "If it began only then (a launch, a shop that opened), leave them out (--max-points "
               "%zu), or what is said describes the start more than what came after.",
               l->n - n);
}

static void find_stuck(const struct look *l, struct remark *r) {
    size_t first = 0, n = stuck(l, &first);
    if (!n || (!first && l->y[0] == 0)) return;
    add_run(r, first, n);
    buf_printf(&r->seen, "%zu values in a row, from %s to %s, are ", n, TIME(l, first),
               TIME(l, first + n - 1));
    buf_number(&r->seen, l->y[first]);
    buf_putc(&r->seen, '.');
    buf_puts(&r->advice, "If they were not measured (a sensor that stuck), empty their cells, or "
                         "they are taken for what happened.");
}

/* Values that lie where a measurement ends, at the greatest or the least of all: a share of them
 * that no tail has, many times as many as there are of a common value inside. */
#define PILE_SHARE 0.05
#define PILE_LEAST 5

static size_t equal_to(const struct look *l, double v) {
    size_t n = 0;
    for (size_t i = 0; i < l->n; i++) n += l->y[i] == v;
    return n;
}

/* The values at one end; the other one may be a pile, too. */
static size_t pile_at(const struct look *l, double end) {
    size_t n = equal_to(l, end), inside = 0, first;
    if (n < PILE_LEAST || (double)n < PILE_SHARE * (double)l->n || stuck(l, &first)) return 0;
    for (size_t i = 0; i < l->n; i += 1 + l->n / 100) {
        bool at_end = l->y[i] == l->least || l->y[i] == l->greatest;
        size_t k = at_end ? 0 : equal_to(l, l->y[i]);
        inside = k > inside ? k : inside;
    }
    return n >= PILE_LEAST * inside ? n : 0;
}

static void find_piles(const struct look *l, struct remark *r) {
    const struct smodel_data *m = &l->d->data;
    for (int above = 0; above <= 1 && !(m->level_y > 0); above++) {
        double end = above ? l->greatest : l->least;
        bool counts = !above && (m->truths || m->counts); /* zeros are counts */
        size_t n = isfinite(above ? m->high : m->low) || counts ? 0 : pile_at(l, end);
        if (!n) continue;
        add_equal(l, end, r);
        buf_printf(&r->seen, "%s%zu of %zu values are ", r->seen.len ? " " : "", n, l->n);
        buf_number(&r->seen, end);
        buf_printf(&r->seen, ", and none lies %s.", above ? "above" : "below");
        buf_puts(&r->advice, r->advice.len ? "" : "If measurements end there, say");
        buf_puts(&r->advice, above ? " --max " : " --min ");
        buf_number(&r->advice, end); /* every digit: the user declares that no value is beyond */
    }
    if (r->at.n) buf_putc(&r->advice, '.');
}

/* ---- the last value ---- */

/* A last value that stands alone decides much of a forecast: of a month that is not over, say. */
#define LAST_FAR 6.0

static void find_last(const struct look *l, struct remark *r) {
    double far = l->d->data.truths ? 0 : outliers_last(l->s, contest_season(&l->d->data));
    if (!(fabs(far) > LAST_FAR)) return;
    add_value(r, l->n - 1);
    words_number("The last value, ", l->y[l->n - 1], " at ", &r->seen);
    buf_printf(&r->seen, "%s, lies far %s those before it (%.0f robust standard deviations).",
               TIME(l, l->n - 1), far > 0 ? "above" : "below", fabs(far));
    buf_puts(&r->advice, "It decides much of a forecast: if its period is not over yet, leave it "
                         "out.");
}

/* ---- all ---- */

static const struct {
    const char *kind;
    void (*find)(const struct look *l, struct remark *r); /* nothing seen: no remark */
} detectors[] = {
    {"missing", find_code},  {"unit", find_unit},   {"counter", find_counter},
    {"launch", find_launch}, {"stuck", find_stuck}, {"pile", find_piles},
    {"ends", find_ends},     {"jumps", find_jumps}, {"feast", find_feast},
    {"last", find_last},
};

static void remark_release(struct remark *r) {
    buf_release(&r->seen);
    buf_release(&r->advice);
    vec_release(&r->at);
}

void remarks_find(const struct discovery *d, struct remarks *r) {
    const struct series *s = &d->series;
    struct look l = {d, s, s->y, s->n, INFINITY, -INFINITY};
    for (size_t i = 0; i < s->n; i++) {
        l.least = fmin(l.least, s->y[i]);
        l.greatest = fmax(l.greatest, s->y[i]);
    }
    for (size_t k = 0; k < COUNT_OF(detectors); k++) {
        struct remark one = {.kind = detectors[k].kind, .seen = BUF_INIT, .advice = BUF_INIT};
        detectors[k].find(&l, &one);
        if (one.at.n) qsort(one.at.at, one.at.n, sizeof *one.at.at, number_compare);
        if (one.seen.len)
            vec_push(&r->of, one);
        else
            remark_release(&one);
    }
}

void remarks_release(struct remarks *r) {
    for (size_t k = 0; k < r->of.n; k++) remark_release(&r->of.at[k]);
    vec_release(&r->of);
}
