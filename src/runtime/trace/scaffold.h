/* SPDX-License-Identifier: Apache-2.0
 *
 * For trace/ and flat/: the scaffold of a proposal. Finding it stands in scaffold.c; detach, regen
 * and restore in regen.c; densities of makers in joint.c. The calls that its states allow:
 *
 *     built --detach--> detached --regen--> regenerated --close, keep--> gone
 *       |                 |   ^                 |
 *     close               |   +--- unregen -----+
 *       |               close
 *       gone              gone
 *
 * While it is detached the old values stand in the entries and the old families, switched off, in
 * old_req: nothing of the old state is freed before the close. Restoring therefore evaluates
 * nothing and can fail only through a bug. */
#ifndef TRACE_SCAFFOLD_H
#define TRACE_SCAFFOLD_H
#include "runtime/trace/node.h"

/* D: changes; A: a random choice that keeps its value and absorbs by its density; M: a maker that
 * keeps its procedures and absorbs by the joint density of their data. */
enum role { ROLE_NONE, ROLE_D, ROLE_A, ROLE_M };

/* For the root of an observation that changes: what was observed, and where (moves.c). */
struct observed_root {
    value seen;           /* the observed value; counted */
    struct node *old_end; /* the node that was constrained */
    struct node *new_end;
    struct node *kept_end;     /* the end, where it is not part of the scaffold */
    bool left, taken;          /* kept_end was left; new_end existed before as a free choice */
    value left_val, taken_val; /* their values before */
};

/* The state of one node in the proposal, from scaffold_build on. detach writes the old_ fields,
 * which tell how to restore; regen writes those of the new state. There may be millions of
 * entries. */
struct entry {
    struct node *n;
    uint8_t role;
    bool requests;   /* D: its requests are evaluated again; M: its closed-over nodes may change */
    bool op_changed; /* D: its procedure may change */
    bool requests_lost; /* scaffold.c: its families are already counted as lost */
    uint8_t shape;      /* shape.c: enum of whether the value keeps its shape */
    bool ordered;       /* is in `order` */
    bool done;          /* regenerated: its new value can be read */
    bool brush;    /* in a family that goes away as a whole, so it is not restored on its own */
    bool attached; /* restored */
    bool remade;   /* M: the token must be undone or committed */
    uint16_t old_flags;
    int32_t principal; /* number of the principal, or -1 */
    uint32_t early;    /* smc.c: step in which the old state is needed */
    uint32_t group;    /* step of a sequential regen (smc.c) */
    uint32_t rank;     /* smc.c: position before sorting */
    uint32_t low;      /* smc.c: the earliest step whose draws it is computed from */
    double held;       /* weight at detach */
    double drawn;      /* weight at regen */
    double old_logp;
    value old;                 /* counted */
    struct request *old_req;   /* owned; restore gives it back to the node, commit frees it */
    struct observed_root *obs; /* owned; NULL: no observation here, or not detached */
    void *token;               /* M: for undo or commit */
};

typedef VEC(struct out_edge) edges;

struct scaffold {
    struct trace *t;
    VEC(struct entry) e; /* all nodes reached */
    VEC(uint32_t) torus; /* entries that stay, by seq */
    VEC(uint32_t)
    order; /* the same in evaluation order of the old state, filled by scaffold_order */
    VEC(uint32_t) new_order;       /* in order of regeneration */
    VEC(struct family *) touched;  /* families that lose requesters */
    VEC(struct node *) principals; /* without those inside the brush of another */
    VEC(struct node *) maps;       /* scaffold_build: maps by index over sequences that change */
    edges walk;                    /* scaffold_build: edges still to follow */
    enum scaffold_mode mode;       /* of the last detach or regen; from here on cleared for reuse */
    const value *values;           /* SCAFFOLD_FIXED: borrowed, one per principal */
    const struct placing *placing; /* borrowed, or NULL */
    const double *shares; /* by entry: the share of its weight in the gradient; NULL: all of it */
    size_t n_old; /* since detach: length of the prefix of `order` that is in its old state */
    double *sink; /* during detach and regen: where the current entry's weight adds up */
    bool detached, built, has_brush;
    bool strict; /* a failing regen is an error instead of weight -inf: the user gave the values */
    uint64_t first_seq; /* of the first node made since detach */
    uint64_t structure; /* of the trace before detach, restored with the old state */
    bool by_steps;      /* smc.c */
    uint32_t n_steps;   /* smc.c; otherwise 1 */
    bool tangled;       /* smc.c */
    enum { HOLDS, MAY_REDRAW, REDRAWS } at_input; /* what values of random functions do */
    bool canonical; /* fixed values of procedures with statistics must be among those they list */
};

void scaffold_release(struct scaffold *s); /* memory of an unused one; s may be NULL */
/* Removes the marks of nodes and families, so that nothing freed later carries one, and frees the
 * scaffold. */
void scaffold_end(struct scaffold *s);
static inline struct entry *entry_of(struct scaffold *s, const struct node *n) { /* or NULL */
    return n->kind != NODE_CONST && n->mark ? &s->e.at[n->mark - 1] : NULL;
}
void scaffold_order(struct scaffold *s);
/* Does the proposal take this node out in every case? */
bool is_torn_down(struct scaffold *s, const struct node *n);
/* Observations that move (moves.c). observation_follow takes the one at root e to the choice that
 * its expression now leads to; observation_return takes it back. */
enum gpm_status observation_follow(struct scaffold *s, struct entry *e,
                                   double *weight) GPM_MUST_USE;
void observation_return(struct scaffold *s, struct entry *e);
void observation_stay(struct entry *e); /* the proposal is accepted */
/* take_old takes the old state out from the end, except what steps before n need. It adds to
 * weights, one per step, unless NULL. put_old restores the first n entries of the order. */
enum gpm_status take_old(struct scaffold *s, uint32_t n, double *weights) GPM_MUST_USE;
void put_old(struct scaffold *s, size_t n);
/* Regenerates entries from..to-1 of the torus; see scaffold_regen. */
enum gpm_status regen_range(struct scaffold *s, size_t from, size_t to,
                            double *weight) GPM_MUST_USE;
/* smc.c: finds tangles among nodes regenerated since the mark, taken when seq was the next node
 * number. */
void find_tangles(struct scaffold *s, size_t mark, uint64_t seq);
/* The joint density of one maker's data: in closed form, and as the sum over applications added one
 * by one to an emptied copy of the statistics. */
struct maker_density {
    double joint, all, observed; /* observed: the observations' part of `all` */
    double empty;                /* closed form with all data taken out; must be 0 */
    bool taken_apart;            /* otherwise only joint is known */
};
typedef enum gpm_status maker_fn(void *ctx, struct node *maker, const struct maker_density *d);
enum gpm_status trace_each_maker(struct trace *t, maker_fn *fn, void *ctx) GPM_MUST_USE;
/* The joint log density of the data of maker n, whose made procedures share `state`. */
enum gpm_status maker_log_joint(struct trace *t, struct node *n, struct sp_state *state,
                                double *logp) GPM_MUST_USE;
/* place.c: is principal i placed? placed_value: x where z = v was given, owned. placed_drawn: shows
 * a draw to unplace. placed_adjoint: the adjoint of z from that of x, owned; the two arguments get
 * theirs. */
static inline bool is_placed(const struct scaffold *s, int32_t i) {
    return s->placing && i >= 0 && s->placing->of[i].n;
}
static inline bool is_predicted(const struct scaffold *s, int32_t i) {
    return is_placed(s, i) && s->placing->of[i].slopes;
}
enum gpm_status placed_value(const struct scaffold *s, struct node *n, int32_t i, value v,
                             value *out) GPM_MUST_USE;
enum gpm_status placed_drawn(const struct scaffold *s, struct node *n, int32_t i) GPM_MUST_USE;
/* For a value placed by its prediction that is not counted now: shows it to unplace.
 * placed_log_density: the log density of its z. */
enum gpm_status placed_standing_out(const struct scaffold *s, struct node *n, int32_t i,
                                    double *logp) GPM_MUST_USE;
double placed_log_density(value z);
value placed_adjoint(const struct scaffold *s, struct node *n, int32_t i, value adj,
                     value dargs[2]);
bool requests_on(const struct node *n, uint32_t slot);
/* shape.c: sorts s->maps so that maps whose sequences keep their length come first; returns how
 * many. */
size_t maps_that_keep(struct scaffold *s);
/* Do all requesters of the family go away in this proposal? */
static inline bool family_is_brush(const struct family *f) {
    return f->lost && f->lost == f->refs;
}
#endif
