/* SPDX-License-Identifier: Apache-2.0
 *
 * The session's core: everything shared by its evaluators, traces and operators. Builtins,
 * definitions, limits, hooks of the layers above; code as data. */
#ifndef CORE_CORE_H
#define CORE_CORE_H
#include "base/work.h"
#include "numeric/special/rng.h"
#include "runtime/core/bindings.h"
#include "runtime/core/waypoint.h"

struct nest;

/* The part of a model that its procedures see; a trace begins with one. Two persistent maps hold
 * the contents of lower layers (runtime/trace/layer.c). Nodes, memoized procedures and families of
 * lower layers have numbers below `first`, which is 0 without such layers. */
struct world {
    struct rng rng;
    struct map globals;   /* sym -> struct node *: assumed names */
    struct pmap *names;   /* of lower layers: sym -> node; sym + 1 -> directive with that label */
    struct pmap *entries; /* entries added to memo tables of lower layers */
    VEC(struct memo_entry *) added; /* entries owned by this world */
    uint64_t first;
    uint64_t stamp; /* renewed when names are looked up together (pure.h); 0: names have changed */
};
/* The table of a memoized procedure as seen by this world (w NULL: its own table). Families made in
 * a layer above the procedure are not in its own table, which other layers share. */
struct memo_entry *world_memo_find(const struct world *w, struct memo_proc *m, value key);
struct memo_entry *world_memo_insert(struct world *w, struct memo_proc *m, value key);
void world_memo_remove(struct world *w, struct memo_proc *m, value key);
static inline struct node *world_find(const struct world *w, const struct sym *name) {
    struct node *n = map_get(&w->globals, MAP_PTR(name));
    return n || !w->names ? n : pmap_get(w->names, MAP_PTR(name));
}

/* Everything that one session shares among its evaluators, traces and operators. One thread at a
 * time uses it; other threads may only set `interrupted`. Names are looked up in three maps, in
 * this order: the model's own (struct world), defines, builtins. */
struct session_core {
    struct sym_table *syms;
    struct diags *diags;
    struct sp_host host;
    struct rng rng;      /* random numbers of the inference program */
    struct map builtins; /* sym -> struct cell* of the builtin procedure or value */
    struct map defines;  /* sym -> struct define_slot* : inference globals */
    VEC(struct sym *) define_names;
    VEC(struct code *) texts;       /* that may still be referred to */
    size_t drop_at;                 /* number of texts that triggers a search for unused ones */
    struct frame *frames;           /* all frames, for the cycle collector */
    size_t frames_made, collect_at; /* since the last collection; when the next one is due */
    const char *stack_limit;        /* lowest address the C stack may reach */
    struct work_limits limits;      /* of the run */
    size_t max_nodes;               /* per trace; 0: unlimited */
    unsigned memory_tick;
    bool watch_memory;       /* stop on memory shortage; off while reading the prelude */
    unsigned long shortages; /* mem_shortages() when the run began */
    const char *unsound;     /* failure noted by core_must, or NULL */
    unsigned tick;
    /* Hooks of the layers above. */
    enum gpm_status (*run_action)(struct session_core *core, value action, struct span at,
                                  value *out);
    enum gpm_status (*make_directive)(struct session_core *core, const struct ast *a,
                                      struct frame *f, value *out);
    /* Applies inference operators: rows without simulate. */
    enum gpm_status (*apply_op)(struct session_core *core, const struct sp_class *cls,
                                const value *args, size_t n, struct span at, value *out);
    bool (*names_action)(value v); /* is v the action of a builtin name: pass */
    /* run(a) of a model, for the run n (nest.h): evaluates a's expression and runs the action. */
    enum gpm_status (*run_nested)(struct session_core *core, struct nest *n, const struct ast *a,
                                  struct frame *f, value *out);
    void *session;
    struct world *model;       /* the model that procedures are called for, or NULL */
    struct nest *nest;         /* the current run inside a model, or NULL */
    bool dropping;             /* the value of the action run next will be discarded */
    struct map sigs;           /* sp_class* of made procedures -> struct sp_sig* */
    struct compiler *compiler; /* procedures compiled to numbers (compile.h), or NULL */
    bool compiling;            /* values may be marks */
    uint64_t stamps, defined;  /* last stamp given; stamp of the last change of a definition */
    VEC(value) library;        /* the prelude's definitions, in order */
    struct waypoints places;   /* the program's current places */
};
/* Of the model at work, or of the session. */
static inline struct rng *core_rng(struct session_core *core) {
    return core->model ? &core->model->rng : &core->rng;
}
static inline struct session_core *core_of_host(struct sp_host *h) {
    return (struct session_core *)((char *)h - offsetof(struct session_core, host));
}
struct define_slot {
    value v;
    bool library; /* from the prelude; a name assumed by the model takes precedence */
    bool data;    /* given from outside; the program may not redefine it */
};

/* Call between evaluations: checks time, Ctrl-C, C stack and memory. GPM_OK, or GPM_E_USER with a
 * diagnostic. */
enum gpm_status core_poll(struct session_core *core, struct span at) GPM_MUST_USE;
/* The error of a run that was asked to stop or exceeded its time. */
enum gpm_status core_stop(struct session_core *core, struct span at);
/* Call at the end of an instruction with its status st, before it counts. An abandoned walk
 * (base/work.h) ends the instruction, and its error replaces any other. */
enum gpm_status core_check_cut(struct session_core *core, enum gpm_status st, struct span at);
/* Checks memory only; call at the end of an instruction, before it counts. */
enum gpm_status core_check_memory(struct session_core *core, struct span at) GPM_MUST_USE;
/* For steps that can only fail because of a bug, at a point where rollback is no longer possible
 * (undoing, restoring). The failure is noted. It ends the instruction at the next poll or at its
 * end, and the instruction's guard then restores the model. */
void core_must(struct session_core *core, enum gpm_status st, const char *what);
/* Reports the noted failure, if any, once: GPM_E_USER with a diagnostic. */
enum gpm_status core_check_sound(struct session_core *core, struct span at) GPM_MUST_USE;
/* The code of a text about to be parsed and run; owned. Unreferenced texts are freed. */
struct code *core_text(struct session_core *core, const char *name, const char *text, size_t len);
/* The same, parsed: *program is its root. *code is NULL on failure. */
enum gpm_status core_parse(struct session_core *core, const char *name, const char *text,
                           size_t len, bool interactive, struct code **code,
                           struct ast **program) GPM_MUST_USE;
struct cell *core_literal(struct session_core *core, const struct ast *a); /* value of a literal */
/* The row and state of a primitive procedure value; NULL for compound or memoized procedures and
 * for other values. */
static inline const struct sp_class *proc_class(value op, void **state) {
    const struct sp_proc *p = sp_proc_of(op);
    if (p && state) *state = p->state ? p->state->data : NULL;
    return p ? p->cls : NULL;
}
/* If st is an error, sets the place of the last diagnostic to `at`; returns st. */
enum gpm_status core_place(struct session_core *core, enum gpm_status st, struct span at);
void core_init(struct session_core *core);
void core_release(struct session_core *core);
struct env_box {
    struct box box;
    struct frame *frame; /* counted */
};
extern const struct box_class env_class;
/* Calls in tail position that replaced their caller. There may be any number; the first and last
 * ones are kept for messages, newest last. */
enum { TAIL_FIRST = 2, TAIL_LAST = 4 };
struct tail_calls {
    size_t n;
    struct tail_call {
        struct span at;
        const struct sym *self; /* the procedure's name, or NULL */
    } first[TAIL_FIRST], last[TAIL_LAST];
};
static inline void tail_call(struct tail_calls *c, struct span at, const struct sym *self) {
    struct tail_call now = {at, self};
    if (c->n < TAIL_FIRST) c->first[c->n] = now;
    c->last[c->n++ % TAIL_LAST] = now;
}
/* For an error: "in a call of ...". */
void core_tell_call(struct session_core *core, struct span at, const struct sym *self);
void tail_calls_tell(struct session_core *core, const struct tail_calls *c);
/* Errors of both evaluators. */
enum gpm_status core_wrong_arity(struct session_core *core, const struct ast *lambda, size_t n,
                                 struct span at);
enum gpm_status core_not_procedure(struct session_core *core, value v, struct span at);
enum gpm_status core_memo_loop(struct session_core *core, struct span at);
/* v does not have n parts to bind to n names. */
enum gpm_status core_wrong_parts(struct session_core *core, value v, size_t n, struct span at);
/* The truth of a condition that is a boolean or a number. */
enum gpm_status core_truth(struct session_core *core, value v, struct span at,
                           bool *truth) GPM_MUST_USE;
void core_bind_builtin(struct session_core *core, const char *name, value v_taken);
struct cell *core_builtin(struct session_core *core, const char *name);
/* Syntax as data and back. The caller owns code made from data: code_unref(a->code). Its names are
 * resolved in the frames from `env` up. by_hand: for eval, where arrays or lists built by a program
 * are code, too. */
value core_quote(struct session_core *core, const struct ast *a, struct frame *splices);
struct ast *core_code(struct session_core *core, value data, bool by_hand, struct frame *env,
                      struct span at);
/* quote(e) in a model expression whose e has splices; f or an enclosing frame holds their values.
 * Owned. False: no splices, so it is a constant. */
bool core_quote_splices(struct session_core *core, const struct ast *quote, struct frame *f,
                        value *out);
bool core_quote_has_splices(const struct ast *quote);
value env_value(struct frame *f);                /* an environment; the frame is counted */
static inline struct frame *env_frame(value v) { /* borrowed; NULL: top level */
    return v.tag == V_ENV ? ((struct env_box *)v.u.box)->frame : NULL;
}
/* extend_environment */
enum gpm_status env_extend(struct session_core *core, const value *args, struct span at,
                           value *out);
#endif
