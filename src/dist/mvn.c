/* SPDX-License-Identifier: Apache-2.0
 *
 * Random procedures whose values are vectors or matrices: multivariate_normal, wishart,
 * inv_wishart, dirichlet, symmetric_dirichlet.
 */
#include "base/mem.h"
#include "math/dist.h"
#include "math/special.h"
#include "dist/matdist.h"
#include "dist/dist_row.h"
#include <math.h>
#include <string.h>

static enum gpm_status support_simplex(struct sp_call *c, struct sp_support *out) {
    *out = (struct sp_support){SUPPORT_SIMPLEX, 0, 1};
    return GPM_OK;
}

static enum gpm_status support_other(struct sp_call *c, struct sp_support *out) {
    *out = (struct sp_support){SUPPORT_OTHER, -INFINITY, INFINITY};
    return GPM_OK;
}

/* A symmetric positive definite argument and its factor. */
static enum gpm_status factor_arg(struct sp_call *c, size_t i, const char *name, bool semidefinite,
                                  double **l, size_t *p) {
    double *a;
    size_t cols;
    *l = NULL;
    enum gpm_status st = sp_matrix_arg(c, i, name, &a, p, &cols);
    if (st != GPM_OK) return st;
    if (*p != cols)
        st = sp_error(c, DIAG_SHAPE, "%s: %s must be square, got %zu rows and %zu columns",
                      c->cls->name, name, *p, cols);
    else if (!matrix_is_symmetric(a, *p))
        st = sp_bad_arg(c, i, name, "symmetric");
    else {
        *l = NEW_ARRAY(double, *p **p + 1);
        enum gpm_status fac =
            semidefinite ? covariance_factor(a, *p, *l) : matrix_factor(a, *p, *l);
        if (fac != GPM_OK) {
            st = sp_bad_arg(c, i, name, "positive definite");
            mem_free(*l);
            *l = NULL;
        }
    }
    mem_free(a);
    return st;
}

/* ---- multivariate_normal(mean, cov) */
struct mvn_args {
    double *m, *l; /* owned */
    size_t p;
};

static void mvn_release(struct mvn_args *a) {
    mem_free(a->m);
    mem_free(a->l);
}

static enum gpm_status mvn_init(struct sp_call *c, struct mvn_args *a) {
    size_t rows;
    *a = (struct mvn_args){0};
    enum gpm_status st = sp_numbers_arg(c, 0, "mean", &a->m, &a->p);
    if (st != GPM_OK) return st;
    st = factor_arg(c, 1, "cov", true, &a->l, &rows);
    if (st == GPM_OK && rows != a->p)
        st = sp_error(c, DIAG_SHAPE, "%s: mean has %zu elements but cov is %zu x %zu", c->cls->name,
                      a->p, rows, rows);
    if (st != GPM_OK) mvn_release(a);
    return st;
}

static enum gpm_status vector_value(struct sp_call *c, value v, size_t p, double **x) {
    size_t n;
    if (!seq_numbers(v, x, &n)) return sp_bad_value(c, v, "a sequence of numbers");
    if (n == p) return GPM_OK;
    mem_free(*x);
    return sp_error(c, DIAG_SHAPE, "%s: the value has %zu elements, expected %zu", c->cls->name, n,
                    p);
}

static enum gpm_status mvn_simulate(struct sp_call *c, value *out) {
    struct mvn_args a;
    enum gpm_status st = mvn_init(c, &a);
    if (st != GPM_OK) return st;
    *out = value_vector_new(a.p);
    mvn_draw(c->rng, a.m, a.l, a.p, out->u.vector->at);
    mvn_release(&a);
    return GPM_OK;
}

static enum gpm_status mvn_log_density(struct sp_call *c, value v, double *out) {
    struct mvn_args a;
    double *x;
    enum gpm_status st = mvn_init(c, &a);
    if (st != GPM_OK) return st;
    st = vector_value(c, v, a.p, &x);
    if (st == GPM_OK) {
        *out = mvn_lp(x, a.m, a.l, a.p);
        if (isnan(*out)) *out = -INFINITY;
        mem_free(x);
    }
    mvn_release(&a);
    return st;
}

static enum gpm_status mvn_grad_density(struct sp_call *c, value v, value *dv, value *dargs) {
    struct mvn_args a;
    double *x;
    enum gpm_status st = mvn_init(c, &a);
    if (st != GPM_OK) return st;
    st = vector_value(c, v, a.p, &x);
    if (st == GPM_OK) {
        value dx = value_vector_new(a.p), dm = value_vector_new(a.p);
        value dk = value_matrix_new(a.p, a.p);
        mvn_grad(x, a.m, a.l, a.p, dx.u.vector->at, dk.u.matrix->at);
        for (size_t i = 0; i < a.p; i++) dm.u.vector->at[i] = -dx.u.vector->at[i];
        if (dv)
            *dv = dx;
        else
            value_unref(dx);
        dargs[0] = dm;
        dargs[1] = dk;
        mem_free(x);
    }
    mvn_release(&a);
    return st;
}

/* Value or mean vary, the covariance is fixed: the density at its centre. */
static enum gpm_status mvn_bound(struct sp_call *c, value v, uint64_t varies, double *out) {
    struct mvn_args a;
    if (!varies) return mvn_log_density(c, v, out);
    if (varies & 4u) return GPM_E_NOT_FOUND;
    enum gpm_status st = mvn_init(c, &a);
    if (st != GPM_OK) return st;
    *out = mvn_lp(a.m, a.m, a.l, a.p);
    mvn_release(&a);
    return GPM_OK;
}

/* ---- wishart(scale, dof), inv_wishart(scale, dof) */
typedef void wishart_draw_fn(struct rng *, const double *, double, size_t, double *);
typedef double wishart_lp_fn(const double *, const double *, double, size_t);
typedef void wishart_grad_fn(const double *, const double *, double, size_t, double *, double *,
                             double *);

static enum gpm_status wishart_init(struct sp_call *c, double **l, double *dof, size_t *p) {
    enum gpm_status st = factor_arg(c, 0, "scale", false, l, p);
    if (st != GPM_OK) return st;
    *dof = sp_num(c, 1);
    if (*dof > (double)*p - 1) return GPM_OK;
    mem_free(*l);
    return sp_error(c, DIAG_DOMAIN, "%s: dof must be above %zu for a %zu x %zu matrix, got %g",
                    c->cls->name, *p - 1, *p, *p, *dof);
}

static enum gpm_status simulate_matrix(struct sp_call *c, wishart_draw_fn *draw, value *out) {
    double *l, dof;
    size_t p;
    enum gpm_status st = wishart_init(c, &l, &dof, &p);
    if (st != GPM_OK) return st;
    *out = value_matrix_new(p, p);
    draw(c->rng, l, dof, p, out->u.matrix->at);
    mem_free(l);
    return GPM_OK;
}

static enum gpm_status matrix_value(struct sp_call *c, value v, size_t p, double **x) {
    size_t rows, cols;
    if (!sp_as_matrix(v, x, &rows, &cols)) return sp_bad_value(c, v, "a matrix");
    if (rows == p && cols == p) return GPM_OK;
    mem_free(*x);
    return sp_error(c, DIAG_SHAPE, "%s: the value is %zu x %zu, the scale %zu x %zu", c->cls->name,
                    rows, cols, p, p);
}

static enum gpm_status matrix_density(struct sp_call *c, wishart_lp_fn *lp, value v, double *out) {
    double *l, *x, dof;
    size_t p;
    enum gpm_status st = wishart_init(c, &l, &dof, &p);
    if (st != GPM_OK) return st;
    st = matrix_value(c, v, p, &x);
    if (st == GPM_OK) {
        *out = lp(x, l, dof, p);
        if (isnan(*out)) *out = -INFINITY;
        mem_free(x);
    }
    mem_free(l);
    return st;
}

static enum gpm_status matrix_grad(struct sp_call *c, wishart_grad_fn *grad, value v, value *dv,
                                   value *dargs) {
    double *l, *x, dof, ddof;
    size_t p;
    enum gpm_status st = wishart_init(c, &l, &dof, &p);
    if (st != GPM_OK) return st;
    st = matrix_value(c, v, p, &x);
    if (st == GPM_OK) {
        value dx = value_matrix_new(p, p), ds = value_matrix_new(p, p);
        grad(x, l, dof, p, dx.u.matrix->at, ds.u.matrix->at, &ddof);
        if (dv)
            *dv = dx;
        else
            value_unref(dx);
        dargs[0] = ds;
        dargs[1] = value_num(ddof);
        mem_free(x);
    }
    mem_free(l);
    return st;
}

static enum gpm_status wishart_simulate(struct sp_call *c, value *out) {
    return simulate_matrix(c, wishart_draw, out);
}
static enum gpm_status wishart_log_density(struct sp_call *c, value v, double *out) {
    return matrix_density(c, wishart_lp, v, out);
}
static enum gpm_status wishart_grad_density(struct sp_call *c, value v, value *dv, value *dargs) {
    return matrix_grad(c, wishart_grad, v, dv, dargs);
}
static enum gpm_status inv_wishart_simulate(struct sp_call *c, value *out) {
    return simulate_matrix(c, inv_wishart_draw, out);
}
static enum gpm_status inv_wishart_log_density(struct sp_call *c, value v, double *out) {
    return matrix_density(c, inv_wishart_lp, v, out);
}
static enum gpm_status inv_wishart_grad_density(struct sp_call *c, value v, value *dv,
                                                value *dargs) {
    return matrix_grad(c, inv_wishart_grad, v, dv, dargs);
}

/* ---- dirichlet(alphas), symmetric_dirichlet(alpha, n) */
static enum gpm_status alphas_of(struct sp_call *c, bool symmetric, double **alpha, size_t *n) {
    if (symmetric) {
        if (sp_num(c, 1) > 1e7) return sp_bad_arg(c, 1, "n", "at most 10 million");
        *n = (size_t)sp_num(c, 1);
        *alpha = NEW_ARRAY(double, *n + 1);
        for (size_t i = 0; i < *n; i++) (*alpha)[i] = sp_num(c, 0);
    } else {
        enum gpm_status st = sp_numbers_arg(c, 0, "alphas", alpha, n);
        if (st != GPM_OK) return st;
    }
    bool ok = *n > 0;
    for (size_t i = 0; i < *n; i++) ok = ok && (*alpha)[i] > 0 && isfinite((*alpha)[i]);
    if (ok) return GPM_OK;
    mem_free(*alpha);
    if (*n == 0) return sp_error(c, DIAG_DOMAIN, "%s: needs at least one component", c->cls->name);
    return sp_bad_arg(c, 0, symmetric ? "alpha" : "alphas", "positive and finite");
}

static bool is_symmetric_row(const struct sp_call *c);

static enum gpm_status dir_simulate(struct sp_call *c, value *out) {
    double *alpha;
    size_t n;
    enum gpm_status st = alphas_of(c, is_symmetric_row(c), &alpha, &n);
    if (st != GPM_OK) return st;
    double *x = NEW_ARRAY(double, n);
    dirichlet_draw(c->rng, alpha, n, x);
    *out = sp_simplex_value(x, n);
    mem_free(x);
    mem_free(alpha);
    return GPM_OK;
}

static enum gpm_status dir_log_density(struct sp_call *c, value v, double *out) {
    double *alpha, *x;
    size_t n;
    enum gpm_status st = alphas_of(c, is_symmetric_row(c), &alpha, &n);
    if (st != GPM_OK) return st;
    st = vector_value(c, v, n, &x);
    if (st == GPM_OK) {
        *out = dirichlet_lp(x, alpha, n);
        mem_free(x);
    }
    mem_free(alpha);
    return st;
}

static enum gpm_status dir_grad(struct sp_call *c, value v, value *dv, value *dargs) {
    double *alpha, *x, sum = 0;
    size_t n;
    bool symmetric = is_symmetric_row(c);
    enum gpm_status st = alphas_of(c, symmetric, &alpha, &n);
    if (st != GPM_OK) return st;
    st = vector_value(c, v, n, &x);
    if (st == GPM_OK) {
        value dx = value_vector_new(n), da = value_vector_new(n);
        dirichlet_grad(x, alpha, n, dx.u.vector->at, da.u.vector->at);
        for (size_t i = 0; i < n; i++) sum += da.u.vector->at[i];
        if (dv) *dv = value_ref(dx);
        dargs[0] = symmetric ? value_num(sum) : value_ref(da);
        if (c->n > 1) dargs[1] = NIL;
        value_unref(dx);
        value_unref(da);
        mem_free(x);
    }
    mem_free(alpha);
    return st;
}

/* All alphas at least 1: the mode is (alpha_i - 1) / sum (alpha_j - 1). */
static enum gpm_status dir_bound(struct sp_call *c, value v, uint64_t varies, double *out) {
    double *alpha, total = 0, rest = 0;
    size_t n;
    if (!varies) return dir_log_density(c, v, out);
    if (varies != 1) return GPM_E_NOT_FOUND;
    enum gpm_status st = alphas_of(c, is_symmetric_row(c), &alpha, &n);
    if (st != GPM_OK) return st;
    for (size_t i = 0; i < n; i++) {
        if (alpha[i] < 1) st = GPM_E_NOT_FOUND;
        total += alpha[i];
        rest += alpha[i] - 1;
    }
    *out = log_gamma(total);
    for (size_t i = 0; i < n; i++)
        *out += (rest > 0 ? xlogy(alpha[i] - 1, (alpha[i] - 1) / rest) : 0) - log_gamma(alpha[i]);
    mem_free(alpha);
    return st;
}

const struct sp_class sp_mvn_rows[] = {
    {.name = "symmetric_dirichlet",
     .sig = "(alpha: positive, n: count) -> vector",
     .doc = "dirichlet with n equal parameters",
     .example = "symmetric_dirichlet(2, 1) => [1]",
     .flags = SP_RANDOM | SP_VECTOR,
     .simulate = dir_simulate,
     .log_density = dir_log_density,
     .grad_density = dir_grad,
     .support = support_simplex,
     .log_bound = dir_bound},
    {.name = "dirichlet",
     .sig = "(alphas: numbers) -> vector",
     .doc = "Dirichlet distribution on probability vectors",
     .example = "dirichlet([2]) => [1]",
     .flags = SP_RANDOM | SP_VECTOR,
     .simulate = dir_simulate,
     .log_density = dir_log_density,
     .grad_density = dir_grad,
     .support = support_simplex,
     .log_bound = dir_bound},
    {.name = "multivariate_normal",
     .sig = "(mean: numbers, cov: any) -> vector",
     .doc = "normal distribution of vectors with the given covariance matrix",
     .example = "floor(1e6 * assess([0], multivariate_normal, [0], [[1]])) => -918939",
     .flags = SP_RANDOM | SP_VECTOR,
     .simulate = mvn_simulate,
     .log_density = mvn_log_density,
     .grad_density = mvn_grad_density,
     .support = sp_support_real,
     .log_bound = mvn_bound},
    {.name = "wishart",
     .sig = "(scale: any, dof: positive) -> matrix",
     .doc = "Wishart distribution with mean dof * scale",
     .example = "is_matrix(wishart([[1, 0], [0, 1]], 3)) => true",
     .flags = SP_RANDOM | SP_VECTOR,
     .simulate = wishart_simulate,
     .log_density = wishart_log_density,
     .grad_density = wishart_grad_density,
     .support = support_other},
    {.name = "inv_wishart",
     .sig = "(scale: any, dof: positive) -> matrix",
     .doc = "inverse Wishart distribution with mean scale / (dof - p - 1)",
     .example = "is_matrix(inv_wishart([[1, 0], [0, 1]], 3)) => true",
     .flags = SP_RANDOM | SP_VECTOR,
     .simulate = inv_wishart_simulate,
     .log_density = inv_wishart_log_density,
     .grad_density = inv_wishart_grad_density,
     .support = support_other},
};
const size_t sp_mvn_count = COUNT_OF(sp_mvn_rows);

static bool is_symmetric_row(const struct sp_call *c) {
    return c->cls == &sp_mvn_rows[0];
}
