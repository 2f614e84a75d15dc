/* SPDX-License-Identifier: Apache-2.0
 *
 * Loops over columns; see the header. Each has a copy for every combination of steps, so the
 * compiler knows which operands are contiguous. */
#include "numeric/la/cols.h"

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

/* s[k]: the sum of TERM(i) over i = k, k + 4, .... The rest after the last four is written out, so
 * the accumulators stay in registers. */
#define SUM4(s, TERM)                                                                              \
    double s[4] = {0};                                                                             \
    do {                                                                                           \
        size_t i_ = 0;                                                                             \
        for (; i_ + 4 <= n; i_ += 4)                                                               \
            for (size_t k = 0; k < 4; k++) s[k] += TERM(i_ + k);                                   \
        if (i_ < n) s[0] += TERM(i_);                                                              \
        if (i_ + 1 < n) s[1] += TERM(i_ + 1);                                                      \
        if (i_ + 2 < n) s[2] += TERM(i_ + 2);                                                      \
    } while (0)
#define TOTAL(s) ((s[0] + s[1]) + (s[2] + s[3]))

double col_sum(size_t n, const double *x) {
#define TERM(j) x[j]
    SUM4(s, TERM);
#undef TERM
    return TOTAL(s);
}

double col_sum_less(size_t n, const double *x, double m) {
#define TERM(j) (x[j] - m)
    SUM4(s, TERM);
#undef TERM
    return TOTAL(s);
}

double col_squares_less(size_t n, const double *x, double m) {
#define TERM(j) (x[j] - m) * (x[j] - m)
    SUM4(s, TERM);
#undef TERM
    return TOTAL(s);
}

double col_product(size_t n, const double *x) {
    double s[4] = {1, 1, 1, 1};
    size_t i = 0;
    for (; i + 4 <= n; i += 4)
        for (size_t k = 0; k < 4; k++) s[k] *= x[i + k];
    for (; i < n; i++) s[0] *= x[i];
    return (s[0] * s[1]) * (s[2] * s[3]);
}

double col_dot(size_t n, const double *x, const double *y) {
#define TERM(j) x[j] * y[j]
    SUM4(s, TERM);
#undef TERM
    return TOTAL(s);
}

void col_dots_of_sum(size_t n, const double *x, const double *y, const double *u, const double *v,
                     double out[2]) {
#define TERM(j) (x[j] + y[j]) * u[j]
    SUM4(s, TERM);
#undef TERM
#define TERM(j) (x[j] + y[j]) * v[j]
    SUM4(t, TERM);
#undef TERM
    out[0] = TOTAL(s);
    out[1] = TOTAL(t);
}

bool col_finite(size_t n, const double *x) {
#define TERM(j) (x[j] - x[j])
    SUM4(s, TERM);
#undef TERM
    return TOTAL(s) == 0;
}

void col_add(size_t n, double f, const double *restrict x, double *restrict out) {
    size_t i = 0;
    for (; i + 4 <= n; i += 4)
        for (size_t k = 0; k < 4; k++) out[i + k] += f * x[i + k];
    for (; i < n; i++) out[i] += f * x[i];
}

void col_add_both(size_t n, double f, const double *restrict x, double *restrict out,
                  const double *restrict y, double *restrict again) {
    for (size_t i = 0; i < n; i++) {
        out[i] += f * x[i];
        again[i] += f * y[i];
    }
}

void col_add_product(size_t n, const double *restrict x, const double *restrict y,
                     double *restrict out) {
    for (size_t i = 0; i < n; i++) out[i] += x[i] * y[i];
}
