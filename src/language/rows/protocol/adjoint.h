/* SPDX-License-Identifier: Apache-2.0
 *
 * Adjoints: derivatives of one number with respect to a value, as a value. A number for a number, a
 * vector or array for a sequence (lists too), a matrix for a matrix, NIL for zero at any level. An
 * improper pair (a . b) has an array of two.
 */
#ifndef SP_ADJOINT_H
#define SP_ADJOINT_H
#include "language/value/value.h"

/* Sum of two adjoints of one value (owned). */
value adj_add(value a, value b);
value adj_scaled(value d, double by); /* owned */
/* Element i of the adjoint of a sequence (owned; NIL: zero). */
value adj_item(value d, size_t i);
/* Adjoint of a sequence of n that is d (reference taken) at i and zero elsewhere. */
value adj_unit(size_t n, size_t i, value d);
/* Elements from..from+n-1 of the adjoint of a sequence; NIL stays NIL. */
value adj_slice(value d, size_t from, size_t n);
/* Adjoint of a sequence of n whose elements from `from` on are the first `count` of d, zero
 * elsewhere. */
value adj_placed(value d, size_t n, size_t from, size_t count);
/* The adjoint of n numbers as doubles; NIL parts are 0. A number stands for n = 1. */
void adj_doubles(value d, double *out, size_t n);
/* Count of the numbers in a number, vector, array of numbers or matrix; 0 for other values.
 * adj_doubles reads them; adj_like makes a value of the same shape with other numbers. */
size_t adj_count(value v);
value adj_like(value shape, const double *x);
/* A number adjoint (0 for NIL). */
double adj_num(value d);
#endif
