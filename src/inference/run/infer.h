/* SPDX-License-Identifier: Apache-2.0
 *
 * Inference programming: actions, models with particles, and the table of operators. An operator is
 * one row (struct infer_op) of a family table listed in infer_index.c; it sees traces only through
 * runtime/trace/trace.h (propose, accept, reject, weigh), so a new one touches one file.
 *
 * Operators of the common form op(scope, block, extra..., transitions) or
 * op(subproblem, extra..., transitions) say in their row what is left out (block, extra) and what
 * one transition does (step): infer_steps does the rest, particles, blocks, counting.
 */
#ifndef INFER_INFER_H
#define INFER_INFER_H
#include "runtime/trace/trace.h"
#include <string.h>

typedef VEC(struct trace *) particles;
void particles_free(particles *p); /* NULL: an empty place */
/* A model: particles that share directives, at least one. A box value, so programs can hold
 * several. */
struct model {
    struct box box;
    particles p;
    bool begun; /* moved (op_moves), forced or frozen: the state is more than a draw of the prior */
    bool looked_at;   /* since the last directive its state was seen to be possible, or told not */
    uint64_t made_by; /* the run inside a model that made it (nest.h); 0: none */
};
extern const struct box_class model_class;
value model_new(struct session_core *core);
struct model *model_of(value v); /* NULL: something else */
struct infer_state;
/* A copy that shares layers with the model, which does from now on, too (model_whole). */
enum gpm_status model_fork(struct infer_state *x, struct model *m, value *out) GPM_MUST_USE;
/* One copy of a particle more, which draws from a stream of its own; none where memory runs short.
 */
enum gpm_status model_add_copy(struct infer_state *x, struct trace **t, particles *to) GPM_MUST_USE;
/* The model's traces share no layers from now on: for what changes or walks over them
 * (trace_whole). */
enum gpm_status model_whole(struct infer_state *x) GPM_MUST_USE;
/* Before what it stands for is kept or shown: a warning where operators have run, and its state has
 * probability zero all the same, with the observation that it contradicts. */
void model_tell_impossible(struct infer_state *x);
double model_log_weight(const struct model *m); /* log of the sum of the particles' weights */
/* Effective number of particles, (sum w)^2 / sum w^2; 0: all have weight 0. */
double model_ess(const struct model *m);

/* While an instruction runs: the way back to the model as it was, should the instruction fail half
 * way (guard.c). */
enum guard_state {
    GUARD_FRESH, /* nothing has happened yet */
    GUARD_WHOLE, /* nor has it here; the next action is the whole instruction */
    GUARD_MOVED, /* transitions alone have changed the model */
    GUARD_COPY   /* anything may happen: `copy` holds the particles as they were */
};
struct guard {
    enum guard_state state;
    struct model *model; /* to be protected, counted, or NULL: none */
    particles copy;
    struct rng rng; /* of the session, then */
};

/* call_back: see gpm_callback in gpmem/gpmem.h. */
typedef int callback_fn(void *user, const char *args, const char **result, char *err,
                        size_t err_size);
struct callback {
    char *name; /* owned */
    callback_fn *f;
    void *user;
};

/* What runs: one per session. core->session points at it. */
struct infer_state {
    struct session_core *core;
    struct guard guard;
    struct model *model; /* current; counted */
    struct span at;      /* of the action being run */
    uint32_t next_stream;
    VEC(value) known_scopes; /* scope names that tags of the program text mention */
    struct scope_stats {
        value scope;
        uint64_t proposed, accepted;
    } * stats;
    size_t n_stats;
    struct profile *profile; /* profile.h; NULL: nobody asked */
    void (*write)(void *user, int stream, const char *text, size_t n);
    void (*show)(void *user, const char *text, const char *type, const char *rich);
    void *show_user;
    bool wrote; /* the instruction had output of its own: its value, when it is nil, is no news */
    void *user;
    /* receives what collect gathers, as numbers; NULL: nobody */
    void (*draw)(void *user, const char *const *names, const double *row, size_t n);
    void *draw_user;
    struct draw_row *row; /* the one given last (dataset.h); NULL: none yet */
    struct {              /* see progress.h */
        void (*report)(void *user, double share, double elapsed, const char *acceptance);
        void *user;
        bool busy; /* a loop reports already */
        double started, said;
    } progress;
    VEC(struct callback) callbacks;
    struct op_states *own; /* infer_own */
    bool each_particle;    /* inside for_each_particle: no modelling directives */
    bool dropped;          /* nobody will see what the operator that begins gives */
    uint64_t runs;         /* inside models, so far */
    /* Once it is set, searches for structures end with what they found; NULL: nobody asks. */
    const volatile sig_atomic_t *finish;
};
static inline struct infer_state *infer_of(struct session_core *core) {
    return core->session;
}

/* What an operator keeps for itself, in the session or in a run inside a model: zeros when it is
 * first asked for. The classes are named in infer_index.c, in the order of checkpoints. */
struct op_state_class {
    size_t size;
    void (*free)(void *own);                 /* NULL: it holds nothing */
    void (*pack)(struct pack *p, void *own); /* NULL: it is over before a checkpoint */
};
void *infer_own(const struct infer_state *x, const struct op_state_class *cls);
struct op_states *op_states_new(void);
void op_states_free(struct op_states *s);
void op_states_pack(struct pack *p, struct infer_state *x);

enum {
    OP_PLAIN = 1, /* called at once, gives a value; the others build an action */
    OP_VALUE = 2, /* a name bound to the action itself, called without arguments: pass */
    OP_OPEN = 4,  /* may run while part of the model is detached */
    OP_STEPS = 8, /* changes the model by infer_transitions and moves (move.h) alone */
    OP_EXACT =
        16, /* gives what its arguments give, or what does not depend on the model's choices */
    OP_SHARED = 32,    /* takes traces that share layers as they are; the others get whole ones */
    OP_ATOMIC = 64,    /* leaves the model as it was when it fails: alone it needs no guard */
    OP_COMBINES = 128, /* touches no model itself, but runs actions, which are guarded in turn */
    OP_RESUMES =
        256,       /* begins with a place (runtime/core/waypoint.h), as those of transitions do */
    OP_MOVES = 512 /* leaves choices that are more than draws of the prior, without OP_STEPS */
};
struct action;
struct step;
typedef enum gpm_status op_fn(struct infer_state *x, const struct action *a, value *out);
struct infer_op {
    const char *name, *sig, *doc, *example;
    unsigned flags;
    op_fn *run; /* *out is NIL before; arguments were checked by the signature */
    int how;    /* what tells rows that share a function apart */
    /* Of (scope: target, block?: block, extras..., transitions?: count): */
    const char *block;   /* when it is left out */
    size_t n_extra;      /* arguments between block and transitions */
    double extra[2];     /* when they are left out */
    const char *counted; /* what the last of them counts, at least one; NULL: it may be anything */
    enum { NEEDS_ANY, NEEDS_CONTINUOUS, NEEDS_ONE_CONTINUOUS, NEEDS_DISCRETE } needs;
    unsigned touches; /* enum sp_touch */
    bool steps_last;  /* a single number after the block is the transitions: nuts(s, b, 100) */
    /* Under run = infer_steps: one transition. Under run = infer_each: the value in one particle,
     * nil in all: there is none. */
    enum gpm_status (*step)(struct step *s);
    enum gpm_status (*each)(struct infer_state *x, const struct action *a, struct trace *t,
                            value *out);
};
op_fn infer_steps, infer_each;
/* Fields of such rows. */
#define STEPS(fn, default_) .flags = OP_STEPS, .run = infer_steps, .step = fn, .block = default_
#define EACH(fn)            .run = infer_each, .each = fn
/* The same row as a procedure class, for signatures, keywords and help: for the index. */
extern const struct infer_op *const infer_families[]; /* front/rows.c; ends with NULL */
size_t sp_operator_make(const struct sp_class **rows);
/* The operator that a class stands for; NULL: none. */
static inline const struct infer_op *infer_op_of(const struct sp_class *cls) {
    return cls->flags & SP_INFERENCE_ONLY ? cls->of : NULL;
}

/* Guards (guard.c). What can fail, fails when memory is short. */
void guard_begin(struct infer_state *x);
void guard_whole(struct infer_state *x, bool whole); /* is the next action the whole instruction? */
void guard_moved(struct infer_state *x);             /* before transitions */
/* Before an action. changes: otherwise than by transitions; what is the whole instruction needs no
 * copy. share: it works on traces that share layers, so that the copy may do so, too. */
enum gpm_status guard_action(struct infer_state *x, bool changes, bool share) GPM_MUST_USE;
/* Before a directive that gives values to choices that are there already: it may fail on one
 * particle when others have them. */
enum gpm_status guard_particles(struct infer_state *x) GPM_MUST_USE;
void guard_end(struct infer_state *x, bool ok); /* not ok: back to how it was */

/* Actions. */
enum action_kind { ACTION_OP, ACTION_BLOCK, ACTION_DIRECTIVE, ACTION_EVAL };
struct action {
    struct box box;
    enum action_kind kind;
    struct span at;
    const struct infer_op *op;
    value *args; /* ACTION_OP; owned (borrowed while an OP_PLAIN runs) */
    size_t n;
    const struct ast *ast;  /* the others */
    struct frame *frame;    /* ACTION_BLOCK, ACTION_EVAL: where it was written; counted */
    struct frame **splices; /* ACTION_DIRECTIVE: one per model expression; counted */
    size_t n_splices;
    value val;   /* observe, force: the value; infer: the action */
    value label; /* computed label, or NIL */
    value name;  /* computed name of assume, or NIL */
};
extern const struct box_class action_class;
struct action *action_of(value v); /* NULL: not an action */
/* Argument i of an operator; ABSENT: left out. */
static inline value action_arg(const struct action *a, size_t i) {
    return i < a->n ? a->args[i] : ABSENT;
}
/* Argument i, which the signature calls a count, where it is given: refused above `most`. */
enum gpm_status action_count(struct infer_state *x, const struct action *a, size_t i,
                             const char *name, double most, size_t *out);
bool action_named(value v); /* one that a name is bound to (OP_VALUE) */
enum gpm_status action_make_op(struct session_core *core, const struct sp_class *cls,
                               const value *args, size_t n, struct span at, value *out);
enum gpm_status action_make(struct session_core *core, const struct ast *a, struct frame *f,
                            value *out);
/* Runs an action value; DIAG_NOT_ACTION otherwise. */
enum gpm_status action_run(struct session_core *core, value v, struct span at,
                           value *out) GPM_MUST_USE;
/* run(a) of a model (run_inside.c). */
struct nest;
enum { NEST_MAX = 200 };
enum gpm_status infer_run_nested(struct session_core *core, struct nest *n, const struct ast *a,
                                 struct frame *f, value *out) GPM_MUST_USE;
/* exact_posterior(e) (exact.c). */
enum gpm_status exact_run(struct infer_state *x, struct action *a, value *out) GPM_MUST_USE;

/* Runs f, which evaluates in the model, and on an error of domain again after drawing the choices
 * anew, up to 100 times, as long as the model has one particle and nothing but directives has
 * worked on it. */
typedef enum gpm_status redraw_fn(struct infer_state *x, void *ctx, value *out);
enum gpm_status redraw_run(struct infer_state *x, redraw_fn *f, void *ctx, value *out) GPM_MUST_USE;

enum gpm_status collect_run(struct infer_state *x, struct action *a, value *out) GPM_MUST_USE;
void infer_bind_callback(struct infer_state *x, const char *name, callback_fn *f, void *user);
enum gpm_status callback_run(struct infer_state *x, struct action *a, const struct sym *name,
                             value *out) GPM_MUST_USE;

/* What an operator of the common form works on. */
struct target {
    const struct infer_op *op; /* NULL: none of a row */
    value scope, block; /* borrowed; of a selection: what its statistics are called by, NIL */
    const struct subproblem *sub; /* borrowed; NULL: scope and block say it all */
    double transitions;
    value extra[2]; /* borrowed; numbers by the row's defaults where left out */
    bool again;     /* nothing has touched the model since the last transition of this target */
};
/* One transition on the block of a scope, or on a subproblem in the place of the scope. */
struct target infer_aim(struct infer_state *x, value scope, value block);
enum gpm_status infer_target(struct infer_state *x, const struct action *a,
                             struct target *out) GPM_MUST_USE;
/* The label that a symbol, a string or a number is. */
enum gpm_status infer_label(struct infer_state *x, value v, struct sym **out) GPM_MUST_USE;
op_fn op_pass; /* does nothing */
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
    bool again;      /* this very step came before, and nothing since */
    bool redraws;    /* values of random functions may be drawn anew (scaffold_build_redrawing) */
    bool marginal;   /* choices that marginalize names may be summed out (move.h) */
    double log_pick; /* of the state before, once step_begin has seen it */
    bool accepted;   /* false before */
};
typedef enum gpm_status step_fn(struct step *s);
/* Before anything is taken out: notes log P(block | x). Moves and scaffolds (move.h) do it. */
void step_begin(struct step *s);
/* The Metropolis-Hastings rule (mh_accept), when the new state is built, with
 *
 *     log alpha = w_new - w_old + log_q + log P(block | x') - log P(block | x)
 *
 * log_q = log q(x' -> x) - log q(x -> x') of the proposal within the block. */
bool step_accept(const struct step *s, double w_old, double w_new, double log_q);
/* For every particle, `transitions` times: picks the block(s) the target names and calls fn. */
enum gpm_status infer_transitions(struct infer_state *x, const struct target *g, step_fn *fn,
                                  void *ctx) GPM_MUST_USE;
struct node_set {
    struct node **at;
    size_t n;
};
typedef VEC(struct node_set) node_sets;
/* The choices a target names now, one set per block in order (pgibbs); free with node_sets_free,
 * also after a failure. */
enum gpm_status infer_target_sets(struct infer_state *x, struct trace *t, const struct target *g,
                                  node_sets *out) GPM_MUST_USE;
void node_sets_free(node_sets *sets);
void node_set_join(struct node_set *a, const struct node_set *b); /* a = a and b, none twice */
value node_set_values(struct trace *t, const struct node_set *s); /* an array of their values */
/* All of them as one set; mem_free out->at, which is NULL on failure. */
enum gpm_status infer_target_all(struct infer_state *x, struct trace *t, const struct target *g,
                                 struct node_set *out) GPM_MUST_USE;
/* The text of a string or symbol; NULL: something else. Borrowed. */
const char *infer_text(value v);
/* Symbols one, all, each, ...: is v that name? */
static inline bool infer_is_name(value v, const char *name) { /* asked at every transition */
    size_t n = strlen(name);
    return v.tag == V_SYM && v.u.sym && v.u.sym->len == n && !memcmp(v.u.sym->text, name, n);
}
/* An error at the action that runs. */
#define infer_error(x, code, ...) diag_raise((x)->core->diags, code, (x)->at, __VA_ARGS__)
/* A dictionary of n numbers. */
value infer_numbers(const char *const *keys, const double *vals, size_t n);
/* Ends what detach began: keeps a regenerated part, restores one that is still out (an error when
 * `complain`). Called before anything else touches the model. */
enum gpm_status infer_close(struct infer_state *x, bool complain);
/* count[i] += how often particle i is drawn in `want` draws by weight, total = model_log_weight;
 * all equally likely when every weight is 0. systematic: by one random number for all, so that a
 * particle of share s is drawn floor(s * want) times, or once more. */
size_t infer_first_above(const double *upto, size_t n, double u); /* n: none; upto ascends */
void infer_draw_particles(struct infer_state *x, double total, bool systematic, size_t want,
                          size_t *count);
/* The current model reduced to particle i for a while: what it was is handed to infer_take_back,
 * with the status and result of what ran meanwhile, which may have replaced the trace. An error
 * when there are several traces now. */
/* While the model is one particle alone: that of n, at place `at`, of a total weight. */
struct lent {
    size_t n, at; /* n 0: it is not */
    double log_weight;
};
struct lent *infer_lent(const struct infer_state *x);
particles infer_lend(struct infer_state *x, size_t i);
enum gpm_status infer_take_back(struct infer_state *x, size_t i, particles all, enum gpm_status st,
                                value *out) GPM_MUST_USE;

/* Subproblems: selections of choices, as values. */
enum sub_kind {
    SUB_SCOPE,
    SUB_TAG,
    SUB_TAG_VALUE,
    SUB_ALL,
    SUB_EXTENT, /* what the choices of `a` are */
    SUB_UNION,
    SUB_INTERSECTION,
    SUB_RANDOM_SINGLE,
    SUB_CHOSEN /* a: array of the choices' numbers; b: the subproblem they came from */
};
struct subproblem {
    struct box box;
    enum sub_kind kind;
    value a, b; /* scope and block, tag and value, inner subproblems */
};
extern const struct box_class subproblem_class, proposal_class;
value subproblem_new(enum sub_kind kind, value a, value b);
struct subproblem *subproblem_of(value v);
/* The arguments (scope, block) or (subproblem) of an operator as a subproblem. Owned. */
value subproblem_given(struct infer_state *x, const struct action *a);
/* The choices of one live block of the scope, uniformly; of default, one choice. */
enum gpm_status infer_pick_block(struct infer_state *x, struct trace *t, value scope,
                                 struct node_set *out) GPM_MUST_USE;
enum gpm_status subproblem_choices(struct infer_state *x, struct trace *t,
                                   const struct subproblem *s, struct node_set *out) GPM_MUST_USE;
/* Choices as a value that a program can hold: by their numbers (seq), which outlive the pointers.
 */
value subproblem_chosen(struct node **at, size_t n, value from);
/* The choices that a subproblem names now, as a subproblem of its own: a block that is picked at
 * random is picked now. Owned. */
enum gpm_status subproblem_settle(struct infer_state *x, value sub, value *out) GPM_MUST_USE;
/* Messages of operators and of the check before a run: `have`, the scopes or blocks there are. */
enum gpm_status infer_no_scope(struct diags *d, value scope, struct span at, const value *have,
                               size_t n);
enum gpm_status infer_no_block(struct diags *d, value scope, value block, struct span at,
                               const char *have);
enum gpm_status infer_no_default_block(struct diags *d, value block, struct span at);
enum gpm_status infer_not_action(struct diags *d, value v, struct span at);
/* An operator whose choices are of the wrong kind, such as that of cls at `choice`, which is in the
 * scope since a tag reads it at `read`. */
enum gpm_status infer_wrong_kind(struct diags *d, const struct infer_op *op, value scope,
                                 const struct sp_class *cls, struct span choice, struct span read,
                                 struct span at);
/* To the error of a choice: why it is in the scope, where a tag reads it. */
enum gpm_status infer_why_there(struct diags *d, value scope, struct span read);
/* An error that lists the scopes there are; GPM_OK when some tag of the program text names it. */
enum gpm_status infer_unknown_scope(struct infer_state *x, struct trace *t,
                                    value scope) GPM_MUST_USE;
/* An error that lists the blocks there are. */
enum gpm_status infer_unknown_block(struct infer_state *x, struct scope *s,
                                    value block) GPM_MUST_USE;
/* For their classes (infer_pack.c). */
struct box *model_pack(struct pack *p, size_t number, struct box *b);
struct box *action_pack(struct pack *p, size_t number, struct box *b);
struct box *dataset_pack(struct pack *p, size_t number, struct box *b);
struct box *subproblem_pack(struct pack *p, size_t number, struct box *b);
void infer_state_init(struct infer_state *x, struct session_core *core);
void infer_state_release(struct infer_state *x);
void infer_write(struct infer_state *x, const char *text, size_t n); /* output of an action */
/* The same for what some listeners take in another form, too: `rich` is made only when x->show
 * listens. */
void infer_present(struct infer_state *x, const struct buf *text, const char *type,
                   const struct buf *rich);
/* Statistics of a scope: their index; one proposal more. */
size_t infer_stats_of(struct infer_state *x, value scope);
void infer_count(struct infer_state *x, size_t stats, bool accepted);
/* Registers the scope names that tags of a syntax tree mention. */
void infer_note_scopes(struct infer_state *x, const struct ast *a);
#endif
