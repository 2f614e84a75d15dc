/* SPDX-License-Identifier: Apache-2.0
 *
 * Inference inside models. run(a) in a model expression is inference in models of its own. The run
 * may read names of the enclosing model, and its value then depends on those.
 *
 * Depth: the session's own models have depth 0. Models made by a run inside a model of depth d have
 * depth d + 1. Frames store the depth of their nodes' model (frame.h). A node met in evaluation
 * belongs to the current model or to an enclosing one; in that case `read` is called. */
#ifndef CORE_NEST_H
#define CORE_NEST_H
#include "runtime/core/core.h"

/* A run inside a model, while it is active. */
struct nest {
    struct nest *outer;  /* the enclosing run, or NULL */
    struct world *world; /* the model whose expression contains it */
    uint16_t depth;      /* depth of that model */
    uint64_t number;     /* unique in the session; models store the number of their run */
    uint64_t stream;     /* seed of its random numbers */
    bool drawn;          /* its value depends on random numbers */
    /* Called before the run reads a node of the model: brings the node up to date and makes the
     * run's value depend on it. NULL: the caller knows the dependencies. */
    enum gpm_status (*read)(struct nest *n, struct cell *node);
    /* Calls a memoized procedure of the model; the family belongs to the model. */
    enum gpm_status (*memo)(struct nest *n, struct memo_proc *m, value key, struct span at,
                            value *out);
};

/* 1 + depth of the models now being worked on. */
static inline uint16_t nest_level(const struct session_core *core) {
    return core->nest ? (uint16_t)(core->nest->depth + 2) : 1;
}
/* The model of this depth: w (the current one), or the model of an enclosing run. */
struct world *nest_world(struct session_core *core, struct world *w, int depth);
/* Reads a node of the enclosing model at `depth`, by this name. */
enum gpm_status nest_read(struct session_core *core, int depth, struct cell *node,
                          const struct ast *name) GPM_MUST_USE;
/* The run whose model owns a memoized procedure; NULL if it belongs to no enclosing model. */
struct nest *nest_of_memo(struct session_core *core, const struct memo_proc *m);
/* Suspends a run while the enclosing model computes something for it. Between the two calls the
 * state is as if the run had not begun. */
struct nest_pause {
    struct nest *nest;
    struct world *model;
};
struct nest_pause nest_pause(struct session_core *core, struct nest *n);
void nest_resume(struct session_core *core, struct nest_pause p);
#endif
