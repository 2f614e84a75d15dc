/* SPDX-License-Identifier: Apache-2.0
 * Choice of the vector primitives by what the processor can do; see vec_ops.h. */
#include "numeric/la/vec_ops.h"

extern const struct vec_ops vec_ops_generic;
#if defined(__x86_64__) && defined(GPMEM_X86_VARIANTS)
extern const struct vec_ops vec_ops_avx2, vec_ops_avx512;
#endif

const struct vec_ops *vec_ops_at(int i) {
#if defined(__x86_64__) && defined(GPMEM_X86_VARIANTS)
    /* Everything it is compiled for; a virtual machine may hide any feature. */
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
        __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512bw") &&
        __builtin_cpu_supports("fma") && i-- == 0)
        return &vec_ops_avx512;
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && i-- == 0)
        return &vec_ops_avx2;
#endif
    return i == 0 ? &vec_ops_generic : (const struct vec_ops *)0;
}

const struct vec_ops *vec_ops(void) {
    return vec_ops_at(0);
}
