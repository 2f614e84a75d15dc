/* SPDX-License-Identifier: Apache-2.0
 *
 * Small statistics that a few wild numbers do not move.
 */
#ifndef NUMERIC_ROBUST_H
#define NUMERIC_ROBUST_H
#include <stddef.h>

/* The median, the mean of the two in the middle of an even number; v is sorted. n > 0. */
double robust_median(double *v, size_t n);
/* A standard deviation by the median size of deviations; v becomes the sizes, sorted. */
double robust_sd(double *v, size_t n);
/* The positive steps between the numbers of x, which are `stride` apart in memory, sorted; how
 * many.
 */
size_t robust_steps(const double *x, size_t n, size_t stride, double *step);
#endif
