/* SPDX-License-Identifier: Apache-2.0
 *
 * Traces as bytes (base/pack.h). A trace that is read back continues with the same draws: order of
 * lists and bits of numbers are preserved. */
#ifndef TRACE_TRACE_PACK_H
#define TRACE_TRACE_PACK_H
#include "runtime/core/core_pack.h"
#include "runtime/trace/trace.h"

/* Writes the trace with the layers below it, each once. No scaffold may be detached. */
void trace_pack(struct pack *p, struct trace **t);
/* For struct pack_links. */
void trace_pack_node(struct pack *p, void **node);
void trace_pack_maker(struct pack *p, void **node);
void trace_pack_family(struct pack *p, struct memo_entry *e);
#endif
