/* SPDX-License-Identifier: Apache-2.0
 *
 * gpmem discover SERIES.csv: the posterior over structures of a time series.
 */
#include "cli/command.h"
#include "cli/out.h"
#include "gpmem/discover.h"
#include <stdlib.h>
#include <string.h>

enum { EXIT_UNSETTLED = 3 };

struct args {
    uint64_t seed, horizon, max_points, threads;
    const char *time, *column, *kernels, *json, *html, *markdown, *out;
    double holdout, level, max_time, paper_x, paper_y;
    bool skip_bad, changepoints, strict, paper, program;
    int log;
    struct text_list query;
};

static bool write_report(const char *path, gpm_discovery *d, enum gpm_discover_format format) {
    const char *text = gpm_discover_report(d, format);
    return out_file(path, text, strlen(text));
}

static int write_all(const struct args *a, gpm_discovery *d) {
    bool ok = true;
    if (a->json) ok &= write_report(a->json, d, GPM_REPORT_JSON);
    if (a->html) ok &= write_report(a->html, d, GPM_REPORT_HTML);
    if (a->markdown) ok &= write_report(a->markdown, d, GPM_REPORT_MARKDOWN);
    if (a->out && gpm_discover_save(d, a->out) != GPM_OK)
        return complain(EXIT_FAILED, "%s", gpm_discover_error(d));
    bool taken = (a->json && !strcmp(a->json, "-")) || (a->html && !strcmp(a->html, "-")) ||
                 (a->markdown && !strcmp(a->markdown, "-"));
    bool kept = a->json || a->html || a->markdown || a->out || a->query.n || a->program;
    if (!taken && !(voice_quiet() && kept)) out_text(gpm_discover_report(d, GPM_REPORT_TEXT));
    for (size_t i = 0; i < a->query.n; i++) {
        struct gpm_answer r;
        if (gpm_discover_query(d, a->query.at[i], &r) != GPM_OK)
            return complain(EXIT_USAGE, "%s", gpm_discover_error(d));
        out_printf("%.4f  error %.4f  ess %.0f  %s\n", r.probability, r.error, r.ess,
                   a->query.at[i]);
    }
    if (a->program) ok &= write_report(NULL, d, GPM_REPORT_PROGRAM);
    return ok ? EXIT_FINE : EXIT_FAILED;
}

static int run(const void *opts, int argc, char **argv) {
    const struct args *a = opts;
    struct gpm_discover_options o;
    gpm_discover_options_init(&o);
    o.seed = a->seed;
    o.threads = (unsigned)a->threads;
    o.time_column = a->time;
    o.value_column = a->column;
    o.skip_bad = a->skip_bad;
    o.max_points = a->max_points;
    o.kernels = a->kernels;
    o.changepoints = a->changepoints;
    o.log = (enum gpm_discover_log)a->log;
    o.holdout = a->holdout;
    o.horizon = a->horizon;
    o.level = a->level;
    o.max_seconds = a->max_time;
    o.paper = a->paper;
    o.paper_x = a->paper_x;
    o.paper_y = a->paper_y;
    if (a->paper && (a->html || a->markdown || a->out || a->holdout > 0))
        return complain(EXIT_USAGE, "--paper gives text and JSON; --html, --markdown, --out and "
                                    "--holdout belong to the full learner");
    gpm_discovery *d = gpm_discover_new();
    explain("searching structures of '%s' with seed %llu", argv[0], (unsigned long long)a->seed);
    enum gpm_status st = gpm_discover_run(d, argv[0], &o);
    int status = EXIT_FINE;
    if (st != GPM_OK) {
        const char *why = gpm_discover_error(d);
        complain(EXIT_USAGE, "%s", *why ? why : gpm_status_text(st));
        bool input = st == GPM_E_FORMAT || st == GPM_E_ARG || st == GPM_E_IO;
        status = input ? EXIT_USAGE : EXIT_FAILED;
    } else {
        status = write_all(a, d);
        if (status == EXIT_FINE && a->strict && !gpm_discover_settled(d)) status = EXIT_UNSETTLED;
    }
    gpm_discover_free(d);
    return status;
}

static const struct option_row rows[] = {
    {"seed", 's', OPTION_UINT, "N", "seed of the random numbers (default 1)",
     offsetof(struct args, seed)},
    {"time", 0, OPTION_TEXT, "NAME", "column of times (default: ds, date, time, ... or the first)",
     offsetof(struct args, time)},
    {"column", 'c', OPTION_TEXT, "NAME", "column of values (default: y, value, or the only one)",
     offsetof(struct args, column)},
    {"skip-bad", 0, OPTION_FLAG, NULL, "skip and count rows that cannot be read",
     offsetof(struct args, skip_bad)},
    {"max-points", 0, OPTION_UINT, "N", "most recent values that are used (default 1000)",
     offsetof(struct args, max_points)},
    {"kernels", 'k', OPTION_TEXT, "LIST",
     "base kernels (default \"LIN SE PER WIENER IWIENER WN\"; -k help lists all)",
     offsetof(struct args, kernels)},
    {"changepoints", 0, OPTION_FLAG, NULL, "also change points, windows, ramps and steps",
     offsetof(struct args, changepoints)},
    {"log", 0, OPTION_CHOICE, "auto|never|always", "model the logarithm (default auto)",
     offsetof(struct args, log)},
    {"holdout", 0, OPTION_REAL, "SHARE", "keep the last share aside and score the forecast",
     offsetof(struct args, holdout)},
    {"horizon", 'n', OPTION_UINT, "N", "forecast steps in reports (default: a tenth of the data)",
     offsetof(struct args, horizon)},
    {"level", 0, OPTION_REAL, "P", "probability of intervals (default 0.95)",
     offsetof(struct args, level)},
    {"json", 0, OPTION_TEXT, "FILE", "write the result as JSON ('-': standard output)",
     offsetof(struct args, json)},
    {"html", 0, OPTION_TEXT, "FILE", "write a self-contained HTML report",
     offsetof(struct args, html)},
    {"markdown", 0, OPTION_TEXT, "FILE", "write a Markdown report",
     offsetof(struct args, markdown)},
    {"out", 'o', OPTION_TEXT, "DIR", "keep the run for query, forecast and report",
     offsetof(struct args, out)},
    {"paper", 0, OPTION_FLAG, NULL,
     "the paper's grammar and Gamma(5,1) priors, enumerated (text and JSON only)",
     offsetof(struct args, paper)},
    {"x-scale", 0, OPTION_REAL, "F", "--paper: multiply centred x by F (default 1)",
     offsetof(struct args, paper_x)},
    {"y-sd", 0, OPTION_REAL, "S",
     "--paper: scale y to this standard deviation (default: only centre)",
     offsetof(struct args, paper_y)},
    {"query", 0, OPTION_LIST, "QUERY", "also answer this question; may be repeated",
     offsetof(struct args, query)},
    {"strict", 0, OPTION_FLAG, NULL, "exit status 3 when the posterior has not settled",
     offsetof(struct args, strict)},
    {"program", 0, OPTION_FLAG, NULL, "print the program that was run",
     offsetof(struct args, program)},
    {"threads", 'j', OPTION_UINT, "N", "threads (default: all cores, at most 8)",
     offsetof(struct args, threads)},
    {"max-time", 0, OPTION_TIME, "S", "stop the search after S seconds",
     offsetof(struct args, max_time)},
};

COMMAND(discover) = {
    .place = 80,
    .name = "discover",
    .args = "SERIES.csv",
    .summary = "Finds the structure of a time series: posterior, words, forecast",
    .text = "Reads times and values from a CSV file (header or none; numbers, years, months, "
            "quarters, ISO dates), searches sums of products of kernels, and prints the posterior "
            "over structures with errors, English for every component and whether the result has "
            "settled.\n\n"
            "Exit status: 0 fine, 1 the run failed, 2 bad usage or bad data, 3 not settled "
            "(with --strict).",
    OPTIONS(rows, struct args, .seed = 1, .level = 0.95, .max_points = 1000, .paper_x = 1),
    .takes = {1, 1},
    .run = run,
};
