/* SPDX-License-Identifier: Apache-2.0
 *
 * Arithmetic of adjoints; see the header for their form.
 */
#include "language/rows/protocol/adjoint.h"

#include "base/mem.h"
#include <string.h>

double adj_num(value d) {
    return d.tag == V_NUM ? d.u.num : 0;
}

value adj_item(value d, size_t i) {
    value out;
    return seq_get(d, i, &out) ? out : NIL;
}

value adj_unit(size_t n, size_t i, value d) {
    if (d.tag == V_NIL) return NIL;
    value v = value_array_new(n);
    v.u.array->at[i] = value_ref(d);
    return v;
}

value adj_slice(value d, size_t from, size_t n) {
    if (d.tag == V_NIL) return NIL;
    value v = value_array_new(n);
    for (size_t i = 0; i < n; i++) v.u.array->at[i] = adj_item(d, from + i);
    return v;
}

value adj_placed(value d, size_t n, size_t from, size_t count) {
    if (d.tag == V_NIL) return NIL;
    value v = value_array_new(n);
    for (size_t i = 0; i < count; i++) v.u.array->at[from + i] = adj_item(d, i);
    return v;
}

void adj_doubles(value d, double *out, size_t n) {
    if (d.tag == V_VECTOR && d.u.vector->n == n)
        memcpy(out, d.u.vector->at, n * sizeof *out);
    else if (d.tag == V_MATRIX && d.u.matrix->rows * d.u.matrix->cols == n)
        memcpy(out, d.u.matrix->at, n * sizeof *out);
    else if (d.tag == V_ARRAY && d.u.array->n == n)
        for (size_t i = 0; i < n; i++) out[i] = adj_num(d.u.array->at[i]);
    else
        for (size_t i = 0; i < n; i++) out[i] = adj_num(d);
}

size_t adj_count(value v) {
    if (v.tag == V_NUM) return 1;
    if (v.tag == V_VECTOR) return v.u.vector->n;
    if (v.tag == V_MATRIX) return v.u.matrix->rows * v.u.matrix->cols;
    if (v.tag != V_ARRAY) return 0;
    for (size_t i = 0; i < v.u.array->n; i++)
        if (v.u.array->at[i].tag != V_NUM) return 0;
    return v.u.array->n;
}

value adj_like(value shape, const double *x) {
    if (shape.tag == V_NUM) return value_num(x[0]);
    if (shape.tag == V_VECTOR) {
        value v = value_vector(x, shape.u.vector->n);
        v.u.obj->flags = shape.u.obj->flags;
        return v;
    }
    if (shape.tag == V_MATRIX) {
        value v = value_matrix_new(shape.u.matrix->rows, shape.u.matrix->cols);
        memcpy(v.u.matrix->at, x, adj_count(shape) * sizeof *x);
        return v;
    }
    return value_numbers(x, shape.u.array->n);
}

static value add_doubles(value v, value d, double *to, size_t n) {
    double *at = NULL;
    size_t m;
    if (d.tag == V_MATRIX)
        for (size_t i = 0; i < n; i++) to[i] += d.u.matrix->at[i];
    else if (seq_numbers(d, &at, &m))
        for (size_t i = 0; i < n && i < m; i++) to[i] += at[i];
    mem_free(at);
    return v;
}

static value add_items(value a, value b) {
    size_t n = 0, m = 0;
    seq_length(a, &n);
    seq_length(b, &m);
    value v = value_array_new(n > m ? n : m);
    for (size_t i = 0; i < v.u.array->n; i++) {
        value x = adj_item(a, i), y = adj_item(b, i);
        v.u.array->at[i] = adj_add(x, y);
        value_unref(x);
        value_unref(y);
    }
    return v;
}

value adj_add(value a, value b) {
    if (a.tag == V_NIL) return value_ref(b);
    if (b.tag == V_NIL) return value_ref(a);
    if (a.tag == V_NUM && b.tag == V_NUM) return value_num(a.u.num + b.u.num);
    if (a.tag == V_VECTOR && b.tag == V_VECTOR) {
        value v = value_vector(a.u.vector->at, a.u.vector->n);
        return add_doubles(v, b, v.u.vector->at, v.u.vector->n);
    }
    if (a.tag == V_MATRIX && b.tag == V_MATRIX) {
        value v = value_matrix(a.u.matrix->at, a.u.matrix->rows, a.u.matrix->cols);
        return add_doubles(v, b, v.u.matrix->at, v.u.matrix->rows * v.u.matrix->cols);
    }
    return add_items(a, b);
}

value adj_scaled(value d, double by) {
    value out;
    switch (d.tag) {
    case V_NUM: return value_num(d.u.num * by);
    case V_VECTOR:
        out = value_vector(d.u.vector->at, d.u.vector->n);
        for (size_t i = 0; i < out.u.vector->n; i++) out.u.vector->at[i] *= by;
        return out;
    case V_MATRIX:
        out = value_matrix(d.u.matrix->at, d.u.matrix->rows, d.u.matrix->cols);
        for (size_t i = 0; i < out.u.matrix->rows * out.u.matrix->cols; i++)
            out.u.matrix->at[i] *= by;
        return out;
    case V_ARRAY:
        out = value_array_new(d.u.array->n);
        for (size_t i = 0; i < out.u.array->n; i++)
            out.u.array->at[i] = adj_scaled(d.u.array->at[i], by);
        return out;
    default: return value_ref(d);
    }
}
