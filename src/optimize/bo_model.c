/* SPDX-License-Identifier: Apache-2.0
 * The optimiser's Gaussian process: likelihood, factor, fit; see bo_model.h. */
#include "optimize/bo_model.h"
#include "base/mem.h"
#include "la/bfgs.h"
#include "la/blas.h"

#include <math.h>
#include <string.h>

/* ---- storage: work holds rows (k, slope, d_rho, d_logit, scratch 2, tmp 2) and d axis rows ----
 */
enum { ROW_K, ROW_SLOPE, ROW_RHO, ROW_LOGIT, ROW_SCRATCH, ROW_SCRATCH2, ROW_T1, ROW_T2, ROW_AXIS };

static double *work_row(const struct bo_model *m, int which) {
    return m->work + (size_t)which * m->ld;
}

void bo_model_init(struct bo_model *m, int d, int n_cat, bool noisy) {
    *m = (struct bo_model){.d = d, .n_cat = n_cat, .D = d + n_cat, .noisy = noisy};
    m->theta = NEW_ARRAY(double, (size_t)m->D + 3);
    m->inv_l = NEW_ARRAY(double, (size_t)m->D);
    for (int k = 0; k < m->D; k++) m->inv_l[k] = 1; /* saved before the first fit */
    m->point = NEW_ARRAY(double, (size_t)m->D);
    m->kind = BO_M52;
    bo_model_prior_mean(m, m->theta);
}

static void free_data(struct bo_model *m) {
    double *all[] = {m->u, m->z, m->count, m->s, m->L, m->a, m->b, m->work, m->M};
    for (size_t i = 0; i < COUNT_OF(all); i++) mem_free(all[i]);
}

void bo_model_release(struct bo_model *m) {
    free_data(m);
    mem_free(m->theta);
    mem_free(m->inv_l);
    mem_free(m->point);
    *m = (struct bo_model){0};
}

enum gpm_status bo_model_reserve(struct bo_model *m, size_t n) {
    if (n <= m->ld) return GPM_OK;
    size_t ld = m->ld ? m->ld * 2 : 32;
    while (ld < n) ld *= 2;
    size_t D = (size_t)m->D, d = (size_t)m->d;
    double *u = mem_try_doubles(D * ld), *L = mem_try_doubles(ld * ld),
           *M = mem_try_doubles(ld * ld);
    double *work = mem_try_doubles((ROW_AXIS + d + 1) * ld), *small = mem_try_doubles(1);
    if (!u || !L || !M || !work || !small) {
        mem_free(u), mem_free(L), mem_free(M), mem_free(work), mem_free(small);
        return GPM_E_NOMEM;
    }
    mem_free(small);
    free_data(m);
    m->u = u, m->L = L, m->M = M, m->work = work, m->ld = ld;
    m->s = mem_array(d * ld + 1, sizeof(double));
    m->z = mem_array(ld, sizeof(double));
    m->count = mem_array(ld, sizeof(double));
    m->a = mem_array(ld, sizeof(double));
    m->b = mem_array(ld, sizeof(double));
    return GPM_OK;
}

/* ---- priors ---- */

int bo_model_params(const struct bo_model *m) {
    return m->D + 1 + (m->kind == BO_MIX || m->kind == BO_ADD ? 2 : 0);
}

#define NOISE_SD 2.0 /* of log g, the noise's share: 0.002 to 5 times the function's variance */

/* Mean, standard deviation and bounds of each component of theta. The length scales grow with the
 * square root of the dimension: distances in the box do. */
static void prior_of(const struct bo_model *m, int i, double *mean, double *sd, double *lo,
                     double *hi) {
    if (i < m->d) {
        *mean = log(0.5 * sqrt(m->D));
        *sd = m->noisy ? 1.0 : 0.7;
        *lo = log(0.02), *hi = log(20);
    } else if (i < m->D) {
        *mean = 0, *sd = 1, *lo = log(0.1), *hi = log(20);
    } else if (i == m->D) {
        /* noisy: whoever says so means more than rounding, and the noise may be all there is */
        *mean = log(m->noisy ? 0.1 : 1e-9), *sd = m->noisy ? NOISE_SD : 6;
        *lo = log(BO_G_MIN), *hi = log(m->noisy ? 1e4 : 1e-4);
    } else if (i == m->D + 1) {
        *mean = 0, *sd = 1.5, *lo = -6, *hi = 6;
    } else {
        *mean = log(4), *sd = 0.7, *lo = 0, *hi = log(50);
    }
}

void bo_model_prior_mean(const struct bo_model *m, double *theta) {
    double sd, lo, hi;
    for (int i = 0; i < m->D + 3; i++) prior_of(m, i, &theta[i], &sd, &lo, &hi);
    if (!m->noisy) theta[m->D] = log(1e-8);
}

void bo_model_bounds(const struct bo_model *m, double *lo, double *hi) {
    double mean, sd;
    for (int i = 0; i < bo_model_params(m); i++) prior_of(m, i, &mean, &sd, &lo[i], &hi[i]);
}

void bo_model_prior_draw(const struct bo_model *m, struct rng *r, double *theta) {
    for (int i = 0; i < m->D + 3; i++) {
        double mean, sd, lo, hi;
        prior_of(m, i, &mean, &sd, &lo, &hi);
        theta[i] = fmin(hi, fmax(lo, mean + sd * rng_normal(r)));
    }
    if (!m->noisy) theta[m->D] = log(1e-8);
}

static double prior_nlp(const struct bo_model *m, const double *theta, double *grad) {
    double nlp = 0;
    for (int i = 0; i < bo_model_params(m); i++) {
        double mean, sd, lo, hi;
        prior_of(m, i, &mean, &sd, &lo, &hi);
        double t = (theta[i] - mean) / sd;
        nlp += 0.5 * t * t;
        if (grad) grad[i] += t / sd;
    }
    return nlp;
}

/* ---- covariance ---- */

static struct bo_kern_spec spec_of(const struct bo_model *m) {
    return (struct bo_kern_spec){m->kind, m->w, m->rho, m->inv_l + m->d};
}

static struct bo_points points_of(const struct bo_model *m) {
    return (struct bo_points){m->s, m->ld, m->d, m->n_cat, m->u + (size_t)m->d * m->ld};
}

static struct bo_row work_rows(const struct bo_model *m) {
    return (struct bo_row){work_row(m, ROW_K),   work_row(m, ROW_SLOPE), work_row(m, ROW_AXIS),
                           work_row(m, ROW_RHO), work_row(m, ROW_LOGIT), m->ld};
}

static void set_params(struct bo_model *m, const double *theta) {
    for (int k = 0; k < m->D; k++) m->inv_l[k] = exp(-theta[k]);
    m->g = exp(theta[m->D]);
    bool mixture = m->kind == BO_MIX || m->kind == BO_ADD;
    m->w = mixture ? 1 / (1 + exp(-theta[m->D + 1])) : 0;
    m->rho = mixture ? exp(theta[m->D + 2]) : 1;
    for (int k = 0; k < m->d; k++) {
        const double *u = m->u + (size_t)k * m->ld;
        double *s = m->s + (size_t)k * m->ld;
        for (size_t i = 0; i < m->n; i++) s[i] = u[i] * m->inv_l[k];
    }
}

/* Scaled coordinates and categories of data point j, gathered. */
static void gather(const struct bo_model *m, size_t j, double *x, double *xc) {
    for (int k = 0; k < m->d; k++) x[k] = m->s[(size_t)k * m->ld + j];
    for (int c = 0; c < m->n_cat; c++) xc[c] = m->u[(size_t)(m->d + c) * m->ld + j];
}

static void fill_gram(struct bo_model *m) {
    struct bo_kern_spec spec = spec_of(m);
    struct bo_points pts = points_of(m);
    struct bo_row row = work_rows(m);
    double *x = m->point;
    for (size_t j = 0; j < m->n; j++) {
        double *col = m->L + j * m->ld;
        gather(m, j, x, x + m->d);
        bo_kern_row(&spec, &pts, j + 1, m->n, x, x + m->d, &row, work_row(m, ROW_SCRATCH));
        col[j] = 1 + m->g / m->count[j];
        memcpy(col + j + 1, row.k, (m->n - j - 1) * sizeof *col);
    }
}

/* After the Cholesky: b, q, mu, a, S, s2. */
static void solve_means(struct bo_model *m) {
    size_t n = m->n;
    double q = 0, zb = 0, S = 0;
    for (size_t i = 0; i < n; i++) m->b[i] = 1;
    la_trsv(false, n, m->L, m->ld, m->b);
    la_trsv(true, n, m->L, m->ld, m->b);
    for (size_t i = 0; i < n; i++) q += m->b[i], zb += m->z[i] * m->b[i];
    m->q = q;
    m->mu = zb / q;
    for (size_t i = 0; i < n; i++) m->a[i] = m->z[i] - m->mu;
    la_trsv(false, n, m->L, m->ld, m->a);
    for (size_t i = 0; i < n; i++) S += m->a[i] * m->a[i];
    la_trsv(true, n, m->L, m->ld, m->a);
    m->S = fmax(S, 1e-300) + m->m2 / m->g;
    m->s2 = m->S / fmax(1, m->N - 1);
}

BO_SIMD static double dot_square(size_t n, const double *c, const double *s, double x) {
    double sum = 0;
#pragma omp simd reduction(+ : sum)
    for (size_t i = 0; i < n; i++) {
        double v = s[i] - x;
        sum += c[i] * v * v;
    }
    return sum;
}

BO_SIMD static double dot2(size_t n, const double *x, const double *y) {
    double sum = 0;
#pragma omp simd reduction(+ : sum)
    for (size_t i = 0; i < n; i++) sum += x[i] * y[i];
    return sum;
}

/* weight[i] = 2 M_ij below the diagonal: M = R^-1/2 - (N-1)/(2S) a a' - b b'/(2q) */
static void m_column(const struct bo_model *m, size_t j, double *weight) {
    const double *inv = m->M + j * m->ld + j + 1;
    const double *a = m->a + j + 1, *b = m->b + j + 1;
    double ca = (m->N - 1) / m->S * m->a[j], cb = m->b[j] / m->q;
    for (size_t i = 0; i < m->n - j - 1; i++) weight[i] = inv[i] - ca * a[i] - cb * b[i];
}

/* One column's part of d nlp / d theta = sum_ij M_ij dR_ij / d theta. */
static void gradient_column(struct bo_model *m, size_t j, const struct bo_kern_spec *spec,
                            const struct bo_points *pts, double *x, double *grad) {
    struct bo_row row = work_rows(m);
    double *weight = work_row(m, ROW_T1), *c = work_row(m, ROW_T2);
    size_t n = m->n - j - 1;
    gather(m, j, x, x + m->d);
    bo_kern_row(spec, pts, j + 1, m->n, x, x + m->d, &row, work_row(m, ROW_SCRATCH));
    m_column(m, j, weight);
    for (size_t i = 0; i < n; i++) c[i] = weight[i] * row.slope[i];
    for (int k = 0; k < m->d; k++)
        grad[k] += dot_square(n, c, m->s + (size_t)k * m->ld + j + 1, x[k]);
    for (int k = 0; m->kind == BO_ADD && k < m->d; k++) {
        const double *axis = row.axis + (size_t)k * m->ld;
        for (size_t i = 0; i < n; i++) c[i] = weight[i] * axis[i];
        grad[k] += dot_square(n, c, m->s + (size_t)k * m->ld + j + 1, x[k]);
    }
    for (int k = 0; k < m->n_cat; k++) { /* d exp(-[ne]/l) / d log l = k [ne]/l */
        const double *cat = m->u + (size_t)(m->d + k) * m->ld + j + 1;
        double sum = 0;
        for (size_t i = 0; i < n; i++) sum += cat[i] != x[m->d + k] ? weight[i] * row.k[i] : 0;
        grad[m->d + k] += sum * m->inv_l[m->d + k];
    }
    if (m->kind == BO_MIX || m->kind == BO_ADD) {
        grad[m->D + 1] += dot2(n, weight, row.d_logit);
        grad[m->D + 2] += dot2(n, weight, row.d_rho);
    }
}

static void gradient(struct bo_model *m, double *grad) {
    size_t n = m->n;
    struct bo_kern_spec spec = spec_of(m);
    struct bo_points pts = points_of(m);
    double *x = m->point;
    for (int i = 0; i < bo_model_params(m); i++) grad[i] = 0;
    for (size_t j = 0; j < n; j++)
        memcpy(m->M + j * m->ld + j, m->L + j * m->ld + j, (n - j) * sizeof(double));
    la_potri(n, m->M, m->ld);
    double dg = 0;
    for (size_t j = 0; j < n; j++) {
        double Mjj = 0.5 * (m->M[j * m->ld + j] - (m->N - 1) / m->S * m->a[j] * m->a[j] -
                            m->b[j] * m->b[j] / m->q);
        dg += Mjj * m->g / m->count[j];
        gradient_column(m, j, &spec, &pts, x, grad);
    }
    grad[m->D] = dg + 0.5 * (m->N - (double)n) - 0.5 * (m->N - 1) * (m->m2 / m->g) / m->S;
}

double bo_model_nlp(struct bo_model *m, const double *theta, double *grad) {
    size_t pivot;
    set_params(m, theta);
    fill_gram(m);
    if (la_potrf(m->n, m->L, m->ld, &pivot)) return INFINITY;
    solve_means(m);
    double logdet = 0;
    for (size_t i = 0; i < m->n; i++) logdet += log(m->L[i * m->ld + i]);
    if (grad) gradient(m, grad);
    double nlp = 0.5 * (m->N - 1) * log(m->S) + logdet + 0.5 * log(m->q) +
                 0.5 * (m->N - (double)m->n) * log(m->g) + prior_nlp(m, theta, grad);
    return isnan(nlp) ? INFINITY : nlp;
}

enum gpm_status bo_model_factor(struct bo_model *m) {
    size_t pivot;
    set_params(m, m->theta);
    double g = m->g;
    for (int tries = 0; tries < 9; tries++, g *= 10) {
        m->g = g;
        fill_gram(m);
        if (la_potrf(m->n, m->L, m->ld, &pivot) == GPM_OK) {
            solve_means(m);
            if (isfinite(m->S)) return GPM_OK;
        }
    }
    return GPM_E_NOT_PD;
}

static double fit_objective(void *ctx, const double *theta, double *grad) {
    return bo_model_nlp(ctx, theta, grad);
}

double bo_model_fit(struct bo_model *m, int iterations) {
    size_t p = (size_t)bo_model_params(m);
    double *lo = NEW_ARRAY(double, 2 * p + BFGS_WORK(p)), *hi = lo + p;
    struct bfgs_options opt = {iterations, 0.3, 1.0, 1e-6};
    bo_model_bounds(m, lo, hi);
    double nlp = bfgs_box(fit_objective, m, p, m->theta, lo, hi, &opt, lo + 2 * p);
    mem_free(lo);
    return nlp;
}

/* Alternates one coordinate and all coordinates, step sizes log-normal around 0.6/sqrt(p). */
void bo_model_mcmc(struct bo_model *m, int steps, double *nlp, struct rng *r) {
    int p = bo_model_params(m);
    double *lo = NEW_ARRAY(double, 3 * (size_t)p), *hi = lo + p, *t = lo + 2 * p;
    bo_model_bounds(m, lo, hi);
    for (int step = 0; step < steps; step++) {
        bool inside = true;
        double size = exp(0.7 * rng_normal(r)) * 0.6;
        memcpy(t, m->theta, (size_t)p * sizeof *t);
        if (step % 2) {
            for (int i = 0; i < p; i++) t[i] += size / sqrt(p) * rng_normal(r);
        } else {
            t[rng_below(r, (uint64_t)p)] += size * rng_normal(r);
        }
        for (int i = 0; i < p; i++) inside = inside && t[i] >= lo[i] && t[i] <= hi[i];
        double u = log(rng_uniform(r)), proposed = inside ? bo_model_nlp(m, t, NULL) : INFINITY;
        if (!(u < *nlp - proposed)) continue;
        memcpy(m->theta, t, (size_t)p * sizeof *t);
        *nlp = proposed;
    }
    mem_free(lo);
}

/* ---- prediction ---- */

void bo_model_row(struct bo_model *m, const double *x, struct bo_row *row) {
    struct bo_kern_spec spec = spec_of(m);
    struct bo_points pts = points_of(m);
    *row = work_rows(m);
    double *xs = m->point;
    for (int k = 0; k < m->d; k++) xs[k] = x[k] * m->inv_l[k];
    bo_kern_row(&spec, &pts, 0, m->n, xs, x + m->d, row, work_row(m, ROW_SCRATCH));
}

BO_SIMD static double dot3(size_t n, const double *c, const double *slope, const double *s,
                           double x) {
    double sum = 0;
#pragma omp simd reduction(+ : sum)
    for (size_t i = 0; i < n; i++) sum += c[i] * slope[i] * (s[i] - x);
    return sum;
}

void bo_model_row_grad(const struct bo_model *m, const struct bo_row *row, const double *x,
                       const double *c, double scale, double *out) {
    for (int k = 0; k < m->d; k++) {
        const double *s = m->s + (size_t)k * m->ld;
        double xs = x[k] * m->inv_l[k], g = dot3(m->n, c, row->slope, s, xs);
        if (m->kind == BO_ADD) g += dot3(m->n, c, row->axis + (size_t)k * row->ld_axis, s, xs);
        out[k] += scale * m->inv_l[k] * g;
    }
}

double bo_model_mean(struct bo_model *m, const double *x, double *grad) {
    struct bo_row row;
    bo_model_row(m, x, &row);
    if (grad) {
        memset(grad, 0, (size_t)m->d * sizeof *grad);
        bo_model_row_grad(m, &row, x, m->a, 1, grad);
    }
    return m->mu + dot2(m->n, row.k, m->a);
}

/* v = s2 (1 - k'R^-1 k + (1 - k'b)^2/q); dv = s2 (-2 (R^-1 k)'dk - 2 (1 - k'b)/q b'dk) */
void bo_model_predict(struct bo_model *m, const double *x, double *mean, double *var,
                      double *g_mean, double *g_var) {
    struct bo_row row;
    size_t n = m->n;
    double *w = work_row(m, ROW_T1);
    bo_model_row(m, x, &row);
    *mean = m->mu + dot2(n, row.k, m->a);
    double kb = dot2(n, row.k, m->b);
    memcpy(w, row.k, n * sizeof *w);
    la_trsv(false, n, m->L, m->ld, w);
    *var = m->s2 * fmax(1e-14, 1 - dot2(n, w, w) + (1 - kb) * (1 - kb) / m->q);
    if (!g_mean) return;
    la_trsv(true, n, m->L, m->ld, w);
    double cb = (1 - kb) / m->q;
    for (size_t i = 0; i < n; i++) w[i] += cb * m->b[i];
    memset(g_mean, 0, (size_t)m->d * sizeof *g_mean);
    memset(g_var, 0, (size_t)m->d * sizeof *g_var);
    bo_model_row_grad(m, &row, x, m->a, 1, g_mean);
    bo_model_row_grad(m, &row, x, w, -2 * m->s2, g_var);
}

void bo_model_predict_many(struct bo_model *m, const double *x, size_t count, double *mean,
                           double *var) {
    size_t n = m->n;
    double *K = var ? mem_try_doubles(n * count) : NULL;
    for (size_t i = 0; i < count; i++) {
        struct bo_row row;
        if (var && !K) { /* no room for the block: one by one */
            bo_model_predict(m, x + i * (size_t)m->D, &mean[i], &var[i], NULL, NULL);
            continue;
        }
        bo_model_row(m, x + i * (size_t)m->D, &row);
        mean[i] = m->mu + dot2(n, row.k, m->a);
        if (!var) continue;
        double kb = dot2(n, row.k, m->b);
        var[i] = 1 + (1 - kb) * (1 - kb) / m->q;
        memcpy(K + i * n, row.k, n * sizeof *K);
    }
    if (!K) return;
    la_trsm(false, n, count, m->L, m->ld, K, n);
    for (size_t i = 0; i < count; i++)
        var[i] = m->s2 * fmax(1e-14, var[i] - dot2(n, K + i * n, K + i * n));
    mem_free(K);
}

/* mu_i = z_i - a_i / (R^-1)_ii, v_i = s2 / (R^-1)_ii */
void bo_model_loo(struct bo_model *m, double *mean, double *var) {
    size_t n = m->n;
    for (size_t j = 0; j < n; j++)
        memcpy(m->M + j * m->ld + j, m->L + j * m->ld + j, (n - j) * sizeof(double));
    la_potri(n, m->M, m->ld);
    for (size_t i = 0; i < n; i++) {
        double p = m->M[i * m->ld + i];
        mean[i] = m->z[i] - m->a[i] / p;
        var[i] = m->s2 / p;
    }
}
