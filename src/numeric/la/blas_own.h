/* SPDX-License-Identifier: Apache-2.0
 *
 * The surroundings of the library's own OpenBLAS: tools/blas lets it call these in place of getenv
 * and of Fortran's library. */
#ifndef LA_BLAS_OWN_H
#define LA_BLAS_OWN_H
#include <stddef.h>

/* OpenBLAS's name of the core with this machine's instructions; NULL if OpenBLAS chooses better. */
const char *own_core(void);
/* A user's setting precedes own_core. The number of threads is always 1. */
char *own_getenv(const char *name);
void own_concat(size_t n, char *to, size_t na, const char *a, size_t nb, const char *b);
#endif
