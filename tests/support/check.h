/* SPDX-License-Identifier: Apache-2.0
 *
 * cmocka plus what it lacks: relative error in double precision and p-values that print the seed.
 */
#ifndef SUPPORT_CHECK_H
#define SUPPORT_CHECK_H
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"

/* |a - b| <= tol * max(1, |a|, |b|); infinities must agree. */
#define assert_close(a, b, tol) check_close_((a), (b), (tol), #a, __FILE__, __LINE__)
static inline void check_close_(double a, double b, double tol, const char *what, const char *file,
                                int line) {
    double scale = fmax(1, fmax(fabs(a), fabs(b)));
    if (a == b || fabs(a - b) <= tol * scale) return;
    print_error("%s: %.17g differs from %.17g by more than %g (relative)\n", what, a, b, tol);
    _fail(file, line);
}

/* Statistical assertion: fails when the p-value is below the suite's false-alarm rate. */
#define P_VALUE_MIN             1e-6
#define assert_p_value(p, seed) check_p_((p), (seed), #p, __FILE__, __LINE__)
static inline void check_p_(double p, unsigned long long seed, const char *what, const char *file,
                            int line) {
    if (p >= P_VALUE_MIN) return;
    print_error("%s: p = %g with seed %llu\n", what, p, seed);
    _fail(file, line);
}
#endif
