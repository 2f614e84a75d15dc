/* SPDX-License-Identifier: Apache-2.0
 *
 * Inside flat/: forms (the part that flats of many choices share) and their instances.
 *
 * Slots hold the numbers that operations read and write:
 *
 *     changing | inputs, one number each | wide inputs | constants
 *
 * The changing slots begin with the numbers of the principals in the given order. So a sampler's
 * point and its gradient are the first elements of v[] and adj[]. A value of several numbers
 * (sequence, matrix, nested arrays) is represented by a *shape*, the list of slots of its numbers.
 * So `[a, b]`, `z[0]` or `rest` are names, not operations, and a vector is a range of slots that
 * column operations run over. Objects (kernels, strings) are in box[].
 *
 * Words of a flat: nodes whose values follow the principals | of inputs | of wide inputs | nodes
 * that only pass a value on (in flats of several principals) | node, value and density of each
 * owned observation. Inputs are read from their nodes when a proposal begins.
 *
 * Operations, in order: `steps` (draws of principals and deterministic nodes, in evaluation order),
 * densities of nodes shared with other flats (makers too), densities of owned observations,
 * densities of the principals. `out` of a density is the slot of its value; an owned observation's
 * value is stored in the flat. */
#ifndef FLAT_FORM_H
#define FLAT_FORM_H
#include "runtime/flat/flat.h"
#include "runtime/trace/scaffold.h"

enum { FLAT_ARGS = 4 };      /* operands inside an operation; enough for any on single numbers */
#define COLUMN   0x80000000u /* in an operand: a column as long as the operation */
#define NO_SLOT  0x7fffffffu
#define AT_SHAPE 0x80000000u /* in a node's place: it has a shape beginning there, else a slot */

enum flat_code {
    FLAT_NUM, /* cls->num, num_log_density, num_sample */
    FLAT_ADD, /* to FLAT_DIV, and FLAT_NORMAL: written out, without a call */
    FLAT_SUB,
    FLAT_MUL,
    FLAT_DIV,
    FLAT_ASSESS, /* a step: num_log_density; args[0] is the value */
    FLAT_NORMAL,
    FLAT_DRAW,     /* a principal, numeric */
    FLAT_COLS,     /* cls->num elementwise; densities: cls->cols or num_log_density, summed */
    FLAT_MANY,     /* such a density with one node per element; their words are adjacent */
    FLAT_FOLD,     /* cls->num of the elements of a column */
    FLAT_TOTAL,    /* a step: FLAT_ASSESS of columns, summed */
    FLAT_PACK,     /* a column of slots anywhere: refs from args[0] on */
    FLAT_GATHERED, /* a density: cls->gathered of `len` slots, refs from args[0] on */
    FLAT_PICK,     /* one of `len` slots, refs from args[0] on, by the number in args[1] */
    FLAT_BLOCK,    /* cls->block; from here on operands are shapes */
    FLAT_DRAW_ROW, /* a principal whose procedure draws values */
    FLAT_ROW,      /* cls->simulate or log_density on values */
    FLAT_MAKER     /* cls->aaa: remake, log_joint, gradient, undo, commit */
};

struct flat_op {
    const struct sp_class *cls;
    uint8_t code;
    uint8_t how; /* Step on columns: arithmetic or SP_CODE_ASSESS (enum sp_code); 0: cls->num.
                    Density: does some operand change? */
    uint16_t n_args;
    uint32_t len;             /* of columns */
    uint32_t out;             /* slot, or first of a range; if operands are shapes: a shape */
    uint32_t node;            /* word of its node, if on values or a density */
    uint32_t args[FLAT_ARGS]; /* slots or shapes; with more than FLAT_ARGS shapes args[0] is the
                                 start of their list in `words` */
};

/* Shapes are words in prefix notation. The words that follow each: */
enum shape_word {
    SHAPE_NUM,       /* slot */
    SHAPE_BOOL,      /* slot */
    SHAPE_BOX,       /* index in box[] */
    SHAPE_NODE,      /* word of the flat: that node's value, which does not change */
    SHAPE_NIL,       /* nothing */
    SHAPE_VECTOR,    /* flags, n, first slot */
    SHAPE_VECTOR_AT, /* flags, n, slots */
    SHAPE_MATRIX,    /* rows, columns, first slot */
    SHAPE_MATRIX_AT, /* rows, columns, slots */
    SHAPE_ARRAY,     /* flags, n, shapes */
    SHAPE_LIST       /* n, n + 1 shapes; the last is the list's tail */
};

struct flat_form {
    struct flat_form *next; /* next form with the same hash */
    uint64_t hash;
    uint32_t refs; /* number of flats using it */
    /* Arrays behind the operations: constants; slots that columns gather; words of shapes; places
     * of nodes (n_nodes), of wide inputs (n_wide), source words of copies (n_copies). */
    double *constants;
    uint32_t *gathered, *words, *places;
    /* Scratch, valid from flat_open to keep or drop. */
    double *v;                     /* n_slots; constants persist */
    double *logp;                  /* of every density, for the proposal */
    double *adj;                   /* n_slots, plus most_len for one operation; made on first use */
    double last_sd, log_sd;        /* of the last normal density; usually shared */
    bool missing;                  /* some number read, or a constant, is NaN */
    value *box, *box_adj;          /* n_boxes each */
    value *args, *seen;            /* most_args; n_wide: inputs as last read, counted */
    const struct placing *placing; /* borrowed; NULL: principals are given directly */
    value *proposed;               /* n_principals, counted; results of flat_proposed */
    /* From here on: the fields that make two forms equal. */
    uint32_t n_principals, n_x;               /* n_x: their numbers; 0: some are not numeric */
    uint32_t n_nodes, n_in, n_wide, n_copies; /* words */
    uint32_t n_changing, n_data, n_constants; /* slots; n_data: of wide inputs */
    uint32_t n_steps, n_shared, n_own;        /* operations */
    uint32_t n_refs, n_words, n_boxes;
    uint32_t most_args, most_len;
    uint16_t rows;        /* some operation runs on values */
    uint8_t settles;      /* keeping a proposal leaves work for trace_settle */
    uint8_t reads;        /* some wide input is numeric */
    struct flat_op ops[]; /* then constants, gathered, words, places */
};

static inline uint32_t form_n_ops(const struct flat_form *f) {
    return f->n_steps + f->n_shared + f->n_own + f->n_principals;
}
static inline uint32_t form_n_slots(const struct flat_form *f) {
    return f->n_changing + f->n_in + f->n_data + f->n_constants;
}
/* Operands of an operation on shapes. */
static inline const uint32_t *op_shapes(const struct flat_form *f, const struct flat_op *op) {
    return op->n_args <= FLAT_ARGS ? op->args : f->words + op->args[0];
}

union flat_word {
    struct node *n;
    double x;
};

/* One set of principals in one trace. */
struct flat {
    uint64_t stamp : 63;    /* see struct flats */
    uint64_t ahead : 1;     /* in flats->ahead */
    struct flat_form *form; /* NULL: a scaffold is needed */
    union flat_word w[];    /* see the head of this file */
};

static inline uint32_t form_n_words(const struct flat_form *f) { /* without owned ones */
    return f->n_nodes + f->n_in + f->n_wide + f->n_copies;
}

/* The context of every function that runs a flat; v and w shorten form->v and flat->w. */
struct flat_run {
    struct trace *t;
    struct flat *f;
    struct flat_form *form;
    double *v;
    union flat_word *w;
};

static inline struct flat_run run_of(struct trace *t, struct flat *f) {
    return (struct flat_run){t, f, f->form, f->form->v, f->w};
}

/* Makers that hold a proposal. */
struct pending {
    struct node *n;
    void *token;
};

enum { FLAT_CACHE = 16, EPOCH_BITS = 26 };

/* All flats of a trace. The upper part of `stamp` counts how often all flats were thrown away; the
 * lower part is the epoch. A flat has both of when it was compiled and last read its owned
 * observations, or 0 once the structure that it rests on has changed (stale.c). */
struct flats {
    uint64_t stamp;
    struct map forms; /* hash -> struct flat_form* */
    VEC(struct flat *) ahead;
    VEC(struct pending) pending;
    struct rng before;   /* generator state before the current proposal */
    bool drawn;          /* drawn from the prior: densities of principals are missing */
    struct cached_flat { /* flats of several principals; others hang on their nodes */
        struct flat *f;
        struct node **key;
        size_t n;
        bool apart; /* its densities stay separate (flat_parts.c) */
        uint64_t used;
    } cache[FLAT_CACHE];
    uint64_t clock;
};

/* form.c */
struct flats *flats_renewed(struct trace *t);
/* Created on first use, with an up-to-date stamp. */
static inline struct flats *flats_of(struct trace *t) {
    struct flats *all = inner(t)->flats;
    return all && inner(t)->flats_structure == t->structure ? all : flats_renewed(t);
}
struct flat *flat_new(struct trace *t, struct flat_form *taken, struct node *const *words,
                      struct node *const *owned);
/* An existing form equal to this one, or f itself; counted. */
struct flat_form *form_share(struct flats *all, struct flat_form *taken);
size_t form_size(const struct flat_form *f); /* bytes, with operations and the arrays behind them */
void form_lay_out(struct flat_form *f);      /* sets the array pointers from the counts */
/* stale.c: the hook `outdate`. */
void flats_outdate(struct trace *t, struct scaffold *s, struct family *const *dead, size_t n_dead);
/* build.c. Owned by the caller. It has no form if the scaffold cannot be compiled. */
struct flat *flat_make(struct trace *t, struct node *const *principals, size_t n, bool apart);
/* True: flat_make would certainly find that a step of this choice cannot be compiled. */
bool flat_is_hopeless(const struct node *n);
/* shapes.c: builds values from slots along the words of a shape, and stores values back. */
value shape_value(const struct flat_run *r, uint32_t shape); /* owned */
/* A single number, box or node, the usual case, needs no building. */
static inline bool shape_stands(const struct flat_form *f, uint32_t shape) {
    return f->words[shape] == SHAPE_NUM || f->words[shape] == SHAPE_BOX ||
           f->words[shape] == SHAPE_NODE;
}
/* Borrowed if it needs no building, else owned; *made tells which. */
static inline value shape_operand(const struct flat_run *r, uint32_t shape, bool *made) {
    const uint32_t *w = r->form->words + shape;
    switch (w[0]) {
    case SHAPE_NUM: return value_num(r->v[w[1]]);
    case SHAPE_BOX: return r->form->box[w[1]];
    case SHAPE_NODE: return r->w[w[1]].n->val;
    default: *made = true; return shape_value(r, shape);
    }
}
/* Stores the numbers of a value in their slots. False: the value has another shape. */
bool shape_walk_set(const struct flat_run *r, uint32_t shape, value v) GPM_MUST_USE;
static inline bool shape_set(const struct flat_run *r, uint32_t shape, value v) {
    const uint32_t *w = r->form->words + shape;
    if (w[0] != SHAPE_BOX) return shape_walk_set(r, shape, v);
    value_set_take(&r->form->box[w[1]], value_ref(v));
    return true;
}
value shape_adjoint(const struct flat_run *r, uint32_t shape);      /* owned */
void shape_give(const struct flat_run *r, uint32_t shape, value d); /* adjoint += d */
bool shape_is_still(const struct flat_run *r,
                    uint32_t shape) GPM_MUST_USE; /* the adjoint is zero */
bool shape_changes(const struct flat_form *f, const uint32_t *words, uint32_t shape);
/* A number, or a vector or matrix with adjacent slots. */
struct sp_block shape_block(const struct flat_run *r, uint32_t shape);
/* flat_run.c, for flat_parts.c. run_forwards runs the steps on v[]; run_back takes adj[] of the
 * results back. one_density evaluates one density; one_gradient adds share times its gradient to
 * the adjoints. False: left to a scaffold. */
bool run_forwards(const struct flat_run *r) GPM_MUST_USE;
double *clear_adjoints(struct flat_form *f);
bool run_back(const struct flat_run *r) GPM_MUST_USE;
bool one_density(struct flat_run *r, const struct flat_op *op, double *logp) GPM_MUST_USE;
bool one_gradient(struct flat_run *r, const struct flat_op *op, double share) GPM_MUST_USE;
/* columns.c. Adjoints g of the operands of FLAT_ASSESS with result v, whose adjoint is d. */
void assess_back(const struct flat_op *op, double v, const double *args, double d, double *g);
/* Operations on many numbers at once. False: left to a scaffold. */
bool columns_run(const struct flat_run *r, const struct flat_op *op) GPM_MUST_USE;
bool columns_back(const struct flat_run *r, const struct flat_op *op) GPM_MUST_USE;
/* The sum of a density over its columns; `gradient` also adds to the adjoints. NaN: left to a
 * scaffold. */
double columns_density(const struct flat_run *r, const struct flat_op *op, bool gradient);
double columns_one(const struct flat_run *r, const struct flat_op *op, uint32_t i); /* element i */
/* Does it read scattered slots: gathered[args[0]] and the following ones? */
static inline bool op_gathers(const struct flat_op *op) {
    return op->code == FLAT_PACK || op->code == FLAT_PICK || op->code == FLAT_GATHERED;
}
/* Number of nodes with the densities of an operation; their words begin at op->node. */
static inline uint32_t op_n_nodes(const struct flat_op *op) {
    return op->code == FLAT_MANY ? op->len : 1;
}
/* flat_place.c: places a principal whose arguments are known, shows a draw, or pulls an adjoint
 * back. False: left to a scaffold. */
bool place_principal(const struct flat_run *r, const struct flat_op *op) GPM_MUST_USE;
bool place_drawn(const struct flat_run *r, const struct flat_op *op) GPM_MUST_USE;
bool place_back(const struct flat_run *r, const struct flat_op *op) GPM_MUST_USE;
/* flat_run.c */
void write_ahead(struct trace *t); /* no flat is ahead afterwards; the epoch stays */
#endif
