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
#include "io/plot/doc.h"
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
static void watch_judge(gpm_draws *d, struct watched *w) {
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
    watch_judge(d, w);
    gpm_draws_free(d);
}

/* ---- what is shown ---- */

static void cell(const char *format, double v, struct doc *doc) {
    if (isfinite(v))
        buf_printf(&doc->words, format, v);
    else
        buf_putc(&doc->words, '-');
    doc_cell(doc);
}

static void row(const struct watched *w, struct doc *doc) {
    bool silent = !strcmp(w->state, "running") && w->silent > 60;
    if (silent || !strcmp(w->state, "failed")) buf_puts(&doc->row, " class=\"picked\"");
    doc_cellf(doc, "%s", w->dir);
    doc_cellf(doc, "%s", w->state);
    doc_cellf(doc, "%zu", w->chains);
    doc_cellf(doc, "%zu", w->draws);
    cell("%.1f", w->rate, doc);
    cell("%.3f", w->rhat, doc);
    cell("%.0f", w->ess, doc);
    if (w->lost) buf_printf(&doc->words, "%zu without draws  ", w->lost);
    if (silent)
        buf_printf(&doc->words, "silent for %.0f min: is its process alive?",
                   floor(w->silent / 60));
    doc_cell(doc);
}

static void report(const struct watched *w, size_t n, enum doc_form form, struct buf *out) {
    static const struct doc_column columns[] = {
        {"run", DOC_WORD},     {"state", DOC_WORD},  {"chains", DOC_NUMBER}, {"draws", DOC_NUMBER},
        {"per s", DOC_NUMBER}, {"rhat", DOC_NUMBER}, {"ess", DOC_NUMBER},    {"", DOC_WORD}};
    char when[40];
    struct doc doc;
    calendar_now(false, when);
    doc_begin(&doc, form, "gpmem watch", "Runs", out);
    doc_raw(&doc, "<meta http-equiv=\"refresh\" content=\"10\">\n");
    if (doc_draws(&doc))
        doc_say(&doc, DOC_SOFT, "As of %s; the page looks again every ten seconds.", when);
    doc_table(&doc, NULL, NULL, columns, COUNT_OF(columns));
    for (size_t i = 0; i < n; i++) row(&w[i], &doc);
    doc_table_end(&doc);
    doc_end(&doc);
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
        report(all, n, DOC_TEXT, &text);
        out_text(text.data);
        out_flush();
        drawn = n + 1;
        buf_reset(&text);
        if (args.html) report(all, n, DOC_HTML, &text);
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
