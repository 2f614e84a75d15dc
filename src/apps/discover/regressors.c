/* SPDX-License-Identifier: Apache-2.0
 *
 * See regressors.h.
 */
#include "apps/discover/regressors.h"
#include "base/mem.h"
#include "base/number.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

void regressors_release(struct regressors *r) {
    for (int j = 0; j < r->n; j++) mem_free(r->name[j]);
    mem_free(r->x);
    mem_free(r->z);
    memset(r, 0, sizeof *r);
}

struct regressors regressors_copy(const struct regressors *r) {
    struct regressors c = *r;
    size_t k = (size_t)r->n;
    if (!r->n) return c;
    for (int j = 0; j < r->n; j++) c.name[j] = mem_strdup(r->name[j]);
    c.x = NEW_ARRAY(double, r->rows + 1);
    c.z = NEW_ARRAY(double, r->rows *k + 1);
    memcpy(c.x, r->x, r->rows * sizeof *c.x);
    memcpy(c.z, r->z, r->rows * k * sizeof *c.z);
    return c;
}

unsigned regressors_at(const struct regressors *r, double x, double slack, double *z) {
    unsigned unknown = 0;
    size_t lo = 0, hi = r->rows, k = (size_t)r->n;
    while (lo < hi) { /* the first row after x + slack */
        size_t mid = (lo + hi) / 2;
        if (r->x[mid] <= x + slack)
            lo = mid + 1;
        else
            hi = mid;
    }
    for (size_t j = 0; j < k; j++) {
        size_t row = lo ? lo - 1 : 0;
        while (row && isnan(r->z[row * k + j])) row--;
        z[j] = r->z[row * k + j];
        if (!(fabs(r->x[row] - x) <= slack)) unknown |= 1U << j;
    }
    return unknown;
}

void regressors_list(const struct regressors *r, unsigned columns, struct buf *out) {
    const char *between = "";
    for (int j = 0; j < r->n; j++) {
        if (!(columns >> j & 1)) continue;
        buf_printf(out, "%s%s", between, r->name[j]);
        between = ", ";
    }
}

struct regressor_row {
    double x; /* first: it is what is compared */
    const double *z;
    size_t order;
};

void regressors_add(struct regressors *r, size_t rows, const double *x, const double *z) {
    size_t all = r->rows + rows, k = (size_t)r->n, kept = 0;
    struct regressor_row *at = NEW_ARRAY(struct regressor_row, all + 1);
    for (size_t i = 0; i < r->rows; i++) at[i] = (struct regressor_row){r->x[i], r->z + i * k, i};
    for (size_t i = 0; i < rows; i++)
        at[r->rows + i] = (struct regressor_row){x[i], z + i * k, r->rows + i};
    qsort(at, all, sizeof *at, number_compare);
    double *nx = NEW_ARRAY(double, all + 1), *nz = NEW_ARRAY(double, all *k + 1);
    size_t newest = 0; /* of the rows at this time */
    for (size_t i = 0; i < all; i++) {
        bool same = kept && nx[kept - 1] == at[i].x, later = !same || at[i].order > newest;
        if (!same) kept++;
        if (later) newest = at[i].order;
        nx[kept - 1] = at[i].x;
        double *row = nz + (kept - 1) * k;
        for (size_t j = 0; j < k; j++)
            if (!same || isnan(row[j]) || (later && !isnan(at[i].z[j]))) row[j] = at[i].z[j];
    }
    mem_free(at);
    mem_free(r->x);
    mem_free(r->z);
    r->x = nx;
    r->z = nz;
    r->rows = kept;
}
