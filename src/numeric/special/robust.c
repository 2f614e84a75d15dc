/* SPDX-License-Identifier: Apache-2.0
 * See robust.h. */
#include "numeric/special/robust.h"
#include "base/number.h"
#include <math.h>
#include <stdlib.h>

#define NORMAL 1.4826 /* standard deviations in a median size of normal numbers */

double robust_median(double *v, size_t n) {
    qsort(v, n, sizeof *v, number_compare);
    return n % 2 ? v[n / 2] : 0.5 * (v[n / 2 - 1] + v[n / 2]);
}

double robust_sd(double *v, size_t n) {
    for (size_t i = 0; i < n; i++) v[i] = fabs(v[i]);
    return NORMAL * robust_median(v, n);
}

size_t robust_steps(const double *x, size_t n, size_t stride, double *step) {
    size_t k = 0;
    for (size_t i = 1; i < n; i++)
        if (x[i * stride] > x[(i - 1) * stride]) step[k++] = x[i * stride] - x[(i - 1) * stride];
    qsort(step, k, sizeof *step, number_compare);
    return k;
}
