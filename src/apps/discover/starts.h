/* SPDX-License-Identifier: Apache-2.0
 *
 * Starting points for the optimiser: the parent's optimum for shared parameters, candidates for the
 * new ones. Missing the right start means missing the structure: airline's seasonal pattern sits at
 * a length-scale of .16, and starts at .7 and 1.5 never find it.
 */
#ifndef DISCOVER_STARTS_H
#define DISCOVER_STARTS_H
#include "apps/discover/evidence.h"

#define STARTS_MAX 60

/* Fills up to `most` (at most STARTS_MAX) points of m->d numbers each into z; returns how many. The
 * last *apart have a term that is over within a few steps. */
int starts_make(const struct smodel *m, const struct evidence *parent,
                const struct period_hints *hints, int most, double *z, int *apart);
/* The relative's optimum carried over to m, hints where it has nothing; source[i] (may be NULL) is
 * the relative's parameter that i comes from, -1 where it is new. */
void starts_carry(const struct smodel *m, const struct evidence *from, double *z, int *source);
/* The same with terms that are new no larger than the noise: the relative as it is, nearly; false:
 * no term is. */
bool starts_faint(const struct smodel *m, const struct evidence *from, double *z);

/* What stands out in the data, and in the residual of the parent at its optimum: that first. */
void period_hints_data(const struct smodel_data *d, int transform, struct period_hints *h);
void period_hints_residual(const struct evidence *parent, struct smodel_work *w,
                           const struct period_hints *data, struct period_hints *h);
/* The strongest wave of the values r at the times of d; 0: none stands out. */
double period_peak(const struct smodel_data *d, const double *r);
#endif
