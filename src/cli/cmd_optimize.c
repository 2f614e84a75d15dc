/* SPDX-License-Identifier: Apache-2.0
 *
 * gpmem optimize --minimize --var x=-5:10 --budget 50 --store runs.db -- ./sim {x}; gpmem ask STORE
 * and gpmem tell STORE ID VALUE: optimising with evaluations done elsewhere.
 */
#include "base/json.h"
#include "base/number.h"
#include "cli/out.h"
#include "cli/run.h"
#include "gpmem/optimize.h"
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct gpm_optimize_options options = {
    .size = sizeof options, .seed = 1, .mcmc = -1, .jobs = 1};
static struct { /* each command has some of them */
    struct text_list vars, target;
    bool mcmc; /* sets options.mcmc, whose default is neither yes nor no */
    bool minimize;
    const char *json, *report, *join;
    uint64_t count;
    int format;
} args = {.count = 1};

static const struct option_row search_rows[] = {
    {"maximize", 0, OPTION_FLAG, NULL, "look for the largest value", &options.maximize},
    {"var", 0, OPTION_LIST, "NAME=LO:HI",
     "a variable; also NAME=LO:HI:log, :int, :log:int, NAME=a,b,c", &args.vars},
    {"store", 0, OPTION_TEXT, "FILE", "memo table that keeps everything (default: memory)",
     &options.store},
    {"seed", 's', OPTION_UINT, "N", "seed of all decisions (default 1)", &options.seed},
    {"noisy", 0, OPTION_FLAG, NULL,
     "values are noisy: repeat, average, recommend the mean's optimum", &options.noisy},
    {"acquisition", 0, OPTION_CHOICE, "auto|thompson|ei|ucb",
     "how the next point is chosen (default auto)", &options.acquisition},
    {"initial", 0, OPTION_SMALL, "N", "points of the first design (default: by dimension)",
     &options.initial},
    {"mcmc", 0, OPTION_FLAG, NULL, "sample hyper-parameters instead of maximising", &args.mcmc},
    {"no-local", 0, OPTION_FLAG, NULL, "without the local search around the best point",
     &options.no_local},
    {"warm-start", 0, OPTION_TEXT, "FILE",
     "CSV of known values: a column per variable, and 'value'", &options.warm},
    {"objective-version", 0, OPTION_TEXT, "TAG",
     "part of the function's identity: change it when the program changed", &options.version},
};
static struct option_group search_options = {search_rows, COUNT_OF(search_rows)};

static int status_of(enum gpm_status s) {
    switch (s) {
    case GPM_OK: return EXIT_FINE;
    case GPM_E_ARG:
    case GPM_E_CONFLICT:
    case GPM_E_NOT_FOUND:
    case GPM_E_DENIED: return EXIT_USAGE;
    default: return EXIT_FAILED;
    }
}

/* The search that the options describe; its failure is told by `finish`. */
static int begin(gpm_optimizer **o, int argc, char **argv) {
    if (args.mcmc) options.mcmc = 1;
    *o = gpm_optimizer_new(&options);
    for (size_t i = 0; i < args.vars.n; i++)
        if (gpm_optimizer_variable(*o, args.vars.at[i])) return EXIT_USAGE;
    if (argc && gpm_optimizer_command(*o, argc, argv)) return EXIT_USAGE;
    return status_of(gpm_optimizer_open(*o));
}

static int finish(gpm_optimizer *o, int status) {
    if (status && *gpm_optimizer_error(o)) complain(0, "%s", gpm_optimizer_error(o));
    gpm_optimizer_free(o);
    return status;
}

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

static int run(int argc, char **argv) {
    bool tty = isatty(2);
    const char *target = args.target.n ? args.target.at[args.target.n - 1] : NULL;
    if (args.minimize && options.maximize)
        return complain(EXIT_USAGE, "--minimize and --maximize exclude each other");
    if (!args.join && !argc)
        return complain(EXIT_USAGE, "there is no command; give it after --, for example: gpmem "
                                    "optimize --var x=-5:10 -- ./sim {x}");
    if (!args.join && !args.vars.n)
        return complain(EXIT_USAGE, "there are no variables; give them with --var x=-5:10");
    if (!args.join && !options.budget && !options.max_seconds && !target)
        return complain(EXIT_USAGE, "there is no end; give --budget N, --max-time S or --target V");
    if (args.join && argc)
        return complain(EXIT_USAGE, "--join takes the command from the store; leave it out");
    if (target && !number_parse(target, strlen(target), &options.target))
        return complain(EXIT_USAGE, "--target: '%s' is not a number", target);
    options.has_target = target != NULL;
    options.stop = stop_flag();
    if (!voice.quiet) options.progress = progress, options.user = &tty;
    if (args.join) options.join = true, options.store = args.join;
    gpm_optimizer *o;
    stop_on_signals(true);
    int status = begin(&o, argc, argv);
    if (status == EXIT_FINE) {
        double best;
        enum gpm_status s = gpm_optimizer_run(o);
        if (tty && !voice.quiet) err_printf("\n");
        if (s && s != GPM_E_INTERRUPT)
            status = s == GPM_E_DENIED ? EXIT_USAGE : EXIT_FAILED;
        else if (s == GPM_E_INTERRUPT)
            complain(0, "stopped; what is done is kept");
        if (!status) status = write_outputs(o);
        if (!status && gpm_optimizer_count(o) && !gpm_optimizer_best(o, NULL, &best))
            status = EXIT_FAILED;
        if (!status && s == GPM_E_INTERRUPT) status = EXIT_FAILED;
    }
    stop_on_signals(false);
    return finish(o, status);
}

static const struct option_row rows[] = {
    {"minimize", 0, OPTION_FLAG, NULL, "look for the smallest value (default)", &args.minimize},
    {.kind = OPTION_GROUP, .field = &search_options},
    {"budget", 'n', OPTION_SIZE, "N", "evaluations in all, earlier runs on the store included",
     &options.budget},
    {"max-time", 0, OPTION_TIME, "S", "stop after S seconds (also 5m, 2h)", &options.max_seconds},
    {"target", 0, OPTION_LIST, "V", "stop at a value at least as good as V", &args.target},
    {"jobs", 'j', OPTION_SMALL, "N", "programs run at once (default 1)", &options.jobs},
    {"timeout", 0, OPTION_TIME, "S", "time for one evaluation (default: no limit)",
     &options.timeout},
    {"retries", 0, OPTION_SMALL, "N", "further attempts after a failure (default 0)",
     &options.retries},
    {"stdin-json", 0, OPTION_FLAG, NULL, "the program reads its inputs as JSON from stdin",
     &options.json},
    {"join", 0, OPTION_TEXT, "FILE", "work on the search of this store, with its own settings",
     &args.join},
    {"log", 0, OPTION_TEXT, "FILE", "append a line 'x1 ... xd y' per evaluation (y: fail)",
     &options.log},
    {"json", 0, OPTION_TEXT, "FILE", "write best, recommended point and trace as JSON (-: stdout)",
     &args.json},
    {"report", 0, OPTION_TEXT, "FILE", "write an HTML page with trace, slices and sensitivity",
     &args.report},
    {"allow-run", 0, OPTION_FLAG, NULL, "--join may run a command that you did not store here",
     &options.allow_run},
};

COMMAND(optimize, 120) = {
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
    .takes = {0, -1},
    .run = run,
};

/* ---- ask ---- */

/* The store by option or as the first argument. */
static void take_store(int *argc, char ***argv) {
    if (options.store || *argc == 0) return;
    --*argc;
    options.store = *(*argv)++;
}

static void print_ask(gpm_optimizer *o, int64_t id, const double *x, bool json) {
    struct buf b = BUF_INIT;
    buf_printf(&b, json ? "{\"id\": %" PRId64 ", \"x\": {" : "%" PRId64, id);
    for (size_t j = 0; j < gpm_optimizer_dim(o); j++) {
        const char *name = gpm_optimizer_name(o, j), *v = gpm_optimizer_value(o, j, x[j]);
        double back;
        bool number = number_parse(v, strlen(v), &back) && back == x[j];
        if (!json) {
            buf_printf(&b, " %s=%s", name, v);
            continue;
        }
        json_key(&b, name);
        if (number)
            buf_puts(&b, v);
        else
            buf_json_string(&b, v, strlen(v));
    }
    buf_puts(&b, json ? "}}\n" : "\n");
    out_text(b.data);
    buf_release(&b);
}

static int ask_points(gpm_optimizer *o) {
    double *x = NEW_ARRAY(double, gpm_optimizer_dim(o) + 1);
    enum gpm_status s = GPM_OK;
    int64_t id;
    for (uint64_t i = 0; i < args.count && !s; i++) {
        s = gpm_optimizer_ask(o, x, &id);
        if (!s) print_ask(o, id, x, args.format == 1);
    }
    mem_free(x);
    return s ? EXIT_FAILED : EXIT_FINE;
}

static int run_ask(int argc, char **argv) {
    gpm_optimizer *o;
    take_store(&argc, &argv);
    if (!options.store || argc)
        return complain(EXIT_USAGE, "usage: gpmem ask STORE [--var x=-5:10 ...]");
    options.join = args.vars.n == 0;
    int status = begin(&o, 0, NULL);
    if (!status) status = ask_points(o);
    return finish(o, status);
}

static const struct option_row ask_rows[] = {
    {.kind = OPTION_GROUP, .field = &search_options},
    {"count", 'n', OPTION_UINT, "N", "points to ask for (default 1)", &args.count},
    {"format", 0, OPTION_CHOICE, "text|json", "how points are printed (default text)",
     &args.format},
};

COMMAND(ask, 130) = {
    .args = "STORE",
    .summary = "The next points to evaluate, for evaluations done elsewhere",
    .text = "Prints one line per point: its id, then name=value for each variable (or one JSON "
            "object). The first call makes the store and needs --var; later ones need the store "
            "alone. Points stay reserved until told.",
    OPTIONS(ask_rows),
    .takes = {0, 1},
    .run = run_ask,
};

/* ---- tell ---- */

static bool read_value(const char *text, double *y) {
    if (strcmp(text, "fail") == 0 || strcmp(text, "failed") == 0) {
        *y = NAN;
        return true;
    }
    return number_parse(text, strlen(text), y) && isfinite(*y);
}

/* name=value for every variable. */
static int read_point(gpm_optimizer *o, int argc, char **argv, double *x) {
    size_t d = gpm_optimizer_dim(o), seen = 0;
    for (int i = 0; i < argc; i++) {
        const char *eq = strchr(argv[i], '=');
        size_t j = 0;
        while (j < d && (strlen(gpm_optimizer_name(o, j)) != (size_t)(eq - argv[i]) ||
                         strncmp(gpm_optimizer_name(o, j), argv[i], (size_t)(eq - argv[i])) != 0))
            j++;
        if (j == d) return complain(EXIT_USAGE, "there is no variable '%s'", argv[i]);
        if (gpm_optimizer_read(o, j, eq + 1, &x[j])) return EXIT_USAGE;
        seen++;
    }
    if (seen != d) return complain(EXIT_USAGE, "give every one of the %zu variables", d);
    return EXIT_FINE;
}

static int tell(gpm_optimizer *o, int argc, char **argv) {
    const char *value = argv[argc - 1];
    char *end;
    double y;
    if (!read_value(value, &y))
        return complain(EXIT_USAGE, "'%s' is neither a finite number nor 'fail'", value);
    if (strchr(argv[0], '=')) {
        double *x = NEW_ARRAY(double, gpm_optimizer_dim(o) + 1);
        int status = read_point(o, argc - 1, argv, x);
        if (!status) status = status_of(gpm_optimizer_tell_at(o, x, y));
        mem_free(x);
        return status;
    }
    long long id = strtoll(argv[0], &end, 10);
    if (*end || argc != 2)
        return complain(EXIT_USAGE,
                        "expected ID VALUE, or name=value of each variable and the VALUE");
    return status_of(gpm_optimizer_tell(o, id, y));
}

static int run_tell(int argc, char **argv) {
    gpm_optimizer *o;
    take_store(&argc, &argv);
    if (!options.store || argc < 2) return complain(EXIT_USAGE, "usage: gpmem tell STORE ID VALUE");
    options.join = true;
    int status = begin(&o, 0, NULL);
    if (!status) status = tell(o, argc, argv);
    if (!status) out_text(gpm_optimizer_report(o, GPM_OPTIMIZE_TEXT));
    return finish(o, status);
}

static const struct option_row tell_rows[] = {
    {"store", 0, OPTION_TEXT, "FILE", "the store, when not the first argument", &options.store},
};

COMMAND(tell, 140) = {
    .args = "STORE ID VALUE",
    .summary = "The outcome of an evaluation done elsewhere",
    .text = "ID is the number `gpmem ask` printed; VALUE is a number, or 'fail'. A point that was "
            "never asked: gpmem tell STORE x=1.5 y=2 VALUE. Prints the best point so far.",
    OPTIONS(tell_rows),
    .takes = {1, -1},
    .run = run_tell,
};
