/* SPDX-License-Identifier: Apache-2.0
 *
 * See chains.h.
 */
#include "cli/chains.h"
#include "base/file.h"
#include "cli/progress_line.h"
#include "cli/run.h"
#include "cli/run_folder.h"
#include "cli/out.h"
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* One chain: its outcome and its output as a list of (stream, bytes); the error that it ended with
 * is drawn already. */
enum { DRAWN = 3 };
struct chain {
    int status;
    bool done;
    struct buf out; /* records of stdout and stderr, in order */
};
struct record {
    int stream;
    size_t len;
};

static void keep_output(void *user, int stream, const char *text, size_t len) {
    struct chain *c = user;
    struct record r = {stream, len};
    buf_add(&c->out, &r, sizeof r);
    buf_add(&c->out, text, len);
}

static void replay(struct chain *c) {
    progress_hide();
    struct record r;
    for (size_t at = 0; at < c->out.len; at += r.len) {
        memcpy(&r, c->out.data + at, sizeof r);
        at += sizeof r;
        if (r.stream == 1)
            out_data(c->out.data + at, r.len);
        else if (r.stream == DRAWN)
            out_drawn(2, c->out.data + at, r.len);
        else
            err_text(c->out.data + at, r.len);
    }
    buf_release(&c->out);
    out_flush();
}

struct job {
    const struct chains_plan *plan;
    char *text; /* NULL: the plan's path; else its name is */
    const char *name;
    size_t len;
    struct chain *chains;
    struct progress_board *board;
    atomic_uint next;
    pthread_mutex_t lock; /* of what follows */
    unsigned printed;     /* chains whose output is out */
};

static void run_chain(struct job *j, unsigned i) {
    struct chain *c = &j->chains[i];
    struct gpm_options o;
    session_apply(j->plan->session, &o);
    o.chain = (uint32_t)(j->plan->first + i);
    bool keep = j->plan->chains > 1;
    buf_init(&c->out);
    if (keep) {
        o.write = keep_output;
        o.user = c;
    }
    progress_attach(j->board, i, &o);
    if (j->plan->folder) run_folder_attach(j->plan->folder, i, &o);
    gpm_session *s = gpm_session_new(&o);
    if (j->plan->folder) run_folder_watch(j->plan->folder, i, s);
    interrupt_begin(s);
    enum gpm_status st =
        j->text ? gpm_run_text(s, j->name, j->text, j->len) : gpm_run_file(s, j->plan->path);
    interrupt_end(s);
    c->status = st;
    if (!keep) {
        print_error(s, st, o.quiet > 0);
    } else if (st != GPM_OK || !o.quiet) {
        const char *error = gpm_last_error(s);
        keep_output(c, DRAWN, error, strlen(error));
    }
    if (j->plan->folder) run_folder_note(j->plan->folder, i, s);
    gpm_session_free(s);
}

static void *work(void *user) {
    struct job *j = user;
    for (unsigned i; (i = atomic_fetch_add(&j->next, 1)) < j->plan->chains;) {
        run_chain(j, i);
        pthread_mutex_lock(&j->lock);
        j->chains[i].done = true;
        for (; j->printed < j->plan->chains && j->chains[j->printed].done; j->printed++)
            replay(&j->chains[j->printed]);
        pthread_mutex_unlock(&j->lock);
    }
    return NULL;
}

static void run_chains(struct job *j) {
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    unsigned n = (unsigned)j->plan->chains;
    if (cores > 0 && n > (unsigned)cores) n = (unsigned)cores;
    pthread_t threads[64];
    unsigned started = 0;
    while (started + 1 < n && started < 64 &&
           pthread_create(&threads[started], NULL, work, j) == 0) {
        started++;
    }
    explain("seed %llu, chains %llu to %llu, %u threads",
            (unsigned long long)j->plan->session->seed, (unsigned long long)j->plan->first,
            (unsigned long long)(j->plan->first + j->plan->chains - 1), started + 1);
    work(j); /* this thread is one of them */
    for (unsigned i = 0; i < started; i++) pthread_join(threads[i], NULL);
}

static int overall_status(const struct job *j) {
    enum gpm_status worst = GPM_OK;
    for (uint64_t i = 0; i < j->plan->chains && worst == GPM_OK; i++) {
        worst = (enum gpm_status)j->chains[i].status;
    }
    if (worst == GPM_OK) return EXIT_FINE;
    if (j->text) return exit_status_of(worst, j->plan->path, j->text, j->len);
    struct buf text = BUF_INIT;
    int status = EXIT_USAGE; /* no such program */
    if (file_read(j->plan->path, FILE_GIVEN, FILE_TEXT_MAX, &text) == GPM_OK)
        status = exit_status_of(worst, j->plan->path, text.data, text.len);
    buf_release(&text);
    return status;
}

/* Standard input, or a pipe: they give their text once, and the chains share it. */
static int read_once(struct job *j) {
    bool standard = strcmp(j->plan->path, "-") == 0;
    if (!standard && (!file_there(j->plan->path) || file_regular(j->plan->path))) return EXIT_FINE;
    struct buf text = BUF_INIT;
    enum gpm_status st = read_program(j->plan->session, j->plan->path, &text);
    j->len = text.len;
    j->text = buf_take(&text);
    j->name = standard ? "<stdin>" : j->plan->path;
    return st == GPM_OK ? EXIT_FINE : st == GPM_E_IO && !standard ? EXIT_USAGE : EXIT_FAILED;
}

int chains_run(const struct chains_plan *plan) {
    struct job j = {.plan = plan};
    int read = read_once(&j);
    if (read != EXIT_FINE) {
        free(j.text);
        return read;
    }
    pthread_mutex_init(&j.lock, NULL);
    j.chains = mem_zalloc(plan->chains * sizeof *j.chains);
    j.board = progress_board_new(plan->chains);
    run_chains(&j);
    progress_board_free(j.board);
    int status = overall_status(&j);
    pthread_mutex_destroy(&j.lock);
    mem_free(j.chains);
    mem_free(j.text);
    return status;
}
