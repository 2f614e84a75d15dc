/* SPDX-License-Identifier: Apache-2.0
 *
 * gpmem regress DATA.csv: Bayesian regression with a Gaussian process on the rows of a table, and
 * predictions for other rows.
 */
#include "front/cli/command.h"
#include "front/cli/out.h"
#include "front/cli/run.h"
#include "gpmem/regress.h"
#include <string.h>

static struct {
    struct gpm_regress_options o;
    const char *json, *report, *out;
    struct text_list at, predict;
    bool program;
} args = {.o = {.size = sizeof(struct gpm_regress_options), .seed = 1, .level = 0.95}};

static int status_of(enum gpm_status st) {
    switch (st) {
    case GPM_OK: return EXIT_FINE;
    case GPM_E_ARG:
    case GPM_E_FORMAT:
    case GPM_E_NOT_FOUND: return EXIT_USAGE;
    case GPM_E_NO_CONVERGENCE: return EXIT_UNSETTLED;
    case GPM_E_INTERRUPT: return EXIT_STOPPED;
    default: return EXIT_FAILED;
    }
}

static bool write_report(const char *path, gpm_regression *r, enum gpm_regress_format f) {
    const char *text = gpm_regression_report(r, f);
    return text ? out_file(path, text, strlen(text))
                : !complain(EXIT_FAILED, "%s", gpm_regression_error(r));
}

static bool show(gpm_regression *r, enum gpm_regress_format f) {
    const char *text = gpm_regression_report(r, f);
    if (!text) return !complain(EXIT_FAILED, "%s", gpm_regression_error(r));
    out_report(text);
    return true;
}

static enum gpm_status new_rows(gpm_regression *r) {
    enum gpm_status st = GPM_OK;
    size_t lacking;
    const char *first;
    for (size_t i = 0; i < args.predict.n && !st; i++)
        st = gpm_regression_file(r, args.predict.at[i]);
    for (size_t i = 0; i < args.at.n && !st; i++) st = gpm_regression_at(r, args.at.at[i]);
    if (st) return st;
    size_t outside = gpm_regression_outside(r, &lacking);
    if (outside)
        complain(0,
                 "%zu of the rows to predict lie%s outside of the data, where the model "
                 "only guesses; %s the inputs",
                 outside, outside == 1 ? "s" : "",
                 outside == 1 ? "its prediction names" : "their predictions name");
    if (lacking)
        complain(0, "%zu of the rows to predict lack%s a value: there is no prediction", lacking,
                 lacking == 1 ? "s" : "");
    size_t unseen = gpm_regression_unseen(r, &first);
    if (unseen)
        complain(0,
                 "%zu of the rows to predict ha%s a level that the data do not have: there is no "
                 "prediction (%s)",
                 unseen, unseen == 1 ? "s" : "ve", first);
    return GPM_OK;
}

static bool is_stdout(const char *path) {
    return path && !strcmp(path, "-");
}

static int write_all(gpm_regression *r) {
    bool more = args.at.n || args.predict.n, ok = true;
    bool taken =
        is_stdout(args.json) || is_stdout(args.report) || is_stdout(args.out) || args.program;
    bool kept = args.json || args.report || args.out;
    if (args.json) ok &= write_report(args.json, r, GPM_REGRESS_JSON);
    if (args.report) ok &= write_report(args.report, r, GPM_REGRESS_HTML);
    if (args.out) ok &= write_report(args.out, r, GPM_REGRESS_PREDICTIONS);
    if (args.program) ok &= write_report(NULL, r, GPM_REGRESS_PROGRAM);
    if (!taken && !(voice.quiet && kept)) {
        ok &= show(r, GPM_REGRESS_TEXT);
        if (ok && more) ok &= show(r, GPM_REGRESS_PREDICTIONS_TEXT);
    }
    return ok ? EXIT_FINE : EXIT_FAILED;
}

static int cmd_regress_run(int argc, char **argv) {
    (void)argc;
    if (args.out && !args.at.n && !args.predict.n)
        return complain(EXIT_USAGE,
                        "--out writes predictions: say for which rows, with --predict NEW.csv "
                        "or --at 'a=1,b=2'");
    if (args.program && args.o.kernel)
        return complain(EXIT_USAGE, "--program prints the usual model; leave --kernel out");
    if (!out_place(args.json) || !out_place(args.report) || !out_place(args.out))
        return EXIT_FAILED;
    gpm_regression *r = gpm_regression_new();
    args.o.stop = stop_flag();
    enum gpm_status st = gpm_regression_read(r, argv[0], &args.o);
    if (!st) st = new_rows(r);
    stop_on_signals(true); /* after reading, which may wait for a pipe without end */
    if (!st) st = gpm_regression_run(r);
    int status = status_of(st);
    if (st)
        complain(0, "%s", gpm_regression_error(r));
    else
        status = write_all(r);
    stop_on_signals(false);
    gpm_regression_free(r);
    return status;
}

static const struct option_row rows[] = {
    {"y", 0, OPTION_TEXT, "NAME", "column of the outcome (default: the last one of numbers)",
     &args.o.y},
    {"x", 0, OPTION_TEXT, "NAME,...", "columns of inputs (default: all others)", &args.o.x},
    {"predict", 0, OPTION_LIST, "FILE",
     "predict the rows of this CSV file, its columns found by name", &args.predict},
    {"at", 0, OPTION_LIST, "POINT", "predict at this point, 'a=1.5,b=2'; may be repeated",
     &args.at},
    {"out", 'o', OPTION_TEXT, "FILE", "write the predictions as CSV ('-': standard output)",
     &args.out},
    {"level", 0, OPTION_REAL, "P", "probability of intervals (default 0.95)", &args.o.level},
    {"kernel", 'k', OPTION_TEXT, "TEXT",
     "another covariance, in standardised units: 'MAT52(sf=1, l=[2, 2])'; values are priors' "
     "medians",
     &args.o.kernel},
    {"family", 0, OPTION_CHOICE, "auto|normal|bernoulli|poisson|negative_binomial",
     "what the outcome is: numbers, the chance of one of two values, counts (default auto)",
     &args.o.family},
    {"noise", 0, OPTION_CHOICE, "auto|normal|robust",
     "rows out of line: set aside where the evidence says so (auto), never, or if improbable",
     &args.o.noise},
    {"max-rows", 0, OPTION_SIZE, "N",
     "rows of the model, at most 8000; others test it (default 2000; of chances and counts 800)",
     &args.o.max_rows},
    {"decimal", 0, OPTION_CHOICE, "auto|point|comma", "how decimals are written (default auto)",
     &args.o.decimal},
    {"missing", 0, OPTION_TEXT, "CODE,...", "cells that stand for missing values, such as -999",
     &args.o.missing},
    {"date-format", 0, OPTION_TEXT, "PATTERN",
     "how columns of dates are written, such as %d/%m/%Y (default: found)", &args.o.date_format},
    {"json", 0, OPTION_TEXT, "FILE", "write the result as JSON ('-': standard output)", &args.json},
    {"report", 0, OPTION_TEXT, "FILE", "write a self-contained HTML report", &args.report},
    {"program", 0, OPTION_FLAG, NULL, "print the model as a program of the language instead",
     &args.program},
    {"rough", 0, OPTION_FLAG, NULL, "give the answer, too, where chains do not agree",
     &args.o.rough},
    {"seed", 's', OPTION_UINT, "N", "seed of the random numbers (default 1)", &args.o.seed},
    {"threads", 'j', COUNTED(SMALL, THREADS), "N", "threads (default: all cores, at most 8)",
     &args.o.threads},
};

COMMAND(regress, 75) = {
    .args = "DATA.csv",
    .summary = "Regression with a Gaussian process: what matters, how well, predictions",
    .text =
        "Reads a table (numbers as people write them, see --decimal; dates become years since the "
        "first; words with few levels become columns of 0 and 1; rows with missing values are "
        "skipped and counted), and prints how "
        "well "
        "the outcome can be predicted from the inputs, which of them matter and how, the noise, "
        "and "
        "rows that are far from what the others say. Predictions come with intervals, of the "
        "function and of a new measurement.\n\n"
        "The model, with inputs and outcome brought to mean 0 and standard deviation 1, is a "
        "constant, a linear part, a smooth part with a length scale for each input, and noise. Its "
        "parameters are integrated out under log-normal priors, not fitted. Of an outcome with two "
        "values it is the logarithm of the odds that is modelled so, of counts that of their mean "
        "(--family).\n\n"
        "Exit status: 0 fine, 1 the run failed, 2 bad usage or bad data, 3 not settled: "
        "chains explain the rows in different ways, and there is no answer (but with --rough), "
        "4 stopped by a signal.",
    OPTIONS(rows),
    .takes = {1, 1},
    .run = cmd_regress_run,
};
