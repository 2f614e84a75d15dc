/* SPDX-License-Identifier: Apache-2.0
 *
 * Pure procedures: compound procedures that draw nothing, keep nothing and call nothing but such
 * procedures and plain rows. Their values follow from their arguments and from the nodes that they
 * read by name, so a trace may hold a whole call, however deep it recurses, as one application.
 * They run as code on registers: no frames, no names to look up.
 *
 * The code of a procedure's text is made once (pure_text.c) and kept with the text. What its names
 * stand for depends on the model that asks; it is found when the procedure is first called in one,
 * and found anew when names of the model or of the program have changed (core_names_change).
 */
#ifndef CORE_PURE_H
#define CORE_PURE_H
#include "runtime/core/core.h"

/* An operand is a register, or ~i for name i. */
enum pure_op_code { PURE_APPLY, PURE_TAIL, PURE_UNLESS, PURE_JUMP, PURE_MOVE, PURE_RETURN };
struct pure_op {
    uint8_t code, n;      /* n: operands of APPLY and TAIL */
    uint16_t out;         /* register of the result */
    uint32_t at;          /* APPLY, TAIL: first operand in `operands`; jumps: where to */
    int32_t of;           /* APPLY, TAIL: number of the name that is called; else the operand */
    const struct ast *by; /* the expression, for messages */
};
struct pure_name {
    const struct ast *a; /* a name, a literal or a spliced value */
    int inner;           /* frames that the procedure has opened around it */
    bool called, passed; /* as the operator; as a value that is handed on as it is */
};
/* The code of one lambda; without operations: it is not pure, whatever its names stand for. */
struct pure_text {
    VEC(struct pure_op) ops;
    VEC(int32_t) operands;
    VEC(struct pure_name) names;
    uint32_t n_registers; /* parameters first */
};
struct pure_text *pure_text_of(const struct ast *lambda); /* kept with its code */
void pure_text_free(struct pure_text *x);

/* A procedure linked to the names of a model. */
struct pure;
void pure_free(struct pure *p);
/* NULL: c is not pure there, or does not call itself by any way: what need not recurse is better
 * taken apart. Valid until names change. */
struct pure *pure_of(struct session_core *core, struct world *w, struct closure *c);
/* Does a condition depend on argument i? May the value be that argument as it is? */
bool pure_decides(const struct pure *p, size_t i);
bool pure_passes(const struct pure *p, size_t i);
/* Nodes that change, which it reads by name. */
struct cell *const *pure_reads(const struct pure *p, size_t *n);
enum gpm_status pure_call(struct session_core *core, struct world *w, struct pure *p,
                          const value *args, struct span at, value *out) GPM_MUST_USE;
#endif
