/* SPDX-License-Identifier: Apache-2.0
 *
 * gpmem loo DIR...: how well the models of runs predict data that they have not seen.
 */
#include "base/mem.h"
#include "front/cli/command.h"
#include "front/cli/out.h"
#include "front/cli/run_folder.h"

static enum gpm_format format;

static int loo_run(int argc, char **argv) {
    size_t n = (size_t)argc, have = 0;
    gpm_draws **d = NEW_ARRAY(gpm_draws *, n);
    struct run_facts facts;
    const char *text = "";
    int status = EXIT_FINE;
    for (; have < n && status == EXIT_FINE; have += status == EXIT_FINE)
        status = run_folder_open(argv[have], &facts, &d[have]);
    if (status == EXIT_FINE) {
        if (gpm_draws_loo(d, (const char *const *)argv, n, format, &text) == GPM_OK)
            out_text(text);
        else
            status =
                complain(EXIT_FAILED, "%s%s%s", n == 1 ? argv[0] : "", n == 1 ? ": " : "", text);
    }
    while (have > 0) gpm_draws_free(d[--have]);
    mem_free(d);
    return status;
}

static const struct option_row rows[] = {
    {"format", 0, OPTION_CHOICE, "text|json", "how the table is printed (default text)", &format},
};

COMMAND(loo, 55) = {
    .args = "DIR...",
    .summary = "Leave-one-out cross-validation and WAIC of runs; compares several",
    .text = "Needs the log density of every observation with the draws: collect(mu, log_lik()). "
            "Observations whose Pareto k is too large are named: the estimate cannot be trusted "
            "for them. Of several runs, which must have the same data, the differences in elpd "
            "(expected log density of new data) and their standard errors, the best model first.",
    OPTIONS(rows),
    .takes = {1, -1},
    .run = loo_run,
};
