/* SPDX-License-Identifier: Apache-2.0
 *
 * The surroundings of the library's own OpenBLAS: tools/blas lets it call these in place of getenv
 * and of Fortran's library. */
#ifndef LA_BLAS_OWN_H
#define LA_BLAS_OWN_H
#include <stddef.h>

/* The core, by OpenBLAS's name, that has the instructions of this machine; NULL: one that OpenBLAS
 * knows better than we do. */
const char *own_core(void);
/* What the user has set goes before own_core; no threads, whatever is set. */
char *own_getenv(const char *name);
void own_concat(size_t n, char *to, size_t na, const char *a, size_t nb, const char *b);
#endif
