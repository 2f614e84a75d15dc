/* SPDX-License-Identifier: Apache-2.0
 *
 * All known values of an expensive function, in memory and, with store=, in a file shared with
 * other processes (io/store/memo.h). Missing points of one call are evaluated in parallel. A value
 * is stored durably before use. A failure is recorded and raised, and is never a value.
 * Deterministic functions only: the value at an input never changes. */
#ifndef SOURCE_EVALUATIONS_H
#define SOURCE_EVALUATIONS_H
#include "language/rows/protocol/sp.h"

/* A procedure that evaluates f at most once per input. f: a source function, or any procedure if
 * store names a file. dim: of the inputs, 0 if unknown. NIL after sp_error. */
extern const struct sp_state_class evaluations_state;
value evaluations_value(struct sp_call *c, value f, const char *store, int dim);
struct evaluations;
struct evaluations *evaluations_of(value v); /* borrowed; NULL for other values */
/* Ensures that the n points (contiguous, dim numbers each) are known. */
enum gpm_status evaluations_fetch(struct sp_call *c, struct evaluations *e, const double *x,
                                  size_t n, int dim) GPM_MUST_USE;
#endif
