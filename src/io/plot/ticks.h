/* SPDX-License-Identifier: Apache-2.0
 *
 * Where an axis gets its marks, and how they are written.
 */
#ifndef PLOT_TICKS_H
#define PLOT_TICKS_H
#include "io/plot/scene.h"
#include <stdbool.h>
#include <stddef.h>

#define PLOT_TICKS_MAX 32
struct plot_ticks {
    size_t n;
    double at[PLOT_TICKS_MAX];
    char text[PLOT_TICKS_MAX][24]; /* ASCII; "" for a mark without a number */
};

/* As the axis wants them, of which each has room for `room` marks of a usual number's width. */
void plot_ticks_axis(const struct plot_axis *a, unsigned room, struct plot_ticks *t);
#endif
