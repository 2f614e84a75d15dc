/* SPDX-License-Identifier: Apache-2.0
 * See rounding.h. */
#include "discover/rounding.h"
#include <math.h>
#include <stdbool.h>

#define EQUAL_SHARE 0.1 /* of neighbours, at least */
#define LEVELS      3.0 /* steps in the range, at least */
#define DIGITS      9   /* of the range that are looked at */

static bool multiples(size_t n, const double *y, double step) {
    for (size_t i = 0; i < n; i++) {
        double k = y[i] / step;
        if (!(fabs(k - floor(k + 0.5)) <= 1e-6 + 1e-14 * fabs(k))) return false;
    }
    return true;
}

double rounding_step(size_t n, const double *y) {
    static const double firsts[] = {5, 2, 1};
    size_t equal = 0;
    double least = INFINITY, greatest = -INFINITY;
    for (size_t i = 0; i < n; i++) {
        equal += i && y[i] == y[i - 1];
        least = fmin(least, y[i]);
        greatest = fmax(greatest, y[i]);
    }
    double most = (greatest - least) / LEVELS;
    if (!(most > 0) || !isfinite(most) || (double)equal < EQUAL_SHARE * (double)n) return 0;
    int power = (int)floor(log10(most));
    for (int p = power; p > power - DIGITS; p--)
        for (size_t k = 0; k < 3; k++) {
            double step = firsts[k] * pow(10, p);
            if (step <= most * (1 + 1e-9) && multiples(n, y, step)) return step;
        }
    return 0;
}
