/* SPDX-License-Identifier: Apache-2.0
 *
 * Datasets: the results of `collect`, read by plots and tables. They have a row per particle and
 * iteration. The first columns identify the row, the others hold the collected expressions.
 * Immutable once shared, like every value. Rows are gathered by collect.c, summaries are made by
 * op_dataset.c. */
#ifndef INFER_DATASET_H
#define INFER_DATASET_H
#include "numeric/posterior/draws.h"
#include "inference/run/infer.h"

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
    size_t n_columns; /* including the DATASET_FIRST columns above; 0: empty() without rows */
    char **names;     /* owned, one per column */
    VEC(value) cells; /* row by row */
};
extern const struct box_class dataset_class;

struct dataset *dataset_of(value v); /* NULL for other values */
/* An empty dataset with these expression columns. If names is NULL, the caller fills in n names. */
struct dataset *dataset_new(const char *const *names, size_t n);
/* The dataset as a value; after a failure it is freed, and *out is nil. Returns st. */
enum gpm_status dataset_give(struct dataset *d, enum gpm_status st, value *out) GPM_MUST_USE;
/* Begins a row; the cells of the expressions must follow. */
void dataset_begin_row(struct dataset *d, const double first[DATASET_FIRST]);
size_t dataset_rows(const struct dataset *d);
/* Appends the rows of b, matching columns by name. `iter` >= 0 replaces b's iterations. A column
 * that only one of them has is nil in the rows of the other. */
void dataset_append(struct dataset *d, const struct dataset *b, double iter);
/* Gives an empty() dataset its first columns. */
void dataset_ready(struct dataset *d);
/* The index of the `nth` column (from 0) of that name; it is added if missing. */
size_t dataset_column(struct dataset *d, const char *name, size_t nth);
/* Numbers with their names. Columns that look as in the previous row reuse the names of their
 * numbers. */
struct draw_row {
    VEC(char *) names; /* owned; the first at.n are valid */
    VEC(double) at;
    VEC(struct draw_column) columns; /* of the previous row, as far as this row agrees with it */
    size_t n_columns;                /* columns of this row added until now */
};
struct draw_column {
    char *name;                    /* owned */
    size_t n_index, rows, columns; /* 0: a number; 1: a sequence; 2: a matrix */
};
void draw_row_begin(struct draw_row *r);
/* Adds the numbers of v: a number, a sequence as name[1], name[2], ..., or a matrix as name[1,1],
 * name[2,1], ... False: v is not numeric. */
bool draw_row_add(struct draw_row *r, const char *name, value v);
void draw_row_release(struct draw_row *r);
/* For rows from .. end - 1, collected together from n particles: log of the weight over the
 * particles' mean weight. False: all are 0. */
bool dataset_weights(const struct dataset *d, size_t from, size_t end, double n, double *w);
/* For consumers that ignore weights: the indexes of as many rows, drawn by weight with systematic
 * resampling. NULL: all weights are equal. Caller frees with mem_free. */
size_t *dataset_drawn(const struct dataset *d);
void dataset_warn_drawn(struct infer_state *x, const char *who); /* warns that rows were drawn */
/* Prints the same as summarize, or the figures as JSON. */
void dataset_summarise(struct infer_state *x, const struct dataset *d, bool json);
/* The numbers of the collected columns as one chain of draws in row order, with log_weight__ if
 * weights differ. */
void dataset_table(const struct dataset *d, struct draw_table *out);
/* Begins the row of a particle; total: log of the total weight of the particles it belongs to. */
double collect_total(const struct infer_state *x);
void collect_begin_row(struct infer_state *x, double iter, size_t particle, double total,
                       struct dataset *d);
/* Passes the rows from `first` on to the receiver of draws (infer_state.draw). */
void collect_pass_on(struct infer_state *x, const struct dataset *d, size_t first);
/* Column i as numbers; caller frees with mem_free. */
double *dataset_numbers(const struct dataset *d, size_t column);
#endif
