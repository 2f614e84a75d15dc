/* SPDX-License-Identifier: Apache-2.0
 *
 * gpmem optimize --minimize --var x=-5:10 --budget 50 --store runs.db -- ./sim {x}; gpmem ask STORE
 * and gpmem tell STORE ID VALUE: optimising with evaluations done elsewhere.
 */
#include "base/json.h"
#include "base/number.h"
#include "front/cli/out.h"
#include "front/cli/run.h"
#include "gpmem/optimize.h"
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct gpm_optimize_options options = {
    .size = sizeof options, .seed = 1, .mcmc = -1, .jobs = 1};
static struct { /* each command has some of them */
    struct text_list vars, fidelity, target, objectives, bounds, kept, patterns, starts;
    bool mcmc; /* sets options.mcmc, whose default is neither yes nor no */
    bool minimize;
    const char *json, *report, *join, *max_cost;
    uint64_t count;
    int format;
} args = {.count = 1};

static const struct option_row search_rows[] = {
    {.kind = OPTION_GROUP, .field = &device_options},
    {"maximize", 0, OPTION_FLAG, NULL, "look for the largest value", &options.maximize},
    {"var", 0, OPTION_LIST, "NAME=LO:HI",
     "a variable; also LO:HI:log, :int, NAME=a,b,c, a<b<c; A,B=shares; A,B=order; 'X=0:1 when "
     "KIND=a'",
     &args.vars},
    {"fidelity", 0, OPTION_LIST, "NAME=LO:HI",
     "a variable that sets the cost of an evaluation (also LO:HI:log, :int); HI is what is meant",
     &args.fidelity},
    {"start", 0, OPTION_LIST, "POINT", "a guess to evaluate first, for example 'x=1 y=2'",
     &args.starts},
    {"objective", 0, OPTION_LIST, "NAME",
     "the number to minimise (NAME:max: maximise); A,B: the front of both; A@V: reference value V",
     &args.objectives},
    {"constraint", 0, OPTION_LIST, "BOUND",
     "a bound: NAME<=B, NAME>=A, A<=NAME<=B, NAME=V+-TOLERANCE; or of variables: 'x + 2*y <= 10'",
     &args.bounds},
    {"collect", 0, OPTION_LIST, "NAME", "numbers that are only kept", &args.kept},
    {"read", 0, OPTION_LIST, "PATTERN",
     "takes numbers out of what is printed: 'loss: {}', 'loss={loss} time={time}'", &args.patterns},
    {"store", 0, OPTION_TEXT, "FILE",
     "file or postgresql://.. that keeps everything (default: memory)", &options.store},
    {"seed", 's', OPTION_UINT, "N", "seed of all decisions (default 1)", &options.seed},
    {"noisy", 0, OPTION_FLAG, NULL,
     "values are noisy: repeat, average, recommend the mean's optimum", &options.noisy},
    {"acquisition", 0, OPTION_CHOICE, "auto|thompson|ei|ucb",
     "how the next point is chosen (default auto)", &options.acquisition},
    {"initial", 0, COUNTED(SMALL, INITIAL), "N",
     "points of the first design (default: by dimension)", &options.initial},
    {"mcmc", 0, OPTION_FLAG, NULL, "sample hyper-parameters instead of maximising", &args.mcmc},
    {"no-local", 0, OPTION_FLAG, NULL, "without the local search around the best point",
     &options.no_local},
    {"warm-start", 0, OPTION_TEXT, "FILE",
     "CSV of known values: a column per variable, and 'value'", &options.warm},
    {"from", 0, OPTION_TEXT, "STORE",
     "values of an earlier search whose variables' names agree, within the ranges of this one",
     &options.from},
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

static bool give(gpm_optimizer *o, const struct text_list *list,
                 enum gpm_status (*take)(gpm_optimizer *, const char *)) {
    for (size_t i = 0; i < list->n; i++)
        if (take(o, list->at[i])) return false;
    return true;
}

static enum gpm_status give_fidelity(gpm_optimizer *o, const char *text) {
    struct buf b = BUF_INIT;
    buf_printf(&b, "%s:fidelity", text);
    enum gpm_status s = gpm_optimizer_variable(o, b.data);
    buf_release(&b);
    return s;
}

/* The search that the options describe; `finish` reports its failure. */
static int optimize_begin(gpm_optimizer **o, int argc, char **argv) {
    if (args.mcmc) options.mcmc = 1;
    *o = gpm_optimizer_new(&options);
    if (!give(*o, &args.vars, gpm_optimizer_variable) || !give(*o, &args.fidelity, give_fidelity) ||
        !give(*o, &args.starts, gpm_optimizer_start) ||
        !give(*o, &args.objectives, gpm_optimizer_objective) ||
        !give(*o, &args.bounds, gpm_optimizer_constraint) ||
        !give(*o, &args.kept, gpm_optimizer_collect) ||
        !give(*o, &args.patterns, gpm_optimizer_read_output))
        return EXIT_USAGE;
    if (argc && gpm_optimizer_command(*o, argc, argv)) return EXIT_USAGE;
    return status_of(gpm_optimizer_open(*o));
}

static int optimize_finish(gpm_optimizer *o, int status) {
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

/* Whatever cannot be written, the rest is: a search may have taken days, and have no store. */
static int write_outputs(gpm_optimizer *o) {
    const char *json = args.json ? gpm_optimizer_report(o, GPM_OPTIMIZE_JSON) : NULL;
    bool good = !json || out_file(args.json, json, strlen(json));
    const char *html = args.report ? gpm_optimizer_report(o, GPM_OPTIMIZE_HTML) : NULL;
    if (html && !out_file(args.report, html, strlen(html))) good = false;
    if (!(args.json && strcmp(args.json, "-") == 0))
        out_report(gpm_optimizer_report(o, GPM_OPTIMIZE_TEXT));
    return good ? EXIT_FINE : EXIT_FAILED;
}

/* A variable that the command does not have is mostly a slip; it is searched all the same. */
static void note_unused(const gpm_optimizer *o, int argc, char **argv) {
    struct buf unused = BUF_INIT, place = BUF_INIT;
    for (size_t j = 0; argc && !options.json && j < gpm_optimizer_dim(o); j++) {
        bool used = false;
        buf_reset(&place);
        buf_printf(&place, "{%s}", gpm_optimizer_name(o, j));
        for (int i = 0; i < argc && !used; i++) used = strstr(argv[i], place.data) != NULL;
        if (!used) buf_printf(&unused, "%s%s", unused.len ? ", " : "", place.data);
    }
    if (unused.len && !voice.quiet) err_printf("the command does not use %s\n", unused.data);
    buf_release(&unused);
    buf_release(&place);
}

static int cmd_optimize_run(int argc, char **argv) {
    bool tty = isatty(2);
    const char *target = args.target.n ? args.target.at[args.target.n - 1] : NULL;
    if (args.minimize && options.maximize)
        return complain(EXIT_USAGE, "--minimize and --maximize exclude each other");
    if (!args.join && !argc)
        return complain(EXIT_USAGE, "there is no command; give it after --, for example: gpmem "
                                    "optimize --var x=-5:10 -- ./sim {x}");
    if (!args.join && !args.vars.n)
        return complain(EXIT_USAGE, "there are no variables; give them with --var x=-5:10");
    if (!args.join && !options.budget && !options.max_seconds && !target && !args.max_cost)
        return complain(
            EXIT_USAGE,
            "there is no end; give --budget N, --max-cost C, --max-time S or --target V");
    if (args.join && options.store)
        return complain(EXIT_USAGE, "--join names the store; leave --store out");
    if (!out_place(args.json) || !out_place(args.report) || !out_place(options.log))
        return EXIT_FAILED;
    if (args.join && argc)
        return complain(EXIT_USAGE, "--join takes the command from the store; leave it out");
    if (target && !number_parse(target, strlen(target), &options.target))
        return complain(EXIT_USAGE, "--target: '%s' is not a number", target);
    options.has_target = target != NULL;
    if (args.max_cost && (!number_parse(args.max_cost, strlen(args.max_cost), &options.max_cost) ||
                          !(options.max_cost > 0)))
        return complain(EXIT_USAGE, "--max-cost: '%s' is not a number above 0", args.max_cost);
    options.stop = stop_flag();
    if (!voice.quiet) options.progress = progress, options.user = &tty;
    if (args.join) options.join = true, options.store = args.join;
    gpm_optimizer *o;
    stop_on_signals(true);
    int status = optimize_begin(&o, argc, argv);
    if (status == EXIT_FINE) {
        double best;
        note_unused(o, argc, argv);
        enum gpm_status s = gpm_optimizer_run(o);
        if (tty && !voice.quiet) err_printf("\n");
        if (s && s != GPM_E_INTERRUPT)
            status = s == GPM_E_DENIED || s == GPM_E_ARG ? EXIT_USAGE : EXIT_FAILED;
        else if (s == GPM_E_INTERRUPT)
            complain(0, "stopped; what is done is kept");
        bool found = gpm_optimizer_best(o, NULL, &best);
        if (found || !status) {
            int written = write_outputs(o);
            if (!status) status = written;
        }
        if (!status && (gpm_optimizer_count(o) || !s) && !found) status = EXIT_FAILED;
        if (!status && s == GPM_E_INTERRUPT) status = EXIT_STOPPED;
    }
    stop_on_signals(false);
    return optimize_finish(o, status);
}

static const struct option_row rows[] = {
    {"minimize", 0, OPTION_FLAG, NULL, "look for the smallest value (default)", &args.minimize},
    {.kind = OPTION_GROUP, .field = &search_options},
    {"budget", 'n', OPTION_SIZE, "N", "evaluations in all, earlier runs on the store included",
     &options.budget},
    {"max-cost", 0, OPTION_TEXT, "C",
     "stop when evaluations cost C in all: their 'cost', else 1 each or the fidelity's share",
     &args.max_cost},
    {"no-early-stop", 0, OPTION_FLAG, NULL,
     "do not stop programs that fall behind by their lines 'gpmem: STEP VALUE'",
     &options.no_early_stop},
    {"max-time", 0, OPTION_TIME, "S", "stop after S seconds (also 5m, 2h)", &options.max_seconds},
    {"target", 0, OPTION_LIST, "V", "stop at a value at least as good as V", &args.target},
    {"jobs", 'j', COUNTED(SMALL, JOBS), "N", "programs run at once (default 1)", &options.jobs},
    {"timeout", 0, OPTION_TIME, "S", "time for one evaluation (default: no limit)",
     &options.timeout},
    {"claim", 0, OPTION_TIME, "S",
     "a worker silent for S seconds is taken for dead (default 10m; 1m on a server)",
     &options.claim_seconds},
    {"retries", 0, COUNTED(SMALL, RETRIES), "N", "further attempts after a failure (default 0)",
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
        "one number. With --objective, --constraint or --collect it prints several: in a line, in "
        "the order objectives, constraints, collected, or as members of one JSON object. What it "
        "tells before its last line is left aside; --read takes numbers out of a log. A program "
        "that fails, hangs (--timeout) or prints anything else is a recorded failure. Everything "
        "is kept in the store as it happens: stop at any time and give the "
        "same command again to go on, or --join the store with more workers.\n\n"
        "Standard output: the number of evaluations, the best value and its point. Exit status: 0 "
        "when budget, target or time was reached, 1 when no evaluation succeeded or when the store "
        "failed, 2 bad usage, 4 stopped by a signal.",
    OPTIONS(rows),
    .takes = {0, -1},
    .run = cmd_optimize_run,
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
    int status = optimize_begin(&o, 0, NULL);
    if (!status) status = ask_points(o);
    return optimize_finish(o, status);
}

static const struct option_row ask_rows[] = {
    {.kind = OPTION_GROUP, .field = &search_options},
    {"count", 'n', COUNTED(UINT, POINTS), "N", "points to ask for (default 1)", &args.count},
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

/* Which variable or number has this name, or SIZE_MAX. */
static size_t index_of(gpm_optimizer *o, const char *(*name)(const gpm_optimizer *, size_t),
                       size_t count, const char *text, size_t n) {
    for (size_t j = 0; j < count; j++)
        if (strlen(name(o, j)) == n && strncmp(name(o, j), text, n) == 0) return j;
    return SIZE_MAX;
}

/* The arguments of tell: name=value for each variable (or the ID was given), and the numbers by
 * name or in their order, or 'fail'. */
struct told {
    double *x, *y;
    size_t given, numbers; /* variables, numbers */
    bool failed;
};

static int read_word(gpm_optimizer *o, const char *word, struct told *t) {
    size_t count = gpm_optimizer_outputs(o), at = t->numbers;
    const char *eq = strchr(word, '='), *value = eq ? eq + 1 : word;
    if (strcmp(word, "fail") == 0 || strcmp(word, "failed") == 0) {
        t->failed = true;
        return EXIT_FINE;
    }
    if (eq) {
        size_t n = (size_t)(eq - word);
        size_t j = index_of(o, gpm_optimizer_name, gpm_optimizer_dim(o), word, n);
        if (j != SIZE_MAX) {
            t->given++;
            return gpm_optimizer_read(o, j, value, &t->x[j]) ? EXIT_USAGE : EXIT_FINE;
        }
        at = index_of(o, gpm_optimizer_output, count, word, n);
        if (at == SIZE_MAX) return complain(EXIT_USAGE, "there is no variable '%s'", word);
    }
    double y;
    if (!number_parse(value, strlen(value), &y) || !isfinite(y))
        return complain(EXIT_USAGE, "'%s' is neither a finite number nor 'fail'", word);
    if (at >= count) return complain(EXIT_USAGE, "an evaluation gives %zu numbers", count);
    t->y[at] = y;
    t->numbers++;
    return EXIT_FINE;
}

static int tell(gpm_optimizer *o, int argc, char **argv) {
    size_t d = gpm_optimizer_dim(o), count = gpm_optimizer_outputs(o);
    struct told t = {.x = NEW_ARRAY(double, d + count + 1)};
    char *end;
    long long id = strtoll(argv[0], &end, 10);
    bool by_id = end != argv[0] && !*end;
    int status = EXIT_FINE;
    t.y = t.x + d;
    for (int i = by_id; i < argc && !status; i++) status = read_word(o, argv[i], &t);
    const double *y = t.failed ? NULL : t.y;
    if (status) {
    } else if (!t.failed && t.numbers != count) {
        status = complain(EXIT_USAGE, "expected %zu number%s (%zu given), or 'fail'", count,
                          count == 1 ? "" : "s", t.numbers);
    } else if (by_id && t.given) {
        status =
            complain(EXIT_USAGE, "expected ID VALUE, or name=value of each variable and the VALUE");
    } else if (by_id) {
        status = status_of(gpm_optimizer_tell_all(o, id, y));
    } else if (t.given != d) {
        status = complain(EXIT_USAGE, "give every one of the %zu variables", d);
    } else {
        status = status_of(gpm_optimizer_tell_all_at(o, t.x, y));
    }
    mem_free(t.x);
    return status;
}

static int run_tell(int argc, char **argv) {
    gpm_optimizer *o;
    take_store(&argc, &argv);
    if (!options.store || argc < 2) return complain(EXIT_USAGE, "usage: gpmem tell STORE ID VALUE");
    options.join = true;
    int status = optimize_begin(&o, 0, NULL);
    if (!status) status = tell(o, argc, argv);
    if (!status) out_report(gpm_optimizer_report(o, GPM_OPTIMIZE_TEXT));
    return optimize_finish(o, status);
}

static const struct option_row tell_rows[] = {
    {"store", 0, OPTION_TEXT, "FILE", "the store, when not the first argument", &options.store},
};

COMMAND(tell, 140) = {
    .args = "STORE ID VALUE...",
    .summary = "The outcome of an evaluation done elsewhere",
    .text = "ID is the number `gpmem ask` printed; VALUE is a number, or 'fail'. A point that was "
            "never asked: gpmem tell STORE x=1.5 y=2 VALUE. Several numbers stand in their order, "
            "or as "
            "NAME=VALUE. Prints the best point so far.",
    OPTIONS(tell_rows),
    .takes = {1, -1},
    .run = run_tell,
};
