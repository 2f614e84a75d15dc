/* SPDX-License-Identifier: Apache-2.0
 *
 * gpmem resume DIR: goes on with a run that was stopped. The program is run again from its seed;
 * draws that are on disk are compared, the rest is added, so the result is that of a run that was
 * never interrupted.
 */
#include "cli/chains.h"
#include "cli/run_folder.h"
#include <string.h>

static int run(const void *opts, int argc, char **argv) {
    struct gpm_options session = *(const struct gpm_options *)opts;
    struct run_facts facts;
    struct run_folder *f = run_folder_reopen(argv[0], &facts);
    if (!f) return EXIT_USAGE;
    session.seed = facts.seed;
    struct chains_plan plan = {&session, facts.chains, facts.first, facts.program, f};
    return run_folder_close(f, chains_run(&plan));
}

static const struct option_row rows[] = {
    {"format", 0, OPTION_CHOICE, "text|json", "how values are printed (default text)",
     offsetof(struct gpm_options, format)},
    {"allow-run", 0, OPTION_FLAG, NULL, "programs may run commands and load shared objects",
     offsetof(struct gpm_options, allow_run)},
    {"allow-write", 0, OPTION_FLAG, NULL, "programs may write files",
     offsetof(struct gpm_options, allow_write)},
    {"jobs", 'j', OPTION_SMALL, "N", "source functions evaluated at once (default 1)",
     offsetof(struct gpm_options, jobs)},
    {"max-time", 0, OPTION_TIME, "S", "stop after S seconds (default: no limit)",
     offsetof(struct gpm_options, max_seconds)},
};

COMMAND(resume) = {
    .place = 30,
    .name = "resume",
    .args = "DIR",
    .summary = "Goes on with a run of `gpmem run --out` that was stopped",
    .text =
        "The program is run again from its seed. Draws that are on disk are compared with the new "
        "ones, the others are added: the files end up as if nothing had happened.\n\nExit "
        "status: 0 finished, 1 the run failed or did not repeat its draws, 2 no such run, or its "
        "program has changed.",
    OPTIONS(rows, struct gpm_options, .seed = 1, .jobs = 1),
    .takes = {1, 1},
    .run = run,
};
