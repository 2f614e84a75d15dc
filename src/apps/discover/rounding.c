/* SPDX-License-Identifier: Apache-2.0
 * See rounding.h. */
#include "apps/discover/rounding.h"
#include "base/ascii.h"
#include <math.h>
#include <string.h>

#define EQUAL_SHARE 0.1 /* of neighbours, at least */
#define LEVELS      3.0 /* steps in the range, at least */
#define DIGITS      9   /* of the range that are looked at */
#define FEWEST      2.0 /* steps in the range of few levels, */
#define MOST        12.0
#define LEAST       20 /* values that tell of levels */
#define TOPS        3  /* values at the top of a scale, at least */

static bool multiples(size_t n, const double *y, double step) {
    for (size_t i = 0; i < n; i++) {
        double k = y[i] / step;
        if (!(fabs(k - floor(k + 0.5)) <= 1e-6 + 1e-14 * fabs(k))) return false;
    }
    return true;
}

static void range_of(size_t n, const double *y, double *least, double *greatest) {
    *least = INFINITY, *greatest = -INFINITY;
    for (size_t i = 0; i < n; i++) {
        *least = fmin(*least, y[i]);
        *greatest = fmax(*greatest, y[i]);
    }
}

/* The greatest step that goes at least so many times into the range. */
static double step_of(size_t n, const double *y, double times) {
    static const double firsts[] = {5, 2, 1};
    size_t equal = 0;
    double least, greatest;
    range_of(n, y, &least, &greatest);
    for (size_t i = 1; i < n; i++) equal += y[i] == y[i - 1];
    double most = (greatest - least) / times;
    if (!(most > 0) || !isfinite(most) || (double)equal < EQUAL_SHARE * (double)n) return 0;
    int power = (int)floor(log10(most));
    for (int p = power; p > power - DIGITS; p--)
        for (size_t k = 0; k < 3; k++) {
            double step = firsts[k] * pow(10, p);
            if (step <= most * (1 + 1e-9) && multiples(n, y, step)) return step;
        }
    return 0;
}

double rounding_step(size_t n, const double *y) {
    return step_of(n, y, LEVELS);
}

double rounding_levels(size_t n, const double *y) {
    double least, greatest, step = step_of(n, y, FEWEST);
    range_of(n, y, &least, &greatest);
    return n >= LEAST && greatest - least <= MOST * step * (1 + 1e-9) ? step : 0;
}

static bool of_ratings(const char *name) {
    static const char *const parts[] = {"rating", "stars", "likert", "satisf", "mood", "pain"};
    for (; *name; name++)
        for (size_t k = 0; k < sizeof parts / sizeof *parts; k++)
            if (!ascii_ncasecmp(name, parts[k], strlen(parts[k]))) return true;
    return false;
}

bool rounding_rating(size_t n, const double *y, const char *name, double *least, double *greatest) {
    double a, b;
    size_t top = 0, next = 0;
    range_of(n, y, &a, &b);
    if (rounding_levels(n, y) != 1 || a < 0 || (b != 5 && b != 7 && b != 10)) return false;
    for (size_t i = 0; i < n; i++) {
        top += y[i] == b;
        next += y[i] == b - 1;
    }
    if (!of_ratings(name) && (a != 1 || top < TOPS || 2 * top < next)) return false;
    *least = a > 0, *greatest = b;
    return true;
}
