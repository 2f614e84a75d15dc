/* SPDX-License-Identifier: Apache-2.0
 * Covariance rows; see bo_kern.h. Each loop is free of branches so that it vectorises. */
#include "optimize/bo_kern.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

const char *const bo_kern_names[BO_KERN_COUNT] = {"SE", "M52", "MIX", "ADD"};

/* exp(x): x = k ln 2 + r, |r| <= ln2/2, Taylor to degree 12 (1.7e-16), then the exponent of 2^k. */
static inline __attribute__((always_inline)) double exp1(double x) {
    x = x < -700 ? -700 : x;
    double t = x * 1.4426950408889634 + 0x1.8p52, k = t - 0x1.8p52;
    double r = (x - k * 6.93147180369123816490e-01) - k * 1.90821492927058770002e-10;
    double p = 1.0 / 479001600;
    p = p * r + 1.0 / 39916800;
    p = p * r + 1.0 / 3628800;
    p = p * r + 1.0 / 362880;
    p = p * r + 1.0 / 40320;
    p = p * r + 1.0 / 5040;
    p = p * r + 1.0 / 720;
    p = p * r + 1.0 / 120;
    p = p * r + 1.0 / 24;
    p = p * r + 1.0 / 6;
    p = p * r + 0.5;
    p = p * r + 1;
    p = p * r + 1;
    uint64_t bits, scale;
    memcpy(&bits, &t, sizeof bits);
    scale = (bits + 1023) << 52; /* the low bits of t hold k */
    double two_k;
    memcpy(&two_k, &scale, sizeof two_k);
    return p * two_k;
}

BO_SIMD void bo_exp(size_t n, double *x) {
#pragma omp simd
    for (size_t i = 0; i < n; i++) x[i] = exp1(x[i]);
}

BO_SIMD static void add_square(size_t n, const double *s, double x, double *r2) {
#pragma omp simd
    for (size_t i = 0; i < n; i++) {
        double v = s[i] - x;
        r2[i] += v * v;
    }
}

/* k = SE, slope = SE */
BO_SIMD static void se_row(size_t n, const double *r2, double *k) {
#pragma omp simd
    for (size_t i = 0; i < n; i++) k[i] = exp1(-0.5 * r2[i]);
}

/* k = M52, slope = 5/3 (1+s) exp(-s), times a; k and slope are added to with weight a, b. */
BO_SIMD static void m52_row(size_t n, const double *r2, double *k, double *slope) {
#pragma omp simd
    for (size_t i = 0; i < n; i++) {
        double s = sqrt(5 * r2[i]), e = exp1(-s);
        slope[i] = (5.0 / 3) * (1 + s) * e;
        k[i] = (1 + s + (5.0 / 3) * r2[i]) * e;
    }
}

/* The ripple M52(r) and the funnel M32(r/rho), whose slope is 3 exp(-s). */
BO_SIMD static void mix_row(size_t n, const double *r2, double w, double inv2, double *k,
                            double *slope, double *d_rho, double *d_logit) {
    double ww = w * (1 - w);
#pragma omp simd
    for (size_t i = 0; i < n; i++) {
        double s = sqrt(5 * r2[i]), e = exp1(-s), q = r2[i] * inv2, s3 = sqrt(3 * q),
               e3 = exp1(-s3), f = (1 + s3) * e3;
        double m = (1 + s + (5.0 / 3) * r2[i]) * e;
        slope[i] = (1 - w) * (5.0 / 3) * (1 + s) * e + w * inv2 * 3 * e3;
        k[i] = (1 - w) * m + w * f;
        d_rho[i] = w * 3 * e3 * q;
        d_logit[i] = ww * (f - m);
    }
}

/* The interaction term of ADD, from r2. */
BO_SIMD static void add_full(size_t n, const double *r2, double w, double inv2, double *k,
                             double *slope, double *d_rho, double *d_logit) {
    double ww = w * (1 - w);
#pragma omp simd
    for (size_t i = 0; i < n; i++) {
        double q = r2[i] * inv2, s = sqrt(5 * q), e = exp1(-s);
        double m = (1 + s + (5.0 / 3) * q) * e, h = (5.0 / 3) * (1 + s) * e;
        slope[i] = (1 - w) * inv2 * h;
        k[i] = (1 - w) * m;
        d_rho[i] = (1 - w) * h * q;
        d_logit[i] = -ww * m;
    }
}

/* One additive term of ADD along one coordinate. */
BO_SIMD static void add_axis(size_t n, const double *sk, double x, double a, double b, double *k,
                             double *axis, double *d_logit) {
#pragma omp simd
    for (size_t i = 0; i < n; i++) {
        double v = sk[i] - x, q = v * v, s = sqrt(5 * q), e = exp1(-s);
        double m = (1 + s + (5.0 / 3) * q) * e;
        axis[i] = a * (5.0 / 3) * (1 + s) * e;
        k[i] += a * m;
        d_logit[i] += b * m;
    }
}

static void multiply(size_t n, const double *f, double *v) {
    if (v)
        for (size_t i = 0; i < n; i++) v[i] *= f[i];
}

static void apply_categories(const struct bo_kern_spec *spec, const struct bo_points *p,
                             size_t from, size_t n, const double *xc, struct bo_row *out,
                             double *f) {
    memset(f, 0, n * sizeof *f);
    for (int c = 0; c < p->n_cat; c++) {
        const double *cat = p->cat + (size_t)c * p->ld + from;
        for (size_t i = 0; i < n; i++) f[i] -= cat[i] != xc[c] ? spec->cat_inv[c] : 0;
    }
    bo_exp(n, f);
    multiply(n, f, out->k);
    multiply(n, f, out->slope);
    multiply(n, f, out->d_rho);
    multiply(n, f, out->d_logit);
    if (spec->kind == BO_ADD && out->axis)
        for (int k = 0; k < p->d; k++) multiply(n, f, out->axis + (size_t)k * out->ld_axis);
}

void bo_kern_row(const struct bo_kern_spec *spec, const struct bo_points *p, size_t from, size_t to,
                 const double *x, const double *xc, struct bo_row *out, double *scratch) {
    size_t n = to - from;
    double *r2 = scratch, inv2 = 1 / (spec->rho * spec->rho);
    memset(r2, 0, n * sizeof *r2);
    for (int k = 0; k < p->d; k++) add_square(n, p->s + (size_t)k * p->ld + from, x[k], r2);
    switch (spec->kind) {
    case BO_SE:
        se_row(n, r2, out->k);
        memcpy(out->slope, out->k, n * sizeof *r2);
        break;
    case BO_M52: m52_row(n, r2, out->k, out->slope); break;
    case BO_MIX: mix_row(n, r2, spec->w, inv2, out->k, out->slope, out->d_rho, out->d_logit); break;
    default:
        add_full(n, r2, spec->w, inv2, out->k, out->slope, out->d_rho, out->d_logit);
        for (int k = 0; k < p->d; k++)
            add_axis(n, p->s + (size_t)k * p->ld + from, x[k], spec->w / p->d,
                     spec->w * (1 - spec->w) / p->d, out->k, out->axis + (size_t)k * out->ld_axis,
                     out->d_logit);
    }
    if (p->n_cat) apply_categories(spec, p, from, n, xc, out, scratch + n);
}
