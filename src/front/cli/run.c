/* SPDX-License-Identifier: Apache-2.0
 *
 * What every command that runs programs shares: options of a session, its output, its files and its
 * end. See run.h and command.h.
 */
#include "front/cli/run.h"
#include "base/ascii.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/work.h"
#include "front/cli/out.h"
#include "front/cli/progress_line.h"
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- interrupts ---- */

/* What the signal handler may touch: the sessions that run now. */
static _Atomic(gpm_session *) running[INTERRUPT_MAX];
static atomic_int n_running, n_inside; /* the last: handlers at work */
static atomic_bool forever, stopping;
static atomic_bool asked; /* while no session ran */
static volatile sig_atomic_t stopped;

/* What asks to stop in good order: a person, a machine that goes down, a scheduler before it ends
 * or moves a job, a limit of CPU time, a terminal that closes. */
static const int stop_signals[] = {SIGINT, SIGTERM, SIGUSR1, SIGXCPU, SIGHUP};
static atomic_int n_interrupts;

/* A second interrupt means that the user does not want to wait. Machines send signals twice
 * unintentionally: Slurm to the step and to the job, SIGUSR1 before SIGTERM. */
static bool insists(int sig) {
    return sig == SIGINT && atomic_fetch_add(&n_interrupts, 1) > 0;
}

static void interrupt_now(void) {
    atomic_fetch_add(&n_inside, 1);
    bool heard = false;
    for (int i = 0; i < INTERRUPT_MAX; i++) {
        gpm_session *s = atomic_load(&running[i]);
        if (s) gpm_interrupt(s);
        heard = heard || s;
    }
    if (!heard) atomic_store(&asked, true);
    atomic_fetch_sub(&n_inside, 1);
}

/* Writes go on after the handler: a stream drops the rest of one that fails. What waits does so in
 * poll, which a signal ends all the same. */
static void handle(int sig, void (*handler)(int)) {
    struct sigaction sa = {.sa_handler = handler, .sa_flags = SA_RESTART};
    sigaction(sig, &sa, NULL);
}

static void unread(int sig) {
    (void)sig;
}

/* No SIG_IGN, which the programs that are started would inherit. */
void outlive_readers(void) {
    handle(SIGPIPE, unread);
}

static void on_interrupt(int sig) {
    __atomic_store_n(&stopped, 1, __ATOMIC_RELAXED); /* any thread may get the signal */
    if (atomic_load(&stopping)) outlive_readers();   /* a scheduler takes them away, too */
    if (insists(sig) && !atomic_load(&forever)) {
        signal(sig, SIG_DFL);
        raise(sig);
    }
    interrupt_now();
}

/* One that is ignored stays so: nohup ignores SIGHUP. */
void stop_on_signals(bool on) {
    atomic_store(&stopping, on);
    for (size_t i = 0; i < COUNT_OF(stop_signals); i++) {
        struct sigaction was;
        sigaction(stop_signals[i], NULL, &was);
        if (was.sa_handler != SIG_IGN) handle(stop_signals[i], on ? on_interrupt : SIG_DFL);
    }
}

const volatile sig_atomic_t *stop_flag(void) {
    return &stopped;
}

void interrupt_begin(size_t slot, gpm_session *s) {
    atomic_store(&running[slot], s);
    if (atomic_fetch_add(&n_running, 1) > 0) return;
    atomic_store(&n_interrupts, 0);
    if (atomic_exchange(&asked, false) && atomic_load(&forever)) gpm_interrupt(s);
    handle(SIGINT, on_interrupt);
}

bool interrupted(void) {
    return atomic_load(&n_interrupts) > 0;
}

void interrupt_end(size_t slot) {
    atomic_store(&running[slot], NULL);
    /* the caller frees the session, which a handler on another thread may still have in hand */
    while (atomic_load(&n_inside)) sched_yield();
    bool keep = atomic_load(&stopping) || atomic_load(&forever);
    if (atomic_fetch_sub(&n_running, 1) == 1 && !keep) handle(SIGINT, SIG_DFL);
}

void interrupt_forever(void) {
    atomic_store(&forever, true);
    handle(SIGINT, on_interrupt);
}

void interrupt_forget(void) {
    atomic_store(&asked, false);
}

/* ---- options and output ---- */

struct gpm_options session_args = {.seed = 1, .jobs = 1};
int session_diagnostics;

static const struct option_row rows[] = {
    {"format", 0, OPTION_CHOICE, "text|json", "how values are printed (default text)",
     &session_args.format},
    {"diagnostics", 0, OPTION_CHOICE, "text|json", "how errors are printed (default text)",
     &session_diagnostics},
    {"allow-run", 0, OPTION_FLAG, NULL, "programs may run commands and load shared objects",
     &session_args.allow_run},
    {"allow-write", 0, OPTION_FLAG, NULL, "programs may write files", &session_args.allow_write},
    {"jobs", 'j', COUNTED(SMALL, JOBS), "N", "source functions evaluated at once (default 1)",
     &session_args.jobs},
    {"max-time", 0, OPTION_TIME, "S", "stop after S seconds (also 5m, 2h; default: no limit)",
     &session_args.max_seconds},
    {"max-depth", 0, OPTION_SIZE, "N", "deepest recursion (default: the language's)",
     &session_args.max_depth},
    {"max-memory", 0, OPTION_BYTES, "M",
     "bytes a program may hold (also 512M, 2G; default: no limit)", &session_args.max_memory},
    {.kind = OPTION_GROUP, .field = &device_options},
};
struct option_group session_options = {rows, COUNT_OF(rows)};

bool colour_wanted(int fd) {
    const char *no = getenv("NO_COLOR"), *term = getenv("TERM");
    if (no && *no) return false;
    return isatty(fd) && (!term || strcmp(term, "dumb") != 0);
}

static void write_streams(void *user, int stream, const char *text, size_t len) {
    progress_hide();
    if (stream == 1)
        out_data(text, len);
    else
        err_text(text, len);
}

struct gpm_options session_settings(void) {
    struct gpm_options o = session_args;
    o.size = sizeof o;
    o.diagnostics_json = session_diagnostics == 1;
    o.colour = !o.diagnostics_json && colour_wanted(STDERR_FILENO);
    o.quiet = voice.quiet;
    o.verbose = voice.verbose;
    if (o.jobs < 1) o.jobs = 1;
    o.write = write_streams;
    return o;
}

enum gpm_status read_text(const char *path, struct buf *out) {
    bool standard = strcmp(path, "-") == 0;
    enum gpm_status st = standard ? file_read_stdin(FILE_TEXT_MAX, out)
                                  : file_read(path, FILE_GIVEN, FILE_TEXT_MAX, out);
    if (st != GPM_OK && standard) complain(0, "cannot read the program: %s", file_why());
    if (st != GPM_OK && !standard) complain(0, "cannot read '%s': %s", path, file_why());
    return st;
}

static struct work_limits limits_of_reading(void) {
    double end = session_args.max_seconds > 0 ? clock_seconds() + session_args.max_seconds : 0;
    return (struct work_limits){
        .stop = stop_flag(), .deadline = end, .max_memory = session_args.max_memory};
}

enum gpm_status read_program(const char *path, struct buf *out) {
    struct work_limits limits = limits_of_reading(), *before = work_set_limits(&limits);
    enum gpm_status st = read_text(path, out);
    work_set_limits(before);
    return st;
}

/* ---- running ---- */

size_t data_name(const char *text) {
    size_t n = 0;
    while (ascii_name(text[n])) n++;
    return text[n] == '=' ? n : 0;
}

enum gpm_status give_data(gpm_session *s, const char *text) {
    size_t n = data_name(text);
    struct work_limits limits = limits_of_reading(), *before = work_set_limits(&limits);
    struct buf json = BUF_INIT;
    if (n) buf_printf(&json, "{\"%.*s\": %s}", (int)n, text, text + n + 1);
    enum gpm_status st = n ? gpm_data_json(s, json.data, json.len) : gpm_data_file(s, text);
    buf_release(&json);
    work_set_limits(before);
    return st;
}

void print_error(gpm_session *s, enum gpm_status st, bool quiet) {
    const char *text = gpm_last_error(s);
    if (st == GPM_OK && (quiet || !*text)) return;
    progress_hide();
    if (!*text) {
        err_printf("gpmem: %s\n", gpm_status_text(st));
        return;
    }
    out_drawn(2, text, strlen(text));
    if (text[strlen(text) - 1] != '\n') out_drawn(2, "\n", 1);
}

int exit_status_of(enum gpm_status st, const char *name, const char *text, size_t len) {
    if (st == GPM_OK) return EXIT_FINE;
    if (st == GPM_E_INCOMPLETE) return EXIT_USAGE;
    gpm_session *s = gpm_session_new(NULL);
    enum gpm_status parsed = gpm_check_text(s, name, text, len, true);
    gpm_session_free(s);
    return parsed == GPM_OK ? EXIT_FAILED : EXIT_USAGE;
}

int run_text(gpm_session *s, const char *name, const char *text, size_t len) {
    interrupt_begin(0, s);
    enum gpm_status st = gpm_run_text(s, name, text, len);
    interrupt_end(0);
    print_error(s, st, voice.quiet);
    return exit_status_of(st, name, text, len);
}
