/* SPDX-License-Identifier: Apache-2.0
 *
 * Columns of numbers: the inner loops of compiled steps (flat/) and of densities of many elements.
 * An operand is a column (step 1) or one number for all (step 0). Sums run in four interleaved
 * accumulators, so they do not depend on the width of the machine's registers. Inputs may not
 * overlap outputs.
 */
#ifndef LA_COLS_H
#define LA_COLS_H
#include <stdbool.h>
#include <stddef.h>

enum col_op { COL_ADD, COL_SUB, COL_MUL, COL_DIV };
struct col {
    const double *at;
    size_t step;
};
void col_arith(enum col_op op, size_t n, struct col x, struct col y, double *out);
double col_sum(size_t n, const double *x);
double col_sum_less(size_t n, const double *x, double m);     /* sum of x - m */
double col_squares_less(size_t n, const double *x, double m); /* sum of (x - m)^2 */
double col_product(size_t n, const double *x);                /* of few, or of medium size */
double col_dot(size_t n, const double *x, const double *y);
/* (x + y)' u and (x + y)' v. */
void col_dots_of_sum(size_t n, const double *x, const double *y, const double *u, const double *v,
                     double out[2]);
bool col_finite(size_t n, const double *x);                     /* all of them */
void col_add(size_t n, double f, const double *x, double *out); /* out += f x */
/* out += f x and again += f y. */
void col_add_both(size_t n, double f, const double *x, double *out, const double *y, double *again);
void col_add_product(size_t n, const double *x, const double *y, double *out); /* out += x y */
#endif
