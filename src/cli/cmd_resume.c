/* SPDX-License-Identifier: Apache-2.0
 *
 * gpmem resume DIR: goes on with a run that was stopped. The program is run again from its seed;
 * draws that are on disk are compared, the rest is added, so the result is that of a run that was
 * never interrupted.
 */
#include "cli/chains.h"
#include "cli/run_folder.h"
#include <string.h>

struct args {
    struct session_args session;
};

static void init(void *opts) {
    session_args_init(&((struct args *)opts)->session);
}

static int run(const void *opts, int argc, char **argv) {
    struct session_args session = ((const struct args *)opts)->session;
    struct run_facts facts;
    struct run_folder *f = run_folder_reopen(argv[0], &facts);
    if (!f) return EXIT_USAGE;
    session.seed = facts.seed;
    struct chains_plan plan = {&session, facts.chains, facts.first, facts.program, f};
    return run_folder_close(f, chains_run(&plan));
}

#define FIELD(x) (offsetof(struct args, session) + offsetof(struct session_args, x))
static const struct option_row rows[] = {
    {"format", 0, OPTION_CHOICE, "text|json", "how values are printed (default text)",
     FIELD(format)},
    {"allow-run", 0, OPTION_FLAG, NULL, "programs may run commands and load shared objects",
     FIELD(allow_run)},
    {"allow-write", 0, OPTION_FLAG, NULL, "programs may write files", FIELD(allow_write)},
    {"jobs", 'j', OPTION_UINT, "N", "source functions evaluated at once (default 1)", FIELD(jobs)},
    {"max-time", 0, OPTION_TIME, "S", "stop after S seconds (default: no limit)", FIELD(max_time)},
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
    OPTIONS(rows),
    .size = sizeof(struct args),
    .init = init,
    .min_args = 1,
    .max_args = 1,
    .run = run,
};
