/* SPDX-License-Identifier: Apache-2.0
 *
 * Columns of a table that know what they hold: numbers in one style (amounts.h), times in one form
 * (times.h) or words. Every cell is read once; whatever needs a table asks here.
 */
#ifndef TABLE_TABLE_H
#define TABLE_TABLE_H
#include "table/amounts.h"
#include "table/csv.h"
#include "table/times.h"

enum cell_kind { CELL_EMPTY, CELL_MISSING, CELL_NUMBER, CELL_TIME, CELL_WORD };
/* By itself; a whole number is a number, whatever it may count. */
enum cell_kind cell_kind(const char *cell);

/* Takes the names of columns off: the first row, where it has a name above numbers or times, or
 * names and neither numbers nor times; and a row of their units below. missing: as in column_wish.
 */
void table_head(struct csv *c, const char *missing);

enum column_kind {
    COLUMN_EMPTY, /* all cells are missing */
    COLUMN_NUMBERS,
    COLUMN_TIMES, /* of the calendar; years alone are numbers */
    COLUMN_WORDS  /* what is mixed, and codes with leading zeros, whose numbers are there, too */
};
struct column_wish {
    const char *missing;     /* list of cells that stand for missing values; NULL: the usual ones */
    const char *date_format; /* as in times.h; NULL: found */
    char decimal;            /* '.', ',' or 0: found */
    bool truths;             /* yes and no are 1 and 0, not words */
    bool times;              /* of a column of times x has them */
};
struct table_column {
    const struct csv *file; /* borrowed, as its cells are */
    int number;             /* of the column */
    enum column_kind kind;
    struct number_style style; /* of its numbers; its doubt is a cell */
    struct time_form form;     /* of times */
    char *doubt;               /* why cells that look like times cannot be read; NULL */
    const char **cell;         /* by row; NULL: missing */
    double *x;                 /* by row: numbers, or times; NaN: missing, or none */
    size_t cells, numbers;     /* that are not missing; that are numbers */
    size_t bad;                /* the first row that is no number, SIZE_MAX without one */
    size_t none;               /* cells that say None, which is a word among words */
};
void table_column_read(struct table_column *k, const struct csv *c, int col,
                       const struct column_wish *w);
/* As times, which may be numbers. GPM_E_FORMAT: several forms would do, or the format is invalid;
 * err says so after the name of the file. The column is to be released either way. */
GPM_MUST_USE enum gpm_status table_column_times(struct table_column *k, const struct csv *c,
                                                int col, const char *missing,
                                                const char *date_format, struct buf *err);
void table_column_release(struct table_column *k);
/* The number in a row; GPM_E_FORMAT: it is missing, or none, or may be two. */
GPM_MUST_USE enum gpm_status table_column_number(const struct table_column *k, size_t row,
                                                 double *x, struct buf *err);
#endif
