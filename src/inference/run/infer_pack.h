/* SPDX-License-Identifier: Apache-2.0
 *
 * The state of inference as bytes (base/pack.h): models, tuning of samplers, counts. */
#ifndef INFER_INFER_PACK_H
#define INFER_INFER_PACK_H
#include "inference/run/infer.h"
#include "runtime/trace/trace_pack.h"

/* Begins a pack of this session's state. */
void infer_pack_begin(struct pack *p, struct session_core *core);
struct dataset;
/* A model; counted after reading. */
void pack_model(struct pack *p, struct model **m);
void pack_dataset(struct pack *p, struct dataset **d); /* replaces *d, which may be NULL */
/* All state that determines future draws, except definitions and the place in the program. */
void infer_pack(struct pack *p, struct infer_state *x);
/* NULL: an operator of that name no longer exists. */
const struct infer_op *pack_op(struct pack *p, const struct infer_op *op);

/* See pack_open. A session that may run commands accepts packs of any session. */
GPM_MUST_USE enum gpm_status infer_open(const struct session_core *core, const char *data, size_t n,
                                        const char *kind, const char **body, size_t *len,
                                        struct buf *why);
#endif
