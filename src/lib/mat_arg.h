/* SPDX-License-Identifier: Apache-2.0
 *
 * Matrix arguments: a matrix, or a sequence of rows of numbers.
 */
#ifndef LIB_MAT_ARG_H
#define LIB_MAT_ARG_H
#include "sp/sp.h"

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
/* The numbers of an adjoint of a rows x cols matrix; zeros for NIL. Caller frees. */
double *mat_adjoint_numbers(value d, size_t rows, size_t cols);
#endif
