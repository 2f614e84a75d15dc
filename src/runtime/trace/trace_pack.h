/* SPDX-License-Identifier: Apache-2.0
 *
 * Traces as bytes (base/pack.h): everything that decides what they draw next is the same in the
 * trace that is read, down to the order of lists and the bits of numbers. */
#ifndef TRACE_TRACE_PACK_H
#define TRACE_TRACE_PACK_H
#include "runtime/core/core_pack.h"
#include "runtime/trace/trace.h"

/* With the layers below it, of which each is written once. Nothing is detached from it. */
void trace_pack(struct pack *p, struct trace **t);
/* For struct pack_links. */
void trace_pack_node(struct pack *p, void **node);
void trace_pack_maker(struct pack *p, void **node);
void trace_pack_family(struct pack *p, struct memo_entry *e);
#endif
