/* SPDX-License-Identifier: Apache-2.0
 *
 * See run.h.
 */
#include "cli/run.h"
#include "cli/progress_line.h"
#include "cli/out.h"
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

/* What the signal handler may touch: the sessions that run now. */
static _Atomic(gpm_session *) running[INTERRUPT_MAX];
static atomic_int n_running, n_signals, n_inside; /* the last: handlers at work */
static atomic_bool forever;
static volatile sig_atomic_t stopped;

static void on_interrupt(int sig) {
    atomic_fetch_add(&n_inside, 1);
    __atomic_store_n(&stopped, 1, __ATOMIC_RELAXED); /* any thread may get the signal */
    if (atomic_fetch_add(&n_signals, 1) > 0 &&
        !atomic_load(&forever)) { /* the polite way did not help */
        signal(sig, SIG_DFL);
        raise(sig);
    }
    for (int i = 0; i < INTERRUPT_MAX; i++) {
        gpm_session *s = atomic_load(&running[i]);
        if (s) gpm_interrupt(s);
    }
    atomic_fetch_sub(&n_inside, 1);
}

static void handle(int sig, void (*handler)(int)) {
    struct sigaction sa = {.sa_handler = handler};
    sigaction(sig, &sa, NULL);
}

void stop_on_signals(bool on) {
    handle(SIGINT, on ? on_interrupt : SIG_DFL);
    handle(SIGTERM, on ? on_interrupt : SIG_DFL);
}

const volatile sig_atomic_t *stop_flag(void) {
    return &stopped;
}

void interrupt_begin(gpm_session *s) {
    for (int i = 0; i < INTERRUPT_MAX; i++) {
        gpm_session *empty = NULL;
        if (atomic_compare_exchange_strong(&running[i], &empty, s)) break;
    }
    if (atomic_fetch_add(&n_running, 1) > 0) return;
    atomic_store(&n_signals, 0);
    handle(SIGINT, on_interrupt);
}

void interrupt_end(gpm_session *s) {
    for (int i = 0; i < INTERRUPT_MAX; i++) {
        gpm_session *mine = s;
        if (atomic_compare_exchange_strong(&running[i], &mine, NULL)) break;
    }
    /* the caller frees s, which a handler on another thread may still have in hand */
    while (atomic_load(&n_inside)) sched_yield();
    if (atomic_fetch_sub(&n_running, 1) == 1) handle(SIGINT, SIG_DFL);
}

void interrupt_forever(bool on) {
    atomic_store(&forever, on);
}

void print_error(gpm_session *s, enum gpm_status st, bool quiet) {
    const char *text = gpm_last_error(s);
    if (st == GPM_OK && (quiet || !text || !*text)) return;
    progress_hide();
    if (!text || !*text) {
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
    enum gpm_status parsed = gpm_check_text(s, name, text, len, false);
    gpm_session_free(s);
    return parsed == GPM_OK ? EXIT_FAILED : EXIT_USAGE;
}

int run_text(gpm_session *s, const char *name, const char *text, size_t len) {
    interrupt_begin(s);
    enum gpm_status st = gpm_run_text(s, name, text, len);
    interrupt_end(s);
    print_error(s, st, voice.quiet);
    return exit_status_of(st, name, text, len);
}
