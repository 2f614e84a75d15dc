/* SPDX-License-Identifier: Apache-2.0
 *
 * Inside flat/: forms (what flats of many choices have in common) and their instances.
 *
 * Slots hold the numbers that operations read and write:
 *
 *     changing | inputs, one number each | wide inputs | constants
 *
 * The changing ones begin with the numbers of the principals, in the order they were given, so that
 * a point of a sampler and its gradient are the first of v[] and adj[]. A value of several numbers
 * (sequence, matrix, nested arrays) is no object here but a *shape*, the slots its numbers stand
 * in: `[a, b]`, `z[0]`, `rest` and the like are names, not operations, and a vector is a range of
 * slots that column operations run over. Objects (kernels, strings) stand in box[].
 *
 * Words of a flat: nodes whose values follow the principals | of inputs | of wide inputs | nodes
 * that only pass a value on (of flats of several principals) | node, value and density of each
 * owned observation. Inputs are read from their nodes when a proposal begins.
 *
 * Operations, in order: `steps` (draws of principals and deterministic nodes, as evaluated),
 * densities of nodes shared with other flats (makers too), of observations that the flat owns, of
 * the principals. A density's `out` is the slot of its value; an owned one's value stands in the
 * flat. */
#ifndef FLAT_FORM_H
#define FLAT_FORM_H
#include "runtime/flat/flat.h"
#include "runtime/trace/scaffold.h"

enum { FLAT_ARGS = 4 }; /* operands inside an operation; those on single numbers have no more */
#define COLUMN   0x80000000u /* in an operand of columns: as many slots as the operation is long */
#define NO_SLOT  0x7fffffffu
#define AT_SHAPE 0x80000000u /* in a node's place: where its shape begins, else its slot */

enum flat_code {
    FLAT_NUM, /* cls->num, num_log_density, num_sample */
    FLAT_ADD, /* the rest of the numeric ones: known by heart */
    FLAT_SUB,
    FLAT_MUL,
    FLAT_DIV,
    FLAT_ASSESS, /* a step: num_log_density; args[0] is the value */
    FLAT_NORMAL,
    FLAT_DRAW,     /* a principal, numeric */
    FLAT_COLS,     /* cls->num elementwise; as density cls->cols or num_log_density, summed */
    FLAT_MANY,     /* such a density of as many nodes, whose words stand side by side */
    FLAT_FOLD,     /* cls->num of the elements of a column */
    FLAT_TOTAL,    /* a step: FLAT_ASSESS of columns, summed */
    FLAT_PACK,     /* a column of slots that stand anywhere: refs from args[0] on */
    FLAT_GATHERED, /* a density: cls->gathered of `len` slots, refs from args[0] on */
    FLAT_PICK,     /* one of `len` slots, refs from args[0] on, by the number in args[1] */
    FLAT_BLOCK,    /* cls->block; operands are shapes, as with all that follow */
    FLAT_DRAW_ROW, /* a principal whose procedure draws on values */
    FLAT_ROW,      /* cls->simulate or log_density on values */
    FLAT_MAKER     /* cls->aaa: remake, log_joint, gradient, undo, commit */
};

struct flat_op {
    const struct sp_class *cls;
    uint8_t code;
    uint8_t how; /* of a step on columns: the arithmetic or SP_CODE_ASSESS (enum sp_code), or none:
                    cls->num; of a density: does some operand change? */
    uint16_t n_args;
    uint32_t len;             /* of columns */
    uint32_t out;             /* slot, the first of a range; where operands are shapes: a shape */
    uint32_t node;            /* its word: of what is computed on values, or has the density */
    uint32_t args[FLAT_ARGS]; /* slots or shapes; of more than FLAT_ARGS shapes: args[0] is where
                                 they are listed in the words of shapes */
};

/* Shapes: words in prefix notation. What follows each: */
enum shape_word {
    SHAPE_NUM,       /* slot */
    SHAPE_BOOL,      /* slot */
    SHAPE_BOX,       /* number of the box */
    SHAPE_NODE,      /* word of the flat: the value of that node, which does not change */
    SHAPE_NIL,       /* nothing */
    SHAPE_VECTOR,    /* flags, n, first slot */
    SHAPE_VECTOR_AT, /* flags, n, slots */
    SHAPE_MATRIX,    /* rows, columns, first slot */
    SHAPE_MATRIX_AT, /* rows, columns, slots */
    SHAPE_ARRAY,     /* flags, n, shapes */
    SHAPE_LIST       /* n, n + 1 shapes, the last what the list ends in */
};

struct flat_form {
    struct flat_form *next; /* another one of the same hash */
    uint64_t hash;
    uint32_t refs; /* flats */
    /* what stands behind the operations: constants; slots that columns gather; words of shapes;
     * places of nodes (n_nodes), of wide inputs (n_wide), words that copies are of (n_copies) */
    double *constants;
    uint32_t *gathered, *words, *places;
    /* scratch, valid from flat_open to keep or drop */
    double *v;              /* n_slots; the constants stay */
    double *logp;           /* of every density, as proposed */
    double *adj;            /* n_slots, and most_len for one operation; made when first wanted */
    double last_sd, log_sd; /* of the last normal density: most share them */
    bool missing;           /* some number that was read, or a constant, is NaN */
    value *box, *box_adj;   /* n_boxes each */
    value *args, *seen;     /* most_args; n_wide: inputs as they were last read, counted */
    const struct placing *placing; /* borrowed; NULL: principals are given as they are */
    value *proposed;               /* n_principals, counted; what flat_proposed showed */
    /* from here on: what makes two forms equal */
    uint32_t n_principals, n_x;               /* and their numbers; n_x 0: some are none */
    uint32_t n_nodes, n_in, n_wide, n_copies; /* words */
    uint32_t n_changing, n_data, n_constants; /* slots; n_data: of wide inputs */
    uint32_t n_steps, n_shared, n_own;        /* operations */
    uint32_t n_refs, n_words, n_boxes;
    uint32_t most_args, most_len;
    uint16_t rows;        /* some operation runs on values */
    uint8_t settles;      /* a proposal that is kept leaves something for trace_settle */
    uint8_t reads;        /* some wide input is made of numbers */
    struct flat_op ops[]; /* then constants, gathered, words, places */
};

static inline uint32_t form_n_ops(const struct flat_form *f) {
    return f->n_steps + f->n_shared + f->n_own + f->n_principals;
}
static inline uint32_t form_n_slots(const struct flat_form *f) {
    return f->n_changing + f->n_in + f->n_data + f->n_constants;
}
/* The operands that are shapes. */
static inline const uint32_t *op_shapes(const struct flat_form *f, const struct flat_op *op) {
    return op->n_args <= FLAT_ARGS ? op->args : f->words + op->args[0];
}

union flat_word {
    struct node *n;
    double x;
};

/* One set of principals in one trace. */
struct flat {
    uint64_t stamp : 63;    /* struct flats */
    uint64_t ahead : 1;     /* in flats->ahead */
    struct flat_form *form; /* NULL: the general way must be taken */
    union flat_word w[];    /* see above */
};

static inline uint32_t form_n_words(const struct flat_form *f) { /* before the owned ones */
    return f->n_nodes + f->n_in + f->n_wide + f->n_copies;
}

/* What every function that runs a flat works on; v and w are the form's scratch and the flat's
 * words, at hand. */
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

/* All flats of a trace. A flat's stamp says for which structure it was compiled and in which epoch
 * it last looked at what it owns: the upper and the lower part of `stamp`. */
struct flats {
    uint64_t structure; /* of the trace when the stamp's upper part was taken */
    uint64_t stamp;
    struct map forms; /* hash -> struct flat_form* */
    VEC(struct flat *) ahead;
    VEC(struct pending) pending;
    struct rng before;   /* the proposal under way */
    bool drawn;          /* it was drawn from the prior: densities of principals are missing */
    struct cached_flat { /* of several principals; those of one hang on their nodes */
        struct flat *f;
        struct node **key;
        size_t n;
        bool apart; /* its densities are not joined in columns (flat_parts.c) */
        uint64_t used;
    } cache[FLAT_CACHE];
    uint64_t clock;
};

/* form.c */
struct flats *flats_renewed(struct trace *t);
/* Made when they are first asked for; the stamp is up to date. */
static inline struct flats *flats_of(struct trace *t) {
    struct flats *all = inner(t)->flats;
    return all && all->structure == t->structure ? all : flats_renewed(t);
}
struct flat *flat_new(struct trace *t, struct flat_form *taken, struct node *const *words,
                      struct node *const *owned);
/* The form equal to this one that is there already, or f itself; counted. */
struct flat_form *form_share(struct flats *all, struct flat_form *taken);
size_t form_size(const struct flat_form *f); /* bytes, with operations and what follows them */
void form_lay_out(struct flat_form *f);      /* says where that stands, by the counts */
/* build.c. Owned by the caller; without a form where the scaffold does not allow one. */
struct flat *flat_make(struct trace *t, struct node *const *principals, size_t n, bool apart);
/* True: flat_make would find that a step of this one choice is no flat. */
bool flat_is_hopeless(const struct node *n);
/* shapes.c: values from slots and back, along the words of a shape. */
value shape_value(const struct flat_run *r, uint32_t shape); /* owned */
/* A single number, box or node, as most are, is there already. */
static inline bool shape_stands(const struct flat_form *f, uint32_t shape) {
    return f->words[shape] == SHAPE_NUM || f->words[shape] == SHAPE_BOX ||
           f->words[shape] == SHAPE_NODE;
}
/* Borrowed where it stands, else owned, which *made says then. */
static inline value shape_operand(const struct flat_run *r, uint32_t shape, bool *made) {
    const uint32_t *w = r->form->words + shape;
    switch (w[0]) {
    case SHAPE_NUM: return value_num(r->v[w[1]]);
    case SHAPE_BOX: return r->form->box[w[1]];
    case SHAPE_NODE: return r->w[w[1]].n->val;
    default: *made = true; return shape_value(r, shape);
    }
}
/* Takes the numbers of a value; false: it is of another shape. */
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
                    uint32_t shape) GPM_MUST_USE; /* its adjoint is zero */
bool shape_changes(const struct flat_form *f, const uint32_t *words, uint32_t shape);
/* Of one number, a vector or a matrix whose numbers stand side by side. */
struct sp_block shape_block(const struct flat_run *r, uint32_t shape);
/* flat_run.c, for flat_parts.c. Steps for numbers that stand in v[]; back from adj[] of the steps'
 * results; a density as it stands there, and share times its gradient to the adjoints of a
 * density on numbers or values. False: left to the general way. */
bool run_forwards(const struct flat_run *r) GPM_MUST_USE;
double *clear_adjoints(struct flat_form *f);
bool run_back(const struct flat_run *r) GPM_MUST_USE;
bool one_density(struct flat_run *r, const struct flat_op *op, double *logp) GPM_MUST_USE;
bool one_gradient(struct flat_run *r, const struct flat_op *op, double share) GPM_MUST_USE;
/* columns.c. Adjoints of the operands of FLAT_ASSESS, v its result and d its adjoint. */
void assess_back(const struct flat_op *op, double v, const double *args, double d, double *g);
/* Operations on many numbers at once. False: left to the general way. */
bool columns_run(const struct flat_run *r, const struct flat_op *op) GPM_MUST_USE;
bool columns_back(const struct flat_run *r, const struct flat_op *op) GPM_MUST_USE;
/* The sum of a density over its columns; with a gradient, adds to the adjoints. NaN: left. */
double columns_density(const struct flat_run *r, const struct flat_op *op, bool gradient);
double columns_one(const struct flat_run *r, const struct flat_op *op, uint32_t i); /* one of it */
/* Does it read slots that stand anywhere: gathered[args[0]] and those that follow? */
static inline bool op_gathers(const struct flat_op *op) {
    return op->code == FLAT_PACK || op->code == FLAT_PICK || op->code == FLAT_GATHERED;
}
/* How many nodes the densities of an operation belong to; their words are op->node and those that
 * follow. */
static inline uint32_t op_n_nodes(const struct flat_op *op) {
    return op->code == FLAT_MANY ? op->len : 1;
}
/* flat_place.c: a principal whose arguments are known is placed, shown after a draw, or pulled
 * back. False: left to the general way. */
bool place_principal(const struct flat_run *r, const struct flat_op *op) GPM_MUST_USE;
bool place_drawn(const struct flat_run *r, const struct flat_op *op) GPM_MUST_USE;
bool place_back(const struct flat_run *r, const struct flat_op *op) GPM_MUST_USE;
/* flat_run.c */
void write_ahead(struct trace *t); /* nothing is ahead any more; the epoch stays */
#endif
