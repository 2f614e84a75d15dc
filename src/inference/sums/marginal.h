/* SPDX-License-Identifier: Apache-2.0
 *
 * Inside inference/: moves of choices with discrete choices summed out. The scaffold covers both.
 * Its weight is a sum of factors (trace.h), each of which depends on few summed choices, so one
 * evaluation gives the factors of many of them:
 *
 * Choices that share a factor get different colours. The model is evaluated once for every
 * assignment of values to colours, which fills the table of every factor. Independent choices need
 * one colour, so K evaluations for K values; a chain needs two, K^2.
 *
 * If nothing but values changes, a flat with separate densities evaluates the runs and their
 * gradients. Otherwise, and at points the flat cannot evaluate, the scaffold does. The tables are
 * summed by elimination (elimination.h). The gradient of the sum is the mean of the factors'
 * gradients under the conditional distribution of the summed choices.
 *
 * Closing a move draws the summed choices from their conditional distribution given the rest. So
 * the state is again one of the joint distribution. */
#ifndef INFER_MARGINAL_H
#define INFER_MARGINAL_H
#include "runtime/flat/flat.h"
#include "inference/run/infer.h"

struct marginal;
value *marginal_scope(const struct infer_state *x); /* scope of the summed choices; NIL: none */
/* The choices of t to be summed out now (mem_free at); possibly an empty set. */
enum gpm_status marginal_choices(struct infer_state *x, struct trace *t,
                                 struct node_set *out) GPM_MUST_USE;
/* Detaches the scaffold of the first n_moved principals and the summed ones. parts: NULL, or an
 * open flat of the same principals. *weight: of the current values. After a failure the scaffold is
 * gone and the state restored. */
enum gpm_status marginal_open(struct infer_state *x, struct trace *t, struct scaffold *s,
                              size_t n_moved, struct flat *parts, struct marginal **out,
                              double *weight) GPM_MUST_USE;
/* The log weight of these values of the moved choices; grads as in move_build. */
enum gpm_status marginal_build(struct marginal *m, const value *vals, double *weight,
                               value *grads) GPM_MUST_USE;
/* Draws the summed choices given the last built values (keep) or the old ones; frees m. */
void marginal_close(struct marginal *m, bool keep);
#endif
