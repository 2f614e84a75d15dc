/* SPDX-License-Identifier: Apache-2.0
 *
 * Evidences (space.h) of structures of a series. Pure functions of (data, structure, parent): the
 * result does not depend on threads.
 */
#ifndef DISCOVER_EVIDENCE_H
#define DISCOVER_EVIDENCE_H
#include "apps/discover/smodel.h"
#include "apps/discover/space.h"

/* Periods that stand out; dates and widths of changes that do, NULL: the usual ones. */
struct period_hints {
    double p[12];
    int n;
    const struct period_hints *places, *widths;
};

_Static_assert(SMODEL_MAX_PAR <= PROPOSAL_MAX_DIM, "parameters of a structure fit a proposal");

/* The model of a structure's evidence. */
static inline const struct smodel *smodel_of(const struct evidence *e) {
    return e->item;
}
/* An evidence of s of which nothing is known yet, with its model. */
struct evidence *sevidence_make(const struct smodel_data *data, const struct structure *s,
                                double log_prior);
/* The density of its parameters, until w is used for another. */
struct density smodel_density(const struct smodel *m, struct smodel_work *w, bool folded);

extern const struct fit_rules series_fit_rules;
/* New rough evidence of s by starts around the parent (NULL: none): a few steps of optimisation;
 * floor: the total log evidence that is still of interest. */
struct evidence *sevidence_new(const struct smodel_data *data, const struct structure *s,
                               double log_prior, double floor, const struct evidence *parent,
                               const struct period_hints *hints, struct smodel_work *w);
/* The same from the modes that it has on much the same data. */
struct evidence *sevidence_again(const struct smodel_data *data, const struct structure *s,
                                 double log_prior, double floor, const struct evidence *then,
                                 struct smodel_work *w);
#endif
