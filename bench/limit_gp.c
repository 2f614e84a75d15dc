/* SPDX-License-Identifier: Apache-2.0
 * The yardstick of bench_gp.c; see limit_gp.h. Compiled for this very machine. */
#include "limit_gp.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

void dpotrf_(const char *uplo, const int *n, double *a, const int *lda, int *info);
void dpotri_(const char *uplo, const int *n, double *a, const int *lda, int *info);
void dtrsv_(const char *uplo, const char *trans, const char *diag, const int *n, const double *a,
            const int *lda, double *x, const int *incx);

static inline double fast_exp(double x) {
    const double shift = 0x1.8p52;
    x = x < -708 ? -708 : x;
    double t = x * 0x1.71547652b82fep0 + shift, k = t - shift;
    double r = (x - k * 0x1.62e42fefa38p-1) - k * 0x1.ef35793c7673p-45;
    double p = 1.0 / 479001600;
    p = p * r + 1.0 / 39916800, p = p * r + 1.0 / 3628800, p = p * r + 1.0 / 362880;
    p = p * r + 1.0 / 40320, p = p * r + 1.0 / 5040, p = p * r + 1.0 / 720, p = p * r + 1.0 / 120;
    p = p * r + 1.0 / 24, p = p * r + 1.0 / 6, p = p * r + 0.5, p = p * r + 1, p = p * r + 1;
    int64_t b, e;
    memcpy(&b, &p, 8);
    memcpy(&e, &t, 8);
    b += (int64_t)((uint64_t)e << 52);
    memcpy(&p, &b, 8);
    return p;
}

static void fill_se(size_t n, const double *restrict u, double s2, double wn2, double *restrict a,
                    size_t ld) {
    for (size_t j = 0; j < n; j++) {
        double v = u[j], *restrict col = a + j * ld;
        for (size_t i = j; i < n; i++) col[i] = s2 * fast_exp(-(u[i] - v) * (u[i] - v));
        col[j] += wn2;
    }
}

static void fill_full(size_t n, const double *restrict x, const double *restrict u,
                      const double *restrict c, const double *restrict s, double lin2, double s2,
                      double q, double wn2, double *restrict a, size_t ld) {
    for (size_t j = 0; j < n; j++) {
        double v = u[j], cj = c[j], sj = s[j], xj = lin2 * x[j], *restrict col = a + j * ld;
        for (size_t i = j; i < n; i++)
            col[i] = xj * x[i] + s2 * fast_exp(c[i] * cj + s[i] * sj - q - (u[i] - v) * (u[i] - v));
        col[j] += wn2;
    }
}

void limit_fill(size_t n, const double *x, const struct limit_par *t, double *a, size_t ld,
                double *w) {
    double *u = w, *c = w + n, *s = w + 2 * n, wn2 = t->wn * t->wn, s2 = t->sf * t->sf;
    for (size_t i = 0; i < n; i++) u[i] = x[i] / (t->l * sqrt(2));
    if (t->p == 0) {
        fill_se(n, u, s2, wn2, a, ld);
        return;
    }
    for (size_t i = 0; i < n; i++) {
        c[i] = cos(2 * M_PI * x[i] / t->p) / t->lp;
        s[i] = sin(2 * M_PI * x[i] / t->p) / t->lp;
    }
    fill_full(n, x, u, c, s, t->lin * t->lin, s2, 1 / (t->lp * t->lp), wn2, a, ld);
}

double limit_logml(size_t n, const double *x, const double *y, const struct limit_par *t, double *a,
                   size_t ld, double *w) {
    int in = (int)n, il = (int)ld, info, one = 1;
    double q = 0, d = 0;
    limit_fill(n, x, t, a, ld, w);
    dpotrf_("L", &in, a, &il, &info);
    if (info) return NAN;
    memcpy(w, y, n * sizeof *w);
    dtrsv_("L", "N", "N", &in, a, &il, w, &one);
    for (size_t i = 0; i < n; i++) q += w[i] * w[i], d += log(a[i * (ld + 1)]);
    return -0.5 * q - d - 0.5 * (double)n * log(2 * M_PI);
}

/* Gradient in sf, l, wn (SE + WN only): dpotri and one pass over the triangle. */
double limit_logml_grad(size_t n, const double *x, const double *y, const struct limit_par *t,
                        double *a, size_t ld, double *w, double *g) {
    int in = (int)n, il = (int)ld, info, one = 1;
    double lm = limit_logml(n, x, y, t, a, ld, w), s2 = t->sf * t->sf, gs = 0, gl = 0, gw = 0;
    dtrsv_("L", "T", "N", &in, a, &il, w, &one);
    dpotri_("L", &in, a, &il, &info);
    double *u = w + n;
    for (size_t i = 0; i < n; i++) u[i] = x[i] / (t->l * sqrt(2));
    for (size_t j = 0; j < n; j++) {
        double wj = w[j], v = u[j], as[16] = {0}, al[16] = {0};
        const double *col = a + j * ld;
        size_t i = j + 1;
        for (; i + 16 <= n; i += 16)
            for (size_t k = 0; k < 16; k++) {
                double q = (u[i + k] - v) * (u[i + k] - v);
                double m = (w[i + k] * wj - col[i + k]) * s2 * fast_exp(-q);
                as[k] += m, al[k] += m * q;
            }
        for (; i < n; i++) {
            double q = (u[i] - v) * (u[i] - v), m = (w[i] * wj - col[i]) * s2 * fast_exp(-q);
            as[0] += m, al[0] += m * q;
        }
        for (size_t k = 0; k < 16; k++) gs += 2 * as[k], gl += 2 * al[k];
        gs += (wj * wj - col[j]) * s2;
        gw += wj * wj - col[j];
    }
    g[0] = gs / t->sf;
    g[1] = gl / t->l;
    g[2] = gw * t->wn;
    return lm;
}
