/* SPDX-License-Identifier: Apache-2.0
 *
 * Matrix arguments; see the header.
 */
#include "lib/mat_arg.h"

#include "base/mem.h"
#include "sp/adjoint.h"
#include <string.h>

static enum gpm_status not_matrix(struct sp_call *c, size_t i, const char *param) {
    char *got = sp_show(c->args[i]);
    sp_error(c, DIAG_TYPE, "%s: %s must be a matrix or a sequence of rows of numbers, got %s",
             c->cls->name, param, got);
    mem_free(got);
    return GPM_E_USER;
}

/* Row r of n numbers goes into the matrix; the first row fixes the number of columns. */
static enum gpm_status put_row(struct mat_arg *m, struct sp_call *c, size_t i, const char *param,
                               size_t r, value row) {
    double *x;
    size_t n;
    if (!seq_numbers(row, &x, &n)) return not_matrix(c, i, param);
    enum gpm_status st = GPM_OK;
    if (r == 0) {
        m->cols = n;
        m->at = m->own = NEW_ARRAY(double, m->rows *n + 1);
    } else if (n != m->cols)
        st = sp_error(c, DIAG_SHAPE,
                      "%s: the rows of %s have different lengths: row 0 has %zu, "
                      "row %zu has %zu",
                      c->cls->name, param, m->cols, r, n);
    for (size_t j = 0; j < n && !st; j++) m->own[r + j * m->rows] = x[j];
    mem_free(x);
    return st;
}

enum gpm_status mat_arg_init(struct mat_arg *m, struct sp_call *c, size_t i, const char *param) {
    value v = c->args[i], *rows;
    *m = (struct mat_arg){0};
    if (v.tag == V_MATRIX) {
        m->rows = v.u.matrix->rows;
        m->cols = v.u.matrix->cols;
        m->at = v.u.matrix->at;
        return GPM_OK;
    }
    if (!seq_items(v, &rows, &m->rows)) return not_matrix(c, i, param);
    enum gpm_status st = GPM_OK;
    for (size_t r = 0; r < m->rows && !st; r++) st = put_row(m, c, i, param, r, rows[r]);
    values_free(rows, m->rows);
    if (st) mat_arg_release(m);
    return st;
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
    size_t n = m->rows * m->cols;
    if (arg.tag == V_MATRIX) {
        value v = value_matrix_new(m->rows, m->cols);
        if (n) memcpy(v.u.matrix->at, d, n * sizeof *d);
        return v;
    }
    value v = value_array_new(m->rows);
    for (size_t i = 0; i < m->rows; i++) {
        value row = value_vector_new(m->cols);
        for (size_t j = 0; j < m->cols; j++) row.u.vector->at[j] = d[i + j * m->rows];
        v.u.array->at[i] = row;
    }
    return v;
}

double *mat_adjoint_numbers(value d, size_t rows, size_t cols) {
    double *out = mem_zalloc((rows * cols + 1) * sizeof *out);
    if (d.tag == V_MATRIX) {
        if (rows && cols) memcpy(out, d.u.matrix->at, rows * cols * sizeof *out);
        return out;
    }
    double *row = NEW_ARRAY(double, cols + 1);
    for (size_t i = 0; i < rows && d.tag == V_ARRAY; i++) {
        value r = adj_item(d, i);
        adj_doubles(r, row, cols);
        for (size_t j = 0; j < cols; j++) out[i + j * rows] = row[j];
        value_unref(r);
    }
    mem_free(row);
    return out;
}
