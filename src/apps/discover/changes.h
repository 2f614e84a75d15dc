/* SPDX-License-Identifier: Apache-2.0
 *
 * Where a series may change: at the optimum of a structure, what a shift of level, for good or for
 * a time, a bend of the trend or another size of the noise would add to the likelihood at every
 * place, all places at once. The search tries the best of them.
 */
#ifndef DISCOVER_CHANGES_H
#define DISCOVER_CHANGES_H
#include "apps/discover/evidence.h"

#define CHANGES_MAX 3

struct change_place {
    double tau, width; /* in t; width: of a window, else 0 */
    double gain;       /* of the log likelihood */
    bool more;         /* variance: larger after tau, or inside the window */
};
struct changes {
    struct change_place shift[CHANGES_MAX]; /* of level, the best places first */
    int n_shift;
    struct change_place pulse[CHANGES_MAX]; /* another level for a time; apart from each other */
    int n_pulse;
    struct change_place bend, variance, window;    /* gain 0: none */
    struct change_place part[STRUCTURE_MAX_TERMS]; /* where a term is much larger than elsewhere */
    struct change_place pattern; /* of a period below that lives in a part of the data */
    double period;
};
/* What could be added to the structure of e; false: nothing could be computed. periods: those that
 * a pattern in a part of the data may have; n of them, 0: such a one is not looked for. */
bool changes_scan(const struct evidence *e, struct smodel_work *w, const double *periods, int n,
                  struct changes *out);
#endif
