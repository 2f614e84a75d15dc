/* SPDX-License-Identifier: Apache-2.0
 *
 * Actions: inference programs as values (action.c). */
#ifndef INFER_ACTION_H
#define INFER_ACTION_H
#include "inference/run/op.h"

/* Actions. */
enum action_kind { ACTION_OP, ACTION_BLOCK, ACTION_DIRECTIVE, ACTION_EVAL };
struct action {
    struct box box;
    enum action_kind kind;
    struct span at;
    const struct infer_op *op;
    value *args; /* ACTION_OP; owned (borrowed while an OP_PLAIN runs) */
    size_t n;
    const struct ast *ast;  /* other kinds */
    struct frame *frame;    /* ACTION_BLOCK, ACTION_EVAL: frame around it; counted */
    struct frame **splices; /* ACTION_DIRECTIVE: one per model expression; counted */
    size_t n_splices;
    value val;   /* observe, force: the value; infer: the action */
    value label; /* computed label, or NIL */
    value name;  /* computed name of assume, or NIL */
};
extern const struct box_class action_class;
struct action *action_of(value v); /* NULL for other values */
/* Argument i of an operator; ABSENT if left out. */
static inline value action_arg(const struct action *a, size_t i) {
    return i < a->n ? a->args[i] : ABSENT;
}
/* Reads argument i, a count by the signature, if given; an error above `most`. */
enum gpm_status action_count(struct infer_state *x, const struct action *a, size_t i,
                             const char *name, double most, size_t *out);
bool action_named(value v); /* is it bound to a name (OP_VALUE)? */
enum gpm_status action_make_op(struct session_core *core, const struct sp_class *cls,
                               const value *args, size_t n, struct span at, value *out);
enum gpm_status action_make(struct session_core *core, const struct ast *a, struct frame *f,
                            value *out);
/* Runs an action value; DIAG_NOT_ACTION otherwise. */
enum gpm_status action_run(struct session_core *core, value v, struct span at,
                           value *out) GPM_MUST_USE;
/* The label given by a symbol, a string or a number. */
enum gpm_status infer_label(struct infer_state *x, value v, struct sym **out) GPM_MUST_USE;
enum gpm_status infer_not_action(struct diags *d, value v, struct span at);
#endif
