/* SPDX-License-Identifier: Apache-2.0
 *
 * Code, frames, procedures as bytes (base/pack.h, language/value/value_pack.h).
 *
 * A piece of syntax is known by its code and its number in it, counted from the root down and from
 * left to right. The code of a text is the text, which is parsed again; code made at run time is
 * written as the tree it is.
 */
#ifndef CORE_CORE_PACK_H
#define CORE_CORE_PACK_H
#include "runtime/core/core.h"
#include "language/value/value_pack.h"

struct core_pack; /* what a pack needs while it is open */

/* Sets the pack up for a session: symbols, links, what this layer keeps. */
void core_pack_begin(struct pack *p, struct session_core *core, const struct pack_links *links);
/* After reading: constants that nobody owns are given to the session. Releases the pack. */
void core_pack_end(struct pack *p);

static inline struct session_core *pack_core(const struct pack *p) {
    return p->core;
}
void pack_code(struct pack *p, struct code **k); /* NULL: none; borrowed */
void pack_ast(struct pack *p, const struct ast **a);
void pack_span(struct pack *p, struct span *at);   /* one of a text that has gone: NO_SPAN */
void pack_frame(struct pack *p, struct frame **f); /* counted when it was read */
/* What was read and is only borrowed by its reader: held until the end of the pack. */
void pack_keep_value(struct pack *p, value v_taken);
void pack_keep_frame(struct pack *p, struct frame *f_taken);
void pack_rng(struct pack *p, struct rng *r);
/* A node that is in the pack, or a constant that stands for itself; other nodes fail. */
void pack_cell(struct pack *p, void **cell);
#endif
