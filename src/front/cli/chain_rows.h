/* SPDX-License-Identifier: Apache-2.0
 *
 * The text of a chain's file: a line that names the columns, then a line per draw, whose absent
 * cells are empty. Names are Stan's: a[1,2] is a.1.2. The file of a run that goes on only grows, so
 * where columns join there is a line "#+a.3,a.4", and rows before it are shorter. The file of a
 * chain that has ended is a whole table: one line names all columns, and all rows are as long.
 */
#ifndef CLI_CHAIN_ROWS_H
#define CLI_CHAIN_ROWS_H
#include "base/buf.h"
#include "base/column_names.h"

struct chain_rows {
    struct column_names columns; /* as the program calls them */
    struct column_names spelled; /* as the file does, no two alike */
    size_t before;               /* rows that came before the first column */
};
void chain_rows_release(struct chain_rows *r);
/* Columns of which the file knows already. */
void chain_rows_know(struct chain_rows *r, const char *const *names, size_t n);
/* A line of cells. One cell alone is never empty, but "": other readers take empty lines for
 * nothing. */
void chain_row_text(const double *row, size_t n, struct buf *out);
/* Appends the lines that a row adds to the file. */
void chain_rows_add(struct chain_rows *r, const char *const *names, const double *row, size_t n,
                    struct buf *out);
/* Of a chain that is made again: whether its line agrees with the file's next one, which may be
 * that of a whole table. Lines without their ends; names: the first one. *skip: it stands for no
 * line there. */
bool chain_rows_same(const char *old, size_t old_len, const char *line, size_t len, bool names,
                     bool *skip);
/* The file of a chain that has ended; false: it is a whole table already. */
bool chain_rows_whole(const struct chain_rows *r, const struct buf *file, struct buf *out);
#endif
