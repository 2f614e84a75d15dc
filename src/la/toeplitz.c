/* SPDX-License-Identifier: Apache-2.0
 *
 * Levinson-Durbin recursion with contiguous loops: the forward filter f and its mirror b are both
 * kept, and the first column of T is stored mirrored, so that every inner product runs forward.
 */
#include "la/toeplitz.h"
#include "la/blas.h"
#include <math.h>
#include <string.h>

/* f = (1, a_1 .. a_k), b its mirror image; one step to order k with reflection c. */
static void step_filters(size_t k, double c, double *f, double *b) {
    f[k] = 0;
    memmove(b + 1, b, k * sizeof *b);
    b[0] = 0;
    for (size_t i = 0; i <= k; i++) {
        double x = f[i], y = b[i];
        f[i] = x + c * y;
        b[i] = y + c * x;
    }
}

enum gpm_status toeplitz_solve(size_t n, const double *r, size_t nrhs, double *b, double *u,
                               double *logdet, double *scratch) {
    double *mirror = scratch, *f = scratch + n, *g = scratch + 2 * n, e = r[0], ld = log(r[0]);
    if (!(e > 0)) return GPM_E_NOT_PD;
    for (size_t i = 0; i < n; i++) mirror[n - 1 - i] = r[i];
    f[0] = g[0] = 1;
    for (size_t q = 0; q < nrhs; q++) b[q * n] /= e;
    for (size_t k = 1; k < n; k++) {
        const double *back = mirror + n - 1 - k; /* r_k, r_k-1, ... */
        double c = -la_dot(k, back, f) / e;
        e *= 1 - c * c;
        if (!(e > 1e-13 * r[0])) return GPM_E_NOT_PD;
        ld += log(e);
        step_filters(k, c, f, g);
        for (size_t q = 0; q < nrhs; q++) {
            double *x = b + q * n, mu = (x[k] - la_dot(k, back, x)) / e;
            x[k] = 0;
            la_axpy(k + 1, mu, g, x);
        }
    }
    for (size_t i = 0; i < n; i++) u[i] = f[i] / e;
    *logdet = ld;
    return GPM_OK;
}

void toeplitz_inverse_sums(size_t n, const double *u, double *s, double *scratch) {
    double *v = scratch, *wu = scratch + n, *wv = scratch + 2 * n;
    v[0] = 0;
    for (size_t i = 1; i < n; i++) v[i] = u[n - i];
    for (size_t i = 0; i < n; i++) {
        wu[i] = (double)(i + 1) * u[i];
        wv[i] = (double)(i + 1) * v[i];
    }
    for (size_t l = 0; l < n; l++) {
        size_t m = n - l;
        double whole = la_dot(m, u, u + l) - la_dot(m, v, v + l);
        double part = la_dot(m, wu, u + l) - la_dot(m, wv, v + l);
        s[l] = ((double)(m + 1) * whole - part) / u[0];
    }
}

void toeplitz_add_correlation(size_t n, double f, const double *x, double *s) {
    for (size_t l = 0; l < n; l++) s[l] += f * la_dot(n - l, x, x + l);
}
