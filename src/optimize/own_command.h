/* SPDX-License-Identifier: Apache-2.0
 *
 * Did this user give this command for this store, on this machine? A worker that joins a search
 * runs the command that the store holds; the store may come from anybody, so the answer is kept
 * outside of it.
 */
#ifndef OPTIMIZE_OWN_COMMAND_H
#define OPTIMIZE_OWN_COMMAND_H
#include "store/memo.h"

/* *own: this user gave `command` for this store. remember: it was just given, and is noted; without
 * a state folder nothing is. */
GPM_MUST_USE enum gpm_status own_command(struct memo *m, const char *command, bool remember,
                                         bool *own, struct buf *err);
#endif
