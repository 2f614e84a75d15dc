/* SPDX-License-Identifier: Apache-2.0
 *
 * Clocks that are set back in autumn: in local times without a zone an hour comes twice, as meters
 * and loggers write it. A file that is in order but for that tells where.
 */
#ifndef DISCOVER_CLOCKS_H
#define DISCOVER_CLOCKS_H
#include "apps/discover/every.h"

/* Rows in the order of the file, times in days: those of an hour that comes once more are put to
 * the rows of its first coming, as means (other columns are those of the first), and *n becomes
 * what is left. Returns how often the clocks were set back; 0: nothing was done. */
size_t clocks_merge(struct every_row *row, size_t *n);
#endif
