/* SPDX-License-Identifier: Apache-2.0
 *
 * Linear systems and factors: inverses, determinants, Cholesky factors, triangular systems,
 * quadratic forms, eigenvalues. Every gradient is the textbook rule, written above the function,
 * with C the result and a bar for adjoints (Giles 2008; Murray 2016 for the Cholesky factor).
 *
 * Of symmetric matrices the symmetric part (A + A')/2 is meant; one that is not symmetric is an
 * error.
 */
#include "language/rows/lib/pairs.h"

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

/* A square matrix and its right-hand side, a vector or a matrix of as many rows, whose shape the
 * result has. */
static enum gpm_status read_system(struct sp_call *c, struct mat_pair *p) {
    bool vector = mat_is_vector(c->args[1]);
    enum gpm_status st = mat_pair_read(c, p, vector ? "mc" : "mm", "a", "b");
    if (!st) st = mat_arg_must_be_square(&p->a, c);
    if (st) return st;
    p->rows = p->b.rows;
    p->cols = p->b.cols;
    p->gives = vector ? GIVES_VECTOR : GIVES_MATRIX;
    if (p->b.rows == p->a.rows) return GPM_OK;
    return sp_error(c, DIAG_SHAPE, "%s: the matrix has %zu rows, the right-hand side %zu",
                    c->cls->name, p->a.rows, p->b.rows);
}

static enum gpm_status value_matrix_solve(struct sp_call *c, const struct mat_pair *p, double *to) {
    memcpy(to, p->b.at, p->rows * p->cols * sizeof *to);
    return solve(c, &p->a, false, to, p->cols);
}

/* X = A^-1 B: Bbar = A'^-1 Xbar, Abar = -Bbar X' */
static enum gpm_status back_matrix_solve(struct sp_call *c, const struct mat_pair *p,
                                         const double *x, double *dx, double *da, double *db) {
    size_t n = p->rows, k = p->cols;
    memcpy(db, dx, n * k * sizeof *db);
    enum gpm_status st = solve(c, &p->a, true, db, k);
    mat_multiply(false, true, n, n, k, db, n, x, n, da);
    for (size_t i = 0; i < n * n; i++) da[i] = -da[i];
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
static enum gpm_status value_triangular(struct sp_call *c, const struct mat_pair *p, double *to) {
    bool upper = c->cls->variant;
    size_t n = p->rows, k = p->cols;
    double *l = triangle(&p->a, upper);
    if (!l)
        return sp_error(c, DIAG_SINGULAR, "%s: the matrix has a 0 on its diagonal", c->cls->name);
    memcpy(to, p->b.at, n * k * sizeof *to);
    if (n && k) la_trsm(upper, n, k, l, n, to, n);
    mem_free(l);
    return GPM_OK;
}

/* X = L^-1 B: Bbar = L^-T Xbar, Lbar = -tril(Bbar X'); of an upper triangle its transpose */
static enum gpm_status back_triangular(struct sp_call *c, const struct mat_pair *p, const double *x,
                                       double *dx, double *da, double *db) {
    bool upper = c->cls->variant;
    size_t n = p->rows, k = p->cols;
    double *l = triangle(&p->a, upper);
    memcpy(db, dx, n * k * sizeof *db);
    if (n && k) la_trsm(!upper, n, k, l, n, db, n);
    mat_multiply(false, true, n, n, k, db, n, x, n, da);
    for (size_t j = 0; j < n; j++)
        for (size_t i = 0; i < n; i++)
            da[i + j * n] = (upper ? i <= j : i >= j) ? -da[i + j * n] : 0;
    mem_free(l);
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
static enum gpm_status read_quad_form(struct sp_call *c, struct mat_pair *p) {
    enum gpm_status st = read_system(c, p);
    p->rows = p->cols;
    if (p->gives == GIVES_VECTOR) p->gives = GIVES_NUMBER;
    return st;
}

static enum gpm_status value_quad_form(struct sp_call *c, const struct mat_pair *p, double *to) {
    size_t n = p->a.rows, k = p->b.cols;
    double *ab = NEW_ARRAY(double, n *k + 1);
    mat_multiply(false, false, n, k, n, p->a.at, n, p->b.at, n, ab);
    mat_multiply(true, false, k, k, n, p->b.at, n, ab, n, to);
    mem_free(ab);
    return GPM_OK;
}

/* C = B'AB: Abar = B Cbar B', Bbar = A B Cbar' + A' B Cbar */
static enum gpm_status back_quad_form(struct sp_call *c, const struct mat_pair *p, const double *r,
                                      double *dc, double *da, double *db) {
    size_t n = p->a.rows, k = p->b.cols;
    double *t = NEW_ARRAY(double, 2 * n * k + 1), *more = t + n * k;
    mat_multiply(false, false, n, k, k, p->b.at, n, dc, k, t); /* B Cbar */
    mat_multiply(false, true, n, n, k, t, n, p->b.at, n, da);
    mat_multiply(true, false, n, k, n, p->a.at, n, t, n, db);
    mat_multiply(false, true, n, k, k, p->b.at, n, dc, k, t); /* B Cbar' */
    mat_multiply(false, false, n, k, n, p->a.at, n, t, n, more);
    for (size_t i = 0; i < n * k; i++) db[i] += more[i];
    mem_free(t);
    return GPM_OK;
}

#define SYSTEM(name) OF_PAIR(read_system, value_##name, back_##name, NULL)

const struct sp_class sp_solve_rows[] = {
    {SP_GROW(matrix_inverse, of_matrix, "(a: any) -> matrix", "The inverse of a square matrix.",
             "matrix_inverse(matrix([[2, 0], [0, 4]])) => [[0.5, 0], [0, 0.25]]"),
     OF_MATRIX("a", true, value_inverse, back_inverse)},
    {SP_GROW(matrix_solve, of_pair, "(a: any, b: any) -> any",
             "The solution x of a x = b, for a vector or matrix b.",
             "matrix_solve(matrix([[2, 0], [0, 4]]), vector(1, 1)) => [0.5, 0.25]"),
     SYSTEM(matrix_solve)},
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
    {SP_GROW(solve_lower, of_pair, "(l: any, b: any) -> any",
             "The solution x of l x = b; only the lower triangle of l is read.",
             "solve_lower(matrix([[2, 0], [1, 1]]), [2, 3]) => [1, 2]"),
     SYSTEM(triangular), .variant = false},
    {SP_GROW(solve_upper, of_pair, "(u: any, b: any) -> any",
             "The solution x of u x = b; only the upper triangle of u is read.",
             "solve_upper(matrix([[2, 1], [0, 1]]), [4, 2]) => [1, 2]"),
     SYSTEM(triangular), .variant = true},
    {SP_GROW(quad_form, of_pair, "(a: any, b: any) -> any",
             "The transpose of b times a times b: a number for a vector b.",
             "quad_form(diag_matrix([1, 2]), [3, 4]) => 41"),
     OF_PAIR(read_quad_form, value_quad_form, back_quad_form, NULL)},
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
