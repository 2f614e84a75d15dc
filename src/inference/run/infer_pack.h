/* SPDX-License-Identifier: Apache-2.0
 *
 * The state of inference as bytes (base/pack.h): models, what samplers have learned, counts. */
#ifndef INFER_INFER_PACK_H
#define INFER_INFER_PACK_H
#include "inference/run/infer.h"
#include "runtime/trace/trace_pack.h"

/* A pack of this session's state. */
void infer_pack_begin(struct pack *p, struct session_core *core);
/* A model; counted when it was read. */
void pack_model(struct pack *p, struct model **m);
/* Everything that decides what comes next but definitions and the place in the program. */
void infer_pack(struct pack *p, struct infer_state *x);
/* NULL: there is none of that name any more. */
const struct infer_op *pack_op(struct pack *p, const struct infer_op *op);

/* See pack_open; a session that may run commands takes anyone's. */
GPM_MUST_USE enum gpm_status infer_open(const struct session_core *core, const char *data, size_t n,
                                        const char *kind, const char **body, size_t *len,
                                        struct buf *why);
#endif
