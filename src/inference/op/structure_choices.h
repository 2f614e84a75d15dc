/* SPDX-License-Identifier: Apache-2.0
 *
 * The choices of a structure and its parameters, for moves (op_structure.c) and for the search
 * (apps/discover/program_space.c) over grammars written as programs. */
#ifndef INFER_STRUCTURE_CHOICES_H
#define INFER_STRUCTURE_CHOICES_H
#include "inference/hmc/laplace_fit.h"

/* All choices of a scope in evaluation order; mem_free out->at. */
enum gpm_status choices_in_order(struct infer_state *x, struct trace *t, value scope,
                                 struct node_set *out) GPM_MUST_USE;
/* The continuous ones among them, the parameters of a structure. */
enum gpm_status parameters_in_order(struct infer_state *x, struct trace *t, value scope,
                                    struct node_set *out) GPM_MUST_USE;
/* A copy with its own random stream. */
struct trace *trace_copy(struct trace *t);
#endif
