/* SPDX-License-Identifier: Apache-2.0
 *
 * Warnings about inefficient inference, one line each. Nothing is appended if there is no
 * problem. */
#ifndef INFER_ADVICE_H
#define INFER_ADVICE_H
#include "inference/run/infer.h"

/* About the trajectories of hmc and nuts: divergences, E-BFMI, depth, acceptance, chains that stand
 * still. */
void advice_of_trajectories(const struct infer_state *x, struct buf *out);
/* About a scope whose proposals are rarely accepted; `advice` suggests a remedy. */
void advice_of_share(const char *scope, double proposed, double accepted, const char *advice,
                     struct buf *out);
/* A remedy for a scope, depending on the kinds of its choices. */
const char *advice_for_scope(const struct infer_state *x, value scope);
/* All warnings. */
void advice_all(const struct infer_state *x, struct buf *out);
#endif
