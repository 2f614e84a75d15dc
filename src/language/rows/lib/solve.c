/* SPDX-License-Identifier: Apache-2.0
 *
 * Linear systems and factors: inverses, determinants, Cholesky factors, triangular systems,
 * quadratic forms, eigenvalues. Every gradient is the textbook rule, written above the function,
 * with C the result and a bar for adjoints (Giles 2008; Murray 2016 for the Cholesky factor).
 *
 * Of symmetric matrices the symmetric part (A + A')/2 is meant; one that is not symmetric is an
 * error.
 */
#include "language/rows/lib/args.h"

#include "base/mem.h"
#include "numeric/la/blas.h"
#include "numeric/la/lu.h"
#include "language/rows/protocol/adjoint.h"
#include <math.h>
#include <string.h>

/* ---- inverses -----------------------------------------------------------------------------------
 */

/* B = A^-1 B (or A'^-1 B) without touching A. */
static enum gpm_status solve(struct sp_call *c, const struct mat_arg *a, bool transposed, double *b,
                             size_t nrhs) {
    double *lu = mat_arg_copy(a);
    if (transposed) mat_transpose(a->at, a->rows, a->cols, lu);
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
    mat_multiply(true, false, n, n, n, inv, n, d, n, t);
    mat_multiply(false, true, n, n, n, t, n, inv, n, d);
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
    st = mat_factor(b, c, 1, "b", *kind);
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
    mat_multiply(false, true, n, n, b.cols, db, n, x, n, da);
    for (size_t i = 0; i < n * n; i++) da[i] = -da[i];
    if (!st) {
        dargs[0] = mat_arg_adjoint(&a, c->args[0], da);
        dargs[1] = mat_factor_adjoint(&b, c->args[1], kind, db);
    }
    mem_free(db);
    mem_free(da);
    mat_arg_release(&a);
    mat_arg_release(&b);
    return st;
}

/* log |det A|; -inf of a singular matrix. */
static enum gpm_status value_log_det(struct sp_call *c, const struct mat_arg *a, value *out) {
    double det, sum = 0, *lu = mat_arg_copy(a);
    enum gpm_status st = la_det(a->rows, lu, a->rows, &det);
    for (size_t i = 0; i < a->rows; i++) sum += log(fabs(lu[i + i * a->rows]));
    mem_free(lu);
    if (!st) *out = value_num(sum);
    return st;
}

/* Abar = d A^-T; NaN of a singular matrix, which has none. */
static void back_log_det(struct sp_call *c, const struct mat_arg *a, value r, value dr, double *d) {
    size_t n = a->rows;
    double *lu = mat_arg_copy(a);
    mat_transpose(a->at, n, n, lu);
    for (size_t i = 0; i < n; i++) d[i + i * n] = adj_num(dr);
    if (adj_num(dr) != 0 && la_gesv(n, n, lu, n, d, n) != GPM_OK)
        for (size_t i = 0; i < n * n; i++) d[i] = NAN;
    mem_free(lu);
}

/* det A: Abar = d det A^-T. Of a singular matrix it is not computed: NaN. */
static void back_det(struct sp_call *c, const struct mat_arg *a, value r, value dr, double *d) {
    double scale = adj_num(dr) * r.u.num;
    back_log_det(c, a, r, value_num(scale), d);
}

static enum gpm_status value_det(struct sp_call *c, const struct mat_arg *a, value *out) {
    double det, *lu = mat_arg_copy(a);
    enum gpm_status st = la_det(a->rows, lu, a->rows, &det);
    mem_free(lu);
    if (!st) *out = value_num(det);
    return st;
}

/* ---- triangular systems -------------------------------------------------------------------------
 */

/* The lower triangle of A, or the transpose of its upper one; NULL when a diagonal element is 0. */
static double *triangle(const struct mat_arg *a, bool upper) {
    size_t n = a->rows;
    double *l = mem_zalloc((n * n + 1) * sizeof *l);
    for (size_t j = 0; j < n; j++)
        for (size_t i = j; i < n; i++) l[i + j * n] = upper ? a->at[j + i * n] : a->at[i + j * n];
    for (size_t i = 0; i < n; i++)
        if (l[i + i * n] == 0) {
            mem_free(l);
            return NULL;
        }
    return l;
}

/* The system with the lower triangle of A, or (variant true) the upper one. */
static enum gpm_status simulate_triangular(struct sp_call *c, value *out) {
    struct mat_arg a, b;
    char kind;
    bool upper = c->cls->variant;
    enum gpm_status st = system_of(c, &a, &b, &kind);
    if (st) return st;
    double *l = triangle(&a, upper), *x = mat_arg_copy(&b);
    if (!l)
        st = sp_error(c, DIAG_SINGULAR, "%s: the matrix has a 0 on its diagonal", c->cls->name);
    else {
        if (a.rows && b.cols) la_trsm(upper, a.rows, b.cols, l, a.rows, x, a.rows);
        *out = kind == 'c' ? value_vector(x, b.rows) : value_matrix(x, b.rows, b.cols);
    }
    mem_free(l);
    mem_free(x);
    mat_arg_release(&a);
    mat_arg_release(&b);
    return st;
}

/* X = L^-1 B: Bbar = L^-T Xbar, Lbar = -tril(Bbar X'); of an upper triangle its transpose */
static enum gpm_status grad_triangular(struct sp_call *c, value r, value dr, value *dargs) {
    struct mat_arg a, b;
    char kind;
    bool upper = c->cls->variant;
    enum gpm_status st = system_of(c, &a, &b, &kind);
    if (st) return st;
    size_t n = a.rows;
    const double *x = kind == 'c' ? r.u.vector->at : r.u.matrix->at;
    double *l = triangle(&a, upper), *db = NEW_ARRAY(double, n *b.cols + 1), *da = mat_arg_copy(&a);
    adj_doubles(dr, db, n * b.cols);
    if (n && b.cols) la_trsm(!upper, n, b.cols, l, n, db, n);
    mat_multiply(false, true, n, n, b.cols, db, n, x, n, da);
    for (size_t j = 0; j < n; j++)
        for (size_t i = 0; i < n; i++)
            da[i + j * n] = (upper ? i <= j : i >= j) ? -da[i + j * n] : 0;
    dargs[0] = mat_arg_adjoint(&a, c->args[0], da);
    dargs[1] = mat_factor_adjoint(&b, c->args[1], kind, db);
    mem_free(l);
    mem_free(db);
    mem_free(da);
    mat_arg_release(&a);
    mat_arg_release(&b);
    return GPM_OK;
}

/* ---- symmetric matrices -------------------------------------------------------------------------
 */

/* (S + S')/2 in place */
static void symmetrise(double *s, size_t n) {
    for (size_t j = 0; j < n; j++)
        for (size_t i = j + 1; i < n; i++)
            s[i + j * n] = s[j + i * n] = 0.5 * (s[i + j * n] + s[j + i * n]);
}

/* The symmetric part; what differs from it by more than rounding is an error. *out owned. */
static enum gpm_status symmetric_part(struct sp_call *c, const struct mat_arg *a, double **out) {
    size_t n = a->rows;
    double most = 0, off = 0;
    for (size_t j = 0; j < n; j++)
        for (size_t i = 0; i < n; i++) {
            most = fmax(most, fabs(a->at[i + j * n]));
            off = fmax(off, fabs(a->at[i + j * n] - a->at[j + i * n]));
        }
    if (!(off <= 1e-4 * most))
        return sp_error(c, DIAG_DOMAIN, "%s: the matrix must be symmetric and finite",
                        c->cls->name);
    *out = mat_arg_copy(a);
    symmetrise(*out, n);
    return GPM_OK;
}

static enum gpm_status value_cholesky(struct sp_call *c, const struct mat_arg *a, value *out) {
    size_t n = a->rows, pivot;
    double *l;
    enum gpm_status st = symmetric_part(c, a, &l);
    if (st) return st;
    st = la_potrf(n, l, n, &pivot);
    for (size_t j = 0; j < n; j++) /* the upper triangle is scratch */
        for (size_t i = 0; i < j; i++) l[i + j * n] = 0;
    if (st == GPM_E_NOT_PD)
        st = sp_error(c, DIAG_DOMAIN, "%s: the matrix is not positive definite", c->cls->name);
    else if (!st)
        *out = value_matrix(l, n, n);
    mem_free(l);
    return st;
}

/* A = LL': P = tril(L' Lbar) with its diagonal halved, Abar = sym(L^-T P L^-1) */
static void back_cholesky(struct sp_call *c, const struct mat_arg *a, value r, value dr,
                          double *d) {
    size_t n = a->rows;
    const double *l = r.u.matrix->at;
    if (!n) return;
    double *dl = NEW_ARRAY(double, n *n);
    mat_adjoint_numbers(dr, n, n, dl);
    for (size_t j = 0; j < n; j++) /* nothing of the upper triangle varies */
        for (size_t i = 0; i < j; i++) dl[i + j * n] = 0;
    mat_multiply(true, false, n, n, n, l, n, dl, n, d);
    for (size_t j = 0; j < n; j++) {
        for (size_t i = 0; i < j; i++) d[i + j * n] = 0;
        d[j + j * n] *= 0.5;
    }
    la_trsm(true, n, n, l, n, d, n);
    la_solve_rows_t(n, n, l, n, d, n);
    symmetrise(d, n);
    mem_free(dl);
}

/* The eigenvalues, ascending, or (variant true) the vectors as columns; of a vector and its
 * opposite, the one whose largest component is positive. */
static enum gpm_status eigen(struct sp_call *c, const struct mat_arg *a, double **vectors,
                             double **w) {
    size_t n = a->rows;
    enum gpm_status st = symmetric_part(c, a, vectors);
    if (st) return st;
    *w = NEW_ARRAY(double, n + 1);
    st = n ? la_syev(n, *vectors, n, *w) : GPM_OK;
    for (size_t j = 0; j < n && !st; j++) {
        double *v = *vectors + j * n;
        size_t big = 0;
        for (size_t i = 1; i < n; i++)
            if (fabs(v[i]) > fabs(v[big]) * (1 + 1e-9)) big = i;
        for (size_t i = 0; v[big] < 0 && i < n; i++)
            if (i != big) v[i] = -v[i];
        v[big] = fabs(v[big]);
    }
    if (!st) return st;
    mem_free(*vectors);
    mem_free(*w);
    return sp_error(c, DIAG_DOMAIN, "%s: the eigenvalues were not found", c->cls->name);
}

static enum gpm_status value_eigen(struct sp_call *c, const struct mat_arg *a, value *out) {
    double *v, *w;
    enum gpm_status st = eigen(c, a, &v, &w);
    if (st) return st;
    *out = c->cls->variant ? value_matrix(v, a->rows, a->rows) : value_vector(w, a->rows);
    mem_free(v);
    mem_free(w);
    return GPM_OK;
}

/* A = V diag(w) V'. Of w: Abar = V diag(wbar) V'. Of V: Abar = sym(V (F o V'Vbar) V') with
 * F_ij = 1 / (w_j - w_i), 0 on the diagonal: equal eigenvalues have no vectors of their own. */
static void back_eigen(struct sp_call *c, const struct mat_arg *a, value r, value dr, double *d) {
    size_t n = a->rows;
    double *v, *w;
    if (eigen(c, a, &v, &w)) return; /* it has a value, so it has these */
    double *dv = mem_zalloc((2 * n * n + 1) * sizeof *dv), *inner = dv + n * n;
    if (c->cls->variant) {
        mat_adjoint_numbers(dr, n, n, dv);
        mat_multiply(true, false, n, n, n, v, n, dv, n, inner);
        for (size_t j = 0; j < n; j++)
            for (size_t i = 0; i < n; i++) inner[i + j * n] *= i == j ? 0 : 1 / (w[j] - w[i]);
    } else {
        adj_doubles(dr, dv, n);
        for (size_t i = 0; i < n; i++) inner[i + i * n] = dv[i];
    }
    mat_multiply(false, false, n, n, n, v, n, inner, n, dv);
    mat_multiply(false, true, n, n, n, dv, n, v, n, d);
    symmetrise(d, n);
    mem_free(dv);
    mem_free(v);
    mem_free(w);
}

/* ---- quadratic forms ---------------------------------------------------------------------------
 */

/* B'AB: a number for a vector B. */
static enum gpm_status simulate_quad_form(struct sp_call *c, value *out) {
    struct mat_arg a, b;
    char kind;
    enum gpm_status st = system_of(c, &a, &b, &kind);
    if (st) return st;
    size_t n = a.rows, k = b.cols;
    double *ab = NEW_ARRAY(double, n *k + 1), *q = NEW_ARRAY(double, k *k + 1);
    mat_multiply(false, false, n, k, n, a.at, n, b.at, n, ab);
    mat_multiply(true, false, k, k, n, b.at, n, ab, n, q);
    *out = kind == 'c' ? value_num(q[0]) : value_matrix(q, k, k);
    mem_free(ab);
    mem_free(q);
    mat_arg_release(&a);
    mat_arg_release(&b);
    return GPM_OK;
}

/* C = B'AB: Abar = B Cbar B', Bbar = A B Cbar' + A' B Cbar */
static enum gpm_status grad_quad_form(struct sp_call *c, value r, value dr, value *dargs) {
    struct mat_arg a, b;
    char kind;
    enum gpm_status st = system_of(c, &a, &b, &kind);
    if (st) return st;
    size_t n = a.rows, k = b.cols;
    double *dc = NEW_ARRAY(double, k *k + 1), *t = NEW_ARRAY(double, n *k + 1);
    double *da = NEW_ARRAY(double, n *n + 1), *db = NEW_ARRAY(double, 2 * n * k + 1);
    adj_doubles(dr, dc, k * k);
    mat_multiply(false, false, n, k, k, b.at, n, dc, k, t); /* B Cbar */
    mat_multiply(false, true, n, n, k, t, n, b.at, n, da);
    mat_multiply(true, false, n, k, n, a.at, n, t, n, db);
    mat_multiply(false, true, n, k, k, b.at, n, dc, k, t); /* B Cbar' */
    mat_multiply(false, false, n, k, n, a.at, n, t, n, db + n * k);
    for (size_t i = 0; i < n * k; i++) db[i] += db[n * k + i];
    dargs[0] = mat_arg_adjoint(&a, c->args[0], da);
    dargs[1] = mat_factor_adjoint(&b, c->args[1], kind, db);
    mem_free(dc);
    mem_free(t);
    mem_free(da);
    mem_free(db);
    mat_arg_release(&a);
    mat_arg_release(&b);
    return GPM_OK;
}

const struct sp_class sp_solve_rows[] = {
    {SP_GROW(matrix_inverse, of_matrix, "(a: any) -> matrix", "The inverse of a square matrix.",
             "matrix_inverse(matrix([[2, 0], [0, 4]])) => [[0.5, 0], [0, 0.25]]"),
     OF_MATRIX("a", true, value_inverse, back_inverse)},
    {SP_GROW(matrix_solve, matrix_solve, "(a: any, b: any) -> any",
             "The solution x of a x = b, for a vector or matrix b.",
             "matrix_solve(matrix([[2, 0], [0, 4]]), vector(1, 1)) => [0.5, 0.25]")},
    {SP_GROW(matrix_det, of_matrix, "(a: any) -> number", "The determinant of a square matrix.",
             "matrix_det(diag_matrix([2, 3])) => 6"),
     OF_MATRIX("a", true, value_det, back_det)},
    {SP_GROW(log_det, of_matrix, "(a: any) -> number",
             "The logarithm of the absolute value of the determinant.",
             "log_det(id_matrix(3)) => 0"),
     OF_MATRIX("a", true, value_log_det, back_log_det)},
    {SP_GROW(cholesky, of_matrix, "(a: any) -> matrix",
             "The lower triangular factor L of a positive definite matrix a = L L'.",
             "cholesky(matrix([[4, 2], [2, 5]])) => [[2, 0], [1, 2]]"),
     OF_MATRIX("a", true, value_cholesky, back_cholesky)},
    {SP_GROW(solve_lower, triangular, "(l: any, b: any) -> any",
             "The solution x of l x = b; only the lower triangle of l is read.",
             "solve_lower(matrix([[2, 0], [1, 1]]), [2, 3]) => [1, 2]"),
     .variant = false},
    {SP_GROW(solve_upper, triangular, "(u: any, b: any) -> any",
             "The solution x of u x = b; only the upper triangle of u is read.",
             "solve_upper(matrix([[2, 1], [0, 1]]), [4, 2]) => [1, 2]"),
     .variant = true},
    {SP_GROW(quad_form, quad_form, "(a: any, b: any) -> any",
             "The transpose of b times a times b: a number for a vector b.",
             "quad_form(diag_matrix([1, 2]), [3, 4]) => 41")},
    {SP_GROW(eigenvalues_sym, of_matrix, "(a: any) -> vector",
             "The eigenvalues of a symmetric matrix, ascending.",
             "eigenvalues_sym(diag_matrix([3, 2])) => [2, 3]"),
     OF_MATRIX("a", true, value_eigen, back_eigen), .variant = false},
    {SP_GROW(eigenvectors_sym, of_matrix, "(a: any) -> matrix",
             "The eigenvectors of a symmetric matrix as columns, in the order of eigenvalues_sym; "
             "the largest component of each is positive.",
             "eigenvectors_sym(diag_matrix([3, 2])) => [[0, 1], [1, 0]]"),
     OF_MATRIX("a", true, value_eigen, back_eigen), .variant = true},
};
const size_t sp_solve_count = COUNT_OF(sp_solve_rows);
