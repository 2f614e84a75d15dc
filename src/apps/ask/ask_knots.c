/* SPDX-License-Identifier: Apache-2.0
 * Knots of stretches of time. A search asks it of every series of an index: short loops without
 * branches, which the dates of a collection would mislead, and which become vector instructions. */
#include "apps/ask/ask_curve.h"
#include <math.h>

#define K SKETCH_KNOTS

void ask_knots_of(const double *restrict from, const double *restrict to, size_t n, int *restrict a,
                  int *restrict b) {
    double u[ASK_MANY], v[ASK_MANY];
    for (size_t i = 0; i < n; i++) {
        double first = from[i] * K - 0.5, last = to[i] * K - 0.5;
        u[i] = first <= 0 ? 0 : first; /* no number stays so, and is behind the last knot */
        v[i] = last >= 0 ? last : -1;
    }
    for (size_t i = 0; i < n; i++) {
        double first = u[i] < K ? u[i] : K, last = v[i] < K - 1 ? v[i] : K - 1;
        a[i] = K - (int)(K - first); /* rounded up */
        b[i] = (int)last + 1;
    }
    for (size_t i = 0; i < n; i++) {
        u[i] = to[i] < 1 ? to[i] : 1;
        v[i] = from[i] > 0 ? from[i] : 0;
    }
    for (size_t i = 0; i < n; i++) {
        double have = u[i] - v[i], wanted = to[i] - from[i];
        u[i] = have - 0.5 * (wanted < INFINITY ? wanted : have);
    }
    for (size_t i = 0; i < n; i++) b[i] = u[i] > 0 ? b[i] : 0;
    for (size_t i = 0; i < n; i++) b[i] = b[i] > a[i] ? b[i] : a[i];
}

bool ask_knots(struct ask_stretch s, int *a, int *b) {
    ask_knots_of(&s.from, &s.to, 1, a, b);
    return *b > *a;
}
