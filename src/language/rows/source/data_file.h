/* SPDX-License-Identifier: Apache-2.0
 *
 * Data for models: JSON as in Stan's data files, and columns of CSV files.
 *
 *     number, "NaN", "Infinity", "-inf", ...     a number; null among numbers: NaN, missing
 *     [1, 2, 3]                                  a vector
 *     [[1, 2], [3, 4]]                           a matrix, by rows; deeper: arrays of matrices
 *     "text", true, [anything else]              a text, a truth value, an array
 *     {"a": 1}                                   a dictionary
 *
 * Nested arrays of numbers whose rows have different lengths are an error, as in Stan. Errors say
 * where: line and column of the text, or the place in the data (y[3][0]). */
#ifndef SOURCE_DATA_FILE_H
#define SOURCE_DATA_FILE_H
#include "table/csv.h"
#include "language/value/value.h"

/* The value of a JSON text; GPM_E_FORMAT otherwise, with `err` filled. *out owned. */
enum gpm_status data_json(const char *text, size_t n, value *out, struct buf *err) GPM_MUST_USE;
/* A dictionary of the columns: vectors if all cells are numbers or missing (NaN), otherwise arrays
 * of texts. Owned. */
value data_columns(const struct csv *file);
/* The contents of a file: columns for .csv or .tsv, otherwise JSON. */
enum gpm_status data_file(const char *path, value *out, struct buf *err) GPM_MUST_USE;
#endif
