/* SPDX-License-Identifier: Apache-2.0
 *
 * Vector primitives: elementwise exp and log, the inner loops of kernel fills and gradients, and
 * the small Cholesky. One body (vec_body.h) is compiled once per instruction set (vec_generic.c,
 * vec_avx2.c, vec_avx512.c); vec_ops picks the best one the machine has, so results are the same
 * from run to run on one machine. Inputs may not overlap the output unless they are the same array.
 *
 * Errors, tested: exp below 1 ulp (results under 2.3e-308 become 0, overflow gives inf), log below
 * 1 ulp on normal positive numbers.
 */
#ifndef LA_VEC_OPS_H
#define LA_VEC_OPS_H
#include <stdbool.h>
#include <stddef.h>

struct vec_ops {
    const char *name;
    void (*exp_scale)(size_t n, double a, double *x); /* x = a exp(x) */
    void (*log)(size_t n, double *x);                 /* x = log(x); x > 0, normal */
    void (*sub_sqdiff)(size_t n, const double *u, double v, double *out); /* out -= (u - v)^2 */
    /* out = sum over d columns c of (u_c - v_c)^2, column c of u at u + c ld */
    void (*sqdist)(size_t n, size_t d, const double *u, size_t ld, const double *v, double *out);
    /* a = f sqrt(q), e = exp(-a); a may be q */
    void (*decay)(size_t n, const double *q, double f, double *a, double *e);
    /* out += min(0, c cj + s sj - k) */
    void (*add_cosdiff)(size_t n, const double *c, const double *s, double cj, double sj, double k,
                        double *out);
    void (*mul)(size_t n, const double *x, double *out);                /* out *= x */
    void (*axpy)(size_t n, double a, const double *x, double *out);     /* out += a x */
    void (*scale)(size_t n, double a, double *out);                     /* out *= a */
    void (*scale_to)(size_t n, double a, const double *x, double *out); /* out = a x */
    void (*add_square)(size_t n, const double *x, double *out);         /* out += x^2 */
    double (*sum)(size_t n, const double *x);
    double (*dot)(size_t n, const double *x, const double *y);
    double (*dot_sqdiff)(size_t n, const double *w, const double *u, double v); /* sum w (u-v)^2 */
    double (*dot_diff)(size_t n, const double *w, const double *u, double v);   /* sum w (u-v) */
    double (*dot_cos)(size_t n, const double *w, const double *t); /* sum w cos(2 pi t), to 1e-12 */
    void (*sin_scale)(size_t n, const double *w, double *t);       /* t = w sin(2 pi t) */
    /* sum w min(0, c cj + s sj - k) */
    double (*dot_cosdiff)(size_t n, const double *w, const double *c, const double *s, double cj,
                          double sj, double k);
    /* sum w (s cj - c sj)(x - xj) */
    double (*dot_sindiff)(size_t n, const double *w, const double *c, const double *s,
                          const double *x, double cj, double sj, double xj);
    /* One step of the Schur algorithm (toeplitz.c), in place: u = (u - rho v) f, v = v/f - rho u,
     * then y -= z u. */
    void (*schur)(size_t n, double rho, double f, double z, double *u, double *v, double *y);
    /* One step of Levinson's, in place: f = f + c b, b = b + c f. */
    void (*reflect)(size_t n, double c, double *f, double *b);
    /* Cholesky factor of a lower triangle in place: 0, 1 + the failing pivot, or SIZE_MAX when out
     * of memory. The upper triangle is not touched. */
    size_t (*potrf)(size_t n, double *a, size_t lda);
    /* Lower triangle of (LL')^-1 into a, which may be l: 0, or SIZE_MAX when out of memory. */
    size_t (*potri)(size_t n, const double *l, size_t ldl, double *a, size_t lda);
    /* B = B L^-T in place, B m x n with its rows contiguous in columns: 0, or SIZE_MAX. */
    size_t (*solve_rows)(size_t n, const double *l, size_t ld, size_t m, double *b, size_t ldb);
    void (*trsv)(bool trans, size_t n, const double *l, size_t ld, double *x); /* small sizes */
    size_t potrf_max, potri_max; /* sizes up to which these beat BLAS and LAPACK */
    size_t block;                /* width of block columns above potrf_max; 0: halve instead */
};

const struct vec_ops *vec_ops(void);
/* All variants this machine can run, for the tests; NULL past the last one. */
const struct vec_ops *vec_ops_at(int i);
#endif
