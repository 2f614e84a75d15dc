/* SPDX-License-Identifier: Apache-2.0
 *
 * See run_folder.h.
 */
#include "cli/run_folder.h"
#include "base/ascii.h"
#include "base/mem.h"
#include "cli/command.h"
#include "cli/out.h"
#include "cli/run.h"
#include "cli/sha256.h"
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct chain_file {
    gpm_session *session;
    int fd;
    char *old; /* complete lines of an earlier run, to be compared; NULL when all are */
    size_t old_len, old_at;
    size_t n_columns; /* 0: no draw yet */
    bool odd_columns; /* a collect with other columns was left out, and said so */
    bool failed;      /* said why: not the draws or files of the earlier run, or it cannot write */
};

/* The run that this process writes. */
static struct {
    const char *dir;
    struct run_facts facts;
    struct chain_file *chains;
    pthread_mutex_t lock;   /* of the manifest and what follows */
    json_t *files, *before; /* {path: SHA-256} of what was read, now and by an earlier run */
    json_t *moves;          /* of each chain as moves_of gives them; null: not at its end yet */
    int only;               /* DIR/lock: no other process writes here */
} run = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* The path of a file of the folder. */
struct path {
    char text[4200];
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

static bool write_manifest(void) {
    json_t *files = json_array(), *hash;
    const char *path;
    json_object_foreach(run.files, path, hash) {
        json_array_append_new(files, json_pack("{s:s, s:O}", "path", path, "sha256", hash));
    }
    char when[32];
    time_t now = time(NULL);
    struct tm tm;
    gmtime_r(&now, &tm);
    strftime(when, sizeof when, "%Y-%m-%dT%H:%M:%SZ", &tm);
    json_t *m = json_pack("{s:s, s:s, s:I, s:I, s:I, s:s, s:s, s:o}", "gpmem", run.facts.version,
                          "program", run.facts.program, "seed", run.facts.seed, "chains",
                          run.facts.chains, "first_chain", run.facts.first, "state",
                          run.facts.state, "written", when, "files", files);
    return put_json(path_in(run.dir, "manifest.json"), m);
}

/* The texts stay valid until the next call. Gives 0 or an exit status, and says why. */
static int read_facts(const char *dir, struct run_facts *facts) {
    static json_t *m;
    json_error_t why;
    json_decref(m);
    m = get_json(path_in(dir, "manifest.json"), &why);
    if (!m)
        return complain(
            EXIT_USAGE,
            "'%s' holds no run that can be read: %s; `gpmem run --out DIR FILE` makes one", dir,
            why.text);
    *facts = (struct run_facts){.program = "", .state = "", .version = ""};
    if (json_unpack(m, "{s?I, s?I, s:I, s?s, s?s, s?s, s?o}", "seed", &facts->seed, "chains",
                    &facts->chains, "first_chain", &facts->first, "program", &facts->program,
                    "state", &facts->state, "gpmem", &facts->version, "files", &facts->files))
        return complain(EXIT_USAGE,
                        "'%s' is no run of `gpmem run --out`; for a run of `gpmem discover` there "
                        "are query, forecast and report",
                        dir);
    if (facts->chains >= 1 && facts->chains <= INTERRUPT_MAX) return EXIT_FINE;
    return complain(EXIT_USAGE, "the manifest of '%s' names no number of chains", dir);
}

/* ---- beginning ---- */

static bool open_chain(size_t i) {
    struct chain_file *c = &run.chains[i];
    struct path path = chain_path(run.dir, i);
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
    json_array_append_new(run.moves, json_null());
    return st == GPM_OK;
}

static bool begin(void) {
    bool good = true;
    run.chains = mem_zalloc((size_t)run.facts.chains * sizeof *run.chains);
    for (size_t i = 0; good && i < (size_t)run.facts.chains; i++) good = open_chain(i);
    run.facts.state = "running";
    return good && write_manifest();
}

/* The folder, which nobody else writes from here on; false: said why. */
static bool take_folder(const char *dir) {
    if (file_lock(dir, &run.only) != GPM_OK)
        return complain(false, "cannot write to the folder '%s': %s", dir, file_why());
    run.dir = dir;
    run.files = json_object();
    run.before = json_object();
    run.moves = json_array();
    return true;
}

static bool leave_folder(void) {
    file_unlock(run.dir, run.only);
    return false;
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

bool run_folder_create(const char *dir, const char *program, const struct run_facts *facts) {
    if (!may_create(dir, program) || !take_folder(dir)) return false;
    char *full = realpath(program, NULL);
    run.facts = *facts;
    run.facts.program = full ? full : program;
    run.facts.version = gpm_version();
    explain("draws go to '%s'", dir);
    /* again: another process may have been faster */
    if (may_create(dir, program) && copy_program(dir, program) && begin()) return true;
    return leave_folder();
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

bool run_folder_reopen(const char *dir, struct run_facts *facts) {
    if (read_facts(dir, facts) != EXIT_FINE) return false;
    if (strcmp(facts->version, gpm_version()) != 0)
        return complain(false,
                        "the run was made by gpmem %s, this is %s; its draws would not agree",
                        facts->version, gpm_version());
    if (!same_program(dir, facts->program) || !take_folder(dir)) return false;
    run.facts = *facts;
    size_t i;
    json_t *row;
    json_array_foreach(facts->files, i, row) {
        const char *path = json_string_value(json_object_get(row, "path"));
        if (path) json_object_set(run.before, path, json_object_get(row, "sha256"));
    }
    explain("'%s' was %s; its program is run again from seed %llu", dir, facts->state,
            (unsigned long long)facts->seed);
    return begin() || leave_folder();
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
static bool write_diagnostics(void) {
    gpm_draws *d;
    struct run_facts facts;
    if (run_folder_read(run.dir, &facts, &d) != EXIT_FINE) return false;
    json_t *quantities = json_loads(gpm_draws_summary(d, GPM_FORMAT_JSON), 0, NULL);
    struct buf accepted = BUF_INIT, wrong = BUF_INIT;
    tell_moves(run.moves, &accepted, &wrong);
    json_t *all =
        json_pack("{s:o, s:I, s:s+, s:O}", "quantities", quantities ? quantities : json_null(),
                  "draws", (json_int_t)gpm_draws_rows(d), "complaints", gpm_draws_complaints(d),
                  wrong.data, "transitions", run.moves);
    buf_release(&accepted);
    buf_release(&wrong);
    gpm_draws_free(d);
    return put_json(path_in(run.dir, "diagnostics.json"), all);
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

int run_folder_close(int status) {
    bool good = true, collected = true;
    for (size_t i = 0; i < (size_t)run.facts.chains; i++) {
        struct chain_file *c = &run.chains[i];
        c->session = NULL;
        if (file_close(c->fd) != GPM_OK) cannot_write(c);
        good &= !c->failed;
        collected &= c->n_columns > 0;
    }
    if (!good && status == EXIT_FINE) status = EXIT_FAILED;
    run.facts.state = status == EXIT_FINE ? "finished" : "failed";
    bool written = write_manifest();
    if (collected) written &= write_diagnostics();
    leave_folder();
    return written || status != EXIT_FINE ? status : EXIT_FAILED;
}

void run_folder_watch(size_t i, gpm_session *s) {
    run.chains[i].session = s;
}

void run_folder_note(size_t i, gpm_session *s) {
    pthread_mutex_lock(&run.lock);
    json_array_set_new(run.moves, i, moves_of(s));
    pthread_mutex_unlock(&run.lock);
}

void run_folder_moves(const char *dir, struct buf *accepted, struct buf *wrong) {
    json_error_t why;
    json_t *all = get_json(path_in(dir, "diagnostics.json"), &why);
    tell_moves(json_object_get(all, "transitions"), accepted, wrong);
    json_decref(all);
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

/* For gpm_options.file: a file that the chain reads. */
static void note_file(void *chain, const char *path) {
    char *full = realpath(path, NULL); /* the same file by another way is the same file */
    pthread_mutex_lock(&run.lock);
    if (!json_object_get(run.files, full ? full : path)) {
        bool same = add_file(full ? full : path);
        if (!write_manifest() || !same) stop_chain(chain);
    }
    pthread_mutex_unlock(&run.lock);
    free(full);
}

/* ---- draws ---- */

static void put_line(struct chain_file *c, const char *line, size_t len) {
    if (!c->old) {
        if (file_put(c->fd, line, len) != GPM_OK) cannot_write(c);
        return;
    }
    if (len > c->old_len - c->old_at || memcmp(c->old + c->old_at, line, len) != 0) {
        complain(0,
                 "chain %zu did not repeat the draws in '%s': data or files that the program reads "
                 "have changed",
                 number_of(c), run.dir);
        stop_chain(c);
        return;
    }
    c->old_at += len;
    if (c->old_at < c->old_len) return;
    mem_free(c->old);
    c->old = NULL;
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
    if (c->failed || n == 0) return;
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

void run_folder_attach(size_t i, struct gpm_options *o) {
    o->draw = keep_draw;
    o->file = note_file;
    o->draw_user = o->file_user = &run.chains[i];
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
    int status = read_facts(dir, facts);
    if (status != EXIT_FINE) return status;
    gpm_draws *d = *out = gpm_draws_new();
    for (size_t i = 0; i < (size_t)facts->chains && status == EXIT_FINE; i++)
        status = read_chain(chain_path(dir, i), d);
    if (status == EXIT_FINE)
        explain("'%s' (%s, seed %llu): %zu chains of %zu draws, %zu quantities", dir, facts->state,
                (unsigned long long)facts->seed, gpm_draws_chains(d), gpm_draws_rows(d),
                gpm_draws_columns(d));
    else
        gpm_draws_free(d);
    return status;
}
