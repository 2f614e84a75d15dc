/* SPDX-License-Identifier: Apache-2.0
 *
 * Dates that stand in several columns, year, month and perhaps day, as one.
 */
#ifndef DISCOVER_DATE_PARTS_H
#define DISCOVER_DATE_PARTS_H
#include "host/csv.h"

/* Where `time` is the column of the year, and the first row makes a date (months are numbers or
 * names), that column gets dates; in a row that makes none, its parts, which no reader takes for a
 * time. A second time there is nothing to do. */
void date_parts_join(struct csv *c, int time);
/* Is col a part of the dates in the column `time`? */
bool date_parts_has(const struct csv *c, int time, int col);
#endif
