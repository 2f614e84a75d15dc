/* SPDX-License-Identifier: Apache-2.0
 *
 * Compiles procedures of the language to code on doubles (language/rows/protocol/numeric.h). It
 * runs them once in the untraced evaluator on marks: values that stand for slots of the code.
 * Builtins that only move values accept marks. Arithmetic on a mark writes an operation and returns
 * the mark of its result. A condition that is a mark evaluates both branches. So everything the
 * evaluator can run (procedures calling each other, lets, maps, recursion whose depth does not
 * depend on an input) can be compiled without a second evaluator. */
#ifndef CORE_COMPILE_H
#define CORE_COMPILE_H
#include "runtime/core/lookup.h"
#include "language/rows/protocol/numeric.h"

/* The host's `numeric` (struct sp_host). */
enum gpm_status compile_numeric(struct sp_host *h, value proc, const value *like, size_t n,
                                size_t n_out, struct numeric **out) GPM_MUST_USE;
/* Discards all compiled procedures. */
void compile_release(struct session_core *core);

/* Hooks of the evaluator while core->compiling. */
bool compile_is_mark(value v);
/* A name was read. The code is valid only while the procedure reads the same values. */
void compile_read(struct session_core *core, const struct ast *name, const struct name_found *x);
/* Application of a builtin; *handled false: the evaluator continues normally. */
enum gpm_status compile_apply(struct session_core *core, value proc, const value *args, size_t n,
                              struct span at, value *out, bool *handled) GPM_MUST_USE;
/* The value of a condition that is a mark, given the values of both branches. */
enum gpm_status compile_select(struct session_core *core, value condition, value yes, value no,
                               struct span at, value *out) GPM_MUST_USE;
#endif
