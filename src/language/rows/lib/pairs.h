/* SPDX-License-Identifier: Apache-2.0
 *
 * Procedures of two arguments that are matrices or vectors. The result is a number, a vector or a
 * matrix. A row reads the arguments, computes the numbers of the result and their adjoints; the
 * frame makes values of the numbers.
 */
#ifndef LIB_PAIRS_H
#define LIB_PAIRS_H
#include "language/rows/lib/args.h"

struct mat_pair {
    struct mat_arg a, b;
    char kinds[2];     /* of both arguments: 'm' a matrix, 'c' a column, 'r' a row (mat_factor) */
    size_t rows, cols; /* of the result */
    enum { GIVES_NUMBER, GIVES_VECTOR, GIVES_MATRIX } gives;
};

struct mat_pair_row {
    /* Calls mat_pair_read, checks the sizes and sets those of the result. */
    enum gpm_status (*read)(struct sp_call *c, struct mat_pair *p);
    enum gpm_status (*value)(struct sp_call *c, const struct mat_pair *p, double *to);
    /* r: the result; dr: its adjoint, which may be overwritten; da, db, zeroed: those of both */
    enum gpm_status (*back)(struct sp_call *c, const struct mat_pair *p, const double *r,
                            double *dr, double *da, double *db);
    const char *kinds; /* for read; or NULL */
};

/* Reads both arguments by their kinds; a and b are their names in messages. */
enum gpm_status mat_pair_read(struct sp_call *c, struct mat_pair *p, const char kinds[2],
                              const char *a, const char *b) GPM_MUST_USE;
/* Is v a sequence of numbers? */
bool mat_is_vector(value v);

/* simulate and grad_simulate of a row with a struct mat_pair_row as `of`. */
enum gpm_status simulate_of_pair(struct sp_call *c, value *out);
enum gpm_status grad_of_pair(struct sp_call *c, value r, value dr, value *dargs);
#define OF_PAIR(...)                                                                               \
    .of = &(const struct mat_pair_row) {                                                           \
        __VA_ARGS__                                                                                \
    }
#endif
