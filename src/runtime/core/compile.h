/* SPDX-License-Identifier: Apache-2.0
 *
 * Procedures of the language compiled to code on doubles (language/rows/protocol/numeric.h), by
 * running them once in the untraced evaluator on marks: values that stand for a slot of the code.
 * Builtins that move values about see marks as they see anything else; arithmetic on a mark writes
 * an operation and gives the mark of its result; a condition that is a mark evaluates both
 * branches. So whatever the evaluator can run (procedures that call each other, lets, maps,
 * recursion whose depth does not depend on an input) can be compiled, and there is no second
 * evaluator.
 */
#ifndef CORE_COMPILE_H
#define CORE_COMPILE_H
#include "runtime/core/core.h"
#include "language/rows/protocol/numeric.h"

/* The host's `numeric`; see struct sp_host. */
enum gpm_status compile_numeric(struct sp_host *h, value proc, const value *like, size_t n,
                                size_t n_out, struct numeric **out) GPM_MUST_USE;
/* Forgets what is kept of compiled procedures. */
void compile_release(struct session_core *core);

/* Hooks of the evaluator while core->compiling. */
bool compile_is_mark(value v);
/* A name was read: what the procedure closes over decides whether its code is still right. */
void compile_read(struct session_core *core, const struct ast *name, struct frame *f, value v);
/* Application of a builtin; *handled false: the evaluator goes on as always. */
enum gpm_status compile_apply(struct session_core *core, value proc, const value *args, size_t n,
                              struct span at, value *out, bool *handled) GPM_MUST_USE;
/* The value of a condition that is a mark, from those of both branches. */
enum gpm_status compile_select(struct session_core *core, value condition, value yes, value no,
                               struct span at, value *out) GPM_MUST_USE;
#endif
