/* SPDX-License-Identifier: Apache-2.0
 *
 * Vectors and matrices. Every gradient is the textbook rule, written above the function: with C the
 * result and a bar for adjoints, e.g. for C = AB, Abar = Cbar B', Bbar = A' Cbar.
 */
#include "lib/lift.h"

#include "base/mem.h"
#include "la/blas.h"
#include "la/lu.h"
#include "la/vec_ops.h"
#include "sp/adjoint.h"
#include "lib/args.h"
#include <string.h>

/* ---- construction -------------------------------------------------------------------------------
 */

static enum gpm_status value_itself(struct sp_call *c, const struct mat_arg *m, value *out) {
    *out = value_matrix(m->at, m->rows, m->cols);
    return GPM_OK;
}

static void back_itself(struct sp_call *c, const struct mat_arg *m, value r, value dr, double *d) {
    mat_adjoint_numbers(dr, m->rows, m->cols, d);
}

static enum gpm_status simulate_id_matrix(struct sp_call *c, value *out) {
    double n = sp_num(c, 0);
    enum gpm_status st = sp_check_size(c, n * n, sizeof(double));
    if (st) return st;
    *out = value_matrix_new((size_t)n, (size_t)n);
    for (size_t i = 0; i < (size_t)n; i++) out->u.matrix->at[i + i * (size_t)n] = 1;
    return GPM_OK;
}

static enum gpm_status simulate_zero_matrix(struct sp_call *c, value *out) {
    double m = sp_num(c, 0), n = sp_num_or(c, 1, m);
    enum gpm_status st = sp_check_size(c, m * n, sizeof(double));
    if (!st) *out = value_matrix_new((size_t)m, (size_t)n);
    return st;
}

static enum gpm_status simulate_diag_matrix(struct sp_call *c, value *out) {
    double *x;
    size_t n;
    if (!seq_numbers(c->args[0], &x, &n)) return GPM_E_ARG; /* the signature has checked it */
    enum gpm_status st = sp_check_size(c, (double)n * (double)n, sizeof(double));
    if (!st) {
        *out = value_matrix_new(n, n);
        for (size_t i = 0; i < n; i++) out->u.matrix->at[i + i * n] = x[i];
    }
    mem_free(x);
    return st;
}

static enum gpm_status grad_diag_matrix(struct sp_call *c, value r, value dr, value *dargs) {
    size_t n = r.u.matrix->rows;
    double *d = NEW_ARRAY(double, n *n + 1);
    mat_adjoint_numbers(dr, n, n, d);
    dargs[0] = value_vector_new(n);
    for (size_t i = 0; i < n; i++) dargs[0].u.vector->at[i] = d[i + i * n];
    mem_free(d);
    return GPM_OK;
}

/* ---- parts --------------------------------------------------------------------------------------
 */

static void transpose(const double *a, size_t rows, size_t cols, double *to) {
    for (size_t i = 0; i < rows; i++)
        for (size_t j = 0; j < cols; j++) to[j + i * cols] = a[i + j * rows];
}

/* As a matrix, or (variant true) its columns in a row, which are the rows of the argument. */
static enum gpm_status value_transpose(struct sp_call *c, const struct mat_arg *m, value *out) {
    bool flat = c->cls->variant;
    *out = flat ? value_vector_new(m->rows * m->cols) : value_matrix_new(m->cols, m->rows);
    transpose(m->at, m->rows, m->cols, flat ? out->u.vector->at : out->u.matrix->at);
    return GPM_OK;
}

static void back_transpose(struct sp_call *c, const struct mat_arg *m, value r, value dr,
                           double *d) {
    double *t = mat_arg_copy(m);
    if (c->cls->variant)
        adj_doubles(dr, t, m->rows * m->cols);
    else
        mat_adjoint_numbers(dr, m->cols, m->rows, t);
    transpose(t, m->cols, m->rows, d);
    mem_free(t);
}

/* A line of a matrix: row i (variant true) has elements (i, 0), (i, 1), ...; column j has (0, j),
 * (1, j), ... */
struct line {
    size_t from, step, n;
};

static enum gpm_status line_of(struct sp_call *c, const struct mat_arg *m, struct line *out) {
    bool row = c->cls->variant;
    size_t i;
    enum gpm_status st = seq_index_arg(c, 1, row ? m->rows : m->cols, &i);
    if (st) return st;
    *out = row ? (struct line){i, m->rows, m->cols} : (struct line){i * m->rows, 1, m->rows};
    return GPM_OK;
}

static enum gpm_status value_line(struct sp_call *c, const struct mat_arg *m, value *out) {
    struct line l;
    enum gpm_status st = line_of(c, m, &l);
    if (st) return st;
    *out = value_vector_new(l.n);
    for (size_t k = 0; k < l.n; k++) out->u.vector->at[k] = m->at[l.from + k * l.step];
    return GPM_OK;
}

static void back_line(struct sp_call *c, const struct mat_arg *m, value r, value dr, double *d) {
    struct line l;
    if (line_of(c, m, &l)) return; /* it has a value, so the index is one */
    double *x = NEW_ARRAY(double, l.n + 1);
    adj_doubles(dr, x, l.n);
    for (size_t k = 0; k < l.n; k++) d[l.from + k * l.step] = x[k];
    mem_free(x);
}

static enum gpm_status value_trace(struct sp_call *c, const struct mat_arg *m, value *out) {
    double s = 0;
    for (size_t i = 0; i < m->rows; i++) s += m->at[i + i * m->rows];
    *out = value_num(s);
    return GPM_OK;
}

static void back_trace(struct sp_call *c, const struct mat_arg *m, value r, value dr, double *d) {
    for (size_t i = 0; i < m->rows; i++) d[i + i * m->rows] = adj_num(dr);
}

/* ---- elementwise: the lifted functions under other names
 * ------------------------------------------ */

LIFT2(sum, x + y, 1, 1)
LIFT2(product, x *y, y, x)

/* ---- products -----------------------------------------------------------------------------------
 */

/* A factor of a product: a matrix, or a vector seen as one column or one row. */
static enum gpm_status factor(struct mat_arg *m, struct sp_call *c, size_t i, const char *param,
                              char kind) {
    if (kind == 'm') return mat_arg_init(m, c, i, param);
    size_t n;
    *m = (struct mat_arg){0};
    if (!seq_numbers(c->args[i], &m->own, &n)) return GPM_E_ARG; /* the signature has checked it */
    m->at = m->own;
    m->rows = kind == 'c' ? n : 1;
    m->cols = kind == 'c' ? 1 : n;
    return GPM_OK;
}

/* Both factors of a product of the kinds "mm", "mc", "rm" or "rc"; their inner sizes agree. */
static enum gpm_status factors(struct sp_call *c, const char *kinds, struct mat_arg *a,
                               struct mat_arg *b) {
    bool both = strcmp(kinds, "mm") == 0;
    enum gpm_status st = factor(a, c, 0, both ? "a" : "m", kinds[0]);
    if (st) return st;
    st = factor(b, c, 1, both ? "b" : "m", kinds[1]);
    if (!st && a->cols != b->rows) {
        if (strcmp(kinds, "rc") == 0)
            sp_error(c, DIAG_SHAPE, "%s: the vectors have different lengths: %zu and %zu",
                     c->cls->name, a->cols, b->rows);
        else
            sp_error(c, DIAG_SHAPE, "%s: the sizes do not fit: %zu by %zu times %zu by %zu",
                     c->cls->name, a->rows, a->cols, b->rows, b->cols);
        st = GPM_E_USER;
        mat_arg_release(b);
    }
    if (st) mat_arg_release(a);
    return st;
}

static void multiply(bool ta, bool tb, size_t m, size_t n, size_t k, const double *a, size_t lda,
                     const double *b, size_t ldb, double *to) {
    memset(to, 0, m * n * sizeof *to);
    if (m && n && k) la_gemm(ta, tb, m, n, k, 1, a, lda, b, ldb, 0, to, m);
}

static enum gpm_status simulate_product(struct sp_call *c, value *out) {
    const char *kinds = c->cls->of;
    struct mat_arg a, b;
    enum gpm_status st = factors(c, kinds, &a, &b);
    if (st) return st;
    size_t m = a.rows, n = b.cols, k = a.cols;
    st = sp_check_size(c, (double)m * (double)n, sizeof(double));
    if (!st && strcmp(kinds, "rc") == 0) {
        *out = value_num(k ? vec_ops()->dot(k, a.at, b.at) : 0);
    } else if (!st) {
        bool matrix = strcmp(kinds, "mm") == 0;
        *out = matrix ? value_matrix_new(m, n) : value_vector_new(m * n);
        multiply(false, false, m, n, k, a.at, m, b.at, k,
                 matrix ? out->u.matrix->at : out->u.vector->at);
    }
    mat_arg_release(&a);
    mat_arg_release(&b);
    return st;
}

static value factor_adjoint(const struct mat_arg *m, value arg, char kind, const double *d) {
    return kind == 'm' ? mat_arg_adjoint(m, arg, d) : value_vector(d, m->rows * m->cols);
}

/* C = AB: Abar = Cbar B', Bbar = A' Cbar */
static enum gpm_status grad_product(struct sp_call *c, value r, value dr, value *dargs) {
    const char *kinds = c->cls->of;
    struct mat_arg a, b;
    enum gpm_status st = factors(c, kinds, &a, &b);
    if (st) return st;
    size_t m = a.rows, n = b.cols, k = a.cols;
    double *dc = NEW_ARRAY(double, m *n + 1);
    double *da = NEW_ARRAY(double, m *k + 1), *db = NEW_ARRAY(double, k *n + 1);
    adj_doubles(dr, dc, m * n);
    multiply(false, true, m, k, n, dc, m, b.at, k, da);
    multiply(true, false, k, n, m, a.at, m, dc, m, db);
    dargs[0] = factor_adjoint(&a, c->args[0], kinds[0], da);
    dargs[1] = factor_adjoint(&b, c->args[1], kinds[1], db);
    mem_free(dc);
    mem_free(da);
    mem_free(db);
    mat_arg_release(&a);
    mat_arg_release(&b);
    return GPM_OK;
}

/* The same for compiled steps, on columns: a' b, A x, x' A. */

static bool block_dot(const struct sp_block *a, size_t n, double *out) {
    out[0] = vec_ops()->dot(a[0].rows, a[0].at, a[1].at);
    return true;
}

static void back_dot(const struct sp_block *a, size_t n, const double *out, const double *d) {
    if (a[0].adj) vec_ops()->axpy(a[0].rows, d[0], a[1].at, a[0].adj);
    if (a[1].adj) vec_ops()->axpy(a[1].rows, d[0], a[0].at, a[1].adj);
}

/* y += A x, by columns, and y += A' x; few columns are the rule, and BLAS begins slowly. */
static void add_ax(const struct sp_block *a, const double *x, double *y) {
    for (size_t j = 0; j < a->cols; j++) vec_ops()->axpy(a->rows, x[j], a->at + j * a->rows, y);
}

static void add_atx(const struct sp_block *a, const double *x, double *y) {
    for (size_t j = 0; j < a->cols; j++) y[j] += vec_ops()->dot(a->rows, a->at + j * a->rows, x);
}

/* A.adj += x y' */
static void add_outer(const struct sp_block *a, const double *x, const double *y) {
    for (size_t j = 0; a->adj && j < a->cols; j++)
        vec_ops()->axpy(a->rows, y[j], x, a->adj + j * a->rows);
}

static bool block_mc(const struct sp_block *a, size_t n, double *out) {
    memset(out, 0, a[0].rows * sizeof *out);
    add_ax(&a[0], a[1].at, out);
    return true;
}

static void back_mc(const struct sp_block *a, size_t n, const double *out, const double *d) {
    add_outer(&a[0], d, a[1].at);
    if (a[1].adj) add_atx(&a[0], d, a[1].adj);
}

static bool block_rm(const struct sp_block *a, size_t n, double *out) {
    memset(out, 0, a[1].cols * sizeof *out);
    add_atx(&a[1], a[0].at, out);
    return true;
}

static void back_rm(const struct sp_block *a, size_t n, const double *out, const double *d) {
    add_outer(&a[1], a[0].at, d);
    if (a[0].adj) add_ax(&a[1], d, a[0].adj);
}

/* ---- inverses -----------------------------------------------------------------------------------
 */

/* B = A^-1 B (or A'^-1 B) without touching A. */
static enum gpm_status solve(struct sp_call *c, const struct mat_arg *a, bool transposed, double *b,
                             size_t nrhs) {
    double *lu = mat_arg_copy(a);
    if (transposed) transpose(a->at, a->rows, a->cols, lu);
    enum gpm_status st = la_gesv(a->rows, nrhs, lu, a->rows, b, a->rows);
    mem_free(lu);
    if (st == GPM_E_NOT_PD)
        return sp_error(c, DIAG_SINGULAR, "%s: the matrix is singular to working precision",
                        c->cls->name);
    return st;
}

static enum gpm_status value_inverse(struct sp_call *c, const struct mat_arg *a, value *out) {
    size_t n = a->rows;
    value inv = value_matrix_new(n, n);
    for (size_t i = 0; i < n; i++) inv.u.matrix->at[i + i * n] = 1;
    enum gpm_status st = solve(c, a, false, inv.u.matrix->at, n);
    if (st)
        value_unref(inv);
    else
        *out = inv;
    return st;
}

/* C = A^-1: Abar = -C' Cbar C' */
static void back_inverse(struct sp_call *c, const struct mat_arg *a, value r, value dr, double *d) {
    size_t n = a->rows;
    const double *inv = r.u.matrix->at;
    double *t = mat_arg_copy(a);
    mat_adjoint_numbers(dr, n, n, d);
    multiply(true, false, n, n, n, inv, n, d, n, t);
    multiply(false, true, n, n, n, t, n, inv, n, d);
    for (size_t i = 0; i < n * n; i++) d[i] = -d[i];
    mem_free(t);
}

/* A square matrix and its right-hand side, a vector ('c') or a matrix ('m') of as many rows. */
static enum gpm_status system_of(struct sp_call *c, struct mat_arg *a, struct mat_arg *b,
                                 char *kind) {
    double *x;
    size_t k;
    enum gpm_status st = mat_arg_square(a, c, "a");
    if (st) return st;
    *kind = seq_numbers(c->args[1], &x, &k) ? 'c' : 'm';
    if (*kind == 'c') mem_free(x);
    st = factor(b, c, 1, "b", *kind);
    if (!st && b->rows != a->rows) {
        st = sp_error(c, DIAG_SHAPE, "%s: the matrix has %zu rows, the right-hand side %zu",
                      c->cls->name, a->rows, b->rows);
        mat_arg_release(b);
    }
    if (st) mat_arg_release(a);
    return st;
}

static enum gpm_status simulate_matrix_solve(struct sp_call *c, value *out) {
    struct mat_arg a, b;
    char kind;
    enum gpm_status st = system_of(c, &a, &b, &kind);
    if (st) return st;
    double *x = mat_arg_copy(&b);
    st = solve(c, &a, false, x, b.cols);
    if (!st) *out = kind == 'c' ? value_vector(x, b.rows) : value_matrix(x, b.rows, b.cols);
    mem_free(x);
    mat_arg_release(&a);
    mat_arg_release(&b);
    return st;
}

/* X = A^-1 B: Bbar = A'^-1 Xbar, Abar = -Bbar X' */
static enum gpm_status grad_matrix_solve(struct sp_call *c, value r, value dr, value *dargs) {
    struct mat_arg a, b;
    char kind;
    enum gpm_status st = system_of(c, &a, &b, &kind);
    if (st) return st;
    size_t n = a.rows;
    const double *x = kind == 'c' ? r.u.vector->at : r.u.matrix->at;
    double *db = NEW_ARRAY(double, n *b.cols + 1), *da = mat_arg_copy(&a);
    adj_doubles(dr, db, n * b.cols);
    st = solve(c, &a, true, db, b.cols);
    multiply(false, true, n, n, b.cols, db, n, x, n, da);
    for (size_t i = 0; i < n * n; i++) da[i] = -da[i];
    if (!st) {
        dargs[0] = mat_arg_adjoint(&a, c->args[0], da);
        dargs[1] = factor_adjoint(&b, c->args[1], kind, db);
    }
    mem_free(db);
    mem_free(da);
    mat_arg_release(&a);
    mat_arg_release(&b);
    return st;
}

static enum gpm_status value_det(struct sp_call *c, const struct mat_arg *a, value *out) {
    double det, *lu = mat_arg_copy(a);
    enum gpm_status st = la_det(a->rows, lu, a->rows, &det);
    mem_free(lu);
    if (!st) *out = value_num(det);
    return st;
}

#define OF_MATRIX(...)                                                                             \
    .of = &(const struct mat_row) {                                                                \
        __VA_ARGS__                                                                                \
    }

const struct sp_class sp_matrix_rows[] = {
    {SP_GROW(matrix, of_matrix, "(rows: any) -> matrix", "A matrix from a sequence of rows.",
             "matrix([[1, 2], [3, 4]]) => [[1, 2], [3, 4]]"),
     OF_MATRIX("rows", false, value_itself, back_itself), .flags = SP_ARRANGES},
    {SP_ROW(id_matrix, id_matrix, "(n: count) -> matrix", "The identity matrix of n rows.",
            "id_matrix(2) => [[1, 0], [0, 1]]")},
    {SP_ROW(zero_matrix, zero_matrix, "(rows: count, cols?: count) -> matrix",
            "A matrix of zeros, square unless "
            "the number of columns is given.",
            "zero_matrix(1, 2) => [[0, 0]]")},
    {SP_GROW(diag_matrix, diag_matrix, "(xs: numbers) -> matrix", "A diagonal matrix.",
             "diag_matrix([1, 2]) => [[1, 0], [0, 2]]"),
     .flags = SP_ARRANGES},
    {SP_GROW(transpose, of_matrix, "(m: any) -> matrix", "Rows and columns exchanged.",
             "transpose(matrix([[1, 2]])) => [[1], [2]]"),
     OF_MATRIX("m", false, value_transpose, back_transpose), .flags = SP_ARRANGES,
     .variant = false},
    {SP_GROW(row, of_matrix, "(m: any, i: any) -> vector", "Row i, counted from 0.",
             "row(matrix([[1, 2], [3, 4]]), 1) => [3, 4]"),
     OF_MATRIX("m", false, value_line, back_line), .flags = SP_ARRANGES, .variant = true},
    {SP_GROW(col, of_matrix, "(m: any, j: any) -> vector", "Column j, counted from 0.",
             "col(matrix([[1, 2], [3, 4]]), 1) => [2, 4]"),
     OF_MATRIX("m", false, value_line, back_line), .flags = SP_ARRANGES, .variant = false},
    {SP_GROW(ravel, of_matrix, "(m: any) -> vector", "The elements row by row.",
             "ravel(matrix([[1, 2], [3, 4]])) => [1, 2, 3, 4]"),
     OF_MATRIX("m", false, value_transpose, back_transpose), .flags = SP_ARRANGES, .variant = true},
    {SP_GROW(matrix_trace, of_matrix, "(m: any) -> number", "The sum of the diagonal.",
             "matrix_trace(id_matrix(3)) => 3"),
     OF_MATRIX("m", true, value_trace, back_trace)},
    {LIFT_ROW(vector_add, sum, "(a: numbers, b: numbers) -> vector", "The sum of two vectors.",
              "vector_add(vector(1, 2), vector(3, 4)) => [4, 6]")},
    {LIFT_ROW(matrix_add, sum, "(a: matrix, b: matrix) -> matrix", "The sum of two matrices.",
              "matrix_add(id_matrix(1), id_matrix(1)) => [[2]]")},
    {LIFT_ROW(hadamard, product, "(a: any, b: any) -> any",
              "The elementwise product of two vectors or matrices.",
              "hadamard(vector(1, 2), vector(3, 4)) => [3, 8]")},
    {LIFT_ROW(scale_vector, product, "(k: number, v: numbers) -> vector", "k times a vector.",
              "scale_vector(2, vector(1, 2)) => [2, 4]")},
    {LIFT_ROW(scale_matrix, product, "(k: number, m: matrix) -> matrix", "k times a matrix.",
              "scale_matrix(2, id_matrix(1)) => [[2]]")},
    {SP_GROW(vector_dot, product, "(a: numbers, b: numbers) -> number",
             "The inner product of two vectors.", "vector_dot(vector(1, 7), vector(3, 4)) => 31"),
     .of = "rc", .block = block_dot, .block_back = back_dot},
    {SP_GROW(matrix_mul, product, "(a: any, b: any) -> matrix", "The product of two matrices.",
             "matrix_mul(matrix([[1, 2]]), matrix([[3], [4]])) => [[11]]"),
     .of = "mm"},
    {SP_GROW(matrix_times_vector, product, "(m: any, v: numbers) -> vector",
             "A matrix times a column vector.",
             "matrix_times_vector(matrix([[0, 1], [-1, 0]]), vector(1, 7)) => [7, -1]"),
     .of = "mc", .block = block_mc, .block_back = back_mc},
    {SP_GROW(vector_times_matrix, product, "(v: numbers, m: any) -> vector",
             "A row vector times a matrix.",
             "vector_times_matrix(vector(1, 7), matrix([[0, 1], [-1, 0]])) => [-7, 1]"),
     .of = "rm", .block = block_rm, .block_back = back_rm},
    {SP_GROW(matrix_inverse, of_matrix, "(a: any) -> matrix", "The inverse of a square matrix.",
             "matrix_inverse(matrix([[2, 0], [0, 4]])) => [[0.5, 0], [0, 0.25]]"),
     OF_MATRIX("a", true, value_inverse, back_inverse)},
    {SP_GROW(matrix_solve, matrix_solve, "(a: any, b: any) -> any",
             "The solution x of a x = b, for a vector or matrix b.",
             "matrix_solve(matrix([[2, 0], [0, 4]]), vector(1, 1)) => [0.5, 0.25]")},
    {SP_ROW(matrix_det, of_matrix, "(a: any) -> number", "The determinant of a square matrix.",
            "matrix_det(diag_matrix([2, 3])) => 6"),
     OF_MATRIX("a", true, value_det, NULL)},
};
const size_t sp_matrix_count = COUNT_OF(sp_matrix_rows);
