/* SPDX-License-Identifier: Apache-2.0
 *
 * gpmem watch DIR...: progress of runs here or elsewhere, from their folders: the manifest, the
 * rows of each chain, the times of change. It writes nothing and contacts no process, so it works
 * on any file system shared with the workers. */
#include "base/calendar.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/stop.h"
#include "front/cli/command.h"
#include "front/cli/out.h"
#include "front/cli/run.h"
#include "front/cli/run_folder.h"
#include <jansson.h>
#include <math.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static struct {
    bool once;
    const char *html;
    double every;
} args = {.every = 2};

/* A run as it is now. */
struct watched {
    const char *dir, *state;
    size_t chains, draws, lost; /* draws: of all chains together */
    double rate;                /* draws a second since the last look; NaN: not known */
    double silent;              /* seconds since something changed */
    double rhat, ess;           /* the worst; NaN: not known yet */
    char worst[64];             /* whose they are */
};

/* The largest R-hat and the smallest effective number of draws. */
static void judge(gpm_draws *d, struct watched *w) {
    json_t *all = json_loads(gpm_draws_summary(d, GPM_FORMAT_JSON), 0, NULL), *row;
    const char *name;
    json_object_foreach(all, name, row) {
        double rhat = json_number_value(json_object_get(row, "rhat"));
        const json_t *ess = json_object_get(row, "ess_bulk");
        if (gpm_draws_group_of(name) != GPM_DRAWS_POSTERIOR) continue;
        if (json_is_number(ess)) w->ess = fmin(w->ess, json_number_value(ess));
        if (rhat > 0 && !(w->rhat >= rhat)) {
            w->rhat = rhat;
            snprintf(w->worst, sizeof w->worst, "%s", name);
        }
    }
    json_decref(all);
}

static void look(struct watched *w) {
    struct run_facts facts;
    static char state[16];
    gpm_draws *d;
    struct stat sb;
    size_t before = w->draws;
    *w = (struct watched){
        .dir = w->dir, .state = "not there", .rhat = NAN, .ess = INFINITY, .rate = NAN};
    struct run_path manifest = run_path(w->dir, "manifest.json");
    if (!file_there(manifest.text) || run_facts_read(w->dir, &facts) != EXIT_FINE) return;
    snprintf(state, sizeof state, "%s", facts.state);
    static const char *const known[] = {"running", "stopped", "finished", "failed"};
    for (size_t i = 0; i < COUNT_OF(known); i++)
        if (!strcmp(known[i], state)) w->state = known[i];
    w->chains = (size_t)facts.chains;
    time_t last = stat(manifest.text, &sb) == 0 ? sb.st_mtime : 0;
    bool any = false;
    for (size_t i = 0; i < w->chains; i++)
        if (stat(run_chain_path(w->dir, i).text, &sb) == 0) {
            any |= sb.st_size > 0;
            if (sb.st_mtime > last) last = sb.st_mtime;
        }
    w->silent = fmax(0, (double)(time(NULL) - last));
    if (!any || run_folder_read(w->dir, &facts, &d) != EXIT_FINE) return;
    w->draws = gpm_draws_rows(d) * gpm_draws_chains(d);
    w->lost = w->chains - gpm_draws_chains(d);
    if (before) w->rate = (double)(w->draws - before) / args.every;
    judge(d, w);
    gpm_draws_free(d);
}

/* ---- the terminal ---- */

static void put_cell(struct buf *b, const char *format, double v) {
    if (isfinite(v))
        buf_printf(b, format, v);
    else
        buf_printf(b, "%9s", "-");
}

static void as_text(const struct watched *w, size_t n, struct buf *b) {
    buf_printf(b, "%-24s %-9s %6s %9s %9s %9s %9s\n", "run", "state", "chains", "draws", "per s",
               "rhat", "ess");
    for (size_t i = 0; i < n; i++, w++) {
        buf_printf(b, "%-24s %-9s %6zu %9zu ", w->dir, w->state, w->chains, w->draws);
        put_cell(b, "%9.1f ", w->rate);
        if (!isfinite(w->rate)) buf_putc(b, ' ');
        put_cell(b, "%9.3f ", w->rhat);
        if (!isfinite(w->rhat)) buf_putc(b, ' ');
        put_cell(b, "%9.0f", w->ess);
        if (w->lost) buf_printf(b, "  %zu without draws", w->lost);
        if (!strcmp(w->state, "running") && w->silent > 60)
            buf_printf(b, "  silent for %.0f min: is its process alive?", floor(w->silent / 60));
        buf_putc(b, '\n');
    }
}

/* ---- the page ---- */

static void as_page(const struct watched *w, size_t n, struct buf *b) {
    char when[40];
    calendar_now(false, when);
    buf_printf(b,
               "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">"
               "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">"
               "<meta http-equiv=\"refresh\" content=\"10\"><title>gpmem watch</title><style>"
               "body{font:16px/1.4 system-ui,sans-serif;margin:1em auto;max-width:60em;padding:0 "
               "1em}table{border-collapse:collapse;width:100%%;font-variant-numeric:tabular-nums}"
               "td,th{text-align:right;padding:.3em .5em;border-bottom:1px solid #ccc}"
               "td:first-child,th:first-child,td:nth-child(2),th:nth-child(2){text-align:left;"
               "overflow-wrap:anywhere}.failed,.silent{color:#b00}.finished{color:#060}"
               "@media(max-width:500px){td:nth-child(5),th:nth-child(5),td:nth-child(3),"
               "th:nth-child(3){display:none}}</style></head><body>\n<h1>Runs</h1>\n"
               "<p>As of %s; the page looks again every ten seconds.</p>\n<table><tr><th>run</th>"
               "<th>state</th><th>chains</th><th>draws</th><th>per s</th><th>R-hat</th>"
               "<th>ESS</th></tr>\n",
               when);
    for (size_t i = 0; i < n; i++, w++) {
        bool silent = !strcmp(w->state, "running") && w->silent > 60;
        buf_puts(b, "<tr><td>");
        buf_markup(b, w->dir);
        buf_printf(b, "</td><td class=\"%s\">%s%s</td><td>%zu</td><td>%zu</td><td>",
                   silent ? "silent" : w->state, w->state, silent ? ", silent" : "", w->chains,
                   w->draws);
        if (isfinite(w->rate)) buf_printf(b, "%.1f", w->rate);
        buf_puts(b, "</td><td>");
        if (isfinite(w->rhat)) buf_printf(b, "%.3f", w->rhat);
        buf_puts(b, "</td><td>");
        if (isfinite(w->ess)) buf_printf(b, "%.0f", w->ess);
        buf_puts(b, "</td></tr>\n");
    }
    buf_puts(b, "</table></body></html>\n");
}

static bool goes_on(const struct watched *w, size_t n) {
    for (size_t i = 0; i < n; i++)
        if (!strcmp(w[i].state, "running") || !strcmp(w[i].state, "not there")) return true;
    return false;
}

static int watch(int argc, char **argv) {
    size_t n = (size_t)argc;
    struct watched *all = mem_zalloc(n * sizeof *all);
    struct buf text = BUF_INIT;
    bool terminal = isatty(STDOUT_FILENO);
    int status = EXIT_FINE;
    if (args.every < 0.1) args.every = 0.1;
    stop_on_signals(true);
    for (size_t drawn = 0;;) {
        for (size_t i = 0; i < n; i++) {
            all[i].dir = argv[i];
            look(&all[i]);
        }
        for (; terminal && drawn; drawn--) out_drawn(1, "\033[1A\033[2K", 8);
        buf_reset(&text);
        as_text(all, n, &text);
        out_text(text.data);
        out_flush();
        drawn = n + 1;
        buf_reset(&text);
        if (args.html) as_page(all, n, &text);
        if (args.html && !out_file(args.html, text.data, text.len)) status = EXIT_FAILED;
        if (status || args.once || !goes_on(all, n) || stop_asked(stop_flag())) break;
        double end = clock_seconds() + args.every;
        while (clock_seconds() < end && !stop_asked(stop_flag()))
            nanosleep(&(struct timespec){.tv_nsec = 50000000}, NULL);
    }
    stop_on_signals(false);
    for (size_t i = 0; i < n; i++)
        if (!strcmp(all[i].state, "failed")) status = EXIT_FAILED;
    buf_release(&text);
    mem_free(all);
    return status;
}

static const struct option_row rows[] = {
    {"once", 0, OPTION_FLAG, NULL, "look once; else until no run goes on", &args.once},
    {"every", 0, OPTION_TIME, "S", "seconds between two looks (default 2)", &args.every},
    {"html", 0, OPTION_TEXT, "FILE", "write a page, too, at every look", &args.html},
};

COMMAND(watch, 36) = {
    .args = "DIR...",
    .summary = "Shows how far runs are that go on",
    .text = "Reads the folders of `gpmem run --out`, here or on a file system that the workers "
            "share: state, draws so far and their rate, the largest R-hat and the smallest "
            "effective number of draws. On a terminal the table is redrawn in place.\n\nExit "
            "status: 0 fine, 1 a run failed.",
    OPTIONS(rows),
    .takes = {1, -1},
    .run = watch,
};
