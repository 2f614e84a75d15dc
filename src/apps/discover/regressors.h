/* SPDX-License-Identifier: Apache-2.0
 *
 * Other columns of the file that act on the values: a linear effect (LIN of the column), or a
 * linear and a smooth one (SE of it). Standardised by the fitted rows; the effect's prior is N(0,
 * 1) in standard deviations of the values per standard deviation of the column, a smooth one adds a
 * function of size 1/2 and length-scale 1. Both are integrated out with everything else. Known
 * interventions are columns of 0 and 1.
 */
#ifndef DISCOVER_REGRESSORS_H
#define DISCOVER_REGRESSORS_H
#include "base/buf.h"
#include "gpmem/status.h"
#include <stdbool.h>
#include <stddef.h>

#define REGRESSORS_MAX 8
#define REGRESSORS_ROWS                                                                            \
    1000 /* most recent values that are used, unless the caller says otherwise */

/* Columns with linear effects come first. */
struct regressors {
    int n; /* columns; 0: none */
    char *name[REGRESSORS_MAX];
    bool smooth[REGRESSORS_MAX], listed[REGRESSORS_MAX]; /* listed: by a list of holidays */
    size_t rows;
    double *x; /* ascending */
    double *z; /* rows x n, row by row, in the user's units; NaN: this row does not tell */
};
void regressors_release(struct regressors *r);
struct regressors regressors_copy(const struct regressors *r);
/* The values at x: of each column that of the last row up to that time (within `slack`) which tells
 * it. Returns the columns, a bit each, whose row is one before that time: they are not known. */
unsigned regressors_at(const struct regressors *r, double x, double slack, double *z);
/* "the value of price, temp": of these columns. */
void regressors_list(const struct regressors *r, unsigned columns, struct buf *out);
/* Adds rows that follow or replaces those of the same time; they need not be in order. */
void regressors_add(struct regressors *r, size_t rows, const double *x, const double *z);
#endif
