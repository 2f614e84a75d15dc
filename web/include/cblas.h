/* SPDX-License-Identifier: Apache-2.0
 *
 * The routines of BLAS that src/numeric/la calls, for builds without a library of them (web/blas.c). The
 * names and numbers are those of the reference interface.
 */
#ifndef WEB_CBLAS_H
#define WEB_CBLAS_H
enum CBLAS_ORDER { CblasRowMajor = 101, CblasColMajor = 102 };
enum CBLAS_TRANSPOSE { CblasNoTrans = 111, CblasTrans = 112 };
enum CBLAS_UPLO { CblasUpper = 121, CblasLower = 122 };
enum CBLAS_DIAG { CblasNonUnit = 131, CblasUnit = 132 };
enum CBLAS_SIDE { CblasLeft = 141, CblasRight = 142 };

double cblas_ddot(int n, const double *x, int incx, const double *y, int incy);
void cblas_dgemv(enum CBLAS_ORDER, enum CBLAS_TRANSPOSE, int m, int n, double alpha,
                 const double *a, int lda, const double *x, int incx, double beta, double *y,
                 int incy);
void cblas_dsymv(enum CBLAS_ORDER, enum CBLAS_UPLO, int n, double alpha, const double *a, int lda,
                 const double *x, int incx, double beta, double *y, int incy);
void cblas_dgemm(enum CBLAS_ORDER, enum CBLAS_TRANSPOSE, enum CBLAS_TRANSPOSE, int m, int n, int k,
                 double alpha, const double *a, int lda, const double *b, int ldb, double beta,
                 double *c, int ldc);
void cblas_dsyrk(enum CBLAS_ORDER, enum CBLAS_UPLO, enum CBLAS_TRANSPOSE, int n, int k,
                 double alpha, const double *a, int lda, double beta, double *c, int ldc);
void cblas_dtrsm(enum CBLAS_ORDER, enum CBLAS_SIDE, enum CBLAS_UPLO, enum CBLAS_TRANSPOSE,
                 enum CBLAS_DIAG, int m, int n, double alpha, const double *a, int lda, double *b,
                 int ldb);
void cblas_dtrsv(enum CBLAS_ORDER, enum CBLAS_UPLO, enum CBLAS_TRANSPOSE, enum CBLAS_DIAG, int n,
                 const double *a, int lda, double *x, int incx);
void cblas_dtrmv(enum CBLAS_ORDER, enum CBLAS_UPLO, enum CBLAS_TRANSPOSE, enum CBLAS_DIAG, int n,
                 const double *a, int lda, double *x, int incx);
#endif
