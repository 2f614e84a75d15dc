/* SPDX-License-Identifier: Apache-2.0
 *
 * Progress on stderr: on a terminal one line per chain, redrawn in place and taken away at the end;
 * elsewhere a line every ten seconds. Silent when quiet.
 */
#ifndef CLI_PROGRESS_LINE_H
#define CLI_PROGRESS_LINE_H
#include "gpmem/gpmem.h"

struct progress_board;
struct progress_board *progress_board_new(size_t chains);
void progress_board_free(struct progress_board *b);
/* Makes chain i of the session's options report to the board. */
void progress_attach(struct progress_board *b, size_t i, struct gpm_options *o);
/* Before something else is written to the terminal: takes the lines away. Safe without a board. */
void progress_hide(void);
#endif
