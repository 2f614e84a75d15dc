/* SPDX-License-Identifier: Apache-2.0
 *
 * Whole sequences: conversion, rearrangement, ranges, reductions.
 */
#include "language/rows/lib/lift.h"

#include "base/vec.h"
#include "language/rows/lib/args.h"
#include "language/rows/protocol/adjoint.h"
#include <math.h>

/* ---- conversion ---------------------------------------------------------------------------------
 */

/* All elements: as a list, as an array, or of the same kind backwards. */
enum { TO_LIST, TO_ARRAY, REVERSE };

static enum gpm_status simulate_whole(struct sp_call *c, value *out) {
    value *items, like = c->args[0];
    size_t n;
    enum gpm_status st = seq_arg(c, 0, "xs", &items, &n);
    if (st) return st;
    switch (c->cls->variant) {
    case TO_LIST: like = NIL; break;
    case TO_ARRAY: like.tag = V_ARRAY; break;
    default:
        for (size_t i = 0; i < n / 2; i++) {
            value x = items[i];
            items[i] = items[n - 1 - i];
            items[n - 1 - i] = x;
        }
    }
    *out = seq_like_take(like, items, n);
    mem_free(items);
    return GPM_OK;
}

static enum gpm_status simulate_to_vector(struct sp_call *c, value *out) {
    size_t n;
    double *at = sp_numbers(c, 0, &n);
    *out = value_vector(at, n);
    mem_free(at);
    return GPM_OK;
}

/* The adjoint of a sequence has one form for lists, arrays and vectors; matrices are by rows. */
static enum gpm_status grad_convert(struct sp_call *c, value r, value dr, value *dargs) {
    if (c->args[0].tag != V_MATRIX) {
        dargs[0] = value_ref(dr);
    } else if (dr.tag != V_NIL) {
        const struct matrix_obj *m = c->args[0].u.matrix;
        dargs[0] = value_matrix_new(m->rows, m->cols);
        mat_adjoint_numbers(dr, m->rows, m->cols, dargs[0].u.matrix->at);
    }
    return GPM_OK;
}

/* ---- rearrangement ------------------------------------------------------------------------------
 */

static enum gpm_status grad_reverse(struct sp_call *c, value r, value dr, value *dargs) {
    size_t n;
    if (dr.tag == V_NIL || !seq_length(c->args[0], &n)) return GPM_OK;
    dargs[0] = value_array_new(n);
    for (size_t i = 0; i < n; i++) dargs[0].u.array->at[i] = adj_item(dr, n - 1 - i);
    return GPM_OK;
}

/* The kind all arguments share; arrays otherwise. */
static value common_kind(const struct sp_call *c) {
    bool lists = true, vectors = true;
    for (size_t i = 0; i < c->n; i++) {
        uint32_t t = c->args[i].tag;
        lists = lists && (t == V_NIL || t == V_PAIR);
        vectors = vectors && t == V_VECTOR;
    }
    return (value){.tag = lists ? V_NIL : vectors ? V_VECTOR : V_ARRAY};
}

static enum gpm_status simulate_append(struct sp_call *c, value *out) {
    size_t total = 0, k = 0;
    for (size_t i = 0; i < c->n; i++) {
        size_t n = 0;
        seq_length(c->args[i], &n);
        total += n;
    }
    enum gpm_status st = sp_check_size(c, (double)total, sizeof(value));
    if (st) return st;
    value *all = NEW_ARRAY(value, total ? total : 1);
    for (size_t i = 0; i < c->n; i++) {
        struct seq_walk w = {c->args[i], 0};
        for (value item; seq_next(&w, &item);) all[k++] = value_ref(item);
    }
    *out = seq_like_take(common_kind(c), all, total);
    mem_free(all);
    return GPM_OK;
}

static enum gpm_status grad_append(struct sp_call *c, value r, value dr, value *dargs) {
    size_t from = 0;
    for (size_t i = 0; i < c->n; i++) {
        size_t n = 0;
        seq_length(c->args[i], &n);
        dargs[i] = adj_slice(dr, from, n);
        from += n;
    }
    return GPM_OK;
}

static enum gpm_status simulate_zip(struct sp_call *c, value *out) {
    struct seq_walk *w = NEW_ARRAY(struct seq_walk, c->n + 1);
    value *tuple = NEW_ARRAY(value, c->n + 1);
    VEC(value) tuples = {0};
    for (size_t i = 0; i < c->n; i++) w[i] = (struct seq_walk){c->args[i], 0};
    for (bool more = c->n > 0; more;) {
        for (size_t i = 0; i < c->n && more; i++) more = seq_next(&w[i], &tuple[i]);
        if (more) vec_push(&tuples, value_list(tuple, c->n));
    }
    *out = seq_like_take(NIL, tuples.at, tuples.n);
    vec_release(&tuples);
    mem_free(w);
    mem_free(tuple);
    return GPM_OK;
}

static enum gpm_status simulate_set_difference(struct sp_call *c, value *out) {
    struct seq_walk a = {c->args[0], 0}, b = {c->args[1], 0};
    VEC(value) kept = {0}, kv = {0}; /* b as the keys of a dictionary */
    for (value item; seq_next(&b, &item);) {
        vec_push(&kv, item);
        vec_push(&kv, item);
    }
    value set = value_dict(kv.at, kv.n / 2);
    for (value item; seq_next(&a, &item);)
        if (!dict_find(set.u.dict, item)) vec_push(&kept, value_ref(item));
    *out = seq_like_take(c->args[0], kept.at, kept.n);
    vec_release(&kept);
    vec_release(&kv);
    value_unref(set);
    return GPM_OK;
}

/* ---- ranges -------------------------------------------------------------------------------------
 */

static enum gpm_status range_of(struct sp_call *c, double from, double step, double n, value *out) {
    if (!(n > 0)) n = 0;
    enum gpm_status st = sp_check_size(c, n, sizeof(double));
    if (st) return st;
    *out = value_vector_new((size_t)n);
    for (size_t i = 0; i < (size_t)n; i++) out->u.vector->at[i] = from + step * (double)i;
    return GPM_OK;
}

static enum gpm_status simulate_arange(struct sp_call *c, value *out) {
    double from = c->n > 1 ? sp_num(c, 0) : 0, to = sp_num(c, c->n > 1 ? 1 : 0);
    double step = sp_num_or(c, 2, 1);
    if (step == 0) return sp_error(c, DIAG_DOMAIN, "arange: the step must not be 0");
    return range_of(c, from, step, ceil((to - from) / step), out);
}

static enum gpm_status simulate_linspace(struct sp_call *c, value *out) {
    double a = sp_num(c, 0), b = sp_num(c, 1), n = sp_num(c, 2);
    enum gpm_status st = range_of(c, a, n > 1 ? (b - a) / (n - 1) : 0, n, out);
    if (!st && n > 1) out->u.vector->at[(size_t)n - 1] = b; /* exactly */
    return st;
}

static enum gpm_status grad_linspace(struct sp_call *c, value r, value dr, value *dargs) {
    size_t n = r.u.vector->n;
    double da = 0, db = 0, *d = NEW_ARRAY(double, n ? n : 1);
    adj_doubles(dr, d, n);
    for (size_t i = 0; i < n; i++) { /* element i is a + (b - a) i / (n - 1) */
        double t = n > 1 ? (double)i / (double)(n - 1) : 0;
        da += d[i] * (1 - t);
        db += d[i] * t;
    }
    mem_free(d);
    dargs[0] = value_num(da);
    dargs[1] = value_num(db);
    return GPM_OK;
}

static enum gpm_status simulate_fill(struct sp_call *c, value *out) {
    double n = sp_num(c, 0);
    enum gpm_status st = sp_check_size(c, n, sizeof(value));
    if (st) return st;
    *out = value_array_new((size_t)n);
    for (size_t i = 0; i < (size_t)n; i++) out->u.array->at[i] = value_ref(c->args[1]);
    return GPM_OK;
}

static enum gpm_status grad_fill(struct sp_call *c, value r, value dr, value *dargs) {
    for (size_t i = 0; i < r.u.array->n; i++) {
        value d = adj_item(dr, i);
        value_set_take(&dargs[1], adj_add(dargs[1], d));
        value_unref(d);
    }
    return GPM_OK;
}

/* Items with one ellipsis before item `at`: a, ..., b is a, a+1, ..., b; the step is the difference
 * of the two items before it when there are two. */
static enum gpm_status simulate_range(struct sp_call *c, value *out) {
    size_t at = (size_t)sp_num(c, 0), n = c->n - 1;
    for (size_t i = 1; i <= n; i++)
        if (c->args[i].tag != V_NUM)
            return sp_error(c, DIAG_BAD_RANGE, "a range with '...' needs numbers, got %s",
                            SHOW(c->args[i]));
    if (at == 0 || at >= n)
        return sp_error(c, DIAG_BAD_RANGE, "`...` needs a number on both sides");
    double a = sp_num(c, at), b = sp_num(c, at + 1);
    double step = at > 1 ? a - sp_num(c, at - 1) : b >= a ? 1 : -1;
    double more = step != 0 ? floor((b - a) / step + 1e-9) : -1;
    if (!(more >= 0) || !isfinite(more))
        return sp_error(c, DIAG_BAD_RANGE,
                        "the range from %.15g in steps of %.15g never reaches %.15g", a, step, b);
    enum gpm_status st = sp_check_size(c, more + (double)n, sizeof(double));
    if (st) return st;
    size_t extra = (size_t)more, k = 0; /* a + step, ..., which end with b or before it */
    *out = value_vector_new(n - 1 + extra);
    double *to = out->u.vector->at;
    for (size_t i = 1; i <= at; i++) to[k++] = sp_num(c, i);
    for (size_t i = 1; i <= extra; i++) to[k++] = a + step * (double)i;
    for (size_t i = at + 2; i <= n; i++) to[k++] = sp_num(c, i);
    return GPM_OK;
}

/* ---- reductions ---------------------------------------------------------------------------------
 */

static double num_sum(const double *x, size_t n) {
    double s = 0;
    for (size_t i = 0; i < n; i++) s += x[i];
    return s;
}

static void back_sum(double v, const double *x, size_t n, double d, double *out) {
    for (size_t i = 0; i < n; i++) out[i] = d;
}

static enum gpm_status simulate_normalize(struct sp_call *c, value *out) {
    size_t n;
    double *x = sp_numbers(c, 0, &n), s = 0;
    bool bad = false;
    for (size_t i = 0; i < n; i++) {
        bad = bad || !(x[i] >= 0);
        s += x[i];
    }
    if (bad || !(s > 0) || !isfinite(s)) {
        mem_free(x);
        return sp_error(c, DIAG_DOMAIN,
                        "normalize: the weights must be from 0 up with a positive sum");
    }
    for (size_t i = 0; i < n; i++) x[i] /= s;
    *out = value_vector(x, n);
    out->u.obj->flags |= OBJ_SIMPLEX;
    mem_free(x);
    return GPM_OK;
}

/* y_i = x_i / s: dx_j = (dy_j - sum_i dy_i y_i) / s */
static enum gpm_status grad_normalize(struct sp_call *c, value r, value dr, value *dargs) {
    size_t n;
    double *x = sp_numbers(c, 0, &n), s = 0, dot = 0;
    dargs[0] = value_vector_new(n);
    double *d = dargs[0].u.vector->at;
    adj_doubles(dr, d, n);
    for (size_t i = 0; i < n; i++) {
        s += x[i];
        dot += d[i] * r.u.vector->at[i];
    }
    for (size_t i = 0; i < n; i++) d[i] = (d[i] - dot) / s;
    mem_free(x);
    return GPM_OK;
}

/* The greatest or the least element, or where it stands. */
enum { MAX = 1, MIN = 2, INDEX = 4 };

static enum gpm_status best(struct sp_call *c, size_t *at, double *most, size_t *n) {
    double *x = sp_numbers(c, 0, n), sign = c->cls->variant & MAX ? 1 : -1;
    *at = 0;
    for (size_t i = 1; i < *n; i++)
        if (sign * x[i] > sign * x[*at] || isnan(x[*at])) *at = i;
    if (*n) *most = x[*at];
    mem_free(x);
    if (*n) return GPM_OK;
    return sp_error(c, DIAG_EMPTY, "%s: the sequence is empty", c->cls->name);
}

static enum gpm_status simulate_best(struct sp_call *c, value *out) {
    size_t i, n;
    double most;
    enum gpm_status st = best(c, &i, &most, &n);
    if (!st) *out = value_num(c->cls->variant & INDEX ? (double)i : most);
    return st;
}

static enum gpm_status grad_best(struct sp_call *c, value r, value dr, value *dargs) {
    size_t i, n;
    double most;
    enum gpm_status st = best(c, &i, &most, &n);
    if (!st) dargs[0] = adj_unit(n, i, dr);
    return st;
}

const struct sp_class sp_seq_rows[] = {
    {SP_ROW(to_list, whole, "(xs: any) -> list", "The elements of a sequence as a list.",
            "to_list([1, 2]) => (1, 2)"),
     .flags = SP_ARRANGES, .variant = TO_LIST, .grad_simulate = grad_convert},
    {SP_ROW(to_array, whole, "(xs: any) -> array", "The elements of a sequence as an array.",
            "to_array(list(1, 2)) => [1, 2]"),
     .flags = SP_ARRANGES, .variant = TO_ARRAY, .grad_simulate = grad_convert},
    {SP_ROW(to_vector, to_vector, "(xs: numbers) -> vector",
            "The numbers of a sequence as a vector.", "to_vector([1, 2]) => [1, 2]"),
     .flags = SP_ARRANGES, .grad_simulate = grad_convert},
    {SP_ROW(reverse, whole, "(xs: any) -> any", "The elements in the opposite order.",
            "reverse([1, 2, 3]) => [3, 2, 1]"),
     .flags = SP_ARRANGES, .variant = REVERSE, .grad_simulate = grad_reverse},
    {SP_GROW(append, append, "(a: seq, b: seq, ...more: seq) -> any",
             "The elements of one sequence after the other.", "append([1, 2], [3]) => [1, 2, 3]"),
     .flags = SP_ARRANGES},
    {SP_ROW(
         zip, zip, "(...xs: seq) -> list",
         "The list of first elements, of second elements, ...; as long as the shortest sequence.",
         "zip([1, 2], [3, 4]) => ((1, 3), (2, 4))"),
     .flags = SP_ARRANGES},
    {SP_ROW(set_difference, set_difference, "(a: seq, b: seq) -> any",
            "The elements of a that are not in b.", "set_difference([1, 2, 3], [2]) => [1, 3]")},
    {SP_ROW(arange, arange, "(a: real, b?: real, step?: real) -> vector",
            "The numbers 0, 1, ... below a, or from a up to b (excluded).",
            "arange(2, 5) => [2, 3, 4]")},
    {SP_GROW(linspace, linspace, "(a: real, b: real, n: count) -> vector",
             "n evenly spaced numbers from a to b, both included.",
             "linspace(0, 1, 5) => [0, 0.25, 0.5, 0.75, 1]")},
    {SP_GROW(fill, fill, "(n: count, x: any) -> array", "An array of n times x.",
             "fill(3, 7) => [7, 7, 7]"),
     .flags = SP_ARRANGES},
    {REDUCE_ROW(sum, sum, "(xs: numbers) -> number", "The sum of a sequence of numbers.",
                "sum([1, 2, 3.5]) => 6.5"),
     .flags = SP_FOLDS, .variant = LIFT_OF_NONE},
    {SP_GROW(normalize, normalize, "(xs: numbers) -> simplex", "Weights divided by their sum.",
             "normalize([1, 3]) => [0.25, 0.75]")},
    {SP_ROW(argmax_of_array, best, "(xs: numbers) -> count",
            "The index of the (first) greatest element.", "argmax_of_array([3, 9, 2]) => 1"),
     .variant = MAX | INDEX},
    {SP_ROW(argmin_of_array, best, "(xs: numbers) -> count",
            "The index of the (first) least element.", "argmin_of_array([3, 9, 2]) => 2"),
     .variant = MIN | INDEX},
    {SP_GROW(max_of_array, best, "(xs: numbers) -> number", "The greatest element.",
             "max_of_array([3, 9, 2]) => 9"),
     .variant = MAX},
    {SP_GROW(min_of_array, best, "(xs: numbers) -> number", "The least element.",
             "min_of_array([3, 9, 2]) => 2"),
     .variant = MIN},
    {SP_ROW(_range, range, "(at: count, ...xs: any) -> vector",
            "What `[a, ..., b]` stands for: `at` items come before the ellipsis.",
            "[1, 3, ..., 9] => [1, 3, 5, 7, 9]"),
     .flags = SP_HIDDEN},
};
const size_t sp_seq_count = COUNT_OF(sp_seq_rows);
