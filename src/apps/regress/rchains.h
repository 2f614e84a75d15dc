/* SPDX-License-Identifier: Apache-2.0
 *
 * Hamiltonian Monte Carlo in the coordinates in which Laplace's method makes the posterior a
 * standard normal, z = mode + scale t: for posteriors of many parameters, where importance sampling
 * leaves few draws their weight. In those coordinates a trajectory is nearly a circle, and a
 * quarter of it ends at a point that knows nothing of where it began: a shorter way is a random
 * walk, a longer one comes back. Lengths are drawn around that, between a half and one and a half
 * times. Of several modes each has chains by its evidence. A chain begins at a draw of the normal
 * distribution; the step adapts in its first part, which is not kept. A chain that ends a round at
 * a place with almost no evidence, compared with another's, continues from the other's place, and
 * all start counting again. Where the data say little about many inputs some of them may be taken
 * for the ones that matter: chains stay with such a story for a while and then leave it, so that
 * those of one length agree on one table and not on the next. They go on, a round at a time, until
 * they tell the same (RCHAINS_SETTLED) with as many effective draws as half of those kept, or have
 * gone `rounds`; if they still do not tell the same, each counts by the evidence of where it is.
 * Chains have their own random numbers and processes, so the draws do not depend on the threads. */
#ifndef REGRESS_RCHAINS_H
#define REGRESS_RCHAINS_H
#include "numeric/posterior/laplace.h"

#define RCHAINS_SETTLED 1.05 /* R-hat */
enum { RCHAINS = 4 };
struct rchains {
    double *z;     /* kept x d */
    size_t kept;   /* a multiple of RCHAINS; as many transitions are made in a round */
    size_t rounds; /* at most; then those that were gone. Its draws are of all rounds alike */
    double rhat;   /* the worst over parameters, split and rank-normalised */
    int worst;     /* the parameter that it is of */
    double evidence[RCHAINS]; /* log evidence of where each chain ended, by its draws */
    double ess;               /* effective number of transitions, the least over parameters */
};
/* density(ctx, chain): that of a chain, d parameters each. */
typedef struct density (*rchains_density)(void *ctx, int chain);
/* The caller gives z room for kept x d. */
void rchains_run(struct rchains *c, const struct proposal *q, rchains_density density, void *ctx,
                 uint64_t seed, int threads);
#endif
