/* SPDX-License-Identifier: Apache-2.0
 *
 * A table of draws: named columns, several chains, one row per kept iteration. Written as JSON;
 * summarised per column with the diagnostics of diagnostics.h.
 *
 *     struct draw_table d;
 *     draw_table_init(&d, names, n_cols, chains);
 *     draw_table_push(&d, chain, row);              ... once per iteration and chain
 *     draw_table_summary(&d, &buf);
 *     draw_table_release(&d);
 */
#ifndef INFER_DRAWS_H
#define INFER_DRAWS_H
#include "base/buf.h"
#include "base/vec.h"
#include "infer/diagnostics.h"

/* What a column is, by its name: Stan's names for what a sampler says of itself, log_lik for the
 * log densities of the data, y_rep for their replicates, y_obs for the data themselves. Elements of
 * arrays are called a[1], or a.1 in files. */
enum draw_group {
    DRAWS_POSTERIOR,
    DRAWS_SAMPLER,
    DRAWS_LOG_LIK,
    DRAWS_REPLICATE,
    DRAWS_OBSERVED,
    DRAW_GROUPS
};
enum draw_group draw_group_of(const char *name);

struct draws_chain {
    VEC(double) x; /* rows one after the other */
    size_t number; /* what it is called, from 1 */
};
struct draw_table {
    char **names; /* owned */
    size_t n_cols;
    VEC(struct draws_chain) chain;
    struct draws_summary *known; /* of each column of the posterior; NULL: not asked for yet */
    size_t known_draws;          /* how many there were then */
};

void draw_table_init(struct draw_table *d, const char *const *names, size_t n_cols, size_t chains);
void draw_table_release(struct draw_table *d);
void draw_table_push(struct draw_table *d, size_t chain,
                     const double *row); /* n_cols numbers, copied */
/* Rows that every chain has. */
size_t draw_table_rows(const struct draw_table *d);
/* Column j, chains one after the other with draw_table_rows each; caller frees with mem_free. */
double *draw_table_column(const struct draw_table *d, size_t j);

/* {"chains": 2, "rows": 3, "draws": {"a": [[...], [...]]}}; numbers that are not finite are null.
 */
void draw_table_json(const struct draw_table *d, struct buf *out);

/* One line per column of the posterior: mean, mcse, sd, 5%, 50%, 95%, ess_bulk, ess_tail, rhat;
 * then complaints. */
void draw_table_summary(struct draw_table *d, struct buf *out);
/* The complaints alone: about columns, and about chains that do not move. */
void draw_table_complain(struct draw_table *d, struct buf *out);
/* The summary as an HTML table; complaints and `remarks`, lines of text, stand below it. */
void draw_table_summary_html(struct draw_table *d, const char *remarks, struct buf *out);
/* {"a": {"mean": ..., ...}, ...} */
void draw_table_summary_json(struct draw_table *d, struct buf *out);
#endif
