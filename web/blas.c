/* SPDX-License-Identifier: Apache-2.0
 *
 * BLAS and LAPACK for builds without a library of them: what src/numeric/la calls, with its arguments
 * (column-major, lower triangles), in plain loops over columns that a compiler turns into vector
 * instructions. The hot sizes are in src/numeric/la's own tiles. tests/unit/test_web_blas.c compares each
 * with OpenBLAS.
 */
#include <cblas.h>
#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#ifndef WEB_NAME /* the test gives them other names */
#define WEB_NAME(name) name
#endif

typedef size_t at;

/* ---- vectors ---- */

static double dot(at n, const double *x, const double *y) {
    double s[4] = {0}; /* by four: sums that need not wait for one another */
    at i = 0;
    for (; i + 4 <= n; i += 4)
        for (int k = 0; k < 4; k++) s[k] += x[i + (at)k] * y[i + (at)k];
    for (; i < n; i++) s[0] += x[i] * y[i];
    return (s[0] + s[1]) + (s[2] + s[3]);
}

static void axpy(at n, double a, const double *x, double *y) {
    for (at i = 0; i < n; i++) y[i] += a * x[i];
}

static void scale(at n, double a, double *x) {
    if (a == 0)
        memset(x, 0, n * sizeof *x); /* what is not finite goes, as in the reference */
    else if (a != 1)
        for (at i = 0; i < n; i++) x[i] *= a;
}

double WEB_NAME(cblas_ddot)(int n, const double *x, int incx, const double *y, int incy) {
    if (incx == 1 && incy == 1) return dot((at)n, x, y);
    double s = 0;
    for (int i = 0; i < n; i++) s += x[(at)i * (at)incx] * y[(at)i * (at)incy];
    return s;
}

/* ---- matrix and vector ---- */

void WEB_NAME(cblas_dgemv)(enum CBLAS_ORDER order, enum CBLAS_TRANSPOSE trans, int m, int n,
                           double alpha, const double *a, int lda, const double *x, int incx,
                           double beta, double *y, int incy) {
    at rows = (at)m, columns = (at)n;
    scale(trans == CblasTrans ? columns : rows, beta, y);
    for (at j = 0; j < columns; j++) {
        if (trans == CblasTrans)
            y[j] += alpha * dot(rows, a + j * (at)lda, x);
        else
            axpy(rows, alpha * x[j], a + j * (at)lda, y);
    }
}

void WEB_NAME(cblas_dsymv)(enum CBLAS_ORDER order, enum CBLAS_UPLO uplo, int n, double alpha,
                           const double *a, int lda, const double *x, int incx, double beta,
                           double *y, int incy) {
    at size = (at)n;
    scale(size, beta, y);
    for (at j = 0; j < size; j++) {
        const double *below = a + j * (at)lda + j + 1;
        at rest = size - j - 1;
        y[j] += alpha * (below[-1] * x[j] + dot(rest, below, x + j + 1));
        axpy(rest, alpha * x[j], below, y + j + 1);
    }
}

void WEB_NAME(cblas_dtrsv)(enum CBLAS_ORDER order, enum CBLAS_UPLO uplo, enum CBLAS_TRANSPOSE trans,
                           enum CBLAS_DIAG diag, int n, const double *a, int lda, double *x,
                           int incx) {
    at size = (at)n;
    for (at k = 0; k < size; k++) {
        at j = trans == CblasTrans ? size - 1 - k : k, rest = size - j - 1;
        const double *d = a + j * (at)lda + j;
        if (trans == CblasTrans) {
            x[j] = (x[j] - dot(rest, d + 1, x + j + 1)) / *d;
        } else {
            x[j] /= *d;
            axpy(rest, -x[j], d + 1, x + j + 1);
        }
    }
}

void WEB_NAME(cblas_dtrmv)(enum CBLAS_ORDER order, enum CBLAS_UPLO uplo, enum CBLAS_TRANSPOSE trans,
                           enum CBLAS_DIAG diag, int n, const double *a, int lda, double *x,
                           int incx) {
    at size = (at)n;
    for (at k = 0; k < size; k++) {
        at j = trans == CblasTrans ? k : size - 1 - k, rest = size - j - 1;
        const double *d = a + j * (at)lda + j;
        if (trans == CblasTrans) {
            x[j] = *d * x[j] + dot(rest, d + 1, x + j + 1);
        } else {
            axpy(rest, x[j], d + 1, x + j + 1);
            x[j] *= *d;
        }
    }
}

/* ---- matrices ---- */

enum { TILE = 64 }; /* rows of A by TILE columns stay in the first cache */

static double element(const double *a, at lda, int trans, at i, at j) {
    return trans ? a[j + i * lda] : a[i + j * lda];
}

/* C += alpha A op(B), A with its columns as they are; with `lower` the lower triangle of C alone.
 * Four columns of A at a time: C is read and written once for the four. */
static void multiply(at m, at n, at k, double alpha, const double *a, at lda, const double *b,
                     at ldb, int tb, int lower, double *c, at ldc) {
    for (at p0 = 0; p0 < k; p0 += TILE) {
        at end = p0 + TILE < k ? p0 + TILE : k;
        for (at j = 0; j < n; j++) {
            at from = lower ? j : 0, rows = m - from, p = p0;
            double *to = c + j * ldc + from;
            for (; p + 4 <= end; p += 4) {
                const double *x = a + p * lda + from;
                double f[4];
                for (at q = 0; q < 4; q++) f[q] = alpha * element(b, ldb, tb, p + q, j);
                for (at i = 0; i < rows; i++)
                    to[i] += (f[0] * x[i] + f[1] * x[i + lda]) +
                             (f[2] * x[i + 2 * lda] + f[3] * x[i + 3 * lda]);
            }
            for (; p < end; p++)
                axpy(rows, alpha * element(b, ldb, tb, p, j), a + p * lda + from, to);
        }
    }
}

void WEB_NAME(cblas_dgemm)(enum CBLAS_ORDER order, enum CBLAS_TRANSPOSE ta, enum CBLAS_TRANSPOSE tb,
                           int m, int n, int k, double alpha, const double *a, int lda,
                           const double *b, int ldb, double beta, double *c, int ldc) {
    at rows = (at)m, columns = (at)n, depth = (at)k, la = (at)lda, lb = (at)ldb;
    for (at j = 0; j < columns; j++) scale(rows, beta, c + j * (at)ldc);
    if (ta != CblasTrans) {
        multiply(rows, columns, depth, alpha, a, la, b, lb, tb == CblasTrans, 0, c, (at)ldc);
        return;
    }
    for (at j = 0; j < columns; j++)
        for (at i = 0; i < rows; i++) {
            double s = 0;
            if (tb != CblasTrans)
                s = dot(depth, a + i * la, b + j * lb);
            else
                for (at p = 0; p < depth; p++) s += a[p + i * la] * b[j + p * lb];
            c[i + j * (at)ldc] += alpha * s;
        }
}

void WEB_NAME(cblas_dsyrk)(enum CBLAS_ORDER order, enum CBLAS_UPLO uplo, enum CBLAS_TRANSPOSE trans,
                           int n, int k, double alpha, const double *a, int lda, double beta,
                           double *c, int ldc) {
    at size = (at)n, depth = (at)k, la = (at)lda;
    for (at j = 0; j < size; j++) scale(size - j, beta, c + j * (at)ldc + j);
    if (trans != CblasTrans) {
        multiply(size, size, depth, alpha, a, la, a, la, 1, 1, c, (at)ldc);
        return;
    }
    for (at j = 0; j < size; j++)
        for (at i = j; i < size; i++)
            c[i + j * (at)ldc] += alpha * dot(depth, a + i * la, a + j * la);
}

/* Left: every column is solved. Right, X L' = B: column j of X follows from those before it;
 * X L = B: from those behind it. */
void WEB_NAME(cblas_dtrsm)(enum CBLAS_ORDER order, enum CBLAS_SIDE side, enum CBLAS_UPLO uplo,
                           enum CBLAS_TRANSPOSE trans, enum CBLAS_DIAG diag, int m, int n,
                           double alpha, const double *a, int lda, double *b, int ldb) {
    at rows = (at)m, columns = (at)n, la = (at)lda, lb = (at)ldb;
    for (at j = 0; j < columns; j++) scale(rows, alpha, b + j * lb);
    if (side == CblasLeft) {
        for (at j = 0; j < columns; j++)
            WEB_NAME(cblas_dtrsv)(order, uplo, trans, diag, m, a, lda, b + j * lb, 1);
        return;
    }
    for (at k = 0; k < columns; k++) {
        at j = trans == CblasTrans ? k : columns - 1 - k;
        at from = trans == CblasTrans ? 0 : j + 1, to = trans == CblasTrans ? j : columns;
        for (at i = from; i < to; i++)
            axpy(rows, -(trans == CblasTrans ? a[j + i * la] : a[i + j * la]), b + i * lb,
                 b + j * lb);
        for (at i = 0; i < rows; i++) b[i + j * lb] /= a[j + j * la];
    }
}

/* ---- LAPACK ---- */

void WEB_NAME(dpotri_)(const char *uplo, const int *n, double *a, const int *lda, int *info);
void WEB_NAME(dgetrf_)(const int *m, const int *n, double *a, const int *lda, int *ipiv, int *info);
void WEB_NAME(dgetrs_)(const char *trans, const int *n, const int *nrhs, const double *a,
                       const int *lda, const int *ipiv, double *b, const int *ldb, int *info);
void WEB_NAME(dsyevd_)(const char *jobz, const char *uplo, const int *n, double *a, const int *lda,
                       double *w, double *work, const int *lwork, int *iwork, const int *liwork,
                       int *info);

/* (L L')^-1 = M'M with M = L^-1, lower triangles, in place. */
void WEB_NAME(dpotri_)(const char *uplo, const int *n, double *a, const int *lda, int *info) {
    at size = (at)*n, ld = (at)*lda;
    *info = 0;
    for (at j = 0; j < size; j++) { /* column j of M by forward substitution */
        double *x = a + j * ld;
        x[j] = 1 / x[j];
        for (at i = j + 1; i < size; i++) x[i] *= -x[j];
        for (at i = j + 1; i < size; i++) {
            x[i] /= a[i + i * ld];
            axpy(size - i - 1, -x[i], a + i * ld + i + 1, x + i + 1);
        }
    }
    for (at j = 0; j < size; j++)
        for (at i = j; i < size; i++) a[i + j * ld] = dot(size - i, a + i * ld + i, a + j * ld + i);
}

void WEB_NAME(dgetrf_)(const int *m, const int *n, double *a, const int *lda, int *ipiv,
                       int *info) {
    at size = (at)*n, ld = (at)*lda;
    *info = 0;
    for (at k = 0; k < size; k++) {
        at best = k;
        for (at i = k + 1; i < size; i++)
            if (fabs(a[i + k * ld]) > fabs(a[best + k * ld])) best = i;
        ipiv[k] = (int)best + 1;
        if (a[best + k * ld] == 0) {
            if (!*info) *info = (int)k + 1;
            continue;
        }
        for (at j = 0; j < size && best != k; j++) {
            double t = a[k + j * ld];
            a[k + j * ld] = a[best + j * ld];
            a[best + j * ld] = t;
        }
        for (at i = k + 1; i < size; i++) a[i + k * ld] /= a[k + k * ld];
        for (at j = k + 1; j < size; j++)
            axpy(size - k - 1, -a[k + j * ld], a + k * ld + k + 1, a + j * ld + k + 1);
    }
}

/* With P A = L U, not transposed: the one case that is called. */
void WEB_NAME(dgetrs_)(const char *trans, const int *n, const int *nrhs, const double *a,
                       const int *lda, const int *ipiv, double *b, const int *ldb, int *info) {
    at size = (at)*n, ld = (at)*lda;
    *info = 0;
    for (int r = 0; r < *nrhs; r++) {
        double *x = b + (at)r * (at)*ldb;
        for (at k = 0; k < size; k++) {
            at p = (at)ipiv[k] - 1;
            double t = x[k];
            x[k] = x[p];
            x[p] = t;
        }
        for (at k = 0; k < size; k++) axpy(size - k - 1, -x[k], a + k * ld + k + 1, x + k + 1);
        for (at k = size; k-- > 0;) {
            x[k] /= a[k + k * ld];
            axpy(k, -x[k], a + k * ld, x);
        }
    }
}

/* Eigenvalues and vectors by Jacobi's rotations, cyclically, until what is off the diagonal is
 * nothing beside it: slower than the library's, as exact. */
static void rotate(double *x, double *y, at n, double c, double s) {
    for (at i = 0; i < n; i++) {
        double t = x[i];
        x[i] = c * t - s * y[i];
        y[i] = s * t + c * y[i];
    }
}

static double off_diagonal(const double *a, at n) {
    double sum = 0;
    for (at j = 0; j < n; j++)
        for (at i = 0; i < n; i++) sum += i == j ? 0 : a[i + j * n] * a[i + j * n];
    return sqrt(sum);
}

/* a: full, symmetric; v: the vectors as columns */
static int jacobi(double *a, double *v, at n) {
    double size = 0;
    for (at i = 0; i < n * n; i++) size += a[i] * a[i];
    size = sqrt(size);
    for (int sweep = 0; sweep < 60; sweep++) {
        if (off_diagonal(a, n) <= 1e-15 * size) return 0;
        for (at p = 0; p < n; p++)
            for (at q = p + 1; q < n; q++) {
                double apq = a[p + q * n];
                if (apq == 0) continue;
                double theta = (a[q + q * n] - a[p + p * n]) / (2 * apq);
                double t = copysign(1, theta) / (fabs(theta) + sqrt(theta * theta + 1));
                double c = 1 / sqrt(t * t + 1), s = t * c;
                rotate(a + p * n, a + q * n, n, c, s); /* columns, then rows */
                for (at i = 0; i < n; i++) {
                    double x = a[p + i * n], y = a[q + i * n];
                    a[p + i * n] = c * x - s * y;
                    a[q + i * n] = s * x + c * y;
                }
                rotate(v + p * n, v + q * n, n, c, s);
            }
    }
    return off_diagonal(a, n) <= 1e-12 * size ? 0 : 1;
}

void WEB_NAME(dsyevd_)(const char *jobz, const char *uplo, const int *n, double *a, const int *lda,
                       double *w, double *work, const int *lwork, int *iwork, const int *liwork,
                       int *info) {
    at size = (at)*n, ld = (at)*lda;
    *info = 0;
    if (*lwork < 0) { /* how much memory? */
        *work = (double)(2 * size * size + 1);
        *iwork = (int)size + 1;
        return;
    }
    double *full = work, *v = work + size * size;
    memset(v, 0, size * size * sizeof *v);
    for (at j = 0; j < size; j++) {
        v[j + j * size] = 1;
        for (at i = j; i < size; i++) full[i + j * size] = full[j + i * size] = a[i + j * ld];
    }
    *info = jacobi(full, v, size);
    for (at i = 0; i < size; i++) iwork[i] = (int)i;
    for (at i = 1; i < size; i++) /* ascending */
        for (at j = i; j > 0; j--) {
            at x = (at)iwork[j], y = (at)iwork[j - 1];
            if (full[x + x * size] >= full[y + y * size]) break;
            iwork[j] = (int)y;
            iwork[j - 1] = (int)x;
        }
    for (at j = 0; j < size; j++) {
        at from = (at)iwork[j];
        w[j] = full[from + from * size];
        memcpy(a + j * ld, v + from * size, size * sizeof *a);
    }
}
