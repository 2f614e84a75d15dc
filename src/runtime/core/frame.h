/* SPDX-License-Identifier: Apache-2.0
 *
 * What procedures are made of: pieces of code, frames, compound and memoized procedures. Both
 * evaluators share them; a frame holds values for one, nodes of a trace for the other.
 */
#ifndef CORE_FRAME_H
#define CORE_FRAME_H
#include "base/arena.h"
#include "base/map.h"
#include "base/pmap.h"
#include "base/vec.h"
#include "language/lang/ast.h"
#include "language/rows/protocol/sp.h"

struct bindings;
struct family;
struct node;
struct pure;
struct pure_text;
struct session_core;
struct trace;

/* A constant as the tracing evaluator reads it: of a literal, a builtin, a slot. A node of a trace
 * begins with one (runtime/trace/node.h), so that a name can stand for either. */
struct cell {
    value val;
    uint16_t flags;
    uint8_t kind;    /* 0 */
    uint8_t special; /* of nodes, as the rest */
    uint32_t n_in;
};
struct cell *cell_new(value v_taken);
void cell_free(struct cell *c);

/* A piece of code, a text or what was made at run time (eval, code spliced into a model): its
 * syntax tree and the constants in it. Counted by the evaluation under way and by what can outlive
 * it: procedures, actions, frames (their names are parts of the tree) and families. */
struct code {
    uint32_t refs;
    uint32_t unit; /* of the text; NO_SPAN_UNIT: made at run time */
    struct arena arena;
    struct ast *root; /* its whole tree; NULL: it could not be parsed */
    VEC(struct cell *) literals;
    VEC(struct pure_text *) texts; /* of its procedures (pure.h) */
};
struct code *code_new(uint32_t unit);  /* one reference */
struct code *code_ref(struct code *k); /* NULL: stays NULL */
void code_unref(struct code *k);

/* A frame binds slots to values (untraced) or nodes (traced). With `own` the node is a constant
 * cached for `v`, which the frame owns. */
struct slot {
    struct node *node;
    value v;
    bool own;   /* node is a constant made for v */
    bool unset; /* letrec: no value yet */
};
/* Invariants: a slot holds a value or a node, or both when it owns the node; an owned node is a
 * cell with the slot's value. Every frame is in its session's list from frame_new to its last
 * unref. */
struct frame {
    uint32_t refs, n;
    struct frame *parent;       /* counted */
    struct sym **names;         /* borrowed from the syntax tree, or NULL */
    struct code *code;          /* that the names are part of; counted, or NULL */
    struct sym *name;           /* extend_environment: the only one */
    struct frame *next, **link; /* the session's list of frames, for the collector */
    struct bindings *made_with; /* of a directive's expression (bindings.h); owned, or NULL */
    uint16_t owner;   /* 1 + the depth (nest.h) of the model whose nodes the slots hold; 0: none */
    uint16_t lexical; /* 1 + the depth of the model in whose text it was opened; 0: in none */
    struct slot s[];
};
struct frame *frame_new(struct session_core *core, struct frame *parent, size_t n,
                        struct sym **names, struct code *code);
/* One that binds the same names. */
struct frame *frame_like(struct session_core *core, struct frame *parent, const struct frame *f);
struct frame *frame_ref(struct frame *f);
void frame_unref(struct frame *f);
static inline struct frame *frame_up(struct frame *f, int depth) {
    while (depth-- > 0) f = f->parent;
    return f;
}
value slot_value(const struct slot *s); /* borrowed */
/* The node of a slot; a value gets a constant one, kept with the slot. */
struct cell *slot_cell(struct slot *s);

/* Compound procedure. */
struct closure {
    struct box box;
    const struct ast *lambda;
    struct frame *env; /* counted; NULL at the top level */
    struct pure *pure; /* its code (pure.h); owned, NULL: not asked for yet */
};
extern const struct box_class closure_class;
value closure_value(const struct ast *lambda, struct frame *env);
static inline struct closure *closure_of(value v) { /* NULL: something else */
    return v.tag == V_PROC && v.u.box->cls == &closure_class ? (struct closure *)v.u.box : NULL;
}

/* Memoized procedure: untraced it keeps values, traced it keeps families. An entry is made before
 * its value is computed, so that a call that needs itself is found (busy, or a family without a
 * root). */
struct memo_proc {
    struct box box;
    value proc;
    struct map table; /* hash -> chain of struct memo_entry */
    uint16_t owner;   /* 1 + depth of the model that it belongs to; 0: untraced */
    uint64_t born;    /* traced: number of the node that made it */
};
struct memo_entry {
    struct memo_entry *next;
    struct memo_proc *of;  /* in a layer above that of the procedure; borrowed */
    value key;             /* array of arguments; counted */
    value val;             /* untraced */
    bool busy;             /* untraced: being computed */
    struct family *family; /* traced; borrowed */
    struct node **root;    /* traced: of the family; NULL in it while it is being evaluated */
};
extern const struct box_class memo_class;
value memo_value(value proc, uint16_t owner);
static inline struct memo_proc *memo_of(value v) {
    return v.tag == V_PROC && v.u.box->cls == &memo_class ? (struct memo_proc *)v.u.box : NULL;
}
struct memo_entry *memo_insert(struct memo_proc *m, value key);
void memo_remove(struct memo_proc *m, value key);
/* For their classes (core_pack.c). */
struct box *closure_pack(struct pack *p, size_t number, struct box *b);
struct box *memo_pack(struct pack *p, size_t number, struct box *b);
struct box *env_pack(struct pack *p, size_t number, struct box *b);
#endif
