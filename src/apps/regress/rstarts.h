/* SPDX-License-Identifier: Apache-2.0
 *
 * Optima of the posterior of a regression's parameters. The marginal likelihood of a Gaussian
 * process has several: all is noise, an input says nothing, a function that is wiggly in one input
 * and smooth in others. Which of them a start leads to is a matter of luck, and what it begins with
 * tells nothing of where it ends. So every start is followed to its end, on at most FEW rows, where
 * that costs next to nothing; those optima that differ and are not out of the question are followed
 * on more rows, and at last on all.
 */
#ifndef REGRESS_RSTARTS_H
#define REGRESS_RSTARTS_H
#include "apps/regress/rmodel.h"

enum { RSTARTS_MANY = 700 }; /* rows: with more every step is made on some of them before */

/* From starts around the priors' centre to at most `most` optima that differ, d numbers each, the
 * best first; how many, 0: no parameters fit the data. */
int rstarts_find(struct rmodel *m, int most, int threads, double *z);
/* From a mode of nearly these rows to the optimum z; its log density. */
double rstarts_near(const struct mode *like, const struct density *t, double *z);
/* An optimum of some of the rows from the priors' centre: of models that have but one. */
void rstarts_one(const struct rmodel *m, double *z);
#endif
