/* SPDX-License-Identifier: Apache-2.0
 * One draw of the whole function: random features carry the prior, Matheron's rule makes it agree
 * with the data exactly.
 *
 *   f(x) = sum_j a_j sign_j(x) cos(2 pi (w_j.x + b_j)),  a_j = s sqrt(2/m) N(0,1), b_j ~ U(0,1)
 *   v = (R + gI)^-1 (z - mu - f(X) - eps),  path(x) = mu + f(x) + k(x,X) v
 *
 * Frequencies w_j = N(0,1)/(2 pi l) for SE, times sqrt(5/chi2_5) for M52, sqrt(3/chi2_3) for M32; a
 * mixture picks the component of each feature with its weight. A category multiplies the feature by
 * a sign: with probability exp(-1/l) the same for all levels, else one fair sign per level, which
 * gives the Hamming kernel. Features are kept in float: they only carry the prior.
 */
#include "base/mem.h"
#include "la/blas.h"
#include "optimize/bo_model.h"

#include <math.h>
#include <string.h>

void bo_path_init(struct bo_path *p) {
    *p = (struct bo_path){0};
}

void bo_path_release(struct bo_path *p) {
    mem_free(p->w);
    mem_free(p->b);
    mem_free(p->a);
    mem_free(p->sign);
    mem_free(p->v);
    *p = (struct bo_path){0};
}

static double chi2(struct rng *r, double dof) {
    if (dof <= 30) {
        double s = 0;
        int whole = (int)dof;
        for (int i = 0; i < whole; i++) {
            double t = rng_normal(r);
            s += t * t;
        }
        return s;
    }
    double h = 2 / (9 * dof), t = 1 - h + sqrt(h) * rng_normal(r); /* Wilson and Hilferty */
    return dof * t * t * t;
}

static void draw_signs(struct bo_path *p, const struct bo_model *m, int j, struct rng *r) {
    float *sign = p->sign;
    for (int c = 0; c < p->n_cat; c++) {
        bool shared = rng_uniform(r) < exp(-m->inv_l[m->d + c]);
        float one = rng_uniform(r) < 0.5 ? -1.0f : 1.0f;
        for (int level = 0; level < p->levels[c]; level++, sign += p->m)
            sign[j] = shared ? one : rng_uniform(r) < 0.5 ? -1.0f : 1.0f;
    }
}

static void draw_frequency(struct bo_path *p, const struct bo_model *m, int j, struct rng *r) {
    bool first = rng_uniform(r) < m->w; /* funnel of MIX, additive part of ADD */
    bool se = m->kind == BO_SE, m32 = m->kind == BO_MIX && first;
    bool stretched = m->kind == BO_MIX ? first : m->kind == BO_ADD && !first;
    int axis = m->kind == BO_ADD && first ? (int)rng_below(r, (uint64_t)m->d) : -1;
    double scale = 1 / (2 * M_PI * (stretched ? m->rho : 1));
    if (!se) scale *= m32 ? sqrt(3 / chi2(r, 3)) : sqrt(5 / chi2(r, 5));
    for (int k = 0; k < m->d; k++)
        p->w[k * p->m + j] =
            axis < 0 || axis == k ? (float)(scale * m->inv_l[k] * rng_normal(r)) : 0.0f;
}

void bo_path_features(struct bo_path *p, const struct bo_model *m, const int *levels, double scale,
                      struct rng *r) {
    size_t total = 0;
    for (int c = 0; c < m->n_cat; c++) total += (size_t)levels[c];
    if (!p->w) {
        p->m = BO_FEATURES, p->d = m->d, p->n_cat = m->n_cat, p->levels = levels;
        p->w = NEW_ARRAY(float, (size_t)(p->d * p->m) + 1);
        p->b = NEW_ARRAY(float, (size_t)p->m);
        p->a = NEW_ARRAY(float, (size_t)p->m);
        p->sign = NEW_ARRAY(float, total *(size_t)p->m + 1);
    }
    for (int j = 0; j < p->m; j++) {
        draw_frequency(p, m, j, r);
        draw_signs(p, m, j, r);
        p->b[j] = (float)rng_uniform(r);
        p->a[j] = (float)(scale * sqrt(2.0 / p->m) * rng_normal(r));
    }
}

/* cos(2 pi t): even polynomial on the nearest turn, error 1e-8 before rounding to float. */
static inline __attribute__((always_inline)) float cos_turns(float t) {
    float f = t - ((t + 12582912.0f) - 12582912.0f), s = f * f, p = 6.5296104f;
    p = p * s - 25.9683133f;
    p = p * s + 60.1678317f;
    p = p * s - 85.4501656f;
    p = p * s + 64.939119f;
    p = p * s - 19.7392045f;
    return p * s + 0.999999989f;
}

BO_SIMD static void axpy_float(int m, float x, const float *w, float *t) {
#pragma omp simd
    for (int j = 0; j < m; j++) t[j] += w[j] * x;
}

BO_SIMD static float dot_cos(int m, const float *a, const float *t) {
    float sum = 0;
#pragma omp simd reduction(+ : sum)
    for (int j = 0; j < m; j++) sum += a[j] * cos_turns(t[j]);
    return sum;
}

/* t <- a sin(2 pi t): the derivative's common factor */
BO_SIMD static void times_sin(int m, const float *a, float *t) {
#pragma omp simd
    for (int j = 0; j < m; j++) t[j] = a[j] * cos_turns(t[j] - 0.25f);
}

BO_SIMD static float dot_float(int m, const float *a, const float *t) {
    float sum = 0;
#pragma omp simd reduction(+ : sum)
    for (int j = 0; j < m; j++) sum += a[j] * t[j];
    return sum;
}

static void apply_signs(const struct bo_path *p, const double *xc, float *a) {
    const float *sign = p->sign;
    for (int c = 0; c < p->n_cat; c++) {
        const float *s = sign + (size_t)xc[c] * (size_t)p->m;
        for (int j = 0; j < p->m; j++) a[j] *= s[j];
        sign += (size_t)p->levels[c] * (size_t)p->m;
    }
}

double bo_path_prior(const struct bo_path *p, const double *x, double *grad) {
    float t[BO_FEATURES], signed_a[BO_FEATURES];
    const float *a = p->a;
    memcpy(t, p->b, sizeof t);
    for (int k = 0; k < p->d; k++) axpy_float(p->m, (float)x[k], p->w + k * p->m, t);
    if (p->n_cat) {
        memcpy(signed_a, p->a, sizeof signed_a);
        apply_signs(p, x + p->d, signed_a);
        a = signed_a;
    }
    double f = dot_cos(p->m, a, t);
    if (!grad) return f;
    times_sin(p->m, a, t);
    for (int k = 0; k < p->d; k++) grad[k] -= 2 * M_PI * dot_float(p->m, p->w + k * p->m, t);
    return f;
}

void bo_path_draw(struct bo_path *p, struct bo_model *m, const int *levels, double tau,
                  struct rng *r) {
    size_t n = m->n;
    double dof = fmax(1, m->N - 1);
    double s2 = m->S / fmax(chi2(r, dof), 1e-3 * dof);
    double mu = m->mu + sqrt(s2 / m->q) * rng_normal(r);
    bo_path_features(p, m, levels, sqrt(s2), r);
    if (p->cap < n) {
        mem_free(p->v);
        p->cap = m->ld;
        p->v = NEW_ARRAY(double, p->cap);
    }
    double *x = NEW_ARRAY(double, (size_t)m->D);
    for (size_t i = 0; i < n; i++) {
        for (int k = 0; k < m->D; k++) x[k] = m->u[(size_t)k * m->ld + i];
        double eps = sqrt(s2 * m->g / m->count[i]) * rng_normal(r);
        p->v[i] = m->z[i] - mu - bo_path_prior(p, x, NULL) - eps;
    }
    mem_free(x);
    la_trsv(false, n, m->L, m->ld, p->v);
    la_trsv(true, n, m->L, m->ld, p->v);
    for (size_t i = 0; i < n; i++) p->v[i] = tau * p->v[i] + (1 - tau) * m->a[i];
    for (int j = 0; j < p->m; j++) p->a[j] *= (float)tau;
    p->base = tau * mu + (1 - tau) * m->mu;
}

double bo_path_eval(const struct bo_path *p, struct bo_model *m, const double *x, double *grad) {
    struct bo_row row;
    double f = p->base;
    if (grad) memset(grad, 0, (size_t)m->d * sizeof *grad);
    bo_model_row(m, x, &row);
    for (size_t i = 0; i < m->n; i++) f += row.k[i] * p->v[i];
    if (grad) bo_model_row_grad(m, &row, x, p->v, 1, grad);
    return f + bo_path_prior(p, x, grad);
}
