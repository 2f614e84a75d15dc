/* SPDX-License-Identifier: Apache-2.0
 *
 * Hyper-parameters that the series of a panel, or of an index, share: normal priors of the
 * unconstrained parameters, by term and kind, learnt from a first pass over all series, or some
 * (empirical Bayes).
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
/* NULL if missing. */
const struct hyper_prior *hyper_find(const struct hyper_priors *h, unsigned mask, int kind);

/* ---- learning them ---- */
struct posterior;
struct hyper_gathered {
    struct hyper_prior key;
    double a, b;                /* the default */
    double w, m, sq;            /* sums over series */
    double own_w, own_m, own_s; /* of the series at hand */
};
/* Zeroed before the first. */
struct hyper_gathering {
    struct hyper_gathered at[HYPER_MAX];
    size_t n;
};
void hyper_gather(struct hyper_gathering *g, const struct posterior *p);
/* What another one gathered. */
void hyper_join(struct hyper_gathering *g, const struct hyper_gathering *other);
void hyper_learn(const struct hyper_gathering *g, struct hyper_priors *out);
#endif
