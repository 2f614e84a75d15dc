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
     offsetof(struct optimize_args, maximize)},
    {"var", 0, OPTION_LIST, "NAME=LO:HI",
     "a variable; also NAME=LO:HI:log, :int, :log:int, NAME=a,b,c",
     offsetof(struct optimize_args, vars)},
    {"store", 0, OPTION_TEXT, "FILE", "memo table that keeps everything (default: memory)",
     offsetof(struct optimize_args, store)},
    {"seed", 's', OPTION_UINT, "N", "seed of all decisions (default 1)",
     offsetof(struct optimize_args, seed)},
    {"noisy", 0, OPTION_FLAG, NULL,
     "values are noisy: repeat, average, recommend the mean's optimum",
     offsetof(struct optimize_args, noisy)},
    {"acquisition", 0, OPTION_CHOICE, "auto|thompson|ei|ucb",
     "how the next point is chosen (default auto)", offsetof(struct optimize_args, acquisition)},
    {"initial", 0, OPTION_UINT, "N", "points of the first design (default: by dimension)",
     offsetof(struct optimize_args, initial)},
    {"mcmc", 0, OPTION_FLAG, NULL, "sample hyper-parameters instead of maximising",
     offsetof(struct optimize_args, mcmc)},
    {"no-local", 0, OPTION_FLAG, NULL, "without the local search around the best point",
     offsetof(struct optimize_args, no_local)},
    {"warm-start", 0, OPTION_TEXT, "FILE",
     "CSV of known values: a column per variable, and 'value'",
     offsetof(struct optimize_args, warm)},
    {"objective-version", 0, OPTION_TEXT, "TAG",
     "part of the function's identity: change it when the program changed",
     offsetof(struct optimize_args, version)},
};
const struct option_group optimize_options = {rows, COUNT_OF(rows)};

void optimize_args_apply(const struct optimize_args *a, struct gpm_optimize_options *p) {
    gpm_optimize_options_init(p);
    p->seed = a->seed;
    p->maximize = a->maximize;
    p->noisy = a->noisy;
    p->acquisition = (enum gpm_acquisition)a->acquisition;
    p->initial = (int)a->initial;
    if (a->mcmc) p->mcmc = 1;
    p->no_local = a->no_local;
    p->store = a->store;
    p->warm = a->warm;
    p->version = a->version;
}

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
