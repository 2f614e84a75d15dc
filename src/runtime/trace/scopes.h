/* SPDX-License-Identifier: Apache-2.0
 *
 * Scopes and blocks, the names that tags give to choices (scope.c). */
#ifndef TRACE_SCOPES_H
#define TRACE_SCOPES_H
#include "runtime/trace/trace.h"

/* Scopes and blocks. A block is live while it holds choices; live blocks are unordered. */
struct scope *trace_scope(struct trace *t, value name); /* NULL if no tag uses the name */
value scope_name(const struct scope *s);                /* borrowed */
size_t scope_live(const struct scope *s);               /* number of live blocks */
struct scope_block *scope_find_block(struct scope *s, value id);
value block_id(const struct scope_block *b);                                    /* borrowed */
void block_choices(const struct scope_block *b, struct node ***out, size_t *n); /* mem_free *out */
/* The choices of a live block picked uniformly. At least one block must be live. */
void scope_pick(const struct scope *s, struct rng *rng, struct node ***out, size_t *n);
void scopes_sorted(struct scope *s, struct scope_block ***out,
                   size_t *n); /* live blocks, sorted by id; mem_free */
/* For messages: the ids of the first blocks, "1, 2, ...". */
void scope_show_blocks(const struct scope *s, struct buf *out);
/* Where a tag of the scope reads the memoized value that the choice belongs to. The span is empty
 * if the choice was made inside the tag, or if no tag reads it. */
struct span node_read_in(const struct node *n, value scope);
#endif
