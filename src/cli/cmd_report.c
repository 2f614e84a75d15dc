/* SPDX-License-Identifier: Apache-2.0
 *
 * gpmem report RUN: a kept run as text, HTML, Markdown or JSON.
 */
#include "cli/command.h"
#include "cli/out.h"
#include "gpmem/discover.h"
#include <string.h>

struct args {
    int format;
    const char *output;
};

static int run(const void *opts, int argc, char **argv) {
    static const enum gpm_discover_format formats[] = {
        GPM_REPORT_HTML, GPM_REPORT_TEXT, GPM_REPORT_MARKDOWN, GPM_REPORT_JSON, GPM_REPORT_PROGRAM};
    const struct args *a = opts;
    gpm_discovery *d = gpm_discover_new();
    int status = EXIT_FINE;
    if (gpm_discover_open(d, argv[0]) != GPM_OK) {
        status = complain(EXIT_USAGE, "%s", gpm_discover_error(d));
    } else {
        const char *text = gpm_discover_report(d, formats[a->format]);
        if (!out_file(a->output, text, strlen(text))) status = EXIT_FAILED;
    }
    gpm_discover_free(d);
    return status;
}

static const struct option_row rows[] = {
    {"format", 0, OPTION_CHOICE, "html|text|markdown|json|program",
     "form of the report (default html)", offsetof(struct args, format)},
    {"output", 'o', OPTION_TEXT, "FILE", "where to write it (default: standard output)",
     offsetof(struct args, output)},
};

COMMAND(report) = {
    .place = 110,
    .name = "report",
    .args = "RUN",
    .summary = "Writes the report of a run of discover",
    OPTIONS(rows, struct args),
    .takes = {1, 1},
    .run = run,
};
