/* SPDX-License-Identifier: Apache-2.0
 *
 * Long series as means over equal steps: 100,000 minutes are 834 means over two hours. Nothing of
 * the past is left out, and where values within a step differ by noise alone nothing is lost.
 */
#ifndef DISCOVER_EVERY_H
#define DISCOVER_EVERY_H
#include "discover/series.h"

#define EVERY_ROWS 2000 /* more rows are averaged, unless the caller says otherwise */
#define EVERY_MOST 1200 /* means that this makes, at most, ... */
#define EVERY_LONG 3000 /* ... or where more than half of what varies within a step is no noise */

/* A row of the file: time, value, and where it stood. */
struct every_row {
    double x, y;
    size_t order;
};
/* Replaces the rows, ascending in time, by their means over steps. text: the step ("2h", "15min",
 * "1d", "1w", "1month", "1year", a number where times are numbers), "none", or NULL: chosen where
 * there are more than EVERY_ROWS. Steps begin at round times; a mean stands at the beginning of its
 * step; what does not half fill the first or the last step is left out. Sets s->every and what
 * comes with it; *n is the number of means. GPM_E_ARG: the text is no step of these times, err says
 * why. */
GPM_MUST_USE enum gpm_status every_average(struct series *s, const char *text,
                                           struct every_row *row, size_t *n, struct buf *err);
/* "means over 2h of 100000 rows (--every), ...": nothing where there are none. */
void every_say(const struct series *s, struct buf *out);
#endif
