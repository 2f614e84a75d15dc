/* SPDX-License-Identifier: Apache-2.0
 *
 * A table of draws: named columns, several chains, one row per kept iteration. Rows bring their
 * columns by name: one may join at any time, and is absent in the rows that lack it
 * (base/column_names.h). Written as JSON; summarised per column with the diagnostics of
 * diagnostics.h, over the rows that have it.
 *
 *     struct draw_table d;
 *     draw_table_init(&d, chains);
 *     draw_table_push(&d, chain, names, row, n);    ... once per iteration and chain
 *     draw_table_summary(&d, &buf);
 *     draw_table_release(&d);
 *
 * Rows of particles with different weights have a column log_weight__: the log of the weight over
 * the mean weight of the particles kept together. Absent means 0. All statistics use it. */
#ifndef INFER_DRAWS_H
#define INFER_DRAWS_H
#include "base/buf.h"
#include "base/column_names.h"
#include "numeric/posterior/diagnostics.h"

/* The kind of a column, by its name: Stan's names for sampler diagnostics, log_lik for log
 * densities of the data, y_rep for replicates, y_obs for the data. Elements of arrays are called
 * a[1], or a.1 in files. */
enum draw_group {
    DRAWS_POSTERIOR,
    DRAWS_SAMPLER,
    DRAWS_LOG_LIK,
    DRAWS_REPLICATE,
    DRAWS_OBSERVED,
    DRAW_GROUPS
};
enum draw_group draw_group_of(const char *name);

#define DRAWS_LOG_WEIGHT "log_weight__"

struct draws_chain {
    VEC(struct draws_cells) columns; /* may be fewer than in the table: the others are absent */
    size_t rows;
    size_t number; /* its number, from 1 */
};
struct draws_cells {
    VEC(double) x; /* may be fewer than rows: absent in the last ones */
};
struct draw_table {
    struct column_names columns;
    bool late; /* a column was added after the first row */
    VEC(struct draws_chain) chain;
    struct draws_summary *known; /* of each column of the posterior; NULL until needed */
    size_t known_draws;          /* number of draws at that time */
};

void draw_table_init(struct draw_table *d, size_t chains);
void draw_table_release(struct draw_table *d);
void draw_table_drop_last(struct draw_table *d); /* the last chain */
/* Adds a row: n numbers, copied. */
void draw_table_push(struct draw_table *d, size_t chain, const char *const *names,
                     const double *row, size_t n);
/* The same by column positions (draw_table_place). */
void draw_table_push_at(struct draw_table *d, size_t chain, const size_t *places, const double *row,
                        size_t n);
/* The positions of columns with these names; missing columns are added. */
void draw_table_place(struct draw_table *d, const char *const *names, size_t n, size_t *places);
/* Sorts the columns so that elements of an array are adjacent and in order, even if added late. */
void draw_table_arrange(struct draw_table *d);
static inline size_t draw_table_columns(const struct draw_table *d) {
    return d->columns.names.n;
}
static inline const char *draw_table_name(const struct draw_table *d, size_t j) {
    return d->columns.names.at[j];
}
double draw_table_at(const struct draw_table *d, size_t chain, size_t row, size_t j);
/* Rows that every chain has. */
size_t draw_table_rows(const struct draw_table *d);
/* Column j, chains one after the other with draw_table_rows each; caller frees with mem_free. */
double *draw_table_column(const struct draw_table *d, size_t j);
/* Draws n rows by their log weights with systematic resampling, in ascending order. */
void draws_comb(const double *log_weight, size_t n, size_t *rows);
/* For consumers that ignore weights: as many rows drawn by weight with systematic resampling, as
 * one chain. False: the weights are equal, and *out is not set. */
bool draw_table_draw(const struct draw_table *d, struct draw_table *out);

/* {"chains": 2, "rows": 3, "draws": {"a": [[...], [...]]}}; absent or non-finite values are
 * null. */
void draw_table_json(const struct draw_table *d, struct buf *out);

/* One line per column of the posterior: mean, mcse, sd, 5%, 50%, 95%, ess_bulk, ess_tail, rhat, and
 * the share absent if any; then warnings. */
void draw_table_summary(struct draw_table *d, struct buf *out);
/* The warnings alone: about columns, and about chains that do not move. */
void draw_table_complain(struct draw_table *d, struct buf *out);
/* The summary as an HTML table, followed by warnings and `remarks` (lines of text). */
void draw_table_summary_html(struct draw_table *d, const char *remarks, struct buf *out);
/* {"a": {"mean": ..., ...}, ...} */
void draw_table_summary_json(struct draw_table *d, struct buf *out);
#endif
