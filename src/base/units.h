/* SPDX-License-Identifier: Apache-2.0
 *
 * Units of time: their names, and how long they are. A year has 365.2425 days, a month a twelfth of
 * it.
 */
#ifndef BASE_UNITS_H
#define BASE_UNITS_H
#include <stdbool.h>
#include <stddef.h>

#define DAYS_PER_YEAR 365.2425

/* From months on of a length that changes. */
enum {
    UNIT_SECOND,
    UNIT_MINUTE,
    UNIT_HOUR,
    UNIT_DAY,
    UNIT_WEEK,
    UNIT_MONTH,
    UNIT_QUARTER,
    UNIT_YEAR,
    UNITS
};
struct time_unit {
    const char *name, *brief; /* "hour", "h" */
    double days, years;       /* its length in either */
};
extern const struct time_unit time_units[UNITS];
/* By a text of n characters: a name, of one or of several; where `brief` a short one, too. NULL:
 * none. */
const struct time_unit *unit_find(const char *text, size_t n, bool brief);
#endif
