/* SPDX-License-Identifier: Apache-2.0
 *
 * Inference programming: actions, models with particles, and the table of operators. An operator is
 * one row (struct infer_op) of a family table listed in front/rows.c; it sees traces only through
 * trace.h, proposal.h, directives.h and scopes.h of runtime/trace, so a new one touches one file.
 *
 * This header has the state of inference (model.c; of operators infer_index.c; packed infer_pack.c)
 * and what actions of their own kind run (redraw.c, collect.c, callback.c, run_inside.c, exact.c).
 * Models, guards, rows, actions, targets and subproblems have headers of their own, which it
 * includes, since operators need them all.
 *
 * Operators of the common form op(scope, block, extra..., transitions) or
 * op(subproblem, extra..., transitions) give in their row the defaults of block and extra, and what
 * one transition does (step). infer_steps handles particles, blocks and counting.
 */
#ifndef INFER_INFER_H
#define INFER_INFER_H
#include "inference/run/guard.h"
#include "inference/run/subproblem.h"
#include "runtime/trace/directives.h"
#include "runtime/trace/proposal.h"
#include <string.h>

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
    bool told_dropped;     /* that the rows of a collect are dropped was said */
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

enum gpm_status collect_run(struct infer_state *x, struct action *a, bool dropped,
                            value *out) GPM_MUST_USE;
void infer_bind_callback(struct infer_state *x, const char *name, callback_fn *f, void *user);
enum gpm_status callback_run(struct infer_state *x, struct action *a, const struct sym *name,
                             value *out) GPM_MUST_USE;

/* Is v the symbol `name` (one, all, each, ...)? */
static inline bool infer_is_name(value v, const char *name) { /* called at every transition */
    size_t n = strlen(name);
    return v.tag == V_SYM && v.u.sym && v.u.sym->len == n && !memcmp(v.u.sym->text, name, n);
}
/* Raises an error at the current action. */
#define infer_error(x, code, ...) diag_raise((x)->core->diags, code, (x)->at, __VA_ARGS__)
/* A dictionary of n numbers. */
value infer_numbers(const char *const *keys, const double *vals, size_t n);
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
