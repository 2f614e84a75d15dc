/* SPDX-License-Identifier: Apache-2.0
 *
 * Reads a time series from CSV: a column of times (table/times.h says which forms) and one of
 * values (table/amounts.h). Rows may come in any order and with repeated times; missing values are
 * dropped and counted. A row that cannot be read is an error with its line number, or is skipped
 * and counted on request.
 */
#ifndef DISCOVER_SERIES_H
#define DISCOVER_SERIES_H
#include "base/buf.h"
#include "apps/discover/regressors.h"
#include "gpmem/status.h"
#include "table/table.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum series_decimal { DECIMAL_AUTO, DECIMAL_POINT, DECIMAL_COMMA };
/* What is made of the rows of one step; numbers as in gpm_discover_take. */
enum series_take {
    TAKE_AUTO, /* means of long series; counts where there is nothing but times */
    TAKE_MEAN,
    TAKE_TOTAL,
    TAKE_COUNT,
    TAKE_MEDIAN,
    TAKE_LAST,
    TAKE_MIN,
    TAKE_MAX,
    TAKES
};
#define SERIES_SEASONS 5

struct series_options {
    const char *time, *value; /* column name or number from 1, borrowed; NULL: the usual names.
                               * The time "rows" without such a column: their order */
    bool skip_bad;
    size_t max_points; /* 0: all. More rows: the most recent ones are kept and the rest counted */
    const char *date_format; /* a pattern of table/times.h; NULL: found */
    enum series_decimal decimal;
    const char *with, *smooth; /* columns with a linear, with a smooth effect: "price,temp" */
    bool wide;                 /* every column is a series */
    const char *by;            /* a column that distinguishes series, not of values; or NULL */
    const char *missing;  /* cells that stand for missing values, separated by commas: "-999,x" */
    const char *holidays; /* a file of days with names (holidays.h); NULL: none */
    bool per_day;         /* totals of months or quarters become means of a day of theirs */
    const char *least, *most; /* what values can be: numbers; NULL: no such end */
    const char *every;        /* the step ("1h"); NULL: of long series; "none" (every.h) */
    enum series_take take;
};
/* A copy that owns its texts, and its end. */
struct series_options series_options_copy(const struct series_options *o);
void series_options_release(struct series_options *o);
struct series {
    size_t n;
    double *x, *y; /* ascending x */
    char *name, *time_name, *value_name;
    struct time_form form;
    struct number_style style;
    bool month_end;   /* days that are all the last of a month: x as for months */
    double month_at;  /* where x counts months: days after the first (or the last) of one */
    const char *unit; /* of x: "year", "day", "step" */
    size_t rows, missing, bad, repeated, left_out;
    size_t aside, aside_line; /* lines that are no rows of the table, and the first of them */
    size_t set_back;          /* times that clocks were: an hour came twice, and is averaged */
    size_t unseen;            /* names of the list of holidays that have no day in the series */
    int layout;               /* of the table in the file: enum csv_layout */
    bool sorted;              /* the file was in order */
    enum series_take take;    /* what values are of the rows of their steps; TAKE_AUTO: not said */
    char every[24];           /* the step; "": none, or every time */
    size_t averaged, ends;    /* rows in the steps; rows at the ends that fill no step */
    size_t empty, same;       /* steps without rows that are 0; rows of the same time as another */
    double within, next;      /* sd within a step, about its line; from row to row */
    double season[SERIES_SEASONS]; /* periods that the calendar suggests, in x */
    int n_season;
    struct regressors reg; /* at the times of the rows */
    uint64_t hash;         /* of the kept values */
};

/* How cells of numbers are to be read. */
struct column_wish series_wish(const struct series_options *o);
/* A text under a name, or the file of this name where text is NULL. */
GPM_MUST_USE enum gpm_status series_read(struct series *s, const char *name, const char *text,
                                         size_t len, const struct series_options *o,
                                         struct buf *err);
/* Of a file that was read, which stays as it is; its header, if there is one, was taken off by
 * series_time_column. */
GPM_MUST_USE enum gpm_status series_read_csv(struct series *s, const struct csv *file,
                                             const struct series_options *o, struct buf *err);
/* Removes the header and finds the column of times; -1 if missing. */
GPM_MUST_USE enum gpm_status series_time_column(struct csv *file, const struct series_options *o,
                                                int *time, struct buf *err);
/* The same, of a file whose head was looked at. */
GPM_MUST_USE enum gpm_status series_find_time(struct csv *file, const struct series_options *o,
                                              int *time, struct buf *err);
/* Does a name ask for the rows as times ("rows", where no column is called so)? */
bool series_times_are_rows(const struct csv *c, const char *name);
/* A column chosen automatically contains `what` instead of times: GPM_E_FORMAT with the remedy;
 * GPM_OK if it has the name of a time column. */
GPM_MUST_USE enum gpm_status series_guessed_times(const struct csv *c,
                                                  const struct series_options *o, int time,
                                                  const char *what, struct buf *err);
void series_release(struct series *s);
struct series series_copy(const struct series *s);
void series_set_seasons(struct series *s);   /* by unit and kind of time */
void series_cut(struct series *s, size_t n); /* to its first n points */

/* A time in the form of the file: 1960-03, Mar 1960, 31.12.1999, 1950.25. */
void series_print_time(const struct series *s, double x, struct buf *out);
/* The same; times that are numbers with so many digits. */
void series_print_rounded(const struct series *s, double x, int digits, struct buf *out);
/* A time of this series, in any form of its kind; GPM_E_FORMAT if it is not a time. */
GPM_MUST_USE enum gpm_status series_read_time(const struct series *s, const char *text, double *x);
/* Says that a text is no time, and how times are written: GPM_E_FORMAT. */
enum gpm_status series_no_time(const struct series *s, const char *text, struct buf *err);
/* The times of a file, whose header is taken off: of the column that o names, of the series' own
 * name, or of a usual one. *x is the caller's, NULL when it fails. */
GPM_MUST_USE enum gpm_status series_read_times(const struct series *s, struct csv *file,
                                               const struct series_options *o, size_t *n,
                                               double **x, struct buf *err);
/* Rows of regressors, from a file with a column for each whose times are x: added to those of the
 * series. */
GPM_MUST_USE enum gpm_status series_read_future(struct series *s, const struct csv *file,
                                                const struct series_options *o, const double *x,
                                                struct buf *err);
/* A time for other tools: as the file writes it, but dates of ISO instead of unix seconds. */
void series_print_plain(const struct series *s, double x, struct buf *out);
/* Months are numbered from that of the year 0 on: the number of a day's (days since 1970), and the
 * first day of a month. */
double series_month_of(double day);
double series_first_day(double month);
/* Whether times are days, one in a month, and x is as for months. */
bool series_counts_months(const struct series *s);
/* A day since 1970 as its month, a number of years; its day of that month, and whether it is the
 * last one. */
double series_month_time(double day, int *d, bool *last);
bool series_dated(const struct series *s); /* times are of the calendar, not numbers */
/* A name from outside, fit for one line of a terminal or a report (buf_line). */
char *series_clean_name(const char *text);
#endif
