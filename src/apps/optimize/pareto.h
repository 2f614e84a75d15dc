/* SPDX-License-Identifier: Apache-2.0
 *
 * Points of which nothing is better in every respect, and the volume that they dominate. Small is
 * good in all m numbers of a point; points stand one after the other.
 */
#ifndef OPTIMIZE_PARETO_H
#define OPTIMIZE_PARETO_H
#include <stdbool.h>
#include <stddef.h>

/* keep[i]: nothing dominates point i, and no earlier one equals it; returns how many there are. */
size_t pareto_front(const double *y, size_t n, int m, bool *keep);
/* Volume between y and ref that no point of the front dominates, exactly, by slices; slope (may be
 * NULL): its m derivatives in y. 0 when a point of the front dominates y, or y is beyond ref. */
double pareto_added(const double *front, size_t n, int m, const double *ref, const double *y,
                    double *slope);
/* Volume that the points dominate up to ref. */
double pareto_volume(const double *y, size_t n, int m, const double *ref);
#endif
