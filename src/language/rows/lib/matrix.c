/* SPDX-License-Identifier: Apache-2.0
 *
 * Vectors and matrices. Every gradient is the textbook rule, written above the function: with C the
 * result and a bar for adjoints, e.g. for C = AB, Abar = Cbar B', Bbar = A' Cbar.
 */
#include "language/rows/lib/lift.h"

#include "base/mem.h"
#include "numeric/la/vec_ops.h"
#include "language/rows/protocol/adjoint.h"
#include "language/rows/lib/pairs.h"
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
    size_t n;
    double *x = sp_numbers(c, 0, &n);
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

/* As a matrix, or (variant true) its columns in a row, which are the rows of the argument. */
static enum gpm_status value_transpose(struct sp_call *c, const struct mat_arg *m, value *out) {
    bool flat = c->cls->variant;
    *out = flat ? value_vector_new(m->rows * m->cols) : value_matrix_new(m->cols, m->rows);
    mat_transpose(m->at, m->rows, m->cols, flat ? out->u.vector->at : out->u.matrix->at);
    return GPM_OK;
}

static void back_transpose(struct sp_call *c, const struct mat_arg *m, value r, value dr,
                           double *d) {
    double *t = mat_arg_copy(m);
    if (c->cls->variant)
        adj_doubles(dr, t, m->rows * m->cols);
    else
        mat_adjoint_numbers(dr, m->cols, m->rows, t);
    mat_transpose(t, m->cols, m->rows, d);
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
    enum gpm_status st = seq_index(c, c->args[1], row ? m->rows : m->cols, &i);
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

/* The numbers row by row as a matrix. */
static enum gpm_status simulate_to_matrix(struct sp_call *c, value *out) {
    size_t n;
    double *x = sp_numbers(c, 0, &n);
    double rows = sp_num(c, 1), cols = sp_num(c, 2);
    bool fits = rows * cols == (double)n;
    if (fits) {
        *out = value_matrix_new((size_t)rows, (size_t)cols);
        mat_transpose(x, (size_t)cols, (size_t)rows, out->u.matrix->at);
    }
    mem_free(x);
    return fits ? GPM_OK
                : sp_error(c, DIAG_SHAPE, "to_matrix: %zu numbers do not fill %.15g by %.15g", n,
                           rows, cols);
}

static enum gpm_status grad_to_matrix(struct sp_call *c, value r, value dr, value *dargs) {
    size_t rows = r.u.matrix->rows, cols = r.u.matrix->cols;
    double *d = NEW_ARRAY(double, rows *cols + 1);
    mat_adjoint_numbers(dr, rows, cols, d);
    dargs[0] = value_vector_new(rows * cols);
    mat_transpose(d, rows, cols, dargs[0].u.vector->at);
    mem_free(d);
    return GPM_OK;
}

/* Number of rows, or (variant true) of columns. */
static enum gpm_status value_extent(struct sp_call *c, const struct mat_arg *m, value *out) {
    *out = value_num((double)(c->cls->variant ? m->cols : m->rows));
    return GPM_OK;
}

static size_t diagonal_length(const struct mat_arg *m) {
    return m->rows < m->cols ? m->rows : m->cols;
}

static enum gpm_status value_diagonal(struct sp_call *c, const struct mat_arg *m, value *out) {
    *out = value_vector_new(diagonal_length(m));
    for (size_t i = 0; i < out->u.vector->n; i++) out->u.vector->at[i] = m->at[i + i * m->rows];
    return GPM_OK;
}

static void back_diagonal(struct sp_call *c, const struct mat_arg *m, value r, value dr,
                          double *d) {
    size_t n = diagonal_length(m);
    double *x = NEW_ARRAY(double, n + 1);
    adj_doubles(dr, x, n);
    for (size_t i = 0; i < n; i++) d[i + i * m->rows] = x[i];
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

/* The kinds that the row says, or (dot) those of the arguments: a vector is a row on the left and a
 * column on the right. */
static const char *kinds_of(const struct sp_call *c) {
    static const char *const kinds[] = {"mm", "mc", "rm", "rc"};
    const struct mat_pair_row *row = c->cls->of;
    return row->kinds ? row->kinds
                      : kinds[2 * mat_is_vector(c->args[0]) + mat_is_vector(c->args[1])];
}

/* Both factors of a product of the kinds "mm", "mc", "rm", "rc" or "cr"; their inner sizes agree.
 */
static enum gpm_status read_factors(struct sp_call *c, struct mat_pair *p) {
    const char *kinds = kinds_of(c);
    bool both = strcmp(kinds, "mm") == 0, row = kinds[0] == 'r', column = kinds[1] == 'c';
    enum gpm_status st = mat_pair_read(c, p, kinds, both ? "a" : "m", both ? "b" : "m");
    if (st) return st;
    p->rows = p->a.rows;
    p->cols = p->b.cols;
    p->gives = row && column ? GIVES_NUMBER : row || column ? GIVES_VECTOR : GIVES_MATRIX;
    if (p->a.cols == p->b.rows) return GPM_OK;
    if (p->gives == GIVES_NUMBER)
        return sp_error(c, DIAG_SHAPE, "%s: the vectors have different lengths: %zu and %zu",
                        c->cls->name, p->a.cols, p->b.rows);
    return sp_error(c, DIAG_SHAPE, "%s: the sizes do not fit: %zu by %zu times %zu by %zu",
                    c->cls->name, p->a.rows, p->a.cols, p->b.rows, p->b.cols);
}

static enum gpm_status value_factors(struct sp_call *c, const struct mat_pair *p, double *to) {
    size_t m = p->rows, n = p->cols, k = p->a.cols;
    if (p->gives == GIVES_NUMBER)
        *to = k ? vec_ops()->dot(k, p->a.at, p->b.at) : 0;
    else
        mat_multiply(false, false, m, n, k, p->a.at, m, p->b.at, k, to);
    return GPM_OK;
}

/* C = AB: Abar = Cbar B', Bbar = A' Cbar */
static enum gpm_status back_factors(struct sp_call *c, const struct mat_pair *p, const double *r,
                                    double *dr, double *da, double *db) {
    size_t m = p->rows, n = p->cols, k = p->a.cols;
    mat_multiply(false, true, m, k, n, dr, m, p->b.at, k, da);
    mat_multiply(true, false, k, n, m, p->a.at, m, dr, m, db);
    return GPM_OK;
}

/* AA' (variant true) or A'A. */
static enum gpm_status value_crossprod(struct sp_call *c, const struct mat_arg *m, value *out) {
    bool right = c->cls->variant;
    size_t n = right ? m->rows : m->cols, k = right ? m->cols : m->rows;
    *out = value_matrix_new(n, n);
    mat_multiply(!right, right, n, n, k, m->at, m->rows, m->at, m->rows, out->u.matrix->at);
    return GPM_OK;
}

/* C = AA': Abar = (Cbar + Cbar') A; C = A'A: Abar = A (Cbar + Cbar') */
static void back_crossprod(struct sp_call *c, const struct mat_arg *m, value r, value dr,
                           double *d) {
    bool right = c->cls->variant;
    size_t n = r.u.matrix->rows;
    double *dc = NEW_ARRAY(double, 2 * n * n + 1), *both = dc + n * n;
    mat_adjoint_numbers(dr, n, n, dc);
    mat_transpose(dc, n, n, both);
    for (size_t i = 0; i < n * n; i++) both[i] += dc[i];
    if (right)
        mat_multiply(false, false, n, m->cols, n, both, n, m->at, m->rows, d);
    else
        mat_multiply(false, false, m->rows, n, n, m->at, m->rows, both, n, d);
    mem_free(dc);
}

/* diag(v) M (variant true) or M diag(v): row or column i times v_i. */
static enum gpm_status read_scaled(struct sp_call *c, struct mat_pair *p) {
    bool by_rows = c->cls->variant;
    enum gpm_status st = mat_pair_read(c, p, by_rows ? "cm" : "mc", "m", "m");
    if (st) return st;
    const struct mat_arg *m = by_rows ? &p->b : &p->a, *v = by_rows ? &p->a : &p->b;
    size_t want = by_rows ? m->rows : m->cols;
    p->rows = m->rows;
    p->cols = m->cols;
    p->gives = GIVES_MATRIX;
    if (v->rows == want) return GPM_OK;
    return sp_error(c, DIAG_SHAPE, "%s: the matrix has %zu %s, the vector %zu elements",
                    c->cls->name, want, by_rows ? "rows" : "columns", v->rows);
}

static enum gpm_status value_scaled(struct sp_call *c, const struct mat_pair *p, double *to) {
    bool by_rows = c->cls->variant;
    const double *v = by_rows ? p->a.at : p->b.at, *m = by_rows ? p->b.at : p->a.at;
    for (size_t j = 0; j < p->cols; j++)
        for (size_t i = 0; i < p->rows; i++) *to++ = v[by_rows ? i : j] * *m++;
    return GPM_OK;
}

/* C_ij = v_i M_ij: Mbar_ij = v_i Cbar_ij, vbar_i = sum_j M_ij Cbar_ij */
static enum gpm_status back_scaled(struct sp_call *c, const struct mat_pair *p, const double *r,
                                   double *dr, double *da, double *db) {
    bool by_rows = c->cls->variant;
    const double *v = by_rows ? p->a.at : p->b.at, *m = by_rows ? p->b.at : p->a.at;
    double *dv = by_rows ? da : db, *dm = by_rows ? db : da;
    for (size_t j = 0; j < p->cols; j++)
        for (size_t i = 0; i < p->rows; i++, dr++) {
            size_t k = by_rows ? i : j;
            dv[k] += *dr * *m++;
            *dm++ = *dr * v[k];
        }
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

/* dot: a' b, A x, x' A or A B, by the shapes; a sequence is a column. */
static bool is_row(const struct sp_block *a) {
    return a[0].cols == 1 && a[0].rows == a[1].rows;
}

static bool block_any(const struct sp_block *a, size_t n, double *out) {
    if (is_row(a)) return block_rm(a, n, out);
    if (a[1].cols == 1) return block_mc(a, n, out);
    mat_multiply(false, false, a[0].rows, a[1].cols, a[0].cols, a[0].at, a[0].rows, a[1].at,
                 a[1].rows, out);
    return true;
}

/* A.adj += D B', B.adj += A' D, a column of D after the other */
static void back_any(const struct sp_block *a, size_t n, const double *out, const double *d) {
    if (is_row(a)) {
        back_rm(a, n, out, d);
        return;
    }
    for (size_t j = 0; j < a[1].cols; j++) {
        const struct sp_block column[2] = {
            a[0],
            {a[1].rows, 1, a[1].at + j * a[1].rows, a[1].adj ? a[1].adj + j * a[1].rows : NULL}};
        back_mc(column, n, out, d + j * a[0].rows);
    }
}

#define PRODUCT(kinds) OF_PAIR(read_factors, value_factors, back_factors, kinds)

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
    {SP_GROW(to_matrix, to_matrix, "(xs: numbers, rows: count, cols: count) -> matrix",
             "The numbers row by row as a matrix, the inverse of ravel.",
             "to_matrix([1, 2, 3, 4], 2, 2) => [[1, 2], [3, 4]]"),
     .flags = SP_ARRANGES},
    {SP_ROW(rows, of_matrix, "(m: any) -> count", "The number of rows.",
            "rows(matrix([[1, 2]])) => 1"),
     OF_MATRIX("m", false, value_extent, NULL), .variant = false},
    {SP_ROW(cols, of_matrix, "(m: any) -> count", "The number of columns.",
            "cols(matrix([[1, 2]])) => 2"),
     OF_MATRIX("m", false, value_extent, NULL), .variant = true},
    {SP_GROW(diagonal, of_matrix, "(m: any) -> vector", "The elements (0, 0), (1, 1), ...",
             "diagonal(matrix([[1, 2], [3, 4]])) => [1, 4]"),
     OF_MATRIX("m", false, value_diagonal, back_diagonal), .flags = SP_ARRANGES},
    {SP_GROW(diag_pre_multiply, of_pair, "(v: numbers, m: any) -> matrix",
             "diag_matrix(v) times m: row i times v[i].",
             "diag_pre_multiply([2, 3], id_matrix(2)) => [[2, 0], [0, 3]]"),
     OF_PAIR(read_scaled, value_scaled, back_scaled, NULL), .variant = true},
    {SP_GROW(diag_post_multiply, of_pair, "(m: any, v: numbers) -> matrix",
             "m times diag_matrix(v): column j times v[j].",
             "diag_post_multiply(id_matrix(2), [2, 3]) => [[2, 0], [0, 3]]"),
     OF_PAIR(read_scaled, value_scaled, back_scaled, NULL), .variant = false},
    {SP_GROW(crossprod, of_matrix, "(m: any) -> matrix", "The transpose of m times m.",
             "crossprod(matrix([[1, 2]])) => [[1, 2], [2, 4]]"),
     OF_MATRIX("m", false, value_crossprod, back_crossprod), .variant = false},
    {SP_GROW(tcrossprod, of_matrix, "(m: any) -> matrix", "m times its transpose.",
             "tcrossprod(matrix([[1, 2]])) => [[5]]"),
     OF_MATRIX("m", false, value_crossprod, back_crossprod), .variant = true},
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
    {SP_GROW(vector_dot, of_pair, "(a: numbers, b: numbers) -> number",
             "The inner product of two vectors.", "vector_dot(vector(1, 7), vector(3, 4)) => 31"),
     PRODUCT("rc"), .block = block_dot, .block_back = back_dot},
    {SP_GROW(dot, of_pair, "(a: any, b: any) -> any",
             "The product of linear algebra: of two vectors a number, of a matrix and a vector a "
             "vector, of two matrices a matrix.",
             "dot(matrix([[1, 2], [3, 4]]), [1, 1]) => [3, 7]"),
     PRODUCT(NULL), .block = block_any, .block_back = back_any},
    {SP_GROW(outer, of_pair, "(a: numbers, b: numbers) -> matrix",
             "The matrix of all products of an element of a and one of b.",
             "outer([1, 2], [3, 4]) => [[3, 4], [6, 8]]"),
     PRODUCT("cr")},
    {SP_GROW(matrix_mul, of_pair, "(a: any, b: any) -> matrix", "The product of two matrices.",
             "matrix_mul(matrix([[1, 2]]), matrix([[3], [4]])) => [[11]]"),
     PRODUCT("mm")},
    {SP_GROW(matrix_times_vector, of_pair, "(m: any, v: numbers) -> vector",
             "A matrix times a column vector.",
             "matrix_times_vector(matrix([[0, 1], [-1, 0]]), vector(1, 7)) => [7, -1]"),
     PRODUCT("mc"), .block = block_mc, .block_back = back_mc},
    {SP_GROW(vector_times_matrix, of_pair, "(v: numbers, m: any) -> vector",
             "A row vector times a matrix.",
             "vector_times_matrix(vector(1, 7), matrix([[0, 1], [-1, 0]])) => [-7, 1]"),
     PRODUCT("rm"), .block = block_rm, .block_back = back_rm},
};
const size_t sp_matrix_count = COUNT_OF(sp_matrix_rows);
