/* SPDX-License-Identifier: Apache-2.0
 *
 * See hyper.h.
 */
#include "discover/hyper.h"

const struct hyper_prior *hyper_find(const struct hyper_priors *h, unsigned mask, int kind) {
    for (size_t i = 0; h && i < h->n; i++)
        if (h->at[i].mask == mask && h->at[i].kind == kind) return &h->at[i];
    return NULL;
}
