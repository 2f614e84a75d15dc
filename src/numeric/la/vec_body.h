/* SPDX-License-Identifier: Apache-2.0
 *
 * The body of the vector primitives, compiled once per instruction set with VEC_NAME defined as the
 * variant's name. Written as plain loops for the compiler's vectoriser; these files alone are
 * compiled with -O3 and contraction to fused multiply-add (see CMakeLists.txt), because their
 * results never had a bit pattern promised across machines.
 */
#include "numeric/la/vec_ops.h"

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "numeric/la/vec_potrf.h"
#include "numeric/la/vec_solve.h"

#define RESTRICT __restrict__

static inline double from_bits(int64_t b) {
    double d;
    memcpy(&d, &b, sizeof d);
    return d;
}
static inline int64_t to_bits(double d) {
    int64_t b;
    memcpy(&b, &d, sizeof b);
    return b;
}

/* exp(x) = 2^k exp(r), k = round(x / ln 2), |r| <= ln(2)/2; Taylor to degree 13 (remainder 4e-18).
 * Adding 1.5 * 2^52 rounds to an integer and leaves it in the low bits. */
static inline double exp_one(double x) {
    const double shift = 0x1.8p52, log2e = 0x1.71547652b82fep0;
    const double ln2_hi = 0x1.62e42fefa38p-1, ln2_lo = 0x1.ef35793c7673p-45;
    double xc = x < -708.3 ? -708.3 : x > 709.7 ? 709.7 : x;
    double t = xc * log2e + shift, k = t - shift;
    double r = (xc - k * ln2_hi) - k * ln2_lo;
    double r2 = r * r, r4 = r2 * r2;
    double a = 1.0 / 2 + r * (1.0 / 6), b = 1.0 / 24 + r * (1.0 / 120);
    double c = 1.0 / 720 + r * (1.0 / 5040), d = 1.0 / 40320 + r * (1.0 / 362880);
    double e = 1.0 / 3628800 + r * (1.0 / 39916800), f = 1.0 / 479001600 + r * (1.0 / 6227020800.0);
    double q = (a + r2 * b) + r4 * ((c + r2 * d) + r4 * (e + r2 * f));
    double p = 1 + (r + r2 * q);
    double y = from_bits(to_bits(p) + (int64_t)((uint64_t)to_bits(t) << 52));
    y = x < -708.3 ? 0 : y;
    return x > 709.7 ? HUGE_VAL : y;
}

/* Strips are short. The last few elements go through a buffer of full vectors; one by one they
 * would cost more than all others. */
#define TAIL 8
static void v_exp_scale(size_t n, double a, double *RESTRICT x) {
    double buf[TAIL] = {0};
    size_t full = n & ~(size_t)(TAIL - 1), rest = n - full;
    for (size_t i = 0; i < full; i++) x[i] = a * exp_one(x[i]);
    if (rest == 0) return;
    memcpy(buf, x + full, rest * sizeof *x);
    for (size_t i = 0; i < TAIL; i++) buf[i] = a * exp_one(buf[i]);
    memcpy(x + full, buf, rest * sizeof *x);
}

/* log(x) = k ln 2 + log(1 + f), 1 + f in [sqrt(1/2), sqrt(2)). With s = f / (2 + f), z = s^2:
 * log(1 + f) = 2 atanh(s) = f - s (f - 2 R), R = z/3 + z^2/5 + ... (remainder below 2^-60). The
 * bits below are shifted so that the exponent field counts from sqrt(1/2) = 0x3fe6a09e.... */
static inline double log_one(double x) {
    const double ln2_hi = 0x1.62e42fefa38p-1, ln2_lo = 0x1.ef35793c7673p-45;
    int64_t b = to_bits(x), off = b - 0x3fe6a09e667f3bcdLL;
    int64_t k = off >> 52;
    double f = from_bits(b - (int64_t)((uint64_t)k << 52)) - 1, s = f / (2 + f), z = s * s;
    double z2 = z * z, z4 = z2 * z2;
    double a0 = 1.0 / 3 + z * (1.0 / 5), a1 = 1.0 / 7 + z * (1.0 / 9);
    double a2 = 1.0 / 11 + z * (1.0 / 13), a3 = 1.0 / 15 + z * (1.0 / 17);
    double a4 = 1.0 / 19 + z * (1.0 / 21);
    double r = z * ((a0 + z2 * a1) + z4 * ((a2 + z2 * a3) + z4 * a4));
    double kd = (double)k;
    return kd * ln2_hi + (f - (s * (f - 2 * r) - kd * ln2_lo));
}

static void v_log(size_t n, double *RESTRICT x) {
    for (size_t i = 0; i < n; i++) x[i] = log_one(x[i]);
}

static void v_sub_sqdiff(size_t n, const double *RESTRICT u, double v, double *RESTRICT out) {
    for (size_t i = 0; i < n; i++) out[i] -= (u[i] - v) * (u[i] - v);
}

/* Blocks of TAIL elements; the last one overlaps the one before it. */
static inline void sqdist_block(size_t w, size_t d, const double *u, size_t ld, const double *v,
                                double *out) {
    double sum[TAIL] = {0};
    for (size_t c = 0; c < d; c++)
        for (size_t k = 0; k < w; k++) {
            double t = u[c * ld + k] - v[c];
            sum[k] += t * t;
        }
    memcpy(out, sum, w * sizeof *out);
}

static void v_sqdist(size_t n, size_t d, const double *u, size_t ld, const double *v, double *out) {
    if (n < TAIL) {
        sqdist_block(n, d, u, ld, v, out);
        return;
    }
    for (size_t i = 0; i < n - TAIL; i += TAIL) sqdist_block(TAIL, d, u + i, ld, v, out + i);
    sqdist_block(TAIL, d, u + n - TAIL, ld, v, out + n - TAIL);
}

/* a may be q. Two passes, since in one the constants of exp do not stay in registers. */
static void v_decay(size_t n, const double *q, double f, double *a, double *RESTRICT e) {
    for (size_t i = 0; i < n; i++) a[i] = f * sqrt(q[i]);
    for (size_t i = 0; i < n; i++) e[i] = -a[i];
    v_exp_scale(n, 1, e);
}

static inline double cos_part(double c, double s, double cj, double sj, double k) {
    double e = c * cj + s * sj - k;
    return e < 0 ? e : 0;
}

static void v_add_cosdiff(size_t n, const double *RESTRICT c, const double *RESTRICT s, double cj,
                          double sj, double k, double *RESTRICT out) {
    for (size_t i = 0; i < n; i++) out[i] += cos_part(c[i], s[i], cj, sj, k);
}

static void v_mul(size_t n, const double *RESTRICT x, double *RESTRICT out) {
    for (size_t i = 0; i < n; i++) out[i] *= x[i];
}

static void v_axpy(size_t n, double a, const double *RESTRICT x, double *RESTRICT out) {
    for (size_t i = 0; i < n; i++) out[i] += a * x[i];
}

static void v_scale(size_t n, double a, double *RESTRICT out) {
    for (size_t i = 0; i < n; i++) out[i] *= a;
}

static void v_add_square(size_t n, const double *RESTRICT x, double *RESTRICT out) {
    for (size_t i = 0; i < n; i++) out[i] += x[i] * x[i];
}

static void v_scale_to(size_t n, double a, const double *RESTRICT x, double *RESTRICT out) {
    for (size_t i = 0; i < n; i++) out[i] = a * x[i];
}

static void v_schur(size_t n, double rho, double f, double z, double *RESTRICT u,
                    double *RESTRICT v, double *RESTRICT y) {
    double g = 1 / f;
    for (size_t i = 0; i < n; i++) {
        double a = (u[i] - rho * v[i]) * f;
        v[i] = g * v[i] - rho * a;
        u[i] = a;
        y[i] -= z * a;
    }
}

static void v_reflect(size_t n, double c, double *RESTRICT f, double *RESTRICT b) {
    for (size_t i = 0; i < n; i++) {
        double x = f[i], y = b[i];
        f[i] = x + c * y;
        b[i] = y + c * x;
    }
}

/* Reductions keep LANES partial sums, because the compiler may not reorder additions. */
#define LANES 16
#define REDUCE(expr)                                                                               \
    double total = 0;                                                                              \
    size_t i = 0;                                                                                  \
    if (n >= LANES) {                                                                              \
        double acc[LANES] = {0};                                                                   \
        do                                                                                         \
            for (size_t k_ = 0; k_ < LANES; k_++) {                                                \
                size_t q = i + k_;                                                                 \
                acc[k_] += (expr);                                                                 \
            }                                                                                      \
        while ((i += LANES) + LANES <= n);                                                         \
        for (size_t k_ = 0; k_ < LANES; k_++) total += acc[k_];                                    \
    }                                                                                              \
    for (; i < n; i++) {                                                                           \
        size_t q = i;                                                                              \
        total += (expr);                                                                           \
    }                                                                                              \
    return total

static double v_sum(size_t n, const double *x) {
    REDUCE(x[q]);
}

static double v_dot(size_t n, const double *x, const double *y) {
    REDUCE(x[q] * y[q]);
}

static double v_dot_sqdiff(size_t n, const double *w, const double *u, double v) {
    REDUCE(w[q] * ((u[q] - v) * (u[q] - v)));
}

static double v_dot_diff(size_t n, const double *w, const double *u, double v) {
    REDUCE(w[q] * (u[q] - v));
}

/* cos(2 pi t), reduced to the nearest turn: an even Chebyshev polynomial with error 1e-12. */
static inline double cos_turns(double t) {
    const double shift = 0x1.8p52;
    double f = t - ((t + shift) - shift), s = f * f, s2 = s * s, s4 = s2 * s2;
    double a = 0.9999999999990649 + s * -19.739208801571344;
    double b = 64.93939395776312 + s * -85.45681453471846;
    double c = 60.2445862232281 + s * -26.425616538378733;
    double d = 7.8991599999847475 + s * -1.6968749101208802;
    return (a + s2 * b) + s4 * ((c + s2 * d) + s4 * 0.2437625711206156);
}

static double v_dot_cos(size_t n, const double *w, const double *t) {
    REDUCE(w[q] * cos_turns(t[q]));
}

static void v_sin_scale(size_t n, const double *RESTRICT w, double *RESTRICT t) {
    for (size_t i = 0; i < n; i++) t[i] = w[i] * cos_turns(t[i] - 0.25);
}

static double v_dot_cosdiff(size_t n, const double *w, const double *c, const double *s, double cj,
                            double sj, double k) {
    REDUCE(w[q] * cos_part(c[q], s[q], cj, sj, k));
}

static double v_dot_sindiff(size_t n, const double *w, const double *c, const double *s,
                            const double *x, double cj, double sj, double xj) {
    REDUCE(w[q] * ((s[q] * cj - c[q] * sj) * (x[q] - xj)));
}

#define VEC_TEXT_(x)    #x
#define VEC_TEXT(x)     VEC_TEXT_(x)
#define VEC_JOIN_(a, b) a##b
#define VEC_JOIN(a, b)  VEC_JOIN_(a, b)
extern const struct vec_ops VEC_JOIN(vec_ops_, VEC_NAME);
const struct vec_ops VEC_JOIN(vec_ops_, VEC_NAME) = {
    .name = VEC_TEXT(VEC_NAME),
    .exp_scale = v_exp_scale,
    .log = v_log,
    .sub_sqdiff = v_sub_sqdiff,
    .sqdist = v_sqdist,
    .decay = v_decay,
    .add_cosdiff = v_add_cosdiff,
    .mul = v_mul,
    .axpy = v_axpy,
    .scale = v_scale,
    .scale_to = v_scale_to,
    .add_square = v_add_square,
    .sum = v_sum,
    .dot = v_dot,
    .dot_sqdiff = v_dot_sqdiff,
    .dot_diff = v_dot_diff,
    .dot_cos = v_dot_cos,
    .sin_scale = v_sin_scale,
    .dot_cosdiff = v_dot_cosdiff,
    .dot_sindiff = v_dot_sindiff,
    .schur = v_schur,
    .reflect = v_reflect,
    .potrf = v_potrf,
    .potri = v_potri,
    .solve_rows = v_solve_rows,
    .trsv = v_trsv,
#if defined(__AVX512F__)
    .potrf_max = 2048,
    .potri_max = 1536,
    .block = 256,
#else
    .potrf_max = 300,
    .potri_max = 300,
#endif
};
