/* SPDX-License-Identifier: Apache-2.0
 *
 * Inside flat/: a form in the making.
 *
 * While drafting, the value of a node is a *sketch*: a value of the same shape, in which every
 * number is a token that says in which slot it will stand. Tokens are NaNs with a payload, so rows
 * that only arrange numbers (SP_ARRANGES) work on sketches as they do on values: applying them at
 * compile time is all it takes to make `[a, b]`, `z[0]`, `rest(xs)` or a row of a matrix names.
 *
 * A token's slot is counted within its region, since the regions' places are known only when
 * everything is drafted. */
#ifndef FLAT_DRAFT_H
#define FLAT_DRAFT_H
#include "runtime/flat/form.h"

enum region { CHANGING, INPUT, WIDE, CONSTANT }; /* of slots; of words: the first three */
#define REF(region, i) ((uint32_t)(region) << 29 | (uint32_t)(i))
enum { REF_MAX = 1 << 29 };
static inline enum region ref_region(uint32_t ref) {
    return (enum region)(ref >> 29 & 3);
}
static inline uint32_t ref_index(uint32_t ref) {
    return ref & (REF_MAX - 1);
}

enum token { TOKEN_NUM, TOKEN_BOOL, TOKEN_BOX, TOKEN_NODE, NO_TOKEN };
double token_new(enum token kind, uint32_t ref);
enum token token_kind(double x);
uint32_t token_ref(double x);
static inline bool is_scalar(value sketch) { /* of one number */
    return sketch.tag == V_NUM && token_kind(sketch.u.num) <= TOKEN_BOOL;
}

/* What is known of a value. */
struct sketched {
    value sketch; /* counted; known is false: none yet */
    bool known;
    bool alone;    /* it depends on no choice but the principals */
    uint32_t word; /* of a principal or an input */
};

enum { STEPS, SHARED, OWN, PRINCIPALS, N_PARTS }; /* of a form's operations, in their order */
struct draft {
    struct trace *t;
    struct scaffold *s;
    struct flat_form head;
    struct {
        VEC(struct flat_op) at;
    } ops[N_PARTS];
    VEC(double) constants;
    VEC(uint32_t) refs;
    VEC(value) sketches; /* that operations name as shapes; counted */
    VEC(uint32_t) lists; /* of their numbers, for operations of many operands */
    VEC(struct node *) nodes, inputs, wide, copies, owned; /* words */
    VEC(uint32_t) copy_of;                                 /* words of what copies are of */
    VEC(value) node_sketch, wide_sketch;                   /* counted */
    struct sketched *of;                                   /* by entry */
    struct map numbered; /* hash of a step -> 1 + its number, for value numbering */
    struct map constant; /* bits of a number -> 1 + its constant */
    struct map seen;     /* node that does not change -> 1 + its place in `still` */
    VEC(struct sketched) still;
    struct map fixed; /* node -> 1: data, 2: not */
};

void draft_release(struct draft *d);
/* A sketch of slots of their own for a value; objects, and whatever is made of them, are a box.
 * Owned. */
value sketch_fresh(struct draft *d, enum region region, value like);
/* The sketch of an operand, past nodes that only pass a value on; borrowed. *alone is cleared when
 * other choices than the principals move it. */
value sketch_of(struct draft *d, struct node *operand, bool *alone);
/* Slot of one number; the sketch is_scalar. */
static inline uint32_t scalar_ref(value sketch) {
    return token_ref(sketch.u.num);
}
/* Is it computed from constants alone, so that only a change of structure changes it? */
bool draft_is_data(struct draft *d, struct node *n);
/* Has it numbers, bools and nothing else? */
bool sketch_is_numeric(value sketch);
/* Its numbers as slots, in the order of adj_doubles, when it is a number, a sequence of numbers or
 * a matrix; mem_free. False: it is none. */
bool sketch_refs(value sketch, uint32_t **refs, size_t *n);
/* The result of applying a row that arranges to sketches; false: it cannot be named. Owned. */
bool sketch_arrange(struct draft *d, struct node *n, const struct sp_class *cls, value *out,
                    bool *alone);
/* The slots as one operand of columns: a number for all, or a column; packed if need be. */
uint32_t draft_column(struct draft *d, const uint32_t *refs, size_t n);
/* The same as slots side by side, with COLUMN set; packed if need be. */
uint32_t draft_range(struct draft *d, const uint32_t *refs, size_t n);
/* The slots as a list among the refs: where it begins. */
uint32_t draft_refs(struct draft *d, const uint32_t *refs, size_t n);
/* Appends a step, or finds the one that computes the same; the slot it writes. */
uint32_t draft_step(struct draft *d, struct flat_op op, size_t n_out);
/* Names a sketch as an operand of an operation on shapes. */
uint32_t draft_shape(struct draft *d, value sketch);
/* reroll.c: many like operations on single numbers become one on columns. */
void draft_reroll(struct draft *d);
/* The form of all this; owned. */
struct flat_form *draft_form(struct draft *d);
#endif
