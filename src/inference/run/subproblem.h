/* SPDX-License-Identifier: Apache-2.0
 *
 * Subproblems: selections of choices, as values (op_select.c; infer_close: op_custom.c). */
#ifndef INFER_SUBPROBLEM_H
#define INFER_SUBPROBLEM_H
#include "inference/run/target.h"

enum sub_kind {
    SUB_SCOPE,
    SUB_TAG,
    SUB_TAG_VALUE,
    SUB_ALL,
    SUB_EXTENT, /* the choices of selection `a` */
    SUB_UNION,
    SUB_INTERSECTION,
    SUB_RANDOM_SINGLE,
    SUB_CHOSEN /* a: numbers of the choices; b: the subproblem they are from */
};
struct subproblem {
    struct box box;
    enum sub_kind kind;
    value a, b; /* scope and block, tag and value, inner subproblems */
};
extern const struct box_class subproblem_class, proposal_class;
value subproblem_new(enum sub_kind kind, value a, value b);
struct subproblem *subproblem_of(value v);
/* The (scope, block) or (subproblem) arguments of an operator as a subproblem. Owned. */
value subproblem_given(struct infer_state *x, const struct action *a);
/* The choices of one live block picked uniformly; for scope default, one choice. */
enum gpm_status infer_pick_block(struct infer_state *x, struct trace *t, value scope,
                                 struct node_set *out) GPM_MUST_USE;
enum gpm_status subproblem_choices(struct infer_state *x, struct trace *t,
                                   const struct subproblem *s, struct node_set *out) GPM_MUST_USE;
/* Choices as a value that a program can hold, by their numbers (seq), which outlive node
 * pointers. */
value subproblem_chosen(struct node **at, size_t n, value from);
/* The choices that a subproblem currently names, as a new subproblem: a random block is picked now.
 * Owned. */
enum gpm_status subproblem_settle(struct infer_state *x, value sub, value *out) GPM_MUST_USE;
/* Ends a pending detach: keeps a regenerated part, or restores one that is still out (an error if
 * `complain`). Called before anything else touches the model. */
enum gpm_status infer_close(struct infer_state *x, bool complain);
#endif
