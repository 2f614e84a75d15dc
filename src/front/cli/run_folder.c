/* SPDX-License-Identifier: Apache-2.0
 *
 * See run_folder.h.
 */
#include "front/cli/run_folder.h"
#include "base/ascii.h"
#include "base/calendar.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/number.h"
#include "base/sha256.h"
#include "base/sum.h"
#include "base/vec.h"
#include "front/cli/chain_rows.h"
#include "front/cli/command.h"
#include "front/cli/run_checkpoint.h"
#include "front/cli/out.h"
#include "front/cli/run.h"
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

struct chain_file {
    gpm_session *session;
    int fd;
    char *old; /* complete lines of an earlier run, to be compared; NULL when all are */
    size_t old_len, old_at;
    struct chain_rows rows;   /* the columns so far */
    bool resumed;             /* an earlier run may have left a checkpoint */
    const struct buf *output; /* printed so far; borrowed, or NULL */
    struct sum sum;           /* of the bytes in the file */
    struct buf waiting;       /* whole lines that are not in the file yet */
    double written;           /* clock_seconds() of the last writing */
    bool failed; /* said why: not the draws or files of the earlier run, or it cannot write */
};

/* The run that this process writes. */
static struct {
    const char *dir;
    struct run_facts facts;
    struct chain_file *chains;
    pthread_mutex_t lock;   /* of the manifest and what follows */
    json_t *files, *before; /* {path: SHA-256} of what was read, now and by an earlier run */
    json_t *moves;          /* of each chain as moves_of gives them; null: not at its end yet */
    json_t *failed;         /* [{"chain": 2, "why": ..}] */
    json_t *sums;           /* of the chains that an earlier run left, where it said them */
    struct buf text;        /* of the program */
    int only;               /* DIR/lock: no other process writes here */
} run = {.lock = PTHREAD_MUTEX_INITIALIZER, .text = BUF_INIT};

static bool put_json(struct run_path path, json_t *all) {
    char *text = json_dumps(all, JSON_INDENT(2));
    bool good = text ? out_part(path.text, FILE_OURS, text, strlen(text))
                     : complain(false, "cannot write '%s': out of memory", path.text);
    free(text);
    json_decref(all);
    return good;
}

/* ---- manifest ---- */

static bool put_manifest(const char *dir, const struct run_facts *f) {
    char when[40];
    calendar_now(false, when);
    json_t *m = json_pack("{s:s, s:s, s:s, s:I, s:I, s:I, s:s, s:s, s:O, s:O}", "gpmem", f->version,
                          "program", f->program, "folder", f->folder, "seed", f->seed, "chains",
                          f->chains, "first_chain", f->first, "state", f->state, "written", when,
                          "files", f->files, "failed", f->failed);
    if (f->counted) json_object_set_new(m, "chain_from", json_string(f->counted));
    if (json_array_size(f->data)) json_object_set(m, "data", f->data);
    if (f->sums) json_object_set(m, "checksums", f->sums);
    return put_json(run_path(dir, "manifest.json"), m);
}

/* Summary and warnings of every quantity, for readers without this tool. */
static bool put_diagnostics(const char *dir, struct run_facts *f, json_t *moves) {
    gpm_draws *d;
    if (run_draws_read(dir, f, &d) != EXIT_FINE) return false;
    json_t *quantities = json_loads(gpm_draws_summary(d, GPM_FORMAT_JSON), 0, NULL);
    struct buf accepted = BUF_INIT, wrong = BUF_INIT;
    run_tell_moves(moves, &accepted, &wrong);
    json_t *all =
        json_pack("{s:o, s:I, s:s+, s:O}", "quantities", quantities ? quantities : json_null(),
                  "draws", (json_int_t)gpm_draws_rows(d), "complaints", gpm_draws_complaints(d),
                  wrong.data, "transitions", moves);
    buf_release(&accepted);
    buf_release(&wrong);
    gpm_draws_free(d);
    return put_json(run_path(dir, "diagnostics.json"), all);
}

bool run_write_end(const char *dir, struct run_facts *f, bool draws, json_t *moves) {
    bool good = !draws || put_diagnostics(dir, f, moves);
    if (!good && !strcmp(f->state, "finished")) return false; /* it can go on */
    return put_manifest(dir, f) && good;
}

/* The checksums of the chains' files; null where the expected contents are unknown. */
static json_t *sums_now(void) {
    json_t *sums = json_array();
    for (size_t i = 0; i < (size_t)run.facts.chains; i++) {
        const struct chain_file *c = &run.chains[i];
        char text[24];
        snprintf(text, sizeof text, RUN_SUM_FORMAT, (unsigned long long)sum_end(&c->sum));
        json_t *left = json_array_get(run.sums, i); /* one that was not opened is as it was */
        json_array_append_new(sums, c->fd >= 0 && !c->failed ? json_string(text)
                                    : c->fd < 0 && left      ? json_incref(left)
                                                             : json_null());
    }
    return sums;
}

/* That of the run that this process writes. */
static bool write_manifest(bool end, bool draws) {
    json_t *hash;
    const char *path;
    run.facts.files = json_array();
    run.facts.failed = run.failed;
    run.facts.sums = end ? sums_now() : NULL;
    json_object_foreach(run.files, path, hash) {
        json_array_append_new(run.facts.files,
                              json_pack("{s:s, s:O}", "path", path, "sha256", hash));
    }
    bool good = end ? run_write_end(run.dir, &run.facts, draws, run.moves)
                    : put_manifest(run.dir, &run.facts);
    json_decref(run.facts.files);
    json_decref(run.facts.sums);
    return good;
}

/* ---- beginning ---- */

/* The draws of an earlier run are to be compared. */
static bool open_draws(size_t i) {
    struct chain_file *c = &run.chains[i];
    struct run_path path = run_chain_path(run.dir, i);
    struct buf old = BUF_INIT;
    enum gpm_status st = GPM_OK;
    if (file_there(path.text)) st = file_read(path.text, FILE_OURS, SIZE_MAX / 4, &old);
    size_t len = old.len;
    while (len > 0 && old.data[len - 1] != '\n') len--; /* a row cut off by a crash */
    if (st == GPM_OK) st = file_begin(path.text, old.data, len, &c->fd);
    if (st != GPM_OK) complain(0, "cannot write '%s': %s", path.text, file_why());
    c->old_len = len;
    c->sum = (struct sum){0};
    sum_add(&c->sum, old.data, len);
    c->old = len ? buf_take(&old) : NULL;
    buf_release(&old);
    return st == GPM_OK;
}

static struct run_path checkpoint_in(const char *dir, size_t i) {
    char name[64];
    snprintf(name, sizeof name, "chain-%zu.ckpt", i + 1);
    return run_path(dir, name);
}

static struct run_path checkpoint_path(size_t i) {
    return checkpoint_in(run.dir, i);
}

void run_folder_forget(const char *dir, size_t chains) {
    for (size_t i = 0; i < chains; i++) file_remove(checkpoint_in(dir, i).text);
}

/* One with a checkpoint is opened when its session goes on (run_folder_resume). */
static bool open_chain(size_t i) {
    struct chain_file *c = &run.chains[i];
    buf_init(&c->waiting);
    json_array_append_new(run.moves, json_null());
    c->fd = -1;
    c->resumed = file_there(checkpoint_path(i).text);
    return c->resumed || open_draws(i);
}

static bool run_folder_begin(void) {
    struct run_path program = run_path(run.dir, "program.vnts");
    bool good = file_read(program.text, FILE_OURS, FILE_TEXT_MAX, &run.text) == GPM_OK ||
                complain(false, "cannot read '%s': %s", program.text, file_why());
    run.chains = mem_zalloc((size_t)run.facts.chains * sizeof *run.chains);
    for (size_t i = 0; good && i < (size_t)run.facts.chains; i++) good = open_chain(i);
    run.facts.state = "running";
    return good && write_manifest(false, false);
}

/* Takes the folder, which only this process writes from here on; false: reported why. */
static bool take_folder(const char *dir) {
    if (file_lock(dir, &run.only) != GPM_OK)
        return complain(false, "cannot write to the folder '%s': %s", dir, file_why());
    run.dir = dir;
    run.files = json_object();
    run.before = json_object();
    run.moves = json_array();
    run.failed = json_array();
    return true;
}

static bool leave_folder(void) {
    file_unlock(run.dir, run.only);
    return false;
}

static bool copy_program(const char *dir, const char *program) {
    struct buf text = BUF_INIT;
    bool good = read_text(program, &text) == GPM_OK &&
                out_part(run_path(dir, "program.vnts").text, FILE_OURS, text.data, text.len);
    buf_release(&text);
    return good;
}

/* A folder without a manifest keeps its own files; a run that was killed as it began left the
 * program and chains without rows. */
static bool is_free(const char *dir, const char *program, size_t chains) {
    struct run_path path = run_path(dir, "program.vnts");
    struct buf text = BUF_INIT;
    if (file_there(path.text) && read_text(program, &text) != GPM_OK) return false;
    bool is = file_is_free(path.text, text.data, text.len);
    for (size_t i = 0; is && i < chains; i++) {
        path = run_chain_path(dir, i);
        is = file_is_free(path.text, NULL, 0);
    }
    buf_release(&text);
    return is || complain(false, "'%s' would be written over; choose another folder", path.text);
}

static bool may_create(const char *dir, const char *program, size_t chains) {
    bool there = file_there(run_path(dir, "manifest.json").text);
    if (there && run_has_failed(dir)) /* what resume repeats ends as it did */
        return complain(false,
                        "'%s' holds a run that failed; delete the folder or choose another one for "
                        "a run of the mended program",
                        dir);
    if (there)
        return complain(
            false,
            "'%s' holds a run already; go on with `gpmem resume %s` or choose another folder", dir,
            dir);
    if (file_there(program) && !file_regular(program))
        return complain(false, "--out needs a program in a file, and '%s' is none", program);
    if (file_folder(dir, FILE_GIVEN) == GPM_OK) return is_free(dir, program, chains);
    return complain(false, "cannot make the folder '%s': %s", dir, file_why());
}

bool run_folder_create(const char *dir, const char *program, const struct run_facts *facts) {
    size_t chains = (size_t)facts->chains;
    if (!may_create(dir, program, chains) || !take_folder(dir)) return false;
    char *full = realpath(program, NULL), *folder = realpath(dir, NULL);
    run.facts = *facts;
    run.facts.program = full ? full : program;
    run.facts.folder = folder ? folder : "";
    run.facts.version = gpm_version();
    explain("draws go to '%s'", dir);
    /* again: another process may have been faster */
    if (may_create(dir, program, chains) && copy_program(dir, program) && run_folder_begin())
        return true;
    return leave_folder();
}

/* As seen from the folder: the steps up out of it, and down to the file. */
static char *seen_from(const char *folder, const char *path) {
    size_t common = 0;
    for (size_t i = 0; folder[i] && folder[i] == path[i]; i++)
        if (path[i] == '/') common = i;
    struct buf b = BUF_INIT;
    if (strlen(folder) < strlen(path) && !strncmp(folder, path, strlen(folder)) &&
        path[strlen(folder)] == '/')
        common = strlen(folder); /* inside it */
    for (const char *at = folder + common; *at; at++)
        if (*at == '/' && at[1]) buf_puts(&b, "../");
    buf_puts(&b, path + common + 1);
    return buf_take(&b);
}

/* The path now of a file that was at `path` when the folder was at `folder`: there, or at the same
 * place as seen from the folder. */
static char *file_now(const char *dir, const char *folder, const char *path) {
    if (file_there(path) || path[0] != '/' || folder[0] != '/') return mem_strdup(path);
    char *steps = seen_from(folder, path), *now = NULL;
    struct buf b = BUF_INIT;
    buf_printf(&b, "%s/%s", dir, steps);
    if (file_there(b.data)) {
        char *full = realpath(b.data, NULL);
        now = mem_strdup(full ? full : b.data);
        free(full);
    }
    mem_free(steps);
    buf_release(&b);
    return now ? now : mem_strdup(path);
}

/* The program must still be the one the run began with, unless nothing but its copy is left. */
static bool same_program(const char *dir, const char *program) {
    struct run_path path = run_path(dir, "program.vnts");
    struct buf kept = BUF_INIT, now = BUF_INIT;
    bool same = false;
    if (file_read(program, FILE_GIVEN, FILE_TEXT_MAX, &now) != GPM_OK) {
        complain(0, "cannot read the run's program '%s': %s", program, file_why());
    } else if (file_read(path.text, FILE_OURS, FILE_TEXT_MAX, &kept) != GPM_OK) {
        complain(0, "cannot read '%s': %s", path.text, file_why());
    } else {
        same = kept.len == now.len && memcmp(kept.data, now.data, now.len) == 0;
        if (!same)
            complain(0, "'%s' has changed since the run began (its copy is %s); start a new run",
                     program, path.text);
    }
    buf_release(&kept);
    buf_release(&now);
    return same;
}

static json_t *path_now(const char *dir, const char *folder, const json_t *path) {
    if (!json_is_string(path)) return NULL;
    char *now = file_now(dir, folder, json_string_value(path));
    json_t *out = json_string(now);
    mem_free(now);
    return out;
}

bool run_folder_reopen(const char *dir, struct run_facts *facts) {
    if (run_facts_read(dir, facts) != EXIT_FINE) return false;
    if (strcmp(facts->version, gpm_version()) != 0)
        return complain(
            false,
            "the run was made by gpmem %s, this is %s: the same seed may give other draws, "
            "so it cannot go on with them. All that reads a run still reads this one; for more "
            "draws begin a new one with `gpmem run --out`",
            facts->version, gpm_version());
    facts->program = file_now(dir, facts->folder, facts->program);
    if (!file_there(facts->program))
        facts->program = mem_strdup(run_path(dir, "program.vnts").text);
    if (!same_program(dir, facts->program) || !take_folder(dir)) return false;
    size_t i;
    json_t *row;
    json_array_foreach(facts->files, i, row) {
        json_t *now = path_now(dir, facts->folder, json_object_get(row, "path"));
        if (now)
            json_object_set(run.before, json_string_value(now), json_object_get(row, "sha256"));
        json_decref(now);
    }
    json_array_foreach(facts->data, i, row) {
        const char *text = json_string_value(row);
        if (text && !data_name(text))
            json_array_set_new(facts->data, i, path_now(dir, facts->folder, row));
    }
    run.facts = *facts;
    run.sums = json_incref(facts->sums);
    char *folder = realpath(dir, NULL); /* from here on paths are as they are now */
    run.facts.folder = folder ? folder : "";
    explain("'%s' was %s; its program is run again from seed %llu", dir, facts->state,
            (unsigned long long)facts->seed);
    return run_folder_begin() || leave_folder();
}

/* ---- what the operators of a run did, for each chain ---- */

static void keep_scope(void *user, const char *scope, uint64_t proposed, uint64_t accepted) {
    json_object_set_new(user, scope,
                        json_pack("{s:I, s:I}", "proposed", (json_int_t)proposed, "accepted",
                                  (json_int_t)accepted));
}

static void keep_fact(void *user, const char *name, double v) {
    json_object_set_new(user, name, isfinite(v) ? json_real(v) : json_null());
}

/* {"scopes": {"default": {"proposed": 10, "accepted": 4, "advice": ..}, ...}, "sampler":
 * {"divergences": 0, ...}, "divergences": 0, "complaints": ""}, the caller's. */
static json_t *moves_of(gpm_session *s) {
    json_t *row, *sampler = json_object(), *scopes = json_object();
    uint64_t divergences = gpm_acceptance(s, keep_scope, scopes);
    const char *scope;
    json_object_foreach(scopes, scope, row)
        json_object_set_new(row, "advice", json_string(gpm_acceptance_advice(s, scope)));
    gpm_sampler_facts(s, keep_fact, sampler);
    return json_pack("{s:o, s:o, s:I, s:s}", "scopes", scopes, "sampler", sampler, "divergences",
                     (json_int_t)divergences, "complaints", gpm_trajectory_complaints(s));
}

static void stop_chain(struct chain_file *c) {
    c->failed = true;
    if (c->session) gpm_interrupt(c->session);
}

static size_t number_of(const struct chain_file *c) {
    return (size_t)(c - run.chains) + 1;
}

/* Draws may be lost. */
static void cannot_write(struct chain_file *c) {
    complain(0, "cannot write the draws of chain %zu: %s", number_of(c), file_why());
    stop_chain(c);
}

static void not_repeated(struct chain_file *c) {
    complain(
        0,
        "chain %zu did not repeat the draws in '%s': data or files that the program reads have "
        "changed",
        number_of(c), run.dir);
    stop_chain(c);
}

/* Draws that come quickly go out together: a system call costs as much as a small model's draw.
 * What a kill takes is made again by resume. */
#define TOGETHER_BYTES   32768
#define TOGETHER_SECONDS 0.05
#define MANY_CHAINS      32 /* whose files would keep the disk busy at that pace */

static void write_waiting(struct chain_file *c) {
    if (c->waiting.len && file_put(c->fd, c->waiting.data, c->waiting.len) != GPM_OK)
        cannot_write(c);
    sum_add(&c->sum, c->waiting.data, c->waiting.len);
    buf_reset(&c->waiting);
    c->written = clock_seconds();
}

/* The whole table that the file of a chain that has ended becomes (chain_rows.h); empty: the file
 * is one already. */
static struct buf whole_table(struct chain_file *c) {
    struct run_path path = run_chain_path(run.dir, number_of(c) - 1);
    struct buf file = BUF_INIT, whole = BUF_INIT;
    write_waiting(c);
    if (!c->failed && !c->old && c->fd >= 0) {
        if (file_read(path.text, FILE_OURS, SIZE_MAX / 4, &file) != GPM_OK) {
            cannot_write(c);
        } else if (sum_bytes(0, file.data, file.len) != sum_end(&c->sum)) {
            complain(0, "'%s' was changed while the run wrote it", path.text);
            stop_chain(c);
        } else {
            (void)chain_rows_whole(&c->rows, &file, &whole);
        }
    }
    buf_release(&file);
    return whole;
}

/* The table takes the place of the rows, and is released. */
static void put_whole(struct chain_file *c, struct buf *whole) {
    if (whole->len && !c->failed) {
        struct run_path path = run_chain_path(run.dir, number_of(c) - 1);
        bool good = file_close(c->fd) == GPM_OK;
        c->fd = -1;
        good &= file_begin(path.text, whole->data, whole->len, &c->fd) == GPM_OK;
        c->sum = (struct sum){0};
        sum_add(&c->sum, whole->data, whole->len);
        if (!good) cannot_write(c);
    }
    buf_release(whole);
}

static void end_rows(struct chain_file *c) {
    struct buf whole = whole_table(c);
    put_whole(c, &whole);
}

int run_folder_close(int status) {
    bool good = true, collected = false;
    for (size_t i = 0; i < (size_t)run.facts.chains; i++) {
        struct chain_file *c = &run.chains[i];
        c->session = NULL;
        write_waiting(c);
        buf_release(&c->waiting);
        if (c->fd >= 0 && file_close(c->fd) != GPM_OK) cannot_write(c);
        good &= !c->failed;
        collected |= c->rows.columns.names.n > 0;
        chain_rows_release(&c->rows);
    }
    if (!good && (status == EXIT_FINE || status == EXIT_STOPPED)) status = EXIT_FAILED;
    run.facts.state = status == EXIT_FINE      ? "finished"
                      : status == EXIT_STOPPED ? "stopped"
                                               : "failed";
    size_t failed = json_array_size(run.failed), chains = (size_t)run.facts.chains;
    if (failed && failed < chains && !voice.quiet)
        complain(0,
                 "%zu of %zu chains failed; summary, diagnose and export of '%s' read the others",
                 failed, chains, run.dir);
    bool written = write_manifest(true, collected);
    if (written && status == EXIT_FINE) run_folder_forget(run.dir, chains);
    leave_folder();
    return written || status != EXIT_FINE ? status : EXIT_FAILED;
}

void run_folder_watch(size_t i, gpm_session *s) {
    run.chains[i].session = s;
}

/* The first line of an error, without what colours it. */
static void first_line(const char *error, struct buf *out) {
    for (; *error && *error != '\n'; error++) {
        bool escape = error[0] == 033 && error[1] == '[';
        if (escape) error += strcspn(error, "m\n");
        if (!escape) buf_putc(out, *error);
        if (!*error) break;
    }
}

static void keep_end(struct chain_file *c, const json_t *moves,
                     const struct buf *whole); /* below */

void run_folder_note(size_t i, gpm_session *s, enum gpm_status st) {
    struct buf why = BUF_INIT, whole = BUF_INIT;
    if (st != GPM_OK) first_line(gpm_last_error(s), &why);
    pthread_mutex_lock(&run.lock);
    json_array_set_new(run.moves, i, moves_of(s));
    if (st == GPM_OK && run.chains[i].old) not_repeated(&run.chains[i]); /* the file holds more */
    if (st == GPM_OK || !gpm_stopped(s)) whole = whole_table(&run.chains[i]);
    if (st == GPM_OK) keep_end(&run.chains[i], json_array_get(run.moves, i), &whole);
    put_whole(&run.chains[i], &whole);
    if (st != GPM_OK && !gpm_stopped(s))
        json_array_append_new(run.failed,
                              json_pack("{s:I, s:s}", "chain", (json_int_t)i + 1, "why", why.data));
    pthread_mutex_unlock(&run.lock);
    buf_release(&why);
}

/* A file that is not in the list yet comes there with its hash; false: it is not the one that the
 * earlier run read, which is said. */
static bool add_file(const char *path) {
    char hash[65];
    struct buf text = BUF_INIT;
    /* a pipe gives its text once, and that is the program's */
    bool read = file_regular(path) && file_read(path, FILE_GIVEN, FILE_TEXT_MAX, &text) == GPM_OK;
    if (read) sha256_hex(text.data, text.len, hash);
    buf_release(&text);
    if (!read) return true; /* the program will say so itself */
    json_object_set_new(run.files, path, json_string(hash));
    const char *was = json_string_value(json_object_get(run.before, path));
    if (!was || strcmp(was, hash) == 0) return true;
    return complain(false, "'%s' has changed since the run began; put it back or start a new run",
                    path);
}

/* ---- checkpoints ---- */

/* Names of columns as a checkpoint has them: each with its NUL. */
static struct buf names_text(const struct chain_file *c) {
    struct buf b = BUF_INIT;
    const struct column_names *all = &c->rows.columns;
    for (size_t i = 0; i < all->names.n; i++)
        buf_add(&b, all->names.at[i], strlen(all->names.at[i]) + 1);
    return b;
}

static void read_names(struct chain_file *c, const struct chain_stand *s) {
    VEC(const char *) names = {0};
    const char *p = s->names.data, *end = p + s->names.len;
    for (const char *nul; p < end && (nul = memchr(p, 0, (size_t)(end - p))); p = nul + 1)
        vec_push(&names, p);
    chain_rows_know(&c->rows, names.at, names.n);
    c->rows.before = s->before;
    vec_release(&names);
}

/* Whose a checkpoint is. Data in files is not in it: those are known by their hashes. */
static char *owner_of(const struct chain_file *c) {
    char hash[65];
    size_t i;
    json_t *row;
    struct buf b = BUF_INIT;
    buf_printf(&b, "%lld %lld %zu\n", (long long)run.facts.seed, (long long)run.facts.first,
               number_of(c));
    json_array_foreach(run.facts.data, i, row) {
        const char *text = json_string_value(row);
        if (text && data_name(text)) buf_printf(&b, "%s\n", text);
    }
    buf_add(&b, run.text.data, run.text.len);
    sha256_hex(b.data, b.len, hash);
    buf_release(&b);
    return mem_strdup(hash);
}

/* The rows that belong to it are on the disk before it is. */
static bool write_stand(struct chain_file *c, struct chain_stand *s) {
    s->of = owner_of(c);
    s->length = c->sum.n;
    s->sum = sum_end(&c->sum);
    s->names = names_text(c);
    s->before = c->rows.before;
    if (c->output) buf_add(&s->output, c->output->data, c->output->len);
    bool good =
        file_sync(c->fd) == GPM_OK && chain_stand_write(checkpoint_path(number_of(c) - 1).text, s);
    chain_stand_release(s);
    return good;
}

/* For gpm_options.checkpoint. */
static bool keep_state(void *chain, const void *data, size_t n) {
    struct chain_file *c = chain;
    write_waiting(c);
    if (c->failed || c->old) return !c->failed; /* comparing still: what is there is farther */
    struct chain_stand s = {.names = BUF_INIT, .output = BUF_INIT, .state = BUF_INIT};
    buf_add(&s.state, data, n);
    return write_stand(c, &s);
}

/* A chain that has ended needs nothing any more; the others of its run may, and the end of the
 * folder. A short run without a checkpoint is made again as fast. The checkpoint knows the rows and
 * the table that takes their place after it, so a kill between the two loses nothing. */
static void keep_end(struct chain_file *c, const json_t *moves, const struct buf *whole) {
    bool short_run = run.facts.chains < 2 && !file_there(checkpoint_path(number_of(c) - 1).text);
    if (short_run || c->failed || c->old) return;
    write_waiting(c);
    char *text = json_dumps(moves, 0);
    struct chain_stand s = {.done = true,
                            .whole = whole->len,
                            .whole_sum = sum_bytes(0, whole->data, whole->len),
                            .moves = text ? mem_strdup(text) : NULL,
                            .output = BUF_INIT,
                            .state = BUF_INIT};
    free(text);
    (void)!write_stand(c, &s);
}

void run_folder_output(size_t i, const struct buf *output) {
    run.chains[i].output = output;
}

/* The files that were read before the checkpoint are not read again, and must not have changed all
 * the same: what they held is in the draws. */
static void carry_files(struct chain_file *c) {
    const char *path;
    json_t *hash;
    pthread_mutex_lock(&run.lock);
    json_object_foreach(run.before, path, hash) {
        if (!json_object_get(run.files, path) && !add_file(path)) stop_chain(c);
    }
    pthread_mutex_unlock(&run.lock);
}

static bool draws_are(struct chain_file *c, uint64_t length, uint64_t sum) {
    return draws_sum(c->fd, length, &c->sum) && sum_end(&c->sum) == sum;
}

static bool fits(struct chain_file *c, const struct chain_stand *s, struct buf *why) {
    char *of = owner_of(c);
    if (!s->of || strcmp(of, s->of) != 0)
        buf_puts(why, "it is of another run");
    else if (!(s->whole && draws_are(c, s->whole, s->whole_sum)) &&
             !draws_are(c, s->length, s->sum))
        buf_puts(why, "the draws are not those it was written with");
    mem_free(of);
    return !why->len;
}

/* The chain stands where the checkpoint says. */
static void take_stand(struct chain_file *c, const struct chain_stand *was, struct buf *output) {
    read_names(c, was);
    buf_add(output, was->output.data, was->output.len);
    json_t *moves = was->moves ? json_loads(was->moves, 0, NULL) : NULL;
    if (moves) json_array_set_new(run.moves, number_of(c) - 1, moves);
    carry_files(c);
}

enum run_resumed run_folder_resume(size_t i, gpm_session *s, struct buf *output) {
    struct chain_file *c = &run.chains[i];
    struct chain_stand was;
    struct buf why = BUF_INIT;
    enum run_resumed how = RUN_BEGINS;
    if (!c->resumed) return RUN_BEGINS;
    c->resumed = false;
    if (chain_stand_read(checkpoint_path(i).text, &was, &why)) {
        enum gpm_status st = file_go_on(run_chain_path(run.dir, i).text, &c->fd);
        if (st != GPM_OK)
            buf_puts(&why, file_why());
        else if (!fits(c, &was, &why))
            st = GPM_E_ARG;
        else if (!was.done && (st = gpm_restore(s, was.state.data, was.state.len)) != GPM_OK) {
            buf_puts(&why, gpm_last_error(s));
            how = RUN_SPOILT;
        } else if ((st = file_cut(c->fd, (size_t)c->sum.n)) != GPM_OK)
            buf_puts(&why, file_why());
        if (st == GPM_OK) {
            how = was.done ? RUN_DONE : RUN_GOES_ON;
            take_stand(c, &was, output);
            if (was.done) end_rows(c); /* killed before the table took the place of the rows */
        } else if (c->fd >= 0) {
            (void)!file_close(c->fd);
            c->fd = -1;
        }
        chain_stand_release(&was);
    }
    if (how == RUN_BEGINS || how == RUN_SPOILT) {
        complain(0, "chain %zu begins anew, its checkpoint is not used: %s", i + 1, why.data);
        if (!open_draws(i)) stop_chain(c);
    }
    buf_release(&why);
    return how;
}

/* For gpm_options.file: a file that the chain reads. */
static void note_file(void *chain, const char *path) {
    char *full = realpath(path, NULL); /* the same file by another way is the same file */
    pthread_mutex_lock(&run.lock);
    if (!json_object_get(run.files, full ? full : path)) {
        bool same = add_file(full ? full : path);
        if (!write_manifest(false, false) || !same) stop_chain(chain);
    }
    pthread_mutex_unlock(&run.lock);
    free(full);
}

/* ---- draws ---- */

/* The lines that stand in `waiting` from `start` on are compared with those of the earlier run, as
 * far as that came. Whole lines go out: a crash cuts at most the last one. */
static void compare(struct chain_file *c, size_t start) {
    const char *p = c->waiting.data + start, *end = c->waiting.data + c->waiting.len;
    while (c->old && p < end) {
        const char *to = memchr(p, '\n', (size_t)(end - p)), *was = c->old + c->old_at;
        const char *was_to = memchr(was, '\n', c->old_len - c->old_at);
        bool skip;
        if (!chain_rows_same(was, (size_t)(was_to - was), p, (size_t)(to - p), !c->old_at, &skip)) {
            not_repeated(c);
            p = end;
            break;
        }
        p = to + 1;
        if (skip) continue;
        c->old_at = (size_t)(was_to + 1 - c->old);
        if (c->old_at < c->old_len) continue;
        mem_free(c->old);
        c->old = NULL;
    }
    memmove(c->waiting.data + start, p, (size_t)(end - p));
    c->waiting.len = start + (size_t)(end - p);
}

/* For gpm_options.draw: a row that the chain collects. */
static void keep_draw(void *chain, const char *const *names, const double *row, size_t n) {
    struct chain_file *c = chain;
    size_t start = c->waiting.len;
    if (c->failed) return;
    chain_rows_add(&c->rows, names, row, n, &c->waiting);
    if (c->old && c->waiting.len > start) compare(c, start);
    /* after a row, so that no file holds the names alone */
    double pace = TOGETHER_SECONDS * (1 + run.facts.chains / MANY_CHAINS);
    if (c->waiting.len > TOGETHER_BYTES || clock_seconds() - c->written > pace) write_waiting(c);
}

void run_folder_attach(size_t i, struct gpm_options *o) {
    o->draw = keep_draw;
    o->file = note_file;
    o->checkpoint = keep_state;
    o->draw_user = o->file_user = o->checkpoint_user = &run.chains[i];
}
