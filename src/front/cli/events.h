/* SPDX-License-Identifier: Apache-2.0
 *
 * What a run tells to machines while it goes on: events, a JSON object a line appended to a file,
 * and metrics, a file in the text format of Prometheus that is replaced as a whole every few
 * seconds (for node_exporter's textfile collector, or any eye).
 *
 *     {"time": "2026-11-16T09:00:00Z", "event": "progress", "chain": 0, "share": 0.25, ...}
 *
 * Events: start (of a chain), progress (at most one a second for each chain), end (with its status
 * and, of a failure, why).
 */
#ifndef CLI_EVENTS_H
#define CLI_EVENTS_H
#include "gpmem/gpmem.h"
#include <stdbool.h>

struct option_group;
extern struct option_group event_options; /* --events FILE, --metrics FILE */

/* n chains from number `first` on; false: said why. Without the options it does nothing. */
bool events_begin(uint64_t n, uint64_t first);
/* Chain i (from 0) begins with options `o`. They report to us from now on, and we forward to their
 * previous receiver. */
void events_attach(size_t i, struct gpm_options *o);
/* Chain i has ended: status "finished", "failed", "stopped"; why: its error, or "". */
void events_end_chain(size_t i, const char *status, const char *why);
void events_end(void);
#endif
