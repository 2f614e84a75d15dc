/* SPDX-License-Identifier: Apache-2.0
 *
 * The weight of a proposal taken apart (factors.c). */
#ifndef TRACE_FACTORS_H
#define TRACE_FACTORS_H
#include "runtime/trace/proposal.h"

/* Factors of the weight of the current state after regen (factors.c). Principals from number
 * `first` on are summed over; scopes number them 0, 1, ... */
struct factors;
struct factors *factors_new(struct scaffold *s, size_t first);
void factors_free(struct factors *f);
/* Finds the dependencies in the current state. *grew: some are new since earlier reads. */
enum gpm_status factors_read(struct factors *f, bool *grew) GPM_MUST_USE;
size_t factors_count(const struct factors *f);
double factors_weight(const struct factors *f, size_t i); /* in the current state */
size_t factors_of_node(const struct factors *f,
                       const struct node *n); /* node: an entry of the scaffold */
const uint32_t *factors_scope(const struct factors *f, size_t i, size_t *n); /* ascending */
#endif
