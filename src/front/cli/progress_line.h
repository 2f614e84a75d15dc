/* SPDX-License-Identifier: Apache-2.0
 *
 * Progress on stderr: on a terminal one line per chain, redrawn in place and taken away at the end;
 * elsewhere a line every ten seconds. Silent when quiet.
 */
#ifndef CLI_PROGRESS_LINE_H
#define CLI_PROGRESS_LINE_H
#include "gpmem/gpmem.h"

void progress_begin(size_t chains);
void progress_end(void);
/* Makes the session of chain i, which is made with `o`, report its progress. */
void progress_attach(size_t i, struct gpm_options *o);
/* Before something else is written to the terminal: takes the lines away, if there are any. */
void progress_hide(void);
#endif
