/* SPDX-License-Identifier: Apache-2.0
 *
 * Patterns of close periods beat, and beats look like one pattern that changes. A structure with
 * such a one is several steps away from the one with patterns that last, and those between are far
 * worse than either: no search by steps gets across.
 */
#ifndef DISCOVER_BEATS_H
#define DISCOVER_BEATS_H
#include "apps/discover/evidence.h"

/* Is term i of k a pattern that changes, everywhere? */
bool beats_may(const struct structure *k, int i);
/* s is the structure of e, in which term i has become patterns that last. Their periods are taken
 * one after the other from the periodogram of what that term describes. An evidence of s that knows
 * this point alone; its map is the log density there. NULL: nothing could be computed. */
struct evidence *beats_start(const struct evidence *e, int i, const struct structure *s,
                             double log_prior, struct smodel_work *w);
#endif
