/* SPDX-License-Identifier: Apache-2.0
 *
 * Where the time of a program goes: by directive and operator, as they stand in the text, with the
 * scopes that they moved and the share of proposals that was accepted.
 */
#ifndef INFER_PROFILE_H
#define INFER_PROFILE_H
#include "inference/run/infer.h"

struct profile;
struct profile_entry {
    struct span at;
    const char *what; /* the operator, or "directive" */
    uint64_t calls, proposed, accepted;
    double seconds; /* of its own, without those of actions inside it */
    value scope;    /* owned; NIL: none was moved */
    bool several;   /* several scopes */
};
struct profile *profile_new(void);
void profile_free(struct profile *p);
/* Around an action; NULL: it only runs others, and is not watched. */
struct profile_entry *profile_enter(struct profile *p, const struct action *a);
void profile_leave(struct profile *p);
void profile_count(struct profile *p, value scope, bool accepted);
/* The directives of the current model, one a line. */
void infer_list_directives(struct infer_state *x, struct buf *out);
/* A table, the slowest first; source: where the texts are. */
void profile_text(const struct profile *p, struct sources *sources, struct buf *out);
#endif
