/* SPDX-License-Identifier: Apache-2.0
 *
 * The session's core: what its evaluators, traces and operators share. Builtins, definitions,
 * limits, hooks of the layers above; checks of calls, keyword arguments, code as data.
 */
#ifndef CORE_CORE_H
#define CORE_CORE_H
#include "base/work.h"
#include "numeric/special/rng.h"
#include "runtime/core/bindings.h"
#include "runtime/core/waypoint.h"

struct nest;

/* What procedures of a model see of it: a trace begins with it. What the layers below it hold
 * (runtime/trace/layer.c) is in two persistent maps; nodes, memoized procedures and their families
 * below are those with numbers less than `first`, which is 0 where there is no layer below. */
struct world {
    struct rng rng;
    struct map globals;   /* sym -> struct node *: what it assumes */
    struct pmap *names;   /* of the layers below: sym -> node; sym + 1 -> directive of that label */
    struct pmap *entries; /* of tables of memoized procedures below, by what was added since */
    VEC(struct memo_entry *) added; /* those of them that are this world's own */
    uint64_t first;
    uint64_t
        stamp; /* since its names were last looked at together (pure.h); 0: they have changed */
};
/* The table of a memoized procedure as this world sees it (w NULL: as it is): families that were
 * made above the procedure do not stand in its own table, which others share. */
struct memo_entry *world_memo_find(const struct world *w, struct memo_proc *m, value key);
struct memo_entry *world_memo_insert(struct world *w, struct memo_proc *m, value key);
void world_memo_remove(struct world *w, struct memo_proc *m, value key);
static inline struct node *world_find(const struct world *w, const struct sym *name) {
    struct node *n = map_get(&w->globals, MAP_PTR(name));
    return n || !w->names ? n : pmap_get(w->names, MAP_PTR(name));
}

/* What one session shares among its evaluators, traces and operators. One thread at a time works
 * with it; what other threads may set is `interrupted`. Names lead to values by three maps, asked
 * in this order: the model's own (struct world), defines, builtins. */
struct session_core {
    struct sym_table *syms;
    struct diags *diags;
    struct sp_host host;
    struct rng rng;      /* of the inference program */
    struct map builtins; /* sym -> struct cell* of the builtin procedure or value */
    struct map defines;  /* sym -> struct define_slot* : inference globals */
    VEC(struct sym *) define_names;
    VEC(struct code *) texts;       /* that may still be referred to */
    size_t drop_at;                 /* their number when it is time to look */
    struct frame *frames;           /* all frames, for the collector */
    size_t frames_made, collect_at; /* since the last collection; when the next one is due */
    const char *stack_limit;        /* lowest address the C stack may reach */
    struct work_limits limits;      /* of the run */
    size_t max_nodes;               /* per trace; 0: none */
    unsigned memory_tick;
    bool watch_memory;       /* shortages end the instruction; not while the prelude is read */
    unsigned long shortages; /* mem_shortages() when the run began */
    const char *unsound;     /* what core_must met, or NULL */
    unsigned tick;
    /* hooks of the layers above */
    enum gpm_status (*run_action)(struct session_core *core, value action, struct span at,
                                  value *out);
    enum gpm_status (*make_directive)(struct session_core *core, const struct ast *a,
                                      struct frame *f, value *out);
    /* inference operators: rows without simulate */
    enum gpm_status (*apply_op)(struct session_core *core, const struct sp_class *cls,
                                const value *args, size_t n, struct span at, value *out);
    bool (*names_action)(value v); /* an action that a builtin name is bound to: pass */
    /* run(a) of a model, for the run n (nest.h): evaluates a's expression and runs the action */
    enum gpm_status (*run_nested)(struct session_core *core, struct nest *n, const struct ast *a,
                                  struct frame *f, value *out);
    void *session;
    struct world *model;       /* on whose behalf procedures are called, or NULL */
    struct nest *nest;         /* the run inside a model that is under way, or NULL */
    bool dropping;             /* of the action run next nobody will see the value */
    struct map sigs;           /* sp_class* of made procedures -> struct sp_sig* */
    struct compiler *compiler; /* procedures compiled to numbers (compile.h); NULL: none yet */
    bool compiling;            /* values may be marks */
    uint64_t stamps, defined;  /* the last one given out; when a definition was last changed */
    VEC(value) library;        /* what the prelude defined, in its order */
    struct waypoints places;   /* where the program stands */
};
static inline struct session_core *core_of_host(struct sp_host *h) {
    return (struct session_core *)((char *)h - offsetof(struct session_core, host));
}
struct define_slot {
    value v;
    bool library; /* of the prelude: a name that the model assumes goes before it */
    bool data;    /* given from outside: the program does not define it again */
};

/* Between evaluations: time-out, Ctrl-C, C stack, memory. GPM_OK or GPM_E_USER with a diagnostic.
 */
enum gpm_status core_poll(struct session_core *core, struct span at) GPM_MUST_USE;
/* The error of a run that was asked to stop, or whose time is up. */
enum gpm_status core_stop(struct session_core *core, struct span at);
/* At the end of an instruction of status st, before it counts: a walk that was given up
 * (base/work.h) ends it, and its error takes the place of any other. */
enum gpm_status core_check_cut(struct session_core *core, enum gpm_status st, struct span at);
/* Memory alone: at the end of an instruction, before it counts. */
enum gpm_status core_check_memory(struct session_core *core, struct span at) GPM_MUST_USE;
/* Steps that cannot fail but for a mistake in the program, where nobody could go back any more
 * (undoing, restoring). A failure is remembered, and ends the instruction at the next poll or at
 * its end, so that its guard puts the model back. */
void core_must(struct session_core *core, enum gpm_status st, const char *what);
/* The failure remembered, if any: GPM_E_USER with a diagnostic, once. */
enum gpm_status core_check_sound(struct session_core *core, struct span at) GPM_MUST_USE;
/* A text that is to be parsed and run: its code, owned. The text goes when nothing refers to it. */
struct code *core_text(struct session_core *core, const char *name, const char *text, size_t len);
/* The same, parsed: *program is its root. *code is NULL on failure. */
enum gpm_status core_parse(struct session_core *core, const char *name, const char *text,
                           size_t len, bool interactive, struct code **code,
                           struct ast **program) GPM_MUST_USE;
struct cell *core_literal(struct session_core *core, const struct ast *a); /* its value */
/* The slot that a name stands for; NULL: a global. w: the model that asks, or NULL. Resolution has
 * decided (depth), but a name that an enclosing inference variable could supply is the model's own
 * first. */
static inline bool core_is_global(struct world *w, const struct ast *name, struct frame *f) {
    if (name->u.name.depth < 0 || name->u.name.builtin) return true;
    if (!name->u.name.global_first || !w) return false;
    const struct meaning *m = frame_meaning(f, name->u.name.sym);
    return m ? m->kind != MEANS_VARIABLE : world_find(w, name->u.name.sym) != NULL;
}
static inline struct slot *core_local(struct world *w, const struct ast *name, struct frame *f) {
    return core_is_global(w, name, f) ? NULL
                                      : &frame_up(f, name->u.name.depth)->s[name->u.name.slot];
}
enum gpm_status core_early(struct session_core *core, const struct ast *name); /* slot->unset */
/* The value of a global name in the frame f, borrowed; NULL: unbound. *cell: that of a node of the
 * model or of a builtin, NULL: a definition of the inference program, or what a directive keeps. */
const value *core_global(struct session_core *core, struct world *w, const struct ast *name,
                         struct frame *f, struct cell **cell);
/* The error; `names`: of the model that asked, to be suggested before others. */
enum gpm_status core_unbound(struct session_core *core, struct sym *s, struct span at,
                             const char *const *names, size_t n);
/* The row and state behind a primitive procedure value; NULL: compound, memoized or no procedure.
 */
static inline const struct sp_class *proc_class(value op, void **state) {
    const struct sp_proc *p = sp_proc_of(op);
    if (p && state) *state = p->state ? p->state->data : NULL;
    return p ? p->cls : NULL;
}
/* Fills c for a primitive procedure and checks its arguments; the diagnostic is placed at `at`. */
enum gpm_status core_check_call(struct session_core *core, struct sp_call *c, value op,
                                const value *args, size_t n, struct span at) GPM_MUST_USE;
enum gpm_status core_check_args(struct session_core *core, struct sp_call *c, value op,
                                struct span at) GPM_MUST_USE; /* of a call that is filled */
/* Puts `at` on the last diagnostic when st is an error; returns st. */
enum gpm_status core_place(struct session_core *core, enum gpm_status st, struct span at);
void core_init(struct session_core *core);
void core_release(struct session_core *core);
struct env_box {
    struct box box;
    struct frame *frame; /* counted */
};
extern const struct box_class env_class;
static inline enum sp_special core_special(value op) { /* of a builtin procedure */
    const struct sp_class *cls = proc_class(op, NULL);
    return cls ? cls->special : SPECIAL_NONE;
}
/* The makers of memoizers wrap their source function in mem, but where a store does it. Position of
 * the argument that is the store, or what no call has. */
size_t core_store_position(value op);
bool core_memoizes(value source, value store);
/* Calls that took the place of the call they were the end of, of which there may be any number: the
 * first and the last are kept for messages, newest last. */
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
/* What both evaluators refuse. */
enum gpm_status core_wrong_arity(struct session_core *core, const struct ast *lambda, size_t n,
                                 struct span at);
enum gpm_status core_not_procedure(struct session_core *core, value v, struct span at);
enum gpm_status core_memo_loop(struct session_core *core, struct span at);
/* n names that v cannot be taken apart into. */
enum gpm_status core_wrong_parts(struct session_core *core, value v, size_t n, struct span at);
/* The truth of a condition: a boolean, or a number. */
enum gpm_status core_truth(struct session_core *core, value v, struct span at,
                           bool *truth) GPM_MUST_USE;
void core_bind_builtin(struct session_core *core, const char *name, value v_taken);
/* Number of argument positions of a call, gaps for keywords included. */
size_t core_call_width(struct session_core *core, const struct ast *call, value op);
/* Places keyword arguments: order[i] = position of argument i in the call as applied, to *n
 * positions, of which some may stay empty. */
enum gpm_status core_place_keywords(struct session_core *core, const struct ast *call, value op,
                                    size_t *order, size_t *n) GPM_MUST_USE;
/* Syntax as data and back. Code made of data belongs to the caller: code_unref(a->code). Its names
 * are those that frames from `env` up bind. by_hand: eval, where an array or list put together by
 * hand is code too. */
value core_quote(struct session_core *core, const struct ast *a, struct frame *splices);
struct ast *core_code(struct session_core *core, value data, bool by_hand, struct frame *env,
                      struct span at);
/* quote(e) in a model expression with splices in e, whose values f or a frame around it holds;
 * owned. False: there are none, and it is a constant. */
bool core_quote_splices(struct session_core *core, const struct ast *quote, struct frame *f,
                        value *out);
value env_value(struct frame *f);                /* an environment value; the frame is counted */
static inline struct frame *env_frame(value v) { /* borrowed; NULL: the top level */
    return v.tag == V_ENV ? ((struct env_box *)v.u.box)->frame : NULL;
}
/* extend_environment */
enum gpm_status env_extend(struct session_core *core, const value *args, struct span at,
                           value *out);
#endif
