/* SPDX-License-Identifier: Apache-2.0
 *
 * gpmem optimize --minimize --var x=-5:10 --budget 50 --store runs.db -- ./sim {x}
 */
#include "cli/command.h"
#include "base/number.h"
#include "cli/optimize_args.h"
#include "cli/out.h"
#include "gpmem/optimize.h"
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct {
    bool minimize;
    struct text_list target;
    const char *json, *report, *join;
} args;

/* On a terminal one line that is written again and again. */
static void progress(void *user, const char *line) {
    bool tty = *(const bool *)user;
    size_t n = tty ? strcspn(line, "\n") : strlen(line);
    if (tty) out_drawn(2, "\r\033[K", 4);
    err_printf(tty ? "%.*s" : "%.*s\n", (int)n, line);
}

static int write_outputs(gpm_optimizer *o) {
    const char *json = args.json ? gpm_optimizer_report(o, GPM_OPTIMIZE_JSON) : NULL;
    if (json && !out_file(args.json, json, strlen(json))) return EXIT_FAILED;
    const char *html = args.report ? gpm_optimizer_report(o, GPM_OPTIMIZE_HTML) : NULL;
    if (html && !out_file(args.report, html, strlen(html))) return EXIT_FAILED;
    if (!(args.json && strcmp(args.json, "-") == 0))
        out_text(gpm_optimizer_report(o, GPM_OPTIMIZE_TEXT));
    return EXIT_FINE;
}

static bool any_success(gpm_optimizer *o) {
    double *x = calloc(gpm_optimizer_dim(o) + 1, sizeof *x), y;
    bool any = x && gpm_optimizer_best(o, x, &y);
    free(x);
    return any;
}

static bool fill_options(struct gpm_optimize_options *p, bool *tty) {
    *p = optimize_args;
    if (optimize_mcmc) p->mcmc = 1;
    p->stop = stop_flag();
    *tty = isatty(2);
    if (!voice.quiet) p->progress = progress, p->user = tty;
    if (args.join) p->join = true, p->store = args.join;
    if (args.target.n) {
        const char *text = args.target.at[args.target.n - 1];
        p->has_target = true;
        if (!number_parse(text, strlen(text), &p->target)) return false;
    }
    return true;
}

static int prepare(gpm_optimizer *o, int argc, char **argv) {
    for (size_t i = 0; i < optimize_vars.n; i++)
        if (gpm_optimizer_variable(o, optimize_vars.at[i])) return EXIT_USAGE;
    if (argc && gpm_optimizer_command(o, argc, argv)) return EXIT_USAGE;
    switch (gpm_optimizer_open(o)) {
    case GPM_OK: return EXIT_FINE;
    case GPM_E_ARG:
    case GPM_E_CONFLICT:
    case GPM_E_DENIED: return EXIT_USAGE;
    default: return EXIT_FAILED;
    }
}

static int run(int argc, char **argv) {
    struct gpm_optimize_options p;
    bool tty;
    if (args.minimize && optimize_args.maximize)
        return complain(EXIT_USAGE, "--minimize and --maximize exclude each other");
    if (!args.join && !argc)
        return complain(EXIT_USAGE, "there is no command; give it after --, for example: gpmem "
                                    "optimize --var x=-5:10 -- ./sim {x}");
    if (!args.join && !optimize_vars.n)
        return complain(EXIT_USAGE, "there are no variables; give them with --var x=-5:10");
    if (!args.join && !optimize_args.budget && !optimize_args.max_seconds && !args.target.n)
        return complain(EXIT_USAGE, "there is no end; give --budget N, --max-time S or --target V");
    if (args.join && argc)
        return complain(EXIT_USAGE, "--join takes the command from the store; leave it out");
    if (!fill_options(&p, &tty))
        return complain(EXIT_USAGE, "--target: '%s' is not a number",
                        args.target.at[args.target.n - 1]);
    gpm_optimizer *o = gpm_optimizer_new(&p);
    stop_on_signals(true);
    int status = prepare(o, argc, argv);
    if (status == EXIT_FINE) {
        enum gpm_status s = gpm_optimizer_run(o);
        if (tty && !voice.quiet) err_printf("\n");
        if (s && s != GPM_E_INTERRUPT)
            status = s == GPM_E_DENIED ? EXIT_USAGE : EXIT_FAILED;
        else if (s == GPM_E_INTERRUPT)
            complain(0, "stopped; what is done is kept");
        if (!status) status = write_outputs(o);
        if (!status && gpm_optimizer_count(o) && !any_success(o)) status = EXIT_FAILED;
        if (!status && s == GPM_E_INTERRUPT) status = EXIT_FAILED;
    }
    if (status && *gpm_optimizer_error(o)) complain(status, "%s", gpm_optimizer_error(o));
    stop_on_signals(false);
    gpm_optimizer_free(o);
    return status;
}

static const struct option_row rows[] = {
    {"minimize", 0, OPTION_FLAG, NULL, "look for the smallest value (default)", &args.minimize},
    {.kind = OPTION_GROUP},
    {"budget", 'n', OPTION_SIZE, "N", "evaluations in all, earlier runs on the store included",
     &optimize_args.budget},
    {"max-time", 0, OPTION_TIME, "S", "stop after S seconds (also 5m, 2h)",
     &optimize_args.max_seconds},
    {"target", 0, OPTION_LIST, "V", "stop at a value at least as good as V", &args.target},
    {"jobs", 'j', OPTION_SMALL, "N", "programs run at once (default 1)", &optimize_args.jobs},
    {"timeout", 0, OPTION_TIME, "S", "time for one evaluation (default: no limit)",
     &optimize_args.timeout},
    {"retries", 0, OPTION_SMALL, "N", "further attempts after a failure (default 0)",
     &optimize_args.retries},
    {"stdin-json", 0, OPTION_FLAG, NULL, "the program reads its inputs as JSON from stdin",
     &optimize_args.json},
    {"join", 0, OPTION_TEXT, "FILE", "work on the search of this store, with its own settings",
     &args.join},
    {"log", 0, OPTION_TEXT, "FILE", "append a line 'x1 ... xd y' per evaluation (y: fail)",
     &optimize_args.log},
    {"json", 0, OPTION_TEXT, "FILE", "write best, recommended point and trace as JSON (-: stdout)",
     &args.json},
    {"report", 0, OPTION_TEXT, "FILE", "write an HTML page with trace, slices and sensitivity",
     &args.report},
    {"allow-run", 0, OPTION_FLAG, NULL, "--join may run a command that you did not store here",
     &optimize_args.allow_run},
};

COMMAND(optimize) = {
    .place = 120,
    .name = "optimize",
    .args = "-- COMMAND [ARGS]",
    .summary = "Minimises or maximises what a program prints",
    .text =
        "Runs COMMAND with {name} in its arguments replaced by values of the variables; it prints "
        "one number. A program that fails, hangs (--timeout) or prints anything else is a recorded "
        "failure. Everything is kept in the store as it happens: stop at any time and give the "
        "same command again to go on, or --join the store with more workers.\n\n"
        "Standard output: the number of evaluations, the best value and its point. Exit status: 0 "
        "when budget, target or time was reached, 1 when stopped by a signal, when no evaluation "
        "succeeded or when the store failed, 2 bad usage.",
    OPTIONS(rows),
    .group = &optimize_options,
    .takes = {0, -1},
    .run = run,
};
