/* SPDX-License-Identifier: Apache-2.0
 *
 * Evidence (space.h) of one structure of a series: optimisation from several starts, Laplace's
 * method at every good mode.
 *
 * Pure functions of (data, structure, parent, seed): the result does not depend on threads.
 */
#ifndef DISCOVER_EVIDENCE_H
#define DISCOVER_EVIDENCE_H
#include "discover/smodel.h"
#include "discover/space.h"

_Static_assert(SMODEL_MAX_PAR <= PROPOSAL_MAX_DIM, "parameters of a structure fit a proposal");

/* The model of a structure's evidence. */
static inline const struct smodel *smodel_of(const struct evidence *e) {
    return e->item;
}
/* Gives a new evidence its model: what e->item, text, group and hash say. */
void evidence_set_model(struct evidence *e, const struct smodel_data *data,
                        const struct structure *s);

/* What the starts need to know about the data: periods that stand out. */
struct period_hints {
    double p[12];
    int n;
};
void period_hints_data(const struct smodel_data *d, int transform, struct period_hints *h);
/* The residual of the parent at its optimum first, then those of the data. */
void period_hints_residual(const struct evidence *parent, struct smodel_work *w,
                           const struct period_hints *data, struct period_hints *h);

/* New rough evidence of s by starts around the parent (NULL: none): a few steps of optimisation. */
struct evidence *evidence_new(const struct smodel_data *data, const struct structure *s,
                              double log_prior, const struct evidence *parent,
                              const struct period_hints *hints, struct smodel_work *w);
/* The rough evidence that `from`, of the same structure on a subset of the data, leads to expect;
 * nothing is evaluated, and evidence_finish leaves it as it is. */
struct evidence *evidence_guess(const struct smodel_data *data, const struct evidence *from,
                                double log_prior, double logz);
/* Follows the best starts to their optima and applies Laplace's method, unless the structure turns
 * out to lie below `floor` (log evidence that is still of interest): then it stays rough. Once. */
void evidence_finish(struct evidence *e, double floor, struct smodel_work *w);
/* The same structure on other data, started only from the optimum `from` found. */
struct evidence *evidence_carry(const struct smodel_data *data, const struct evidence *from,
                                double log_prior, struct smodel_work *w);
/* Another start from a relative's optimum; true when it found a better mode. */
bool evidence_improve(struct evidence *e, const struct evidence *from, struct smodel_work *w);
#endif
