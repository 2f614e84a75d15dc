/* SPDX-License-Identifier: Apache-2.0
 *
 * Elementwise arithmetic: a function of numbers lifted to numbers, sequences of numbers and
 * matrices in any mixture of one shape with scalars. Sequences give vectors, matrices matrices.
 * The row's `num` is the function; its derivatives are given beside it.
 */
#ifndef LIB_LIFT_H
#define LIB_LIFT_H
#include "language/rows/protocol/sp.h"

/* Variants of rows: of any number of arguments, folded from the left; of which one empty sequence
 * has a value, num(x, 0). */
enum { LIFT_FOLD = 1, LIFT_OF_NONE = 2 };

/* simulate and grad_simulate: they call the row's num and num_back for each element. */
enum gpm_status lift_simulate(struct sp_call *c, value *out);
enum gpm_status lift_grad(struct sp_call *c, value result, value dresult, value *dargs);
/* The same, but of one sequence: num and num_back of all its elements. */
enum gpm_status reduce_simulate(struct sp_call *c, value *out);
enum gpm_status reduce_grad(struct sp_call *c, value result, value dresult, value *dargs);

#define LIFT_FNS(NAME) .num = num_##NAME, .num_back = back_##NAME
#define LIFT_ROW(NAME, FN, SIG, DOC, EXAMPLE)                                                      \
    .name = #NAME, .sig = SIG, .doc = DOC, .example = EXAMPLE, .simulate = lift_simulate,          \
    .grad_simulate = lift_grad, .flags = SP_LIFTS, LIFT_FNS(FN)

#define REDUCE_ROW(NAME, FN, SIG, DOC, EXAMPLE)                                                    \
    .name = #NAME, .sig = SIG, .doc = DOC, .example = EXAMPLE, .simulate = reduce_simulate,        \
    .grad_simulate = reduce_grad, LIFT_FNS(FN)

/* num_NAME and back_NAME of y = f(x). */
#define LIFT1(NAME, EXPR, DERIVATIVE)                                                              \
    static double num_##NAME(const double *a, size_t n) {                                          \
        double x = a[0];                                                                           \
        return EXPR;                                                                               \
    }                                                                                              \
    static double d_##NAME(double x, double y) {                                                   \
        return DERIVATIVE;                                                                         \
    }                                                                                              \
    static void back_##NAME(double v, const double *a, size_t n, double d, double *out) {          \
        out[0] = d * d_##NAME(a[0], v);                                                            \
    }

/* num_NAME and back_NAME of f(x, y). */
#define LIFT2(NAME, EXPR, DX, DY)                                                                  \
    static double num_##NAME(const double *a, size_t n) {                                          \
        double x = a[0], y = a[1];                                                                 \
        return EXPR;                                                                               \
    }                                                                                              \
    static double dx_##NAME(double x, double y) {                                                  \
        return DX;                                                                                 \
    }                                                                                              \
    static double dy_##NAME(double x, double y) {                                                  \
        return DY;                                                                                 \
    }                                                                                              \
    static void back_##NAME(double v, const double *a, size_t n, double d, double *out) {          \
        out[0] = d * dx_##NAME(a[0], a[1]);                                                        \
        out[1] = d * dy_##NAME(a[0], a[1]);                                                        \
    }
#endif
