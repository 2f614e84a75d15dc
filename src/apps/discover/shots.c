/* SPDX-License-Identifier: Apache-2.0
 * Steps from one value to the next, of values and of their logarithms: see shots.h. */
#include "apps/discover/shots.h"
#include "base/mem.h"
#include "base/number.h"
#include "numeric/special/robust.h"
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define FAR   6.0   /* robust standard deviations of all steps */
#define LEAST 8     /* steps so far out */
#define SHARE 0.015 /* of all steps, at least: fewer are events of their own */
#define OTHER 0.15  /* as many of them on the other side, at most */
#define STAY  0.6   /* of them are not taken back at once, as those of closed days are */

/* Does at least half of the step from value i on last for another one? */
static bool stays(size_t n, const double *v, size_t i) {
    return i + 2 >= n || (v[i + 2] - v[i]) / (v[i + 1] - v[i]) > 0.5;
}

/* v: n values; work: as many numbers; at: NULL, or room for the places. */
static struct shots of_values(size_t n, const double *v, double *work, size_t *at) {
    size_t far[2] = {0}, stay[2] = {0};
    for (size_t i = 0; i + 1 < n; i++) work[i] = v[i + 1] - v[i];
    double usual = robust_median(work, n - 1);
    for (size_t i = 0; i + 1 < n; i++) work[i] = v[i + 1] - v[i] - usual;
    double unit = robust_sd(work, n - 1);
    if (!(unit > 0)) return (struct shots){0}; /* values that hardly ever move */
    for (size_t i = 0; i + 1 < n; i++) {
        double step = v[i + 1] - v[i] - usual;
        if (!(fabs(step) > FAR * unit)) continue;
        far[step > 0]++;
        stay[step > 0] += stays(n, v, i);
    }
    int up = far[1] > far[0];
    double k = (double)far[up];
    if (k < fmax(LEAST, SHARE * (double)n) || (double)far[!up] > OTHER * k ||
        (double)stay[up] < STAY * k)
        return (struct shots){0};
    for (size_t i = 0; i + 1 < n && at; i++)
        if ((v[i + 1] - v[i] - usual) * (up ? 1 : -1) > FAR * unit) *at++ = i;
    return (struct shots){up ? 1 : -1, far[up]};
}

struct shots shots_find(size_t n, const double *y, size_t *at) {
    struct shots s = {0};
    bool positive = true;
    if (n < 3 * LEAST) return s;
    double *v = NEW_ARRAY(double, 2 * n);
    for (size_t i = 0; i < n; i++) positive &= y[i] > 0;
    for (int logs = 0; logs <= positive && !s.side; logs++) {
        for (size_t i = 0; i < n; i++) v[i] = logs ? log(y[i]) : y[i];
        s = of_values(n, v, v + n, at);
    }
    mem_free(v);
    return s;
}
