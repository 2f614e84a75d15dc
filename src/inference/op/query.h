/* SPDX-License-Identifier: Apache-2.0
 *
 * Answers to questions about structures: the probability that a query (gp/kernel/kern_query.h)
 * holds, from draws of kernels or from a posterior over structures that knows its own error.
 */
#ifndef INFER_QUERY_H
#define INFER_QUERY_H
#include "inference/run/infer.h"

/* error: half-width of a 99% interval; ess: effective number of draws behind it. */
struct query_answer {
    double probability, error, ess;
};

/* A posterior over structures as a value; what it holds is its maker's, whose class of boxes has
 * the name STRUCTURE_POSTERIOR. */
#define STRUCTURE_POSTERIOR "posterior over structures"
struct structure_posterior {
    struct box box;
    /* GPM_E_FORMAT with a message: the query cannot be read. */
    enum gpm_status (*ask)(const struct structure_posterior *s, const char *query,
                           struct query_answer *out, struct buf *err);
    /* Structure i of the table, most probable first; how many there are. */
    size_t (*row)(const struct structure_posterior *s, size_t i, const char **text,
                  struct query_answer *out);
};
struct structure_posterior *structure_posterior_of(value v); /* NULL: something else */

/* The kernel that was assumed last, borrowed; NIL: there is none. */
value query_kernel(const struct trace *t);

/* What prob(QUERY) without draws reads: keeps v when it holds kernels or structures. */
void query_note(struct infer_state *x, value v);
value query_noted(const struct infer_state *x); /* borrowed; NIL: nothing */
#endif
