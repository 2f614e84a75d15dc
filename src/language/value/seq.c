/* SPDX-License-Identifier: Apache-2.0
 *
 * One view of the three kinds of sequences: list, array, vector.
 */
#include "base/mem.h"
#include "base/vec.h"
#include "language/value/value.h"

#include <math.h>
#include <string.h>

/* False for a chain of pairs that does not end in the empty list; *n is then unchanged. */
bool seq_length(value v, size_t *n) {
    size_t pairs = 0;
    switch (v.tag) {
    case V_ARRAY: *n = v.u.array->n; return true;
    case V_VECTOR: *n = v.u.vector->n; return true;
    default:
        for (; v.tag == V_PAIR; v = v.u.pair->rest) pairs++;
        if (v.tag != V_NIL) return false;
        *n = pairs;
        return true;
    }
}

bool seq_is(value v) {
    size_t n;
    return seq_length(v, &n);
}

bool seq_get(value v, size_t i, value *out) {
    struct seq_walk w = {v, v.tag == V_PAIR ? 0 : i};
    value item;
    for (size_t skip = v.tag == V_PAIR ? i : 0; skip; skip--)
        if (!seq_next(&w, &item)) return false;
    if (!seq_next(&w, &item)) return false;
    *out = value_ref(item);
    return true;
}

bool seq_items(value v, value **items, size_t *n) {
    if (!seq_length(v, n)) return false;
    struct seq_walk w = {v, 0};
    *items = NEW_ARRAY(value, *n ? *n : 1);
    for (value item, *at = *items; seq_next(&w, &item);) *at++ = value_ref(item);
    return true;
}

void seq_or_one(value v, value **items, size_t *n) {
    if (seq_items(v, items, n)) return;
    *n = 1;
    *items = NEW_ARRAY(value, 1);
    **items = value_ref(v);
}

bool seq_numbers(value v, double **out, size_t *n) {
    if (!seq_length(v, n)) return false;
    struct seq_walk w = {v, 0};
    double *at = NEW_ARRAY(double, *n ? *n : 1), *to = at;
    for (value item; seq_next(&w, &item);) {
        if (item.tag != V_NUM) {
            mem_free(at);
            return false;
        }
        *to++ = item.u.num;
    }
    *out = at;
    return true;
}

static bool any_nan(const double *x, size_t n) {
    for (size_t i = 0; i < n; i++)
        if (isnan(x[i])) return true;
    return false;
}

bool value_has_nan(value v) {
    if (v.tag == V_NUM) return isnan(v.u.num);
    if (v.tag == V_VECTOR) return any_nan(v.u.vector->at, v.u.vector->n);
    if (v.tag == V_MATRIX) return any_nan(v.u.matrix->at, v.u.matrix->rows * v.u.matrix->cols);
    struct seq_walk w = {v, 0};
    for (value item; seq_next(&w, &item);)
        if (value_has_nan(item)) return true;
    return false;
}

bool seq_matrix(value v, double **out, size_t *rows, size_t *cols, size_t *ragged) {
    *out = NULL;
    *cols = *ragged = 0;
    if (v.tag == V_MATRIX) {
        const struct matrix_obj *m = v.u.matrix;
        *rows = m->rows;
        *cols = m->cols;
        *out = NEW_ARRAY(double, m->rows * m->cols + 1);
        if (m->rows && m->cols) memcpy(*out, m->at, m->rows * m->cols * sizeof(double));
        return true;
    }
    if (!seq_length(v, rows)) return false;
    struct seq_walk w = {v, 0};
    bool ok = true;
    for (size_t i = 0; ok && i < *rows; i++) {
        value item;
        double *row;
        size_t n;
        ok = seq_next(&w, &item) && seq_numbers(item, &row, &n);
        if (!ok) break;
        if (i == 0) {
            *cols = n;
            *out = NEW_ARRAY(double, *rows *n + 1);
        }
        ok = n == *cols;
        if (!ok) *ragged = i;
        for (size_t j = 0; ok && j < n; j++) (*out)[i + j * *rows] = row[j];
        mem_free(row);
    }
    if (ok && !*out) *out = NEW_ARRAY(double, 1); /* of no rows */
    if (!ok) {
        mem_free(*out);
        *out = NULL;
    }
    return ok;
}

static bool only_numbers(const value *at, size_t n) {
    for (size_t i = 0; i < n; i++)
        if (at[i].tag != V_NUM) return false;
    return true;
}

value seq_like_take(value like, value *items, size_t n) {
    if (like.tag == V_NIL || like.tag == V_PAIR) {
        value v = NIL;
        while (n--) v = value_pair_take(items[n], v);
        return v;
    }
    if (like.tag == V_VECTOR && only_numbers(items, n)) {
        value v = value_vector_new(n);
        for (size_t i = 0; i < n; i++) v.u.vector->at[i] = items[i].u.num;
        return v;
    }
    value v = value_array_new(n);
    for (size_t i = 0; i < n; i++) v.u.array->at[i] = items[i];
    return v;
}
