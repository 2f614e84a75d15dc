/* SPDX-License-Identifier: Apache-2.0
 *
 * Inference inside models: run(a) in a model expression is inference in models of its own. While it
 * runs, names of the model around it can be read, and what is read becomes what its value depends
 * on.
 *
 * Depth: the session's own models have depth 0; models made by a run inside a model of depth d have
 * depth d + 1. Frames say to which depth their nodes belong (frame.h); so a node that evaluation
 * meets belongs to the model at work, or to one around it, which is then told (`read`).
 */
#ifndef CORE_NEST_H
#define CORE_NEST_H
#include "runtime/core/core.h"

/* One run inside a model, while it lasts. */
struct nest {
    struct nest *outer;  /* the run around it, or NULL */
    struct world *world; /* the model in whose expression it stands */
    uint16_t depth;      /* of that model */
    uint64_t number;     /* no other run of the session has it: models know who made them */
    uint64_t stream;     /* its random numbers follow from this one */
    bool drawn;          /* its value depends on random numbers */
    /* The run is about to read a node of the model: brings it up to date, and has the value of the
     * run depend on it. NULL: whoever calls knows what the run depends on. */
    enum gpm_status (*read)(struct nest *n, struct cell *node);
    /* A memoized procedure of the model: its family is the model's. */
    enum gpm_status (*memo)(struct nest *n, struct memo_proc *m, value key, struct span at,
                            value *out);
};

/* 1 + the depth of models that are at work now. */
static inline uint16_t nest_level(const struct session_core *core) {
    return core->nest ? (uint16_t)(core->nest->depth + 2) : 1;
}
/* Where a name leads while runs are nested; core_local and core_global otherwise. w: the model at
 * work, or NULL, the program of a run. *v: borrowed, NULL: unbound; *slot, *cell: where it was
 * found, NULL for the other, both NULL for definitions and for what belongs to a model around. */
enum gpm_status nest_find(struct session_core *core, struct world *w, const struct ast *name,
                          struct frame *f, struct slot **slot, struct cell **cell,
                          const value **v) GPM_MUST_USE;
/* The run whose model a memoized procedure belongs to; NULL: none of those around. */
struct nest *nest_of_memo(struct session_core *core, const struct memo_proc *m);
/* What the model around does for a run is its own business: between the two calls it is as if the
 * run had not begun. */
struct nest_pause {
    struct nest *nest;
    struct world *model;
};
struct nest_pause nest_pause(struct session_core *core, struct nest *n);
void nest_resume(struct session_core *core, struct nest_pause p);
#endif
