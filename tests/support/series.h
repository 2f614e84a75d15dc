/* SPDX-License-Identifier: Apache-2.0
 *
 * Autoregressive series on the Park-Miller generator, exact in double precision, so that R makes
 * the same numbers.
 */
#ifndef SUPPORT_SERIES_H
#define SUPPORT_SERIES_H
#include "base/mem.h"
#include <math.h>

/* Chains one after the other; kind 0: as it is, 1: floor of the double, 2: cubed. The last chain is
 * shifted. Caller frees. */
static inline double *series(int kind, double phi, size_t chains, size_t n, double shift,
                             double seed) {
    double s = seed, *x = NEW_ARRAY(double, chains *n);
    for (size_t c = 0; c < chains; c++) {
        double v = 0;
        for (size_t i = 0; i < n; i++) {
            double z = -6;
            for (int k = 0; k < 12; k++) {
                s = fmod(s * 16807, 2147483647);
                z += s / 2147483647;
            }
            v = phi * v + z;
            double y = v + (c == chains - 1 ? shift : 0);
            x[c * n + i] = kind == 1 ? floor(2 * y) : kind == 2 ? y * y * y : y;
        }
    }
    return x;
}
#endif
