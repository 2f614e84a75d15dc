/* SPDX-License-Identifier: Apache-2.0
 *
 * Hyper-parameters that the series of a panel share: normal priors of the unconstrained parameters,
 * by term and kind, learnt from a first pass over all series (empirical Bayes).
 */
#ifndef DISCOVER_HYPER_H
#define DISCOVER_HYPER_H
#include <stddef.h>
#include <stdint.h>

#define HYPER_MAX 64

struct hyper_prior {
    uint16_t mask; /* of the term; 0: the noise */
    uint16_t kind; /* enum spar_kind */
    double mean, sd;
};
struct hyper_priors {
    struct hyper_prior at[HYPER_MAX];
    size_t n;
};
/* NULL: there is none. */
const struct hyper_prior *hyper_find(const struct hyper_priors *h, unsigned mask, int kind);
#endif
