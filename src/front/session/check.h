/* SPDX-License-Identifier: Apache-2.0
 *
 * The check before a run. It walks over a program like the evaluation, with static knowledge of the
 * values (constants, procedures, language/rows/protocol/guess.h). It reports the errors that
 * evaluation would report, through the same functions. It draws, runs and changes nothing.
 *
 * A mistake in code that is certainly evaluated is an error. In a branch, or in a procedure or
 * action that may never be called, it is a warning. Unknown values are assumed to be right. */
#ifndef SESSION_CHECK_H
#define SESSION_CHECK_H
#include "front/session/session.h"
#include "language/rows/protocol/guess.h"

struct checked_local {
    struct sym *name;
    value v;         /* owned */
    unsigned models; /* model expressions around the binding */
    bool loop;
};

/* A name of the program, of its model or of the inference program. */
struct global {
    struct sym *name;
    value v; /* owned */
    struct span first;
    bool twice; /* bound again: outside the program's order its value is unknown */
};

/* A procedure of the text. */
struct checked_proc {
    const struct ast *lambda;
    unsigned models; /* model expressions around it */
    bool closed;     /* it uses no local names of others: calls of it can be followed */
    bool busy, walked;
};

/* A random choice that the model may make; cls NULL: of which nothing is known. */
struct checked_choice {
    const struct sp_class *cls;
    struct span at;
    bool certain;
    bool fixed;       /* observed, or of a sample: no operator moves it */
    struct span read; /* where the tag around it reads the memoized value that it is part of */
    uint32_t top;     /* number of the instruction that makes it */
};

/* A tag with a scope that is known, and the choices of its extent, choices[from .. to). */
struct checked_tag {
    const struct ast *tag;
    value scope;
    size_t from, to;
};

/* An operator applied to a scope: judged when every tag is known. */
struct checked_aim {
    const struct infer_op *op;
    value scope, block; /* owned; block ABSENT: left out */
    struct span at;
    bool certain;
    const struct ast *instruction;
    uint32_t top;
};

struct checked_call {
    const struct ast *lambda;
    struct span at;
};

enum {
    SESSION_LOADS = 1000
}; /* loads that the check looks at: files may double in number at each step */

struct checker {
    struct session *s;
    struct session_core *core;
    struct diags *diags;
    uint32_t unit;   /* the text itself, not what it loads */
    bool for_people; /* `check`, not `run`: also what is merely untidy; data need not be given */
    bool whole;      /* the text is a program: what it does not bind is bound nowhere */
    bool certain;    /* what is looked at will be evaluated */
    bool runs;       /* an action that is made here will be run */
    unsigned models; /* model expressions around */
    bool in_world;   /* inside a procedure that a model calls */
    unsigned lent;   /* inside in_model: the model may be another */
    unsigned depth;
    size_t budget; /* nodes of procedure bodies that may still be walked */
    const struct ast *instruction;
    const struct ast *called; /* as what is being looked at: callee */
    uint32_t top, fails_at;   /* number of the instruction; of the first that will fail */
    VEC(struct checked_local) locals;
    size_t floor;                 /* the first local that is visible */
    struct map assumed, defined;  /* sym -> struct global *, so far */
    VEC(struct global *) globals; /* of both, in order; owned */
    struct map anywhere, inside;  /* sym -> itself: bound somewhere; not at the top level */
    struct map mentioned, labels; /* sym -> itself: read or quoted somewhere; of directives */
    bool computed_names, computed_labels, computed_scopes, removes, writes;
    bool unread;      /* a file whose names are not known is loaded */
    struct map procs; /* lambda -> struct checked_proc *; owned */
    VEC(struct checked_proc *) waiting;
    VEC(struct checked_call) calls; /* that are being followed */
    VEC(const struct ast *) loads;  /* of the file that is looked at */
    struct loads files;             /* that are looked at, the outermost first */
    VEC(struct code *) codes;       /* of every file that was loaded; owned */
    struct span read;               /* as of choices, of the calls that are followed */
    VEC(struct checked_choice) choices;
    VEC(struct checked_tag) tags;
    VEC(const struct ast *) literal_tags; /* every tag of the text whose scope is a literal */
    VEC(struct checked_aim) aims;
};

/* check_expr.c: what is known of the value of an expression; owned. */
value check_expr(struct checker *k, const struct ast *a);
void check_procedures(struct checker *k); /* the bodies of procedures never called */

/* check_program.c */
void check_bind(struct checker *k, struct map *to, struct sym *name, value v_taken, struct span at);
struct global *check_global(const struct map *of, const struct sym *name);
/* After diagnostics may have been raised, `before` of them being old: gives the new one the calls
 * that led to it and its severity, and drops it when the same was said already. */
void check_settle(struct checker *k, size_t before);
bool check_is_local(const struct checker *k, const struct sym *name);
bool check_is_assumed(const struct checker *k, const struct sym *name);

/* check_aim.c: observations, scopes and operators. */
void check_reads(struct checker *k, const struct ast *model, bool observed);
void check_observation(struct checker *k, const struct ast *model, value chosen, value v);
void check_aim(struct checker *k, const struct infer_op *op, const value *args, size_t n,
               struct span at);
void check_aims(struct checker *k);
void check_label(struct checker *k, const struct infer_op *op, const value *args, size_t n,
                 struct span at);

/* session.c */
/* A file is read inside those of l: an error when it is one of them, or when they are too many. */
enum gpm_status session_load_enter(struct session *s, struct loads *l, const char *path,
                                   struct span at) GPM_MUST_USE;
void session_load_leave(struct loads *l);
void session_show_instruction(struct session *s, const struct ast *a);
/* For the name last found unbound, in instruction a: one of the model, or unknown. */
void session_help_unbound(struct session *s, const struct ast *a, const struct sym *of_model);
void session_help_data(struct session *s, const struct ast *a);
#endif
