/* SPDX-License-Identifier: Apache-2.0
 *
 * Loops over columns; see the header. Each has a copy for every mixture of steps, so that the
 * compiler can see that columns are contiguous. */
#include "la/cols.h"

#define EACH(OP)                                                                                   \
    if (x.step && y.step)                                                                          \
        for (size_t i = 0; i < n; i++) out[i] = x.at[i] OP y.at[i];                                \
    else if (x.step)                                                                               \
        for (size_t i = 0; i < n; i++) out[i] = x.at[i] OP b;                                      \
    else if (y.step)                                                                               \
        for (size_t i = 0; i < n; i++) out[i] = a OP y.at[i];                                      \
    else                                                                                           \
        for (size_t i = 0; i < n; i++) out[i] = a OP b;

void col_arith(enum col_op op, size_t n, struct col x, struct col y, double *restrict out) {
    const double a = x.at[0], b = y.at[0];
    switch (op) {
    case COL_ADD: EACH(+) break;
    case COL_SUB: EACH(-) break;
    case COL_MUL: EACH(*) break;
    case COL_DIV: EACH(/) break;
    }
}

/* The sum over i of TERM in the four accumulators. */
#define SUM4(TERM)                                                                                 \
    double s[4] = {0};                                                                             \
    size_t i = 0;                                                                                  \
    for (; i + 4 <= n; i += 4)                                                                     \
        for (size_t k = 0; k < 4; k++) s[k] += TERM(i + k);                                        \
    for (; i < n; i++) s[i & 3] += TERM(i);                                                        \
    return (s[0] + s[1]) + (s[2] + s[3])

double col_sum(size_t n, const double *x) {
#define TERM(j) x[j]
    SUM4(TERM);
#undef TERM
}

double col_dot(size_t n, const double *x, const double *y) {
#define TERM(j) x[j] * y[j]
    SUM4(TERM);
#undef TERM
}

void col_add(size_t n, double f, const double *restrict x, double *restrict out) {
    for (size_t i = 0; i < n; i++) out[i] += f * x[i];
}

void col_add_product(size_t n, const double *restrict x, const double *restrict y,
                     double *restrict out) {
    for (size_t i = 0; i < n; i++) out[i] += x[i] * y[i];
}
