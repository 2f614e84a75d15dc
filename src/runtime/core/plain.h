/* SPDX-License-Identifier: Apache-2.0
 *
 * The untraced evaluator: inference programs and `define`s. Results are owned. An error leaves no
 * result and has raised a diagnostic. Frames are borrowed from the caller. */
#ifndef CORE_PLAIN_H
#define CORE_PLAIN_H
#include "runtime/core/core.h"

enum gpm_status plain_eval(struct session_core *core, const struct ast *a, struct frame *f,
                           value *out) GPM_MUST_USE;
/* What needs no code: a literal, a name, what the frame decides about. */
enum gpm_status plain_leaf(struct session_core *core, const struct ast *a, struct frame *f,
                           value *out) GPM_MUST_USE;
/* run(a) in a procedure of a model that a row calls for its value. */
enum gpm_status plain_run_nested(struct session_core *core, const struct ast *call, struct frame *f,
                                 value *out) GPM_MUST_USE;
/* A reference to a node has the value the node has now. */
value plain_deref(value v);
/* The log density of v as a value of the procedure. */
enum gpm_status plain_density(struct session_core *core, value proc, const value *args, size_t n,
                              value v, struct span at, double *out) GPM_MUST_USE;
enum gpm_status plain_apply(struct session_core *core, value proc, const value *args, size_t n,
                            struct span at, value *out) GPM_MUST_USE;
/* A let form; fills its slots in f. */
enum gpm_status plain_let(struct session_core *core, const struct ast *s,
                          struct frame *f) GPM_MUST_USE;
/* The splice frame of a model expression: its unquotes, evaluated now in `f`. Counted. */
enum gpm_status plain_splice(struct session_core *core, const struct ast *model, struct frame *f,
                             struct frame **out) GPM_MUST_USE;
/* A block of actions. Each statement is evaluated to an action; all but the last are run. *last:
 * the last action, owned, and its place. */
enum gpm_status plain_block(struct session_core *core, const struct ast *block, struct frame *f,
                            value *last, struct span *at) GPM_MUST_USE;
/* Frees frames kept only by cycles (cycles.c); call only while no model is being changed.
 * core_collect does so when it is due. */
void frames_collect(struct session_core *core);
static inline void core_collect(struct session_core *core) {
    if (core->frames_made >= core->collect_at && !core->model) frames_collect(core);
}
void frame_clear(struct frame *f); /* drops the values */
/* At the end of a session: frees all frames. */
void frames_free_all(struct session_core *core);
#endif
