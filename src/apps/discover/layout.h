/* SPDX-License-Identifier: Apache-2.0
 *
 * Converts common table layouts to columns of times and of values: years by months (or by quarters)
 * and the reverse, times as column names, and rows outside the table: titles, units under the
 * names, totals, remarks. Uncertain cases are left unchanged. */
#ifndef DISCOVER_LAYOUT_H
#define DISCOVER_LAYOUT_H
#include "apps/discover/series.h"
#include "table/table.h"

/* Of a file whose header was not taken off: it may be afterwards. */
void layout_shape(struct csv *c, const struct series_options *o);
/* Of a file with its header, once the column of times is known. */
void layout_rows(struct csv *c, const struct series_options *o, int time);
/* Where times repeat: a column of words that tells rows of the same time apart, so that there are
 * several series of eight rows or more, one below the other; -1 if missing. */
int layout_apart(const struct csv *c, int time, int value);
/* ", from a table of years by months, 3 lines that are no rows of it left out": what was done. */
void layout_say(const struct series *s, struct buf *out);
#endif
