/* SPDX-License-Identifier: Apache-2.0
 *
 * gpmem discover SERIES.csv: the posterior over structures of a time series. gpmem check-data FILE:
 * remarks on its values, without a search. What a kept run of it
 * answers: gpmem query RUN 'LIN & (WN | LIN*WN)', probabilities over its structures; gpmem forecast
 * RUN --horizon 24, predictions as CSV x,median,lo,hi; gpmem report RUN, text, HTML, Markdown or
 * JSON.
 */
#include "front/cli/command.h"
#include "base/number.h"
#include "base/file.h"
#include "base/stop.h"
#include "front/cli/out.h"
#include "front/cli/run.h"
#include "gpmem/discover.h"
#include <stdlib.h>
#include <string.h>

enum { JSON, HTML, MARKDOWN, N_FILES };
static struct {
    struct gpm_discover_options o;
    const char *file[N_FILES], *out;
    bool strict, program, wide, independent, stopped;
    const char *by, *resume;
    struct text_list query;
} args = {.o = {.size = sizeof(struct gpm_discover_options), .seed = 1, .level = 0.95}};

static bool write_report(const char *path, gpm_discovery *d, enum gpm_discover_format format) {
    const char *text = gpm_discover_report(d, format);
    return out_file(path, text, strlen(text));
}

/* The question, and how it was read where that is something else. */
static void print_answer(const struct gpm_answer *r, const char *query, const char *reading) {
    out_printf("%.4f  error %.4f  ess %.0f  %s", r->probability, r->error, r->ess, query);
    if (strcmp(query, reading)) out_printf("  read as: %s", reading);
    out_text("\n");
}

static int write_all(gpm_discovery *d) {
    static const enum gpm_discover_format formats[] = {GPM_REPORT_JSON, GPM_REPORT_HTML,
                                                       GPM_REPORT_MARKDOWN};
    bool ok = true, taken = false, kept = args.out || args.query.n || args.program;
    for (int i = 0; i < N_FILES; i++) {
        if (!args.file[i]) continue;
        ok &= write_report(args.file[i], d, formats[i]);
        kept = true;
        taken |= strcmp(args.file[i], "-") == 0;
    }
    if (args.out && gpm_discover_save(d, args.out) != GPM_OK)
        return complain(EXIT_FAILED, "%s", gpm_discover_error(d));
    if (!taken && !(voice.quiet && kept)) out_report(gpm_discover_report(d, GPM_REPORT_TEXT));
    for (size_t i = 0; i < args.query.n; i++) {
        struct gpm_answer r;
        if (gpm_discover_query(d, args.query.at[i], &r) != GPM_OK)
            return complain(EXIT_USAGE, "%s", gpm_discover_error(d));
        print_answer(&r, args.query.at[i], gpm_discover_reading(d));
    }
    if (args.program) ok &= write_report(NULL, d, GPM_REPORT_PROGRAM);
    return ok ? EXIT_FINE : EXIT_FAILED;
}

/* Exit status after a search that has a result: did a signal end it, has it settled? What is kept
 * of a search (gpm_discover_options.keep) goes once it is finished and saved. */
static int end_status(int status, bool settled) {
    if (status != EXIT_FINE) return status;
    if (args.stopped) return EXIT_STOPPED;
    if (args.o.keep) gpm_discover_unkeep(args.o.keep);
    return args.strict && !settled ? EXIT_UNSETTLED : EXIT_FINE;
}

/* Why there is no result. */
static int failed(enum gpm_status st, const char *why) {
    bool input = st == GPM_E_FORMAT || st == GPM_E_ARG || st == GPM_E_IO;
    complain(EXIT_USAGE, "%s", *why ? why : gpm_status_text(st));
    return st == GPM_E_INTERRUPT ? EXIT_STOPPED : input ? EXIT_USAGE : EXIT_FAILED;
}

static int keep_panel(gpm_panel *p) {
    static const enum gpm_discover_format formats[] = {GPM_REPORT_JSON, GPM_REPORT_HTML};
    int status = EXIT_FINE;
    bool settled = true, taken = false, kept = args.out;
    for (int i = JSON; i <= HTML; i++) {
        if (!args.file[i]) continue;
        const char *text = gpm_panel_report(p, formats[i]);
        if (!out_file(args.file[i], text, strlen(text))) status = EXIT_FAILED;
        kept = true;
        taken |= !strcmp(args.file[i], "-");
    }
    if (status == EXIT_FINE && args.out && gpm_panel_save(p, args.out) != GPM_OK)
        status = complain(EXIT_FAILED, "%s", gpm_panel_error(p));
    if (!taken && !(voice.quiet && kept)) out_report(gpm_panel_report(p, GPM_REPORT_TEXT));
    for (size_t i = 0; i < gpm_panel_size(p); i++) {
        gpm_discovery *d = gpm_panel_member(p, i, NULL);
        settled &= !d || gpm_discover_settled(d);
    }
    return end_status(status, settled);
}

/* A signal ends a search as --max-time does: what was found by then is written. With a folder
 * everything that was computed is in it, and --continue gives what an undisturbed run gives. */
static void listen(bool on) {
    if (on) {
        stop_on_signals(true);
        args.o.finish = stop_flag();
        return;
    }
    args.stopped = stop_asked(stop_flag());
    stop_on_signals(false);
}

/* Several series of one file; NULL: those that the folder keeps. */
static int run_panel(const char *path) {
    struct gpm_panel_options how = {
        .size = sizeof how, .by = args.by, .independent = args.independent};
    gpm_panel *p = gpm_panel_new();
    listen(true);
    enum gpm_status st = gpm_panel_run(p, path, &args.o, &how);
    listen(false);
    int status = st == GPM_OK ? keep_panel(p) : failed(st, gpm_panel_error(p));
    gpm_panel_free(p);
    return status;
}

/* Writes what was asked for, or says why there is nothing; frees. */
static int keep_all(gpm_discovery *d, enum gpm_status st) {
    int status = st == GPM_OK ? end_status(write_all(d), gpm_discover_settled(d))
                              : failed(st, gpm_discover_error(d));
    gpm_discover_free(d);
    return status;
}

static enum gpm_status search(gpm_discovery *d, const char *file) {
    listen(true);
    enum gpm_status st = gpm_discover_run(d, file, &args.o);
    listen(false);
    return st;
}

/* The run of a folder, longer. */
static enum gpm_status search_more(gpm_discovery *d) {
    enum gpm_status st = gpm_discover_open(d, args.resume);
    if (st != GPM_OK) return st;
    listen(true);
    st = gpm_discover_go_on(d, &args.o);
    listen(false);
    return st;
}

/* A search that was ended goes on; a finished one is made longer. Kept in its folder again unless
 * --out names another place. */
static int resume(void) {
    enum gpm_discover_kept kept = gpm_discover_unfinished(args.resume);
    args.o.keep = args.resume;
    if (!args.out) args.out = args.resume;
    if (kept == GPM_KEPT_PANEL) return run_panel(NULL);
    gpm_discovery *d = gpm_discover_new();
    return keep_all(d, kept == GPM_KEPT_SERIES ? search(d, NULL) : search_more(d));
}

static int refuse_options(int argc) {
    if (args.by || args.wide) {
        if (args.file[MARKDOWN] || args.program || args.query.n || (args.by && args.wide))
            return complain(EXIT_USAGE,
                            "--by and --wide give text, JSON, HTML and folders (--out), "
                            "from which report, query and forecast work on each series");
    }
    if (argc == 0 && !args.resume)
        return complain(EXIT_USAGE, "which series? `gpmem discover FILE.csv`, or --continue RUN");
    if (args.resume && (argc || args.o.holdout > 0 || args.o.backtest || args.by || args.wide))
        return complain(EXIT_USAGE, "--continue RUN goes on with that run: no file, no --by, "
                                    "--wide, --holdout or --backtest beside it");
    return EXIT_FINE;
}

static int discover_run(int argc, char **argv) {
    int status = refuse_options(argc);
    if (status != EXIT_FINE) return status;
    for (int i = 0; i < N_FILES; i++)
        if (!out_place(args.file[i])) return EXIT_FAILED;
    if (args.resume) return resume();
    args.o.keep = args.out;
    if (args.by || args.wide) return run_panel(argv[0]);
    gpm_discovery *d = gpm_discover_new();
    explain("searching structures of '%s' with seed %llu", argv[0],
            (unsigned long long)args.o.seed);
    return keep_all(d, search(d, argv[0]));
}

/* How a table is read, and what is known of its values. */
static const struct option_row table_rows[] = {
    {"time", 0, OPTION_TEXT, "NAME",
     "column of times (default: ds, date, time, ... or the first), or rows for their order",
     &args.o.time_column},
    {"column", 'c', OPTION_TEXT, "NAME", "column of values (default: y, value, or the only one)",
     &args.o.value_column},
    {"with", 0, OPTION_TEXT, "COLUMN,...", "columns with a linear effect on the values",
     &args.o.with_columns},
    {"smooth", 0, OPTION_TEXT, "COLUMN,...", "columns with a smooth effect",
     &args.o.smooth_columns},
    {"by", 0, OPTION_TEXT, "COLUMN", "a series for every value of this column, in one file",
     &args.by},
    {"wide", 0, OPTION_FLAG, NULL, "a series in every column", &args.wide},
    {"skip-bad", 0, OPTION_FLAG, NULL, "skip and count rows that cannot be read", &args.o.skip_bad},
    {"date-format", 0, OPTION_TEXT, "FORMAT",
     "how times are written: %d/%m/%Y, %b %Y, unix, unix-ms, number ... (default: found)",
     &args.o.date_format},
    {"decimal", 0, OPTION_CHOICE, "auto|point|comma", "how decimals are written (default auto)",
     &args.o.decimal},
    {"missing", 0, OPTION_TEXT, "CODE,...", "cells that stand for missing values, such as -999",
     &args.o.missing},
    {"max-points", 0, OPTION_SIZE, "N", "use the most recent N values alone (default: all)",
     &args.o.max_points},
    {"every", 0, OPTION_TEXT, "STEP",
     "means over 10min, 1h, 1d ...; none: every value (default: above 2000 values, to 1200)",
     &args.o.every},
    {"take", 0, OPTION_CHOICE, "auto|mean|total|count|median|last|min|max",
     "of the rows of a step (--every) or of one time: totals of sales, counts of events",
     &args.o.take},
    {"min", 0, OPTION_TEXT, "V", "values cannot lie below V: forecasts do not either",
     &args.o.least},
    {"max", 0, OPTION_TEXT, "V", "values cannot lie above V", &args.o.most},
    {"holidays", 0, OPTION_TEXT, "FILE",
     "days with a name each, moving feasts, too, also to come: each name has an effect",
     &args.o.holidays},
    {"per-day", 0, OPTION_FLAG, NULL,
     "totals of months or quarters as means of a day: months differ in length", &args.o.per_day},
};
static struct option_group table_options = {table_rows, COUNT_OF(table_rows)};

static const struct option_row rows[] = {
    {.kind = OPTION_GROUP, .field = &device_options},
    {"seed", 's', OPTION_UINT, "N", "seed of the random numbers (default 1)", &args.o.seed},
    {.kind = OPTION_GROUP, .field = &table_options},
    {"independent", 0, OPTION_FLAG, NULL,
     "with --by, --wide: no priors of hyper-parameters learnt from all series", &args.independent},
    {"kernels", 'k', OPTION_TEXT, "LIST",
     "base kernels (default \"LIN SE PER MAT12 WIENER IOU IWIENER WN\"; -k help lists all)",
     &args.o.kernels},
    {"changepoints", 0, OPTION_FLAG, NULL, "also change points, windows, ramps and steps",
     &args.o.changepoints},
    {"log", 0, OPTION_CHOICE, "auto|never|always", "model the logarithm (default auto)",
     &args.o.log},
    {"holdout", 0, OPTION_REAL, "N",
     "keep the last N values (or share below 1) aside, score forecasts", &args.o.holdout},
    {"backtest", 0, COUNTED(SIZE, BACKTEST), "K",
     "forecast from K earlier origins, --horizon steps each, beside simple methods",
     &args.o.backtest},
    {"horizon", 'n', COUNTED(SIZE, HORIZON), "N",
     "forecast steps in reports (default: a tenth of the data)", &args.o.horizon},
    {"level", 0, OPTION_REAL, "P", "probability of intervals (default 0.95)", &args.o.level},
    {"precision", 0, OPTION_CHOICE, "normal|low|high",
     "of the probabilities: low takes a fifth of the work, high takes more than normal",
     &args.o.precision},
    {"json", 0, OPTION_TEXT, "FILE", "write the result as JSON ('-': standard output)",
     &args.file[JSON]},
    {"html", 0, OPTION_TEXT, "FILE", "write a self-contained HTML report", &args.file[HTML]},
    {"markdown", 0, OPTION_TEXT, "FILE", "write a Markdown report", &args.file[MARKDOWN]},
    {"out", 'o', OPTION_TEXT, "DIR", "keep the run for query, forecast, report; --continue",
     &args.out},
    {"continue", 0, OPTION_TEXT, "RUN",
     "go on with a search that was ended; with a finished run: more draws, longer chains",
     &args.resume},
    {"paper", 0, OPTION_FLAG, NULL,
     "says where the paper's grammar is: gpmem run examples/paper.vnts", &args.o.paper},
    {"query", 0, OPTION_LIST, "QUERY", "also answer this question; may be repeated", &args.query},
    {"strict", 0, OPTION_FLAG, NULL, "exit status 3 when the posterior has not settled",
     &args.strict},
    {"program", 0, OPTION_FLAG, NULL, "print the program that was run", &args.program},
    {"threads", 'j', COUNTED(SMALL, THREADS), "N", "threads (default: all cores, at most 8)",
     &args.o.threads},
    {"max-time", 0, OPTION_TIME, "S", "stop the search after S seconds", &args.o.max_seconds},
};

COMMAND(discover, 80) = {
    .args = "SERIES.csv | --continue RUN",
    .summary = "Finds the structure of a time series: posterior, words, forecast",
    .text = "Reads times and values from a CSV file (header or none; dates and numbers "
            "as people write them, see --date-format and --decimal), searches sums of products of "
            "kernels, and prints the posterior "
            "over structures with errors, English for every component and whether the result has "
            "settled.\n\n"
            "Exit status: 0 fine, 1 the run failed, 2 bad usage or bad data, 3 not settled "
            "(with --strict), 4 stopped by a signal: what was found by then is written, and "
            "--continue goes on with a folder. After a crash likewise: the result is that of a "
            "search that nobody disturbed.",
    OPTIONS(rows),
    .takes = {0, 1},
    .run = discover_run,
};

/* ---- the lint ---- */

static int check_format; /* 1: JSON */

static int check_data(int argc, char **argv) {
    struct gpm_panel_options how = {.size = sizeof how, .by = args.by};
    const char *report;
    if (args.by && args.wide)
        return complain(EXIT_USAGE, "--by and --wide are two ways to have several series: say one");
    gpm_discovery *d = gpm_discover_new();
    enum gpm_status st = gpm_discover_check(d, argv[0], &args.o, args.by || args.wide ? &how : NULL,
                                            check_format, &report);
    if (st == GPM_OK && check_format)
        out_text(report);
    else if (st == GPM_OK)
        out_report(report);
    int status = st == GPM_OK ? EXIT_FINE : failed(st, gpm_discover_error(d));
    gpm_discover_free(d);
    return status;
}

static const struct option_row check_rows[] = {
    {.kind = OPTION_GROUP, .field = &table_options},
    {"format", 0, OPTION_CHOICE, "text|json", "how remarks are printed (default text)",
     &check_format},
};

COMMAND_NAMED(check_data, "check-data", 78) = {
    .args = "SERIES.csv",
    .summary = "Says what the values of a table show of errors and habits in it",
    .text =
        "Reads a table as `gpmem discover` does and looks at its values, without a search: codes "
        "for missing values, a unit that changed, a counter, a sensor that stuck, a last value "
        "of a period that is not over, and more. JSON has also the numbers of the values (in "
        "the order of time, from 1) and their times.\n\nExit status: 0 with remarks and "
        "without, 1 a failure, 2 bad usage, or a file that cannot be read.",
    OPTIONS(check_rows),
    .takes = {1, 1},
    .run = check_data,
};

/* ---- kept runs ---- */

static struct { /* each command has some of them */
    int format;
    const char *output;
    size_t horizon;
    double level;
    struct text_list at;
    const char *at_file, *quantiles;
    size_t paths;
} kept = {.horizon = 12, .level = 0.95};

/* Says why when the status is not good, and frees. */
static int discover_finish(gpm_discovery *d, enum gpm_status st) {
    int status = st == GPM_OK ? EXIT_FINE : complain(EXIT_USAGE, "%s", gpm_discover_error(d));
    gpm_discover_free(d);
    return status;
}

static int query(int argc, char **argv) {
    bool json = kept.format == 1;
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
            out_text(", \"reading\": ");
            out_json_string(gpm_discover_reading(d));
            out_printf(", \"probability\": %.6f, \"error\": %.6f, \"ess\": %.1f}", r.probability,
                       r.error, r.ess);
        } else {
            print_answer(&r, argv[i], gpm_discover_reading(d));
        }
    }
    if (json && st == GPM_OK) out_text("]\n");
    return discover_finish(d, st);
}

#define MOST_LEVELS 100
/* Numbers separated by commas; false: one is no level. */
static bool read_levels(const char *text, double *levels, size_t *n) {
    *n = 0;
    while (text && *text) {
        char *end;
        double v = number_read(text, &end);
        if (end == text || (*end && *end != ',') || !(v > 0 && v < 1) || *n == MOST_LEVELS)
            return false;
        levels[(*n)++] = v;
        text = *end ? end + 1 : end;
    }
    return true;
}

static int forecast(int argc, char **argv) {
    const char *csv;
    gpm_discovery *d = gpm_discover_new();
    enum gpm_status st = gpm_discover_open(d, argv[0]);
    double levels[MOST_LEVELS];
    size_t n = 0;
    if (st == GPM_OK && !read_levels(kept.quantiles, levels, &n)) {
        gpm_discover_free(d);
        return complain(EXIT_USAGE, "--quantiles takes up to %d numbers between 0 and 1, by commas",
                        MOST_LEVELS);
    }
    if (st == GPM_OK) st = gpm_discover_forecast_add(d, levels, n, kept.paths);
    if (st == GPM_OK && kept.at_file)
        st = gpm_discover_forecast_file(d, kept.at_file, kept.level, &csv);
    else if (st == GPM_OK)
        st = gpm_discover_forecast(d, kept.horizon, kept.at.at, kept.at.n, kept.level, &csv);
    if (st == GPM_OK) out_data(csv, strlen(csv));
    return discover_finish(d, st);
}

static int report(int argc, char **argv) {
    static const enum gpm_discover_format formats[] = {
        GPM_REPORT_HTML, GPM_REPORT_TEXT, GPM_REPORT_MARKDOWN, GPM_REPORT_JSON, GPM_REPORT_PROGRAM};
    gpm_discovery *d = gpm_discover_new();
    enum gpm_status st = gpm_discover_open(d, argv[0]);
    bool written = st != GPM_OK || write_report(kept.output, d, formats[kept.format]);
    int status = discover_finish(d, st);
    return written ? status : EXIT_FAILED;
}

static const struct option_row query_rows[] = {
    {"format", 0, OPTION_CHOICE, "text|json", "how answers are printed (default text)",
     &kept.format},
};

COMMAND(query, 90) = {
    .args = "RUN QUERY...",
    .summary = "Answers questions about the structures of a run of discover",
    .text = "A query is made of components (LIN, SE*PER), of motifs (trend, recurring_pattern, "
            "smooth, random_walk, noise, white_noise, heteroskedastic_noise, changing_amplitude, "
            "changing_pattern, change) and of AND (&), OR (|), NOT (!) and parentheses. A sum asks "
            "for all of its "
            "terms. Questions with time in them, formal or English, are those of gpmem search: "
            "periodic(1970..1980), \"has a rising trend starting around 1988\". The error is the "
            "half-width of a 99% interval, ess the effective number of draws behind it.",
    OPTIONS(query_rows),
    .takes = {2, -1},
    .run = query,
};

static const struct option_row forecast_rows[] = {
    {"horizon", 'n', COUNTED(SIZE, HORIZON), "N", "steps after the last value (default 12)",
     &kept.horizon},
    {"at", 0, OPTION_LIST, "TIME", "predict at this time instead; may be repeated", &kept.at},
    {"at-file", 0, OPTION_TEXT, "FILE",
     "predict at the times of this CSV file, which has the columns of --with, too", &kept.at_file},
    {"level", 0, OPTION_REAL, "P", "probability of the interval (default 0.95)", &kept.level},
    {"quantiles", 0, OPTION_TEXT, "P,...", "also these quantiles, in columns of their own",
     &kept.quantiles},
    {"paths", 0, COUNTED(SIZE, PATHS), "N", "also N draws of the whole course, noise included",
     &kept.paths},
};

COMMAND(forecast, 100) = {
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
     "form of the report (default html)", &kept.format},
    {"output", 'o', OPTION_TEXT, "FILE", "where to write it (default: standard output)",
     &kept.output},
};

COMMAND(report, 110) = {
    .args = "RUN",
    .summary = "Writes the report of a run of discover",
    OPTIONS(report_rows),
    .takes = {1, 1},
    .run = report,
};
