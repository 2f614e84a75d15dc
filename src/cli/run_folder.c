/* SPDX-License-Identifier: Apache-2.0
 *
 * See run_folder.h.
 */
#include "cli/run_folder.h"
#include "base/ascii.h"
#include "base/mem.h"
#include "cli/command.h"
#include "cli/out.h"
#include "cli/sha256.h"
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
    json_t *moves;    /* as moves_of gives them; NULL: it did not come to its end */
};

struct run_folder {
    char dir[1024];
    struct run_facts facts;
    struct chain_file *chains;
    pthread_mutex_t lock;   /* of the manifest and what follows */
    json_t *files, *before; /* {path: SHA-256} of what was read, now and by an earlier run */
    int only;               /* DIR/lock: no other process writes here */
};

/* The path of a file of the folder. */
struct path {
    char text[1200];
};

static struct path path_in(const char *dir, const char *name) {
    struct path p;
    snprintf(p.text, sizeof p.text, "%s/%s", dir, name);
    return p;
}

static struct path chain_path(const char *dir, size_t i) {
    char name[64];
    snprintf(name, sizeof name, "chain-%zu.csv", i + 1);
    return path_in(dir, name);
}

static bool put_json(struct path path, json_t *all) {
    char *text = json_dumps(all, JSON_INDENT(2));
    bool good = text ? out_part(path.text, FILE_OURS, text, strlen(text))
                     : complain(false, "cannot write '%s': out of memory", path.text);
    free(text);
    json_decref(all);
    return good;
}

/* NULL: `why` says why. */
static json_t *get_json(struct path path, json_error_t *why) {
    struct buf text = BUF_INIT;
    json_t *all = NULL;
    if (file_read(path.text, FILE_OURS, SIZE_MAX / 4, &text) == GPM_OK)
        all = json_loadb(text.data, text.len, 0, why);
    else
        snprintf(why->text, sizeof why->text, "%s", file_why());
    buf_release(&text);
    return all;
}

/* ---- manifest ---- */

static bool write_manifest(const struct run_folder *f) {
    json_t *files = json_array(), *hash;
    const char *path;
    json_object_foreach(f->files, path, hash) {
        json_array_append_new(files, json_pack("{s:s, s:O}", "path", path, "sha256", hash));
    }
    char when[32];
    time_t now = time(NULL);
    struct tm tm;
    gmtime_r(&now, &tm);
    strftime(when, sizeof when, "%Y-%m-%dT%H:%M:%SZ", &tm);
    json_t *m = json_pack("{s:s, s:s, s:I, s:I, s:I, s:s, s:s, s:o}", "gpmem", f->facts.version,
                          "program", f->facts.program, "seed", (json_int_t)f->facts.seed, "chains",
                          (json_int_t)f->facts.chains, "first_chain", (json_int_t)f->facts.first,
                          "state", f->facts.state, "written", when, "files", files);
    return put_json(path_in(f->dir, "manifest.json"), m);
}

static void copy_text(char *to, size_t size, json_t *from) {
    const char *text = json_string_value(from);
    snprintf(to, size, "%s", text ? text : "");
}

static json_t *read_manifest(const char *dir) {
    json_error_t why;
    json_t *m = get_json(path_in(dir, "manifest.json"), &why);
    if (!m) {
        complain(0, "'%s' holds no run that can be read: %s; `gpmem run --out DIR FILE` makes one",
                 dir, why.text);
    } else if (!json_object_get(m, "first_chain")) {
        json_decref(m);
        m = NULL;
        complain(0,
                 "'%s' is no run of `gpmem run --out`; for a run of `gpmem discover` there are "
                 "query, forecast and report",
                 dir);
    }
    return m;
}

int run_folder_facts(const char *dir, struct run_facts *facts) {
    json_t *m = read_manifest(dir);
    if (!m) return EXIT_USAGE;
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
    c->folder = f;
    c->number = i;
    struct path path = chain_path(f->dir, i);
    struct buf old = BUF_INIT;
    enum gpm_status st = GPM_OK;
    if (file_there(path.text)) st = file_read(path.text, FILE_OURS, SIZE_MAX / 4, &old);
    size_t len = old.len;
    while (len > 0 && old.data[len - 1] != '\n') len--; /* a row cut off by a crash */
    if (st == GPM_OK) st = file_begin(path.text, old.data, len, &c->fd);
    if (st != GPM_OK) complain(0, "cannot write '%s': %s", path.text, file_why());
    c->old_len = len;
    c->old = len ? buf_take(&old) : NULL;
    buf_release(&old);
    return st == GPM_OK;
}

static bool open_chains(struct run_folder *f) {
    f->chains = mem_zalloc(f->facts.chains * sizeof *f->chains);
    for (size_t i = 0; i < f->facts.chains; i++) f->chains[i].fd = -1;
    for (size_t i = 0; i < f->facts.chains; i++) {
        if (!open_chain(f, i)) return false;
    }
    snprintf(f->facts.state, sizeof f->facts.state, "running");
    return write_manifest(f);
}

/* The folder, which nobody else writes from here on; NULL: said why. */
static struct run_folder *take_folder(const char *dir) {
    int only;
    if (file_lock(dir, &only) != GPM_OK) {
        complain(0, "cannot write to the folder '%s': %s", dir, file_why());
        return NULL;
    }
    struct run_folder *f = NEW(struct run_folder);
    f->only = only;
    snprintf(f->dir, sizeof f->dir, "%s", dir);
    pthread_mutex_init(&f->lock, NULL);
    f->files = json_object();
    f->before = json_object();
    return f;
}

/* False: draws may be lost, which was said. */
static bool close_chain(struct chain_file *c) {
    int fd = c->fd;
    c->fd = -1;
    if (fd < 0 || file_close(fd) == GPM_OK) return true;
    return complain(false, "cannot write the draws of chain %zu: %s", c->number + 1, file_why());
}

static bool leave_folder(struct run_folder *f) {
    bool good = true;
    for (size_t i = 0; f->chains && i < f->facts.chains; i++) {
        good &= close_chain(&f->chains[i]);
        mem_free(f->chains[i].old);
        json_decref(f->chains[i].moves);
    }
    file_unlock(f->dir, f->only);
    json_decref(f->files);
    json_decref(f->before);
    pthread_mutex_destroy(&f->lock);
    mem_free(f->chains);
    mem_free(f);
    return good;
}

static struct run_folder *begin(struct run_folder *f) {
    if (open_chains(f)) return f;
    (void)leave_folder(f);
    return NULL;
}

static bool copy_program(const char *dir, const char *program) {
    struct buf text = BUF_INIT;
    bool good = read_text(program, &text) == GPM_OK &&
                out_part(path_in(dir, "program.vnts").text, FILE_OURS, text.data, text.len);
    buf_release(&text);
    return good;
}

static bool may_create(const char *dir, const char *program) {
    if (file_there(path_in(dir, "manifest.json").text))
        return complain(
            false,
            "'%s' holds a run already; go on with `gpmem resume %s` or choose another folder", dir,
            dir);
    if (file_there(program) && !file_regular(program))
        return complain(false, "--out needs a program in a file, and '%s' is none", program);
    if (file_folder(dir, FILE_GIVEN) == GPM_OK) return true;
    return complain(false, "cannot make the folder '%s': %s", dir, file_why());
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
    explain("draws go to '%s'", dir);
    if (may_create(dir, program) && copy_program(dir, program)) return begin(f);
    (void)leave_folder(f); /* another process was faster, or there is no program */
    return NULL;
}

/* The program must still be the one the run began with. */
static bool same_program(const char *dir, const char *program) {
    struct path path = path_in(dir, "program.vnts");
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
    size_t i;
    json_t *row;
    json_array_foreach(json_object_get(m, "files"), i, row) {
        const char *path = json_string_value(json_object_get(row, "path"));
        if (path) json_object_set(f->before, path, json_object_get(row, "sha256"));
    }
    json_decref(m);
    explain("'%s' was %s; its program is run again from seed %llu", dir, facts->state,
            (unsigned long long)facts->seed);
    return begin(f);
}

/* ---- what the operators of a run did, for each chain ---- */

static void keep_scope(void *user, const char *scope, uint64_t proposed, uint64_t accepted) {
    json_object_set_new(user, scope,
                        json_pack("{s:I, s:I}", "proposed", (json_int_t)proposed, "accepted",
                                  (json_int_t)accepted));
}

/* {"scopes": {"default": {"proposed": 10, "accepted": 4}, ...}, "divergences": 0, "complaints":
 * ""}, the caller's. */
static json_t *moves_of(gpm_session *s) {
    json_t *scopes = json_object();
    uint64_t divergences = gpm_acceptance(s, keep_scope, scopes);
    return json_pack("{s:o, s:I, s:s}", "scopes", scopes, "divergences", (json_int_t)divergences,
                     "complaints", gpm_trajectory_complaints(s));
}

/* Over all chains. */
static double count(const json_t *chains, const char *scope, const char *what) {
    double sum = 0;
    for (size_t i = 0; i < json_array_size(chains); i++) {
        json_int_t n = 0;
        json_unpack(json_array_get(chains, i), "{s:{s:{s:I}}}", "scopes", scope, what, &n);
        sum += (double)n;
    }
    return sum;
}

static void add_lines(struct buf *b, size_t chain, const char *lines) {
    for (size_t n; *lines; lines += n + (lines[n] == '\n')) {
        n = strcspn(lines, "\n");
        if (n) buf_printf(b, "chain %zu: %.*s\n", chain + 1, (int)n, lines);
    }
}

/* Adds "proposals accepted: default 40%, h 71%\n" over all chains, or nothing; and what is wrong:
 * lines about trajectories and about scopes that hardly move. */
static void tell_moves(const json_t *chains, struct buf *accepted, struct buf *wrong) {
    /* chains run the same program, but one may have come to a scope that another has not */
    json_t *scopes = json_object(), *unused;
    const char *scope;
    for (size_t i = 0; i < json_array_size(chains); i++) {
        json_t *chain = json_array_get(chains, i);
        const char *said = "";
        json_object_update_missing(scopes, json_object_get(chain, "scopes"));
        json_unpack(chain, "{s:s}", "complaints", &said);
        add_lines(wrong, i, said);
    }
    json_object_foreach(scopes, scope, unused) {
        double proposed = count(chains, scope, "proposed");
        double share = count(chains, scope, "accepted") / proposed;
        if (proposed <= 0) continue;
        buf_printf(accepted, "%s%s %.0f%%", accepted->len ? ", " : "proposals accepted: ", scope,
                   100 * share);
        if (proposed < 100 || share >= 0.05) continue;
        /* chains that hardly move need other operators rather than more draws */
        buf_printf(wrong,
                   "%s: %.2g%% of the proposals were accepted; try another operator: slice, "
                   "nuts or laplace_mh on continuous choices, gibbs on discrete ones, "
                   "particle Gibbs (pgibbs) on a series, or one choice at a time (one instead "
                   "of all)\n",
                   scope, 100 * share);
    }
    if (accepted->len) buf_putc(accepted, '\n');
    json_decref(scopes);
}

/* Summary and complaints of every quantity, for those who read the folder without this tool. */
static bool write_diagnostics(const struct run_folder *f) {
    gpm_draws *d;
    struct run_facts facts;
    json_t *all_moves = json_array();
    for (size_t i = 0; i < f->facts.chains; i++) {
        if (f->chains[i].n_columns == 0) { /* nothing was collected */
            json_decref(all_moves);
            return true;
        }
        json_t *m = f->chains[i].moves;
        json_array_append_new(all_moves, m ? json_incref(m) : json_null());
    }
    if (run_folder_read(f->dir, &facts, &d) != EXIT_FINE) return false;
    json_t *quantities = json_loads(gpm_draws_summary(d, GPM_FORMAT_JSON), 0, NULL);
    struct buf accepted = BUF_INIT, wrong = BUF_INIT;
    tell_moves(all_moves, &accepted, &wrong);
    json_t *all =
        json_pack("{s:o, s:I, s:s+, s:o}", "quantities", quantities ? quantities : json_null(),
                  "draws", (json_int_t)gpm_draws_rows(d), "complaints", gpm_draws_complaints(d),
                  wrong.data, "transitions", all_moves);
    buf_release(&accepted);
    buf_release(&wrong);
    gpm_draws_free(d);
    return put_json(path_in(f->dir, "diagnostics.json"), all);
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

void run_folder_watch(struct run_folder *f, size_t i, gpm_session *s) {
    f->chains[i].session = s;
}

void run_folder_note(struct run_folder *f, size_t i, gpm_session *s) {
    f->chains[i].moves = moves_of(s);
}

void run_folder_moves(const char *dir, struct buf *accepted, struct buf *wrong) {
    json_error_t why;
    json_t *all = get_json(path_in(dir, "diagnostics.json"), &why);
    tell_moves(json_object_get(all, "transitions"), accepted, wrong);
    json_decref(all);
}

static void stop_chain(struct chain_file *c) {
    if (c->session) gpm_interrupt(c->session);
}

/* A file that is not in the list yet comes there with its hash; false: it is not the one that the
 * earlier run read, which is said. */
static bool add_file(struct run_folder *f, const char *path) {
    char hash[65];
    struct buf text = BUF_INIT;
    /* a pipe gives its text once, and that is the program's */
    bool read = file_regular(path) && file_read(path, FILE_GIVEN, FILE_TEXT_MAX, &text) == GPM_OK;
    if (read) sha256_hex(text.data, text.len, hash);
    buf_release(&text);
    if (!read) return true; /* the program will say so itself */
    json_object_set_new(f->files, path, json_string(hash));
    const char *was = json_string_value(json_object_get(f->before, path));
    if (!was || strcmp(was, hash) == 0) return true;
    return complain(false, "'%s' has changed since the run began; put it back or start a new run",
                    path);
}

/* For gpm_options.file: a file that the chain reads. */
static void note_file(void *chain, const char *path) {
    struct chain_file *c = chain;
    struct run_folder *f = c->folder;
    char *full = realpath(path, NULL); /* the same file by another way is the same file */
    pthread_mutex_lock(&f->lock);
    if (!json_object_get(f->files, full ? full : path)) {
        c->other_file |= !add_file(f, full ? full : path);
        if (c->other_file) stop_chain(c);
        c->broken |= !write_manifest(f);
    }
    pthread_mutex_unlock(&f->lock);
    free(full);
}

/* ---- draws ---- */

static void put_line(struct chain_file *c, const char *line, size_t len) {
    if (c->old) {
        if (len > c->old_len - c->old_at || memcmp(c->old + c->old_at, line, len) != 0) {
            c->differs = true;
            stop_chain(c);
            return;
        }
        c->old_at += len;
        if (c->old_at == c->old_len) {
            mem_free(c->old);
            c->old = NULL;
        }
    } else if (!c->broken && file_put(c->fd, line, len) != GPM_OK) {
        c->broken = true;
        complain(0, "cannot write the draws of chain %zu: %s", c->number + 1, file_why());
        stop_chain(c);
    }
}

/* Stan's spelling of names: a[1,2] is a.1.2, what CSV cannot hold becomes _. */
static void put_name(const char *name, struct buf *b) {
    for (; *name; name++) {
        bool plain = ascii_name(*name) || *name == '.';
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

/* For gpm_options.draw: a row that the chain collects. */
static void keep_draw(void *chain, const char *const *names, const double *row, size_t n) {
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

void run_folder_attach(struct run_folder *f, size_t i, struct gpm_options *o) {
    o->draw = keep_draw;
    o->file = note_file;
    o->draw_user = o->file_user = &f->chains[i];
}

static int read_chain(struct path path, gpm_draws *d) {
    struct buf text = BUF_INIT;
    char err[200] = "";
    int status = EXIT_FINE;
    if (file_read(path.text, FILE_OURS, SIZE_MAX / 4, &text) != GPM_OK)
        status = complain(EXIT_USAGE, "cannot read '%s': %s", path.text, file_why());
    else if (text.len == 0)
        status = complain(EXIT_FAILED, "'%s' holds no draws: the program ran no collect(...) yet",
                          path.text);
    else if (gpm_draws_add_csv(d, text.data, text.len, err, sizeof err) != GPM_OK)
        status = complain(EXIT_USAGE, "%s: %s", path.text, err);
    buf_release(&text);
    return status;
}

int run_folder_read(const char *dir, struct run_facts *facts, gpm_draws **out) {
    int status = run_folder_facts(dir, facts);
    if (status != EXIT_FINE) return status;
    gpm_draws *d = *out = gpm_draws_new();
    for (size_t i = 0; i < facts->chains && status == EXIT_FINE; i++)
        status = read_chain(chain_path(dir, i), d);
    if (status == EXIT_FINE)
        explain("'%s' (%s, seed %llu): %zu chains of %zu draws, %zu quantities", dir, facts->state,
                (unsigned long long)facts->seed, gpm_draws_chains(d), gpm_draws_rows(d),
                gpm_draws_columns(d));
    else
        gpm_draws_free(d);
    return status;
}
