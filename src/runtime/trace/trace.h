/* SPDX-License-Identifier: Apache-2.0
 *
 * Probabilistic execution traces.
 *
 * A node is one application, `if` or `tag`. Variable references and literals make no nodes of their
 * own: an operand slot points straight at the node that supplies the value (a constant node for
 * literals). Nodes know their parents (in[] and, for nodes that request families, req->xin[]) and
 * their children (out[]).
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

/* What other rooms may read of a trace. Only trace/ and flat/ write it and see its parts: nodes,
 * families, links, directives, scopes (node.h). */
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
    uint64_t number;    /* unique; an address may be reused, this is not */
    uint64_t structure; /* counts changes of structure; cached flats compare it */
    uint64_t n_nodes;
    uint64_t n_directives; /* given, less those taken back by trace_undo_last */
    double log_weight;     /* particle weight */
    /* For the error of the evidence (inference/particles/op_particles.c). The last two are the same
     * in all particles of a model. */
    struct ancestry {
        uint32_t from;        /* which particle of the common start this one descends from */
        uint32_t generations; /* populations since that start, inclusive; 0: no start yet */
        double variance;      /* relative variance of the evidence at that start */
    } ancestry;
};

/* Facts about a node. */
static inline value node_value(const struct node *n) { /* borrowed */
    return ((const struct cell *)n)->val;
}
uint64_t node_seq(const struct node *n); /* unique number of the node */
/* The first free choice in evaluation order whose number is not in `known`; NULL if every choice is
 * known. All choices it depends on come before it. */
struct node *trace_first_choice(struct trace *t, const uint64_t *known, size_t n);
/* Identifies the place in the program and the named blocks of the draw. Corresponding choices in
 * other states and in copies of the trace have the same number. */
uint64_t node_origin(const struct node *n);
/* Where a tag of the scope reads the memoized value that the choice belongs to. The span is empty
 * if the choice was made inside the tag, or if no tag reads it. */
struct span node_read_in(const struct node *n, value scope);
/* Does any random choice or observation depend on this value, directly or through other nodes? */
bool node_matters(const struct node *n);
value node_procedure(const struct node *n);     /* the procedure it applies; borrowed */
value node_arg(const struct node *n, size_t i); /* argument i, from 1 on; borrowed */
/* Facts about a directive: number i of a record. */
enum record_kind { REC_ASSUME, REC_OBSERVE, REC_PREDICT };
struct recorded {
    const struct record *r;
    uint32_t i;
};
enum record_kind record_kind(const struct record *r);
struct sym *record_label(const struct record *r); /* NULL if unlabelled */
uint32_t record_size(const struct record *r);     /* directives that it holds */
value record_value(const struct record *r);       /* the first directive's; borrowed */
value recorded_value(struct recorded d);          /* of the expression; borrowed */
value recorded_observed(struct recorded d);       /* in the form the choice holds it; borrowed */
struct span recorded_span(struct recorded d);     /* of the expression */
/* Steps through the directives of a trace. Start with d.r NULL and *at 0 (the record number);
 * returns false after the last. */
bool trace_next_recorded(const struct trace *t, size_t *at, struct recorded *d);
/* Calls `each` for every random choice that went into the value of a directive. Choices of other
 * directives that it reads are left out. Values are borrowed. blocks[i] is ABSENT for a tag without
 * a named block. */
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
/* Names that the model assumes, in order. Release *out with mem_free. */
size_t trace_names(const struct trace *t, const char ***out);

/* Assumed names, and values of memoized procedures written name[argument], that depend on a free
 * choice. They come in program order and are valid while t->structure stays the same. */
struct trace_quantity {
    char *name;        /* owned */
    struct node *node; /* the node that supplies its value */
};
size_t trace_quantities(const struct trace *t, struct trace_quantity **out);
void trace_quantities_free(struct trace_quantity *q, size_t n);

struct trace *trace_new(struct session_core *core, struct rng rng);
void trace_free(struct trace *t);
/* For the cycle collector: visits every value the trace holds. */
void trace_visit(struct trace *t, struct visitor *v);
/* A deep copy of all layers with the same generator state. Split the generator for an independent
 * stream. */
struct trace *trace_clone(struct trace *t);
/* Layers (layer.c). Returns a second trace in the same state as *t. Both continue from that state
 * and share its storage. Directives can be added to a layered trace directly. Call trace_whole
 * before anything that may change or walk existing nodes. After trace_share, node pointers from *t
 * are invalid; after trace_whole of a layered trace they are invalid, too. */
struct trace *trace_share(struct trace **t) GPM_MUST_USE;
void trace_whole(struct trace *t);

/* Directives. On failure the trace is unchanged. `frame` is the splice frame of the model
 * expression (the callee counts a reference); `ast` is the expression inside AST_MODEL. */
enum gpm_status trace_assume(struct trace *t, struct sym *const *names, size_t n, struct sym *label,
                             const struct ast *ast, struct frame *frame, value *out) GPM_MUST_USE;
enum gpm_status trace_predict(struct trace *t, struct sym *label, const struct ast *ast,
                              struct frame *frame, value *out) GPM_MUST_USE;
/* Evaluates n expressions one after the other, returns their values, then removes all of them. */
enum gpm_status trace_sample(struct trace *t, const struct ast *const *ast,
                             struct frame *const *frame, size_t n, value *out) GPM_MUST_USE;
enum gpm_status trace_observe(struct trace *t, struct sym *label, const struct ast *ast,
                              struct frame *frame, value v, double *weight) GPM_MUST_USE;
enum gpm_status trace_force(struct trace *t, const struct ast *ast, struct frame *frame, value v,
                            double *weight) GPM_MUST_USE;
/* Messages shared by directives and by the check before a run. `first`: where the name was assumed.
 * `from`: the row whose value cannot be observed, applied at `made`. `names`: the existing
 * labels. */
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
/* The statistics of the made procedure that the expression evaluates to; an error if it keeps
 * none. */
enum gpm_status trace_stats(struct trace *t, const struct ast *ast, struct frame *frame,
                            struct span at, value *out) GPM_MUST_USE;
/* Draws new data for observe directives, given all other choices. Each out[i] is owned. The trace
 * ends unchanged. */
enum gpm_status trace_replicate(struct trace *t, const struct recorded *of, size_t n,
                                value *out) GPM_MUST_USE;
/* Log densities of the data of one observe: one per element if the elements are independent, else
 * one for the whole. For a procedure with statistics each is log p(y_i | all other data,
 * parameters), the quantity that leave-one-out needs. Release *each with mem_free. */
enum gpm_status trace_log_likelihood(struct trace *t, struct recorded d, double **each,
                                     size_t *n) GPM_MUST_USE;
/* Takes the newest directive back. */
void trace_undo_last(struct trace *t);

/* A copy of v that may outlive the trace: closures see copies of the values they close over.
 * Owned. */
value trace_export(struct trace *t, value v);

/* Call before a name changes its meaning, through a definition of the inference program (defines)
 * or through the model. Fails if a procedure of the inference program reads the name for the model.
 * Directives that look it up later keep its current meaning. */
enum gpm_status trace_change_name(struct trace *t, struct sym *name, bool defines,
                                  struct span at) GPM_MUST_USE;

/* Scopes and blocks. A block is live while it holds choices; live blocks are unordered. */
struct scope *trace_scope(struct trace *t, value name); /* NULL if no tag uses the name */
value scope_name(const struct scope *s);                /* borrowed */
size_t scope_live(const struct scope *s);               /* number of live blocks */
struct scope_block *scope_find_block(struct scope *s, value id);
value block_id(const struct scope_block *b);                                    /* borrowed */
void block_choices(const struct scope_block *b, struct node ***out, size_t *n); /* mem_free *out */
/* The choices of a live block picked uniformly. At least one block must be live. */
void scope_pick(const struct scope *s, struct rng *rng, struct node ***out, size_t *n);
void scopes_sorted(struct scope *s, struct scope_block ***out,
                   size_t *n); /* live blocks, sorted by id; mem_free */
/* For messages: the ids of the first blocks, "1, 2, ...". */
void scope_show_blocks(const struct scope *s, struct buf *out);

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
/* Factors of the weight of the current state after regen (factors.c). Principals from number
 * `first` on are summed over; scopes number them 0, 1, ... */
struct factors;
struct factors *factors_new(struct scaffold *s, size_t first);
void factors_free(struct factors *f);
/* Finds the dependencies in the current state. *grew: some are new since earlier reads. */
enum gpm_status factors_read(struct factors *f, bool *grew) GPM_MUST_USE;
size_t factors_count(const struct factors *f);
double factors_weight(const struct factors *f, size_t i); /* in the current state */
size_t factors_of_node(const struct factors *f,
                       const struct node *n); /* node: an entry of the scaffold */
const uint32_t *factors_scope(const struct factors *f, size_t i, size_t *n); /* ascending */
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

/* Flat steps leave copies of the changed values (at tags, branches and calls) and the densities of
 * observations stale. This brings them up to date. scaffold_build calls it; other readers and
 * writers must call it after flat steps. */
void trace_settle(struct trace *t);

/* Facts about a choice. */
enum gpm_status node_support(struct trace *t, struct node *n, struct sp_support *out) GPM_MUST_USE;
enum gpm_status node_enumerate(struct trace *t, struct node *n, value **vals,
                               size_t *count) GPM_MUST_USE;
/* The log density of the node's value, from node->logp if that is valid. */
enum gpm_status node_logp(struct trace *t, struct node *n, double *out) GPM_MUST_USE;
enum gpm_status node_density(struct trace *t, struct node *n, value v, double *out) GPM_MUST_USE;
/* Is the choice normal given its arguments (struct sp_class, normal), without bounds? node_prior
 * then gives a draw from its prior (owned) and its mean (borrowed). */
bool node_is_normal(const struct node *n);
enum gpm_status node_prior(struct trace *t, struct node *n, value *draw, value *mean) GPM_MUST_USE;
const struct sp_class *node_class(const struct node *n); /* NULL if it applies no primitive */
struct span node_span(const struct node *n);

/* Calls fn for every node that is on. */
typedef enum gpm_status node_fn(void *ctx, struct trace *t, struct node *n);
enum gpm_status trace_each_node(struct trace *t, node_fn *fn, void *ctx) GPM_MUST_USE;
/* The same for one directive; nodes of other directives that it reads are left out. */
enum gpm_status trace_each_in(struct trace *t, struct recorded d, node_fn *fn,
                              void *ctx) GPM_MUST_USE;
/* log P of all random choices and observations, recomputed from nothing. */
enum gpm_status trace_log_joint(struct trace *t, double *joint, double *likelihood) GPM_MUST_USE;
/* Checks every invariant and describes a violation in `why`. */
bool trace_check(struct trace *t, struct buf *why);
/* Has the trace ever held a choice without a prior to draw from (SP_IMPROPER)? */
bool trace_had_improper(const struct trace *t);
/* Bytes of all applications (nodes, links, requests, directives) and their number. Layers in `seen`
 * are skipped; the others are added to it. */
size_t trace_memory(struct trace *t, struct map *seen, size_t *n_apps);
#endif
