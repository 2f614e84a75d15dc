/* SPDX-License-Identifier: Apache-2.0
 *
 * CSV files as columns of text and of numbers. Quoted fields ("" inside stands for a quote, may
 * span lines), CRLF, a byte order mark, UTF-16 that begins with one; the separator (comma,
 * semicolon, tab, bar, or blanks) is found from the first lines. Titles before the first row of the
 * table and remarks after its last one are left out and counted; all rows between have as many
 * fields. Blank lines and lines that start with # before the first row are skipped. What is no
 * UTF-8 is read in the older code of spreadsheets. Errors name the file and the line.
 */
#ifndef HOST_CSV_H
#define HOST_CSV_H
#include "base/arena.h"
#include "base/buf.h"
#include <gpmem/status.h>
#include <stdbool.h>
#include <stddef.h>

#define CSV_MAX_COLUMNS 10000

/* How the file had the table that is here as columns. */
enum csv_layout {
    CSV_COLUMNS,
    CSV_GRID,    /* years by months */
    CSV_ACROSS,  /* times as columns */
    CSV_YEARLESS /* columns of months and days, or days and clocks: a year is assumed */
};

struct csv {
    char *name; /* of the file, for messages */
    struct arena arena;
    int n_cols;
    size_t n_rows;
    const char **header; /* n_cols names, or NULL when there is no header */
    const char **cells;  /* row-major, n_rows * n_cols; trimmed unless quoted */
    size_t *lines;       /* line of the file on which each row starts */
    struct {
        size_t n, line; /* lines that are no rows of the table, and the first of them */
    } aside;
    enum csv_layout layout;
    bool tidy; /* rows outside the table have been searched for */
};

/* Of a text or, where that is NULL, of the file of this name. Every row is one of data until a
 * header is taken off. */
GPM_MUST_USE enum gpm_status csv_table(struct csv *c, const char *name, const char *text, size_t n,
                                       struct buf *err);
void csv_release(struct csv *c);
void csv_take_header(struct csv *c); /* the first row */

/* Takes rows out, and counts them as left out. */
void csv_drop(struct csv *c, const bool *drop);
/* Does a word of the cell say that its row is one of sums or means? */
bool csv_total(const char *cell);
/* Takes out rows whose first cell says so, where their numbers are sums or means of rows before
 * them, or they stand last and no other row is called like them; how many, and the line of the
 * first. What is one of several words of a column is a level like the others. decimal: as in
 * amounts.h. */
size_t csv_drop_totals(struct csv *c, char decimal, size_t *line);
/* Other cells, whose first row is the header, with the line of each row: the table's from now on.
 */
void csv_reshape(struct csv *c, int n_cols, size_t n_rows, const char **cells, size_t *lines);

/* By its heading, else by what its heading is shown as (buf_line), where that is one column: people
 * copy names from reports. -1: none. */
int csv_column(const struct csv *c, const char *name);
/* Does a column count rows one by one, and is called so ("", "id", "PassengerId", "row_id"), as
 * data frames are written? */
bool csv_counts_rows(const struct csv *c, int col);
/* The column with the first of these names, up to NULL, in any capitals; -1: none. */
int csv_column_of(const struct csv *c, const char *const *names);
/* By name, with other capitals where that is one, or by number from 1; an error lists the columns.
 */
GPM_MUST_USE enum gpm_status csv_find(const struct csv *c, const char *name, int *col,
                                      struct buf *err);
static inline const char *csv_text(const struct csv *c, size_t row, int col) {
    return c->cells[row * (size_t)c->n_cols + (size_t)col];
}
/* Empty, NA, nan, null, ?, ., - and the like are missing. */
bool csv_is_missing(const char *cell);
/* So is a cell like them, and those of a list "-999,x" (may be NULL), as the user says. */
bool csv_missing_as(const struct csv *c, size_t row, int col, const char *codes);
/* None, which is missing among numbers, and is not in the list: among words it is one. */
bool csv_is_none(const char *cell, const char *codes);
/* Writes one field, quoted when it must be. */
void csv_put(struct buf *out, const char *text);
#endif
