/* SPDX-License-Identifier: Apache-2.0
 *
 * Running a program as one or several chains in threads. A chain is a session of its own with its
 * number in the random key, and its output is kept until all earlier chains have printed theirs:
 * the bytes are those of running the chains one after another.
 */
#ifndef CLI_CHAINS_H
#define CLI_CHAINS_H
#include "cli/command.h"

struct run_folder;
struct chains_plan {
    const struct gpm_options *session;
    uint64_t chains, first;    /* how many, and the number of the first */
    const char *path;          /* the program; "-": standard input */
    struct run_folder *folder; /* keeps the draws; NULL: nothing is kept */
};

/* Returns the exit status; errors are on stderr. */
int chains_run(const struct chains_plan *plan);
#endif
