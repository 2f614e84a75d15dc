/* SPDX-License-Identifier: Apache-2.0
 *
 * Inside flat/: forms (what flats of many choices have in common) and their instances.
 *
 * Slots number the values that operations read and write:
 *
 *     principals | results of deterministic nodes | inputs | constants
 *
 * The first two change (n_changing). A slot before the constants has a node, w[slot] of the flat;
 * inputs are read from theirs when a proposal begins. Numbers stand in v[]; a changing slot whose
 * value is no number stands in box[], with kind[] to tell.
 *
 * Operations, in order: `steps` (draws of principals and deterministic nodes, as evaluated),
 * densities of nodes shared with other flats (makers too), of observations that the flat owns, of
 * the principals. A density's `out` is the slot of its value; an owned one's value stands in the
 * flat.
 *
 * Room for more: an operation on a column of numbers is one with a length and strides instead of a
 * single `out`; arrays of known length are ranges of slots, so that building and indexing them are
 * names. Both need nothing here but further codes.
 */
#ifndef FLAT_FORM_H
#define FLAT_FORM_H
#include "flat/flat.h"
#include "trace/scaffold.h"

enum { FLAT_ARGS = 4 }; /* operands inside an operation; numeric ones have no more */

enum flat_code {
    FLAT_NUM, /* cls->num, num_log_density, num_sample */
    FLAT_ADD, /* the rest of the numeric ones: known by heart */
    FLAT_SUB,
    FLAT_MUL,
    FLAT_DIV,
    FLAT_NORMAL,
    FLAT_DRAW,     /* a principal, numeric */
    FLAT_DRAW_ROW, /* a principal whose procedure draws on values */
    FLAT_ROW,      /* cls->simulate or log_density on values */
    FLAT_MAKER     /* cls->aaa: remake, log_joint, gradient, undo, commit */
};

struct flat_op {
    const struct sp_class *cls;
    uint16_t code, n_args;
    uint32_t out;
    uint32_t
        args[FLAT_ARGS]; /* slots; of more than FLAT_ARGS: args[0] is where they stand in extra */
};

struct flat_form {
    struct flat_form *next; /* another one of the same hash */
    uint64_t hash;
    uint32_t refs; /* flats */
    /* scratch, valid from flat_open to keep or drop */
    double *v;                   /* n_slots; the constants stay */
    double *logp;                /* of every density, as proposed */
    double *adj;                 /* n_slots, made when a gradient is first asked for */
    double last_sd, log_sd;      /* of the last normal density: most share them */
    value *box, *box_adj, *args; /* n_changing, n_changing, most_args; forms with rows only */
    /* from here on: what makes two forms equal */
    uint32_t n_principals, n_changing, n_in, n_constants;
    uint32_t n_steps, n_shared, n_own, n_extra, most_args;
    uint16_t rows;    /* some operation runs on values */
    uint16_t settles; /* a proposal that is kept leaves something for trace_settle */
    struct flat_op
        ops[]; /* then constants (double), extra (uint32_t), kind (uint8_t, n_changing) */
};

static inline uint32_t form_n_ops(const struct flat_form *f) {
    return f->n_steps + f->n_shared + f->n_own + f->n_principals;
}
static inline uint32_t form_n_slots(const struct flat_form *f) {
    return f->n_changing + f->n_in + f->n_constants;
}
static inline double *form_constants(struct flat_form *f) {
    return (double *)(f->ops + form_n_ops(f));
}
static inline uint32_t *form_extra(struct flat_form *f) {
    return (uint32_t *)(form_constants(f) + f->n_constants);
}
static inline uint8_t *form_kind(struct flat_form *f) { /* 1: in box[] */
    return (uint8_t *)(form_extra(f) + f->n_extra);
}
static inline const uint32_t *op_args(struct flat_form *f, const struct flat_op *op) {
    return op->n_args <= FLAT_ARGS ? op->args : form_extra(f) + op->args[0];
}

union flat_word {
    struct node *n;
    double x;
};

/* One set of principals in one trace. */
struct flat {
    uint64_t stamp : 62;    /* struct flats */
    uint64_t ahead : 1;     /* in flats->ahead */
    uint64_t noted : 1;     /* in the journal */
    struct flat_form *form; /* NULL: the general way must be taken */
    union flat_word w[];    /* nodes of the slots; then node, value and density of each owned one */
};

/* What a journal keeps: where a flat's principals stood when it first moved. */
struct moved {
    struct flat *f;
    size_t first; /* of its values in the journal's list */
};

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
        uint64_t used;
    } cache[FLAT_CACHE];
    uint64_t clock;
    VEC(struct flat *) retired; /* that left the cache while the journal mentions them */
    struct {
        bool on, back; /* back: the values at the beginning stand */
        struct rng rng;
        VEC(struct moved) moved;
        VEC(value) vals;
    } journal;
};

/* form.c */
struct flats *flats_renewed(struct trace *t);
/* Made when they are first asked for; the stamp is up to date. */
static inline struct flats *flats_of(struct trace *t) {
    struct flats *all = inner(t)->flats;
    return all && all->structure == t->structure ? all : flats_renewed(t);
}
void flat_free(struct trace *t, struct flat *f);
struct flat *flat_new(struct trace *t, struct flat_form *taken, struct node *const *slots,
                      struct node *const *owned);
/* The form equal to this one that is there already, or f itself; counted. */
struct flat_form *form_share(struct flats *all, struct flat_form *taken);
size_t form_size(const struct flat_form *f); /* bytes, with operations and what follows them */
/* build.c. Owned by the caller; without a form where the scaffold does not allow one. */
struct flat *flat_make(struct trace *t, struct node *const *principals, size_t n);
/* flat_run.c */
void write_ahead(struct trace *t); /* nothing is ahead any more; the epoch stays */
/* Deterministic nodes from the principals as they stand in their nodes, makers too. False: some of
 * it could not be evaluated. */
bool flat_follow(struct trace *t, struct flat *f) GPM_MUST_USE;
#endif
