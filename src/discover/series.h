/* SPDX-License-Identifier: Apache-2.0
 *
 * Reads a time series from CSV: a column of times (numbers, years, months, quarters, ISO dates or
 * date-times) and one of values. Rows may come in any order and with repeated times; missing values
 * are dropped and counted. A row that cannot be read is an error with its line number, or is
 * skipped and counted on request.
 */
#ifndef DISCOVER_SERIES_H
#define DISCOVER_SERIES_H
#include "base/buf.h"
#include "gpmem/status.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum time_kind {
    TIME_NUMBER,
    TIME_YEAR,    /* 1949 or 1949.25: a number that is a year */
    TIME_MONTH,   /* 1949-01, Jan 1949; x is year + (month-1)/12 */
    TIME_QUARTER, /* 1949Q1 */
    TIME_DATE,    /* 1949-01-31; x is days since 1970-01-01, or as for months when all are firsts */
    TIME_INSTANT  /* 1949-01-31T12:30:00; x in days */
};

struct series_options {
    const char *time, *value; /* column name or number from 1, borrowed; NULL: the usual names */
    bool skip_bad;
    size_t max_points; /* 0: all. More rows: the most recent ones are kept and the rest counted */
};
/* A copy that owns its texts, and its end. */
struct series_options series_options_copy(const struct series_options *o);
void series_options_release(struct series_options *o);
struct series {
    size_t n;
    double *x, *y; /* ascending x */
    char *name, *time_name, *value_name;
    char *form; /* a time as the file writes it, the longest of them; NULL: none is known */
    enum time_kind kind;
    const char *unit; /* of x: "year", "day", "step" */
    size_t rows, missing, bad, repeated, left_out;
    double code;      /* a value that looks like a code for missing ones (-999), ... */
    size_t coded;     /* and how many have it */
    bool sorted;      /* the file was in order */
    double season[4]; /* periods that the calendar suggests, in x */
    int n_season;
    uint64_t hash; /* of the kept values */
};

/* A text under a name, or the file of this name where text is NULL. */
GPM_MUST_USE enum gpm_status series_read(struct series *s, const char *name, const char *text,
                                         size_t len, const struct series_options *o,
                                         struct buf *err);
void series_release(struct series *s);
void series_cut(struct series *s, size_t n); /* to its first n points */

/* A time in the form of the file: 1960-03, Mar 1960, 1999/12/31, 1950.25. */
void series_print_time(const struct series *s, double x, struct buf *out);
/* The same; times that are numbers with so many digits. */
void series_print_rounded(const struct series *s, double x, int digits, struct buf *out);
/* GPM_E_FORMAT when the text is no time. */
GPM_MUST_USE enum gpm_status series_parse_time(const char *text, double *x, enum time_kind *kind);
/* A time of this series, written in any form of its kind; GPM_E_FORMAT when it is none. */
GPM_MUST_USE enum gpm_status series_read_time(const struct series *s, const char *text, double *x);
/* The number 20200131 as a date: days since 1970-01-01; false when it is none. */
bool series_compact_date(double v, double *x);
bool series_dated(const struct series *s); /* times are of the calendar, not numbers */
/* A name from outside, fit for one line of a terminal or a report (buf_line). */
char *series_clean_name(const char *text);
#endif
