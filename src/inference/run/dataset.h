/* SPDX-License-Identifier: Apache-2.0
 *
 * Datasets: what `collect` gives and what plots and tables read. A row per particle and iteration;
 * the first columns say where the row comes from, the others hold the collected expressions.
 * Immutable once shared, like every value.
 */
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
/* Appends the rows of b by the names of its columns; `iter` >= 0 replaces their iteration. Where
 * only one of them has a column, the rows of the other have nil there. */
void dataset_append(struct dataset *d, const struct dataset *b, double iter);
/* Gives an empty() one the columns that come first. */
void dataset_ready(struct dataset *d);
/* The place of a column that joins, or of the `nth` (from 0) that is called so already. */
size_t dataset_column(struct dataset *d, const char *name, size_t nth);
/* Numbers with their names, for rows that mostly look like the one before: columns that do keep the
 * names of their numbers. */
struct draw_row {
    VEC(char *) names; /* owned; the first at.n count */
    VEC(double) at;
    VEC(struct draw_column) columns; /* of the row before, as far as this one is like it */
    size_t n_columns;                /* of this row so far */
};
struct draw_column {
    char *name;                    /* owned */
    size_t n_index, rows, columns; /* 0: a number; 1: a sequence; 2: a matrix */
};
void draw_row_begin(struct draw_row *r);
/* Adds the numbers of v: one, or those of a sequence as name[1], name[2], ..., or of a matrix as
 * name[1,1], name[2,1], ... False: v has none. */
bool draw_row_add(struct draw_row *r, const char *name, value v);
void draw_row_release(struct draw_row *r);
/* Of rows from .. end - 1, which were collected together from n particles, the log of the weight
 * over the particles' mean weight; false: all are 0. */
bool dataset_weights(const struct dataset *d, size_t from, size_t end, double n, double *w);
/* For what knows no weights: as many rows, by their numbers, drawn by weight with one comb. NULL:
 * all weigh the same. Caller frees with mem_free. */
size_t *dataset_drawn(const struct dataset *d);
void dataset_warn_drawn(struct infer_state *x, const char *who); /* says that it was done */
/* Prints what summarize does, or the figures as JSON. */
void dataset_summarise(struct infer_state *x, const struct dataset *d, bool json);
/* The collected columns as one chain of draws, in the order of the rows: their numbers, and
 * log_weight__ where weights differ. */
void dataset_table(const struct dataset *d, struct draw_table *out);
/* Begins the row of a particle; total: the log of the weight of all that it is one of. */
double collect_total(const struct infer_state *x);
void collect_begin_row(struct infer_state *x, double iter, size_t particle, double total,
                       struct dataset *d);
/* Its rows from `first` on go to whoever receives draws (infer_state.draw). */
void collect_pass_on(struct infer_state *x, const struct dataset *d, size_t first);
/* Column i as numbers; caller frees with mem_free. */
double *dataset_numbers(const struct dataset *d, size_t column);
#endif
