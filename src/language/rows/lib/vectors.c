/* SPDX-License-Identifier: Apache-2.0
 *
 * Vectors of numbers: reductions to one number, and functions from vector to vector, each with its
 * derivative. The formula of a derivative stands above it: y is the result, a bar an adjoint.
 */
#include "language/rows/lib/lift.h"

#include "base/mem.h"
#include "numeric/special/special.h"
#include "language/rows/protocol/adjoint.h"
#include "language/rows/lib/args.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- moments -----------------------------------------------------------------------------------
 */

static double num_mean(const double *x, size_t n) {
    double s = 0;
    for (size_t i = 0; i < n; i++) s += x[i];
    return s / (double)n;
}

static void back_mean(double v, const double *x, size_t n, double d, double *out) {
    for (size_t i = 0; i < n; i++) out[i] = d / (double)n;
}

/* With n - 1 below: NaN of fewer than two. */
static double num_variance(const double *x, size_t n) {
    double m = num_mean(x, n), s = 0;
    for (size_t i = 0; i < n; i++) s += (x[i] - m) * (x[i] - m);
    return s / ((double)n - 1);
}

static void back_variance(double v, const double *x, size_t n, double d, double *out) {
    double m = num_mean(x, n);
    for (size_t i = 0; i < n; i++) out[i] = d * 2 * (x[i] - m) / ((double)n - 1);
}

static double num_sd(const double *x, size_t n) {
    return sqrt(num_variance(x, n));
}

/* Of equal numbers it has no slope; the adjoint is 0 there, as from both sides it may be. */
static void back_sd(double v, const double *x, size_t n, double d, double *out) {
    back_variance(v * v, x, n, v > 0 ? d / (2 * v) : 0, out);
}

/* ---- vector to vector --------------------------------------------------------------------------
 */

struct vector_row {
    size_t shorter; /* so many elements less than the argument has */
    void (*value)(const double *x, size_t n, double *y);
    void (*back)(const double *x, const double *y, size_t n, const double *dy, double *dx);
};

static enum gpm_status simulate_vector_row(struct sp_call *c, value *out) {
    const struct vector_row *row = c->cls->of;
    size_t n;
    double *x = sp_numbers(c, 0, &n);
    *out = value_vector_new(n > row->shorter ? n - row->shorter : 0);
    if (n) row->value(x, n, out->u.vector->at);
    mem_free(x);
    return GPM_OK;
}

static enum gpm_status grad_vector_row(struct sp_call *c, value r, value dr, value *dargs) {
    const struct vector_row *row = c->cls->of;
    size_t n, m = r.u.vector->n;
    if (dr.tag == V_NIL) return GPM_OK;
    double *x = sp_numbers(c, 0, &n);
    double *dy = NEW_ARRAY(double, m + 1);
    adj_doubles(dr, dy, m);
    dargs[0] = value_vector_new(n);
    if (n) row->back(x, r.u.vector->at, n, dy, dargs[0].u.vector->at);
    mem_free(dy);
    mem_free(x);
    return GPM_OK;
}

static void value_cumsum(const double *x, size_t n, double *y) {
    y[0] = x[0];
    for (size_t i = 1; i < n; i++) y[i] = y[i - 1] + x[i];
}

/* xbar_i = ybar_i + ybar_{i+1} + ... */
static void back_cumsum(const double *x, const double *y, size_t n, const double *dy, double *dx) {
    double s = 0;
    for (size_t i = n; i-- > 0;) dx[i] = s += dy[i];
}

/* y_i = x_{i+1} - x_i */
static void value_diff(const double *x, size_t n, double *y) {
    for (size_t i = 0; i + 1 < n; i++) y[i] = x[i + 1] - x[i];
}

static void back_diff(const double *x, const double *y, size_t n, const double *dy, double *dx) {
    for (size_t i = 0; i < n; i++) dx[i] = (i ? dy[i - 1] : 0) - (i + 1 < n ? dy[i] : 0);
}

static void value_log_softmax(const double *x, size_t n, double *y) {
    double total = logsumexp(x, n);
    for (size_t i = 0; i < n; i++) y[i] = x[i] - total;
}

/* xbar_i = ybar_i - e^(y_i) sum_j ybar_j */
static void back_log_softmax(const double *x, const double *y, size_t n, const double *dy,
                             double *dx) {
    double s = 0;
    for (size_t i = 0; i < n; i++) s += dy[i];
    for (size_t i = 0; i < n; i++) dx[i] = dy[i] - exp(y[i]) * s;
}

static void value_softmax(const double *x, size_t n, double *y) {
    value_log_softmax(x, n, y);
    for (size_t i = 0; i < n; i++) y[i] = exp(y[i]);
}

/* xbar_i = y_i (ybar_i - sum_j ybar_j y_j) */
static void back_softmax(const double *x, const double *y, size_t n, const double *dy, double *dx) {
    double s = 0;
    for (size_t i = 0; i < n; i++) s += dy[i] * y[i];
    for (size_t i = 0; i < n; i++) dx[i] = y[i] * (dy[i] - s);
}

/* The same for compiled steps. */
#define BLOCKS(NAME)                                                                               \
    static bool block_##NAME(const struct sp_block *a, size_t n, double *out) {                    \
        value_##NAME(a[0].at, a[0].rows, out);                                                     \
        return true;                                                                               \
    }                                                                                              \
    static void block_back_##NAME(const struct sp_block *a, size_t n, const double *out,           \
                                  const double *d) {                                               \
        double *dx = NEW_ARRAY(double, a[0].rows + 1);                                             \
        back_##NAME(a[0].at, out, a[0].rows, d, dx);                                               \
        for (size_t i = 0; a[0].adj && i < a[0].rows; i++) a[0].adj[i] += dx[i];                   \
        mem_free(dx);                                                                              \
    }
BLOCKS(cumsum)
BLOCKS(diff)
BLOCKS(softmax)
BLOCKS(log_softmax)

/* ---- order -------------------------------------------------------------------------------------
 */

/* The elements with their places, the places of equal ones in order. */
struct placed {
    value v;
    size_t at;
};

static int by_value(const void *a, const void *b) {
    const struct placed *x = a, *y = b;
    int c = value_compare(x->v, y->v);
    return c ? c : (x->at > y->at) - (x->at < y->at);
}

/* The permutation that sorts argument 0: place[k] is where element k of the result came from;
 * mem_free. */
static enum gpm_status sorted_places(struct sp_call *c, struct placed **out, size_t *n) {
    value *items;
    enum gpm_status st = seq_arg(c, 0, "xs", &items, n);
    if (st) return st;
    *out = NEW_ARRAY(struct placed, *n + 1);
    for (size_t i = 0; i < *n; i++) (*out)[i] = (struct placed){items[i], i};
    qsort(*out, *n, sizeof **out, by_value);
    mem_free(items); /* the references are the result's */
    return GPM_OK;
}

static void places_free(struct placed *p, size_t n) {
    for (size_t i = 0; i < n; i++) value_unref(p[i].v);
    mem_free(p);
}

static enum gpm_status simulate_sort(struct sp_call *c, value *out) {
    struct placed *p;
    size_t n;
    enum gpm_status st = sorted_places(c, &p, &n);
    if (st) return st;
    value *items = NEW_ARRAY(value, n + 1);
    for (size_t i = 0; i < n; i++) items[i] = value_ref(p[i].v);
    *out = seq_like_take(c->args[0], items, n);
    mem_free(items);
    places_free(p, n);
    return GPM_OK;
}

/* Each element's adjoint goes to the place that it came from. */
static enum gpm_status grad_sort(struct sp_call *c, value r, value dr, value *dargs) {
    struct placed *p;
    size_t n;
    if (dr.tag == V_NIL || c->args[0].tag == V_MATRIX) return GPM_OK;
    enum gpm_status st = sorted_places(c, &p, &n);
    if (st) return st;
    dargs[0] = value_array_new(n);
    for (size_t i = 0; i < n; i++) dargs[0].u.array->at[p[i].at] = adj_item(dr, i);
    places_free(p, n);
    return GPM_OK;
}

/* The places in order of their elements, or (variant true) the rank of each element. */
static enum gpm_status simulate_order(struct sp_call *c, value *out) {
    struct placed *p;
    size_t n;
    enum gpm_status st = sorted_places(c, &p, &n);
    if (st) return st;
    *out = value_vector_new(n);
    for (size_t i = 0; i < n; i++)
        if (c->cls->variant)
            out->u.vector->at[p[i].at] = (double)i;
        else
            out->u.vector->at[i] = (double)p[i].at;
    places_free(p, n);
    return GPM_OK;
}

/* Where numbers are missing (variant true), or where they are there. */
static enum gpm_status simulate_which(struct sp_call *c, value *out) {
    size_t n, k = 0;
    double *x = sp_numbers(c, 0, &n);
    for (size_t i = 0; i < n; i++)
        if (isnan(x[i]) == (c->cls->variant != 0)) x[k++] = (double)i;
    *out = value_vector(x, k);
    mem_free(x);
    return GPM_OK;
}

#define XS "(xs: numbers) -> "
#define TO_NUMBER(NAME, DOC, EXAMPLE)                                                              \
    .name = #NAME, .sig = XS "number", .doc = DOC, .example = EXAMPLE,                             \
    .simulate = reduce_simulate, .grad_simulate = reduce_grad, .variant = LIFT_OF_NONE,            \
    LIFT_FNS(NAME)
#define TO_VECTOR(NAME, SHORTER, DOC, EXAMPLE)                                                     \
    SP_GROW(NAME, vector_row, XS "vector", DOC, EXAMPLE),                                          \
        .block = block_##NAME, .block_back = block_back_##NAME, .of = &(const struct vector_row) { \
        SHORTER, value_##NAME, back_##NAME                                                         \
    }

const struct sp_class sp_vectors_rows[] = {
    {TO_NUMBER(mean, "The arithmetic mean.", "mean([1, 2, 6]) => 3")},
    {TO_NUMBER(variance, "The variance, with n - 1 in the denominator.",
               "variance([1, 2, 6]) => 7")},
    {TO_NUMBER(sd, "The standard deviation, with n - 1 in the denominator.", "sd([1, 3, 5]) => 2")},
    {TO_VECTOR(cumsum, 0, "The sums of the first element, the first two, ...",
               "cumsum([1, 2, 3]) => [1, 3, 6]")},
    {TO_VECTOR(diff, 1, "The differences of neighbours, one less than there are elements.",
               "diff([1, 4, 9]) => [3, 5]")},
    {TO_VECTOR(softmax, 0, "exp(x) divided by its sum: probabilities from any numbers.",
               "softmax([5, 5]) => [0.5, 0.5]")},
    {TO_VECTOR(log_softmax, 0, "log(softmax(xs)), without overflow.",
               "round(log_softmax([0, 1000])) => [-1000, 0]")},
    {SP_ROW(present, which, XS "vector",
            "The indices of the numbers that are there: not nan, which stands for missing data.",
            "present([4, log(-1), 6]) => [0, 2]"),
     .variant = false},
    {SP_ROW(missing, which, XS "vector", "The indices of missing numbers, which are nan.",
            "missing([4, log(-1), 6]) => [1]"),
     .variant = true},
    {SP_GROW(sort, sort, "(xs: any) -> any", "The elements in ascending order.",
             "sort([3, 1, 2]) => [1, 2, 3]")},
    {SP_ROW(order, order, "(xs: any) -> vector",
            "The indices that sort: xs[order(xs)] is sort(xs).", "order([3, 1, 2]) => [1, 2, 0]"),
     .variant = false},
    {SP_ROW(rank, order, "(xs: any) -> vector", "How many elements stand before each in order.",
            "rank([3, 1, 2]) => [2, 0, 1]"),
     .variant = true},
};
const size_t sp_vectors_count = COUNT_OF(sp_vectors_rows);
