/* SPDX-License-Identifier: Apache-2.0
 *
 * See run_folder.h.
 */
#include "cli/run_folder.h"
#include "base/file.h"
#include "cli/command.h"
#include "cli/run_files.h"
#include "cli/run_moves.h"
#include <jansson.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct chain_file {
    struct run_folder *folder;
    gpm_session *session;
    size_t number;
    int fd;
    char *old; /* complete lines of an earlier run, to be compared; NULL when all are */
    size_t old_len, old_at;
    size_t n_columns; /* 0: no draw yet */
    bool odd_columns; /* a collect with other columns was left out, and said so */
    bool differs;     /* a draw is not the one on disk */
    bool other_file;  /* a file is not the one that the run began with, and that was said */
    bool broken;      /* cannot write */
    json_t *moves;    /* see run_moves.h; NULL: it did not come to its end */
};

struct run_folder {
    char dir[1024];
    struct run_facts facts;
    struct chain_file *chains;
    struct run_files *files;
    pthread_mutex_t lock; /* of the manifest */
    int only;             /* DIR/lock: no other process writes here */
};

/* What stands in the folder is written beside and renamed, and never through a link. */
static bool put_part(const char *path, const char *text, size_t len) {
    struct buf why = BUF_INIT;
    bool good = file_write(path, FILE_OURS, text, len, &why) == GPM_OK;
    if (!good) complain(0, "cannot write '%s': %s", path, why.data);
    buf_release(&why);
    return good;
}

static bool put_json(const char *path, json_t *all) {
    char *text = all ? json_dumps(all, JSON_INDENT(2)) : NULL;
    bool good = text ? put_part(path, text, strlen(text))
                     : complain(false, "cannot write '%s': out of memory", path);
    free(text);
    return good;
}

/* NULL: `why` says why. */
static json_t *get_json(const char *path, struct buf *why) {
    struct buf text = BUF_INIT;
    json_error_t e;
    json_t *all = NULL;
    if (file_read(path, FILE_OURS, SIZE_MAX / 4, &text, why) == GPM_OK) {
        all = json_loadb(text.data, text.len, 0, &e);
        if (!all) buf_puts(why, e.text);
    }
    buf_release(&text);
    return all;
}

static void path_in(const char *dir, const char *name, char *out, size_t size) {
    snprintf(out, size, "%s/%s", dir, name);
}

/* ---- manifest ---- */

static bool write_manifest(const struct run_folder *f) {
    char path[1200], when[32];
    time_t now = time(NULL);
    struct tm tm;
    gmtime_r(&now, &tm);
    strftime(when, sizeof when, "%Y-%m-%dT%H:%M:%SZ", &tm);
    path_in(f->dir, "manifest.json", path, sizeof path);
    json_t *m =
        json_pack("{s:s, s:s, s:I, s:I, s:I, s:s, s:s, s:o}", "gpmem", f->facts.version, "program",
                  f->facts.program, "seed", (json_int_t)f->facts.seed, "chains",
                  (json_int_t)f->facts.chains, "first_chain", (json_int_t)f->facts.first, "state",
                  f->facts.state, "written", when, "files", run_files_json(f->files));
    bool good = put_json(path, m);
    json_decref(m);
    return good;
}

static void copy_text(char *to, size_t size, json_t *from) {
    const char *text = json_string_value(from);
    snprintf(to, size, "%s", text ? text : "");
}

static json_t *read_manifest(const char *dir) {
    char path[1200];
    struct buf why = BUF_INIT;
    path_in(dir, "manifest.json", path, sizeof path);
    json_t *m = get_json(path, &why);
    if (!m) {
        complain(0, "'%s' holds no run that can be read: %s; `gpmem run --out DIR FILE` makes one",
                 dir, why.data);
    } else if (!json_object_get(m, "first_chain")) {
        json_decref(m);
        m = NULL;
        complain(0,
                 "'%s' is no run of `gpmem run --out`; for a run of `gpmem discover` there are "
                 "query, forecast and report",
                 dir);
    }
    buf_release(&why);
    return m;
}

int run_folder_facts(const char *dir, struct run_facts *facts) {
    json_t *m = read_manifest(dir);
    if (!m) return EXIT_USAGE;
    memset(facts, 0, sizeof *facts);
    facts->seed = (uint64_t)json_integer_value(json_object_get(m, "seed"));
    facts->chains = (uint64_t)json_integer_value(json_object_get(m, "chains"));
    facts->first = (uint64_t)json_integer_value(json_object_get(m, "first_chain"));
    copy_text(facts->program, sizeof facts->program, json_object_get(m, "program"));
    copy_text(facts->state, sizeof facts->state, json_object_get(m, "state"));
    copy_text(facts->version, sizeof facts->version, json_object_get(m, "gpmem"));
    json_decref(m);
    if (facts->chains < 1 || facts->chains > 4096) {
        return complain(EXIT_USAGE, "the manifest of '%s' names no number of chains", dir);
    }
    return EXIT_FINE;
}

/* ---- chains ---- */

static bool open_chain(struct run_folder *f, size_t i) {
    struct chain_file *c = &f->chains[i];
    char name[64], path[1200];
    c->folder = f;
    c->number = i;
    snprintf(name, sizeof name, "chain-%zu.csv", i + 1);
    path_in(f->dir, name, path, sizeof path);
    struct buf old = BUF_INIT, why = BUF_INIT;
    enum gpm_status st = GPM_OK;
    if (file_there(path)) st = file_read(path, FILE_OURS, SIZE_MAX / 4, &old, &why);
    size_t len = old.len;
    while (len > 0 && old.data[len - 1] != '\n') len--; /* a row cut off by a crash */
    if (st == GPM_OK) st = file_begin(path, old.data, len, &c->fd, &why);
    if (st != GPM_OK) complain(0, "cannot write '%s': %s", path, why.data);
    c->old_len = len;
    c->old = len ? buf_take(&old) : NULL;
    buf_release(&old);
    buf_release(&why);
    return st == GPM_OK;
}

static bool open_chains(struct run_folder *f) {
    f->chains = calloc(f->facts.chains, sizeof *f->chains);
    if (!f->chains) return complain(false, "out of memory");
    for (size_t i = 0; i < f->facts.chains; i++) f->chains[i].fd = -1;
    for (size_t i = 0; i < f->facts.chains; i++) {
        if (!open_chain(f, i)) return false;
    }
    snprintf(f->facts.state, sizeof f->facts.state, "running");
    return write_manifest(f);
}

/* The folder, which nobody else writes from here on; NULL: said why. */
static struct run_folder *take_folder(const char *dir) {
    struct run_folder *f = calloc(1, sizeof *f);
    struct buf why = BUF_INIT;
    if (!f) {
        complain(0, "out of memory");
    } else if (file_lock(dir, &f->only, &why) != GPM_OK) {
        complain(0, "cannot write to the folder '%s': %s", dir, why.data);
        free(f);
        f = NULL;
    } else {
        snprintf(f->dir, sizeof f->dir, "%s", dir);
        pthread_mutex_init(&f->lock, NULL);
    }
    buf_release(&why);
    return f;
}

/* False: draws may be lost, which was said. */
static bool close_chain(struct chain_file *c) {
    struct buf why = BUF_INIT;
    bool good = c->fd < 0 || file_close(c->fd, &why) == GPM_OK;
    c->fd = -1;
    if (!good) complain(0, "cannot write the draws of chain %zu: %s", c->number + 1, why.data);
    buf_release(&why);
    return good;
}

static bool leave_folder(struct run_folder *f) {
    bool good = true;
    for (size_t i = 0; f->chains && i < f->facts.chains; i++) {
        good &= close_chain(&f->chains[i]);
        free(f->chains[i].old);
        json_decref(f->chains[i].moves);
    }
    file_unlock(f->dir, f->only);
    run_files_free(f->files);
    pthread_mutex_destroy(&f->lock);
    free(f->chains);
    free(f);
    return good;
}

static struct run_folder *begin(struct run_folder *f) {
    if (open_chains(f)) return f;
    (void)leave_folder(f);
    return NULL;
}

static bool copy_program(const char *dir, const char *program) {
    char path[1200];
    struct buf text = BUF_INIT;
    path_in(dir, "program.vnts", path, sizeof path);
    bool good = read_text(program, &text) == GPM_OK && put_part(path, text.data, text.len);
    buf_release(&text);
    return good;
}

static bool may_create(const char *dir, const char *program) {
    char path[1200];
    path_in(dir, "manifest.json", path, sizeof path);
    if (file_there(path))
        return complain(
            false,
            "'%s' holds a run already; go on with `gpmem resume %s` or choose another folder", dir,
            dir);
    if (file_there(program) && !file_regular(program))
        return complain(false, "--out needs a program in a file, and '%s' is none", program);
    struct buf why = BUF_INIT;
    bool made = file_folder(dir, FILE_GIVEN, &why) == GPM_OK;
    if (!made) complain(0, "cannot make the folder '%s': %s", dir, why.data);
    buf_release(&why);
    return made;
}

struct run_folder *run_folder_create(const char *dir, const char *program,
                                     struct run_facts *facts) {
    if (!may_create(dir, program)) return NULL;
    struct run_folder *f = take_folder(dir);
    if (!f) return NULL;
    char *full = realpath(program, NULL);
    snprintf(facts->program, sizeof facts->program, "%s", full ? full : program);
    snprintf(facts->version, sizeof facts->version, "%s", gpm_version());
    free(full);
    f->facts = *facts;
    f->files = run_files_new(NULL);
    explain("draws go to '%s'", dir);
    if (may_create(dir, program) && copy_program(dir, program)) return begin(f);
    (void)leave_folder(f); /* another process was faster, or there is no program */
    return NULL;
}

/* The program must still be the one the run began with. */
static bool same_program(const char *dir, const char *program) {
    char path[1200];
    struct buf kept = BUF_INIT, now = BUF_INIT, why = BUF_INIT;
    path_in(dir, "program.vnts", path, sizeof path);
    bool same = false;
    if (file_read(program, FILE_GIVEN, FILE_TEXT_MAX, &now, &why) != GPM_OK) {
        complain(0, "cannot read the run's program '%s': %s", program, why.data);
    } else if (file_read(path, FILE_OURS, FILE_TEXT_MAX, &kept, &why) != GPM_OK) {
        complain(0, "cannot read '%s': %s", path, why.data);
    } else {
        same = kept.len == now.len && memcmp(kept.data, now.data, now.len) == 0;
        if (!same)
            complain(0, "'%s' has changed since the run began (its copy is %s); start a new run",
                     program, path);
    }
    buf_release(&kept);
    buf_release(&now);
    buf_release(&why);
    return same;
}

struct run_folder *run_folder_reopen(const char *dir, struct run_facts *facts) {
    if (run_folder_facts(dir, facts) != EXIT_FINE) return NULL;
    if (strcmp(facts->version, gpm_version()) != 0) {
        complain(0, "the run was made by gpmem %s, this is %s; its draws would not agree",
                 facts->version, gpm_version());
        return NULL;
    }
    if (!same_program(dir, facts->program)) return NULL;
    struct run_folder *f = take_folder(dir);
    if (!f) return NULL;
    json_t *m = read_manifest(dir);
    f->facts = *facts;
    f->files = run_files_new(json_object_get(m, "files"));
    json_decref(m);
    explain("'%s' was %s; its program is run again from seed %llu", dir, facts->state,
            (unsigned long long)facts->seed);
    return begin(f);
}

static json_t *all_moves(const struct run_folder *f) {
    json_t *all = json_array();
    for (size_t i = 0; i < f->facts.chains; i++) {
        json_t *m = f->chains[i].moves;
        json_array_append_new(all, m ? json_incref(m) : json_null());
    }
    return all;
}

/* Summary and complaints of every quantity, for those who read the folder without this tool. */
static bool write_diagnostics(const struct run_folder *f) {
    char path[1200];
    gpm_draws *d;
    struct run_facts facts;
    for (size_t i = 0; i < f->facts.chains; i++)
        if (f->chains[i].n_columns == 0) return true; /* nothing was collected */
    if (run_folder_read(f->dir, &facts, &d) != EXIT_FINE) return false;
    json_t *quantities = json_loads(gpm_draws_summary(d, GPM_FORMAT_JSON), 0, NULL);
    json_t *moves = all_moves(f);
    char *diverged = run_moves_complaints(moves);
    json_t *all =
        json_pack("{s:o, s:I, s:s+, s:o}", "quantities", quantities ? quantities : json_null(),
                  "draws", (json_int_t)gpm_draws_rows(d), "complaints", gpm_draws_complaints(d),
                  diverged, "transitions", moves);
    free(diverged);
    path_in(f->dir, "diagnostics.json", path, sizeof path);
    bool good = put_json(path, all);
    json_decref(all);
    gpm_draws_free(d);
    return good;
}

int run_folder_close(struct run_folder *f, int status) {
    bool bad = false;
    for (size_t i = 0; i < f->facts.chains; i++) {
        struct chain_file *c = &f->chains[i];
        if (c->differs && !c->other_file) {
            complain(0,
                     "chain %zu did not repeat the draws in '%s': data or files that the program "
                     "reads have changed",
                     i + 1, f->dir);
        }
        bad |= c->differs || c->broken || c->other_file;
        bad |= !close_chain(c);
    }
    if (bad && status == EXIT_FINE) status = EXIT_FAILED;
    snprintf(f->facts.state, sizeof f->facts.state, status == EXIT_FINE ? "finished" : "failed");
    bool written = write_manifest(f);
    written &= write_diagnostics(f);
    written &= leave_folder(f);
    return written || status != EXIT_FINE ? status : EXIT_FAILED;
}

void *run_folder_chain(struct run_folder *f, size_t i) {
    return &f->chains[i];
}

void run_folder_watch(struct run_folder *f, size_t i, gpm_session *s) {
    f->chains[i].session = s;
}

void run_folder_note(struct run_folder *f, size_t i, gpm_session *s) {
    f->chains[i].moves = run_moves_of(s);
}

json_t *run_folder_moves(const char *dir) {
    char path[1200];
    path_in(dir, "diagnostics.json", path, sizeof path);
    struct buf why = BUF_INIT;
    json_t *all = get_json(path, &why), *moves = json_object_get(all, "transitions");
    json_incref(moves);
    json_decref(all);
    buf_release(&why);
    return moves;
}

void run_folder_file(void *chain, const char *path) {
    struct chain_file *c = chain;
    struct run_folder *f = c->folder;
    bool fresh;
    if (!run_files_add(f->files, path, &fresh)) {
        c->other_file = true;
        if (c->session) gpm_interrupt(c->session);
    }
    if (!fresh) return;
    pthread_mutex_lock(&f->lock);
    if (!write_manifest(f)) c->broken = true;
    pthread_mutex_unlock(&f->lock);
}

/* ---- draws ---- */

static void put_line(struct chain_file *c, const char *line, size_t len) {
    if (c->old) {
        size_t left = c->old_len - c->old_at;
        if (len > left || memcmp(c->old + c->old_at, line, len) != 0) {
            c->differs = true;
            if (c->session) gpm_interrupt(c->session);
            return;
        }
        c->old_at += len;
        if (c->old_at == c->old_len) {
            free(c->old);
            c->old = NULL;
        }
        return;
    }
    struct buf why = BUF_INIT;
    if (!c->broken && file_put(c->fd, line, len, &why) != GPM_OK) {
        c->broken = true;
        complain(0, "cannot write the draws of chain %zu: %s", c->number + 1, why.data);
        if (c->session) gpm_interrupt(c->session);
    }
    buf_release(&why);
}

/* Stan's spelling of names: a[1,2] is a.1.2, what CSV cannot hold becomes _. */
static void put_name(const char *name, struct buf *b) {
    for (; *name; name++) {
        bool plain = (*name >= '0' && *name <= '9') || (*name >= 'A' && *name <= 'Z') ||
                     (*name >= 'a' && *name <= 'z') || *name == '_' || *name == '.';
        if (*name == ']') continue;
        buf_putc(b, plain ? *name : *name == '[' || *name == ',' ? '.' : '_');
    }
}

/* One line goes out in one write: a crash cuts at most the last one. */
static void end_line(struct chain_file *c, struct buf *b) {
    b->data[b->len - 1] = '\n'; /* in place of the last comma */
    put_line(c, b->data, b->len);
    buf_release(b);
}

void run_folder_draw(void *chain, const char *const *names, const double *row, size_t n) {
    struct chain_file *c = chain;
    if (c->differs || c->broken || n == 0) return;
    struct buf b = BUF_INIT;
    if (c->n_columns == 0) {
        for (size_t i = 0; i < n; i++) {
            put_name(names[i], &b);
            buf_putc(&b, ',');
        }
        end_line(c, &b);
        c->n_columns = n;
    }
    if (n != c->n_columns) {
        if (!c->odd_columns) complain(0, "a collect with other columns than the first is not kept");
        c->odd_columns = true;
        return;
    }
    for (size_t i = 0; i < n; i++) buf_printf(&b, "%.17g,", row[i]);
    end_line(c, &b);
}

int run_folder_read(const char *dir, struct run_facts *facts, gpm_draws **out) {
    int status = run_folder_facts(dir, facts);
    if (status != EXIT_FINE) return status;
    gpm_draws *d = gpm_draws_new();
    for (size_t i = 0; i < facts->chains && status == EXIT_FINE; i++) {
        char name[64], path[1200], err[200] = "";
        struct buf text = BUF_INIT, why = BUF_INIT;
        snprintf(name, sizeof name, "chain-%zu.csv", i + 1);
        path_in(dir, name, path, sizeof path);
        if (file_read(path, FILE_OURS, SIZE_MAX / 4, &text, &why) != GPM_OK) {
            status = complain(EXIT_USAGE, "cannot read '%s': %s", path, why.data);
        } else if (text.len == 0) {
            status = complain(EXIT_FAILED,
                              "'%s' holds no draws: the program ran no collect(...) yet", path);
        } else if (gpm_draws_add_csv(d, text.data, text.len, err, sizeof err) != GPM_OK) {
            status = complain(EXIT_USAGE, "%s: %s", path, err);
        }
        buf_release(&text);
        buf_release(&why);
    }
    if (status == EXIT_FINE) {
        explain("'%s' (%s, seed %llu): %zu chains of %zu draws, %zu quantities", dir, facts->state,
                (unsigned long long)facts->seed, gpm_draws_chains(d), gpm_draws_rows(d),
                gpm_draws_columns(d));
        *out = d;
    } else {
        gpm_draws_free(d);
    }
    return status;
}
