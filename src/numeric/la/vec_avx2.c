/* SPDX-License-Identifier: Apache-2.0
 * Vector primitives for AVX2 and FMA (x86-64); see vec_ops.h. */
#if defined(__AVX2__) && defined(__FMA__)
#define VEC_NAME avx2
#include "numeric/la/vec_body.h"
#else
typedef int vec_avx2_is_empty; /* not compiled for this instruction set */
#endif
