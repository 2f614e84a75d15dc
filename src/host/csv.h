/* SPDX-License-Identifier: Apache-2.0
 *
 * CSV files as columns of text and of numbers. Quoted fields ("" inside stands for a quote, may
 * span lines), CRLF, a byte order mark; the separator (comma, semicolon, tab) is found from the
 * first line unless given. Every row must have as many fields as the first; blank lines and lines
 * that start with # before the first row are skipped. Errors name the file and the line.
 */
#ifndef HOST_CSV_H
#define HOST_CSV_H
#include "base/arena.h"
#include "base/buf.h"
#include <gpmem/status.h>
#include <stdbool.h>
#include <stddef.h>

enum csv_header {
    CSV_HEADER_AUTO, /* a header when the first row has a field that is not a number or empty */
    CSV_HEADER_YES,
    CSV_HEADER_NO,
};
struct csv_options {
    enum csv_header header;
    char separator;   /* 0: find it */
    size_t max_bytes; /* 0: FILE_TEXT_MAX */
};
#define CSV_MAX_COLUMNS 10000

struct csv {
    char *name; /* of the file, for messages */
    struct arena arena;
    int n_cols;
    size_t n_rows;
    char **header;      /* n_cols names, or NULL when there is no header */
    const char **cells; /* row-major, n_rows * n_cols; trimmed unless quoted */
    size_t *lines;      /* line of the file on which each row starts */
};

GPM_MUST_USE enum gpm_status csv_read(struct csv *c, const char *path,
                                      const struct csv_options *opt, struct buf *err);
GPM_MUST_USE enum gpm_status csv_parse(struct csv *c, const char *name, const char *text, size_t n,
                                       const struct csv_options *opt, struct buf *err);
void csv_release(struct csv *c);

int csv_column(const struct csv *c, const char *name); /* -1 when there is none */
/* By name, or by number from 1; an error lists the columns. */
GPM_MUST_USE enum gpm_status csv_find(const struct csv *c, const char *name, int *col,
                                      struct buf *err);
static inline const char *csv_text(const struct csv *c, size_t row, int col) {
    return c->cells[row * (size_t)c->n_cols + (size_t)col];
}
/* Empty, NA, nan, null and ? are missing. */
bool csv_missing(const struct csv *c, size_t row, int col);
GPM_MUST_USE enum gpm_status csv_number(const struct csv *c, size_t row, int col, double *x,
                                        struct buf *err);
/* A whole column; a missing cell is NaN when `allow_missing`, else an error. */
GPM_MUST_USE enum gpm_status csv_numbers(const struct csv *c, int col, bool allow_missing,
                                         double *out, struct buf *err);
/* Writes one field, quoted when it must be. */
void csv_put(struct buf *out, const char *text);
#endif
