/* SPDX-License-Identifier: Apache-2.0
 *
 * Random procedures whose values are vectors or matrices, and what they share; dirichlet and
 * wishart with their relatives.
 */
#include "base/mem.h"
#include "numeric/dist/dist.h"
#include "numeric/special/special.h"
#include "language/rows/dist/matdist.h"
#include "language/rows/dist/dist_row.h"
#include <math.h>
#include <string.h>

static void params_release(struct mat_dist *q) {
    mem_free(q->a);
    mem_free(q->l);
}

static enum gpm_status params_init(struct sp_call *c, struct mat_dist *q) {
    const struct vector_kind *k = c->cls->of;
    *q = (struct mat_dist){0};
    enum gpm_status st = k->read(c, q);
    if (st != GPM_OK) params_release(q);
    return st;
}

/* Rows and columns of the value; 0 rows: a vector. */
static size_t value_rows(const struct vector_kind *k, const struct mat_dist *q) {
    return k->matrix ? q->p : q->rows;
}

static value value_new(const struct vector_kind *k, const struct mat_dist *q, double **at) {
    size_t rows = value_rows(k, q);
    value v = rows ? value_matrix_new(rows, q->p) : value_vector_new(q->p);
    *at = rows ? v.u.matrix->at : v.u.vector->at;
    return v;
}

static enum gpm_status read_value(struct sp_call *c, value v, const struct mat_dist *q,
                                  double **x) {
    size_t n, cols, rows = value_rows(c->cls->of, q);
    if (!rows) return sp_numbers_value(c, v, q->p, x);
    if (!sp_as_matrix(v, x, &n, &cols)) return sp_bad_value(c, v, "a matrix");
    if (n == rows && cols == q->p) return GPM_OK;
    mem_free(*x);
    return sp_error(c, DIAG_SHAPE, "%s: the value is %zu x %zu, expected %zu x %zu", c->cls->name,
                    n, cols, rows, q->p);
}

enum gpm_status vector_simulate(struct sp_call *c, value *out) {
    const struct vector_kind *k = c->cls->of;
    struct mat_dist q;
    double *at;
    enum gpm_status st = params_init(c, &q);
    if (st != GPM_OK) return st;
    *out = value_new(k, &q, &at);
    k->draw(c->rng, &q, at);
    params_release(&q);
    return GPM_OK;
}

enum gpm_status vector_log_density(struct sp_call *c, value v, double *out) {
    const struct vector_kind *k = c->cls->of;
    struct mat_dist q;
    double *x;
    enum gpm_status st = params_init(c, &q);
    if (st != GPM_OK) return st;
    st = read_value(c, v, &q, &x);
    if (st == GPM_OK) {
        *out = k->lp(x, &q);
        if (isnan(*out)) *out = -INFINITY;
        mem_free(x);
    }
    params_release(&q);
    return st;
}

enum gpm_status vector_grad(struct sp_call *c, value v, value *dv, value *dargs) {
    const struct vector_kind *k = c->cls->of;
    struct mat_dist q;
    double *x, *at;
    enum gpm_status st = params_init(c, &q);
    if (st != GPM_OK) return st;
    st = read_value(c, v, &q, &x);
    if (st == GPM_OK) {
        value dx = value_new(k, &q, &at);
        k->grad(x, &q, at, dargs);
        if (dv) *dv = value_ref(dx);
        value_unref(dx);
        mem_free(x);
    }
    params_release(&q);
    return st;
}

static enum gpm_status not_square(struct sp_call *c, const char *name, size_t rows, size_t cols) {
    return sp_error(c, DIAG_SHAPE, "%s: %s must be square, got %zu rows and %zu columns",
                    c->cls->name, name, rows, cols);
}

enum gpm_status factor_arg(struct sp_call *c, size_t i, const char *name, bool semidefinite,
                           double **l, size_t *p) {
    double *a;
    size_t cols;
    enum gpm_status st = sp_matrix_arg(c, i, name, &a, p, &cols);
    if (st != GPM_OK) return st;
    if (*p != cols)
        st = not_square(c, name, *p, cols);
    else if (!matrix_is_symmetric(a, *p))
        st = sp_bad_arg(c, i, name, "symmetric");
    else {
        *l = NEW_ARRAY(double, *p **p + 1);
        if ((semidefinite ? covariance_factor : matrix_factor)(a, *p, *l) != GPM_OK)
            st = sp_bad_arg(c, i, name, "positive definite");
    }
    mem_free(a);
    return st;
}

enum gpm_status vector_centre_bound(struct sp_call *c, value v, uint64_t varies, double *out) {
    const struct vector_kind *k = c->cls->of;
    struct mat_dist q;
    if (!varies) return vector_log_density(c, v, out);
    if (varies & 4u) return GPM_E_NOT_FOUND;
    enum gpm_status st = params_init(c, &q);
    if (st != GPM_OK) return st;
    *out = k->lp(q.a, &q);
    params_release(&q);
    return GPM_OK;
}

enum gpm_status lower_arg(struct sp_call *c, size_t i, const char *name, double **l, size_t *p) {
    size_t cols;
    enum gpm_status st = sp_matrix_arg(c, i, name, l, p, &cols);
    if (st != GPM_OK) return st;
    if (*p != cols) return not_square(c, name, *p, cols);
    return matrix_is_factor(*l, *p)
               ? GPM_OK
               : sp_bad_arg(c, i, name, "lower triangular with a positive diagonal");
}

/* ---- wishart(scale, dof), inv_wishart(scale, dof), and the factors of both by the scale's */
enum { WISHART, INVERSE = 1, FACTOR = 2 }; /* variants */

static enum gpm_status wishart_read(struct sp_call *c, struct mat_dist *q) {
    q->inverse = c->cls->variant & INVERSE;
    q->factor = c->cls->variant & FACTOR;
    enum gpm_status st = q->factor ? lower_arg(c, 0, "scale_factor", &q->l, &q->p)
                                   : factor_arg(c, 0, "scale", false, &q->l, &q->p);
    if (st != GPM_OK) return st;
    q->dof = sp_num(c, 1);
    if (q->dof > (double)q->p - 1) return GPM_OK;
    return sp_error(c, DIAG_DOMAIN, "%s: dof must be above %zu for a %zu x %zu matrix, got %g",
                    c->cls->name, q->p - 1, q->p, q->p, q->dof);
}

static const struct vector_kind wishart = {
    {.support = SUPPORT_COV}, true, wishart_read, wishart_draw, wishart_lp, wishart_grad};
static const struct vector_kind wishart_factor = {
    {.support = SUPPORT_COV_FACTOR}, true, wishart_read, factor_draw, factor_lp, factor_grad};

/* ---- dirichlet(alphas), symmetric_dirichlet(alpha, n), flat_simplex(n) */
enum { ALPHAS, SYMMETRIC, ONES }; /* variants */

static enum gpm_status dir_read(struct sp_call *c, struct mat_dist *q) {
    bool symmetric = c->cls->variant != ALPHAS, ok = true;
    if (symmetric) {
        size_t n = c->cls->variant == ONES ? 0 : 1;
        if (sp_num(c, n) > 1e7) return sp_bad_arg(c, n, "n", "at most 10 million");
        q->p = (size_t)sp_num(c, n);
        q->a = NEW_ARRAY(double, q->p + 1);
        for (size_t i = 0; i < q->p; i++) q->a[i] = n ? sp_num(c, 0) : 1;
    } else {
        enum gpm_status st = sp_numbers_arg(c, 0, "alphas", &q->a, &q->p);
        if (st != GPM_OK) return st;
    }
    for (size_t i = 0; i < q->p; i++) ok = ok && q->a[i] > 0 && isfinite(q->a[i]);
    if (q->p == 0)
        return sp_error(c, DIAG_DOMAIN, "%s: needs at least one component", c->cls->name);
    return ok ? GPM_OK : sp_bad_arg(c, 0, symmetric ? "alpha" : "alphas", "positive and finite");
}

static void dir_draw(struct rng *r, const struct mat_dist *q, double *out) {
    dirichlet_draw(r, q->a, q->p, out);
}

static enum gpm_status dir_simulate(struct sp_call *c, value *out) {
    enum gpm_status st = vector_simulate(c, out);
    if (st == GPM_OK) out->u.obj->flags |= OBJ_SIMPLEX;
    return st;
}

static double dir_lp(const double *x, const struct mat_dist *q) {
    return dirichlet_lp(x, q->a, q->p);
}

static void dir_grad(const double *x, const struct mat_dist *q, double *dx, value *dargs) {
    dargs[0] = value_vector_new(q->p);
    dirichlet_grad(x, q->a, q->p, dx, dargs[0].u.vector->at);
}

/* The adjoint of a number that stands for every element: the sum of theirs. */
static void vector_sum(value *d) {
    double sum = 0;
    for (size_t i = 0; i < d->u.vector->n; i++) sum += d->u.vector->at[i];
    value_set_take(d, value_num(sum));
}

static enum gpm_status sym_grad(struct sp_call *c, value v, value *dv, value *dargs) {
    enum gpm_status st = vector_grad(c, v, dv, dargs);
    if (st == GPM_OK) vector_sum(&dargs[0]);
    return st;
}

enum gpm_status level_grad(struct sp_call *c, value v, value *dv, value *dargs) {
    if (dv) *dv = NIL;
    for (size_t i = 0; i < c->n; i++) dargs[i] = NIL;
    return GPM_OK;
}

static const struct vector_kind dir = {
    {.support = SUPPORT_SIMPLEX}, false, dir_read, dir_draw, dir_lp, dir_grad};

/* All alphas at least 1: the mode is (alpha_i - 1) / sum (alpha_j - 1). */
static enum gpm_status dir_bound(struct sp_call *c, value v, uint64_t varies, double *out) {
    struct mat_dist q;
    double total = 0, rest = 0;
    if (!varies) return vector_log_density(c, v, out);
    if (varies != 1) return GPM_E_NOT_FOUND;
    enum gpm_status st = params_init(c, &q);
    if (st != GPM_OK) return st;
    for (size_t i = 0; i < q.p; i++) {
        if (q.a[i] < 1) st = GPM_E_NOT_FOUND;
        total += q.a[i];
        rest += q.a[i] - 1;
    }
    *out = log_gamma(total);
    for (size_t i = 0; i < q.p; i++)
        *out += (rest > 0 ? xlogy(q.a[i] - 1, (q.a[i] - 1) / rest) : 0) - log_gamma(q.a[i]);
    params_release(&q);
    return st;
}

#define DIRICHLET                                                                                  \
    .of = &dir, .flags = SP_RANDOM | SP_VECTOR, .log_density = vector_log_density,                 \
    .simulate = dir_simulate, .support = sp_scalar_support, .log_bound = dir_bound

const struct sp_class sp_mvn_rows[] = {
    {.name = "symmetric_dirichlet",
     .sig = "(alpha: positive, n: count) -> vector",
     .doc = "dirichlet with n equal parameters",
     .example = "symmetric_dirichlet(2, 1) => [1]",
     DIRICHLET,
     .variant = SYMMETRIC,
     .grad_density = sym_grad},
    {.name = "flat_simplex",
     .sig = "(n: count) -> vector",
     .doc = "n shares of 1, all equally likely: symmetric_dirichlet(1, n)",
     .example = "flat_simplex(1) => [1]",
     DIRICHLET,
     .variant = ONES,
     .grad_density = level_grad},
    {.name = "dirichlet",
     .sig = "(alphas: numbers) -> vector",
     .doc = "Dirichlet distribution on probability vectors",
     .example = "dirichlet([2]) => [1]",
     DIRICHLET,
     .grad_density = vector_grad},
    {.name = "wishart",
     .sig = "(scale: any, dof: positive) -> matrix",
     .doc = "Wishart distribution with mean dof * scale",
     .example = "is_matrix(wishart([[1, 0], [0, 1]], 3)) => true",
     VECTOR(wishart)},
    {.name = "inv_wishart",
     .sig = "(scale: any, dof: positive) -> matrix",
     .doc = "inverse Wishart distribution with mean scale / (dof - p - 1)",
     .example = "is_matrix(inv_wishart([[1, 0], [0, 1]], 3)) => true",
     VECTOR(wishart),
     .variant = INVERSE},
    {.name = "wishart_cholesky",
     .sig = "(scale_factor: any, dof: positive) -> matrix",
     .doc = "lower Cholesky factor of a Wishart matrix; its scale is given by its factor, too",
     .example = "is_matrix(wishart_cholesky([[1, 0], [0, 1]], 3)) => true",
     VECTOR(wishart_factor),
     .variant = FACTOR},
    {.name = "inv_wishart_cholesky",
     .sig = "(scale_factor: any, dof: positive) -> matrix",
     .doc = "lower Cholesky factor of an inverse Wishart matrix, by the factor of its scale",
     .example = "is_matrix(inv_wishart_cholesky([[1, 0], [0, 1]], 3)) => true",
     VECTOR(wishart_factor),
     .variant = INVERSE | FACTOR},
};
const size_t sp_mvn_count = COUNT_OF(sp_mvn_rows);
