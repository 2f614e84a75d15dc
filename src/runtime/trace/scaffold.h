/* SPDX-License-Identifier: Apache-2.0
 *
 * For trace/ and flat/: the scaffold of a proposal. Its life (who may call what):
 *
 *     built --detach--> detached --regen--> regenerated --close, keep--> gone
 *       |                 |   ^                 |
 *     close               |   +--- unregen -----+
 *       |               close
 *       gone              gone
 *
 * While it is detached the old values stand in the entries and the old families, switched off, in
 * old_req: nothing of the old state is freed before the close, so restoring it evaluates nothing
 * and fails for no reason but a bug. */
#ifndef TRACE_SCAFFOLD_H
#define TRACE_SCAFFOLD_H
#include "runtime/trace/node.h"

/* D: changes; A: a random choice that keeps its value and absorbs by its density; M: a maker that
 * keeps its procedures and absorbs by the joint density of their data. */
enum role { ROLE_NONE, ROLE_D, ROLE_A, ROLE_M };

/* Of a root of an observation that changes: what was observed, and where (moves.c). */
struct observed_root {
    value seen;           /* the value that was observed; counted */
    struct node *old_end; /* the node that was constrained */
    struct node *new_end;
    struct node *kept_end;     /* its end, where that is no part of the scaffold */
    bool left, taken;          /* kept_end was left, new_end was there as a free choice */
    value left_val, taken_val; /* their values before */
};

/* What the proposal knows of one node, from scaffold_build on. The old_ fields are written by
 * detach and say how to restore; those of the new state by regen. There may be millions. */
struct entry {
    struct node *n;
    uint8_t role;
    bool requests;      /* D: its requests are made anew; M: what it closes over may be others */
    bool op_changed;    /* D: its procedure may be another one */
    bool requests_lost; /* scaffold.c: its families have been counted as lost */
    uint8_t shape;      /* shape.c: whether its value keeps its shape */
    bool ordered;       /* stands in `order` */
    bool done;          /* regenerated: its new value can be read */
    bool brush;         /* inside a family that goes away: nothing of it is restored one by one */
    bool attached;      /* put back as it was */
    bool remade;        /* M: the token is to be undone or committed */
    uint16_t old_flags;
    int32_t principal; /* number, or -1 */
    uint32_t early;    /* smc.c: step in which the old state needed it */
    uint32_t group;    /* step of a sequential regen; see smc.c */
    uint32_t rank;     /* smc.c: place before sorting */
    uint32_t low;      /* smc.c: the earliest step whose draws it is computed from */
    double held;       /* weight at detach */
    double drawn;      /* weight at regen */
    double old_logp;
    value old;               /* counted */
    struct request *old_req; /* owned until restore gives it back to the node or commit frees it */
    struct observed_root *obs; /* owned; NULL: no observation begins here, or nothing is detached */
    void *token;               /* M: for undo or commit */
};

typedef VEC(struct out_edge) edges;

struct scaffold {
    struct trace *t;
    VEC(struct entry) e; /* all nodes reached */
    VEC(uint32_t) torus; /* entries that stay, by seq */
    VEC(uint32_t)
    order;                         /* the same in order of evaluation of the old state, once
                                      scaffold_order has found it */
    VEC(uint32_t) new_order;       /* as regenerated */
    VEC(struct family *) touched;  /* families that lose requesters */
    VEC(struct node *) principals; /* less those inside the brush of another */
    VEC(struct node *) maps;       /* scaffold_build: by index, over sequences that change */
    edges walk;                    /* scaffold_build: edges to be followed */
    enum scaffold_mode mode;       /* of the last detach or regen; from here on cleared for reuse */
    const value *values;           /* SCAFFOLD_FIXED: borrowed, one per principal */
    const struct placing *placing; /* borrowed, or NULL */
    const double *shares; /* by entry: how much of its weight counts in the gradient; NULL: all */
    size_t n_old;         /* since detach: how many of the order stand as before it */
    double *sink; /* during detach and regen: of the entry under way, where its weight adds up */
    bool detached, built, has_brush;
    bool strict; /* a regen that fails is an error, never weight -inf: values that the user gave */
    uint64_t first_seq; /* of the nodes made since detach */
    uint64_t structure; /* of the trace before detach, and again after restoring */
    bool by_steps;      /* smc.c */
    uint32_t n_steps;   /* smc.c; else 1 */
    bool tangled;       /* smc.c */
    enum { HOLDS, MAY_REDRAW, REDRAWS } at_input; /* what values of random functions do */
    bool canonical; /* fixed values of procedures with statistics must be among those they list */
};

void scaffold_release(struct scaffold *s); /* memory of one that is not in use, or NULL */
/* Unmarks nodes and families, so that what is freed afterwards carries no marks; gone. */
void scaffold_end(struct scaffold *s);
static inline struct entry *entry_of(struct scaffold *s, const struct node *n) { /* NULL: none */
    return n->kind != NODE_CONST && n->mark ? &s->e.at[n->mark - 1] : NULL;
}
void scaffold_order(struct scaffold *s);
/* Does the proposal take this node out, whatever becomes of it? */
bool is_torn_down(struct scaffold *s, const struct node *n);
/* Observations that move (moves.c): the one at root e goes where its expression leads now, and
 * back. */
enum gpm_status observation_follow(struct scaffold *s, struct entry *e,
                                   double *weight) GPM_MUST_USE;
void observation_return(struct scaffold *s, struct entry *e);
void observation_stay(struct entry *e); /* the proposal is accepted */
/* The old state: takes it out from the end, but for what steps before n need (weights: per step,
 * added to; NULL: known already); puts the first n entries of the order back. */
enum gpm_status take_old(struct scaffold *s, uint32_t n, double *weights) GPM_MUST_USE;
void put_old(struct scaffold *s, size_t n);
/* Entries from..to-1 of the torus anew, as scaffold_regen describes it. */
enum gpm_status regen_range(struct scaffold *s, size_t from, size_t to,
                            double *weight) GPM_MUST_USE;
/* smc.c: of what was regenerated since the mark, when seq was the next node's number. */
void find_tangles(struct scaffold *s, size_t mark, uint64_t seq);
/* The data of one maker: its joint density in closed form, and built up one application after
 * another in a copy of the statistics emptied before. */
struct maker_density {
    double joint, all, observed; /* observed: the part of `all` that observations have */
    double empty;                /* closed form, with all data taken out: 0 */
    bool taken_apart;            /* else only joint is known */
};
typedef enum gpm_status maker_fn(void *ctx, struct node *maker, const struct maker_density *d);
enum gpm_status trace_each_maker(struct trace *t, maker_fn *fn, void *ctx) GPM_MUST_USE;
/* The joint log density of the data of maker n, whose made procedures share `state`. */
enum gpm_status maker_log_joint(struct trace *t, struct node *n, struct sp_state *state,
                                double *logp) GPM_MUST_USE;
/* place.c: is the value of principal i placed? What it is where v was given for it, owned; what a
 * draw of it is shown to; the adjoint of what was given, owned, from that of its value, and of the
 * two arguments. */
static inline bool is_placed(const struct scaffold *s, int32_t i) {
    return s->placing && i >= 0 && s->placing->of[i].n;
}
static inline bool is_predicted(const struct scaffold *s, int32_t i) {
    return is_placed(s, i) && s->placing->of[i].slopes;
}
enum gpm_status placed_value(const struct scaffold *s, struct node *n, int32_t i, value v,
                             value *out) GPM_MUST_USE;
enum gpm_status placed_drawn(const struct scaffold *s, struct node *n, int32_t i) GPM_MUST_USE;
/* Of a value that is placed by its prediction, and is not counted now: shown to unplace; and the
 * log density of its z. */
enum gpm_status placed_standing_out(const struct scaffold *s, struct node *n, int32_t i,
                                    double *logp) GPM_MUST_USE;
double placed_log_density(value z);
value placed_adjoint(const struct scaffold *s, struct node *n, int32_t i, value adj,
                     value dargs[2]);
bool requests_on(const struct node *n, uint32_t slot);
/* shape.c: sorts s->maps, those whose sequences keep their length first; how many they are. */
size_t maps_that_keep(struct scaffold *s);
/* Every requester goes away with this proposal. */
static inline bool family_is_brush(const struct family *f) {
    return f->lost && f->lost == f->refs;
}
#endif
