/* SPDX-License-Identifier: Apache-2.0
 *
 * Flats: the log weight of a set of choices (its principals) as straight-line code.
 *
 * If nothing but values changes with the principals (no new requests, no brush, no moving
 * observation), their scaffold is compiled once: principals and deterministic nodes in evaluation
 * order, then what absorbs the change. Running a flat searches nothing, and on numbers allocates
 * nothing. Rows with numeric forms run on doubles; other deterministic rows, densities and makers
 * run on values. So the forms a row offers decide its speed, never whether the block compiles.
 *
 *     Invariant: the trace is up to date except for flats that are AHEAD.
 *
 * The trace lists flats that are ahead. Everything but flats calls trace_settle before reading.
 *
 * Keeping a proposal writes principals, results and shared densities into their nodes at once. Two
 * things are left to trace_settle, so that single steps touch little memory: copies at nodes that
 * only pass a value on (tags, branches, calls; operands of flats refer past them), and densities of
 * observations that the flat owns (those that depend on its one principal alone). trace_settle
 * begins a new epoch, in which flats read their owned observations again. Only a change of the
 * structure that a flat rests on requires recompiling it (stale.c).
 *
 * Flats are found and compiled by form.c and build.c, run by flat_run.c, told apart by
 * flat_parts.c; flat_place.c places values.
 *
 * A proposal: flat_open, then flat_propose any number of times, then flat_keep, or flat_drop to
 * leave the trace unchanged. Between open and the end nothing else may touch the trace. */
#ifndef FLAT_FLAT_H
#define FLAT_FLAT_H
#include "runtime/trace/proposal.h"

struct flat;

/* The flat of these principals, compiled on first use; NULL if a scaffold is needed. The trace owns
 * it until the structure that it rests on changes. */
struct flat *flat_of(struct trace *t, struct node *const *principals, size_t n);
size_t flat_n_principals(const struct flat *f);
struct node *flat_principal(const struct flat *f, size_t i);
bool flat_args_change(const struct flat *f, size_t i); /* do the other principals change them? */

/* Reads the inputs, which the principals do not change. *weight: log weight of the current state,
 * like scaffold_detach under SCAFFOLD_FIXED (the principals' own densities included). False if only
 * a scaffold can evaluate this state. */
bool flat_open(struct trace *t, struct flat *f, double *weight) GPM_MUST_USE;
/* Log weight of the given values, one per principal. If vals is NULL, values are drawn from the
 * prior and their own densities left out. grads, unless NULL, receives the gradient in the
 * principals, one owned adjoint each. Weight -inf means the point is impossible. False means this
 * point must be evaluated through a scaffold; nothing has changed then, not even the random
 * numbers. */
bool flat_propose(struct trace *t, struct flat *f, const value *vals, double *weight,
                  value *grads) GPM_MUST_USE;
/* The same for principals made of numbers only. x and grad hold the numbers of all principals one
 * after the other. flat_n_numbers is their total count; 0: some principals are not numeric.
 * Allocates nothing. */
bool flat_propose_numbers(struct trace *t, struct flat *f, const double *x, double *weight,
                          double *grad) GPM_MUST_USE;
size_t flat_n_numbers(const struct flat *f);
/* From now on values given for principals are placed (trace.h); NULL ends that. Only if
 * flat_n_numbers is not 0. */
void flat_set_placing(struct flat *f, const struct placing *p);
value flat_proposed(const struct flat *f, size_t i); /* the proposed value; borrowed */
void flat_keep(struct trace *t, struct flat *f);
void flat_drop(struct trace *t, struct flat *f);

/* ---- separate densities ----
 *
 * For sums over some of the principals: a flat of at least two numeric principals that reports its
 * densities one by one. After opening it stays valid until the structure changes, even if these
 * choices change in between. */
struct flat *flat_of_parts(struct trace *t, struct node *const *principals, size_t n);
size_t flat_n_parts(const struct flat *f);
struct node *flat_part(const struct flat *f, size_t i); /* the node with that density */
/* The log density of each part at these numbers; it may be -inf. False: a scaffold is needed. */
bool flat_weigh_parts(struct trace *t, struct flat *f, const double *x, double *logp) GPM_MUST_USE;
/* grad += the gradient of sum_i shares[i] * part i. Parts with share 0 may be -inf. */
bool flat_add_gradient(struct trace *t, struct flat *f, const double *x, const double *shares,
                       double *grad) GPM_MUST_USE;

/* One Metropolis-Hastings step of the principals from their prior. *done is false if there is no
 * flat or it cannot evaluate the step; nothing has changed then. */
enum gpm_status flat_mh(struct trace *t, struct node *const *principals, size_t n, bool *done,
                        bool *accepted) GPM_MUST_USE;

#ifdef GPMEM_CHECKS
/* Compares with a scaffold (flat_check.c): the weight of the given values and, unless NULL, its
 * gradient. No flat or scaffold may be open. */
enum gpm_status flat_check(struct trace *t, const struct flat *f, const value *vals, double weight,
                           const value *grads) GPM_MUST_USE;
#endif

/* Prefetches memory for coming steps in stages, each of which needs the previous one to have
 * arrived: the node of a choice some steps ahead, the flat of a closer one, the nodes of the
 * closest one's flat. */
void flat_prefetch(const struct node *far, const struct node *middle, const struct node *near);
#endif
