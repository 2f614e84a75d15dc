/* SPDX-License-Identifier: Apache-2.0
 * Internals of the kernel tree, for the files of this folder. */
#ifndef GP_KERN_TREE_H
#define GP_KERN_TREE_H
#include "gp/kernel/kern_class.h"

struct kern {
    _Atomic(long) refs;
    enum kern_op op;
    const struct kern_class *cls;
    uint64_t hash;
    int depth;
    bool stationary, callback;
    bool everywhere; /* fits inputs of any dimension */
    bool slopes;     /* every leaf can be differentiated in the point */
    bool dear;       /* computing a value costs more than a table lookup */
    size_t npar;     /* own parameters: leaf, change; expanded */
    size_t total;    /* parameters of the whole subtree */
    size_t size;     /* symbols of the expression in full; shared parts count each time */
    double *par;
    size_t ard; /* length of the vector parameter; 1: shared */
    int *col;   /* columns; ncol = 0: all */
    size_t ncol;
    struct kern **kid; /* owned references */
    size_t nkids;
    kern_callback_fn fn;          /* callback leaf */
    kern_callback_slope_fn slope; /* for a callback with parameters */
    void *user;
    void (*drop)(void *);
    char *label;
};

extern const struct kern_class kern_rows_stationary[], kern_rows_periodic[], kern_rows_linear[],
    kern_rows_noise[], kern_rows_platform[], kern_rows_change[]; /* the last name is NULL */

/* Does the name denote this row: its own name, or the symbol printed in structures (gp_cov_delta:
 * DELTA)? So structures can be read back. */
bool kern_class_called(const struct kern_class *cls, const char *name);
/* The parameter of the row at expanded position i; *c: its index in a vector, or -1. */
size_t kern_par_of(const struct kern *k, size_t i, int *c);
/* Prints "[0,2]", the columns, unless the leaf uses all. */
void kern_print_columns(const struct kern *k, struct buf *out);
/* Expanded position of the p-th parameter of the row, for column c if it is a vector. */
int kern_par_index(const struct kern *k, int p, int c);
static inline double kern_par(const struct kern *k, int p, int c) {
    return k->par[kern_par_index(k, p, c)];
}
double kern_amplitude(const struct kern *k); /* 1, par^2 or par */
double kern_amp_slope(const struct kern *k); /* its derivative in parameter 0 */
/* Is the value f f' with one feature f per column? kern_phi gives the feature. */
static inline bool kern_is_line(const struct kern *k) {
    return k->op == KERN_LEAF && (k->cls->weight || k->cls->algebra == KERN_ALG_LIN);
}
static inline bool kern_is_constant(const struct kern *k) {
    return k->op == KERN_LEAF && k->cls->algebra == KERN_ALG_CONST;
}
static inline bool kern_is_white(const struct kern *k) {
    return k->op == KERN_LEAF && k->cls->algebra == KERN_ALG_WN;
}
/* The operands of `op`, or the kernel itself if it is not such an operation. */
static inline size_t kern_nparts(const struct kern *k, enum kern_op op) {
    return k->op == op ? k->nkids : 1;
}
static inline struct kern *kern_part(const struct kern *k, enum kern_op op, size_t i) {
    return k->op == op ? k->kid[i] : (struct kern *)k;
}
/* The origin of a linear leaf. */
static inline double kern_origin(const struct kern *k, int c) {
    return k->cls->npar > 1 ? kern_par(k, 1, c) : 0;
}
/* The leaf row of this kind. */
const struct kern_class *kern_class_of(enum kern_algebra algebra, enum kern_amp amp, size_t npar);
/* The feature of a line at the value x of its column c. */
double kern_phi(const struct kern *k, int c, double x);
/* The same leaf with another first parameter, the amplitude. */
struct kern *kern_with_first(const struct kern *k, double first);
struct kern *kern_nary(enum kern_op op, struct kern *const *kids, size_t n); /* takes own refs */
#endif
