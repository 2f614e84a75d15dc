/* SPDX-License-Identifier: Apache-2.0
 *
 * The BLAS of builds without a library (web/blas.c) beside OpenBLAS: every routine, sizes around
 * the tiles, both transposes.
 */
#include "support/check.h"
#include <cblas.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

void dpotri_(const char *, const int *, double *, const int *, int *);
void dgetrf_(const int *, const int *, double *, const int *, int *, int *);
void dgetrs_(const char *, const int *, const int *, const double *, const int *, const int *,
             double *, const int *, int *);
void dsyevd_(const char *, const char *, const int *, double *, const int *, double *, double *,
             const int *, int *, const int *, int *);

/* under names of their own, which no header declares */
#pragma GCC diagnostic ignored "-Wmissing-prototypes"
#define WEB_NAME(name) web_##name
#include "../../web/blas.c"

enum { MOST = 150 };
static double a[MOST * MOST], b[MOST * MOST], c1[MOST * MOST], c2[MOST * MOST];
static const int sizes[] = {1, 2, 3, 5, 8, 33, 64, 65, 130, 150};

static void fill(void) {
    static uint64_t s = 1;
    for (int i = 0; i < MOST * MOST; i++) {
        s = s * 6364136223846793005u + 1442695040888963407u;
        a[i] = (double)(s >> 11) * 0x1p-53 - 0.5;
        b[i] = (double)(s >> 20 & 0xfffff) * 0x1p-20 - 0.5;
        c1[i] = c2[i] = (double)(s >> 40) * 0x1p-24 - 0.5;
    }
}

/* A triangle whose solves do not grow. */
static void make_factor(int n) {
    for (int i = 0; i < n; i++) a[i + i * MOST] = 2 + n + fabs(a[i + i * MOST]);
}

static void same_to(const double *x, const double *y, double tolerance) {
    double worst = 0, size = 0;
    for (int i = 0; i < MOST * MOST; i++) {
        worst = fmax(worst, fabs(x[i] - y[i]));
        size = fmax(size, fabs(y[i]));
    }
    assert_close(worst / (size + 1), 0, tolerance);
}

static void same(const double *x, const double *y) {
    same_to(x, y, 1e-13);
}

static void products(void **state) {
    for (size_t q = 0; q < sizeof sizes / sizeof *sizes; q++)
        for (int t = 0; t < 4; t++) {
            int n = sizes[q], m = sizes[(q + 3) % 10], k = sizes[(q + 6) % 10];
            enum CBLAS_TRANSPOSE ta = t & 1 ? CblasTrans : CblasNoTrans,
                                 tb = t & 2 ? CblasTrans : CblasNoTrans;
            double beta = t == 0 ? 0 : t == 1 ? 1 : -0.5;
            fill();
            cblas_dgemm(CblasColMajor, ta, tb, m, n, k, 1.5, a, MOST, b, MOST, beta, c1, MOST);
            web_cblas_dgemm(CblasColMajor, ta, tb, m, n, k, 1.5, a, MOST, b, MOST, beta, c2, MOST);
            same(c2, c1);
            cblas_dsyrk(CblasColMajor, CblasLower, ta, n, k, -1, a, MOST, beta, c1, MOST);
            web_cblas_dsyrk(CblasColMajor, CblasLower, ta, n, k, -1, a, MOST, beta, c2, MOST);
            same(c2, c1);
            cblas_dgemv(CblasColMajor, ta, m, n, 2, a, MOST, b, 1, beta, c1, 1);
            web_cblas_dgemv(CblasColMajor, ta, m, n, 2, a, MOST, b, 1, beta, c2, 1);
            same(c2, c1);
            cblas_dsymv(CblasColMajor, CblasLower, n, 2, a, MOST, b, 1, beta, c1, 1);
            web_cblas_dsymv(CblasColMajor, CblasLower, n, 2, a, MOST, b, 1, beta, c2, 1);
            same(c2, c1);
            assert_close(web_cblas_ddot(n, a, 1 + t, b, 1), cblas_ddot(n, a, 1 + t, b, 1), 1e-13);
        }
}

static void triangles(void **state) {
    for (size_t q = 0; q < sizeof sizes / sizeof *sizes; q++)
        for (int t = 0; t < 4; t++) {
            int n = sizes[q], m = sizes[(q + 4) % 10];
            enum CBLAS_TRANSPOSE ta = t & 1 ? CblasTrans : CblasNoTrans;
            enum CBLAS_SIDE side = t & 2 ? CblasRight : CblasLeft;
            fill();
            make_factor(n);
            int rows = side == CblasLeft ? n : m, columns = side == CblasLeft ? m : n;
            cblas_dtrsm(CblasColMajor, side, CblasLower, ta, CblasNonUnit, rows, columns, 1, a,
                        MOST, c1, MOST);
            web_cblas_dtrsm(CblasColMajor, side, CblasLower, ta, CblasNonUnit, rows, columns, 1, a,
                            MOST, c2, MOST);
            same(c2, c1);
            cblas_dtrsv(CblasColMajor, CblasLower, ta, CblasNonUnit, n, a, MOST, c1, 1);
            web_cblas_dtrsv(CblasColMajor, CblasLower, ta, CblasNonUnit, n, a, MOST, c2, 1);
            same(c2, c1);
            cblas_dtrmv(CblasColMajor, CblasLower, ta, CblasNonUnit, n, a, MOST, c1, 1);
            web_cblas_dtrmv(CblasColMajor, CblasLower, ta, CblasNonUnit, n, a, MOST, c2, 1);
            same(c2, c1);
        }
}

static void factors(void **state) {
    int ld = MOST, info, p1[MOST], p2[MOST], two = 2;
    for (size_t q = 0; q < sizeof sizes / sizeof *sizes; q++) {
        int n = sizes[q];
        fill();
        make_factor(n);
        memcpy(c1, a, sizeof a);
        memcpy(c2, a, sizeof a);
        dpotri_("L", &n, c1, &ld, &info);
        web_dpotri_("L", &n, c2, &ld, &info);
        for (int j = 0; j < n; j++) /* the other triangle is scratch */
            for (int i = 0; i < j; i++) c1[i + j * MOST] = c2[i + j * MOST] = 0;
        same(c2, c1);
        fill();
        memcpy(c1, a, sizeof a);
        memcpy(c2, a, sizeof a);
        dgetrf_(&n, &n, c1, &ld, p1, &info);
        web_dgetrf_(&n, &n, c2, &ld, p2, &info);
        same_to(c2, c1, 1e-11); /* rounding grows with the condition of what is left */
        for (int i = 0; i < n; i++) assert_int_equal(p1[i], p2[i]);
        memcpy(a, b, sizeof a);
        dgetrs_("N", &n, &two, c1, &ld, p1, a, &ld, &info);
        web_dgetrs_("N", &n, &two, c1, &ld, p1, b, &ld, &info);
        for (int i = 0; i < 2 * MOST; i++) assert_close(b[i], a[i], 1e-9);
    }
}

/* Values beside the library's; vectors by what they are: A V = V W, V'V = 1. */
static void eigenvalues(void **state) {
    static double work[3 * MOST * MOST + 1], w1[MOST], w2[MOST];
    static int iwork[8 * MOST];
    int ld = MOST, info, lwork = 3 * MOST * MOST, liwork = 8 * MOST;
    for (size_t q = 0; q < sizeof sizes / sizeof *sizes; q++) {
        int n = sizes[q];
        fill();
        memcpy(c1, a, sizeof a);
        memcpy(c2, a, sizeof a);
        dsyevd_("V", "L", &n, c1, &ld, w1, work, &lwork, iwork, &liwork, &info);
        web_dsyevd_("V", "L", &n, c2, &ld, w2, work, &lwork, iwork, &liwork, &info);
        assert_int_equal(info, 0);
        for (int j = 0; j < n; j++) {
            assert_close(w2[j], w1[j], 1e-12 * n);
            for (int k = 0; k <= j; k++)
                assert_close(dot((size_t)n, c2 + j * MOST, c2 + k * MOST), j == k, 1e-12);
            memset(b, 0, MOST * sizeof *b);
            web_cblas_dsymv(CblasColMajor, CblasLower, n, 1, a, MOST, c2 + j * MOST, 1, 0, b, 1);
            for (int i = 0; i < n; i++) assert_close(b[i], w2[j] * c2[i + j * MOST], 1e-12 * n);
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(products), cmocka_unit_test(triangles),
                                       cmocka_unit_test(factors), cmocka_unit_test(eigenvalues)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
