/* SPDX-License-Identifier: Apache-2.0
 *
 * Profile of a program: time per directive and operator in the text, with the scopes they moved and
 * the share of accepted proposals. Directives are listed by op_explain.c. */
#ifndef INFER_PROFILE_H
#define INFER_PROFILE_H
#include "inference/run/infer.h"

struct profile;
struct profile_entry {
    struct span at;
    const char *what; /* the operator, or "directive" */
    uint64_t calls, proposed, accepted;
    double seconds; /* exclusive time, without actions inside it */
    value scope;    /* owned; NIL: moved none */
    bool several;   /* several scopes */
};
struct profile *profile_new(void);
void profile_free(struct profile *p);
/* Around an action; NULL for an action that only runs others and is not profiled. */
struct profile_entry *profile_enter(struct profile *p, const struct action *a);
void profile_leave(struct profile *p);
void profile_count(struct profile *p, value scope, bool accepted);
/* Lists the directives of the current model, one per line. */
void infer_list_directives(struct infer_state *x, struct buf *out);
/* A table, slowest first; `sources` holds the texts. */
void profile_text(const struct profile *p, struct sources *sources, struct buf *out);
#endif
