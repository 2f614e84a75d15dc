/* SPDX-License-Identifier: Apache-2.0
 *
 * What forecasts believe beside the structure: that changes go on, and what values can be.
 */
#include "apps/discover/further.h"
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
    put_levels(d, &b);
    buf_puts(out, b.len ? b.data : "");
    buf_release(&b);
}

/* Advice about the values is a lint's, which their author reads when it suits. */
void describe_remarks(const struct discovery *d, struct buf *out) {
    if (d->remarks)
        buf_printf(out, "`gpmem check-data FILE` has %zu remark%s on these values.", d->remarks,
                   d->remarks == 1 ? "" : "s");
}
