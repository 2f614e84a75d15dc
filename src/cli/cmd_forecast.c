/* SPDX-License-Identifier: Apache-2.0
 *
 * gpmem forecast RUN --horizon 24: predictions of a kept run as CSV x,median,lo,hi.
 */
#include "cli/command.h"
#include "cli/out.h"
#include "gpmem/discover.h"
#include <string.h>

struct args {
    uint64_t horizon;
    double level;
    struct text_list at;
};

static int run(const void *opts, int argc, char **argv) {
    const struct args *a = opts;
    const char *csv = "";
    gpm_discovery *d = gpm_discover_new();
    int status = EXIT_FINE;
    if (gpm_discover_open(d, argv[0]) != GPM_OK ||
        gpm_discover_forecast(d, a->horizon, a->at.at, a->at.n, a->level, &csv) != GPM_OK)
        status = complain(EXIT_USAGE, "%s", gpm_discover_error(d));
    else
        out_data(csv, strlen(csv));
    gpm_discover_free(d);
    return status;
}

static const struct option_row rows[] = {
    {"horizon", 'n', OPTION_UINT, "N", "steps after the last value (default 12)",
     offsetof(struct args, horizon)},
    {"at", 0, OPTION_LIST, "TIME", "predict at this time instead; may be repeated",
     offsetof(struct args, at)},
    {"level", 0, OPTION_REAL, "P", "probability of the interval (default 0.95)",
     offsetof(struct args, level)},
};

COMMAND(forecast) = {
    .place = 100,
    .name = "forecast",
    .args = "RUN",
    .summary = "Forecasts from a run of discover, as CSV",
    .text =
        "Columns: x (as the data file writes times), median, lo, hi. The forecast averages over "
        "structures and parameters; the interval is that of a new measurement.",
    OPTIONS(rows, struct args, .horizon = 12, .level = 0.95),
    .takes = {1, 1},
    .run = run,
};
