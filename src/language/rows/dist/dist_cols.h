/* SPDX-License-Identifier: Apache-2.0
 *
 * `cols` of rows (language/rows/protocol/sp.h): densities of many elements at once.
 */
#ifndef DIST_DIST_COLS_H
#define DIST_DIST_COLS_H
#include "language/rows/protocol/sp.h"

double cols_normal(size_t n, const struct sp_col *x, size_t n_args);
double cols_logit(size_t n, const struct sp_col *x, size_t n_args); /* coins by their log odds */
double cols_poisson_log(size_t n, const struct sp_col *x, size_t n_args);
#endif
