/* SPDX-License-Identifier: Apache-2.0
 *
 * Inside infer/: moves of choices with discrete ones summed out. The scaffold is that of both; its
 * weight is a sum of factors (trace.h), each of which depends on few of the summed choices, so that
 * one evaluation tells the factors of many of them:
 *
 *     Choices that meet in a factor get different colours. For every assignment of values to
 *     colours the model is evaluated once; that fills the table of every factor. Independent
 *     choices need one colour, so K evaluations for K values; a chain of them two, K^2.
 *
 * Where nothing but values changes, the evaluations and their gradients are those of a flat whose
 * densities are told apart; else, and at points that it cannot judge, they go through the scaffold.
 * The tables are summed by elimination (elimination.h). The gradient of the sum is the mean, under
 * the conditional distribution of the summed choices, of the factors' gradients.
 *
 * When the move is closed the summed choices are drawn from their conditional distribution given
 * the rest, so that the state is one of the joint distribution again.
 */
#ifndef INFER_MARGINAL_H
#define INFER_MARGINAL_H
#include "runtime/flat/flat.h"
#include "inference/run/infer.h"

struct marginal;
value *marginal_scope(const struct infer_state *x); /* of the choices summed out; NIL: none */
/* The choices of t that are to be summed out now (mem_free at): none of the scope, or none there.
 */
enum gpm_status marginal_choices(struct infer_state *x, struct trace *t,
                                 struct node_set *out) GPM_MUST_USE;
/* On the scaffold of the first n_moved principals and the summed ones, which is detached here;
 * parts: NULL, or the flat of the same, open. *weight: of the values that stand. After a failure
 * the scaffold is gone and the state as it was.
 */
enum gpm_status marginal_open(struct infer_state *x, struct trace *t, struct scaffold *s,
                              size_t n_moved, struct flat *parts, struct marginal **out,
                              double *weight) GPM_MUST_USE;
/* The log weight of these values of the moved ones; grads as in move_build. */
enum gpm_status marginal_build(struct marginal *m, const value *vals, double *weight,
                               value *grads) GPM_MUST_USE;
/* Draws the summed choices given the values built last (keep) or the old ones; m is gone. */
void marginal_close(struct marginal *m, bool keep);
#endif
