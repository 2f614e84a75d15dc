/* SPDX-License-Identifier: Apache-2.0
 *
 * Inside inference/: moves of a block to given values. A move uses a flat (compiled form) if
 * possible, else a scaffold that is detached while the move is open. All operators that propose
 * values go through here, so the choice only affects speed. The guard is handled here, too: a
 * scaffold is opened only once the model is protected. */
#ifndef INFER_MOVE_H
#define INFER_MOVE_H
#include "inference/run/infer.h"

/* Exactly one of flat and s is set after move_find. At a point it cannot evaluate, a flat gives way
 * to a scaffold, and it is tried again later. So one domain error in a trajectory of a thousand
 * points does not make the other points slow. After move_generally the scaffold stays until the
 * end. If both are NULL the move ended in an error and the trace is unchanged. */
struct move {
    struct infer_state *x;
    struct trace *t;
    struct flat *flat;  /* leaves the trace unchanged until the move is kept */
    struct scaffold *s; /* otherwise: a detached scaffold */
    /* If n_summed > 0, s covers the principals followed by the choices to be summed out. Weights
     * are then marginal, and closing draws the summed choices given the rest (marginal.h). */
    size_t n_summed;
    struct marginal *sum;          /* set by open */
    struct flat *parts;            /* a flat of the same principals, or NULL */
    const struct placing *placing; /* borrowed, or NULL */
    bool built;                    /* flat: a state that can be kept is proposed */
    unsigned left; /* consecutive times the flat failed to evaluate a point; 0 with a scaffold: the
                      flat is not tried again */
    unsigned wait; /* points until the flat is tried again */
    double w_old;  /* log weight of the current state, with the principals' own densities */
};

/* Chooses flat or scaffold for the block; changes nothing yet. */
enum gpm_status move_find(struct step *s, struct move *m) GPM_MUST_USE;
void move_forget(struct move *m); /* for a move never opened */
/* Takes the block out; w_old is then known. If opening fails the move is gone. */
enum gpm_status move_open(struct move *m) GPM_MUST_USE;
/* Uses a scaffold from here on, for questions about the principals that need them detached. */
enum gpm_status move_generally(struct move *m) GPM_MUST_USE;
/* After open: from here on, values given for principals are placed (trace.h). Not with summed
 * choices. */
enum gpm_status move_set_placing(struct move *m, const struct placing *p) GPM_MUST_USE;
size_t move_n(const struct move *m); /* principals; not those in another's brush */
struct node *move_principal(const struct move *m, size_t i);
value move_old_value(const struct move *m, size_t i);  /* borrowed */
bool move_args_change(const struct move *m, size_t i); /* do others change operands of i? */
bool move_has_brush(const struct move *m);
/* A node that is evaluated again whenever the block changes, or NULL. */
struct node *move_rebuilds(const struct move *m);
/* Log weight of the given values. If vals is NULL, values are drawn from the prior and their own
 * densities left out. The state stays built until dropped or replaced. -inf if the model cannot be
 * evaluated. grads: NULL, or one owned adjoint per principal. */
enum gpm_status move_build(struct move *m, const value *vals, double *weight,
                           value *grads) GPM_MUST_USE;
/* The same for principals with n numbers in all, by a flat alone and without allocating values.
 * grad: NULL, or receives the gradient. False: call move_build instead. */
bool move_numbers(struct move *m, size_t n, const double *x, double *weight,
                  double *grad) GPM_MUST_USE;
#ifdef GPMEM_CHECKS
/* Test builds: evaluates every sixteenth point of a flat through a scaffold, too. */
enum gpm_status move_check(struct move *m, const value *vals, double weight,
                           const value *grads) GPM_MUST_USE;
#endif
bool move_built(const struct move *m);            /* a state is built that can be kept */
value move_value(const struct move *m, size_t i); /* what was built; borrowed */
void move_drop(struct move *m);                   /* back to no state built */
void move_close(struct move *m, bool keep);
/* For operators that need their own scaffold. */
struct scaffold *move_scaffold(struct step *s);
/* A Metropolis-Hastings step from the prior. */
step_fn move_mh;
#endif
