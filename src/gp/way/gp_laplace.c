/* SPDX-License-Identifier: Apache-2.0
 *
 * The Laplace approximation; contracts in gp_laplace.h. In whitened coordinates, f = m + L u with
 * L L' = K,
 *
 *     Psi(u) = log p(y | f) - u'u / 2,    Psi' = L'g - u,    -Psi'' = B = 1 + L'WL,
 *     log p(y) ~ Psi(u^) - log|B| / 2,    covariance of f: S = L B^-1 L',
 *
 * where g and W are slope and curvature of the log likelihood at each point. B is positive definite
 * at a maximum even if some W are negative (Student-t), and never needs K^-1. If all W are >= 0
 * (counts, truth values), C = 1 + W^1/2 K W^1/2 has the same determinant and is filled in O(n^2)
 * instead of O(n^3). The steps to the mode then use B^-1 = 1 - L'W^1/2 C^-1 W^1/2 L (R & W 3.26).
 * Results about the function use B.
 *
 * Gradient (R & W 5.22-5.24): K moves Psi directly, by 1/2 g'dKg - 1/2 tr(R dK) with
 * R = W - W S W, and through the mode, whose share of log|B| is s_i = 1/2 S_ii l'''_i:
 *
 *     sum_ij M_ij dK_ij,   M = (g g' - R + v g' + g v') / 2,   v = s - W S s,
 *     the mean: g + v;  a parameter of the likelihood: l_p - 1/2 S_ii W_p + s'S g_p.
 *
 * An exactly known value of the function is treated as a normal measurement whose variance is a
 * small share (EXACT) of the prior's. */
#include "gp/way/gp_laplace.h"

#include "base/mem.h"
#include "gp/process/gp_int.h"
#include "numeric/la/blas.h"
#include "numeric/la/mat.h"
#include "numeric/special/special.h"

#include <float.h>
#include <math.h>
#include <string.h>

#define EXACT    1e-8
#define ROUNDING 1e-12
#define CHORD    0.02 /* a step this short, in units of the prior, keeps the factor */

enum { NEWTON_MAX = 100, HALVINGS = 30 };

static void forget(struct laplace_model *m) {
    gp_white_release(&m->white);
    chol_release(&m->b);
    chol_release(&m->c);
    mem_free(m->k);
    mem_free(m->u);
    mem_free(m->f);
    mem_free(m->spread);
    mem_free(m->at);
    m->white = (struct gp_white){0};
    m->u = m->f = m->root = m->spread = m->k = NULL;
    m->at = NULL;
    m->solved = m->curved = false;
}

void laplace_model_release(struct laplace_model *m) {
    forget(m);
    kern_unref(m->kern);
    mean_unref(m->mean);
    *m = (struct laplace_model){0};
}

void gp_laplace_release(struct gp_laplace *g) {
    laplace_model_release(&g->model);
    vec_release(&g->x);
    vec_release(&g->pairs);
}

void gp_laplace_changed(struct gp_laplace *g) {
    g->model.solved = false;
}

/* ---- the mode ---- */

/* A normal measurement of variance v. */
static void exact_at(double y, double f, double v, struct gp_likely *out) {
    double e = y - f;
    *out =
        (struct gp_likely){.l = -0.5 * (LOG_2PI + log(v) + e * e / v), .slope = e / v, .w = 1 / v};
    out->safe = out->w;
}

/* Evaluates the likelihood of model m at f; returns Psi, -inf if impossible. */
static double look_at(const struct gp_laplace *g, struct laplace_model *m, const double *u) {
    double psi = 0;
    gp_white_values(&m->white, u, m->f);
    for (size_t i = 0; i < m->n; i++) {
        const struct laplace_pair *p = &g->pairs.at[i];
        if (p->exact)
            exact_at(p->y, m->f[i], m->spread[i], &m->at[i]);
        else
            m->likelihood->at(p->y, m->f[i], m->par, &m->at[i]);
        psi += m->at[i].l - 0.5 * u[i] * u[i];
    }
    return psi == psi ? psi : -INFINITY;
}

struct curvature_job {
    const struct laplace_model *m;
    bool safe;
};

static double weight(const struct curvature_job *job, size_t i) {
    return job->safe ? job->m->at[i].safe : job->m->at[i].w;
}

static bool none_negative(const struct curvature_job *job) {
    for (size_t i = 0; i < job->m->n; i++)
        if (!(weight(job, i) >= 0)) return false;
    return true;
}

/* L'WL for non-negative weights: half'half with half = sqrt(W) L. */
static bool fill_by_halves(const struct curvature_job *job, double *a, size_t n, size_t ld) {
    const struct chol *f = &job->m->white.f;
    if (!none_negative(job)) return false;
    double *root = mem_try_doubles(n + n * n + 1), *half = root + n;
    if (!root) return false;
    for (size_t i = 0; i < n; i++) root[i] = sqrt(weight(job, i));
    for (size_t j = 0; j < n; j++) {
        memset(half + j * n, 0, j * sizeof *half);
        for (size_t i = j; i < n; i++) half[i + j * n] = root[i] * f->l[i + j * f->ld];
    }
    la_syrk(true, n, n, 1, half, n, 0, a, ld);
    mem_free(root);
    return true;
}

/* 1 + L'WL, with the actual weights or safe ones. */
static enum gpm_status fill_curvature(void *ctx, double *a, size_t n, size_t ld) {
    const struct curvature_job *job = ctx;
    const struct chol *f = &job->m->white.f;
    bool done = fill_by_halves(job, a, n, ld);
    for (size_t j = 0; j < n; j++) {
        for (size_t i = 0; i < n && !done; i++)
            a[i + j * ld] = i < j ? 0 : weight(job, i) * f->l[i + j * f->ld];
        if (!done) la_trmv(true, n, f->l, f->ld, a + j * ld);
        a[j * (ld + 1)] += 1;
    }
    return GPM_OK;
}

static enum gpm_status factor_curvature(struct laplace_model *m, bool safe) {
    struct curvature_job job = {m, safe};
    enum gpm_status st = chol_build(&m->b, m->n, fill_curvature, &job);
    return st == GPM_OK && m->b.jitter > 0 ? GPM_E_NOT_PD : st; /* jitter makes another matrix */
}

/* Fills the lower triangle of C. */
static enum gpm_status fill_balanced(void *ctx, double *a, size_t n, size_t ld) {
    const struct laplace_model *m = ctx;
    for (size_t j = 0; j < n; j++) {
        for (size_t i = j; i < n; i++) a[i + j * ld] = m->root[i] * m->k[i + j * n] * m->root[j];
        a[j * (ld + 1)] += 1;
    }
    return GPM_OK;
}

/* The factor of C; GPM_E_NOT_PD if it does not exist or would need jitter. */
static enum gpm_status factor_balanced(struct laplace_model *m) {
    struct curvature_job job = {m, false};
    if (!none_negative(&job)) return GPM_E_NOT_PD;
    if (!m->k) {
        m->k = mem_try_doubles(m->n * m->n + 1);
        enum gpm_status st = m->k ? kern_fill(m->kern, m->white.at, m->k, m->n) : GPM_E_NOMEM;
        if (st != GPM_OK) return st;
        for (size_t i = 0; i < m->n; i++) m->k[i * (m->n + 1)] += m->white.f.jitter;
    }
    for (size_t i = 0; i < m->n; i++) m->root[i] = sqrt(m->at[i].w);
    enum gpm_status st = chol_build(&m->c, m->n, fill_balanced, m);
    return st == GPM_OK && m->c.jitter > 0 ? GPM_E_NOT_PD : st;
}

/* d = B^-1 d through C; d, work: n. */
static void solve_balanced(const struct laplace_model *m, double *d, double *work) {
    memcpy(work, d, m->n * sizeof *d);
    gp_white_times(&m->white, false, work);
    for (size_t i = 0; i < m->n; i++) work[i] *= m->root[i];
    chol_solve(&m->c, work, 1, m->n);
    for (size_t i = 0; i < m->n; i++) work[i] *= m->root[i];
    gp_white_times(&m->white, true, work);
    for (size_t i = 0; i < m->n; i++) d[i] -= work[i];
}

/* d = B^-1 (L'g - u), Newton's step; with safe weights it goes uphill from everywhere. d, work: n.
 * *chord: use the factor of C from the previous step; set if the next step may. */
static enum gpm_status newton_step(struct laplace_model *m, bool *chord, double *d, double *work) {
    enum gpm_status st = *chord ? GPM_OK : factor_balanced(m);
    bool balanced = *chord = st == GPM_OK;
    if (st == GPM_E_NOT_PD) st = factor_curvature(m, false);
    if (st == GPM_E_NOT_PD) st = factor_curvature(m, true);
    if (st != GPM_OK) return st;
    for (size_t i = 0; i < m->n; i++) d[i] = m->at[i].slope;
    gp_white_times(&m->white, true, d);
    for (size_t i = 0; i < m->n; i++) d[i] -= m->u[i];
    if (balanced)
        solve_balanced(m, d, work);
    else
        chol_solve(&m->b, d, 1, m->n);
    return GPM_OK;
}

/* Halves the step until Psi does not fall, up to rounding; false if no length succeeds. */
static bool climb(const struct gp_laplace *g, struct laplace_model *m, const double *d, double *try,
                  double *psi) {
    double step = 1;
    for (int k = 0; k < HALVINGS; k++, step *= 0.5) {
        for (size_t i = 0; i < m->n; i++) try[i] = m->u[i] + step * d[i];
        double there = look_at(g, m, try);
        if (!(there >= *psi - ROUNDING * (1 + fabs(*psi)))) continue;
        memcpy(m->u, try, m->n * sizeof *try);
        *psi = there;
        return true;
    }
    return false;
}

/* Starts at the prior's mean regardless of earlier results, so a model has one answer. Step lengths
 * shrink quadratically: after one of 1e-7 the mode is exact to rounding. Near the mode the last
 * step's factor is reused, and each step shrinks by about the size of that step; the last one as
 * well. */
static enum gpm_status find_mode(const struct gp_laplace *g, struct laplace_model *m, double *psi) {
    double *d = NEW_ARRAY(double, 2 * m->n + 1), *try = d + m->n, size = 1, end = 1e-7;
    enum gpm_status st = GPM_OK;
    bool chord = false;
    *psi = look_at(g, m, m->u);
    for (int k = 0; k < NEWTON_MAX && size > end && st == GPM_OK && *psi > -INFINITY; k++) {
        double before = size;
        bool kept = chord;
        st = newton_step(m, &chord, d, try);
        size = st == GPM_OK ? mat_max_abs(d, m->n) : 0;
        chord = chord && size < CHORD * (kept ? before : 1);
        end = kept ? 1e-9 : 1e-7;
        if (st == GPM_OK && !climb(g, m, d, try, psi)) size = 0; /* only rounding is left */
    }
    look_at(g, m, m->u);
    mem_free(d);
    return st;
}

static enum gpm_status prepare(struct gp_laplace *g, struct laplace_model *m) {
    size_t n = g->pairs.n;
    forget(m);
    m->n = n;
    m->at = NEW_ARRAY(struct gp_likely, n + 1);
    m->f = NEW_ARRAY(double, 2 * n + 1);
    m->root = m->f + n;
    m->spread = NEW_ARRAY(double, n + 1);
    m->u = mem_zalloc((n + 1) * sizeof *m->u);
    enum gpm_status st = gp_white_init(&m->white, m->kern, m->mean, g->x.at, n, g->dim);
    if (st == GPM_OK) st = kern_diag(m->kern, m->white.at, m->spread);
    for (size_t i = 0; i < n; i++) m->spread[i] = EXACT * m->spread[i] + 1e-300;
    return st;
}

/* Does B clearly have a numerical factor? Its eigenvalues lie between 1 and the trace of C, and a
 * factor is sound if eps max(B) tr(B^-1) < 0.01 (chol.c). */
static bool curvature_in_range(const struct laplace_model *m) {
    double trace = 0;
    for (size_t i = 0; i < m->n; i++) trace += 1 + m->root[i] * m->root[i] * m->k[i * (m->n + 1)];
    return (double)m->n * trace < 0.005 / DBL_EPSILON;
}

/* log|B| at the mode. If B has no sound factor, gradient and predictions are rounding noise. Then
 * the data count as impossible under the model, so no sampler goes there. */
static enum gpm_status log_curvature(struct laplace_model *m, double *out) {
    enum gpm_status st = factor_balanced(m);
    bool balanced = st == GPM_OK, clear = balanced && curvature_in_range(m);
    if (st == GPM_E_NOT_PD || (balanced && !clear)) st = factor_curvature(m, false);
    m->curved = st == GPM_OK && !clear;
    if (st == GPM_OK) *out = chol_logdet(balanced ? &m->c : &m->b);
    return st;
}

/* Computes the mode and the log marginal likelihood. */
static enum gpm_status solve(struct gp_laplace *g) {
    struct laplace_model *m = &g->model;
    double psi, log_b = 0;
    if (m->solved) return GPM_OK;
    m->logml = -INFINITY;
    for (size_t i = 0; i < g->pairs.n; i++)
        if (!g->pairs.at[i].exact && !m->likelihood->fits(g->pairs.at[i].y, m->par)) return GPM_OK;
    enum gpm_status st = prepare(g, m);
    if (st == GPM_OK && !m->n) psi = 0;
    if (st == GPM_OK && m->n) st = find_mode(g, m, &psi);
    if (st == GPM_OK && m->n && psi > -INFINITY) st = log_curvature(m, &log_b);
    if (st == GPM_E_NOT_PD) return GPM_OK;
    if (st != GPM_OK || psi == -INFINITY) return st;
    m->logml = psi - 0.5 * log_b;
    m->solved = isfinite(m->logml);
    return GPM_OK;
}

/* Also computes the factor of B, for gradient and predictions. GPM_E_NOT_PD if it does not
 * exist. */
static enum gpm_status solve_curved(struct gp_laplace *g) {
    struct laplace_model *m = &g->model;
    enum gpm_status st = solve(g);
    if (st == GPM_OK && !m->solved) st = GPM_E_NOT_PD;
    if (st == GPM_OK && m->n && !m->curved) st = factor_curvature(m, false);
    m->curved = st == GPM_OK;
    return st;
}

enum gpm_status gp_laplace_logml(struct gp_laplace *g, double *out) {
    enum gpm_status st = solve(g);
    *out = st == GPM_OK ? g->model.logml : -INFINITY;
    return st;
}

/* ---- gradient ---- */

/* S = L B^-1 L' = X'X with X = C^-1 L', B = C C'; s: n x n, both triangles. */
static enum gpm_status covariance(const struct laplace_model *m, double *s, size_t ld) {
    size_t n = m->n;
    const struct chol *f = &m->white.f;
    double *x = mem_try_doubles(n * n + 1);
    if (!x) return GPM_E_NOMEM;
    for (size_t j = 0; j < n; j++) /* (L')_ij = L_ji */
        for (size_t i = 0; i < n; i++) x[i + j * n] = i > j ? 0 : f->l[j + i * f->ld];
    chol_solve_l(&m->b, x, n, n);
    la_syrk(true, n, n, 1, x, n, 0, s, ld);
    mat_mirror(s, n, ld);
    mem_free(x);
    return GPM_OK;
}

/* The parts of the gradient: s, v, and M in place of S. */
struct slopes {
    double *S, *s, *v, *slope;
    size_t n, ld;
};

static double row_times(const struct slopes *k, size_t i, const double *x) {
    double sum = 0;
    for (size_t j = 0; j < k->n; j++) sum += k->S[j + i * k->ld] * x[j];
    return sum;
}

static enum gpm_status fill_slopes(const struct laplace_model *m, struct slopes *k) {
    enum gpm_status st = covariance(m, k->S, k->ld);
    if (st != GPM_OK) return st;
    for (size_t i = 0; i < k->n; i++) {
        k->s[i] = 0.5 * k->S[i * (k->ld + 1)] * m->at[i].third;
        k->slope[i] = m->at[i].slope;
    }
    for (size_t i = 0; i < k->n; i++) k->v[i] = k->s[i] - m->at[i].w * row_times(k, i, k->s);
    return GPM_OK;
}

static void likelihood_gradient(const struct gp_laplace *g, const struct slopes *k, double *out) {
    const struct laplace_model *m = &g->model;
    double *move = NEW_ARRAY(double, k->n + 1);
    for (size_t p = 0; p < m->likelihood->n; p++) {
        out[p] = 0;
        for (size_t i = 0; i < k->n; i++) {
            bool exact = g->pairs.at[i].exact;
            move[i] = exact ? 0 : m->at[i].by[p].slope;
            if (!exact) out[p] += m->at[i].by[p].l - 0.5 * k->S[i * (k->ld + 1)] * m->at[i].by[p].w;
        }
        for (size_t i = 0; i < k->n; i++) out[p] += k->s[i] * row_times(k, i, move);
    }
    mem_free(move);
}

/* The variance of exact values changes with the kernel: v = EXACT k(x, x). With l = -log(v)/2 -
 * e^2/(2v): l_v = (e^2 / v - 1) / (2 v), slope_v = -e / v^2, w_v = -1 / v^2. */
static enum gpm_status exact_gradient(const struct gp_laplace *g, const struct slopes *k,
                                      double *dkern) {
    const struct laplace_model *m = &g->model;
    double *d = mem_zalloc((2 * k->n + 1) * sizeof *d), *of_slope = d + k->n;
    bool any = false;
    for (size_t i = 0; i < k->n; i++) of_slope[i] = row_times(k, i, k->s);
    for (size_t i = 0; i < k->n; i++) {
        double v = m->spread[i], e = m->at[i].slope * v;
        if (!g->pairs.at[i].exact) continue;
        any = true;
        d[i] = EXACT * ((e * e / v - 1) / (2 * v) + 0.5 * k->S[i * (k->ld + 1)] / (v * v) -
                        of_slope[i] * e / (v * v));
    }
    enum gpm_status st = any ? kern_grad_diag(m->kern, m->white.at, d, dkern) : GPM_OK;
    mem_free(d);
    return st;
}

static void weights(const struct laplace_model *m, struct slopes *k) {
    for (size_t j = 0; j < k->n; j++)
        for (size_t i = j; i < k->n; i++) {
            double r = -m->at[i].w * k->S[i + j * k->ld] * m->at[j].w + (i == j ? m->at[i].w : 0);
            const double *a = k->slope, *v = k->v;
            k->S[i + j * k->ld] = 0.5 * (a[i] * a[j] - r + v[i] * a[j] + a[i] * v[j]);
        }
}

/* k->S belongs to the caller; NULL after an error. */
static enum gpm_status slopes_init(struct slopes *k, struct gp_laplace *g) {
    const struct laplace_model *m = &g->model;
    *k = (struct slopes){0};
    enum gpm_status st = solve_curved(g);
    if (st != GPM_OK) return st;
    k->n = m->n;
    k->ld = mat_ld(m->n);
    k->S = mem_try_doubles(k->ld * k->n + 3 * k->n + 1);
    if (!k->S) return GPM_E_NOMEM;
    k->s = k->S + k->ld * k->n;
    k->v = k->s + k->n;
    k->slope = k->v + k->n;
    return fill_slopes(m, k);
}

/* For l = -(y - f)^2 / (2 v): directly -slope, and through the mode, which moves by S / v. */
enum gpm_status gp_laplace_value_slope(struct gp_laplace *g, size_t first, double *dy) {
    const struct laplace_model *m = &g->model;
    struct slopes k;
    enum gpm_status st = slopes_init(&k, g);
    for (size_t i = first; st == GPM_OK && i < k.n; i++)
        dy[i - first] = -m->at[i].slope + row_times(&k, i, k.s) / m->spread[i];
    mem_free(k.S);
    return st;
}

enum gpm_status gp_laplace_gradient(struct gp_laplace *g, double *dkern, double *dmean,
                                    double *dlikelihood) {
    struct laplace_model *m = &g->model;
    struct slopes k;
    enum gpm_status st = slopes_init(&k, g);
    memset(dkern, 0, kern_nparam(m->kern) * sizeof *dkern);
    memset(dlikelihood, 0, m->likelihood->n * sizeof *dlikelihood);
    for (size_t i = 0; i < mean_nparam(m->mean); i++) dmean[i] = 0;
    if (st != GPM_OK || !m->n) {
        mem_free(k.S);
        return st;
    }
    likelihood_gradient(g, &k, dlikelihood);
    st = exact_gradient(g, &k, dkern);
    weights(m, &k);
    if (st == GPM_OK) st = kern_grad_add(m->kern, m->white.at, NULL, k.S, k.ld, dkern);
    for (size_t i = 0; i < k.n; i++) k.slope[i] += k.v[i];
    if (m->mean) mean_grad(m->mean, m->white.at, k.slope, dmean);
    mem_free(k.S);
    return st;
}

/* ---- prediction ---- */

/* The inputs, column-major; *own: must be freed. */
static struct kern_pts points(const double *x, size_t n, int dim, double **own) {
    size_t d = (size_t)dim;
    *own = NEW_ARRAY(double, n *d + 1);
    for (size_t i = 0; i < n * d; i++) (*own)[i / d + i % d * n] = x[i];
    return (struct kern_pts){.x = *own, .n = n, .ld = n, .dim = dim};
}

/* With V = L^-1 K(X, X*): mean m* + V'u, covariance K** - V'V + V'B^-1 V. */
enum gpm_status gp_laplace_predict(struct gp_laplace *g, const double *x, size_t n, double *mean,
                                   double *cov) {
    struct laplace_model *m = &g->model;
    size_t k = g->pairs.n;
    enum gpm_status st = solve_curved(g);
    if (st != GPM_OK) return st;
    double *at, *v = mem_try_doubles(2 * k * n + 1), *half = v + k * n;
    if (!v) return GPM_E_NOMEM;
    struct kern_pts to = points(x, n, g->dim, &at);
    st = mean_eval(m->mean, to, mean);
    if (st == GPM_OK) st = kern_fill(m->kern, to, cov, n);
    if (st == GPM_OK) mat_mirror(cov, n, n);
    if (st == GPM_OK && k) st = kern_cross(m->kern, m->white.at, to, v, k);
    if (st == GPM_OK && k) {
        chol_solve_l(&m->white.f, v, n, k);
        memcpy(half, v, k * n * sizeof *v);
        chol_solve_l(&m->b, half, n, k);
        la_gemm(true, false, n, 1, k, 1, v, k, m->u, k, 1, mean, n);
        la_gemm(true, false, n, n, k, -1, v, k, v, k, 1, cov, n);
        la_gemm(true, false, n, n, k, 1, half, k, half, k, 1, cov, n);
    }
    for (size_t i = 0; i < n; i++) cov[i * (n + 1)] = fmax(cov[i * (n + 1)], 0);
    mem_free(at);
    mem_free(v);
    return st;
}

/* Values of the function get the variance they have as data. */
enum gpm_status gp_laplace_sample(struct gp_laplace *g, const double *x, size_t n, const double *z,
                                  double *out) {
    double *cov = mem_try_doubles(n * n + n + 1), *own, *prior = cov + n * n;
    if (!cov) return GPM_E_NOMEM;
    enum gpm_status st = gp_laplace_predict(g, x, n, out, cov);
    struct kern_pts at = points(x, n, g->dim, &own);
    if (st == GPM_OK) st = kern_diag(g->model.kern, at, prior);
    for (size_t i = 0; st == GPM_OK && i < n; i++) cov[i * (n + 1)] += EXACT * prior[i];
    mem_free(own);
    if (st == GPM_OK) st = gp_add_draw(n, cov, z, out);
    mem_free(cov);
    return st;
}
