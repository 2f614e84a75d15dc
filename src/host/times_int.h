/* SPDX-License-Identifier: Apache-2.0
 *
 * What reading and writing of times share.
 */
#ifndef HOST_TIMES_INT_H
#define HOST_TIMES_INT_H
#include "host/times.h"

#define TIME_DIRECTIVES 10 /* of one pattern; others are not looked at */

extern const char *const time_months[12]; /* in full, lower case */
extern const char *const time_weekdays[7];

struct time_parts {
    int year, month, day, quarter, week, weekday, hour, minute, half; /* half of the day: AM is 1 */
    double second;
    int zone; /* minutes east of UTC */
    bool zoned;
};
/* Where the text goes on after the pattern, NULL when it does not begin so. spans (may be NULL):
 * where each directive's text begins. */
const char *time_match_start(const char *pattern, const char *text, struct time_parts *t,
                             const char **spans);
char time_directive(const char *pattern, const char **next);
enum time_kind time_pattern_kind(const char *pattern);
const char *time_usual_pattern(enum time_kind kind); /* ISO's */
double time_unix_unit(const char *pattern);          /* per second; 0: no such word */
double time_unix_start(const char *pattern);         /* days before 1970 that it counts from */
long time_week_day(int year, int week);              /* its Monday */
#endif
