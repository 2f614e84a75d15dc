/* SPDX-License-Identifier: Apache-2.0
 *
 * Tables as Apache Parquet files: plain pages without compression, which every reader takes, in
 * groups of rows that are written as they fill. Columns are required; those of lists hold any
 * number of values in a row.
 *
 *     struct parquet *p = parquet_new(columns, 2);
 *     parquet_text(p, 0, "a"), parquet_number(p, 1, 3.5), parquet_row(p);   // and so on
 *     parquet_finish(p, &out);                                              // frees it
 */
#ifndef BASE_PARQUET_H
#define BASE_PARQUET_H
#include "base/buf.h"
#include <stdbool.h>
#include <stdint.h>

enum parquet_type { PARQUET_INT = 2, PARQUET_NUMBER = 5, PARQUET_TEXT = 6 }; /* as the format's */
struct parquet_column {
    const char *name; /* borrowed */
    enum parquet_type type;
    bool list;
};

struct parquet;
struct parquet *parquet_new(const struct parquet_column *columns, size_t n);
/* A value of the row that is being written; in a list one more. */
void parquet_int(struct parquet *p, size_t column, int64_t v);
void parquet_number(struct parquet *p, size_t column, double v);
void parquet_text(struct parquet *p, size_t column, const char *s); /* any bytes; see there */
void parquet_row(struct parquet *p);                                /* the row is whole */
void parquet_finish(struct parquet *p, struct buf *out);
#endif
