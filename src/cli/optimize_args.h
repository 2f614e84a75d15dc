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
void optimize_args_init(struct optimize_args *a);
/* Initialises p and fills in the shared options. */
void optimize_args_apply(const struct optimize_args *a, struct gpm_optimize_options *p);

/* While on, SIGINT and SIGTERM set the flag; a second one ends the process. */
void stop_on_signals(bool on);
const volatile sig_atomic_t *stop_flag(void);

#define OPTIMIZE_FIELD(T, f, x) (offsetof(T, f) + offsetof(struct optimize_args, x))
#define OPTIMIZE_ROWS(T, f)                                                                        \
    {"maximize",                                                                                   \
     0,                                                                                            \
     OPTION_FLAG,                                                                                  \
     NULL,                                                                                         \
     "look for the largest value",                                                                 \
     OPTIMIZE_FIELD(T, f, maximize)},                                                              \
        {"var",                                                                                    \
         0,                                                                                        \
         OPTION_LIST,                                                                              \
         "NAME=LO:HI",                                                                             \
         "a variable; also NAME=LO:HI:log, :int, :log:int, NAME=a,b,c",                            \
         OPTIMIZE_FIELD(T, f, vars)},                                                              \
        {"store",                                                                                  \
         0,                                                                                        \
         OPTION_TEXT,                                                                              \
         "FILE",                                                                                   \
         "memo table that keeps everything (default: memory)",                                     \
         OPTIMIZE_FIELD(T, f, store)},                                                             \
        {"seed",                                                                                   \
         's',                                                                                      \
         OPTION_UINT,                                                                              \
         "N",                                                                                      \
         "seed of all decisions (default 1)",                                                      \
         OPTIMIZE_FIELD(T, f, seed)},                                                              \
        {"noisy",                                                                                  \
         0,                                                                                        \
         OPTION_FLAG,                                                                              \
         NULL,                                                                                     \
         "values are noisy: repeat, average, recommend the mean's "                                \
         "optimum",                                                                                \
         OPTIMIZE_FIELD(T, f, noisy)},                                                             \
        {"acquisition",                                                                            \
         0,                                                                                        \
         OPTION_CHOICE,                                                                            \
         "auto|thompson|ei|ucb",                                                                   \
         "how the next point is chosen (default auto)",                                            \
         OPTIMIZE_FIELD(T, f, acquisition)},                                                       \
        {"initial",                                                                                \
         0,                                                                                        \
         OPTION_UINT,                                                                              \
         "N",                                                                                      \
         "points of the first design (default: by dimension)",                                     \
         OPTIMIZE_FIELD(T, f, initial)},                                                           \
        {"mcmc",                                                                                   \
         0,                                                                                        \
         OPTION_FLAG,                                                                              \
         NULL,                                                                                     \
         "sample hyper-parameters instead of maximising",                                          \
         OPTIMIZE_FIELD(T, f, mcmc)},                                                              \
        {"no-local",                                                                               \
         0,                                                                                        \
         OPTION_FLAG,                                                                              \
         NULL,                                                                                     \
         "without the local search around the best point",                                         \
         OPTIMIZE_FIELD(T, f, no_local)},                                                          \
        {"warm-start",                                                                             \
         0,                                                                                        \
         OPTION_TEXT,                                                                              \
         "FILE",                                                                                   \
         "CSV of known values: a column per variable, and "                                        \
         "'value'",                                                                                \
         OPTIMIZE_FIELD(T, f, warm)},                                                              \
    {                                                                                              \
        "objective-version", 0, OPTION_TEXT, "TAG",                                                \
            "part of the function's identity: change it when the program changed",                 \
            OPTIMIZE_FIELD(T, f, version)                                                          \
    }
#endif
