/* SPDX-License-Identifier: Apache-2.0
 *
 * Inside dist/: the arguments of an elementwise call as columns (elementwise.c), for the procedures
 * that look at the distributions of numbers.
 */
#ifndef DIST_COLUMNS_H
#define DIST_COLUMNS_H
#include "language/rows/dist/dist_row.h"

/* One number for all elements, or one for each. Not to be copied: `at` may point into it. */
struct column {
    const double *at;
    double one, *owned;
    size_t step; /* 0: one number for all elements */
};

/* The arguments of a call. */
struct arg_columns {
    size_t n;  /* elements */
    bool many; /* some argument is a sequence */
    struct column arg[SP_MAX_PARAMS];
};

enum gpm_status columns_init(struct sp_call *c, struct arg_columns *q) GPM_MUST_USE;
void columns_release(struct arg_columns *q, size_t n);
/* Parameters of element i into a[n]. */
void columns_element(const struct arg_columns *q, size_t n, size_t i, double *a);
/* The domains that the signature cannot say. */
enum gpm_status columns_check(struct sp_call *c, const double *a) GPM_MUST_USE;
/* The value's column. Under numbers as arguments a sequence says itself how many elements there
 * are. */
enum gpm_status columns_value(struct sp_call *c, value v, struct arg_columns *q,
                              struct column *x) GPM_MUST_USE;
void column_release(struct column *col);
/* The distribution of one element, for a row with tails. */
struct law law_of(const struct sp_class *cls, const double *a);

/* Adds up the gradients of the elements: grad fills g[0] in the value, g[1 + i] in argument i. The
 * adjoints, d[0] that of the value, are owned: of a number a number, of a sequence a vector, NIL
 * for zero. */
typedef void columns_grad_fn(const struct sp_call *c, double x, const double *a, double *g);
void columns_gradient(const struct sp_call *c, const struct arg_columns *q, const struct column *x,
                      columns_grad_fn *grad, value *d);
#endif
