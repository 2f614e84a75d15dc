/* SPDX-License-Identifier: Apache-2.0
 *
 * Checkpoints: the whole state of a session while its program runs, as bytes. Another process of
 * the same build that runs the same program goes on from it (runtime/core/waypoint.h). */
#ifndef SESSION_CHECKPOINT_H
#define SESSION_CHECKPOINT_H
#include "front/session/session.h"

/* Receives a checkpoint; false: it could not be kept. */
typedef bool checkpoint_fn(void *user, const void *data, size_t n);
/* From now on the state is handed to `keep` every `seconds`, and before the run ends because it was
 * asked to stop or its time is up. */
void session_checkpoints(struct session *s, double seconds, checkpoint_fn *keep, void *user);
/* The next session_run goes on from a checkpoint. GPM_E_ARG with why: it cannot, and the session is
 * not to be used. */
enum gpm_status session_restore(struct session *s, const void *data, size_t n,
                                struct buf *why) GPM_MUST_USE;
/* Drops a checkpoint that nothing has gone on from. */
void session_restore_end(struct session *s);
#endif
