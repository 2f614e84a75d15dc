/* SPDX-License-Identifier: Apache-2.0
 *
 * Holidays and moving feasts by a list: a file of days with their names. Every name becomes a
 * column that acts on the values (regressors.h): how many of its days lie in the step of a value.
 * The list may go on beyond the series, to the end of the year of its last day: forecasts know of
 * its days.
 */
#ifndef DISCOVER_HOLIDAYS_H
#define DISCOVER_HOLIDAYS_H
#include "apps/discover/series.h"

/* Adds the columns of the list in the file of this name to those that a series has. A value of a
 * month, quarter or week is of all of its days, the time being the first of them; one of a day or a
 * part of it is of that day. */
GPM_MUST_USE enum gpm_status holidays_add(struct series *s, const char *path, struct buf *err);
#endif
