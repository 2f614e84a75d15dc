/* SPDX-License-Identifier: Apache-2.0
 *
 * Values that are written in steps (an interest rate in eighths, a price in cents, shocks of 0.01):
 * a value stands for all that are rounded to it. The density of a model without noise has no end
 * where values repeat, and whatever makes them repeat would be certain; with the variance of
 * rounding, step^2 / 12, below which noise cannot fall, it is what it is.
 */
#ifndef GPMEM_DISCOVER_ROUNDING_H
#define GPMEM_DISCOVER_ROUNDING_H
#include <stdbool.h>
#include <stddef.h>

/* The step of values in the order of their times: the greatest 1, 2 or 5 times a power of ten of
 * which all are multiples and that goes at least three times into their range. 0: no such step, or
 * fewer than a tenth of neighbours are equal (the step is small compared with the variation, or
 * nothing is rounded, as in a line of whole numbers). */
double rounding_step(size_t n, const double *y);
/* The same where few multiples of it, 3 to 13, lie in the range of the values: the levels of a
 * rating, half points of a mark. 0: there are more, or no step. */
double rounding_levels(size_t n, const double *y);
/* Whole numbers that end where scales of ratings do, with 5, 7 or 10 above and 0 or 1 below; name:
 * that of their column. Where it does not speak of ratings they begin with 1, as counts hardly do
 * (one in ten of their series of some 40 values has 0 and 5 as ends), and reach the top as often as
 * no tail of counts or degrees does. false: no such scale. */
bool rounding_rating(size_t n, const double *y, const char *name, double *least, double *greatest);
#endif
