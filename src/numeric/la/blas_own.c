/* SPDX-License-Identifier: Apache-2.0
 *
 * Replacements that the library's own OpenBLAS (tools/blas) calls before any other code runs. For a
 * processor newer than itself OpenBLAS runs code of an old one, slower and with different last
 * digits. own_core therefore names the core to use. */
#include "numeric/la/blas_own.h"

#include <stdlib.h>
#include <string.h>

const char *own_core(void) {
#if defined(__x86_64__)
    __builtin_cpu_init();
    if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma")) return NULL;
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
                   __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bw")
               ? "SkylakeX"
               : "Haswell";
#else
    return NULL;
#endif
}

char *own_getenv(const char *name) {
    char *value = getenv(name);
    if (strcmp(name, "OPENBLAS_NUM_THREADS") == 0) return (char *)"1"; /* see la_init */
    return strcmp(name, "OPENBLAS_CORETYPE") != 0 || (value && *value) ? value : (char *)own_core();
}

/* The one function of Fortran's library that LAPACK's code calls: to = a // b, cut or padded. */
void own_concat(size_t n, char *to, size_t na, const char *a, size_t nb, const char *b) {
    for (size_t i = 0; i < n; i++) to[i] = i < na ? a[i] : i - na < nb ? b[i - na] : ' ';
}
