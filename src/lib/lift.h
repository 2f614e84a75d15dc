/* SPDX-License-Identifier: Apache-2.0
 *
 * Elementwise arithmetic: a function of numbers lifted to numbers, sequences of numbers and
 * matrices in any mixture of one shape with scalars. Sequences give vectors, matrices matrices.
 * The row's `num` is the function; its derivatives are given beside it.
 */
#ifndef LIB_LIFT_H
#define LIB_LIFT_H
#include "sp/sp.h"

typedef double lift_fn2(double x, double y);

/* simulate of a row of one or two parameters; of any number (folded from the left with `unit` for
 * none). They call c->cls->num. */
enum gpm_status lift_simulate(struct sp_call *c, value *out);
enum gpm_status lift_fold(struct sp_call *c, double unit, value *out);

/* grad_simulate: d(x, y) with y = f(x); dx(x, y) and dy(x, y) of f(x, y). */
enum gpm_status lift_grad1(struct sp_call *c, lift_fn2 *d, value dresult, value *dargs);
enum gpm_status lift_grad2(struct sp_call *c, lift_fn2 *dx, lift_fn2 *dy, value dresult,
                           value *dargs);
/* Of a fold over any number of arguments: weights(x, n, w) gives the n partial derivatives. */
enum gpm_status lift_grad_fold(struct sp_call *c,
                               void (*weights)(const double *x, size_t n, double *w), value dresult,
                               value *dargs);

#define LIFT_ROW(NAME, SIG, DOC, EXAMPLE) LIFT_ROW_AS(SP_CODE_NONE, NAME, SIG, DOC, EXAMPLE)
#define LIFT_ROW_AS(CODE, NAME, SIG, DOC, EXAMPLE)                                                 \
    {                                                                                              \
        .code = CODE, .name = #NAME, .sig = SIG, .doc = DOC, .example = EXAMPLE,                   \
        .simulate = lift_simulate, .grad_simulate = grad_##NAME, .num = num_##NAME,                \
        .num_back = back_##NAME                                                                    \
    }

/* num_NAME, back_NAME and grad_NAME of y = f(x). */
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
    }                                                                                              \
    static enum gpm_status grad_##NAME(struct sp_call *c, value r, value dr, value *dargs) {       \
        return lift_grad1(c, d_##NAME, dr, dargs);                                                 \
    }

/* num_NAME, back_NAME and grad_NAME of f(x, y). */
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
    }                                                                                              \
    static enum gpm_status grad_##NAME(struct sp_call *c, value r, value dr, value *dargs) {       \
        return lift_grad2(c, dx_##NAME, dy_##NAME, dr, dargs);                                     \
    }
#endif
