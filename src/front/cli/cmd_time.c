/* SPDX-License-Identifier: Apache-2.0
 *
 * gpmem time n=1000,2000 -- ./job {n}: measures and remembers; gpmem time --predict n=1e6: answers
 * before anything is run.
 */
#include "front/cli/command.h"
#include "base/ascii.h"
#include "base/number.h"
#include "front/cli/out.h"
#include "front/cli/run.h"
#include "gpmem/optimize.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

static struct {
    struct text_list predict;
    const char *store;
    double timeout, level;
    uint64_t repeat;
    int format;
} args = {.store = "gpmem-times.db", .level = 0.9, .repeat = 1};

#define MAX_INPUTS 16
#define MAX_VALUES 64
struct setting { /* name=v1,v2,.. */
    char *name;
    double value[MAX_VALUES];
    size_t n;
};

/* Splits text in place; false when it is not of the form name=number[,number].. */
static bool read_setting(char *text, struct setting *s) {
    char *eq = strchr(text, '=');
    if (!eq || eq == text || ascii_digit(text[0])) return false;
    for (char *p = text; p < eq; p++)
        if (!ascii_name(*p)) return false;
    s->n = 0;
    for (char *p = eq + 1;;) {
        char *end;
        if (s->n == MAX_VALUES) return false;
        s->value[s->n++] = number_read(p, &end);
        if (end == p || !isfinite(s->value[s->n - 1])) return false;
        if (*end == 0) break;
        if (*end != ',') return false;
        p = end + 1;
    }
    *eq = 0;
    s->name = text;
    return true;
}

struct point { /* one combination of the values */
    size_t n;
    const char *names[MAX_INPUTS];
    double x[MAX_INPUTS];
};

/* The inputs, before what is known about them. */
static void print_inputs(const struct point *p) {
    if (args.format == 1) out_printf("{");
    for (size_t j = 0; j < p->n; j++) {
        if (args.format == 1) {
            out_json_string(p->names[j]);
            out_printf(": %.17g, ", p->x[j]);
        } else {
            out_printf("%s=%.10g ", p->names[j], p->x[j]);
        }
    }
}

static int predict_one(gpm_timer *t, const struct point *p) {
    double median, low, high;
    size_t runs;
    enum gpm_status st =
        gpm_timer_predict(t, p->n, p->names, p->x, args.level, &median, &low, &high, &runs);
    if (st) return complain(st == GPM_E_ARG ? EXIT_FAILED : EXIT_USAGE, "%s", gpm_timer_error(t));
    print_inputs(p);
    if (args.format == 1)
        out_printf(
            "\"median\": %.6g, \"low\": %.6g, \"high\": %.6g, \"level\": %g, \"runs\": %zu}\n",
            median, low, high, args.level, runs);
    else
        out_printf("%.4g s, %.0f%% between %.4g s and %.4g s (%zu runs)\n", median,
                   100 * args.level, low, high, runs);
    return EXIT_FINE;
}

static int time_one(gpm_timer *t, const struct point *p, int argc, char **argv) {
    double seconds = 0;
    for (uint64_t i = 0; i < args.repeat; i++) {
        enum gpm_status st =
            gpm_timer_run(t, argc, argv, p->n, p->names, p->x, args.timeout, stop_flag(), &seconds);
        if (st == GPM_E_INTERRUPT) return complain(EXIT_FAILED, "interrupted");
        if (st)
            return complain(st == GPM_E_ARG || st == GPM_E_CONFLICT ? EXIT_USAGE : EXIT_FAILED,
                            "%s", gpm_timer_error(t));
        print_inputs(p);
        out_printf(args.format == 1 ? "\"seconds\": %.6g}\n" : "%.6g s\n", seconds);
        out_flush();
    }
    return EXIT_FINE;
}

/* Every combination of the values, the last input fastest. */
static int each(gpm_timer *t, const struct setting *s, size_t n, int argc, char **argv) {
    size_t at[MAX_INPUTS] = {0};
    struct point p = {.n = n};
    for (;;) {
        for (size_t j = 0; j < n; j++) p.names[j] = s[j].name, p.x[j] = s[j].value[at[j]];
        int status = args.predict.n ? predict_one(t, &p) : time_one(t, &p, argc, argv);
        if (status) return status;
        size_t j = n;
        while (j > 0 && ++at[j - 1] == s[j - 1].n) at[--j] = 0;
        if (j == 0) return EXIT_FINE;
    }
}

static int time_run(int argc, char **argv) {
    struct setting s[MAX_INPUTS];
    size_t n = 0;
    for (size_t i = 0; i < args.predict.n; i++) {
        char *copy = (char *)(uintptr_t)args.predict.at[i]; /* argv is ours to split */
        if (n == MAX_INPUTS || !read_setting(copy, &s[n]))
            return complain(EXIT_USAGE, "--predict: expected name=number, got '%s'", copy);
        n++;
    }
    while (!args.predict.n && argc && n < MAX_INPUTS && read_setting(argv[0], &s[n]))
        n++, argv++, argc--;
    if (!args.predict.n && !argc)
        return complain(EXIT_USAGE, "give the inputs and the command: gpmem time n=1000 -- ./job "
                                    "{n}; or --predict n=1e6");
    gpm_timer *t = gpm_timer_new(args.store);
    stop_on_signals(true);
    int status = each(t, s, n, argc, argv);
    stop_on_signals(false);
    gpm_timer_free(t);
    return status;
}

static const struct option_row rows[] = {
    {"predict", 'p', OPTION_LIST, "NAME=X", "the time at these inputs, without running anything",
     &args.predict},
    {"store", 0, OPTION_TEXT, "FILE", "memo table of the times (default gpmem-times.db)",
     &args.store},
    {"repeat", 'n', COUNTED(UINT, REPEAT), "N", "runs at each input (default 1)", &args.repeat},
    {"timeout", 0, OPTION_TIME, "S", "time for one run (default: no limit)", &args.timeout},
    {"level", 0, OPTION_REAL, "P", "probability of the interval (default 0.9)", &args.level},
    {"format", 0, OPTION_CHOICE, "text|json", "how results are printed (default text)",
     &args.format},
};

COMMAND(time, 160) = {
    .args = "NAME=X[,X..] -- COMMAND [ARGS]",
    .summary = "Times a program, remembers, and predicts its time elsewhere",
    .text =
        "Runs COMMAND with {NAME} replaced, at every combination of the values given, and keeps "
        "the wall times in the store. `gpmem time --predict n=1e6` then answers with the median "
        "and an interval: a power law in the inputs plus a smooth remainder, uncertainty "
        "included. What the program prints goes nowhere. Exit status: 1 when a run failed or "
        "fewer than 3 runs are there to predict from.",
    OPTIONS(rows),
    .takes = {0, -1},
    .run = time_run,
};
