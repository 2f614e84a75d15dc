/* SPDX-License-Identifier: Apache-2.0
 *
 * gpmem ppc DIR: data that the model of a run makes, beside the data that it was given.
 */
#include "front/cli/command.h"
#include "front/cli/out.h"
#include "front/cli/run_folder.h"
#include "gpmem/plot.h"
#include <string.h>

static struct {
    enum gpm_format format;
    const char *svg;
} args;

static int ppc_run(int argc, char **argv) {
    gpm_draws *d;
    struct run_facts facts;
    const char *text;
    struct gpm_plot_options plot;
    int status = run_folder_open(argv[0], &facts, &d);
    if (status != EXIT_FINE) return status;
    if (gpm_draws_predictive(d, args.format, NULL, &text) != GPM_OK)
        status = complain(EXIT_FAILED, "%s: %s", argv[0], text);
    else
        out_text(text);
    if (status == EXIT_FINE && args.svg) {
        gpm_plot_options_init(&plot);
        if (gpm_draws_predictive(d, args.format, &plot, &text) != GPM_OK ||
            !out_file(args.svg, text, strlen(text)))
            status = EXIT_FAILED;
    }
    gpm_draws_free(d);
    return status;
}

static const struct option_row rows[] = {
    {"format", 0, OPTION_CHOICE, "text|json", "how the table is printed (default text)",
     &args.format},
    {"svg", 0, OPTION_TEXT, "FILE", "draw data over replicates and the quantities as SVG too",
     &args.svg},
};

COMMAND(ppc, 57) = {
    .args = "DIR",
    .summary = "Predictive check: data replicated by the model of a run, beside its data",
    .text = "Needs replicates with the draws: collect(mu, y_rep(), y_obs()). For mean, sd, minimum "
            "and maximum: the value of the data, mean and quantiles over the replicates, and the "
            "share of replicates that have at least the value of the data. With draws from the "
            "prior (reset_to_prior() before each collect) this is a prior predictive check.",
    OPTIONS(rows),
    .takes = {1, 1},
    .run = ppc_run,
};
