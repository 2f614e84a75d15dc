/* SPDX-License-Identifier: Apache-2.0
 *
 * What a verbose session says after each instruction: where it stands, how long it took, which
 * share of the proposals was accepted, how large the model is.
 */
#ifndef SESSION_EXPLAIN_H
#define SESSION_EXPLAIN_H
#include "session/session.h"

struct explanation {
    double started;
    struct scope_stats *stats; /* as they were; owned */
    size_t n;
};
void explain_begin(const struct session *s, struct explanation *e);
void explain_end(struct session *s, struct explanation *e, const struct ast *a, enum gpm_status st);
#endif
