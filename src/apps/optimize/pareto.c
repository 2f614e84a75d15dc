/* SPDX-License-Identifier: Apache-2.0
 * Pareto fronts and hypervolumes; see pareto.h. */
#include "apps/optimize/pareto.h"
#include "base/mem.h"

#include <math.h>
#include <string.h>

/* a is as good as b in everything, and better in something. */
static bool pareto_dominates(const double *a, const double *b, int m) {
    bool better = false;
    for (int k = 0; k < m; k++) {
        if (a[k] > b[k]) return false;
        better = better || a[k] < b[k];
    }
    return better;
}

size_t pareto_front(const double *y, size_t n, int m, bool *keep) {
    size_t kept = 0, M = (size_t)m;
    for (size_t i = 0; i < n; i++) {
        keep[i] = true;
        for (size_t j = 0; keep[i] && j < n; j++) {
            bool same = j < i && memcmp(y + i * M, y + j * M, M * sizeof *y) == 0;
            keep[i] = !same && !pareto_dominates(y + j * M, y + i * M, m);
        }
        kept += keep[i];
    }
    return kept;
}

/* By their k-th number; fronts come almost sorted. */
static void sort(const double **p, size_t n, int k) {
    for (size_t i = 1; i < n; i++) {
        const double *t = p[i];
        size_t j = i;
        for (; j > 0 && p[j - 1][k] > t[k]; j--) p[j] = p[j - 1];
        p[j] = t;
    }
}

/* In the first m numbers and beyond y, is all that b dominates dominated by a? */
static bool covers(const double *a, const double *b, int m, const double *y) {
    for (int k = 0; k < m; k++)
        if (a[k] > b[k] && a[k] > y[k]) return false;
    return true;
}

/* Puts t among the n points of the list, sorted by their last of m numbers, unless one covers it;
 * those that it covers leave. How many there are then. */
static size_t insert(const double **list, size_t n, const double *t, int m, const double *y) {
    size_t kept = 0, at;
    for (size_t i = 0; i < n; i++)
        if (covers(list[i], t, m, y)) return n;
    for (size_t i = 0; i < n; i++)
        if (!covers(t, list[i], m, y)) list[kept++] = list[i];
    for (at = kept; at > 0 && list[at - 1][m - 1] > t[m - 1]; at--) list[at] = list[at - 1];
    list[at] = t;
    return kept + 1;
}

/* The last number cuts the space into slices between consecutive points: in each, what the points
 * before it leave free in the others. order: room for n pointers per number. */
static double added(const double **p, size_t n, int m, const double *ref, const double *y,
                    double *slope, const double **order) {
    int last = m - 1;
    double sum = 0, part[8], low = ref[0];
    size_t within = 0; /* of the slice's points those that count in the other numbers */
    for (int k = 0; k < m; k++) slope[k] = 0;
    if (y[last] >= ref[last]) return 0;
    if (m == 1) {
        for (size_t i = 0; i < n; i++) low = fmin(low, p[i][0]);
        slope[0] = low > y[0] ? -1 : 0;
        return fmax(0, low - y[0]);
    }
    memcpy(order, p, n * sizeof *p);
    sort(order, n, last);
    for (size_t i = 0; i <= n; i++) { /* the slice below point i */
        double from = fmax(y[last], i ? order[i - 1][last] : -INFINITY);
        double to = i < n ? fmin(ref[last], order[i][last]) : ref[last], area;
        if (i) low = fmin(low, order[i - 1][0]);
        if (i && m > 2) within = insert(order + n, within, order[i - 1], last, y);
        if (!(to > from)) continue;
        if (m == 2) {
            area = fmax(0, low - y[0]);
            part[0] = area > 0 ? -1 : 0;
        } else {
            area = added(order + n, within, last, ref, y, part, order + 2 * n);
        }
        if (area <= 0) break; /* further slices have no more */
        sum += (to - from) * area;
        for (int k = 0; k < last; k++) slope[k] += (to - from) * part[k];
        if (from == y[last]) slope[last] = -area;
    }
    return sum;
}

double pareto_added(const double *front, size_t n, int m, const double *ref, const double *y,
                    double *slope) {
    double own[8], v = 0;
    bool behind = false;
    for (size_t i = 0; i < n && !behind; i++) behind = covers(front + i * (size_t)m, y, m, y);
    if (!slope) slope = own;
    for (int k = 0; k < m; k++) slope[k] = 0;
    if (behind) return 0;
    const double **p = NEW_ARRAY(const double *, (size_t)(2 * m + 1) * n + 1);
    for (size_t i = 0; i < n; i++) p[i] = front + i * (size_t)m;
    v = added(p, n, m, ref, y, slope, p + n);
    mem_free(p);
    return v;
}

double pareto_volume(const double *y, size_t n, int m, const double *ref) {
    double v = 0;
    for (size_t i = 0; i < n; i++) v += pareto_added(y, i, m, ref, y + i * (size_t)m, NULL);
    return v;
}
