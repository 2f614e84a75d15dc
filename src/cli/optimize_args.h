/* SPDX-License-Identifier: Apache-2.0
 *
 * Options that `optimize` and `ask` share, and stopping on SIGINT and SIGTERM.
 */
#ifndef CLI_OPTIMIZE_ARGS_H
#define CLI_OPTIMIZE_ARGS_H
#include "cli/command.h"
#include "gpmem/optimize.h"

struct optimize_args {
    struct text_list vars;
    uint64_t seed, initial;
    bool maximize, noisy, mcmc, no_local;
    int acquisition;
    const char *store, *warm, *version;
};
/* Initialises p and fills in the shared options. */
void optimize_args_apply(const struct optimize_args *a, struct gpm_optimize_options *p);

/* While on, SIGINT and SIGTERM set the flag; a second one ends the process. */
void stop_on_signals(bool on);
const volatile sig_atomic_t *stop_flag(void);

extern const struct option_group optimize_options;
#endif
