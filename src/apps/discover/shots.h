/* SPDX-License-Identifier: Apache-2.0
 *
 * Sudden rises that fall back slowly (a river after rain, moisture of soil, a queue), or falls that
 * recover: again and again, on one side alone. No Gaussian process does that; a search that may use
 * shifts of level takes one for each of the greatest, and none of them is one.
 */
#ifndef DISCOVER_SHOTS_H
#define DISCOVER_SHOTS_H
#include <stddef.h>

struct shots {
    int side;     /* 1: rises, -1: falls, 0: not in their series */
    size_t count; /* of them */
};
/* at: NULL, or room for n: the values that the steps begin at. */
struct shots shots_find(size_t n, const double *y, size_t *at);
#endif
