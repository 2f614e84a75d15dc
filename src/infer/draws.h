/* SPDX-License-Identifier: Apache-2.0
 *
 * A table of draws: named columns, several chains, one row per kept iteration. Written as Stan CSV
 * (one text per chain) and as JSON; summarised per column with the diagnostics of diagnostics.h.
 *
 *     struct draws d;
 *     draws_init(&d, names, n_cols, chains);
 *     draws_push(&d, chain, row);              ... once per iteration and chain
 *     draws_summary_text(&d, &buf);
 *     draws_release(&d);
 */
#ifndef INFER_DRAWS_H
#define INFER_DRAWS_H
#include "base/buf.h"
#include "base/vec.h"
#include "infer/diagnostics.h"

struct draws {
    char **names; /* owned */
    size_t n_cols, chains;
    struct draws_chain {
        VEC(double) x; /* rows one after the other */
    } * chain;
};

void draws_init(struct draws *d, const char *const *names, size_t n_cols, size_t chains);
void draws_release(struct draws *d);
void draws_push(struct draws *d, size_t chain, const double *row); /* n_cols numbers, copied */
/* Rows that every chain has. */
size_t draws_rows(const struct draws *d);
/* Column j, chains one after the other with draws_rows each; caller frees with mem_free. */
double *draws_column(const struct draws *d, size_t j);

/* One chain as Stan CSV: `comments` (may be NULL; lines get a leading "# "), the header, the rows.
 * Names lose what the format cannot hold: "a[1,2]" becomes "a.1.2", other characters "_". */
void draws_stan_csv(const struct draws *d, size_t chain, const char *comments, struct buf *out);
/* {"chains": 2, "rows": 3, "draws": {"a": [[...], [...]]}}; numbers that are not finite are null.
 */
void draws_json(const struct draws *d, struct buf *out);

/* One line per column: mean, mcse, sd, 5%, 50%, 95%, ess_bulk, ess_tail, rhat; then complaints. */
void draws_summary_text(const struct draws *d, struct buf *out);
/* {"a": {"mean": ..., ...}, ...} */
void draws_summary_json(const struct draws *d, struct buf *out);
#endif
