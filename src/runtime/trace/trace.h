/* SPDX-License-Identifier: Apache-2.0
 *
 * Probabilistic execution traces.
 *
 * A node is one application, `if` or `tag`. Variable references and literals make no nodes of their
 * own: an operand slot points straight at the node that supplies the value (a constant node for
 * literals). Nodes know their parents (in[], and for nodes that
 * request families the extra parents req->xin[]) and their children (out[]).
 *
 * A family is the evaluation of one expression in one frame: the nodes it made, in order of
 * evaluation, and its root. Requesting nodes (compound calls, `if`, memoized calls, mapv) hold
 * families; memoized families are shared and counted.
 *
 * A proposal is a scaffold (scaffold.c): the nodes that change (D), those that absorb (A), makers
 * that absorb for their applications (M) and the brush, torn down and rebuilt. detach takes them
 * out in reverse order of evaluation, regen puts them back with new values, restore puts the old
 * ones back exactly. See regen.c.
 *
 * Ownership: a trace owns its directives' families; families own nodes and frames; nodes own their
 * value (counted). Nothing outside trace/ keeps node pointers across a transition.
 */
#ifndef TRACE_TRACE_H
#define TRACE_TRACE_H
#include "base/map.h"
#include "base/pool.h"
#include "base/vec.h"
#include "language/lang/ast.h"
#include "numeric/special/rng.h"
#include "language/rows/protocol/sp.h"
#include "runtime/core/plain.h"
#include "language/value/value.h"

/* What others may read of a trace; trace/ and flat/ alone write it, and know what it is made of:
 * nodes, families, links, directives, scopes (node.h). */
struct node;
struct record; /* one directive in the trace, or several observations without a label */
struct scope;
struct scope_block;

struct trace {
    union {
        struct world world;
        struct {
            struct rng rng;
            struct map globals; /* sym -> struct node*; names of layers below: world_find */
        };
    };
    struct session_core *core; /* borrowed: builtins, options, diagnostics */
    VEC(struct record *) records;
    VEC(struct node *) choices; /* unobserved random choices */
    VEC(struct scope *) scopes;
    uint64_t number;    /* no other trace has had it, while another may get its address */
    uint64_t structure; /* counts changes of structure (has_new_structure): cached flats check it */
    uint64_t n_nodes;
    uint64_t n_directives; /* given so far, but for those taken back by trace_undo_last */
    double log_weight;     /* particle weight */
    /* For the error of the evidence (inference/particles/op_particles.c). The last two are the same
     * in all particles of a model. */
    struct ancestry {
        uint32_t from;        /* which of the particles that began together it comes from */
        uint32_t generations; /* populations since then, that one included; 0: none has begun */
        double variance;      /* relative, of the evidence that stood when they began */
    } ancestry;
};

/* Facts about a node. */
static inline value node_value(const struct node *n) { /* borrowed */
    return ((const struct cell *)n)->val;
}
uint64_t node_seq(const struct node *n); /* its number, which no other node has had */
/* The first free choice in the order of evaluation but for those of these numbers; NULL: none. What
 * it depends on stands before it. */
struct node *trace_first_choice(struct trace *t, const uint64_t *known, size_t n);
/* Where in the program it is drawn, under which named blocks: relatives of it in other states and
 * copies of the trace have the same number. */
uint64_t node_origin(const struct node *n);
/* Where a tag of the scope reads the memoized value that the choice belongs to; no place: it is
 * made in the tag, or in none. */
struct span node_read_in(const struct node *n, value scope);
/* Does a random choice or an observation depend on its value, if only by way of others? */
bool node_matters(const struct node *n);
value node_procedure(const struct node *n);     /* that it applies; borrowed */
value node_arg(const struct node *n, size_t i); /* argument i, from 1 on; borrowed */
/* Facts about a directive: number i of a record. */
enum record_kind { REC_ASSUME, REC_OBSERVE, REC_PREDICT };
struct recorded {
    const struct record *r;
    uint32_t i;
};
enum record_kind record_kind(const struct record *r);
struct sym *record_label(const struct record *r); /* NULL: none */
uint32_t record_size(const struct record *r);     /* directives that it holds */
value record_value(const struct record *r);       /* of the first one's expression; borrowed */
value recorded_value(struct recorded d);          /* of its expression; borrowed */
value recorded_observed(struct recorded d);       /* as the choice holds it; borrowed */
struct span recorded_span(struct recorded d);     /* of its expression */
/* The next directive of a trace: d.r NULL at first, false after the last; *at is the number of its
 * record, 0 at first. */
bool trace_next_recorded(const struct trace *t, size_t *at, struct recorded *d);
/* Calls `each` for every random choice that the value of a directive was made with, those of others
 * that it reads apart; values are borrowed. blocks[i] ABSENT: of one evaluation of a tag. */
enum { CHOICE_FACTS = 8 };
struct choice_facts {
    const struct sp_class *cls;
    struct span at;
    value val, args[CHOICE_FACTS], scopes[CHOICE_FACTS], blocks[CHOICE_FACTS];
    size_t n_args, n_tags;
    double logp;
    bool observed;
};
typedef void choice_fn(void *ctx, const struct choice_facts *f);
enum gpm_status trace_explain(struct trace *t, struct recorded d, choice_fn *each,
                              void *ctx) GPM_MUST_USE;
/* Names that the model assumes, in their order; mem_free *out. */
size_t trace_names(const struct trace *t, const char ***out);

/* Names that the model assumes and values of its memoized procedures, called name[argument], that
 * depend on a free choice, in the order of the program; valid while t->structure is the same. */
struct trace_quantity {
    char *name;        /* owned */
    struct node *node; /* that its value comes from */
};
size_t trace_quantities(const struct trace *t, struct trace_quantity **out);
void trace_quantities_free(struct trace_quantity *q, size_t n);

struct trace *trace_new(struct session_core *core, struct rng rng);
void trace_free(struct trace *t);
/* For the collector: names what the trace holds. */
void trace_visit(struct trace *t, struct visitor *v);
/* A deep copy of all layers, with the same generator: who wants another stream splits it. */
struct trace *trace_clone(struct trace *t);
/* Layers (layer.c). Another trace like *t, which from now on stands for the same state without
 * holding it: both go on from what *t was, and what they have in common is there once. Directives
 * work on such traces as they are; trace_whole is for everything that may change or walk over what
 * is there already. Nodes of *t are no longer anybody's after trace_share, and other ones after
 * trace_whole of a trace that was not. */
struct trace *trace_share(struct trace **t) GPM_MUST_USE;
void trace_whole(struct trace *t);

/* Directives. On failure the trace is as before. `frame` is the splice frame of the model
 * expression (counted by the callee), `ast` the expression inside AST_MODEL. */
enum gpm_status trace_assume(struct trace *t, struct sym *const *names, size_t n, struct sym *label,
                             const struct ast *ast, struct frame *frame, value *out) GPM_MUST_USE;
enum gpm_status trace_predict(struct trace *t, struct sym *label, const struct ast *ast,
                              struct frame *frame, value *out) GPM_MUST_USE;
/* The values of n expressions, which are evaluated one after the other and then leave together. */
enum gpm_status trace_sample(struct trace *t, const struct ast *const *ast,
                             struct frame *const *frame, size_t n, value *out) GPM_MUST_USE;
enum gpm_status trace_observe(struct trace *t, struct sym *label, const struct ast *ast,
                              struct frame *frame, value v, double *weight) GPM_MUST_USE;
enum gpm_status trace_force(struct trace *t, const struct ast *ast, struct frame *frame, value v,
                            double *weight) GPM_MUST_USE;
/* Messages of directives and of the check before a run. `first`: where the name was assumed;
 * `from`: the row whose value cannot be observed, applied at `made`; `names`: the labels there are.
 */
enum gpm_status trace_name_taken(struct diags *d, const struct sym *name, struct span at,
                                 struct span first);
enum gpm_status trace_not_random(struct diags *d, const struct sp_class *from, bool constant,
                                 struct span made, struct span at);
enum gpm_status trace_not_boolean(struct diags *d, const struct sp_class *cls, value v,
                                  struct span at);
void trace_impossible(struct diags *d, const struct sp_class *cls, value v, struct span at);
enum gpm_status trace_not_enumerable(struct diags *d, const struct sp_class *cls, struct span at);
enum gpm_status trace_no_label(struct diags *d, const struct sym *label, struct span at,
                               const char *const *names, size_t n);
enum gpm_status trace_forget(struct trace *t, struct sym *label, struct span at,
                             double *weight) GPM_MUST_USE;
enum gpm_status trace_report(struct trace *t, struct sym *label, struct span at,
                             value *out) GPM_MUST_USE;
enum gpm_status trace_freeze(struct trace *t, struct sym *label, struct span at) GPM_MUST_USE;
/* The statistics of the made procedure that the expression gives; an error where it keeps none. */
enum gpm_status trace_stats(struct trace *t, const struct ast *ast, struct frame *frame,
                            struct span at, value *out) GPM_MUST_USE;
/* Data drawn anew for observe directives, given every other choice as it is: out[i] is owned. The
 * trace ends as it was. */
enum gpm_status trace_replicate(struct trace *t, const struct recorded *of, size_t n,
                                value *out) GPM_MUST_USE;
/* Log densities of what an observe holds: of each element where they are independent, else one of
 * the whole. A procedure with statistics gives log p(y_i | all other data, parameters), which is
 * what leaving y_i out asks for. mem_free *each. */
enum gpm_status trace_log_likelihood(struct trace *t, struct recorded d, double **each,
                                     size_t *n) GPM_MUST_USE;
/* Takes the newest directive back. */
void trace_undo_last(struct trace *t);

/* A value fit to leave the trace: closures see copies of what they close over. Owned. */
value trace_export(struct trace *t, value v);

/* The name is about to mean something else, by a definition of the inference program (defines) or
 * by the model. An error where a procedure of the inference program
 * reads it on behalf of the model; directives that waited for it keep what it means now. */
enum gpm_status trace_change_name(struct trace *t, struct sym *name, bool defines,
                                  struct span at) GPM_MUST_USE;

/* Scopes and blocks. A block is live while it holds choices; live blocks have no order. */
struct scope *trace_scope(struct trace *t, value name); /* NULL: no tag names it */
value scope_name(const struct scope *s);                /* borrowed */
size_t scope_live(const struct scope *s);               /* number of live blocks */
struct scope_block *scope_find_block(struct scope *s, value id);
value block_id(const struct scope_block *b);                                    /* borrowed */
void block_choices(const struct scope_block *b, struct node ***out, size_t *n); /* mem_free *out */
/* The choices of a live block, each as likely as the others; there must be one. */
void scope_pick(const struct scope *s, struct rng *rng, struct node ***out, size_t *n);
void scopes_sorted(struct scope *s, struct scope_block ***out,
                   size_t *n); /* live, by id; mem_free */
/* For messages: the ids of its first blocks, "1, 2, ...". */
void scope_show_blocks(const struct scope *s, struct buf *out);

/* Transitions: build, detach, regen (any number of times, each undone by scaffold_unregen but the
 * last), close. */
struct scaffold;
struct scaffold *scaffold_build(struct trace *t, struct node *const *principals, size_t n);
/* One that may draw values of random functions anew whose arguments change (SP_AT_INPUT). */
struct scaffold *scaffold_build_redrawing(struct trace *t, struct node *const *principals,
                                          size_t n);
enum scaffold_mode {
    SCAFFOLD_PRIOR, /* principals are drawn from their prior: they add nothing to the weight */
    SCAFFOLD_FIXED  /* principals get given values: their log density is part of the weight */
};
/* Takes the scaffold's part out of the trace; *weight: log density of what it held (an array, one
 * per step, after scaffold_set_steps). On failure the trace is as it was, and the scaffold gone. */
enum gpm_status scaffold_detach(struct scaffold *s, enum scaffold_mode mode,
                                double *weight) GPM_MUST_USE;
/* Builds it again; values: one per principal under SCAFFOLD_FIXED. A domain error or a covariance
 * that is not positive definite gives weight -inf and GPM_OK. On GPM_E_USER nothing is left built.
 */
enum gpm_status scaffold_regen(struct scaffold *s, enum scaffold_mode mode, const value *values,
                               double *weight) GPM_MUST_USE;
void scaffold_unregen(struct scaffold *s); /* back to the detached state */
/* False after a regen that ended in -inf without a state: only restore is possible. */
bool scaffold_built(const struct scaffold *s);
/* The end of a scaffold: `keep` the new state and drop the old, or put the old one back. One that
 * was never detached has changed nothing. */
void scaffold_close(struct scaffold *s, bool keep);
/* build and detach. */
enum gpm_status scaffold_open(struct trace *t, struct node *const *principals, size_t n,
                              enum scaffold_mode mode, double *weight,
                              struct scaffold **out) GPM_MUST_USE;
size_t scaffold_n_principals(const struct scaffold *s);
value scaffold_old_value(const struct scaffold *s, size_t i); /* borrowed */
struct node *scaffold_principal(const struct scaffold *s, size_t i);
/* Under SCAFFOLD_FIXED a procedure with statistics that can list its values takes only those it
 * lists at that moment: of labelings of new tables that differ in name alone, one is possible. */
void scaffold_only_listed(struct scaffold *s);
bool scaffold_has_brush(const struct scaffold *s);
/* The first node whose requests are made anew, or NULL: what the brush hangs on. */
struct node *scaffold_rebuilds(const struct scaffold *s);
/* Log density bound of everything that absorbs (rejection); GPM_E_NOT_FOUND: unbounded. */
enum gpm_status scaffold_log_bound(struct scaffold *s, double *bound) GPM_MUST_USE;
/* Gradient of the log weight under SCAFFOLD_FIXED (the principals' own densities included) in the
 * principals, in the state as it is: before detach, or after regen. Owned adjoints, one per
 * principal. */
enum gpm_status scaffold_gradient(struct scaffold *s, value *grads) GPM_MUST_USE;
/* From here on the gradient is that of the sum of shares[i] times the weight of entry i (factors
 * below); NULL: of the weight. Borrowed. */
void scaffold_set_shares(struct scaffold *s, const double *shares);
/* The weight of the state that stands after regen, taken apart (factors.c). Principals from number
 * `first` on are to be summed over, and have the numbers 0, 1, ... in scopes. */
struct factors;
struct factors *factors_new(struct scaffold *s, size_t first);
void factors_free(struct factors *f);
/* Finds what depends on what in this state; *grew: more than in those read before. */
enum gpm_status factors_read(struct factors *f, bool *grew) GPM_MUST_USE;
size_t factors_count(const struct factors *f);
double factors_weight(const struct factors *f, size_t i); /* of the state that stands */
size_t factors_of_node(const struct factors *f,
                       const struct node *n); /* an entry of the scaffold */
const uint32_t *factors_scope(const struct factors *f, size_t i, size_t *n); /* ascending */
/* Principals whose numbers follow from given ones and from their arguments, which may be others by
 * then: x = T(z; a, b). Whoever gives values gives z; place is called when the arguments are known
 * and puts x in its stead. In the gradient pull turns the adjoint of x into that of z and says what
 * the arguments get by it; what T adds to the weight, and its derivatives in z and the arguments,
 * are for its owner to keep and for pull to add. A principal that is drawn is shown to unplace.
 * A random function's value may be placed by its prediction, a its mean and b its standard
 * deviation given what is recorded: z is standard normal then, and weighs as such, in the state
 * that stands when the scaffold is detached, too. */
struct placing {
    void *ctx;
    const struct placed { /* by principal */
        size_t n, first;  /* numbers (0: values are given as they are); the first among those of
                             all principals */
        uint8_t arg[2];   /* a and b: 1 + the number of the argument, 0: none */
        double *slopes;   /* NULL; or it is placed by its prediction: room for the derivatives of a
                             and then b in the numbers of the first argument */
    } * of;
    double *room; /* four times as many numbers as the longest has; scratch */
    /* a and b: as many numbers as x, NULL: no such argument */
    void (*place)(void *ctx, size_t i, const double *a, const double *b, double *x);
    void (*pull)(void *ctx, size_t i, const double *a, const double *b, const double *x,
                 double *adj, double *da, double *db);
    void (*unplace)(void *ctx, size_t i, const double *a, const double *b, const double *x);
};
void scaffold_set_placing(struct scaffold *s, const struct placing *p); /* borrowed; NULL: none */
/* Is its value, a number, one that a prediction may place? *slopes: room for its derivatives,
 * owned. */
bool node_is_predicted(struct trace *t, struct node *n, double **slopes);
/* Do operands of principal i change with the others? */
bool scaffold_args_change(const struct scaffold *s, size_t i);

/* Sequential use (pgibbs), with scaffold_regen_step in place of regen. Principal nodes[i] belongs
 * to step[i] (0, 1, ...); everything else to the latest step of its operands. Steps without
 * principals vanish; the number of those that are left is returned. */
uint32_t scaffold_set_steps(struct scaffold *s, struct node *const *nodes, const uint32_t *step,
                            size_t n);
/* Undoes every step drawn and lets the old state of steps 0..n-1 stand, no more (n = 0: nothing);
 * then further steps can be drawn anew. */
enum gpm_status scaffold_attach_old(struct scaffold *s, uint32_t n) GPM_MUST_USE;
/* Draws one step from the prior; *weight: log density of what absorbs in it. A step that fails
 * softly has weight -inf and leaves nothing drawn. */
enum gpm_status scaffold_regen_step(struct scaffold *s, uint32_t step, double *weight) GPM_MUST_USE;
/* The same with values given for the principals; *own: the log density of those of this step, which
 * is no part of the weight. */
enum gpm_status scaffold_regen_given(struct scaffold *s, uint32_t step, const value *values,
                                     double *weight, double *own) GPM_MUST_USE;
/* last[k]: the last step whose densities, with given values from step k on, depend on what was
 * drawn before step k; false: that depends on the state, or is too far ahead. */
bool scaffold_looks_ahead(struct scaffold *s, uint32_t *last);
/* Undoes the steps drawn since the mark was taken; not when the scaffold is tangled (smc.c): then
 * only scaffold_attach_old leads to another state. */
size_t scaffold_mark(const struct scaffold *s);
void scaffold_rewind(struct scaffold *s, size_t mark);
bool scaffold_tangled(const struct scaffold *s);

/* The one rule of acceptance. w_old and w_new: log weights of the two states, log_alpha: w_new -
 * w_old and what else the ratio holds. A state of weight zero is left for any other, of weight zero
 * too: a chain walks until it finds a possible state, which it does not leave again for an
 * impossible one. */
bool mh_accept(double log_alpha, double w_old, double w_new, struct rng *rng);

/* One Metropolis-Hastings transition of the given principals from their prior, through a scaffold.
 * log_pick: added to the log ratio, after minus before. */
struct mh_extra {
    double (*log_pick)(void *ctx, struct trace *t); /* log probability of picking this block now */
    void *ctx;
    bool of_all; /* it is one of all choices: -log of their number */
};
enum gpm_status trace_mh(struct trace *t, struct node *const *principals, size_t n,
                         const struct mh_extra *extra, bool *accepted) GPM_MUST_USE;

/* Draws the principals from their prior, and keeps that; weights as of detach and regen. Where the
 * new state cannot be built the old one stays, and *w_new is -inf. */
enum gpm_status trace_redraw(struct trace *t, struct node *const *principals, size_t n,
                             double *w_old, double *w_new) GPM_MUST_USE;

/* Steps by flats leave copies of the values they changed (at tags, branches and calls) and
 * densities of observations out of date; this writes them. scaffold_build does it itself; other
 * readers and writers call it after such steps. */
void trace_settle(struct trace *t);

/* Facts about a choice. */
enum gpm_status node_support(struct trace *t, struct node *n, struct sp_support *out) GPM_MUST_USE;
enum gpm_status node_enumerate(struct trace *t, struct node *n, value **vals,
                               size_t *count) GPM_MUST_USE;
/* The log density of its value, from node->logp where that is kept. */
enum gpm_status node_logp(struct trace *t, struct node *n, double *out) GPM_MUST_USE;
enum gpm_status node_density(struct trace *t, struct node *n, value v, double *out) GPM_MUST_USE;
/* Is it normal given its arguments (struct sp_class, normal), without bounds? Then a draw of its
 * prior, owned, and its mean, borrowed. */
bool node_is_normal(const struct node *n);
enum gpm_status node_prior(struct trace *t, struct node *n, value *draw, value *mean) GPM_MUST_USE;
const struct sp_class *node_class(const struct node *n); /* NULL: no primitive */
struct span node_span(const struct node *n);

/* Calls fn for every node that is on. */
typedef enum gpm_status node_fn(void *ctx, struct trace *t, struct node *n);
enum gpm_status trace_each_node(struct trace *t, node_fn *fn, void *ctx) GPM_MUST_USE;
/* Of one directive, what it reads of others apart. */
enum gpm_status trace_each_in(struct trace *t, struct recorded d, node_fn *fn,
                              void *ctx) GPM_MUST_USE;
/* log P of all random choices and observations, from scratch. */
enum gpm_status trace_log_joint(struct trace *t, double *joint, double *likelihood) GPM_MUST_USE;
/* Checks every invariant; a violation is described in `why`. */
bool trace_check(struct trace *t, struct buf *why);
/* Has a choice without a distribution to draw from (SP_IMPROPER) ever stood in it? */
bool trace_had_improper(const struct trace *t);
/* Bytes of all applications (nodes, links, requests, directives) and how many there are, but for
 * those in layers that are in `seen`; then they are. */
size_t trace_memory(struct trace *t, struct map *seen, size_t *n_apps);
#endif
