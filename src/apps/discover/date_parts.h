/* SPDX-License-Identifier: Apache-2.0
 *
 * Times that stand in several columns as one: year, month and perhaps day and hour; year and
 * quarter; year and week; a date and a clock, or an hour; a month and a day, or a day by its number
 * and a clock, which have no year.
 */
#ifndef DISCOVER_DATE_PARTS_H
#define DISCOVER_DATE_PARTS_H
#include "table/csv.h"

/* Where `time` is the column of the year, or of dates beside one of clocks, and the first row makes
 * a time (months are numbers or names), that column gets the times; in a row that makes none, its
 * parts, which no reader takes for a time. A second time there is nothing to do. Where there is no
 * year and all rows make times in their order, they are in a year that is assumed
 * (CSV_YEARLESS). */
void date_parts_join(struct csv *c, int time);
/* Is col a part of the times in the column `time`? */
bool date_parts_has(const struct csv *c, int time, int col);
#endif
