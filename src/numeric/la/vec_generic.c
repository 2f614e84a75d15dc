/* SPDX-License-Identifier: Apache-2.0
 * Vector primitives for the instruction set every machine of this architecture has; see vec_ops.h.
 */
#define VEC_NAME generic
#include "numeric/la/vec_body.h"
