/* SPDX-License-Identifier: Apache-2.0
 * Column-major matrices with a leading dimension: element (i, j) is a[i + j * ld]. */
#ifndef LA_MAT_H
#define LA_MAT_H
#include <stddef.h>

/* A good leading dimension for n rows: a multiple of 8 doubles, but not of 512, because columns a
 * power of two apart fight for the same cache sets. */
static inline size_t mat_ld(size_t n) {
    size_t ld = (n + 7) & ~(size_t)7;
    return ld % 512 == 0 && ld ? ld + 8 : ld;
}

/* Copies the lower triangle onto the upper one. */
void mat_mirror(double *a, size_t n, size_t ld);
#endif
