/* SPDX-License-Identifier: Apache-2.0
 * Schur's and Levinson's recursions with contiguous loops; contracts in toeplitz.h. */
#include "la/toeplitz.h"

#include "base/mem.h"
#include "la/vec_ops.h"

#include <math.h>

/* With u = r / sqrt(r_0), v = u but v_0 = 0, the columns of L are, for k = 0, 1, ...:
 * L(k.., k) = u; shift u down by one row; rho = v_k / u_k; u = (u - rho v) / sqrt(1 - rho^2),
 * v = sqrt(1 - rho^2) v - rho u  (the mixed form, which is stable). L is never stored: each right
 * hand side is eliminated on the way, z_k = y_k / L_kk, y -= z_k L(., k). */
enum gpm_status toeplitz_half_solve(size_t n, const double *r, double least, size_t nrhs, double *b,
                                    double *logdet, double *scratch) {
    const struct vec_ops *ops = vec_ops();
    double *u = scratch, *v = scratch + n, root = sqrt(r[0]), sum = log(root);
    if (!(r[0] > 0)) return GPM_E_NOT_PD;
    for (size_t i = 0; i < n; i++) v[i] = u[i] = r[i] / root;
    for (size_t c = 0; c < nrhs; c++) {
        double z = b[c * n] /= root;
        ops->axpy(n - 1, -z, u + 1, b + c * n + 1);
    }
    for (size_t k = 1; k < n; k++) {
        double rho = v[k] / u[0], q = (1 - rho) * (1 + rho);
        if (!(q > 0)) return GPM_E_NOT_PD;
        double f = 1 / sqrt(q), pivot = (u[0] - rho * v[k]) * f;
        if (!(pivot * pivot > least)) return GPM_E_NOT_PD;
        /* Row k + i of the new column is at u[i]; b + k is what is left of a right hand side. */
        double z = b[k] / pivot;
        ops->schur(n - k, rho, f, z, u, v + k, b + k);
        b[k] = z;
        for (size_t c = 1; c < nrhs; c++) {
            double *y = b + c * n + k;
            z = y[0] / pivot;
            if (z != 0) ops->axpy(n - k, -z, u, y); /* a column may begin late */
            y[0] = z;
        }
        sum += log(pivot);
    }
    *logdet = 2 * sum;
    return GPM_OK;
}

/* f = (1, a_1 .. a_k) is the filter of order k; g, its mirror image, grows at the front, so that
 * the one before is g[1..]. The column is stored mirrored, and every inner product runs forward.
 * zeros: of nrhs numbers 0; how many each right hand side begins with, which cost nothing. */
static enum gpm_status levinson(size_t n, const double *r, double least, size_t nrhs, double *b,
                                size_t *zeros, double *u, double *logdet, double *scratch) {
    const struct vec_ops *ops = vec_ops();
    double *mirror = scratch, *f = scratch + n, *g = scratch + 3 * n - 1, e = r[0], ld = log(r[0]);
    if (!(e > 0)) return GPM_E_NOT_PD;
    for (size_t i = 0; i < n; i++) mirror[n - 1 - i] = r[i];
    f[0] = g[0] = 1;
    for (size_t q = 0; q < nrhs; q++) zeros[q] = (b[q * n] /= e) == 0;
    for (size_t k = 1; k < n; k++) {
        const double *back = mirror + n - 1 - k; /* r_k, r_k-1, ... */
        double c = -ops->dot(k, back, f) / e;
        e *= 1 - c * c;
        if (!(e > least)) return GPM_E_NOT_PD;
        ld += log(e);
        f[k] = *--g = 0;
        ops->reflect(k + 1, c, f, g);
        for (size_t q = 0; q < nrhs; q++) {
            double *x = b + q * n;
            if (zeros[q] == k && x[k] == 0) {
                zeros[q]++;
                continue;
            }
            double mu = (x[k] - (zeros[q] < k ? ops->dot(k, back, x) : 0)) / e;
            x[k] = 0;
            ops->axpy(k + 1, mu, g, x);
        }
    }
    for (size_t i = 0; i < n; i++) u[i] = f[i] / e;
    *logdet = ld;
    return GPM_OK;
}

enum gpm_status toeplitz_solve(size_t n, const double *r, double least, size_t nrhs, double *b,
                               double *u, double *logdet, double *scratch) {
    size_t *zeros = mem_zalloc((nrhs + 1) * sizeof *zeros);
    enum gpm_status st = levinson(n, r, least, nrhs, b, zeros, u, logdet, scratch);
    mem_free(zeros);
    return st;
}

void toeplitz_inverse_sums(size_t n, const double *u, double *s, double *scratch) {
    const struct vec_ops *ops = vec_ops();
    for (size_t i = 0; i < n; i++) scratch[i] = ((double)n - 2 * (double)i) * u[i];
    for (size_t l = 0; l < n; l++) {
        size_t m = n - l;
        s[l] = (ops->dot(m, scratch, u + l) - (double)l * ops->dot(m, u, u + l)) / u[0];
    }
}

void toeplitz_add_correlation(size_t n, double f, const double *x, double *s) {
    const struct vec_ops *ops = vec_ops();
    for (size_t l = 0; l < n; l++) s[l] += f * ops->dot(n - l, x, x + l);
}
