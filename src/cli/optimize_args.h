/* SPDX-License-Identifier: Apache-2.0
 *
 * Options that `optimize` and `ask` share, and stopping on SIGINT and SIGTERM.
 */
#ifndef CLI_OPTIMIZE_ARGS_H
#define CLI_OPTIMIZE_ARGS_H
#include "cli/command.h"
#include "gpmem/optimize.h"

/* What the command line gave. */
extern struct gpm_optimize_options optimize_args;
extern struct text_list optimize_vars;
extern bool optimize_mcmc; /* sets optimize_args.mcmc, whose default is neither yes nor no */
extern const struct option_group optimize_options;

/* While on, SIGINT and SIGTERM set the flag; a second one ends the process. */
void stop_on_signals(bool on);
const volatile sig_atomic_t *stop_flag(void);
#endif
