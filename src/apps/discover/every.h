/* SPDX-License-Identifier: Apache-2.0
 *
 * What is made of the rows of equal steps. Long series become means: 100,000 minutes are 834 means
 * over two hours. Nothing of the past is left out, and where values within a step differ by noise
 * alone nothing is lost. Transactions become totals, lists of events counts.
 */
#ifndef DISCOVER_EVERY_H
#define DISCOVER_EVERY_H
#include "apps/discover/series.h"

#define EVERY_ROWS  2000 /* more rows are averaged, unless the caller says otherwise */
#define EVERY_MOST  1200 /* means that this makes, at most, ... */
#define EVERY_LONG  3000 /* ... or where more than half of what varies within a step is no noise */
#define EVERY_STEPS 1e6  /* of totals and counts, at most */

/* A row of the file: time, value, and where it stood. */
struct every_row {
    double x, y;
    size_t order;
};
/* Other columns of the rows, k of them, by every_row.order; NaN: the row does not tell. */
struct every_beside {
    size_t k;
    double *z; /* owned by the caller; may be NULL without further columns */
};
/* Replaces the rows, ascending in time, by what s->take makes of those of each step; *row is freed
 * and replaced. text: the step ("2h", "15min", "1d", "1w", "1month", "1year", a number where times
 * are numbers), "none", or NULL: chosen. Without a step and with TAKE_AUTO, nothing is done to
 * EVERY_ROWS rows or less, and more become means; totals and counts are over the step of the times,
 * or over one of the calendar; of others the rows of one time are one, while these are not more
 * than EVERY_ROWS. Steps begin at round times, and what is taken stands at the beginning of its
 * step. Totals and counts of steps without rows are 0, and the first and the last step are left out
 * where the rows do not reach over them; of others, what does not half fill the first or the last
 * step is left out. Whatever is taken, the other columns become means of the rows of a step that
 * tell them: a step whose rows all lack them is left out, and a step without rows has no value.
 * Sets s->every and what comes with it; *n is the number of steps. GPM_E_ARG: the text is no step
 * of these times, err says why. */
GPM_MUST_USE enum gpm_status every_take(struct series *s, const char *text, struct every_row **row,
                                        size_t *n, struct every_beside *beside, struct buf *err);
/* "means over 2h of 100000 rows (--every), ..."; nothing if rows were not combined. */
void every_say(const struct series *s, struct buf *out);
void every_json(const struct series *s, struct buf *out); /* the same as fields after others */

const char *series_take_name(enum series_take take); /* "total" */
bool series_take_find(const char *name, enum series_take *take);
bool series_take_adds(enum series_take take); /* over steps: totals and counts */
#endif
