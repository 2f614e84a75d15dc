/* SPDX-License-Identifier: Apache-2.0
 *
 * Did this user give this command for this store, on this machine? A worker that joins a search
 * runs the command that the store holds; the store may come from anybody, so the answer is kept
 * outside of it.
 */
#ifndef OPTIMIZE_OWN_COMMAND_H
#define OPTIMIZE_OWN_COMMAND_H
#include "store/memo.h"

/* The user gave `command` for this store: remembers it. Without a state folder nothing is. */
GPM_MUST_USE enum gpm_status own_command_remember(struct memo *m, const char *command,
                                                  struct buf *err);
GPM_MUST_USE enum gpm_status own_command_known(struct memo *m, const char *command, bool *own,
                                               struct buf *err);
#endif
