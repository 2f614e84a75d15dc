/* SPDX-License-Identifier: Apache-2.0
 *
 * What the operators of a run did, as diagnostics.json keeps it under "transitions": for each chain
 * the proposals made and accepted by scope, and the trajectories that diverged.
 */
#ifndef CLI_RUN_MOVES_H
#define CLI_RUN_MOVES_H
#include "base/buf.h"
#include "gpmem/gpmem.h"
#include <jansson.h>

/* {"scopes": {"default": {"proposed": 10, "accepted": 4}, ...}, "divergences": 0, "complaints":
 * ""}; the caller's. */
json_t *run_moves_of(gpm_session *s);
/* Adds "proposals accepted: default 40%, h 71%\n" over all chains, or nothing; and what is wrong:
 * lines about trajectories and about scopes that hardly move. */
void run_moves_text(const json_t *chains, struct buf *accepted, struct buf *wrong);
#endif
