/* SPDX-License-Identifier: Apache-2.0
 *
 * What reading and writing of times share.
 */
#ifndef HOST_TIMES_INT_H
#define HOST_TIMES_INT_H
#include "table/times.h"

#define TIME_DIRECTIVES 10 /* of one pattern; others are not looked at */

extern const char *const time_weekdays[7];

struct time_parts {
    int year, month, day, quarter, week, weekday, hour, minute, half; /* half of the day: AM is 1 */
    double second;
    unsigned languages; /* that the name of the month is of, as bits */
    int zone;           /* minutes east of UTC */
    int zone_name;      /* its number in the table, from 1; 0: none */
};
/* At least `least` and at most `most` decimal digits. */
bool time_digits(const char **p, int least, int most, int *out);
bool time_zone_read(const char **p, struct time_parts *t);
/* Where a column has several names of zones, each must be clear beside the others: GPM_E_FORMAT,
 * err says which is not. */
GPM_MUST_USE enum gpm_status time_zones_check(const char *pattern, size_t n,
                                              const char *const *cells, const double *x,
                                              struct buf *err);
/* A month by its name at *p, which moves on; `languages` are those that have it, as bits. */
bool month_read(const char **p, int *month, unsigned *languages);
/* The name of a month like that at the beginning of the example: language, length and case. */
void month_write(const char *like, int month, struct buf *out);
/* Where the text goes on after the pattern, NULL when it does not begin so. spans (may be NULL):
 * where each directive's text begins. */
const char *time_match_start(const char *pattern, const char *text, struct time_parts *t,
                             const char **spans);
/* One text by a pattern or a word for one. */
bool time_read_by(const char *pattern, const char *text, double *x, struct time_parts *t);
/* Hours that went by: [days 'day'['s'] [',']] hours ':' minutes ':' seconds, as many hours as there
 * are. */
bool time_read_elapsed(const char *p, double *x);
bool time_number(const char *text, double *v);           /* the whole text, finite */
bool time_has(const char *pattern, const char *letters); /* one of these directives */
enum time_kind time_pattern_kind(const char *pattern);
char time_directive(const char *pattern, const char **next);
const char *time_usual_pattern(enum time_kind kind); /* ISO's */
double time_unix_unit(const char *pattern);          /* per second; 0: no such word */
double time_unix_start(const char *pattern);         /* days before 1970 that it counts from */
long time_week_day(int year, int week);              /* its Monday */
#endif
