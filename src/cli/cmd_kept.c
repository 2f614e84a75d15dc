/* SPDX-License-Identifier: Apache-2.0
 *
 * What a kept run of discover answers: gpmem query RUN 'LIN & (WN | LIN*WN)', probabilities over
 * its structures; gpmem forecast RUN --horizon 24, predictions as CSV x,median,lo,hi; gpmem report
 * RUN, text, HTML, Markdown or JSON.
 */
#include "cli/command.h"
#include "cli/out.h"
#include "gpmem/discover.h"
#include <string.h>

static struct { /* each command has some of them */
    int format;
    const char *output;
    size_t horizon;
    double level;
    struct text_list at;
} args = {.horizon = 12, .level = 0.95};

/* Says why when the status is not good, and frees. */
static int finish(gpm_discovery *d, enum gpm_status st) {
    int status = st == GPM_OK ? EXIT_FINE : complain(EXIT_USAGE, "%s", gpm_discover_error(d));
    gpm_discover_free(d);
    return status;
}

static int query(int argc, char **argv) {
    bool json = args.format == 1;
    gpm_discovery *d = gpm_discover_new();
    enum gpm_status st = gpm_discover_open(d, argv[0]);
    if (json && st == GPM_OK) out_text("[");
    for (int i = 1; i < argc && st == GPM_OK; i++) {
        struct gpm_answer r;
        st = gpm_discover_query(d, argv[i], &r);
        if (st != GPM_OK) break;
        if (json) {
            out_text(i > 1 ? ",\n {\"query\": " : "{\"query\": ");
            out_json_string(argv[i]);
            out_printf(", \"probability\": %.6f, \"error\": %.6f, \"ess\": %.1f}", r.probability,
                       r.error, r.ess);
        } else {
            out_printf("%.4f  error %.4f  ess %.0f  %s\n", r.probability, r.error, r.ess, argv[i]);
        }
    }
    if (json && st == GPM_OK) out_text("]\n");
    return finish(d, st);
}

static int forecast(int argc, char **argv) {
    const char *csv;
    gpm_discovery *d = gpm_discover_new();
    enum gpm_status st = gpm_discover_open(d, argv[0]);
    if (st == GPM_OK)
        st = gpm_discover_forecast(d, args.horizon, args.at.at, args.at.n, args.level, &csv);
    if (st == GPM_OK) out_data(csv, strlen(csv));
    return finish(d, st);
}

static int report(int argc, char **argv) {
    static const enum gpm_discover_format formats[] = {
        GPM_REPORT_HTML, GPM_REPORT_TEXT, GPM_REPORT_MARKDOWN, GPM_REPORT_JSON, GPM_REPORT_PROGRAM};
    gpm_discovery *d = gpm_discover_new();
    enum gpm_status st = gpm_discover_open(d, argv[0]);
    const char *text = st == GPM_OK ? gpm_discover_report(d, formats[args.format]) : NULL;
    bool written = !text || out_file(args.output, text, strlen(text));
    int status = finish(d, st);
    return written ? status : EXIT_FAILED;
}

static const struct option_row query_rows[] = {
    {"format", 0, OPTION_CHOICE, "text|json", "how answers are printed (default text)",
     &args.format},
};

COMMAND(query, 90) = {
    .name = "query",
    .args = "RUN QUERY...",
    .summary = "Answers questions about the structures of a run of discover",
    .text = "A query is made of components (LIN, SE*PER), of motifs (trend, recurring_pattern, "
            "smooth, random_walk, noise, white_noise, heteroskedastic_noise, changing_amplitude, "
            "changing_pattern, change) and of AND (&), OR (|), NOT (!) and parentheses. A sum asks "
            "for all of its "
            "terms. The error is the half-width of a 99% interval, ess the effective number of "
            "draws of the exact sampler.",
    OPTIONS(query_rows),
    .takes = {2, -1},
    .run = query,
};

static const struct option_row forecast_rows[] = {
    {"horizon", 'n', OPTION_SIZE, "N", "steps after the last value (default 12)", &args.horizon},
    {"at", 0, OPTION_LIST, "TIME", "predict at this time instead; may be repeated", &args.at},
    {"level", 0, OPTION_REAL, "P", "probability of the interval (default 0.95)", &args.level},
};

COMMAND(forecast, 100) = {
    .name = "forecast",
    .args = "RUN",
    .summary = "Forecasts from a run of discover, as CSV",
    .text =
        "Columns: x (as the data file writes times), median, lo, hi. The forecast averages over "
        "structures and parameters; the interval is that of a new measurement.",
    OPTIONS(forecast_rows),
    .takes = {1, 1},
    .run = forecast,
};

static const struct option_row report_rows[] = {
    {"format", 0, OPTION_CHOICE, "html|text|markdown|json|program",
     "form of the report (default html)", &args.format},
    {"output", 'o', OPTION_TEXT, "FILE", "where to write it (default: standard output)",
     &args.output},
};

COMMAND(report, 110) = {
    .name = "report",
    .args = "RUN",
    .summary = "Writes the report of a run of discover",
    OPTIONS(report_rows),
    .takes = {1, 1},
    .run = report,
};
