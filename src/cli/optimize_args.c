/* SPDX-License-Identifier: Apache-2.0
 *
 * See optimize_args.h.
 */
#include "cli/optimize_args.h"
#include "base/mem.h"
#include <signal.h>
#include <string.h>

static const struct option_row rows[] = {
    {"maximize", 0, OPTION_FLAG, NULL, "look for the largest value",
     offsetof(struct optimize_args, o.maximize)},
    {"var", 0, OPTION_LIST, "NAME=LO:HI",
     "a variable; also NAME=LO:HI:log, :int, :log:int, NAME=a,b,c",
     offsetof(struct optimize_args, vars)},
    {"store", 0, OPTION_TEXT, "FILE", "memo table that keeps everything (default: memory)",
     offsetof(struct optimize_args, o.store)},
    {"seed", 's', OPTION_UINT, "N", "seed of all decisions (default 1)",
     offsetof(struct optimize_args, o.seed)},
    {"noisy", 0, OPTION_FLAG, NULL,
     "values are noisy: repeat, average, recommend the mean's optimum",
     offsetof(struct optimize_args, o.noisy)},
    {"acquisition", 0, OPTION_CHOICE, "auto|thompson|ei|ucb",
     "how the next point is chosen (default auto)", offsetof(struct optimize_args, o.acquisition)},
    {"initial", 0, OPTION_SMALL, "N", "points of the first design (default: by dimension)",
     offsetof(struct optimize_args, o.initial)},
    {"mcmc", 0, OPTION_FLAG, NULL, "sample hyper-parameters instead of maximising",
     offsetof(struct optimize_args, mcmc)},
    {"no-local", 0, OPTION_FLAG, NULL, "without the local search around the best point",
     offsetof(struct optimize_args, o.no_local)},
    {"warm-start", 0, OPTION_TEXT, "FILE",
     "CSV of known values: a column per variable, and 'value'",
     offsetof(struct optimize_args, o.warm)},
    {"objective-version", 0, OPTION_TEXT, "TAG",
     "part of the function's identity: change it when the program changed",
     offsetof(struct optimize_args, o.version)},
};
const struct option_group optimize_options = {rows, COUNT_OF(rows)};

static volatile sig_atomic_t flag;

static void on_signal(int sig) {
    if (__atomic_exchange_n(&flag, 1, __ATOMIC_RELAXED)) { /* any thread may get the signal */
        signal(sig, SIG_DFL);
        raise(sig);
    }
}

void stop_on_signals(bool on) {
    struct sigaction sa;
    memset(&sa, 0, sizeof sa);
    sa.sa_handler = on ? on_signal : SIG_DFL;
    sigaction(SIGINT, &sa, NULL);
    sigaction(SIGTERM, &sa, NULL);
}

const volatile sig_atomic_t *stop_flag(void) {
    return &flag;
}
