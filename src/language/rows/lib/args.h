/* SPDX-License-Identifier: Apache-2.0
 *
 * Arguments that are sequences or matrices, shared by the families that work on them.
 */
#ifndef LIB_ARGS_H
#define LIB_ARGS_H
#include "language/rows/protocol/sp.h"

/* Elements of a sequence or rows of a matrix, owned; DIAG_TYPE naming parameter i otherwise. */
enum gpm_status seq_arg(struct sp_call *c, size_t i, const char *param, value **items, size_t *n);
/* A whole number from 0 on that is below n. */
bool index_below(value v, size_t n, size_t *out);
/* The value as an index below n: DIAG_INDEX otherwise. */
enum gpm_status seq_index(struct sp_call *c, value v, size_t n, size_t *out);
/* Row i of a matrix as a vector, owned. */
value matrix_row(const struct matrix_obj *m, size_t i);

/* ---- a matrix, or a sequence of rows of numbers ---- */

struct mat_arg {
    size_t rows, cols;
    const double *at; /* column-major */
    double *own;      /* freed by mat_arg_release */
};

/* DIAG_TYPE or DIAG_SHAPE naming the parameter when args[i] is no matrix. */
enum gpm_status mat_arg_init(struct mat_arg *m, struct sp_call *c, size_t i, const char *param);
void mat_arg_release(struct mat_arg *m);
/* Copy of the numbers; caller frees. */
double *mat_arg_copy(const struct mat_arg *m);
/* The adjoint of args[i] from its numbers d (column-major): a matrix, or an array of rows where the
 * argument was a sequence of rows. */
value mat_arg_adjoint(const struct mat_arg *m, value arg, const double *d);
/* The numbers of an adjoint of a rows x cols matrix into `out`; zeros for NIL. */
void mat_adjoint_numbers(value d, size_t rows, size_t cols, double *out);
void mat_transpose(const double *a, size_t rows, size_t cols, double *to);
/* to = A B, of the transposes where ta, tb say so: m by k times k by n. */
void mat_multiply(bool ta, bool tb, size_t m, size_t n, size_t k, const double *a, size_t lda,
                  const double *b, size_t ldb, double *to);
/* A factor of a product: a matrix ('m'), or a vector seen as one column ('c') or one row. */
enum gpm_status mat_factor(struct mat_arg *m, struct sp_call *c, size_t i, const char *param,
                           char kind);
value mat_factor_adjoint(const struct mat_arg *m, value arg, char kind, const double *d);
/* Rows of procedures of one matrix: simulate and gradient, with a struct mat_row as `of`. */
struct mat_row {
    const char *param;
    bool square; /* it must be */
    enum gpm_status (*value)(struct sp_call *c, const struct mat_arg *m, value *out);
    /* fills the adjoint d of the matrix, zeroed before */
    void (*back)(struct sp_call *c, const struct mat_arg *m, value r, value dr, double *d);
};
enum gpm_status simulate_of_matrix(struct sp_call *c, value *out);
enum gpm_status grad_of_matrix(struct sp_call *c, value r, value dr, value *dargs);
#define OF_MATRIX(...)                                                                             \
    .of = &(const struct mat_row) {                                                                \
        __VA_ARGS__                                                                                \
    }
enum gpm_status mat_arg_must_be_square(const struct mat_arg *m, struct sp_call *c) GPM_MUST_USE;
#endif
