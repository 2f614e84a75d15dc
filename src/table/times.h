/* SPDX-License-Identifier: Apache-2.0
 *
 * Times in common notations: the only code that reads them from text and writes them in the file's
 * form. A column of times has one pattern, given or found:
 *
 *   %Y %y   year of four or two digits (69 is 1969, 68 is 2068)      %q   quarter, 1 to 4
 *   %m %b   month as a number, as a name (month_names.c)             %G %V %u   ISO year, week, day
 *   %h      half of the year, 1 or 2                                 %e   end of a range of days
 *   %d      day of the month                                         %p   AM or PM, with %I
 *   %H %I %M %S   hour, minute, second with decimals                 %T   HH:MM[:SS[.decimals]]
 *   %a      name of the day of the week, which is not looked at      %n   the next year, 15 or 2015
 *   %z      Z, UTC, CET and other names, +02:00, +0200, +02
 *
 * or is one of the words number, unix, unix-ms, unix-us, unix-ns, excel (days since 1899-12-30),
 * elapsed (hours:minutes:seconds that went by; x in hours).
 * Numbers have one digit or two; %-d says that small ones are written with one. Other characters
 * stand for themselves, letters in either case, a blank for one blank or more.
 *
 * A pattern is found when it reads the most cells. Where two of them read equally many and differ
 * in what they read (3/4/2001), nothing is guessed: the caller must ask. */
#ifndef HOST_TIMES_H
#define HOST_TIMES_H
#include "base/buf.h"
#include "gpmem/status.h"
#include <stdbool.h>
#include <stddef.h>

enum time_kind { /* numbers are kept in folders of runs: new ones at the end */
                 TIME_NUMBER,
                 TIME_YEAR,    /* 1949 or 1949.25, FY1949, 1949-50: a number that is a year */
                 TIME_MONTH,   /* 1949-01, Jan 1949; x is year + (month-1)/12 */
                 TIME_QUARTER, /* 1949Q1; x is year + (quarter-1)/4 */
                 TIME_DATE,    /* 1949-01-31; x is days since 1970-01-01 */
                 TIME_INSTANT, /* 1949-01-31T12:30:00; x in days */
                 TIME_WEEK,    /* 1949-W05; x is the day of its Monday */
                 TIME_UNIX,    /* seconds or parts of them since 1970; x in days */
                 TIME_KINDS
};

struct time_form {
    enum time_kind kind;
    char *pattern; /* NULL: numbers, or the usual one of the kind */
    char *like;    /* a time of the file: case, length, decimals and zone of those written */
    int zone;      /* minutes east of UTC of the times that are written, where there is a zone */
    bool zones;    /* the file has several: times are written in UTC */
    bool found;    /* the pattern was found, not given */
};
void time_form_release(struct time_form *f);
/* A copy that owns its texts. */
struct time_form time_form_copy(const struct time_form *f);
/* Of instants: the form of their days, written alike. */
void time_form_days(struct time_form *f);

/* Reads a column. given: a pattern, or NULL to find it. x[i] is NaN where cell i is NULL or cannot
 * be read. GPM_E_FORMAT: the pattern is invalid, or several fit; err tells which. */
GPM_MUST_USE enum gpm_status times_read(struct time_form *f, const char *given, size_t n,
                                        const char *const *cells, double *x, struct buf *err);
/* Reads one time in the form of a column; GPM_E_FORMAT if it is not a time. ISO dates are read,
 * too, if the column has dates. */
GPM_MUST_USE enum gpm_status time_read(const struct time_form *f, const char *text, double *x);
/* Whether the text is a time, whatever its form; numbers are, too. */
bool time_is_one(const char *text);
/* Whether it is a whole number from 1000 to 2200; the number of the month of this name, 0: none. */
bool time_is_year(const char *text);
int time_month(const char *text);
/* The form of a single example, for files that keep no pattern. */
GPM_MUST_USE enum gpm_status time_form_of(const char *example, struct time_form *f);

bool time_dated(const struct time_form *f);   /* of the calendar, not numbers */
bool time_elapsed(const struct time_form *f); /* hours that went by */
/* In the form of the column. */
void time_print(const struct time_form *f, double x, struct buf *out);
/* In ISO form, independent of the file's form. */
void time_print_iso(const struct time_form *f, double x, struct buf *out);
/* The day of this number in a year, 1 for its first, as 2001-01-01, or in a year beside it. */
void time_put_day_of(int year, long day, struct buf *out);
#endif
