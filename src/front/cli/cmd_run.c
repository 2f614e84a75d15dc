/* SPDX-License-Identifier: Apache-2.0
 *
 * gpmem run FILE: runs a program, once or as several chains in threads; with --out the draws that
 * it collects are kept in a folder. gpmem resume DIR goes on with such a run that was stopped.
 *
 * A chain is a session of its own with its number in the random key, and its output is kept until
 * all earlier chains have printed theirs: the bytes are those of running the chains one after
 * another.
 */
#include "base/ascii.h"
#include "base/clock.h"
#include "base/cores.h"
#include "base/file.h"
#include "base/number.h"
#include "base/stop.h"
#include "front/cli/array_task.h"
#include "front/cli/command.h"
#include "front/cli/events.h"
#include "front/cli/out.h"
#include "front/cli/progress_line.h"
#include "front/cli/run.h"
#include "front/cli/run_folder.h"
#include <gpmem/gp.h>
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* One chain: its outcome and its output as a list of (stream, bytes); the error that it ended with
 * is drawn already. */
enum { DRAWN = 3, MAX_CHAINS = 1024 }; /* as COUNT_CHAINS */
static const double LEAST_TIME = 1e-9; /* 0 would be no limit */
struct chain {
    int status;
    bool begun, done, stopped; /* stopped: it was asked to end, or its time was up */
    struct buf out;            /* records of stdout and stderr, in order */
};
struct output_record {
    int stream;
    size_t len;
};

static void keep_output(void *user, int stream, const char *text, size_t len) {
    struct chain *c = user;
    struct output_record r = {stream, len};
    buf_add(&c->out, &r, sizeof r);
    buf_add(&c->out, text, len);
}

/* What a chain ended with, or warned of, under its number; lines of JSON stay by themselves. */
static void keep_error(struct chain *c, unsigned number, enum gpm_status st, const char *error) {
    char head[64];
    int n = snprintf(head, sizeof head, "gpmem: chain %u %s:\n", number,
                     st == GPM_OK ? "warns" : "failed");
    if (*error && !session_diagnostics) keep_output(c, 2, head, (size_t)n);
    keep_output(c, DRAWN, error, strlen(error));
}

static void print_records(const struct buf *out) {
    progress_hide();
    struct output_record r;
    for (size_t at = 0; at + sizeof r <= out->len; at += r.len) {
        memcpy(&r, out->data + at, sizeof r);
        at += sizeof r;
        if (r.len > out->len - at) break;
        if (r.stream == 1)
            out_data(out->data + at, r.len);
        else if (r.stream == DRAWN)
            err_drawn(out->data + at, r.len);
        else
            err_text(out->data + at, r.len);
    }
}

static void replay(struct chain *c) {
    print_records(&c->out);
    buf_release(&c->out);
    out_flush();
}

static double checkpoint_seconds; /* 0: the usual */

struct job {
    uint64_t n, first; /* chains: how many, and the number of the first */
    const struct text_list *data;
    const char *path; /* the program; "-": standard input */
    bool folder;      /* draws are kept */
    bool profile;     /* where the time went is said */
    double end;       /* clock_seconds() at which --max-time is over for all of them; 0: never */
    char *text;       /* NULL: the path; else its name is */
    const char *name;
    size_t len;
    struct chain *chains;
    atomic_uint next;
    unsigned printed; /* chains whose output is out */
};
static pthread_mutex_t printing = PTHREAD_MUTEX_INITIALIZER; /* and which chains are done */

static enum gpm_status run_program(gpm_session *s, const struct job *j) {
    enum gpm_status st = GPM_OK;
    for (size_t i = 0; i < j->data->n && st == GPM_OK; i++) st = give_data(s, j->data->at[i]);
    if (st != GPM_OK) return st;
    return j->text ? gpm_run_text(s, j->name, j->text, j->len) : gpm_run_file(s, j->path);
}

static void say_profile(struct chain *c, bool keep, const char *text) {
    progress_hide();
    if (keep)
        keep_output(c, 2, text, strlen(text));
    else
        err_text(text, strlen(text));
}

/* Printed at once, and kept for the checkpoints. */
static void tee_output(void *user, int stream, const char *text, size_t len) {
    keep_output(user, stream, text, len);
    progress_hide();
    if (stream == 1)
        out_data(text, len);
    else
        err_text(text, len);
}

/* The session of a chain that goes on where an earlier run stopped; *done: it needs none. */
static gpm_session *begin_chain(struct job *j, unsigned i, const struct gpm_options *o,
                                bool *done) {
    struct chain *c = &j->chains[i];
    gpm_session *s = gpm_session_new(o);
    *done = false;
    if (!j->folder) return s;
    run_folder_watch(i, s);
    run_folder_output(i, &c->out);
    enum run_resumed how = run_folder_resume(i, s, &c->out);
    *done = how == RUN_DONE;
    if (how == RUN_SPOILT) { /* its contents are unknown, so it is left alone */
        s = gpm_session_new(o);
        run_folder_watch(i, s);
    }
    if (how >= RUN_GOES_ON && how != RUN_SPOILT && j->n == 1) print_records(&c->out);
    return s;
}

static void run_chain(struct job *j, unsigned i) {
    struct chain *c = &j->chains[i];
    struct gpm_options o = session_settings();
    o.chain = (uint32_t)(j->first + i);
    o.warn_early = !o.quiet;
    o.profile = j->profile;
    if (j->end > 0) o.max_seconds = fmax(j->end - clock_seconds(), LEAST_TIME);
    o.together = j->n > 1 && device_is_gpu() && gpm_parts_count() == 1;
    bool keep = j->n > 1;
    c->begun = true;
    buf_init(&c->out);
    if (keep || j->folder) {
        o.write = keep ? keep_output : tee_output;
        o.user = c;
    }
    if (checkpoint_seconds > 0) o.checkpoint_seconds = checkpoint_seconds;
    progress_attach(i, &o);
    if (j->folder) run_folder_attach(i, &o);
    events_attach(i, &o);
    bool done;
    gpm_session *s = begin_chain(j, i, &o, &done);
    interrupt_begin(i, s);
    enum gpm_status st = done ? GPM_OK : run_program(s, j);
    interrupt_end(i);
    c->status = st;
    c->stopped = gpm_stopped(s);
    events_end_chain(i,
                     st == GPM_OK ? "finished"
                     : c->stopped ? "stopped"
                                  : "failed",
                     st == GPM_OK ? "" : gpm_last_error(s));
    if (!keep) {
        print_error(s, st, o.quiet > 0);
    } else if (st != GPM_OK || !o.quiet) {
        keep_error(c, i + 1, st, gpm_last_error(s));
    }
    if (j->profile) say_profile(c, keep, gpm_profile(s));
    if (j->folder && !done) run_folder_note(i, s, st);
    gpm_session_free(s);
    if (!keep) buf_release(&c->out); /* it is out already */
}

static void *work(void *user) {
    struct job *j = user;
    for (unsigned i; (i = atomic_fetch_add(&j->next, 1)) < j->n;) {
        bool late = j->end > 0 && clock_seconds() > j->end;
        if (stop_asked(stop_flag()) || late) /* between two chains */
            j->chains[i] =
                (struct chain){.status = GPM_E_INTERRUPT, .stopped = true, .out = BUF_INIT};
        else
            run_chain(j, i);
        pthread_mutex_lock(&printing);
        j->chains[i].done = true;
        for (; j->printed < j->n && j->chains[j->printed].done; j->printed++)
            replay(&j->chains[j->printed]);
        pthread_mutex_unlock(&printing);
    }
    return NULL;
}

static void run_chains(struct job *j) {
    unsigned n = (unsigned)j->n;
    bool apart = gpm_parts_count() > 1; /* several processes compute one chain after the other */
    unsigned cores = apart ? 1 : (unsigned)cores_available();
    if (n > cores && (apart || !device_is_gpu())) n = cores; /* on a GPU they wait for each other */
    pthread_t threads[MAX_CHAINS];
    unsigned started = 0;
    while (started + 1 < n && started < MAX_CHAINS &&
           pthread_create(&threads[started], NULL, work, j) == 0) {
        started++;
    }
    explain("seed %llu, chains %llu to %llu, %u threads", (unsigned long long)session_args.seed,
            (unsigned long long)j->first, (unsigned long long)(j->first + j->n - 1), started + 1);
    work(j); /* this thread is one of them */
    for (unsigned i = 0; i < started; i++) pthread_join(threads[i], NULL);
}

static void say_chains_left(const struct job *j) {
    uint64_t left = 0;
    for (uint64_t i = 0; i < j->n; i++) left += !j->chains[i].begun;
    if (left)
        complain(0, "the run was stopped before %llu of %llu chains had begun",
                 (unsigned long long)left, (unsigned long long)j->n);
}

static int overall_status(const struct job *j) {
    enum gpm_status worst = GPM_OK;
    bool stopped = false;
    for (uint64_t i = 0; i < j->n && worst == GPM_OK; i++) {
        stopped |= j->chains[i].stopped;
        if (!j->chains[i].stopped) worst = (enum gpm_status)j->chains[i].status;
    }
    if (worst == GPM_OK) return stopped ? EXIT_STOPPED : EXIT_FINE;
    if (j->text) return exit_status_of(worst, j->path, j->text, j->len);
    struct buf text = BUF_INIT;
    int status = EXIT_USAGE; /* no such program */
    if (file_read(j->path, FILE_GIVEN, FILE_TEXT_MAX, &text) == GPM_OK)
        status = exit_status_of(worst, j->path, text.data, text.len);
    buf_release(&text);
    return status;
}

/* Standard input, or a pipe: they give their text once, and the chains share it. */
static int read_once(struct job *j) {
    bool standard = strcmp(j->path, "-") == 0;
    if (!standard && (!file_there(j->path) || file_regular(j->path))) return EXIT_FINE;
    struct buf text = BUF_INIT;
    enum gpm_status st = read_program(j->path, &text);
    j->len = text.len;
    j->text = buf_take(&text);
    j->name = standard ? "<stdin>" : j->path;
    return st == GPM_OK ? EXIT_FINE : st == GPM_E_IO && !standard ? EXIT_USAGE : EXIT_FAILED;
}

/* Returns the exit status; errors are on stderr. */
static int run_job(struct job *j) {
    int status = read_once(j);
    j->end = session_args.max_seconds > 0 ? clock_seconds() + session_args.max_seconds : 0;
    if (status == EXIT_FINE && !events_begin(j->n, j->first)) status = EXIT_USAGE;
    if (status == EXIT_FINE) {
        j->chains = mem_zalloc(j->n * sizeof *j->chains);
        progress_begin(j->n);
        stop_on_signals(true);
        if (j->folder) outlive_readers();
        run_chains(j);
        say_chains_left(j);
        stop_on_signals(false);
        progress_end();
        events_end();
        status = overall_status(j);
        mem_free(j->chains);
    }
    mem_free(j->text);
    return j->folder ? run_folder_close(status) : status;
}

#define CHECKPOINT_OPTION                                                                          \
    {                                                                                              \
        "checkpoint", 0, OPTION_TIME, "S",                                                         \
            "write where a run with --out stands every S seconds (default 60)",                    \
            &checkpoint_seconds                                                                    \
    }

static struct {
    uint64_t chains;
    const char *chain, *out;
    struct text_list data;
    bool profile, go_on;
} args = {.chains = 1};

/* --chain I, or auto: the environment says. */
static int first_chain(uint64_t *first, struct buf *counted) {
    double number;
    *first = 0;
    if (!args.chain) return EXIT_FINE;
    if (strcmp(args.chain, "auto") != 0) {
        if (!number_parse(args.chain, strlen(args.chain), &number) || number < 0 ||
            number > UINT32_MAX - MAX_CHAINS || number != (double)(uint64_t)number)
            return complain(EXIT_USAGE, "--chain wants a whole number or auto, not '%s'",
                            args.chain);
        *first = (uint64_t)number;
        return EXIT_FINE;
    }
    if (array_task(first, counted)) {
        explain("chain %llu (%s)", (unsigned long long)*first, counted->data);
        *first *= args.chains;
        return EXIT_FINE;
    }
    struct buf names = BUF_INIT;
    for (const char *const *n = array_task_names; *n; n++)
        buf_printf(&names, "%s%s", n == array_task_names ? "" : ", ", *n);
    int status = complain(EXIT_USAGE,
                          "--chain auto: the environment gives no number; a job array or a "
                          "parallel launcher sets one of %s",
                          names.data);
    buf_release(&names);
    return status;
}

/* {chain} in the name of the folder is the number of its first chain. */
static char *folder_name(const char *pattern, uint64_t chain) {
    struct buf b = BUF_INIT;
    for (const char *hole; (hole = strstr(pattern, "{chain}")); pattern = hole + 7) {
        buf_add(&b, pattern, (size_t)(hole - pattern));
        buf_printf(&b, "%llu", (unsigned long long)chain);
    }
    buf_puts(&b, pattern);
    return buf_take(&b);
}

static int resume_run(const char *dir); /* below */

/* The parent folder of many chains' folders; the first chain makes it. Failures show when the
 * folder itself is made. */
static void make_parent(const char *dir) {
    char *parent = mem_strdup(dir), *end = strrchr(parent, '/');
    if (end && end > parent) {
        *end = 0;
        if (file_folder(parent, FILE_GIVEN) != GPM_OK) explain("%s: %s", parent, file_why());
    }
    mem_free(parent);
}

/* With --continue the folder may be there: of this very run, which then goes on. */
static int go_on(const char *dir, const char *program, uint64_t first) {
    struct run_facts facts;
    if (run_facts_read(dir, &facts) != EXIT_FINE) return EXIT_USAGE;
    if ((uint64_t)facts.seed != session_args.seed || (uint64_t)facts.chains != args.chains ||
        (uint64_t)facts.first != first)
        return complain(EXIT_USAGE,
                        "'%s' holds another run (seed %lld, %lld chains from %lld on); choose "
                        "another folder",
                        dir, (long long)facts.seed, (long long)facts.chains,
                        (long long)facts.first);
    char *full = realpath(program, NULL);
    bool same = !full || strcmp(full, facts.program) == 0 || !file_there(facts.program);
    free(full);
    if (!same)
        return complain(EXIT_USAGE, "'%s' holds a run of '%s'; choose another folder", dir,
                        facts.program);
    if (!run_is_whole(dir, &facts)) return resume_run(dir);
    run_folder_forget(dir, (size_t)facts.chains); /* it may have been killed before it did */
    return EXIT_FINE;
}

static int cmd_run_run(int argc, char **argv) {
    uint64_t first;
    struct buf counted = BUF_INIT;
    int status = first_chain(&first, &counted);
    if (status != EXIT_FINE) return status;
    if (gpm_parts_number() > 0) args.out = NULL; /* one of many processes writes */
    struct job j = {.n = args.chains,
                    .first = first,
                    .data = &args.data,
                    .path = argv[0],
                    .profile = args.profile};
    if (!args.out && args.go_on && !gpm_parts_number())
        return complain(EXIT_USAGE, "--continue goes on with a folder; give it with --out DIR");
    if (!args.out) return run_job(&j);
    if (strcmp(argv[0], "-") == 0) {
        return complain(EXIT_USAGE, "--out needs a program in a file, not on standard input");
    }
    struct run_facts facts = {.seed = session_args.seed,
                              .chains = args.chains,
                              .first = first,
                              .counted = counted.len ? counted.data : NULL,
                              .data = json_array()};
    for (size_t i = 0; i < args.data.n; i++) {
        const char *text = args.data.at[i];
        char *full = data_name(text) ? NULL : realpath(text, NULL); /* resume may run elsewhere */
        json_array_append_new(facts.data, json_string(full ? full : text));
        free(full);
    }
    char *dir = folder_name(args.out, first);
    if (strcmp(dir, args.out) != 0) make_parent(dir);
    if (args.go_on && file_there(run_path(dir, "manifest.json").text))
        return go_on(dir, argv[0], first);
    j.folder = run_folder_create(dir, argv[0], &facts);
    return j.folder ? run_job(&j) : EXIT_USAGE;
}

static const struct option_row rows[] = {
    SEED_OPTION,
    {.kind = OPTION_GROUP, .field = &session_options},
    {"chains", 'c', COUNTED(UINT, CHAINS), "N", "run the program N times in threads (default 1)",
     &args.chains},
    {"chain", 0, OPTION_TEXT, "I|auto",
     "number of the first chain (default 0); auto: of this task of a job array, or rank",
     &args.chain},
    {"data", 'd', OPTION_LIST, "FILE|NAME=VALUE",
     "names for the program: a JSON or CSV file, or one value as JSON; may be repeated",
     &args.data},
    {"profile", 0, OPTION_FLAG, NULL, "say at the end where the time went, on standard error",
     &args.profile},
    {"out", 'o', OPTION_TEXT, "DIR",
     "keep the draws of `collect` for summary, plot, export, resume; {chain} in it is the chain",
     &args.out},
    CHECKPOINT_OPTION,
    {.kind = OPTION_GROUP, .field = &event_options},
    {"continue", 0, OPTION_FLAG, NULL, "go on when --out holds this run already, or is finished",
     &args.go_on},
};

COMMAND(run, 10) = {
    .args = "FILE",
    .summary = "Runs a program",
    .text =
        "Prints the value of every top-level sample, predict and expression on standard output, "
        "one per line. FILE may be - for standard input. The same seed gives the same output, "
        "whatever the number of threads; with --chains the chains' output follows in their "
        "order, each the same as that of --chain I alone.\n\n--data defines names before the "
        "program starts: those of a JSON object (Stan's data files), the columns of a CSV file, "
        "or one, as in --data n=3; `data n, y;` in the program says which it needs.\n\nExit "
        "status: 0 fine, 1 the run "
        "failed, 2 the program does not parse or cannot be read, 4 stopped in good order: by a "
        "signal (SIGINT, SIGTERM, SIGUSR1, SIGXCPU, SIGHUP) or by --max-time, and resume or the "
        "same "
        "command with --continue goes on.",
    OPTIONS(rows),
    .takes = {1, 1},
    .run = cmd_run_run,
};

/* ---- resume: chains go on from their checkpoints; where there is none the program is run again
 * from its seed, draws that are on disk are compared and the rest is added. The result is that of a
 * run that was never interrupted ---- */

static int resume_run(const char *dir) {
    struct run_facts facts;
    if (!run_folder_reopen(dir, &facts)) return EXIT_USAGE;
    session_args.seed = (uint64_t)facts.seed;
    struct text_list data = {0};
    size_t i;
    json_t *given;
    json_array_foreach(facts.data, i, given) {
        if (json_is_string(given)) vec_push(&data, json_string_value(given));
    }
    struct job j = {.n = (uint64_t)facts.chains,
                    .first = (uint64_t)facts.first,
                    .data = &data,
                    .path = facts.program,
                    .folder = true};
    int status = run_job(&j);
    vec_release(&data);
    return status;
}

static int resume(int argc, char **argv) {
    return resume_run(argv[0]);
}

static const struct option_row resume_rows[] = {
    {.kind = OPTION_GROUP, .field = &session_options},
    CHECKPOINT_OPTION,
    {.kind = OPTION_GROUP, .field = &event_options},
};

COMMAND(resume, 30) = {
    .args = "DIR",
    .summary = "Goes on with a run of `gpmem run --out` that was stopped",
    .text =
        "A chain goes on from its checkpoint, DIR/chain-N.ckpt, however far it had come. Without "
        "one that can be used, the program is run again from its seed, and draws that are on disk "
        "are compared with the new ones. Either way the files end up as if nothing had "
        "happened.\n\nExit "
        "status: 0 finished, 1 the run failed or did not repeat its draws, 2 no such run, or its "
        "program has changed, 4 stopped again.",
    OPTIONS(resume_rows),
    .takes = {1, 1},
    .run = resume,
};
