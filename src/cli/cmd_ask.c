/* SPDX-License-Identifier: Apache-2.0
 *
 * gpmem ask STORE, gpmem tell STORE ID VALUE: optimising with evaluations done elsewhere.
 */
#include "cli/command.h"
#include "base/json.h"
#include "base/number.h"
#include "cli/optimize_args.h"
#include "cli/out.h"
#include "gpmem/optimize.h"
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static struct {
    uint64_t count;
    int format;
    const char *store; /* of tell; that of ask is one of the options of a search */
} args = {.count = 1};

static int status_of(enum gpm_status s) {
    return s == GPM_OK                                                     ? EXIT_FINE
           : s == GPM_E_ARG || s == GPM_E_CONFLICT || s == GPM_E_NOT_FOUND ? EXIT_USAGE
                                                                           : EXIT_FAILED;
}

/* The store by option or as the first argument. */
static const char *store_of(const char *option, int *argc, char ***argv) {
    if (option) return option;
    if (*argc == 0) return NULL;
    --*argc;
    return *(*argv)++;
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

static int ask_run(int argc, char **argv) {
    struct gpm_optimize_options p = optimize_args;
    if (optimize_mcmc) p.mcmc = 1;
    p.store = store_of(p.store, &argc, &argv);
    if (!p.store || argc) return complain(EXIT_USAGE, "usage: gpmem ask STORE [--var x=-5:10 ...]");
    p.join = optimize_vars.n == 0;
    gpm_optimizer *o = gpm_optimizer_new(&p);
    int status = EXIT_FINE;
    for (size_t i = 0; i < optimize_vars.n && !status; i++)
        if (gpm_optimizer_variable(o, optimize_vars.at[i])) status = EXIT_USAGE;
    if (!status) status = status_of(gpm_optimizer_open(o));
    if (!status) status = ask_points(o);
    if (status) complain(status, "%s", gpm_optimizer_error(o));
    gpm_optimizer_free(o);
    return status;
}

static const struct option_row ask_rows[] = {
    {.kind = OPTION_GROUP},
    {"count", 'n', OPTION_UINT, "N", "points to ask for (default 1)", &args.count},
    {"format", 0, OPTION_CHOICE, "text|json", "how points are printed (default text)",
     &args.format},
};

COMMAND(ask) = {
    .place = 130,
    .name = "ask",
    .args = "STORE",
    .summary = "The next points to evaluate, for evaluations done elsewhere",
    .text = "Prints one line per point: its id, then name=value for each variable (or one JSON "
            "object). The first call makes the store and needs --var; later ones need the store "
            "alone. Points stay reserved until told.",
    OPTIONS(ask_rows),
    .group = &optimize_options,
    .takes = {0, 1},
    .run = ask_run,
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
        if (gpm_optimizer_read(o, j, eq + 1, &x[j]))
            return complain(EXIT_USAGE, "%s", gpm_optimizer_error(o));
        seen++;
    }
    if (seen != d) return complain(EXIT_USAGE, "give every one of the %zu variables", d);
    return EXIT_FINE;
}

static int tell(gpm_optimizer *o, int argc, char **argv) {
    double y;
    enum gpm_status s;
    if (!read_value(argv[argc - 1], &y))
        return complain(EXIT_USAGE, "'%s' is neither a finite number nor 'fail'", argv[argc - 1]);
    if (strchr(argv[0], '=')) {
        double *x = NEW_ARRAY(double, gpm_optimizer_dim(o) + 1);
        int status = read_point(o, argc - 1, argv, x);
        s = status ? GPM_OK : gpm_optimizer_tell_at(o, x, y);
        mem_free(x);
        if (status) return status;
    } else {
        char *end;
        long long id = strtoll(argv[0], &end, 10);
        if (*end || argc != 2)
            return complain(EXIT_USAGE, "expected ID VALUE, or name=value of each variable and the "
                                        "VALUE");
        s = gpm_optimizer_tell(o, id, y);
    }
    return s ? complain(status_of(s), "%s", gpm_optimizer_error(o)) : EXIT_FINE;
}

static int tell_run(int argc, char **argv) {
    struct gpm_optimize_options p;
    gpm_optimize_options_init(&p);
    p.join = true;
    p.store = store_of(args.store, &argc, &argv);
    if (!p.store || argc < 2) return complain(EXIT_USAGE, "usage: gpmem tell STORE ID VALUE");
    gpm_optimizer *o = gpm_optimizer_new(&p);
    enum gpm_status s = gpm_optimizer_open(o);
    int status = s ? complain(status_of(s), "%s", gpm_optimizer_error(o)) : tell(o, argc, argv);
    if (!status) out_text(gpm_optimizer_report(o, GPM_OPTIMIZE_TEXT));
    gpm_optimizer_free(o);
    return status;
}

static const struct option_row tell_rows[] = {
    {"store", 0, OPTION_TEXT, "FILE", "the store, when not the first argument", &args.store},
};

COMMAND(tell) = {
    .place = 140,
    .name = "tell",
    .args = "STORE ID VALUE",
    .summary = "The outcome of an evaluation done elsewhere",
    .text = "ID is the number `gpmem ask` printed; VALUE is a number, or 'fail'. A point that was "
            "never asked: gpmem tell STORE x=1.5 y=2 VALUE. Prints the best point so far.",
    OPTIONS(tell_rows),
    .takes = {1, -1},
    .run = tell_run,
};
