/* SPDX-License-Identifier: Apache-2.0
 *
 * Targets: the choices that an operator was asked for, and the one loop over particles, blocks and
 * transitions (target.c). */
#ifndef INFER_TARGET_H
#define INFER_TARGET_H
#include "inference/run/action.h"
#include "runtime/trace/scopes.h"

struct mh_extra;
struct subproblem;
/* The target of an operator of the common form. */
struct target {
    const struct infer_op *op; /* NULL: not from a row */
    value scope, block;        /* borrowed; for a selection: the name of its statistics, and NIL */
    const struct subproblem *sub; /* borrowed; NULL: scope and block suffice */
    double transitions;
    value extra[2]; /* borrowed; numbers default to the row's values */
    bool again;     /* the model is unchanged since this target's last transition */
};
/* One transition on the block of a scope, or on a subproblem in place of the scope. */
struct target infer_aim(struct infer_state *x, value scope, value block);
enum gpm_status infer_target(struct infer_state *x, const struct action *a,
                             struct target *out) GPM_MUST_USE;

/* The symbol called `name`, as a value. */
value infer_name(struct infer_state *x, const char *name);

/* One transition on one set of principals. */
struct step {
    struct infer_state *x;
    struct trace *t;
    struct node **at; /* principals, at least one */
    size_t n;
    const struct mh_extra *extra; /* NULL unless the block was picked at random */
    const struct target *g;
    void *ctx;
    bool again;      /* the same step was made before, with nothing in between */
    bool redraws;    /* may redraw values of random functions (scaffold_build_redrawing) */
    bool marginal;   /* may sum out choices named by marginalize (move.h) */
    double log_pick; /* of the old state, set by step_begin */
    bool accepted;   /* initially false */
};
typedef enum gpm_status step_fn(struct step *s);
/* Notes log P(block | x) before anything is taken out. Moves and scaffolds (move.h) call it. */
void step_begin(struct step *s);
/* The Metropolis-Hastings rule (mh_accept) for the new state just built, with
 *
 *     log alpha = w_new - w_old + log_q + log P(block | x') - log P(block | x)
 *
 * log_q = log q(x' -> x) - log q(x -> x') of the proposal within the block. */
bool step_accept(const struct step *s, double w_old, double w_new, double log_q);
/* For every particle, `transitions` times: picks the block or blocks the target names and calls
 * fn. */
enum gpm_status infer_transitions(struct infer_state *x, const struct target *g, step_fn *fn,
                                  void *ctx) GPM_MUST_USE;
struct node_set {
    struct node **at;
    size_t n;
};
typedef VEC(struct node_set) node_sets;
/* The choices a target currently names, one set per block in order (pgibbs). Free with
 * node_sets_free, also after a failure. */
enum gpm_status infer_target_sets(struct infer_state *x, struct trace *t, const struct target *g,
                                  node_sets *out) GPM_MUST_USE;
void node_sets_free(node_sets *sets);
void node_set_join(struct node_set *a, const struct node_set *b); /* a = union of a and b */
value node_set_values(struct trace *t, const struct node_set *s); /* array of the choices' values */
/* All of them as one set; mem_free out->at, which is NULL on failure. */
enum gpm_status infer_target_all(struct infer_state *x, struct trace *t, const struct target *g,
                                 struct node_set *out) GPM_MUST_USE;

/* Messages of operators and of the check before a run. `have`: the existing scopes or blocks. */
enum gpm_status infer_no_scope(struct diags *d, value scope, struct span at, const value *have,
                               size_t n);
enum gpm_status infer_no_block(struct diags *d, value scope, value block, struct span at,
                               const char *have);
enum gpm_status infer_no_default_block(struct diags *d, value block, struct span at);
/* An operator got choices of the wrong kind, such as one of class cls at `choice`. It is in the
 * scope because a tag reads it at `read`. */
enum gpm_status infer_wrong_kind(struct diags *d, const struct infer_op *op, value scope,
                                 const struct sp_class *cls, struct span choice, struct span read,
                                 struct span at);
/* Adds to an error why the choice is in the scope: a tag reads it there. */
enum gpm_status infer_why_there(struct diags *d, value scope, struct span read);
/* An error that lists the existing scopes; GPM_OK if some tag in the program text names the
 * scope. */
enum gpm_status infer_unknown_scope(struct infer_state *x, struct trace *t,
                                    value scope) GPM_MUST_USE;
/* An error that lists the existing blocks. */
enum gpm_status infer_unknown_block(struct infer_state *x, struct scope *s,
                                    value block) GPM_MUST_USE;
#endif
