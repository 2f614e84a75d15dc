/* SPDX-License-Identifier: Apache-2.0
 *
 * Flats: the log weight of a set of choices (its principals) as straight-line code.
 *
 * Where nothing but values changes with the principals (nothing is requested anew, no brush, no
 * observation that moves), their scaffold is compiled once: principals and deterministic nodes in
 * order of evaluation, then what absorbs the change. Running it searches nothing, and on numbers
 * allocates nothing. Rows with numeric forms run on doubles; any other deterministic row, density
 * or maker runs on values, so what a row offers decides its speed, never whether the block
 * compiles.
 *
 *     The invariant: the trace is true except for flats that are AHEAD. The list of those hangs on
 *     the trace, and everything but flats reads the trace after trace_settle.
 *
 * A proposal that is kept writes principals, results and shared densities into their nodes at once.
 * What it leaves for trace_settle, so that single steps touch little memory, is: copies at nodes
 * that only pass a value on (tags, branches, calls; operands of flats refer past them), and the
 * densities of observations that the flat owns (those that depend on its one principal alone).
 * trace_settle begins a new epoch, in which flats look again at what they own; a change of the
 * trace's structure is the one reason to compile again.
 *
 * A proposal: flat_open, then flat_propose any number of times, then flat_keep, or flat_drop to
 * leave everything as it was. Between open and the end nothing else may touch the trace.
 */
#ifndef FLAT_FLAT_H
#define FLAT_FLAT_H
#include "runtime/trace/trace.h"

struct flat;

/* The flat of these principals, compiled when it is first asked for; NULL where the general way (a
 * scaffold) must be taken. It belongs to the trace and lives until its structure changes. */
struct flat *flat_of(struct trace *t, struct node *const *principals, size_t n);
size_t flat_n_principals(const struct flat *f);
struct node *flat_principal(const struct flat *f, size_t i);
bool flat_args_change(const struct flat *f, size_t i); /* with the other principals */

/* Reads what the principals do not change; *weight: log weight of the state that stands, as
 * scaffold_detach under SCAFFOLD_FIXED gives it (the principals' own densities included). False:
 * only the general way can judge this state. */
bool flat_open(struct trace *t, struct flat *f, double *weight) GPM_MUST_USE;
/* Log weight of the given values, one per principal, or under NULL of values drawn from the prior,
 * whose own densities are then left out. grads (NULL: not wanted; else one owned adjoint each):
 * gradient in the principals. -inf is a judgement; false: only the general way can judge this
 * point, and nothing has changed, the stream of random numbers included. */
bool flat_propose(struct trace *t, struct flat *f, const value *vals, double *weight,
                  value *grads) GPM_MUST_USE;
/* The same for principals that are all made of numbers: these, and the gradient in them, one after
 * the other as they stand in the values (flat_n_numbers in all; 0: not all are numbers). Allocates
 * nothing. */
bool flat_propose_numbers(struct trace *t, struct flat *f, const double *x, double *weight,
                          double *grad) GPM_MUST_USE;
size_t flat_n_numbers(const struct flat *f);
/* Values are given for principals to be placed (trace.h) until this is called again with NULL; not
 * where flat_n_numbers is 0. */
void flat_set_placing(struct flat *f, const struct placing *p);
value flat_proposed(const struct flat *f, size_t i); /* the value proposed; borrowed */
void flat_keep(struct trace *t, struct flat *f);
void flat_drop(struct trace *t, struct flat *f);

/* ---- densities apart ----
 *
 * For sums over some of the principals: a flat of two principals or more, all made of numbers,
 * whose densities are told one by one. Opened like others; then, whatever happens to these choices
 * in between, until the structure changes: */
struct flat *flat_of_parts(struct trace *t, struct node *const *principals, size_t n);
size_t flat_n_parts(const struct flat *f);
struct node *flat_part(const struct flat *f, size_t i); /* whose density it is */
/* The log density of each part at these numbers, -inf among them; false: only the general way can
 * judge. */
bool flat_weigh_parts(struct trace *t, struct flat *f, const double *x, double *logp) GPM_MUST_USE;
/* grad += the gradient of the sum of shares[i] times part i; parts without a share may be -inf. */
bool flat_add_gradient(struct trace *t, struct flat *f, const double *x, const double *shares,
                       double *grad) GPM_MUST_USE;

/* One Metropolis-Hastings step of the principals from their prior. *done false: there is no flat,
 * or it cannot judge, and nothing has changed. */
enum gpm_status flat_mh(struct trace *t, struct node *const *principals, size_t n, bool *done,
                        bool *accepted) GPM_MUST_USE;

#ifdef GPMEM_CHECKS
/* Compares with the general way (flat_check.c): the weight of the given values, and its gradient
 * (NULL: not asked). Nothing may be open. */
enum gpm_status flat_check(struct trace *t, const struct flat *f, const value *vals, double weight,
                           const value *grads) GPM_MUST_USE;
#endif

/* Asks for the memory that coming steps touch, in stages, each of which needs the one before to
 * have arrived: of a choice some steps ahead its node, of a closer one its flat, of the closest the
 * nodes of its flat. */
void flat_prefetch(const struct node *far, const struct node *middle, const struct node *near);
#endif
