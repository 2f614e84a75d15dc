/* SPDX-License-Identifier: Apache-2.0
 *
 * What evaluations told on their way (lines "gpmem: STEP VALUE"), kept so that a line of a program
 * that runs is compared with all of them at once, however much they told.
 */
#include "apps/optimize/optimize.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

static int by_step(const void *a, const void *b) {
    const double *x = a, *y = b;
    return (x[0] > y[0]) - (x[0] < y[0]);
}

void optimize_curve(const struct optimize *o, double *pairs, size_t n, struct optimize_curve *c) {
    memset(c, 0, sizeof *c);
    c->reach = -INFINITY;
    c->last = n ? pairs[2 * n - 2] : NAN;
    qsort(pairs, n, 2 * sizeof *pairs, by_step);
    for (size_t i = 0; i < n; i++) {
        struct optimize_step s = {pairs[2 * i], pairs[2 * i + 1]};
        c->reach = s.step;
        if (c->best.n && !optimize_better(o, s.value, vec_last(&c->best).value)) continue;
        if (c->best.n && vec_last(&c->best).step == s.step)
            vec_last(&c->best).value = s.value;
        else
            vec_push(&c->best, s);
    }
}

double optimize_by_step(struct optimize_curve *c, double step) {
    const struct optimize_step *b = c->best.at;
    size_t n = c->best.n, i = c->at;
    if (!n || !(c->reach >= step) || step < b[0].step) return NAN;
    if (step < b[i].step) i = 0;
    for (size_t near = 0; near < 4 && i + 1 < n && b[i + 1].step <= step; near++) i++;
    for (size_t end = n; i + 1 < end && b[i + 1].step <= step;) { /* far ahead: by halves */
        size_t mid = i + (end - i) / 2;
        if (b[mid].step <= step)
            i = mid;
        else
            end = mid;
    }
    c->at = i;
    return b[i].value;
}
