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
    struct gpm_optimize_options o;
    bool mcmc; /* sets o.mcmc, whose default is neither yes nor no */
};
/* Fields of such a struct that are not 0 before. */
#define OPTIMIZE_DEFAULTS                                                                          \
    {                                                                                              \
        .o = {.size = sizeof(struct gpm_optimize_options), .seed = 1, .mcmc = -1, .jobs = 1 }      \
    }

/* While on, SIGINT and SIGTERM set the flag; a second one ends the process. */
void stop_on_signals(bool on);
const volatile sig_atomic_t *stop_flag(void);

extern const struct option_group optimize_options;
#endif
