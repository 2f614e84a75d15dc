/* SPDX-License-Identifier: Apache-2.0
 *
 * Shared by the families that work on sequences.
 */
#ifndef LIB_SEQ_UTIL_H
#define LIB_SEQ_UTIL_H
#include "sp/sp.h"

/* Elements of a sequence or rows of a matrix, owned; DIAG_TYPE naming parameter i otherwise. */
enum gpm_status seq_arg(struct sp_call *c, size_t i, const char *param, value **items, size_t *n);
/* A whole number from 0 on that is below n. */
bool index_below(value v, size_t n, size_t *out);
/* args[i] as an index below n: DIAG_INDEX otherwise. */
enum gpm_status seq_index_arg(struct sp_call *c, size_t i, size_t n, size_t *out);
/* Row i of a matrix as a vector, owned. */
value matrix_row(const struct matrix_obj *m, size_t i);
#endif
