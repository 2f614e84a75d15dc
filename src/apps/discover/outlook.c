/* SPDX-License-Identifier: Apache-2.0
 *
 * What forecasts believe beside the structure: that changes go on, and what values can be.
 */
#include "apps/discover/contest.h"
#include "apps/discover/further.h"
#include "apps/discover/hints.h"
#include "apps/discover/outliers.h"
#include "apps/discover/words.h"
#include <math.h>

/* ---- further changes ---- */

/* "Shifts of level like the one seen may come again"; none: nothing. */
static void put_shifts(const struct further *f, struct buf *out) {
    int n = f->n - f->switches, bends = 0;
    for (int j = 0; j < n; j++) bends += f->at[j].bend;
    if (!n) return;
    buf_printf(out, "%s like %s may come again",
               !bends       ? "Shifts of level"
               : bends == n ? "Bends of the trend"
                            : "Shifts of level and bends of the trend",
               n == 1 ? "the one seen" : "those seen");
}

/* "Shifts of level like the one seen may come again: forecasts count with about one in ..." */
static void put_further(const struct discovery *d, struct buf *out) {
    const struct evidence *e = discovery_top(d);
    struct further f;
    further_of(smodel_of(e), e->prop.mode[0].z, &f);
    if (f.pulses) {
        buf_printf(out,
                   "Another level for a time, like %s, may come again: forecasts count with about "
                   "one in ",
                   f.pulses == 1 ? "the one seen" : "those seen");
        words_duration(d, d->data.span / further_rate(f.of_pulse), out);
        buf_puts(out, f.n ? ". " : ".");
    }
    if (!f.n) return;
    put_shifts(&f, out);
    if (f.switches)
        buf_printf(out, "%s acts in a part of the series alone may begin or end again",
                   f.n > f.switches ? ", and what" : "What");
    buf_printf(out, ": forecasts count with about one %sin ", f.switches ? "such change " : "");
    words_duration(d, d->data.span / further_rate(f.kind), out);
    buf_puts(out, f.switches == f.n ? "." : ", up or down, which widens their intervals.");
}

/* ---- ends ---- */

/* Numbers at which values of some kinds end, shares of a whole and ratings; how near values come to
 * one, in parts of it and of their own range, before it is taken for such an end. */
static const double tops[] = {1, 5, 7, 10, 100};
#define TOP_NEAR   0.25
#define RANGE_NEAR 0.1

struct limits {
    double least, greatest; /* of the values */
    double lo, hi;          /* of the forecast */
};

static struct limits limits_of(const struct discovery *d) {
    struct limits l = {INFINITY, -INFINITY, INFINITY, -INFINITY};
    for (size_t i = 0; i < d->series.n; i++) {
        l.least = fmin(l.least, d->series.y[i]);
        l.greatest = fmax(l.greatest, d->series.y[i]);
    }
    for (size_t i = d->series.n; i < d->fit.n; i++) {
        l.lo = fmin(l.lo, d->fit.lo[i]);
        l.hi = fmax(l.hi, d->fit.hi[i]);
    }
    return l;
}

/* The number above all values that may be their end, where the forecast goes beyond it; 0: none. */
static double top_of(const struct limits *l) {
    double range = l->greatest - l->least;
    for (size_t i = 0; i < COUNT_OF(tops); i++) {
        bool share = tops[i] == 1 || tops[i] == 100; /* else the values' own range must reach it */
        double near = share ? TOP_NEAR * tops[i] : RANGE_NEAR * range;
        if (l->least >= 0 && l->greatest <= tops[i] && l->greatest >= tops[i] - near &&
            l->hi > tops[i])
            return tops[i];
    }
    return 0;
}

/* Values that lie where a measurement ends, at the greatest or the least of all: a share of them
 * that no tail has, many times as many as there are of a common value inside. */
#define PILE_SHARE 0.05
#define PILE_LEAST 5

static size_t equal_to(const struct discovery *d, double v) {
    size_t n = 0;
    for (size_t i = 0; i < d->series.n; i++) n += d->series.y[i] == v;
    return n;
}

/* other: the other end, which may be a pile, too. */
static size_t pile_at(const struct discovery *d, double end, double other) {
    const struct series *s = &d->series;
    size_t n = equal_to(d, end), inside = 0;
    if (n < PILE_LEAST || (double)n < PILE_SHARE * (double)s->n || d->data.level_y > 0) return 0;
    for (size_t i = 0; i < s->n; i += 1 + s->n / 100) {
        size_t k = s->y[i] == end || s->y[i] == other ? 0 : equal_to(d, s->y[i]);
        inside = k > inside ? k : inside;
    }
    return n >= PILE_LEAST * inside ? n : 0;
}

/* A run of at least eight equal values in a series that hardly ever repeats one: the first of them,
 * and their number; 0 if there is no such run. */
static size_t stuck(const struct discovery *d, size_t *first) {
    const struct series *s = &d->series;
    size_t longest = 0, equal = 0, run = 1;
    for (size_t i = 1; i <= s->n; i++) {
        if (i < s->n && s->y[i] == s->y[i - 1]) {
            equal++;
            run++;
            continue;
        }
        if (run > longest) longest = run, *first = i - run;
        run = 1;
    }
    bool rare = (double)(equal + 1 - longest) <= 0.02 * (double)s->n;
    return longest >= 8 && rare && longest < s->n ? longest : 0;
}

/* Zeros at the start are what was before something began: "The first 30 values, up to ..., are 0."
 */
static void put_before(const struct discovery *d, size_t n, struct buf *out) {
    buf_printf(out, "%sThe first %zu values, up to ", out->len ? " " : "", n);
    series_print_time(&d->series, d->series.x[n - 1], out);
    buf_printf(out,
               ", are 0: if it began only then (a launch, a shop that opened), leave them out "
               "(--max-points %zu), or what is said describes the start more than what came after.",
               d->series.n - n);
}

/* "51 values in a row, from ... to ..., are 23.37: if ... stuck, leave them out." */
static void put_stuck(const struct discovery *d, struct buf *out) {
    size_t first = 0, n = stuck(d, &first);
    if (!n) return;
    if (!first && d->series.y[0] == 0) {
        put_before(d, n, out);
        return;
    }
    buf_printf(out, "%s%zu values in a row, from ", out->len ? " " : "", n);
    series_print_time(&d->series, d->series.x[first], out);
    buf_puts(out, " to ");
    series_print_time(&d->series, d->series.x[first + n - 1], out);
    buf_puts(out, ", are ");
    buf_number(out, d->series.y[first]);
    buf_puts(out, ": if they were not measured (a sensor that stuck), empty their cells, or they "
                  "are taken for what happened.");
}

/* A last value that stands alone decides much of a forecast: of a month that is not over, say. */
#define LAST_FAR 6.0

static void put_last(const struct discovery *d, struct buf *out) {
    const struct series *s = &d->series;
    double far = d->data.truths ? 0 : outliers_last(s, contest_season(&d->data));
    if (!(fabs(far) > LAST_FAR)) return;
    buf_printf(out, "%sThe last value, ", out->len ? " " : "");
    words_number("", s->y[s->n - 1], "", out);
    buf_puts(out, " at ");
    series_print_time(s, s->x[s->n - 1], out);
    buf_printf(
        out,
        ", lies far %s those before it (%.0f robust standard deviations) and decides much of "
        "the forecast: if its period is not over yet, leave it out.",
        far > 0 ? "above" : "below", fabs(far));
}

/* "27 of 200 values are 1023, and none lies above: if measurements end there, say --max 1023." */
static void put_piles(const struct discovery *d, struct buf *out) {
    struct limits l = limits_of(d);
    size_t first;
    if (stuck(d, &first)) return;
    double least = l.least;
    if (d->data.truths || d->data.counts) l.least = NAN; /* zeros are counts */
    const struct {
        double end, other, known;
        const char *side, *option;
    } ends[] = {{l.least, l.greatest, d->data.low, "below", "--min"},
                {l.greatest, least, d->data.high, "above", "--max"}};
    for (size_t k = 0; k < COUNT_OF(ends); k++) {
        size_t n = isfinite(ends[k].known) ? 0 : pile_at(d, ends[k].end, ends[k].other);
        if (!n) continue;
        buf_printf(out, "%s%zu of %zu values are ", out->len ? " " : "", n, d->series.n);
        buf_number(out, ends[k].end);
        buf_printf(out, ", and none lies %s: if measurements end there, say %s ", ends[k].side,
                   ends[k].option);
        buf_number(out, ends[k].end); /* every digit: the user declares that no value is beyond */
        buf_putc(out, '.');
    }
}

/* Suggests bounds if a forecast goes beyond all values, since the user may know the possible
 * range. */
static void put_ends(const struct discovery *d, struct buf *out) {
    struct limits l = limits_of(d);
    double top = isfinite(d->data.high) || d->data.truths ? 0 : top_of(&l);
    bool below = !isfinite(d->data.low) && l.least >= 0 && l.lo < 0;
    int bottom = top >= 5 && top <= 10 && l.least >= 1; /* ratings begin with 1 */
    if (!top && !below) return;
    buf_puts(out, out->len ? " No value" : "No value");
    if (below) buf_puts(out, " lies below 0");
    if (top > 0) buf_printf(out, "%s lies above %.0f", below ? " and none" : "", top);
    buf_puts(out, ", but the interval of the forecast does: if values cannot, say");
    if (!isfinite(d->data.low)) buf_printf(out, " --min %d", bottom);
    if (top > 0) buf_printf(out, " --max %.0f", top);
    buf_putc(out, '.');
}

/* ---- few levels ---- */

/* "Values are whole numbers from 1 to 5: forecasts are such numbers, too." */
static void put_levels(const struct discovery *d, struct buf *out) {
    const struct smodel_data *m = &d->data;
    if (!(m->level_y > 0) || smodel_scale_hidden(m) || d->fit.n == d->series.n) return;
    buf_puts(out, out->len ? " Values are " : "Values are ");
    if (m->level_y == 1)
        buf_puts(out, "whole numbers");
    else
        buf_printf(out, "multiples of %.10g", m->level_y);
    if (isfinite(m->low) && isfinite(m->high))
        buf_printf(out, " from %.10g to %.10g", m->low, m->high);
    buf_puts(out, ", and so are forecasts");
    bool said = d->opt.series.least || d->opt.series.most;
    if (isfinite(m->high) && !said) buf_puts(out, " (--min and --max set other ends)");
    buf_putc(out, '.');
}

void describe_outlook(const struct discovery *d, struct buf *out) {
    struct buf b = BUF_INIT; /* sentences of its own, wherever they go */
    put_further(d, &b);
    put_ends(d, &b);
    put_piles(d, &b);
    put_stuck(d, &b);
    put_last(d, &b);
    hint_units(d, &b);
    hint_counter(d, &b);
    hint_shots(d, &b);
    put_levels(d, &b);
    buf_puts(out, b.len ? b.data : "");
    buf_release(&b);
}
