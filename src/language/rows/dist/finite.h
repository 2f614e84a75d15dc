/* SPDX-License-Identifier: Apache-2.0
 *
 * Distributions over finitely many values, as values: a procedure without arguments that draws one;
 * assess tells log probabilities, support and probabilities the whole table.
 */
#ifndef DIST_FINITE_H
#define DIST_FINITE_H
#include "language/rows/protocol/sp.h"

/* Of values that differ from each other, with their probabilities, which add up to 1. Both arrays
 * are taken (mem_free). */
extern const struct sp_state_class finite_state;
value finite_value(value *at_taken, double *p_taken, size_t n);
#endif
