/* SPDX-License-Identifier: Apache-2.0
 *
 * The choices that make a structure and its parameters, for the moves (op_structure.c) and the
 * search (apps/discover/program_space.c) over the grammars that programs are.
 */
#ifndef INFER_STRUCTURE_CHOICES_H
#define INFER_STRUCTURE_CHOICES_H
#include "inference/hmc/laplace_fit.h"

/* All choices of a scope in the order of evaluation; mem_free out->at. */
enum gpm_status choices_in_order(struct infer_state *x, struct trace *t, value scope,
                                 struct node_set *out) GPM_MUST_USE;
/* Those of them that are continuous: the parameters of a structure. */
enum gpm_status parameters_in_order(struct infer_state *x, struct trace *t, value scope,
                                    struct node_set *out) GPM_MUST_USE;
/* A copy that draws from a stream of its own. */
struct trace *trace_copy(struct trace *t);
#endif
