/* SPDX-License-Identifier: Apache-2.0
 *
 * Simple forecasts that a structure has to beat, by their published formulas:
 *
 *   naive           the last value
 *   seasonal naive  the value one season ago
 *   exponential smoothing   level, trend (none, linear, damped) and season (none, added,
 *                   multiplied), additive errors, the form with the least AICc (Hyndman, Koehler,
 *                   Snyder and Grose 2002)
 *   Theta           Assimakopoulos and Nikolopoulos 2000, in the form of Hyndman and Billah 2003:
 *                   simple exponential smoothing with half the slope of the regression line as its
 *                   drift, of the seasonally adjusted values
 *
 * Values are equally spaced; intervals are not made.
 */
#ifndef DISCOVER_BASELINES_H
#define DISCOVER_BASELINES_H
#include <stddef.h>

enum baseline { BASELINE_NAIVE, BASELINE_SEASONAL, BASELINE_SMOOTHING, BASELINE_THETA, BASELINES };
const char *baseline_name(enum baseline b);
/* The h values after the n (at least 2) given ones. season: values in a season, below 2: none. */
void baseline_forecast(enum baseline b, size_t n, const double *y, size_t season, size_t h,
                       double *out);
#endif
