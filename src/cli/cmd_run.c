/* SPDX-License-Identifier: Apache-2.0
 *
 * gpmem run FILE: runs a program, once or as several chains in threads. A chain is a session of
 * its own with its number in the random key, and its output is kept until all earlier chains have
 * printed theirs: the bytes are those of running the chains one after another.
 */
#include "cli/run.h"
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct args {
    struct session_args session;
    uint64_t chains, chain;
};

static void init(void *opts) {
    struct args *a = opts;
    session_args_init(&a->session);
    a->chains = 1;
}

/* One chain: its outcome and its output as a list of (stream, bytes). */
struct chain {
    int status;
    FILE *out; /* memory stream of stdout and stderr records, in order */
    char *text;
    size_t len;
};
struct record {
    int stream;
    size_t len;
};

static void keep_output(void *user, int stream, const char *text, size_t len) {
    struct chain *c = user;
    struct record r = {stream, len};
    fwrite(&r, sizeof r, 1, c->out);
    fwrite(text, 1, len, c->out);
}

static void replay(struct chain *c) {
    for (size_t at = 0; at + sizeof(struct record) <= c->len;) {
        struct record r;
        memcpy(&r, c->text + at, sizeof r);
        at += sizeof r;
        if (r.stream != 1) fflush(stdout);
        fwrite(c->text + at, 1, r.len, r.stream == 1 ? stdout : stderr);
        at += r.len;
    }
    fflush(stdout);
}

struct job {
    const struct args *args;
    const char *path, *text;
    size_t len;
    struct chain *chains;
    atomic_uint next;
    pthread_mutex_t lock; /* of what follows */
    unsigned printed;     /* chains whose output is out */
    bool *done;
};

static void run_chain(struct job *j, unsigned i) {
    struct chain *c = &j->chains[i];
    struct gpm_options o;
    session_args_apply(&j->args->session, &o);
    o.chain = (uint32_t)(j->args->chain + i);
    if (j->args->chains > 1) {
        o.write = keep_output;
        o.user = c;
        c->out = open_memstream(&c->text, &c->len);
    }
    gpm_session *s = gpm_session_new(&o);
    interrupt_begin(s);
    enum gpm_status st =
        j->text ? gpm_run_text(s, "<stdin>", j->text, j->len) : gpm_run_file(s, j->path);
    interrupt_end(s);
    c->status = st;
    if (!c->out) {
        print_error(s, st, o.quiet > 0);
    } else if (st != GPM_OK || !o.quiet) {
        const char *error = gpm_last_error(s);
        keep_output(c, 2, error, strlen(error));
    }
    gpm_session_free(s);
    if (c->out) fclose(c->out);
}

static void *work(void *user) {
    struct job *j = user;
    for (unsigned i; (i = atomic_fetch_add(&j->next, 1)) < j->args->chains;) {
        run_chain(j, i);
        pthread_mutex_lock(&j->lock);
        j->done[i] = true;
        for (; j->printed < j->args->chains && j->done[j->printed]; j->printed++) {
            replay(&j->chains[j->printed]);
            free(j->chains[j->printed].text);
        }
        pthread_mutex_unlock(&j->lock);
    }
    return NULL;
}

static void run_chains(struct job *j) {
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    unsigned n = (unsigned)j->args->chains;
    if (cores > 0 && n > (unsigned)cores) n = (unsigned)cores;
    pthread_t threads[64];
    unsigned started = 0;
    while (started + 1 < n && started < 64 &&
           pthread_create(&threads[started], NULL, work, j) == 0) {
        started++;
    }
    work(j); /* this thread is one of them */
    for (unsigned i = 0; i < started; i++) pthread_join(threads[i], NULL);
}

static int overall_status(const struct job *j) {
    enum gpm_status worst = GPM_OK;
    for (uint64_t i = 0; i < j->args->chains && worst == GPM_OK; i++) {
        worst = (enum gpm_status)j->chains[i].status;
    }
    if (worst == GPM_OK) return EXIT_FINE;
    size_t len = j->len;
    char *text = j->text ? NULL : read_whole(j->path, &len);
    if (!text && !j->text) return EXIT_USAGE; /* no such program */
    int status = exit_status_of(worst, j->path, text ? text : j->text, len);
    free(text);
    return status;
}

static int run(const void *opts, int argc, char **argv) {
    const struct args *a = opts;
    if (a->chains < 1 || a->chains > INTERRUPT_MAX) {
        return complain(EXIT_USAGE, "--chains wants a number from 1 to %d", INTERRUPT_MAX);
    }
    struct job j = {.args = a, .path = argv[0]};
    if (strcmp(j.path, "-") == 0) {
        char *text = read_whole("-", &j.len);
        if (!text) return complain(EXIT_FAILED, "cannot read the program: %s", strerror(errno));
        j.text = text;
    }
    pthread_mutex_init(&j.lock, NULL);
    j.chains = calloc(a->chains, sizeof *j.chains);
    j.done = calloc(a->chains, sizeof *j.done);
    run_chains(&j);
    int status = overall_status(&j);
    pthread_mutex_destroy(&j.lock);
    free(j.chains);
    free(j.done);
    free((char *)j.text);
    return status;
}

static const struct option_row rows[] = {
    SESSION_ROWS(struct args, session),
    {"chains", 'c', OPTION_UINT, "N", "run the program N times in threads (default 1)",
     offsetof(struct args, chains)},
    {"chain", 0, OPTION_UINT, "I", "number of the first chain (default 0)",
     offsetof(struct args, chain)},
};

const struct command command_run = {
    .name = "run",
    .args = "FILE",
    .summary = "Runs a program",
    .text =
        "Prints the value of every top-level sample, predict and expression on standard output, "
        "one\nper line. FILE may be - for standard input. The same seed gives the same output, "
        "whatever\nthe number of threads; with --chains the chains' output follows in their "
        "order, each the\nsame as that of --chain I alone.\n\nExit status: 0 fine, 1 the run "
        "failed, 2 the program does not parse or cannot be read.",
    OPTIONS(rows),
    .size = sizeof(struct args),
    .init = init,
    .min_args = 1,
    .max_args = 1,
    .run = run,
};
