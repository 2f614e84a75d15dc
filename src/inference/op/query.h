/* SPDX-License-Identifier: Apache-2.0
 *
 * Queries about structures: the probability that a query (gp/kernel/kern_query.h) holds, from draws
 * of kernels or from a posterior over structures with a known error. */
#ifndef INFER_QUERY_H
#define INFER_QUERY_H
#include "inference/run/infer.h"

/* error: half-width of a 99% interval; ess: effective number of draws. */
struct query_answer {
    double probability, error, ess;
};

/* A posterior over structures as a value. Its maker owns the contents; the maker's box class is
 * named STRUCTURE_POSTERIOR. */
#define STRUCTURE_POSTERIOR "posterior over structures"
struct structure_posterior {
    struct box box;
    /* GPM_E_FORMAT with a message if the query cannot be read. */
    enum gpm_status (*ask)(const struct structure_posterior *s, const char *query,
                           struct query_answer *out, struct buf *err);
    /* Structure i of the table, most probable first; returns their number. */
    size_t (*row)(const struct structure_posterior *s, size_t i, const char **text,
                  struct query_answer *out);
};
struct structure_posterior *structure_posterior_of(value v); /* NULL for other values */

/* The last kernel assumed, borrowed; NIL without one. */
value query_kernel(const struct trace *t);

/* Keeps v for a later prob(QUERY) without draws, if v holds kernels or structures. */
void query_note(struct infer_state *x, value v);
value query_noted(const struct infer_state *x); /* borrowed, or NIL */
#endif
