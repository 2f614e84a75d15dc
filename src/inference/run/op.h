/* SPDX-License-Identifier: Apache-2.0
 *
 * The row that makes an inference operator, and its index (infer_index.c). infer_steps and
 * infer_each stand in target.c. */
#ifndef INFER_OP_H
#define INFER_OP_H
#include "runtime/trace/trace.h"

struct infer_state;
struct action;
struct step;
enum {
    OP_PLAIN = 1,      /* runs at once and gives a value; other operators build an action */
    OP_VALUE = 2,      /* the name is bound to the action itself, without arguments: pass */
    OP_OPEN = 4,       /* may run while part of the model is detached */
    OP_STEPS = 8,      /* changes the model only by infer_transitions and moves (move.h) */
    OP_EXACT = 16,     /* value from its arguments, or independent of the model's choices */
    OP_SHARED = 32,    /* accepts traces that share layers; others get whole ones */
    OP_ATOMIC = 64,    /* a failure leaves the model unchanged: needs no guard on its own */
    OP_COMBINES = 128, /* only runs other actions, which are guarded themselves */
    OP_RESUMES = 256,  /* begins with a place (runtime/core/waypoint.h), as transitions do */
    OP_MOVES = 512     /* without OP_STEPS: leaves choices that are no longer draws of the prior */
};
typedef enum gpm_status op_fn(struct infer_state *x, const struct action *a, value *out);
struct infer_op {
    const char *name, *sig, *doc, *example;
    unsigned flags;
    op_fn *run; /* *out is NIL before; the signature has checked the arguments */
    int how;    /* distinguishes rows that share a function */
    /* For (scope: target, block?: block, extras..., transitions?: count): */
    const char *block;   /* default */
    size_t n_extra;      /* arguments between block and transitions */
    double extra[2];     /* defaults */
    const char *counted; /* what the last extra counts, at least 1; NULL: not a count */
    enum { NEEDS_ANY, NEEDS_CONTINUOUS, NEEDS_ONE_CONTINUOUS, NEEDS_DISCRETE } needs;
    unsigned touches; /* enum sp_touch */
    bool steps_last;  /* a single number after the block is the transitions: nuts(s, b, 100) */
    /* With run = infer_steps: one transition. With run = infer_each: the value in one particle; nil
     * in all particles means no result. */
    enum gpm_status (*step)(struct step *s);
    enum gpm_status (*each)(struct infer_state *x, const struct action *a, struct trace *t,
                            value *out);
};
op_fn infer_steps, infer_each;
/* Initialisers of such rows. */
#define STEPS(fn, default_) .flags = OP_STEPS, .run = infer_steps, .step = fn, .block = default_
#define EACH(fn)            .run = infer_each, .each = fn
/* The row as a procedure class, for signatures, keywords and help; for the index. */
extern const struct infer_op *const infer_families[]; /* front/rows.c; ends with NULL */
size_t sp_operator_make(const struct sp_class **rows);
/* The operator of a class, or NULL. */
static inline const struct infer_op *infer_op_of(const struct sp_class *cls) {
    return cls->flags & SP_INFERENCE_ONLY ? cls->of : NULL;
}
op_fn op_pass; /* does nothing */
#endif
