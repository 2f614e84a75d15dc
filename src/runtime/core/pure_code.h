/* SPDX-License-Identifier: Apache-2.0
 *
 * For pure*.c: a procedure linked to the names of a model, as the machine runs it. */
#ifndef CORE_PURE_CODE_H
#define CORE_PURE_CODE_H
#include "runtime/core/pure.h"

/* What one name stands for. */
struct bound {
    struct cell *cell;          /* with its value: of a literal, a builtin, a slot, a node */
    struct cell own;            /* of a definition of the program, which has none; counted */
    struct closure *callee;     /* called: a compound procedure, borrowed, */
    const struct sp_class *cls; /* or a row, */
    uint32_t fewest, most;      /* which takes so many arguments of any kind; most 0: it is asked */
    uint8_t code;               /* of the row, where that may be all one needs to know */
};
/* An operation with its names resolved. Those that end by _LAST give the value of the procedure. */
enum step_code {
    STEP_ROW,
    STEP_ROW_LAST, /* a row, whatever it is */
    STEP_CALL,
    STEP_TAIL, /* a compound procedure */
    STEP_ADD,
    STEP_ADD_LAST,
    STEP_SUB,
    STEP_SUB_LAST,
    STEP_MUL,
    STEP_MUL_LAST,
    STEP_ITEM,
    STEP_ITEM_LAST, /* element number `item` of a list */
    STEP_EQUAL,
    STEP_UNLESS,
    STEP_UNLESS_EQUAL,
    STEP_UNLESS_ITEM, /* conditions, see join_steps */
    STEP_JUMP,
    STEP_MOVE,
    STEP_RETURN
};
struct pure_step {
    uint8_t code, n, out, ra, rb; /* ra, rb: registers of the first operands where a, b are NULL */
    bool same;                    /* comparisons: what is asked for */
    bool target;                  /* of a jump */
    uint16_t item;
    uint32_t to;
    const value *a, *b;
    const struct pure_op *op;
};
struct pure {
    struct closure *closure; /* that it belongs to */
    const struct pure_text *x;
    struct bound *bound;     /* by name */
    struct pure_step *steps; /* by number of the operation */
    uint64_t linked;         /* state of the names when it was linked; 0: it was not */
    uint64_t judged;         /* the same, of the rest */
    bool recursive;          /* it is pure and calls itself, directly or by way of others */
    uint64_t visit;
    bool *decides, *passes; /* by register */
    VEC(struct cell *) reads;
};

/* Finds what the names of p stand for in w; false: it is not pure there. */
bool pure_link(struct session_core *core, struct world *w, struct pure *p);
#endif
