/* SPDX-License-Identifier: Apache-2.0
 *
 * Inference programming: actions, models with particles, and the table of operators. An operator is
 * one row (struct infer_op) of a family table listed in infer_index.c; it sees traces only through
 * runtime/trace/trace.h (propose, accept, reject, weigh), so a new one touches one file.
 *
 * Operators of the common form op(scope, block, extra..., transitions) or
 * op(subproblem, extra..., transitions) give in their row the defaults of block and extra, and what
 * one transition does (step). infer_steps handles particles, blocks and counting.
 */
#ifndef INFER_INFER_H
#define INFER_INFER_H
#include "runtime/trace/trace.h"
#include <string.h>

typedef VEC(struct trace *) particles;
void particles_free(particles *p); /* NULL entries are skipped */
/* A model: particles that share directives, at least one. A box value, so programs can hold
 * several. */
struct model {
    struct box box;
    particles p;
    bool begun;       /* moved (op_moves), forced or frozen: no longer a draw from the prior */
    bool looked_at;   /* since the last directive: seen to be possible, or reported impossible */
    uint64_t made_by; /* the run inside a model that made it (nest.h), or 0 */
};
extern const struct box_class model_class;
value model_new(struct session_core *core);
struct model *model_of(value v); /* NULL for other values */
struct infer_state;
/* A copy that shares layers with the model. From now on the model shares layers, too
 * (model_whole). */
enum gpm_status model_fork(struct infer_state *x, struct model *m, value *out) GPM_MUST_USE;
/* Adds a copy of a particle with its own random stream. Adds none if memory runs short. */
enum gpm_status model_add_copy(struct infer_state *x, struct trace **t, particles *to) GPM_MUST_USE;
/* Ends sharing of layers in the model's traces, before anything changes or walks over them
 * (trace_whole). */
enum gpm_status model_whole(struct infer_state *x) GPM_MUST_USE;
/* Call before the model's state is kept or shown. Warns if operators have run and the state still
 * has probability zero, and names the observation it contradicts. */
void model_tell_impossible(struct infer_state *x);
double model_log_weight(const struct model *m); /* log of the sum of the particles' weights */
/* Effective number of particles, (sum w)^2 / sum w^2; 0 if all weights are 0. */
double model_ess(const struct model *m);

/* Protects the model while an instruction runs, so that a failure half way can be undone
 * (guard.c). */
enum guard_state {
    GUARD_FRESH, /* nothing has happened yet */
    GUARD_WHOLE, /* the same, and the next action is the whole instruction */
    GUARD_MOVED, /* only transitions have changed the model */
    GUARD_COPY   /* any change is possible: `copy` holds the old particles */
};
struct guard {
    enum guard_state state;
    struct model *model; /* the protected model, counted, or NULL */
    particles copy;
    struct rng rng; /* the session's generator at that time */
};

/* call_back: see gpm_callback in gpmem/gpmem.h. */
typedef int callback_fn(void *user, const char *args, const char **result, char *err,
                        size_t err_size);
struct callback {
    char *name; /* owned */
    callback_fn *f;
    void *user;
};

/* The state of inference, one per session. core->session points to it. */
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
    struct profile *profile; /* profile.h; NULL unless requested */
    void (*write)(void *user, int stream, const char *text, size_t n);
    void (*show)(void *user, const char *text, const char *type, const char *rich);
    void *show_user;
    bool wrote; /* the instruction wrote output, so a nil value need not be shown */
    void *user;
    /* Receives the numbers that collect gathers; NULL: not wanted. */
    void (*draw)(void *user, const char *const *names, const double *row, size_t n);
    void *draw_user;
    struct draw_row *row; /* the last row passed on (dataset.h), or NULL */
    struct {              /* see progress.h */
        void (*report)(void *user, double share, double elapsed, const char *acceptance);
        void *user;
        bool busy; /* an outer loop reports already */
        double started, said;
    } progress;
    VEC(struct callback) callbacks;
    struct op_states *own; /* infer_own */
    bool each_particle;    /* inside for_each_particle: no modelling directives */
    bool dropped;          /* the value of the next operator will be discarded */
    uint64_t runs;         /* number of runs inside models */
    /* When set, searches for structures end with what they found; NULL: never set. */
    const volatile sig_atomic_t *finish;
};
static inline struct infer_state *infer_of(struct session_core *core) {
    return core->session;
}

/* The private state of an operator, per session or run inside a model. It is zeroed on first use.
 * The classes are listed in infer_index.c, in the order of checkpoints. */
struct op_state_class {
    size_t size;
    void (*free)(void *own);                 /* NULL: nothing to free */
    void (*pack)(struct pack *p, void *own); /* NULL: not alive at checkpoints */
};
void *infer_own(const struct infer_state *x, const struct op_state_class *cls);
struct op_states *op_states_new(void);
void op_states_free(struct op_states *s);
void op_states_pack(struct pack *p, struct infer_state *x);

enum {
    OP_PLAIN = 1,      /* runs at once and gives a value; other operators build an action */
    OP_VALUE = 2,      /* the name is bound to the action itself, without arguments: pass */
    OP_OPEN = 4,       /* may run while part of the model is detached */
    OP_STEPS = 8,      /* changes the model only by infer_transitions and moves (move.h) */
    OP_EXACT = 16,     /* value from its arguments, or independent of the model's choices */
    OP_SHARED = 32,    /* accepts traces that share layers; others get whole ones */
    OP_ATOMIC = 64,    /* a failure leaves the model unchanged: needs no guard on its own */
    OP_COMBINES = 128, /* only runs other actions, which are guarded themselves */
    OP_RESUMES = 256,  /* begins with a place (runtime/core/waypoint.h), as transitions do */
    OP_MOVES = 512     /* without OP_STEPS: leaves choices that are no longer draws of the prior */
};
struct action;
struct step;
typedef enum gpm_status op_fn(struct infer_state *x, const struct action *a, value *out);
struct infer_op {
    const char *name, *sig, *doc, *example;
    unsigned flags;
    op_fn *run; /* *out is NIL before; the signature has checked the arguments */
    int how;    /* distinguishes rows that share a function */
    /* For (scope: target, block?: block, extras..., transitions?: count): */
    const char *block;   /* default */
    size_t n_extra;      /* arguments between block and transitions */
    double extra[2];     /* defaults */
    const char *counted; /* what the last extra counts, at least 1; NULL: not a count */
    enum { NEEDS_ANY, NEEDS_CONTINUOUS, NEEDS_ONE_CONTINUOUS, NEEDS_DISCRETE } needs;
    unsigned touches; /* enum sp_touch */
    bool steps_last;  /* a single number after the block is the transitions: nuts(s, b, 100) */
    /* With run = infer_steps: one transition. With run = infer_each: the value in one particle; nil
     * in all particles means no result. */
    enum gpm_status (*step)(struct step *s);
    enum gpm_status (*each)(struct infer_state *x, const struct action *a, struct trace *t,
                            value *out);
};
op_fn infer_steps, infer_each;
/* Initialisers of such rows. */
#define STEPS(fn, default_) .flags = OP_STEPS, .run = infer_steps, .step = fn, .block = default_
#define EACH(fn)            .run = infer_each, .each = fn
/* The row as a procedure class, for signatures, keywords and help; for the index. */
extern const struct infer_op *const infer_families[]; /* front/rows.c; ends with NULL */
size_t sp_operator_make(const struct sp_class **rows);
/* The operator of a class, or NULL. */
static inline const struct infer_op *infer_op_of(const struct sp_class *cls) {
    return cls->flags & SP_INFERENCE_ONLY ? cls->of : NULL;
}

/* Guards (guard.c). Functions that can fail do so when memory is short. */
void guard_begin(struct infer_state *x);
void guard_whole(struct infer_state *x, bool whole); /* the next action is the whole instruction */
void guard_moved(struct infer_state *x);             /* before transitions */
/* Call before an action. changes: it changes the model by more than transitions. An action that is
 * the whole instruction needs no copy. share: it accepts traces that share layers, so the copy may
 * share them. */
enum gpm_status guard_action(struct infer_state *x, bool changes, bool share) GPM_MUST_USE;
/* Call before a directive that constrains existing choices; it can fail on one particle after
 * succeeding on others. */
enum gpm_status guard_particles(struct infer_state *x) GPM_MUST_USE;
void guard_end(struct infer_state *x, bool ok); /* not ok: restores the old state */

/* Actions. */
enum action_kind { ACTION_OP, ACTION_BLOCK, ACTION_DIRECTIVE, ACTION_EVAL };
struct action {
    struct box box;
    enum action_kind kind;
    struct span at;
    const struct infer_op *op;
    value *args; /* ACTION_OP; owned (borrowed while an OP_PLAIN runs) */
    size_t n;
    const struct ast *ast;  /* other kinds */
    struct frame *frame;    /* ACTION_BLOCK, ACTION_EVAL: frame around it; counted */
    struct frame **splices; /* ACTION_DIRECTIVE: one per model expression; counted */
    size_t n_splices;
    value val;   /* observe, force: the value; infer: the action */
    value label; /* computed label, or NIL */
    value name;  /* computed name of assume, or NIL */
};
extern const struct box_class action_class;
struct action *action_of(value v); /* NULL for other values */
/* Argument i of an operator; ABSENT if left out. */
static inline value action_arg(const struct action *a, size_t i) {
    return i < a->n ? a->args[i] : ABSENT;
}
/* Reads argument i, a count by the signature, if given; an error above `most`. */
enum gpm_status action_count(struct infer_state *x, const struct action *a, size_t i,
                             const char *name, double most, size_t *out);
bool action_named(value v); /* is it bound to a name (OP_VALUE)? */
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

/* Runs f, which evaluates in the model. After a domain error it draws the choices again and
 * retries, up to 100 times. It does so only while the model has one particle and only directives
 * have changed it. */
typedef enum gpm_status redraw_fn(struct infer_state *x, void *ctx, value *out);
enum gpm_status redraw_run(struct infer_state *x, redraw_fn *f, void *ctx, value *out) GPM_MUST_USE;

enum gpm_status collect_run(struct infer_state *x, struct action *a, value *out) GPM_MUST_USE;
void infer_bind_callback(struct infer_state *x, const char *name, callback_fn *f, void *user);
enum gpm_status callback_run(struct infer_state *x, struct action *a, const struct sym *name,
                             value *out) GPM_MUST_USE;

/* The target of an operator of the common form. */
struct target {
    const struct infer_op *op; /* NULL: not from a row */
    value scope, block;        /* borrowed; for a selection: the name of its statistics, and NIL */
    const struct subproblem *sub; /* borrowed; NULL: scope and block suffice */
    double transitions;
    value extra[2]; /* borrowed; numbers default to the row's values */
    bool again;     /* the model is unchanged since this target's last transition */
};
/* One transition on the block of a scope, or on a subproblem in place of the scope. */
struct target infer_aim(struct infer_state *x, value scope, value block);
enum gpm_status infer_target(struct infer_state *x, const struct action *a,
                             struct target *out) GPM_MUST_USE;
/* The label given by a symbol, a string or a number. */
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
    bool again;      /* the same step was made before, with nothing in between */
    bool redraws;    /* may redraw values of random functions (scaffold_build_redrawing) */
    bool marginal;   /* may sum out choices named by marginalize (move.h) */
    double log_pick; /* of the old state, set by step_begin */
    bool accepted;   /* initially false */
};
typedef enum gpm_status step_fn(struct step *s);
/* Notes log P(block | x) before anything is taken out. Moves and scaffolds (move.h) call it. */
void step_begin(struct step *s);
/* The Metropolis-Hastings rule (mh_accept) for the new state just built, with
 *
 *     log alpha = w_new - w_old + log_q + log P(block | x') - log P(block | x)
 *
 * log_q = log q(x' -> x) - log q(x -> x') of the proposal within the block. */
bool step_accept(const struct step *s, double w_old, double w_new, double log_q);
/* For every particle, `transitions` times: picks the block or blocks the target names and calls
 * fn. */
enum gpm_status infer_transitions(struct infer_state *x, const struct target *g, step_fn *fn,
                                  void *ctx) GPM_MUST_USE;
struct node_set {
    struct node **at;
    size_t n;
};
typedef VEC(struct node_set) node_sets;
/* The choices a target currently names, one set per block in order (pgibbs). Free with
 * node_sets_free, also after a failure. */
enum gpm_status infer_target_sets(struct infer_state *x, struct trace *t, const struct target *g,
                                  node_sets *out) GPM_MUST_USE;
void node_sets_free(node_sets *sets);
void node_set_join(struct node_set *a, const struct node_set *b); /* a = union of a and b */
value node_set_values(struct trace *t, const struct node_set *s); /* array of the choices' values */
/* All of them as one set; mem_free out->at, which is NULL on failure. */
enum gpm_status infer_target_all(struct infer_state *x, struct trace *t, const struct target *g,
                                 struct node_set *out) GPM_MUST_USE;
/* Is v the symbol `name` (one, all, each, ...)? */
static inline bool infer_is_name(value v, const char *name) { /* called at every transition */
    size_t n = strlen(name);
    return v.tag == V_SYM && v.u.sym && v.u.sym->len == n && !memcmp(v.u.sym->text, name, n);
}
/* Raises an error at the current action. */
#define infer_error(x, code, ...) diag_raise((x)->core->diags, code, (x)->at, __VA_ARGS__)
/* A dictionary of n numbers. */
value infer_numbers(const char *const *keys, const double *vals, size_t n);
/* Ends a pending detach: keeps a regenerated part, or restores one that is still out (an error if
 * `complain`). Called before anything else touches the model. */
enum gpm_status infer_close(struct infer_state *x, bool complain);
/* Makes `want` draws by weight and adds to count[i] how often particle i is drawn; total =
 * model_log_weight. If every weight is 0 all are equally likely. systematic: one random number
 * serves all draws, so a particle with share s is drawn floor(s * want) times or once more. */
size_t infer_first_above(const double *upto, size_t n, double u); /* first above u, or n; sorted */
void infer_draw_particles(struct infer_state *x, double total, bool systematic, size_t want,
                          size_t *count);
/* Reduces the current model to particle i for a while. infer_take_back gets the old particles back,
 * with the status and result of what ran in between. That may replace the trace but must not make
 * several. */
/* While the model is reduced to one particle: it is particle `at` of n, with this total weight. */
struct lent {
    size_t n, at; /* n 0: not reduced */
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
    SUB_EXTENT, /* the choices of selection `a` */
    SUB_UNION,
    SUB_INTERSECTION,
    SUB_RANDOM_SINGLE,
    SUB_CHOSEN /* a: numbers of the choices; b: the subproblem they are from */
};
struct subproblem {
    struct box box;
    enum sub_kind kind;
    value a, b; /* scope and block, tag and value, inner subproblems */
};
extern const struct box_class subproblem_class, proposal_class;
value subproblem_new(enum sub_kind kind, value a, value b);
struct subproblem *subproblem_of(value v);
/* The (scope, block) or (subproblem) arguments of an operator as a subproblem. Owned. */
value subproblem_given(struct infer_state *x, const struct action *a);
/* The choices of one live block picked uniformly; for scope default, one choice. */
enum gpm_status infer_pick_block(struct infer_state *x, struct trace *t, value scope,
                                 struct node_set *out) GPM_MUST_USE;
enum gpm_status subproblem_choices(struct infer_state *x, struct trace *t,
                                   const struct subproblem *s, struct node_set *out) GPM_MUST_USE;
/* Choices as a value that a program can hold, by their numbers (seq), which outlive node
 * pointers. */
value subproblem_chosen(struct node **at, size_t n, value from);
/* The choices that a subproblem currently names, as a new subproblem: a random block is picked now.
 * Owned. */
enum gpm_status subproblem_settle(struct infer_state *x, value sub, value *out) GPM_MUST_USE;
/* Messages of operators and of the check before a run. `have`: the existing scopes or blocks. */
enum gpm_status infer_no_scope(struct diags *d, value scope, struct span at, const value *have,
                               size_t n);
enum gpm_status infer_no_block(struct diags *d, value scope, value block, struct span at,
                               const char *have);
enum gpm_status infer_no_default_block(struct diags *d, value block, struct span at);
enum gpm_status infer_not_action(struct diags *d, value v, struct span at);
/* An operator got choices of the wrong kind, such as one of class cls at `choice`. It is in the
 * scope because a tag reads it at `read`. */
enum gpm_status infer_wrong_kind(struct diags *d, const struct infer_op *op, value scope,
                                 const struct sp_class *cls, struct span choice, struct span read,
                                 struct span at);
/* Adds to an error why the choice is in the scope: a tag reads it there. */
enum gpm_status infer_why_there(struct diags *d, value scope, struct span read);
/* An error that lists the existing scopes; GPM_OK if some tag in the program text names the
 * scope. */
enum gpm_status infer_unknown_scope(struct infer_state *x, struct trace *t,
                                    value scope) GPM_MUST_USE;
/* An error that lists the existing blocks. */
enum gpm_status infer_unknown_block(struct infer_state *x, struct scope *s,
                                    value block) GPM_MUST_USE;
/* For the box classes (infer_pack.c). */
void model_pack(struct pack *p, struct box *b);
void action_pack(struct pack *p, struct box *b);
void dataset_pack(struct pack *p, struct box *b);
void subproblem_pack(struct pack *p, struct box *b);
void infer_state_init(struct infer_state *x, struct session_core *core);
void infer_state_release(struct infer_state *x);
void infer_write(struct infer_state *x, const char *text, size_t n); /* output of an action */
/* Like infer_write, for output that some listeners accept in a richer form. `rich` is used only if
 * x->show is set. */
void infer_present(struct infer_state *x, const struct buf *text, const char *type,
                   const struct buf *rich);
/* The index of a scope's statistics; counting one more proposal. */
size_t infer_stats_of(struct infer_state *x, value scope);
void infer_count(struct infer_state *x, size_t stats, bool accepted);
/* Registers the scope names mentioned by tags in a syntax tree. */
void infer_note_scopes(struct infer_state *x, const struct ast *a);
#endif
