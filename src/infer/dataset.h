/* SPDX-License-Identifier: Apache-2.0
 *
 * Datasets: what `collect` gives and what plots and tables read. A row per particle and iteration;
 * the first columns say where the row comes from, the others hold the collected expressions.
 * Immutable once shared, like every value.
 */
#ifndef INFER_DATASET_H
#define INFER_DATASET_H
#include "infer/infer.h"

enum dataset_column {
    DATASET_ITER,
    DATASET_PARTICLE,
    DATASET_TIME,
    DATASET_LOG_WEIGHT,
    DATASET_PROB,
    DATASET_FIRST /* the first collected expression */
};

struct dataset {
    struct box box;
    size_t n_columns; /* with the DATASET_FIRST columns above; 0: empty() before any row */
    char **names;     /* owned, one per column */
    VEC(value) cells; /* row by row */
};
extern const struct box_class dataset_class;

struct dataset *dataset_of(value v); /* NULL: something else */
/* An empty one with these expression columns. Under names NULL the caller fills in n names. */
struct dataset *dataset_new(const char *const *names, size_t n);
/* The dataset as a value; after a failure it is freed, and *out is nil. Returns st. */
enum gpm_status dataset_give(struct dataset *d, enum gpm_status st, value *out) GPM_MUST_USE;
/* Begins a row; the cells of the expressions follow. */
void dataset_begin_row(struct dataset *d, const double first[DATASET_FIRST]);
size_t dataset_rows(const struct dataset *d);
/* Appends the rows of b; `iter` >= 0 replaces their iteration. False: other columns. */
bool dataset_append(struct dataset *d, const struct dataset *b, double iter);
double dataset_number(const struct dataset *d, size_t row, size_t column); /* NaN: it is none */
/* Column i as numbers; caller frees with mem_free. */
double *dataset_numbers(const struct dataset *d, size_t column);
#endif
