/* SPDX-License-Identifier: Apache-2.0
 * What the device text of kernel rows uses. C and CUDA alike; DEVICE says how functions are declared. */
#ifndef DEVICE
#define DEVICE static __device__ __forceinline__
#define CONSTANT_BANK __constant__
#endif
#define COLUMNS for (int c = 0; c < n; c++)
#define TWO_PI 6.283185307179586477
#define ROOT3 1.7320508075688772935
#define ROOT5 2.2360679774997896964

/* exp(x), x <= 0, without branches: 2^i e^r with |r| <= log(2)/2, a polynomial of degree 12 (error of the
 * series 2e-16). Coefficients are operands from the constant bank; below -708 it stays at e^-708. */
CONSTANT_BANK double EXP_C[16] = {1.4426950408889634074,
                                  6755399441055744.0,
                                  0.69314718055966295651160180568695068359375,
                                  0.28235290563031577122588448175013436025525412068e-12,
                                  1.0 / 479001600,
                                  1.0 / 39916800,
                                  1.0 / 3628800,
                                  1.0 / 362880,
                                  1.0 / 40320,
                                  1.0 / 5040,
                                  1.0 / 720,
                                  1.0 / 120,
                                  1.0 / 24,
                                  1.0 / 6,
                                  0.5,
                                  1.0};
DEVICE double kexp(double x) {
    x = x < -708 ? -708 : x;
    double t = x * EXP_C[0] + EXP_C[1], i = t - EXP_C[1], r = x - i * EXP_C[2];
    r = r - i * EXP_C[3];
    double p = EXP_C[4];
#pragma unroll
    for (int k = 5; k < 16; k++) p = p * r + EXP_C[k];
    p = p * r + EXP_C[15];
    return __longlong_as_double(__double_as_longlong(p) + (__double_as_longlong(t) << 52));
}
DEVICE double squared(const double *f, const double *h, const int n) {
    double q = 0;
    COLUMNS {
        double d = f[c] - h[c];
        q += d * d;
    }
    return q;
}
/* Radial rows: e = w times -2 dk/d(r^2); dk/dl_c = e (u_c - u'_c)^2 / l_c. */
DEVICE void spread(const double *f, const double *h, const double *p, const int n, const int v, double e, double *g) {
    COLUMNS {
        double d = f[c] - h[c];
        g[1 + c % v] += e * d * d / p[1 + c % v];
    }
}
DEVICE double mat52(double a) {
    return (1 + a * (1 + a * (1.0 / 3))) * kexp(-a);
}
DEVICE double mat52_fall(double a) {
    return 5.0 / 3 * (1 + a) * kexp(-a);
}
DEVICE double power(double b, int degree) {
    double p = 1;
    for (int d = 0; d < degree; d++) p *= b;
    return p;
}
DEVICE double logistic(double x) {
    double e = exp(-fabs(x));
    return (x >= 0 ? 1 : e) / (1 + e);
}
/* a - 1 + exp(-a); the series where the difference has no digits. */
DEVICE double iou_rest(double a) {
    if (a > 0.5) return a + expm1(-a);
    double term = a * a / 2, sum = term;
    for (int m = 3; fabs(term) > 1e-18 * sum; m++) sum += term *= -a / m;
    return sum;
}
