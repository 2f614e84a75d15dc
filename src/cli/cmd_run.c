/* SPDX-License-Identifier: Apache-2.0
 *
 * gpmem run FILE: runs a program, once or as several chains; with --out the draws that it collects
 * are kept in a folder.
 */
#include "cli/chains.h"
#include "cli/run.h"
#include "cli/run_folder.h"
#include <string.h>

struct args {
    struct gpm_options session;
    uint64_t chains, chain;
    const char *out;
};

static int run(const void *opts, int argc, char **argv) {
    const struct args *a = opts;
    if (a->chains < 1 || a->chains > INTERRUPT_MAX) {
        return complain(EXIT_USAGE, "--chains wants a number from 1 to %d", INTERRUPT_MAX);
    }
    struct chains_plan plan = {&a->session, a->chains, a->chain, argv[0], NULL};
    if (!a->out) return chains_run(&plan);
    if (strcmp(argv[0], "-") == 0) {
        return complain(EXIT_USAGE, "--out needs a program in a file, not on standard input");
    }
    struct run_facts facts = {.seed = a->session.seed, .chains = a->chains, .first = a->chain};
    plan.folder = run_folder_create(a->out, argv[0], &facts);
    if (!plan.folder) return EXIT_USAGE;
    int status = chains_run(&plan);
    return run_folder_close(plan.folder, status);
}

static const struct option_row rows[] = {
    {.kind = OPTION_GROUP, .offset = offsetof(struct args, session)},
    {"chains", 'c', OPTION_UINT, "N", "run the program N times in threads (default 1)",
     offsetof(struct args, chains)},
    {"chain", 0, OPTION_UINT, "I", "number of the first chain (default 0)",
     offsetof(struct args, chain)},
    {"out", 'o', OPTION_TEXT, "DIR",
     "keep the draws of `collect` for summary, plot, export, resume", offsetof(struct args, out)},
};

COMMAND(run) = {
    .place = 10,
    .name = "run",
    .args = "FILE",
    .summary = "Runs a program",
    .text =
        "Prints the value of every top-level sample, predict and expression on standard output, "
        "one per line. FILE may be - for standard input. The same seed gives the same output, "
        "whatever the number of threads; with --chains the chains' output follows in their "
        "order, each the same as that of --chain I alone.\n\nExit status: 0 fine, 1 the run "
        "failed, 2 the program does not parse or cannot be read.",
    OPTIONS(rows, struct args, .session = {.seed = 1, .jobs = 1}, .chains = 1),
    .group = &session_options,
    .takes = {1, 1},
    .run = run,
};
