/* SPDX-License-Identifier: Apache-2.0
 * Column-major matrices with a leading dimension: element (i, j) is a[i + j * ld]. */
#ifndef LA_MAT_H
#define LA_MAT_H
#include <math.h>
#include <stddef.h>

/* A good leading dimension for n rows: a multiple of 8 doubles, but not of 512, since columns a
 * power of two apart share cache sets. */
static inline size_t mat_ld(size_t n) {
    size_t ld = (n + 7) & ~(size_t)7;
    return ld % 512 == 0 && ld ? ld + 8 : ld;
}

/* The largest |v_i|; 0 for an empty vector, and for NaN. */
static inline double mat_max_abs(const double *v, size_t n) {
    double m = 0;
    for (size_t i = 0; i < n; i++) m = fmax(m, fabs(v[i]));
    return m;
}

/* Orthonormal columns that span those of q (n x k), in place; returns their number. */
size_t mat_orthonormal(double *q, size_t n, size_t k);
/* Copies the lower triangle onto the upper one. */
void mat_mirror(double *a, size_t n, size_t ld);
#endif
