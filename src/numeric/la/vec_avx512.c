/* SPDX-License-Identifier: Apache-2.0
 * Vector primitives for AVX-512 (x86-64); see vec_ops.h. */
#if defined(__AVX512F__) && defined(__AVX512DQ__)
#define VEC_NAME avx512
#include "numeric/la/vec_body.h"
#else
typedef int vec_avx512_is_empty; /* not compiled for this instruction set */
#endif
