/* SPDX-License-Identifier: Apache-2.0
 *
 * The machine that evaluates what is not traced: inference programs, and procedures that rows and
 * traces call for their values.
 *
 * The text of a procedure, or of an expression, is written as code on registers once and kept with
 * its syntax tree (machine_text.c). Its names are linked to a model, or to the program, when it
 * first runs there (machine_link.c), and again when names have changed. A frame is opened only
 * where something in the text can keep it: a procedure, a directive, a block of actions, an
 * environment. Names of such a frame stand in registers, too, so the text itself never reads it.
 */
#ifndef CORE_MACHINE_H
#define CORE_MACHINE_H
#include "runtime/core/lookup.h"

/* An operand is a register, or ~i for name i. */
enum machine_code {
    CODE_APPLY,   /* out = of(n operands) */
    CODE_TAIL,    /* the same, and a compound procedure takes the place of this call */
    CODE_UNLESS,  /* goes to `at` unless `of` is true */
    CODE_JUMP,    /* goes to `at`, a join */
    CODE_JOIN,    /* both branches of an `if` have put its value into `out` */
    CODE_MOVE,    /* out = of */
    CODE_RETURN,  /* the value is `of` */
    CODE_GET,     /* out = the name ~of, which stands in a frame around the text */
    CODE_SPECIAL, /* where `of` is a procedure that takes its operands as text: out, goes to `at` */
    CODE_LEAF,    /* out = what the frame decides about `by` */
    CODE_OPEN,    /* the frame of the block `by` */
    CODE_CLOSE,   /* leaves it */
    CODE_UNSET,   /* the names of the letrec `by` have no value yet */
    CODE_STORE,   /* slot `out` of the frame = of */
    CODE_PARTS,   /* n registers from `out` on = of, taken apart by the let `by` */
    CODE_EARLY    /* the name `by` is read before it has a value */
};
/* How the machine does an operation whose names are linked. */
enum machine_step {
    STEP_ANY, /* by its code, whatever it is */
    STEP_ROW, /* a plain row */
    STEP_CALL,
    STEP_TAIL, /* a compound procedure */
    STEP_ADD,
    STEP_SUB,
    STEP_MUL,
    STEP_ITEM, /* element number `item` of a list */
    STEP_EQUAL,
    STEP_UNLESS,
    STEP_UNLESS_EQUAL,
    STEP_UNLESS_ITEM, /* conditions, see join_steps */
    STEP_JUMP,
    STEP_JOIN,
    STEP_MOVE,
    STEP_GET,
    STEP_RETURN
};
struct machine_op {
    uint8_t code;
    uint32_t n, out;
    uint32_t at; /* APPLY, TAIL: first operand in `operands`; else where to go on */
    int32_t of;
    const struct ast *by; /* the expression, for messages */
    /* as it was linked last */
    uint8_t step;
    bool same;   /* comparisons: what is asked for */
    bool whole;  /* elements: of a list that ends in nil */
    bool target; /* of a jump */
    uint16_t item;
    uint32_t ra, rb; /* registers of the first operands where a, b are NULL */
    uint32_t to;     /* jumps; GET: the slot */
    const value *a, *b;
};
struct machine_name {
    const struct ast *a; /* a name, a literal or a spliced value */
    int inner;           /* frames that the text has opened around it */
    bool called, passed; /* as the operator; as a value that is handed on as it is */
    uint32_t reg;        /* of one that stands in a frame around the text; 0: it needs none */
};
/* What a name is linked to. */
struct machine_link {
    const value *v;             /* NULL: it is looked up when it is used */
    struct closure *callee;     /* called: a compound procedure, borrowed, */
    const struct sp_class *cls; /* or a plain row, */
    uint32_t fewest, most;      /* which takes so many arguments of any kind; most 0: it is asked */
};
struct machine_text {
    const struct ast *root; /* a lambda or an expression */
    VEC(struct machine_op) ops;
    VEC(int32_t) operands;
    VEC(struct machine_name) names;
    VEC(uint32_t) outer; /* names that GET fetches, by register from first_outer on */
    uint32_t n_params, first_outer, n_registers; /* parameters first */
    bool framed;                                 /* the parameters stand in a frame, too */
    bool plain; /* nothing in it needs a frame or an operator: see pure.h */
    /* as it was linked last */
    uint64_t linked;            /* the state of the names then (machine_stamp); 0: never */
    uint64_t around;            /* number of the bindings of the directive around it; 0: none */
    struct machine_link *links; /* by name */
};
struct machine_text *machine_text_new(struct session_core *core, const struct ast *root);
static inline struct machine_text *machine_text_of(struct session_core *core,
                                                   const struct ast *root) {
    return root->cache ? root->cache : machine_text_new(core, root);
}
void machine_text_free(struct machine_text *x);
/* The number of the name that an operand stands for, or -1. */
static inline int32_t machine_name_of(const struct machine_text *x, int32_t operand) {
    if (operand < 0) return ~operand;
    uint32_t i = (uint32_t)operand;
    return i < x->first_outer ? -1 : (int32_t)x->outer.at[i - x->first_outer];
}

enum gpm_status machine_call(struct session_core *core, struct closure *c, const value *args,
                             size_t n, struct span at, value *out) GPM_MUST_USE;
enum gpm_status machine_eval(struct session_core *core, const struct ast *e, struct frame *f,
                             value *out) GPM_MUST_USE;
/* The value of a name for the model at work; see core_find. */
enum gpm_status machine_read(struct session_core *core, const struct ast *name, struct frame *f,
                             int inner, value *out) GPM_MUST_USE;
/* The number of the bindings that names in a model mean themselves by; 0: none. */
static inline uint64_t machine_around(struct session_core *core, const struct world *w,
                                      struct frame *env) {
    while (w && env && !env->made_with) env = env->parent;
    if (!w || !env) return 0;
    if (!env->made_with->number) env->made_with->number = ++core->stamps;
    return env->made_with->number;
}
/* The state of the names that w, or a program, sees. */
uint64_t machine_stamp(struct session_core *core, struct world *w);
void machine_link(struct session_core *core, struct world *w, struct machine_text *x,
                  struct frame *env, uint64_t stamp);
/* A row whose value follows from its arguments, and that reaches nothing else. */
bool machine_is_plain_row(const struct sp_class *cls);
#endif
