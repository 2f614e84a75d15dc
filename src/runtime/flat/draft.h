/* SPDX-License-Identifier: Apache-2.0
 *
 * Inside flat/: a form under construction.
 *
 * While drafting, the value of a node is a *sketch*: a value of the same shape in which every
 * number is a token for its slot. Tokens are NaNs with a payload, so rows that only arrange numbers
 * (SP_ARRANGES) work on sketches as on values. Applying such a row at compile time turns `[a, b]`,
 * `z[0]`, `rest(xs)` or a row of a matrix into names.
 *
 * A token counts its slot within a region, since the regions' offsets are known only at the end. */
#ifndef FLAT_DRAFT_H
#define FLAT_DRAFT_H
#include "runtime/flat/form.h"

enum region { CHANGING, INPUT, WIDE, CONSTANT }; /* regions of slots; words use the first three */
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
static inline bool is_scalar(value sketch) { /* a single number */
    return sketch.tag == V_NUM && token_kind(sketch.u.num) <= TOKEN_BOOL;
}

/* What the draft knows about a value. */
struct sketched {
    value sketch; /* counted; unset until `known` */
    bool known;
    bool alone;    /* depends on no choice but the principals */
    uint32_t word; /* of a principal or an input */
};

enum { STEPS, SHARED, OWN, PRINCIPALS, N_PARTS }; /* operations of a form, in order */
struct draft {
    struct trace *t;
    struct scaffold *s;
    struct flat_form head;
    struct {
        VEC(struct flat_op) at;
    } ops[N_PARTS];
    VEC(double) constants;
    VEC(uint32_t) refs;
    VEC(value) sketches; /* operands given as shapes; counted */
    VEC(uint32_t) lists; /* their indexes, for operations of many operands */
    VEC(struct node *) nodes, inputs, wide, copies, owned; /* words */
    VEC(uint32_t) copy_of;                                 /* words of the sources of copies */
    VEC(value) node_sketch, wide_sketch;                   /* counted */
    struct sketched *of;                                   /* by scaffold entry */
    struct map numbered; /* hash of a step -> 1 + its index, for value numbering */
    struct map constant; /* bits of a number -> 1 + its constant */
    struct map seen;     /* unchanging node -> 1 + its index in `still` */
    VEC(struct sketched) still;
    struct map fixed; /* node -> 1: data, 2: not data */
};

void draft_release(struct draft *d);
/* A sketch with new slots for a numeric value. Objects, and anything made of them, become a box.
 * Owned. */
value sketch_fresh(struct draft *d, enum region region, value like);
/* The sketch of an operand, looking through nodes that only pass a value on; borrowed. Clears
 * *alone if other choices than the principals affect it. */
value sketch_of(struct draft *d, struct node *operand, bool *alone);
/* Slot of one number; the sketch is_scalar. */
static inline uint32_t scalar_ref(value sketch) {
    return token_ref(sketch.u.num);
}
/* Is it computed from constants alone, so that only a change of structure can change it? */
bool draft_is_data(struct draft *d, struct node *n);
/* Does it consist of numbers and booleans only? */
bool sketch_is_numeric(value sketch);
/* The slots of a number, a sequence of numbers or a matrix, in the order of adj_doubles; mem_free.
 * False for anything else. */
bool sketch_refs(value sketch, uint32_t **refs, size_t *n);
/* Applies a row that arranges to sketches; owned. False: the result cannot be named. */
bool sketch_arrange(struct draft *d, struct node *n, const struct sp_class *cls, value *out,
                    bool *alone);
/* The slots as one operand of columns: a single number or a column, packed if necessary. */
uint32_t draft_column(struct draft *d, const uint32_t *refs, size_t n);
/* The slots as adjacent slots with COLUMN set, packed if necessary. */
uint32_t draft_range(struct draft *d, const uint32_t *refs, size_t n);
/* Stores the slots as a list among the refs; returns its start. */
uint32_t draft_refs(struct draft *d, const uint32_t *refs, size_t n);
/* Appends a step or finds one that computes the same; returns the slot it writes. */
uint32_t draft_step(struct draft *d, struct flat_op op, size_t n_out);
/* Registers a sketch as an operand of operations on shapes. */
uint32_t draft_shape(struct draft *d, value sketch);
/* reroll.c: merges many similar operations on single numbers into operations on columns. */
void draft_reroll(struct draft *d);
/* Builds the form; owned. */
struct flat_form *draft_form(struct draft *d);
#endif
