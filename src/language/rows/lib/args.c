/* SPDX-License-Identifier: Apache-2.0
 *
 * Arguments that are sequences or matrices; see the header.
 */
#include "language/rows/lib/args.h"

#include "base/mem.h"
#include "numeric/la/blas.h"
#include "language/rows/protocol/adjoint.h"
#include <math.h>
#include <string.h>

/* ---- sequences ---- */

value matrix_row(const struct matrix_obj *m, size_t i) {
    value v = value_vector_new(m->cols);
    for (size_t j = 0; j < m->cols; j++) v.u.vector->at[j] = m->at[i + j * m->rows];
    return v;
}

enum gpm_status seq_arg(struct sp_call *c, size_t i, const char *param, value **items, size_t *n) {
    value v = c->args[i];
    if (v.tag == V_MATRIX) {
        *n = v.u.matrix->rows;
        *items = NEW_ARRAY(value, *n ? *n : 1);
        for (size_t k = 0; k < *n; k++) (*items)[k] = matrix_row(v.u.matrix, k);
        return GPM_OK;
    }
    if (seq_items(v, items, n)) return GPM_OK;
    return sp_type_error(c, v, "%s must be a sequence (a list, array or vector)", param);
}

bool index_below(value v, size_t n, size_t *out) {
    if (v.tag != V_NUM || !(v.u.num >= 0 && v.u.num < (double)n) || v.u.num != floor(v.u.num))
        return false;
    *out = (size_t)v.u.num;
    return true;
}

enum gpm_status seq_index(struct sp_call *c, value v, size_t n, size_t *out) {
    if (index_below(v, n, out)) return GPM_OK;
    if (v.tag != V_NUM) return sp_type_error(c, v, "the index must be a number");
    double x = v.u.num;
    struct buf b = BUF_INIT;
    buf_number(&b, x);
    if (isfinite(x) && x != floor(x))
        sp_error(c, DIAG_INDEX, "%s: index %s is not an integer", c->cls->name, b.data);
    else if (n == 0)
        sp_error(c, DIAG_INDEX, "%s: index %s is out of bounds: the sequence is empty",
                 c->cls->name, b.data);
    else
        sp_error(c, DIAG_INDEX, "%s: index %s is out of bounds: there are %zu elements, 0 to %zu",
                 c->cls->name, b.data, n, n - 1);
    buf_release(&b);
    return GPM_E_USER;
}

/* ---- matrices ---- */

enum gpm_status mat_arg_init(struct mat_arg *m, struct sp_call *c, size_t i, const char *param) {
    value v = c->args[i];
    size_t ragged;
    *m = (struct mat_arg){0};
    if (v.tag == V_MATRIX) {
        m->rows = v.u.matrix->rows;
        m->cols = v.u.matrix->cols;
        m->at = v.u.matrix->at;
        return GPM_OK;
    }
    bool ok = seq_matrix(v, &m->own, &m->rows, &m->cols, &ragged);
    m->at = m->own;
    if (ok) return GPM_OK;
    if (ragged == 0)
        return sp_type_error(c, v, "%s must be a matrix or a sequence of rows of numbers", param);
    value row;
    size_t n = 0;
    if (seq_get(v, ragged, &row)) {
        seq_length(row, &n);
        value_unref(row);
    }
    return sp_error(c, DIAG_SHAPE,
                    "%s: the rows of %s have different lengths: row 0 has %zu, row %zu has %zu",
                    c->cls->name, param, m->cols, ragged, n);
}

enum gpm_status mat_arg_must_be_square(const struct mat_arg *m, struct sp_call *c) {
    if (m->rows == m->cols) return GPM_OK;
    return sp_error(c, DIAG_SHAPE, "%s: the matrix must be square, got %zu by %zu", c->cls->name,
                    m->rows, m->cols);
}

static enum gpm_status read_matrix(struct mat_arg *m, struct sp_call *c) {
    const struct mat_row *row = c->cls->of;
    enum gpm_status st = mat_arg_init(m, c, 0, row->param);
    if (st || !row->square) return st;
    st = mat_arg_must_be_square(m, c);
    if (st) mat_arg_release(m);
    return st;
}

enum gpm_status simulate_of_matrix(struct sp_call *c, value *out) {
    const struct mat_row *row = c->cls->of;
    struct mat_arg m;
    enum gpm_status st = read_matrix(&m, c);
    if (st) return st;
    st = row->value(c, &m, out);
    mat_arg_release(&m);
    return st;
}

enum gpm_status grad_of_matrix(struct sp_call *c, value r, value dr, value *dargs) {
    const struct mat_row *row = c->cls->of;
    struct mat_arg m;
    enum gpm_status st = read_matrix(&m, c);
    if (st) return st;
    double *d = mem_zalloc((m.rows * m.cols + 1) * sizeof *d);
    row->back(c, &m, r, dr, d);
    dargs[0] = mat_arg_adjoint(&m, c->args[0], d);
    mem_free(d);
    mat_arg_release(&m);
    return GPM_OK;
}

void mat_arg_release(struct mat_arg *m) {
    mem_free(m->own);
    *m = (struct mat_arg){0};
}

double *mat_arg_copy(const struct mat_arg *m) {
    size_t n = m->rows * m->cols;
    double *x = NEW_ARRAY(double, n + 1);
    if (n) memcpy(x, m->at, n * sizeof *x);
    return x;
}

value mat_arg_adjoint(const struct mat_arg *m, value arg, const double *d) {
    if (arg.tag == V_MATRIX) return value_matrix(d, m->rows, m->cols);
    value v = value_array_new(m->rows);
    for (size_t i = 0; i < m->rows; i++) {
        value row = value_vector_new(m->cols);
        for (size_t j = 0; j < m->cols; j++) row.u.vector->at[j] = d[i + j * m->rows];
        v.u.array->at[i] = row;
    }
    return v;
}

void mat_adjoint_numbers(value d, size_t rows, size_t cols, double *out) {
    memset(out, 0, rows * cols * sizeof *out);
    if (d.tag == V_MATRIX) {
        if (rows && cols) memcpy(out, d.u.matrix->at, rows * cols * sizeof *out);
        return;
    }
    double *row = NEW_ARRAY(double, cols + 1);
    for (size_t i = 0; i < rows && d.tag == V_ARRAY; i++) {
        value r = adj_item(d, i);
        adj_doubles(r, row, cols);
        for (size_t j = 0; j < cols; j++) out[i + j * rows] = row[j];
        value_unref(r);
    }
    mem_free(row);
}

/* ---- products ---------------------------------------------------------------------------------
 */

void mat_transpose(const double *a, size_t rows, size_t cols, double *to) {
    for (size_t i = 0; i < rows; i++)
        for (size_t j = 0; j < cols; j++) to[j + i * cols] = a[i + j * rows];
}

void mat_multiply(bool ta, bool tb, size_t m, size_t n, size_t k, const double *a, size_t lda,
                  const double *b, size_t ldb, double *to) {
    memset(to, 0, m * n * sizeof *to);
    if (m && n && k) la_gemm(ta, tb, m, n, k, 1, a, lda, b, ldb, 0, to, m);
}

enum gpm_status mat_factor(struct mat_arg *m, struct sp_call *c, size_t i, const char *param,
                           char kind) {
    if (kind == 'm') return mat_arg_init(m, c, i, param);
    size_t n;
    *m = (struct mat_arg){.own = sp_numbers(c, i, &n)};
    m->at = m->own;
    m->rows = kind == 'c' ? n : 1;
    m->cols = kind == 'c' ? 1 : n;
    return GPM_OK;
}

value mat_factor_adjoint(const struct mat_arg *m, value arg, char kind, const double *d) {
    return kind == 'm' ? mat_arg_adjoint(m, arg, d) : value_vector(d, m->rows * m->cols);
}
