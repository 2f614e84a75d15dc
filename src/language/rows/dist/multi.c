/* SPDX-License-Identifier: Apache-2.0
 *
 * Normal and Student-t distributions of vectors, their matrix given as covariance (scale) matrix S,
 * as its Cholesky factor L or as precision matrix P. With r = x - mean, u'u = Q = r'S^-1 r and
 * w = S^-1 r,
 *
 *     normal      -(p log 2 pi + log |S| + Q) / 2
 *     Student     log Gamma((nu + p)/2) / Gamma(nu/2) - (p log (nu pi) + log |S|) / 2
 *                 - (nu + p)/2 log(1 + Q / nu)
 *
 * and with pull = 1, or (nu + p) / (nu + Q), for both
 *
 *     d/dx = -pull w              d/dS = (pull ww' - S^-1) / 2
 *     d/dL = pull wu' - diag 1/L  (lower triangle)      d/dP = (P^-1 - pull rr') / 2
 *
 * A mean that is a matrix gives a matrix of independent rows: one factor serves them all.
 */
#include "base/mem.h"
#include "language/rows/dist/matdist.h"
#include "numeric/la/blas.h"
#include "numeric/dist/dist.h"
#include "numeric/special/special.h"
#include <math.h>
#include <string.h>

static size_t rows_of(const struct mat_dist *q) {
    return q->rows ? q->rows : 1;
}

void mvn_draw(struct rng *rng, const struct mat_dist *q, double *out) {
    size_t n = rows_of(q), p = q->p;
    double *z = NEW_ARRAY(double, p + 1);
    for (size_t i = 0; i < n; i++) {
        for (size_t j = 0; j < p; j++) z[j] = rng_normal(rng);
        if (q->form == MAT_PRECISION)
            la_trsv(true, p, q->l, p, z);
        else
            la_trmv(false, p, q->l, p, z);
        double scale = q->dof > 0 ? sqrt(0.5 * q->dof / draw_gamma(rng, 0.5 * q->dof)) : 1;
        for (size_t j = 0; j < p; j++) out[i + j * n] = scale * z[j] + (q->a ? q->a[i + j * n] : 0);
    }
    mem_free(z);
}

/* r and u of row i; Q. */
static double whiten(const double *x, const struct mat_dist *q, size_t i, double *r, double *u) {
    size_t n = rows_of(q), p = q->p;
    double sum = 0;
    for (size_t j = 0; j < p; j++) r[j] = u[j] = x[i + j * n] - (q->a ? q->a[i + j * n] : 0);
    if (q->form == MAT_PRECISION)
        la_trmv(true, p, q->l, p, u);
    else
        la_trsv(false, p, q->l, p, u);
    for (size_t j = 0; j < p; j++) sum += u[j] * u[j];
    return sum;
}

double mvn_lp(const double *x, const struct mat_dist *q) {
    size_t n = rows_of(q);
    double *r = NEW_ARRAY(double, 2 * q->p + 1), p = (double)q->p, nu = q->dof, sum = 0;
    double half_logdet = 0.5 * factor_logdet(q->l, q->p), norm = -0.5 * p * LOG_2PI;
    if (nu > 0)
        norm = log_gamma(0.5 * (nu + p)) - log_gamma(0.5 * nu) - 0.5 * p * (log(nu) + LOG_PI);
    norm += q->form == MAT_PRECISION ? half_logdet : -half_logdet;
    for (size_t i = 0; i < n; i++) {
        double Q = whiten(x, q, i, r, r + q->p);
        sum += nu > 0 ? -0.5 * (nu + p) * log1p(Q / nu) : -0.5 * Q;
    }
    mem_free(r);
    return sum + (double)n * norm;
}

/* What one row adds to d/dmatrix: a pull vv' of its form. */
static void add_outer(const struct mat_dist *q, double pull, const double *r, const double *u,
                      const double *w, double *d) {
    size_t p = q->p;
    const double *left = q->form == MAT_PRECISION ? r : w,
                 *right = q->form == MAT_FACTOR ? u : left;
    double by = q->form == MAT_FACTOR ? pull : q->form == MAT_PRECISION ? -0.5 * pull : 0.5 * pull;
    for (size_t j = 0; j < p; j++)
        for (size_t i = q->form == MAT_FACTOR ? j : 0; i < p; i++)
            d[i + j * p] += by * left[i] * right[j];
}

/* What the determinant adds to it. */
static void add_determinant(const struct mat_dist *q, double *d) {
    size_t p = q->p;
    double n = (double)rows_of(q), *inv = NEW_ARRAY(double, p *p + 1);
    if (q->form == MAT_FACTOR)
        for (size_t j = 0; j < p; j++) d[j + j * p] -= n / q->l[j + j * p];
    else {
        factor_inverse(q->l, p, inv);
        double by = q->form == MAT_PRECISION ? 0.5 * n : -0.5 * n;
        for (size_t k = 0; k < p * p; k++) d[k] += by * inv[k];
    }
    mem_free(inv);
}

/* w from u */
static void solve_back(const struct mat_dist *q, const double *u, double *w) {
    memcpy(w, u, q->p * sizeof *w);
    if (q->form == MAT_PRECISION)
        la_trmv(false, q->p, q->l, q->p, w);
    else
        la_trsv(true, q->p, q->l, q->p, w);
}

static void mvn_grad(const double *x, const struct mat_dist *q, double *dx, value *dargs) {
    size_t n = rows_of(q), p = q->p;
    double *r = NEW_ARRAY(double, 3 * p + 1), *u = r + p, *w = u + p, nu = q->dof, dnu = 0;
    value dm = q->rows ? value_matrix_new(n, p) : value_vector_new(p), dk = value_matrix_new(p, p);
    double *mean = q->rows ? dm.u.matrix->at : dm.u.vector->at;
    memset(dk.u.matrix->at, 0, p * p * sizeof *mean);
    for (size_t i = 0; i < n; i++) {
        double Q = whiten(x, q, i, r, u), pull = nu > 0 ? (nu + (double)p) / (nu + Q) : 1;
        solve_back(q, u, w);
        for (size_t j = 0; j < p; j++) dx[i + j * n] = -(mean[i + j * n] = pull * w[j]);
        add_outer(q, pull, r, u, w, dk.u.matrix->at);
        if (nu > 0) dnu += 0.5 * (pull * Q / nu - log1p(Q / nu));
    }
    add_determinant(q, dk.u.matrix->at);
    if (nu > 0)
        *dargs++ = value_num(
            dnu + 0.5 * (double)n *
                      (digamma(0.5 * (nu + (double)p)) - digamma(0.5 * nu) - (double)p / nu));
    dargs[0] = dm;
    dargs[1] = dk;
    mem_free(r);
}

/* ---- rows; the variant is the form, and STUDENT for those that have nu before the others */
enum { STUDENT = 4 };

static bool is_student(const struct sp_call *c) {
    return c->cls->variant & STUDENT;
}

/* A vector, or a matrix of rows. */
static enum gpm_status mean_arg(struct sp_call *c, size_t i, const char *name, struct mat_dist *q) {
    if (value_has_nan(c->args[i])) return sp_bad_arg(c, i, name, "a vector without NaN");
    if (seq_numbers(c->args[i], &q->a, &q->p)) return GPM_OK;
    q->a = NULL;
    if (sp_as_matrix(c->args[i], &q->a, &q->rows, &q->p)) return GPM_OK;
    q->a = NULL;
    return sp_type_error(c, c->args[i], "%s must be a sequence of numbers, or a matrix of rows",
                         name);
}

static enum gpm_status multi_read(struct sp_call *c, struct mat_dist *q) {
    static const char *const names[] = {"cov", "factor", "precision"};
    size_t at = is_student(c) ? 1 : 0, rows = 0;
    q->form = (enum mat_form)(c->cls->variant & ~STUDENT);
    const char *mean = at ? "loc" : "mean",
               *name = at && q->form == MAT_COVARIANCE ? "scale" : names[q->form];
    if (at) q->dof = sp_num(c, 0);
    enum gpm_status st = mean_arg(c, at, mean, q);
    if (st != GPM_OK) return st;
    st = q->form == MAT_FACTOR
             ? lower_arg(c, at + 1, name, &q->l, &rows)
             : factor_arg(c, at + 1, name, q->form == MAT_COVARIANCE, &q->l, &rows);
    if (st != GPM_OK || rows == q->p) return st;
    return sp_error(c, DIAG_SHAPE, "%s: %s has %zu elements but %s is %zu x %zu", c->cls->name,
                    mean, q->p, name, rows, rows);
}

/* As if nu, which must be fixed, were no argument. */
static enum gpm_status multi_bound(struct sp_call *c, value v, uint64_t varies, double *out) {
    if (!is_student(c)) return vector_centre_bound(c, v, varies, out);
    if (varies & 2u) return GPM_E_NOT_FOUND;
    return vector_centre_bound(c, v, (varies & 1u) | (varies >> 1), out);
}

static const struct vector_kind multi = {.number = {.support = SUPPORT_REAL},
                                         .read = multi_read,
                                         .draw = mvn_draw,
                                         .lp = mvn_lp,
                                         .grad = mvn_grad};
#define MULTI VECTOR(multi), .log_bound = multi_bound

const struct sp_class sp_multi_rows[] = {
    {.name = "multivariate_normal",
     .sig = "(mean: any, cov: any) -> any",
     .doc = "normal distribution of vectors with the given covariance matrix; a matrix as mean "
            "gives independent rows",
     .example = "floor(1e6 * assess([0], multivariate_normal, [0], [[1]])) => -918939",
     .normal = true,
     .variant = MAT_COVARIANCE,
     MULTI},
    {.name = "multivariate_normal_cholesky",
     .sig = "(mean: any, factor: any) -> any",
     .doc = "multivariate_normal by the lower Cholesky factor of its covariance matrix",
     .example = "floor(1e6 * assess([0], multivariate_normal_cholesky, [0], [[1]])) => -918939",
     .normal = true,
     .variant = MAT_FACTOR,
     MULTI},
    {.name = "multivariate_normal_precision",
     .sig = "(mean: any, precision: any) -> any",
     .doc = "multivariate_normal by its precision matrix, the inverse of its covariance matrix",
     .example = "floor(1e6 * assess([0], multivariate_normal_precision, [0], [[1]])) => -918939",
     .normal = true,
     .variant = MAT_PRECISION,
     MULTI},
    {.name = "multivariate_student_t",
     .sig = "(nu: positive, loc: any, scale: any) -> any",
     .doc = "Student's t distribution of vectors with nu degrees of freedom and a scale matrix",
     .example = "floor(1e6 * assess([0], multivariate_student_t, 1, [0], [[1]])) => -1144730",
     .variant = STUDENT | MAT_COVARIANCE,
     MULTI},
    {.name = "multivariate_student_t_cholesky",
     .sig = "(nu: positive, loc: any, factor: any) -> any",
     .doc = "multivariate_student_t by the lower Cholesky factor of its scale matrix",
     .example =
         "floor(1e6 * assess([0], multivariate_student_t_cholesky, 1, [0], [[1]])) => -1144730",
     .variant = STUDENT | MAT_FACTOR,
     MULTI},
};
const size_t sp_multi_count = COUNT_OF(sp_multi_rows);
