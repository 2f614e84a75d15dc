/* SPDX-License-Identifier: Apache-2.0
 *
 * Evidences (space.h) of structures of a series. Pure functions of (data, structure, parent): the
 * result does not depend on threads.
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
/* An evidence of s of which nothing is known yet, with its model. */
struct evidence *sevidence_make(const struct smodel_data *data, const struct structure *s,
                                double log_prior);
/* The density of its parameters; folded: on the one order of equal terms that counts, all orders
 * counted. */
struct smodel_call {
    const struct smodel *m;
    struct smodel_work *w;
};
struct density smodel_density(struct smodel_call *c, bool folded);

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
struct evidence *sevidence_new(const struct smodel_data *data, const struct structure *s,
                               double log_prior, const struct evidence *parent,
                               const struct period_hints *hints, struct smodel_work *w);
void sevidence_finish(struct evidence *e, double floor, struct smodel_work *w);
/* The rough evidence that `from`, of the same structure on a subset of the data, leads to expect;
 * nothing is evaluated, and finishing it leaves it as it is. */
struct evidence *sevidence_guess(const struct smodel_data *data, const struct evidence *from,
                                 double log_prior, double logz);
/* The same structure on other data, started only from the optimum `from` found. */
struct evidence *sevidence_carry(const struct smodel_data *data, const struct evidence *from,
                                 double log_prior, struct smodel_work *w);
void sevidence_improve(struct evidence *e, const struct evidence *from, struct smodel_work *w);
#endif
