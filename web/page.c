/* SPDX-License-Identifier: Apache-2.0
 *
 * What the worker of the page calls (web/worker.js). One session; what it says goes to the function
 * `say(kind, text)` of the module: out, err, svg, html, progress, report, draws.
 */
#include "gpmem/discover.h"
#include "gpmem/gpmem.h"
#include <emscripten.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

EM_JS(void, say, (const char *kind, const char *text),
      { Module['say'](UTF8ToString(kind), UTF8ToString(text)); });
EM_JS(void, say_bytes, (const char *kind, const char *text, int n),
      { Module['say'](UTF8ToString(kind), UTF8ToString(text, n)); });

static gpm_session *session;

static void on_write(void *user, int stream, const char *text, size_t n) {
    say_bytes(stream == 1 ? "out" : "err", text, (int)n);
}

static void on_show(void *user, const char *text, const char *type, const char *rich) {
    if (!type)
        say("out", text);
    else
        say(strcmp(type, "text/html") == 0 ? "html" : "svg", rich);
}

static void on_progress(void *user, double share, double elapsed, const char *acceptance) {
    char line[64];
    snprintf(line, sizeof line, "%.3f", share);
    say("progress", line);
}

static void start(double seed) {
    struct gpm_options o;
    gpm_options_init(&o);
    o.seed = (uint64_t)seed;
    o.diagnostics_json = false;
    o.write = on_write;
    o.show = on_show;
    o.progress = on_progress;
    o.allow_write = true; /* the page's own files, which are nowhere else */
    session = gpm_session_new(&o);
}

void web_reset(void) {
    gpm_session_free(session);
    session = NULL;
}

/* Runs a program in a new session; 0: fine. */
int web_run(const char *text, double seed) {
    web_reset();
    start(seed);
    enum gpm_status st = gpm_run_text(session, "program", text, strlen(text));
    const char *said = gpm_last_error(session);
    if (*said) say(st == GPM_OK ? "err" : "error", said);
    return st != GPM_OK;
}

/* The report on a series as HTML; 0: fine. */
int web_discover(const char *name, const char *csv, double seed, double max_seconds) {
    struct gpm_discover_options o;
    gpm_discover_options_init(&o);
    o.seed = (uint64_t)seed;
    o.threads = 1;
    o.max_seconds = max_seconds;
    gpm_discovery *d = gpm_discover_new();
    enum gpm_status st = gpm_discover_run_text(d, name, csv, strlen(csv), &o);
    if (st == GPM_OK) {
        say("out", gpm_discover_report(d, GPM_REPORT_TEXT));
        say("report", gpm_discover_report(d, GPM_REPORT_HTML));
    } else {
        say("error", gpm_discover_error(d));
    }
    gpm_discover_free(d);
    return st != GPM_OK;
}

static void need_session(void) {
    if (!session) start(1);
}

/* Mistakes of a program that is not run: "" when there are none. */
const char *web_check(const char *text) {
    need_session();
    return gpm_check_text(session, "program", text, strlen(text), false) == GPM_OK
               ? ""
               : gpm_last_error(session);
}

static void add_name(void *user, const char *name) {
    char *all = user;
    if (strlen(all) + strlen(name) + 2 < 8192) strcat(strcat(all, name), "\n");
}

/* Names, a line each; valid until the next call. */
const char *web_complete(const char *prefix) {
    static char all[8192];
    need_session();
    *all = 0;
    gpm_complete(session, prefix, add_name, all);
    return all;
}

const char *web_help(const char *name) {
    need_session();
    const char *text = gpm_help(session, name);
    return text ? text : "";
}

const char *web_version(void) {
    return gpm_version();
}
