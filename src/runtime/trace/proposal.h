/* SPDX-License-Identifier: Apache-2.0
 *
 * Proposals: a scaffold is built (scaffold.c), detached and regenerated (regen.c), and closed. Its
 * gradient stands in gradient.c, values placed by their arguments in place.c, proposals step by
 * step in smc.c, its bound in bound.c; whole transitions and the rule of acceptance in
 * transition.c. */
#ifndef TRACE_PROPOSAL_H
#define TRACE_PROPOSAL_H
#include "runtime/trace/trace.h"

/* Transitions: build, detach, regen, close. Regen may run several times; scaffold_unregen undoes
 * all but the last. */
struct scaffold;
struct scaffold *scaffold_build(struct trace *t, struct node *const *principals, size_t n);
/* A scaffold that may redraw values of random functions whose arguments change (SP_AT_INPUT). */
struct scaffold *scaffold_build_redrawing(struct trace *t, struct node *const *principals,
                                          size_t n);
enum scaffold_mode {
    SCAFFOLD_PRIOR, /* principals are drawn from the prior and add nothing to the weight */
    SCAFFOLD_FIXED  /* principals get given values; their log density is part of the weight */
};
/* Takes the scaffold's part out of the trace. *weight is the log density of what it held; after
 * scaffold_set_steps it is an array, one per step. On failure the trace is restored and the
 * scaffold freed. */
enum gpm_status scaffold_detach(struct scaffold *s, enum scaffold_mode mode,
                                double *weight) GPM_MUST_USE;
/* Rebuilds the scaffold's part. `values` holds one value per principal under SCAFFOLD_FIXED. A
 * domain error or a covariance that is not positive definite gives weight -inf and GPM_OK. After
 * GPM_E_USER nothing is left built. */
enum gpm_status scaffold_regen(struct scaffold *s, enum scaffold_mode mode, const value *values,
                               double *weight) GPM_MUST_USE;
void scaffold_unregen(struct scaffold *s); /* back to the detached state */
/* False after a regen that ended in -inf without a state; then only restoring is possible. */
bool scaffold_built(const struct scaffold *s);
/* Ends a scaffold. With `keep` the new state stays and the old one is freed; otherwise the old
 * state is restored. A scaffold that was never detached has changed nothing. */
void scaffold_close(struct scaffold *s, bool keep);
/* scaffold_build followed by scaffold_detach. */
enum gpm_status scaffold_open(struct trace *t, struct node *const *principals, size_t n,
                              enum scaffold_mode mode, double *weight,
                              struct scaffold **out) GPM_MUST_USE;
size_t scaffold_n_principals(const struct scaffold *s);
value scaffold_old_value(const struct scaffold *s, size_t i); /* borrowed */
struct node *scaffold_principal(const struct scaffold *s, size_t i);
/* Restricts values given under SCAFFOLD_FIXED to those a procedure with statistics lists at that
 * moment. Among labelings that differ only in the names of new tables, exactly one counts. */
void scaffold_only_listed(struct scaffold *s);
bool scaffold_has_brush(const struct scaffold *s);
/* The first node whose requests are evaluated again, the root of the brush; NULL without a
 * brush. */
struct node *scaffold_rebuilds(const struct scaffold *s);
/* Upper bound of the log density of everything that absorbs (rejection); GPM_E_NOT_FOUND if
 * unbounded. */
enum gpm_status scaffold_log_bound(struct scaffold *s, double *bound) GPM_MUST_USE;
/* Gradient of the SCAFFOLD_FIXED log weight in the principals, their own densities included. It is
 * taken in the current state: before detach or after regen. Adjoints are owned, one per
 * principal. */
enum gpm_status scaffold_gradient(struct scaffold *s, value *grads) GPM_MUST_USE;
/* From here on the gradient is that of sum_i shares[i] * weight of entry i (factors below). NULL
 * restores the plain weight. Borrowed. */
void scaffold_set_shares(struct scaffold *s, const double *shares);
/* Principals whose values x = T(z; a, b) follow from given numbers z and from their arguments a, b,
 * which may change in the same proposal. Callers supply z. Once the arguments are known, `place`
 * replaces z with x. In the gradient, `pull` turns the adjoint of x into that of z and adds the
 * arguments' share. The owner keeps what T adds to the weight, with its derivatives in z, a and b;
 * `pull` adds them. `unplace` sees each principal that is drawn.
 * The value of a random function can be placed by its prediction: a is the mean, b the standard
 * deviation given the recorded data. Then z is standard normal and weighs as such, also in the
 * state that is detached. */
struct placing {
    void *ctx;
    const struct placed { /* by principal */
        size_t n, first;  /* how many numbers (0: given as they are); number of the first among all
                             principals' numbers */
        uint8_t arg[2];   /* a and b: 1 + number of the argument; 0: unused */
        double *slopes; /* NULL, or placed by prediction: room for the derivatives of a, then of b,
                           in the numbers of the first argument */
    } * of;
    double *room; /* scratch: four times the length of the longest principal */
    /* a and b have the length of x; NULL: argument unused */
    void (*place)(void *ctx, size_t i, const double *a, const double *b, double *x);
    void (*pull)(void *ctx, size_t i, const double *a, const double *b, const double *x,
                 double *adj, double *da, double *db);
    void (*unplace)(void *ctx, size_t i, const double *a, const double *b, const double *x);
};
void scaffold_set_placing(struct scaffold *s, const struct placing *p); /* borrowed; NULL: none */
/* Is the value a number that a prediction may place? *slopes: room for its derivatives, owned. */
bool node_is_predicted(struct trace *t, struct node *n, double **slopes);
/* Do operands of principal i change when the other principals do? */
bool scaffold_args_change(const struct scaffold *s, size_t i);

/* Sequential use (pgibbs), with scaffold_regen_step in place of regen. Principal nodes[i] belongs
 * to step[i] (0, 1, ...); every other entry belongs to the latest step of its operands. Steps
 * without principals are dropped. Returns the number of steps left. */
uint32_t scaffold_set_steps(struct scaffold *s, struct node *const *nodes, const uint32_t *step,
                            size_t n);
/* Undoes all drawn steps and restores the old state of steps 0..n-1 only (n = 0: of none). Further
 * steps can then be drawn. */
enum gpm_status scaffold_attach_old(struct scaffold *s, uint32_t n) GPM_MUST_USE;
/* Draws one step from the prior. *weight is the log density of what absorbs in that step. A step
 * that fails softly has weight -inf and leaves nothing drawn. */
enum gpm_status scaffold_regen_step(struct scaffold *s, uint32_t step, double *weight) GPM_MUST_USE;
/* The same with given values of the principals. *own is the log density of this step's principals,
 * which the weight leaves out. */
enum gpm_status scaffold_regen_given(struct scaffold *s, uint32_t step, const value *values,
                                     double *weight, double *own) GPM_MUST_USE;
/* last[k] is the last step whose densities depend on draws before step k when values are given from
 * step k on. False: the answer depends on the state, or lies too far ahead. */
bool scaffold_looks_ahead(struct scaffold *s, uint32_t *last);
/* Undoes the steps drawn since the mark. Not for a tangled scaffold (smc.c), where only
 * scaffold_attach_old leads to another state. */
size_t scaffold_mark(const struct scaffold *s);
void scaffold_rewind(struct scaffold *s, size_t mark);
bool scaffold_tangled(const struct scaffold *s);

/* The one rule of acceptance. w_old and w_new are the log weights of the two states; log_alpha is
 * w_new - w_old plus the rest of the log ratio. A state of weight zero is always left, even for
 * another state of weight zero. So a chain walks until it finds a possible state and never returns
 * from it to an impossible one. */
bool mh_accept(double log_alpha, double w_old, double w_new, struct rng *rng);

/* One Metropolis-Hastings transition of the principals, proposed from their prior through a
 * scaffold. The log ratio gets log_pick after the proposal minus log_pick before it. */
struct mh_extra {
    double (*log_pick)(void *ctx, struct trace *t); /* log probability of picking this block now */
    void *ctx;
    bool of_all; /* the pick is among all choices: -log of their number */
};
enum gpm_status trace_mh(struct trace *t, struct node *const *principals, size_t n,
                         const struct mh_extra *extra, bool *accepted) GPM_MUST_USE;

/* Draws the principals from their prior and always accepts. Weights are those of detach and regen.
 * If the new state cannot be built, the old one stays and *w_new is -inf. */
enum gpm_status trace_redraw(struct trace *t, struct node *const *principals, size_t n,
                             double *w_old, double *w_new) GPM_MUST_USE;
#endif
