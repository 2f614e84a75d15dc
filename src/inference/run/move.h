/* SPDX-License-Identifier: Apache-2.0
 *
 * Inside infer/: moves of a block to given values, by the compiled form where there is one (flat),
 * else through a scaffold that is detached while the move is open. Every operator that proposes
 * values goes through here, so the way taken changes speed alone; and so does the guard: a scaffold
 * is opened only after the model is safe.
 */
#ifndef INFER_MOVE_H
#define INFER_MOVE_H
#include "inference/run/infer.h"

/* Exactly one of flat and s is there from move_find on. A flat gives way to a scaffold at a point
 * that it cannot judge, and is asked again for a later one: a trajectory of a thousand points that
 * meets one domain error is not worth a thousand general evaluations. After move_generally there is
 * a scaffold to the end. Both NULL: the move ended in an error and the trace is as it was. */
struct move {
    struct infer_state *x;
    struct trace *t;
    struct flat *flat;  /* the trace is left alone until the move is kept */
    struct scaffold *s; /* else: detached */
    /* s is that of the principals and of the choices to be summed out, in this order: weights are
     * marginal ones, and closing draws the summed choices given the rest (marginal.h) */
    size_t n_summed;
    struct marginal *sum;          /* from open on */
    struct flat *parts;            /* of the same principals, or NULL */
    const struct placing *placing; /* borrowed, or NULL */
    bool built;                    /* flat: a state was proposed that can be kept */
    unsigned left; /* times in a row that the flat could judge no point; 0 with a scaffold: it is
                      not asked again */
    unsigned wait; /* points until it is asked again */
    double w_old;  /* log weight of the state that stands, the principals' densities included */
};

/* Finds the way to move the block; nothing changes yet. */
enum gpm_status move_find(struct step *s, struct move *m) GPM_MUST_USE;
void move_forget(struct move *m); /* found but never opened */
/* Takes the block out; w_old is known. A move that cannot be opened is gone. */
enum gpm_status move_open(struct move *m) GPM_MUST_USE;
/* From here on through a scaffold: what the principals could be is asked of them while they are
 * out. */
enum gpm_status move_generally(struct move *m) GPM_MUST_USE;
/* After open: from here to the end values are given for principals to be placed (trace.h). Not for
 * moves with summed choices. */
enum gpm_status move_set_placing(struct move *m, const struct placing *p) GPM_MUST_USE;
size_t move_n(const struct move *m); /* principals; one inside another's brush is none */
struct node *move_principal(const struct move *m, size_t i);
value move_old_value(const struct move *m, size_t i);  /* borrowed */
bool move_args_change(const struct move *m, size_t i); /* operands of i with the others */
bool move_has_brush(const struct move *m);
/* What evaluates anew whenever the block changes, or NULL. */
struct node *move_rebuilds(const struct move *m);
/* Log weight of the given values, or under NULL of values drawn from the prior, whose own densities
 * are then left out; the state stays built until it is dropped or the next one is. -inf where the
 * model cannot be evaluated. grads: NULL, or one owned adjoint per principal. */
enum gpm_status move_build(struct move *m, const value *vals, double *weight,
                           value *grads) GPM_MUST_USE;
/* The same for principals made of n numbers in all, by a flat alone, without a value being made:
 * their gradient into grad, NULL: not wanted. False: move_build must judge. */
bool move_numbers(struct move *m, size_t n, const double *x, double *weight,
                  double *grad) GPM_MUST_USE;
#ifdef GPMEM_CHECKS
/* Every sixteenth point that a flat judged is evaluated by the general way, too. */
enum gpm_status move_check(struct move *m, const value *vals, double weight,
                           const value *grads) GPM_MUST_USE;
#endif
bool move_built(const struct move *m);            /* a state stands that can be kept */
value move_value(const struct move *m, size_t i); /* what was built; borrowed */
void move_drop(struct move *m);                   /* back to where nothing is built */
void move_close(struct move *m, bool keep);
/* For what needs a scaffold of its own. */
struct scaffold *move_scaffold(struct step *s);
/* A Metropolis-Hastings step from the prior. */
step_fn move_mh;
#endif
