/* SPDX-License-Identifier: Apache-2.0
 *
 * Code, frames, procedures as bytes (base/pack.h, language/value/value_pack.h).
 *
 * A syntax tree is identified by its code and its number in that code, in preorder. The code of a
 * text is written as the text and parsed again. Code made at run time is written as a tree. */
#ifndef CORE_CORE_PACK_H
#define CORE_CORE_PACK_H
#include "runtime/core/core.h"
#include "language/value/value_pack.h"

struct core_pack; /* state of an open pack */

/* Prepares the pack for a session: symbols, links, and the state of this layer. */
void core_pack_begin(struct pack *p, struct session_core *core, const struct pack_links *links);
/* After reading: gives constants without an owner to the session. Releases the pack. */
void core_pack_end(struct pack *p);

static inline struct session_core *pack_core(const struct pack *p) {
    return p->core;
}
void pack_code(struct pack *p, struct code **k); /* NULL stays NULL; borrowed */
void pack_ast(struct pack *p, const struct ast **a);
void pack_span(struct pack *p, struct span *at);   /* span of a freed text: NO_SPAN */
void pack_frame(struct pack *p, struct frame **f); /* counted after reading */
/* Holds a value or frame until the end of the pack, for a reader that only borrows it. */
void pack_keep_value(struct pack *p, value v_taken);
void pack_keep_frame(struct pack *p, struct frame *f_taken);
void pack_rng(struct pack *p, struct rng *r);
/* A node in the pack, or a constant on its own; other nodes fail. */
void pack_cell(struct pack *p, void **cell);
#endif
