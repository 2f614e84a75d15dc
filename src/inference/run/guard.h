/* SPDX-License-Identifier: Apache-2.0
 *
 * Guards: a failed instruction leaves the model as it was, but for transitions (guard.c). */
#ifndef INFER_GUARD_H
#define INFER_GUARD_H
#include "inference/run/model.h"

struct infer_state;
/* Protects the model while an instruction runs, so that a failure half way can be undone
 * (guard.c). */
enum guard_state {
    GUARD_FRESH, /* nothing has happened yet */
    GUARD_WHOLE, /* the same, and the next action is the whole instruction */
    GUARD_MOVED, /* only transitions have changed the model */
    GUARD_COPY   /* any change is possible: `copy` holds the old particles */
};
struct guard {
    enum guard_state state;
    struct model *model; /* the protected model, counted, or NULL */
    particles copy;
    struct rng rng; /* the session's generator at that time */
};

/* Guards (guard.c). Functions that can fail do so when memory is short. */
void guard_begin(struct infer_state *x);
void guard_whole(struct infer_state *x, bool whole); /* the next action is the whole instruction */
void guard_moved(struct infer_state *x);             /* before transitions */
/* Call before an action. changes: it changes the model by more than transitions. An action that is
 * the whole instruction needs no copy. share: it accepts traces that share layers, so the copy may
 * share them. */
enum gpm_status guard_action(struct infer_state *x, bool changes, bool share) GPM_MUST_USE;
/* Call before a directive that constrains existing choices; it can fail on one particle after
 * succeeding on others. */
enum gpm_status guard_particles(struct infer_state *x) GPM_MUST_USE;
void guard_end(struct infer_state *x, bool ok); /* not ok: restores the old state */
#endif
