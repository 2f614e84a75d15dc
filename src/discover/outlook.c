/* SPDX-License-Identifier: Apache-2.0
 *
 * What forecasts believe beside the structure: that changes go on, and what values can be.
 */
#include "discover/further.h"
#include "discover/words.h"
#include <math.h>

/* ---- further changes ---- */

/* "A shift of level like the one seen may come again: forecasts count with ..." */
static void put_further(const struct discovery *d, struct buf *out) {
    const struct evidence *e = discovery_top(d);
    struct further f;
    int bends = 0;
    further_of(smodel_of(e), e->prop.mode[0].z, &f);
    for (int j = 0; j < f.n; j++) bends += f.at[j].bend;
    if (!f.n) return;
    buf_printf(out, "%s like %s may come again: forecasts count with about one in ",
               !bends         ? "Shifts of level"
               : bends == f.n ? "Bends of the trend"
                              : "Shifts of level and bends of the trend",
               f.n == 1 ? "the one seen" : "those seen");
    words_duration(d, d->data.span / further_rate(&f), out);
    buf_puts(out, ", up or down, which widens their intervals.");
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

/* A forecast that goes where no value was: who knows what values can be is told how to say it. */
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
    if (!(m->level_y > 0) || m->count || d->fit.n == d->series.n) return;
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
    put_levels(d, &b);
    buf_puts(out, b.len ? b.data : "");
    buf_release(&b);
}
