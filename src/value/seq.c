/* SPDX-License-Identifier: Apache-2.0
 *
 * One view of the three kinds of sequences: list, array, vector.
 */
#include "base/mem.h"
#include "base/vec.h"
#include "value/value.h"

#include <math.h>
#include <string.h>

/* Length of a proper list; false when the chain of pairs does not end in the empty list. */
static bool list_length(value v, size_t *n) {
    size_t k = 0;
    for (; v.tag == V_PAIR; v = v.u.pair->rest) k++;
    *n = k;
    return v.tag == V_NIL;
}

bool seq_length(value v, size_t *n) {
    switch (v.tag) {
    case V_NIL:
    case V_PAIR: return list_length(v, n);
    case V_ARRAY: *n = v.u.array->n; return true;
    case V_VECTOR: *n = v.u.vector->n; return true;
    default: return false;
    }
}

bool seq_is(value v) {
    size_t n;
    return seq_length(v, &n);
}

bool seq_get(value v, size_t i, value *out) {
    switch (v.tag) {
    case V_PAIR:
        for (; v.tag == V_PAIR; v = v.u.pair->rest)
            if (i-- == 0) {
                *out = value_ref(v.u.pair->first);
                return true;
            }
        return false;
    case V_ARRAY:
        if (i >= v.u.array->n) return false;
        *out = value_ref(v.u.array->at[i]);
        return true;
    case V_VECTOR:
        if (i >= v.u.vector->n) return false;
        *out = value_num(v.u.vector->at[i]);
        return true;
    default: return false;
    }
}

bool seq_items(value v, value **items, size_t *n) {
    if (!seq_length(v, n)) return false;
    value *at = NEW_ARRAY(value, *n ? *n : 1);
    *items = at;
    switch (v.tag) {
    case V_PAIR:
        for (; v.tag == V_PAIR; v = v.u.pair->rest) *at++ = value_ref(v.u.pair->first);
        break;
    case V_ARRAY:
        for (size_t i = 0; i < *n; i++) at[i] = value_ref(v.u.array->at[i]);
        break;
    case V_VECTOR:
        for (size_t i = 0; i < *n; i++) at[i] = value_num(v.u.vector->at[i]);
        break;
    default: break;
    }
    return true;
}

static bool number_of(value v, double *out) {
    if (v.tag != V_NUM) return false;
    *out = v.u.num;
    return true;
}

static bool copy_numbers(value v, double *to, size_t n) {
    switch (v.tag) {
    case V_VECTOR:
        if (n) memcpy(to, v.u.vector->at, n * sizeof *to);
        return true;
    case V_ARRAY:
        for (size_t i = 0; i < n; i++)
            if (!number_of(v.u.array->at[i], &to[i])) return false;
        return true;
    default:
        for (; v.tag == V_PAIR; v = v.u.pair->rest)
            if (!number_of(v.u.pair->first, to++)) return false;
        return true;
    }
}

bool seq_numbers(value v, double **out, size_t *n) {
    if (!seq_length(v, n)) return false;
    double *at = NEW_ARRAY(double, *n ? *n : 1);
    if (!copy_numbers(v, at, *n)) {
        mem_free(at);
        return false;
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
    for (size_t i = 0; v.tag == V_ARRAY && i < v.u.array->n; i++)
        if (value_has_nan(v.u.array->at[i])) return true;
    for (; v.tag == V_PAIR; v = v.u.pair->rest)
        if (value_has_nan(v.u.pair->first)) return true;
    return false;
}

bool seq_matrix(value v, double **out, size_t *rows, size_t *cols, size_t *ragged) {
    value *items;
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
    if (!seq_items(v, &items, rows)) return false;
    bool ok = true;
    for (size_t i = 0; i < *rows && ok; i++) {
        double *row;
        size_t n;
        ok = seq_numbers(items[i], &row, &n);
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
    values_free(items, *rows);
    if (!ok) {
        mem_free(*out);
        *out = NULL;
    }
    return ok;
}
