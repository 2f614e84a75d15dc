/* SPDX-License-Identifier: Apache-2.0
 *
 * The parts of procedures: code, frames, compound and memoized procedures. Both evaluators share
 * them; a frame holds values for one, nodes of a trace for the other. */
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
struct machine_text;
struct session_core;
struct trace;

/* The value of a literal, a builtin or a slot, as a constant of the tracing evaluator. Nodes of a
 * trace begin with a cell (runtime/trace/node.h), so a name can refer to either. */
struct cell {
    value val;
    uint16_t flags;
    uint8_t kind;    /* 0 */
    uint8_t special; /* only nodes use this and the rest */
    uint32_t n_in;
};
struct cell *cell_new(value v_taken);
void cell_free(struct cell *c);

/* The code of a text or of syntax made at run time (eval, code spliced into a model): its syntax
 * tree and constants. References: the current evaluation, and everything that can outlive it:
 * procedures, actions, frames (their names are in the tree), families. */
struct code {
    uint32_t refs;
    uint32_t unit; /* unit of the text; NO_SPAN_UNIT: made at run time */
    struct arena arena;
    struct ast *root; /* the whole tree; NULL: parse error */
    VEC(struct cell *) literals;
    VEC(struct machine_text *) texts; /* code of its procedures, expressions (machine.h) */
};
struct code *code_new(uint32_t unit);  /* one reference */
struct code *code_ref(struct code *k); /* NULL stays NULL */
void code_unref(struct code *k);

/* A slot of a frame: a value (untraced) or a node (traced). With `own` the node is a constant made
 * for `v` and owned by the frame. */
struct slot {
    struct node *node;
    value v;
    bool own;   /* node is a constant made for v */
    bool unset; /* letrec: no value yet */
};
/* Invariants: a slot holds a value or a node, or both if it owns the node. An owned node is a cell
 * with the slot's value. Every frame is in its session's list from frame_new to its last unref. */
struct frame {
    uint32_t refs, n;
    struct frame *parent;       /* counted */
    struct sym **names;         /* borrowed from the syntax tree, or NULL */
    struct code *code;          /* the code its names are in; counted, or NULL */
    struct sym *name;           /* extend_environment: its only name */
    struct frame *next, **link; /* the session's list of frames, for the collector */
    struct bindings *made_with; /* of a directive's expression (bindings.h); owned, or NULL */
    uint16_t owner;   /* 1 + depth (nest.h) of the model that owns the slots' nodes; 0: no model */
    uint16_t lexical; /* 1 + depth of the model whose text opened it; 0: outside models */
    struct slot s[];
};
struct frame *frame_new(struct session_core *core, struct frame *parent, size_t n,
                        struct sym **names, struct code *code);
/* A new frame that binds the same names. */
struct frame *frame_like(struct session_core *core, struct frame *parent, const struct frame *f);
struct frame *frame_ref(struct frame *f);
void frame_unref(struct frame *f);
static inline struct frame *frame_up(struct frame *f, int depth) {
    while (depth-- > 0) f = f->parent;
    return f;
}
/* A traced slot has the value of its node. An untraced slot has its own value; `node` may be a
 * constant copy for the tracing evaluator. */
static inline const value *slot_at(const struct slot *s) {
    return s->node && !s->own ? &((const struct cell *)s->node)->val : &s->v;
}
static inline value slot_value(const struct slot *s) { /* borrowed */
    return *slot_at(s);
}
/* The node of a slot. For a value, a constant is made and kept with the slot. */
struct cell *slot_cell(struct slot *s);

/* Compound procedure. */
struct closure {
    struct box box;
    const struct ast *lambda;
    struct frame *env; /* counted; NULL at the top level */
    struct pure *pure; /* what is known of it (pure.h); owned; NULL until first needed */
};
extern const struct box_class closure_class;
value closure_value(const struct ast *lambda, struct frame *env);
static inline struct closure *closure_of(value v) { /* NULL for other values */
    return v.tag == V_PROC && v.u.box->cls == &closure_class ? (struct closure *)v.u.box : NULL;
}

/* Memoized procedure. Untraced it stores values, traced it stores families. The entry is made
 * before its value is computed, to detect a call that needs itself (busy, or a family without a
 * root). */
struct memo_proc {
    struct box box;
    value proc;
    struct map table; /* hash -> chain of struct memo_entry */
    uint16_t owner;   /* 1 + depth of its model; 0: untraced */
    uint64_t born;    /* traced: number of its maker's node */
};
struct memo_entry {
    struct memo_entry *next;
    struct memo_proc *of;  /* for an entry in a layer above its procedure; borrowed */
    value key;             /* array of arguments; counted */
    value val;             /* untraced */
    bool busy;             /* untraced: being computed */
    struct family *family; /* traced; borrowed */
    struct node **root;    /* traced: the family's root, NULL during its evaluation */
};
extern const struct box_class memo_class;
value memo_value(value proc, uint16_t owner);
static inline struct memo_proc *memo_of(value v) {
    return v.tag == V_PROC && v.u.box->cls == &memo_class ? (struct memo_proc *)v.u.box : NULL;
}
struct memo_entry *memo_insert(struct memo_proc *m, value key);
void memo_remove(struct memo_proc *m, value key);
/* For the box classes (core_pack.c). */
void closure_pack(struct pack *p, struct box *b);
void memo_pack(struct pack *p, struct box *b);
void env_pack(struct pack *p, struct box *b);
#endif
