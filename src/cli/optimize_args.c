/* SPDX-License-Identifier: Apache-2.0
 *
 * See optimize_args.h.
 */
#include "cli/optimize_args.h"
#include "base/mem.h"
#include <signal.h>
#include <string.h>

struct gpm_optimize_options optimize_args = {
    .size = sizeof optimize_args, .seed = 1, .mcmc = -1, .jobs = 1};
struct text_list optimize_vars;
bool optimize_mcmc;

static const struct option_row rows[] = {
    {"maximize", 0, OPTION_FLAG, NULL, "look for the largest value", &optimize_args.maximize},
    {"var", 0, OPTION_LIST, "NAME=LO:HI",
     "a variable; also NAME=LO:HI:log, :int, :log:int, NAME=a,b,c", &optimize_vars},
    {"store", 0, OPTION_TEXT, "FILE", "memo table that keeps everything (default: memory)",
     &optimize_args.store},
    {"seed", 's', OPTION_UINT, "N", "seed of all decisions (default 1)", &optimize_args.seed},
    {"noisy", 0, OPTION_FLAG, NULL,
     "values are noisy: repeat, average, recommend the mean's optimum", &optimize_args.noisy},
    {"acquisition", 0, OPTION_CHOICE, "auto|thompson|ei|ucb",
     "how the next point is chosen (default auto)", &optimize_args.acquisition},
    {"initial", 0, OPTION_SMALL, "N", "points of the first design (default: by dimension)",
     &optimize_args.initial},
    {"mcmc", 0, OPTION_FLAG, NULL, "sample hyper-parameters instead of maximising", &optimize_mcmc},
    {"no-local", 0, OPTION_FLAG, NULL, "without the local search around the best point",
     &optimize_args.no_local},
    {"warm-start", 0, OPTION_TEXT, "FILE",
     "CSV of known values: a column per variable, and 'value'", &optimize_args.warm},
    {"objective-version", 0, OPTION_TEXT, "TAG",
     "part of the function's identity: change it when the program changed", &optimize_args.version},
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
