/* SPDX-License-Identifier: Apache-2.0
 *
 * The protocol of calls, for every evaluator: operator and operands are evaluated; keywords say
 * where each operand belongs, and places that none has filled are closed or refused (call_form_of);
 * the source function of a memoizer is wrapped in mem (core_memoizes); the signature checks what
 * stands there (core_check_call); then the row's function runs, and a diagnostic that it raised
 * gets the place of the call (core_place), which rows do not know.
 */
#ifndef CORE_CALL_FORM_H
#define CORE_CALL_FORM_H
#include "runtime/core/core.h"

/* Where the operands of a call stand. With keywords a call is as wide as the signature, so that
 * every parameter has a place; places without an operand are ABSENT. */
struct call_form {
    size_t width, n;       /* places; of those that are applied */
    size_t *order, few[8]; /* the place of operand i; NULL: i */
};
enum gpm_status call_form_of(struct session_core *core, const struct ast *call, value op,
                             struct call_form *form) GPM_MUST_USE; /* on an error nothing is held */
static inline void call_form_release(struct call_form *form) {
    if (form->order != form->few) mem_free(form->order);
}
static inline size_t call_place(const struct call_form *form, size_t i) {
    return form->order ? form->order[i] : i;
}
/* The operator that is meant: outside models map with more than two arguments is an operator's old
 * name. */
value call_operator(struct session_core *core, const struct ast *call, value op_taken,
                    bool in_model);
/* Fills c for a primitive procedure and checks its arguments; the diagnostic is placed at `at`. */
enum gpm_status core_check_call(struct session_core *core, struct sp_call *c, value op,
                                const value *args, size_t n, struct span at) GPM_MUST_USE;
enum gpm_status core_check_args(struct session_core *core, struct sp_call *c, value op,
                                struct span at) GPM_MUST_USE; /* c already filled */
static inline enum sp_special core_special(value op) {        /* of a builtin procedure */
    const struct sp_class *cls = proc_class(op, NULL);
    return cls ? cls->special : SPECIAL_NONE;
}
/* Procedures that look at the call itself, which is done before its operands are evaluated. In a
 * model run(a) does, too: a is evaluated by the run. */
static inline bool call_takes_text(value op) {
    enum sp_special which = core_special(op);
    return which == SPECIAL_ENV || which == SPECIAL_ACTION || which == SPECIAL_RUN;
}
static inline bool call_takes_text_here(const struct session_core *core, enum sp_special which,
                                        const struct ast *call) {
    return which == SPECIAL_ENV || which == SPECIAL_ACTION ||
           (which == SPECIAL_RUN && core->model && call->n == 2 && !core->compiling);
}
enum gpm_status call_not_by_name(struct session_core *core, value op, struct span at);
/* Makers of memoizers wrap their source function in mem, unless a store does that. Position of the
 * store argument, or one that no call has. */
size_t core_store_position(value op);
bool core_memoizes(value source, value store);
#endif
