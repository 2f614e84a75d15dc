/* SPDX-License-Identifier: Apache-2.0
 * BLAS and LAPACK behind size_t and lower triangles; see blas.h. */
#include "numeric/la/blas.h"

#include "base/mem.h"
#include "base/work.h"
#include "numeric/la/mat.h"
#include "numeric/la/blas_own.h"
#include <string.h>
#include "numeric/la/vec_ops.h"

#include <cblas.h>
#include <pthread.h>
#include <sys/mman.h>

/* LAPACK's Fortran symbols; OpenBLAS exports them without a C header. */
void dsyevd_(const char *jobz, const char *uplo, const int *n, double *a, const int *lda, double *w,
             double *work, const int *lwork, int *iwork, const int *liwork, int *info);
void openblas_set_num_threads(int n);
/* OpenBLAS's allocator of work buffers, one per thread inside it; not in a public header. */
__attribute__((weak)) void *blas_memory_alloc(int position);
__attribute__((weak)) void blas_memory_free(void *buffer);
__attribute__((weak)) char *openblas_get_corename(void);

#define SYEVD_SECONDS 3e-10 /* time of LAPACK's call for all eigenvalues, divided by n^3 */

static pthread_once_t once = PTHREAD_ONCE_INIT;

static void start(void) {
    double a[64 * 64] = {0}, b[64 * 64] = {0}, c[64 * 64] = {0};
    openblas_set_num_threads(1);
    cblas_dgemm(CblasColMajor, CblasNoTrans, CblasTrans, 64, 64, 64, 1, a, 64, b, 64, 0, c, 64);
}

const char *la_blas_core(void) {
    return openblas_get_corename ? openblas_get_corename() : "built in";
}

/* The cores OpenBLAS falls back to for unknown processors (of Intel, AMD, and another maker). None
 * of them had the instructions that own_core looks for. */
const char *la_blas_better_core(void) {
    static const char *const old[] = {
        "Katmai",  "Coppermine",   "Northwood",  "Prescott", "Banias",      "Atom",
        "Core2",   "Penryn",       "Dunnington", "Nehalem",  "Sandybridge", "Athlon",
        "Opteron", "Opteron_SSE3", "Barcelona",  "Bobcat",   "Nano"};
    for (size_t i = 0; i < sizeof old / sizeof *old; i++)
        if (strcmp(la_blas_core(), old[i]) == 0) return own_core();
    return NULL;
}

void la_init(void) {
    pthread_once(&once, start);
}

enum { BUFFER = 136 << 20, MOST_BUFFERS = 64 }; /* 128 MiB and a page on x86-64, less elsewhere */

static pthread_mutex_t buffers_lock = PTHREAD_MUTEX_INITIALIZER;
static size_t inside, buffers; /* threads inside BLAS; work buffers OpenBLAS holds */

static bool room_for_buffer(void) {
    void *p = mmap(NULL, BUFFER, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return p != MAP_FAILED && munmap(p, BUFFER) == 0;
}

/* OpenBLAS keeps buffers once made, so holding `want` of them at a time leaves that many. */
static bool make_buffers(size_t want) {
    void *held[MOST_BUFFERS];
    size_t n = 0;
    if (!blas_memory_alloc || !blas_memory_free) return room_for_buffer();
    while (n < want && (n < buffers || room_for_buffer())) held[n++] = blas_memory_alloc(0);
    if (n > buffers) buffers = n;
    for (size_t i = 0; i < n; i++) blas_memory_free(held[i]);
    return n == want;
}

bool la_enter(size_t threads) {
    pthread_mutex_lock(&buffers_lock);
    size_t want = inside + threads < MOST_BUFFERS ? inside + threads : MOST_BUFFERS;
    bool fits = want <= buffers || make_buffers(want);
    if (fits) inside += threads;
    pthread_mutex_unlock(&buffers_lock);
    return fits;
}

void la_leave(size_t threads) {
    pthread_mutex_lock(&buffers_lock);
    inside -= threads;
    pthread_mutex_unlock(&buffers_lock);
}

void la_gemv(size_t m, size_t n, double alpha, const double *a, size_t lda, const double *x,
             double beta, double *y) {
    if (m == 1 && n)
        y[0] = beta * y[0] + alpha * cblas_ddot((int)n, a, (int)lda, x, 1);
    else if (m && n)
        cblas_dgemv(CblasColMajor, CblasNoTrans, (int)m, (int)n, alpha, a, (int)lda, x, 1, beta, y,
                    1);
    else
        for (size_t i = 0; i < m; i++) y[i] *= beta;
}

void la_symv(size_t n, double alpha, const double *a, size_t lda, const double *x, double beta,
             double *y) {
    if (n) cblas_dsymv(CblasColMajor, CblasLower, (int)n, alpha, a, (int)lda, x, 1, beta, y, 1);
}

/* Number of columns (or rows) of a result to compute between two checks of the work limits, given
 * the operations per column; all n if that is quick. */
static size_t piece(size_t n, double each) {
    const double long_call = 1e10;
    size_t at_once = each * (double)n > long_call ? (size_t)(long_call / each) : n;
    return at_once < n ? (at_once + 64) & ~(size_t)63 : n;
}

void la_gemm(bool ta, bool tb, size_t m, size_t n, size_t k, double alpha, const double *a,
             size_t lda, const double *b, size_t ldb, double beta, double *c, size_t ldc) {
    size_t w = m ? piece(n, (double)m * (double)k) : 0;
    for (size_t j = 0; m && j < n && (j == 0 || !work_ends()); j += w)
        cblas_dgemm(CblasColMajor, ta ? CblasTrans : CblasNoTrans, tb ? CblasTrans : CblasNoTrans,
                    (int)m, (int)(w < n - j ? w : n - j), (int)k, alpha, a, (int)lda,
                    b + (tb ? j : j * ldb), (int)ldb, beta, c + j * ldc, (int)ldc);
}

void la_syrk(bool trans, size_t n, size_t k, double alpha, const double *a, size_t lda, double beta,
             double *c, size_t ldc) {
    if (n == 1) {
        int step = trans ? 1 : (int)lda;
        c[0] = beta * c[0] + alpha * cblas_ddot((int)k, a, step, a, step);
        return;
    }
    size_t w = n ? piece(n, (double)n * (double)k) : 0, step = trans ? lda : 1;
    for (size_t j = 0; j < n && (j == 0 || !work_ends()); j += w) {
        size_t cols = w < n - j ? w : n - j, below = n - j - cols;
        const double *at = a + j * step, *rest = at + cols * step;
        cblas_dsyrk(CblasColMajor, CblasLower, trans ? CblasTrans : CblasNoTrans, (int)cols, (int)k,
                    alpha, at, (int)lda, beta, c + j + j * ldc, (int)ldc);
        la_gemm(trans, !trans, below, cols, k, alpha, rest, lda, at, lda, beta,
                c + j + cols + j * ldc, ldc);
    }
}

void la_trsm(bool trans, size_t n, size_t nrhs, const double *l, size_t ldl, double *b,
             size_t ldb) {
    if (nrhs == 1) {
        la_trsv(trans, n, l, ldl, b);
        return;
    }
    size_t w = n ? piece(nrhs, (double)n * (double)n) : 0;
    for (size_t j = 0; n && j < nrhs && (j == 0 || !work_ends()); j += w)
        cblas_dtrsm(CblasColMajor, CblasLeft, CblasLower, trans ? CblasTrans : CblasNoTrans,
                    CblasNonUnit, (int)n, (int)(w < nrhs - j ? w : nrhs - j), 1, l, (int)ldl,
                    b + j * ldb, (int)ldb);
}

void la_trsm_right(bool trans, size_t m, size_t n, const double *l, size_t ldl, double *b,
                   size_t ldb) {
    size_t w = n ? piece(m, (double)n * (double)n) : 0;
    for (size_t i = 0; n && i < m && (i == 0 || !work_ends()); i += w)
        cblas_dtrsm(CblasColMajor, CblasRight, CblasLower, trans ? CblasTrans : CblasNoTrans,
                    CblasNonUnit, (int)(w < m - i ? w : m - i), (int)n, 1, l, (int)ldl, b + i,
                    (int)ldb);
}

void la_trsv(bool trans, size_t n, const double *l, size_t ldl, double *x) {
    enum { SMALL = 32 }; /* too small for a call of BLAS */
    if (n <= SMALL)
        vec_ops()->trsv(trans, n, l, ldl, x);
    else
        cblas_dtrsv(CblasColMajor, CblasLower, trans ? CblasTrans : CblasNoTrans, CblasNonUnit,
                    (int)n, l, (int)ldl, x, 1);
}

void la_trmv(bool trans, size_t n, const double *l, size_t ldl, double *x) {
    if (n)
        cblas_dtrmv(CblasColMajor, CblasLower, trans ? CblasTrans : CblasNoTrans, CblasNonUnit,
                    (int)n, l, (int)ldl, x, 1);
}

enum gpm_status la_syev(size_t n, double *a, size_t lda, double *w) {
    int in = (int)n, il = (int)lda, info = 0, lwork = -1, liwork = -1, iwant = 0;
    double want = 0;
    if (n == 0) return GPM_OK;
    la_init();
    if (!work_time(SYEVD_SECONDS * (double)n * (double)n * (double)n)) return GPM_E_LIMIT;
    dsyevd_("V", "L", &in, a, &il, w, &want, &lwork, &iwant, &liwork, &info);
    lwork = (int)want;
    liwork = iwant;
    double *work = mem_try_doubles((size_t)lwork);
    int *iwork = mem_try_alloc((size_t)liwork, sizeof(int));
    if (work && iwork) dsyevd_("V", "L", &in, a, &il, w, work, &lwork, iwork, &liwork, &info);
    enum gpm_status st = !work || !iwork ? GPM_E_NOMEM : info ? GPM_E_NO_CONVERGENCE : GPM_OK;
    mem_free(work);
    mem_free(iwork);
    return st;
}

void mat_mirror(double *a, size_t n, size_t ld) {
    enum { TILE = 32 }; /* both the row and the column side of a tile stay in cache */
    for (size_t jb = 0; jb < n; jb += TILE)
        for (size_t ib = jb; ib < n; ib += TILE)
            for (size_t j = jb; j < n && j < jb + TILE; j++)
                for (size_t i = ib > j ? ib : j + 1; i < n && i < ib + TILE; i++)
                    a[j + i * ld] = a[i + j * ld];
}

/* Gram-Schmidt, applied twice. */
size_t mat_orthonormal(double *q, size_t n, size_t k) {
    size_t rank = 0;
    for (size_t j = 0; j < k && rank < n; j++) {
        double *x = q + rank * n, norm = 0, left = 0;
        memmove(x, q + j * n, n * sizeof *x);
        for (size_t i = 0; i < n; i++) norm += x[i] * x[i];
        for (int twice = 0; twice < 2; twice++)
            for (size_t c = 0; c < rank; c++) {
                double dot = 0;
                for (size_t i = 0; i < n; i++) dot += q[i + c * n] * x[i];
                for (size_t i = 0; i < n; i++) x[i] -= dot * q[i + c * n];
            }
        for (size_t i = 0; i < n; i++) left += x[i] * x[i];
        if (!(left > 1e-16 * norm)) continue;
        for (size_t i = 0; i < n; i++) x[i] /= sqrt(left);
        rank++;
    }
    return rank;
}
