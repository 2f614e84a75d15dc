/* SPDX-License-Identifier: Apache-2.0
 *
 * Adding series: a list of jobs in a fixed order, done by several threads, written in that order,
 * a transaction each time that the next ones are there. A killed process leaves the first of them;
 * started again, it finds them by name and hash and goes on.
 */
#include "apps/index/index.h"
#include "base/ascii.h"
#include "base/fibres.h"
#include "base/file.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/stop.h"
#include "base/vec.h"
#include "base/version.h"
#include "base/work.h"
#include "apps/discover/every.h"
#include "apps/discover/panel.h"
#include "gp/process/gp.h"
#include <dirent.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

/* What became of a series; made when it is worked on, freed when it is written. */
struct indexed {
    char *hash, *words;
    char *taken; /* of the rows of its steps, in words */
    size_t n;
    struct sketch sketch;
};
struct job {
    char *name, *source;
    struct series *series;                     /* of a file of several; NULL: read by the job */
    char *why;                                 /* it is refused */
    struct indexed *of;                        /* NULL: missing, or already written */
    bool done, unchanged, replaces, elsewhere; /* elsewhere: another process works on it */
    bool meanwhile;                            /* stored by another process meanwhile */
};
struct adding {
    const struct index_options *o;
    VEC(struct job) job;
    struct map names; /* hash of a name -> number of the job + 1 */
    struct catalog *c;
    pthread_mutex_t lock;
    size_t next; /* the first job that is not written */
    struct index_report *report;
    enum gpm_status st; /* of the catalog: ends everything */
    struct buf *err;
};

/* ---- many at once ---- */
enum { TOGETHER = 2048, STACK = 16 << 20 }; /* series under way on a GPU, and what each has */

struct share {
    la_job_fn fn;
    void *ctx;
    size_t job;
    int thread;
};

static void *run_share(void *arg) {
    const struct share *s = arg;
    s->fn(s->ctx, s->job, s->thread);
    return NULL;
}

static void on_fibre(void *ctx, size_t job, int thread) {
    struct share s = *(struct share *)ctx;
    const char *lowest;
    s.job = job;
    s.thread = thread;
    if (!fibres_run(STACK, run_share, &s, &lowest)) run_share(&s);
}

void index_parallel(const struct index_options *o, size_t n, la_job_fn fn, void *ctx) {
    struct share s = {.fn = fn, .ctx = ctx};
    if (gp_device() == GP_ON_CPU)
        la_parallel(search_threads(o->threads), n, fn, ctx);
    else
        la_parallel(TOGETHER, n, on_fibre, &s);
}

/* ---- the jobs ---- */
/* The file's name without folders and ending. */
static char *name_of(const char *path) {
    const char *base = strrchr(path, '/');
    base = base && base[1] ? base + 1 : path;
    size_t n = strcspn(base, "/");
    const char *dot = NULL;
    for (const char *p = base; p < base + n; p++)
        if (*p == '.' && p > base) dot = p;
    char *plain = mem_strndup(base, dot ? (size_t)(dot - base) : n),
         *name = series_clean_name(plain);
    mem_free(plain);
    return name;
}

static struct job *add_job(struct adding *a, char *name, const char *source) {
    struct job j = {.name = name, .source = mem_strdup(source)};
    uint64_t h = hash_key(name, strlen(name), 0);
    size_t other = (size_t)(uintptr_t)map_get(&a->names, h);
    vec_push(&a->job, j);
    struct job *to = &a->job.at[a->job.n - 1];
    if (other && !strcmp(a->job.at[other - 1].name, name)) {
        struct buf why = BUF_INIT;
        buf_printf(&why, "its name is also that of %s", a->job.at[other - 1].source);
        to->why = buf_take(&why);
    } else
        map_put(&a->names, h, (void *)(uintptr_t)a->job.n);
    return to;
}

static void add_panel(struct adding *a, const char *path) {
    struct panel p;
    struct series *series = NULL;
    struct panel_options how = {.by = a->o->by};
    struct buf why = BUF_INIT, name = BUF_INIT;
    enum gpm_status st = panel_read(&p, path, &a->o->series, &how, &series, &why);
    char *base = name_of(path);
    if (st != GPM_OK) {
        struct job *j = add_job(a, mem_strdup(base), path);
        if (!j->why) j->why = mem_strdup(why.data);
    }
    for (size_t i = 0; i < p.n; i++) {
        buf_reset(&name);
        buf_printf(&name, "%s/%s", base, p.at[i].key);
        struct job *j = add_job(a, mem_strdup(name.data), path);
        if (p.at[i].error && !j->why) j->why = mem_strdup(p.at[i].error);
        if (!p.at[i].error) {
            j->series = NEW(struct series);
            *j->series = series[i];
        }
    }
    mem_free(series);
    mem_free(base);
    panel_release(&p);
    buf_release(&why);
    buf_release(&name);
}

static bool is_folder(const char *path) {
    struct stat sb;
    return stat(path, &sb) == 0 && S_ISDIR(sb.st_mode);
}

static int is_csv(const struct dirent *e) {
    size_t n = strlen(e->d_name);
    return n > 4 && !ascii_ncasecmp(e->d_name + n - 4, ".csv", 4) && e->d_name[0] != '.';
}

static int by_name(const struct dirent **a, const struct dirent **b) {
    return strcmp((*a)->d_name, (*b)->d_name);
}

static void add_path(struct adding *a, const char *path);

static void add_folder(struct adding *a, const char *path) {
    struct dirent **found = NULL;
    struct buf name = BUF_INIT;
    int n = scandir(path, &found, is_csv, by_name);
    for (int i = 0; i < n; i++) {
        buf_reset(&name);
        buf_printf(&name, "%s%s%s", path, path[strlen(path) - 1] == '/' ? "" : "/",
                   found[i]->d_name);
        add_path(a, name.data);
        free(found[i]); /* scandir's own */
    }
    free(found);
    if (n <= 0) {
        struct job *j = add_job(a, name_of(path), path);
        if (!j->why)
            j->why = mem_strdup(n < 0 ? "the folder cannot be read"
                                      : "the folder has no files *.csv, and is no kept run");
    }
    buf_release(&name);
}

static void add_path(struct adding *a, const char *path) {
    if (is_folder(path) && !discovery_is_kept(path))
        add_folder(a, path);
    else if (!is_folder(path) && (a->o->by || a->o->wide))
        add_panel(a, path);
    else
        add_job(a, name_of(path), path);
}

/* ---- one of them ---- */
static char *hash_of(const struct series *s, const struct index_options *o) {
    struct buf b = BUF_INIT;
    buf_printf(&b, "%016llx-%llu%s", (unsigned long long)s->hash, (unsigned long long)o->seed,
               o->thorough ? "t" : "");
    if (o->priors && o->priors->n) buf_puts(&b, "p"); /* an index keeps those that it has */
    return buf_take(&b);
}

/* Logarithms are worth a second search where values differ by factors. */
static bool wide_range(const struct series *s) {
    double lo = INFINITY, hi = -INFINITY;
    for (size_t i = 0; i < s->n; i++) lo = fmin(lo, s->y[i]), hi = fmax(hi, s->y[i]);
    return lo > 0 && hi > 3 * lo;
}

/* The components of the most probable structure, as noun phrases, and when they act. */
static char *words_of(const struct discovery *d, const struct sketch *p) {
    struct buf b = BUF_INIT, when = BUF_INIT;
    const struct smodel *m = smodel_of(discovery_top(d));
    double rise = 0;
    for (size_t i = 0; i < p->n_draws; i++) rise += p->draw[i].line;
    for (int k = 0; k < m->n_terms; k++) {
        if (m->term[k].mask == factors_of(KERN_ROLE_TREND)) /* what it says needs a decomposition */
            buf_puts(&b, rise < 0 ? "a linear decrease" : "a linear increase");
        else
            describe_headline(d, k, &b);
        buf_reset(&when);
        describe_when(d, k, &when);
        if (when.len) buf_printf(&b, " (%s)", when.data);
        buf_puts(&b, k + 1 < m->n_terms ? ", " : " and ");
    }
    describe_headline(d, -1, &b);
    buf_release(&when);
    return buf_take(&b);
}

/* Is this very series there already, or another one of its name? If not: are we to work on it? */
static enum gpm_status look_up(struct adding *a, struct job *j, const char *hash_now) {
    struct buf hash = BUF_INIT, source = BUF_INIT;
    bool found = false, ours = true;
    pthread_mutex_lock(&a->lock);
    enum gpm_status st = a->st;
    size_t said = a->err->len;
    if (!st) do {
            buf_reset(&hash);
            buf_reset(&source);
            st = catalog_find(a->c, j->name, &found, &hash, &source, a->err);
        } while (catalog_again(a->c, st, said, a->err));
    j->unchanged = found && !strcmp(hash.data, hash_now);
    j->replaces = found;
    if (!st && found && !j->unchanged && strcmp(source.data, j->source)) {
        struct buf why = BUF_INIT;
        buf_printf(&why, "the index has another series of this name, from %s", source.data);
        j->why = buf_take(&why);
    }
    if (!st && !j->unchanged && !j->why) st = catalog_claim(a->c, j->name, &ours, a->err);
    j->elsewhere = !ours;
    a->st = st;
    pthread_mutex_unlock(&a->lock);
    buf_release(&hash);
    buf_release(&source);
    return st;
}

/* The posterior of a series, which it takes over. */
enum gpm_status index_discover(struct discovery *d, struct series *s, const struct index_options *o,
                               struct buf *why) {
    struct discovery_options how = DISCOVERY_OPTIONS_INIT;
    how.series = o->series;
    how.seed = o->seed;
    how.threads = 1;
    how.precision = o->thorough ? PRECISION_NORMAL : PRECISION_LOW;
    how.stop = o->stop;
    how.shared = o->priors;
    how.logs = wide_range(s) || o->thorough ? LOG_AUTO : LOG_NEVER;
    enum gpm_status st = discovery_start(d, &how, s, why);
    return st == GPM_OK ? discovery_search(d, why) : st;
}

/* A signal ends the wait for a named pipe, too. */
enum gpm_status index_read(struct series *s, const char *path, const struct index_options *o,
                           struct buf *err) {
    struct work_limits limits = {.stop = o->stop}, *before = work_set_limits(&limits);
    enum gpm_status st = series_read(s, path, NULL, 0, &o->series, err);
    work_set_limits(before);
    return st;
}

/* The series of a job, from its file or its list; *kept: a run, loaded into d. */
static enum gpm_status take_series(struct adding *a, struct job *j, struct series *s,
                                   struct discovery *d, bool *kept, struct buf *why) {
    *kept = !j->series && discovery_is_kept(j->source);
    if (*kept) return discovery_load(d, j->source, why);
    if (!j->series) return index_read(s, j->source, a->o, why);
    *s = *j->series;
    mem_free(j->series);
    j->series = NULL;
    return GPM_OK;
}

/* No fault of the series: it is for another time, as those behind it. */
static void end_all(struct adding *a, enum gpm_status st, struct buf *why) {
    pthread_mutex_lock(&a->lock);
    if (!a->st) a->st = buf_fail(a->err, st, "%s", why->data);
    pthread_mutex_unlock(&a->lock);
    buf_release(why);
}

static void work(struct adding *a, struct job *j) {
    struct buf why = BUF_INIT, taken = BUF_INIT;
    struct discovery d;
    struct series s;
    bool kept;
    enum gpm_status st = take_series(a, j, &s, &d, &kept, &why);
    if (st == GPM_OK) {
        struct indexed *o = NEW(struct indexed);
        o->hash = hash_of(kept ? &d.series : &s, a->o);
        bool go = look_up(a, j, o->hash) == GPM_OK && !j->unchanged && !j->why && !j->elsewhere;
        if (go && !kept) st = index_discover(&d, &s, a->o, &why); /* which owns it from now on */
        if (go && st == GPM_OK) {
            o->n = d.series.n;
            st = sketch_make(&o->sketch, &d, SKETCH_DRAWS, &why);
            if (st == GPM_OK) st = sketch_forecast(&o->sketch, &d, &why);
            if (st == GPM_OK) o->words = words_of(&d, &o->sketch);
            every_say(&d.series, &taken);
            o->taken = buf_take(&taken);
        }
        if (j->elsewhere && !kept) { /* it may come back to us */
            j->series = NEW(struct series);
            *j->series = s;
        } else if (go || kept)
            discovery_release(&d);
        else
            series_release(&s);
        j->of = o;
    }
    if (st == GPM_E_INTERRUPT) return buf_release(&why); /* nothing became of it */
    if (st == GPM_E_DEVICE) return end_all(a, st, &why);
    if (st != GPM_OK) j->why = why.len ? buf_take(&why) : mem_strdup(gpm_status_text(st));
    buf_release(&why);
}

enum gpm_status index_sketch(const char *path, const struct index_options *o, struct sketch *out,
                             struct buf *err) {
    struct series s;
    struct discovery d;
    bool kept = discovery_is_kept(path);
    enum gpm_status st = kept ? discovery_load(&d, path, err) : index_read(&s, path, o, err);
    if (st) return st;
    if (!kept) st = index_discover(&d, &s, o, err);
    if (!st) st = sketch_make(out, &d, SKETCH_DRAWS, err);
    discovery_release(&d);
    return st;
}

/* ---- writing ---- */
static uint32_t number(void *ctx, const char *text) {
    struct index_names *n = ctx;
    return catalog_structure(n->c, text, n->err);
}
static const char *text(void *ctx, uint32_t number) {
    return catalog_structure_text(((struct index_names *)ctx)->c, number);
}
struct sketch_names index_names(struct index_names *n) {
    return (struct sketch_names){number, text, n};
}

enum gpm_status index_posting(const struct sketch *p, struct catalog *c, struct buf *out,
                              struct buf *err) {
    for (size_t i = 0; i < p->n_structures; i++) {
        uint32_t id = catalog_structure(c, p->structure[i].text, err);
        if (!id) return GPM_E_IO;
        unsigned share = (unsigned)floor(p->structure[i].p * 65535 + 0.5);
        buf_put_bits(out, id, 4);
        buf_put_bits(out, share, 2);
    }
    return GPM_OK;
}

static enum gpm_status write_series(struct adding *a, const struct job *j) {
    struct index_names who = {a->c, a->err};
    struct sketch_names names = index_names(&who);
    struct buf posting = BUF_INIT, bytes = BUF_INIT, made = BUF_INIT;
    enum gpm_status st = index_posting(&j->of->sketch, a->c, &posting, a->err);
    sketch_write(&j->of->sketch, &names, &bytes);
    buf_printf(&made, "gpmem %s, seed %llu, %s search%s%s", version_text(),
               (unsigned long long)a->o->seed, a->o->thorough ? "thorough" : "brief",
               a->o->priors && a->o->priors->n ? ", learnt priors" : "", j->of->taken);
    struct catalog_row row = {.name = j->name,
                              .source = j->source,
                              .hash = j->of->hash,
                              .words = j->of->words,
                              .made = made.data,
                              .n = (int64_t)j->of->n,
                              .posting = posting.data,
                              .n_posting = posting.len,
                              .sketch = bytes.data,
                              .n_sketch = bytes.len};
    if (!st) st = catalog_put(a->c, &row, a->err);
    buf_release(&posting);
    buf_release(&bytes);
    buf_release(&made);
    return st;
}

/* Another process has stored this series since we claimed it: a claim ends if the server is away
 * for longer than it lasts. */
static enum gpm_status look_again(struct adding *a, struct job *j) {
    struct buf hash = BUF_INIT, source = BUF_INIT;
    bool found = false;
    enum gpm_status st = catalog_find(a->c, j->name, &found, &hash, &source, a->err);
    j->meanwhile = !st && found && !strcmp(hash.data, j->of->hash);
    buf_release(&hash);
    buf_release(&source);
    return st;
}

static enum gpm_status write_job(struct adding *a, struct job *j) {
    enum gpm_status st = GPM_OK;
    if (j->unchanged || j->elsewhere) return GPM_OK;
    if (j->why) {
        struct buf line = BUF_INIT;
        buf_line(&line, j->why);
        st = catalog_refuse(a->c, j->name, j->source, line.data, a->err);
        buf_release(&line);
    } else {
        st = look_again(a, j);
        if (!st && !j->meanwhile) st = write_series(a, j);
    }
    return st ? st : catalog_unclaim(a->c, j->name, a->err);
}

static void free_outcome(struct job *j) {
    if (!j->of) return;
    mem_free(j->of->hash);
    mem_free(j->of->words);
    mem_free(j->of->taken);
    sketch_release(&j->of->sketch);
    mem_free(j->of);
    j->of = NULL;
}

/* It is stored. */
static void count_job(struct adding *a, struct job *j) {
    struct index_report *r = a->report;
    if (j->why) {
        struct buf line = BUF_INIT;
        buf_line(&line, j->why);
        buf_printf(&r->refusals, "%s\t%s\t%s\n", j->name, j->source, line.data);
        buf_release(&line);
        r->refused++;
    } else if (j->unchanged || j->meanwhile)
        r->unchanged++;
    else if (!j->elsewhere)
        ++*(j->replaces ? &r->replaced : &r->added);
    free_outcome(j);
}

/* The jobs [from, to) in one transaction, again where a connection was lost in it; under the lock.
 */
static void write_jobs(struct adding *a, size_t from, size_t to) {
    size_t said = a->err->len;
    enum gpm_status st;
    do {
        st = catalog_begin(a->c, a->err);
        if (st) continue;
        for (size_t i = from; i < to && !st; i++) st = write_job(a, &a->job.at[i]);
        st = catalog_end(a->c, st, a->err);
    } while (catalog_again(a->c, st, said, a->err));
    a->st = st;
    for (size_t i = from; i < to && !st; i++) count_job(a, &a->job.at[i]);
}

/* Everything that is ready, in order; under the lock. */
static void write_ready(struct adding *a) {
    size_t to = a->next;
    while (to < a->job.n && a->job.at[to].done) to++;
    if (a->st || to == a->next) return;
    write_jobs(a, a->next, to);
    a->next = to;
    if (a->o->progress) a->o->progress(a->o->progress_ctx, a->next, a->job.n);
}

/* Did something become of it before we were stopped? */
static bool came_out(const struct job *j) {
    return j->why || j->unchanged || j->elsewhere || (j->of && j->of->words);
}

static void run_job(void *ctx, size_t i, int thread) {
    struct adding *a = ctx;
    struct job *j = &a->job.at[i];
    if (a->st || stop_asked(a->o->stop)) return;
    if (!j->why) work(a, j);
    if (!came_out(j)) return;
    pthread_mutex_lock(&a->lock);
    j->done = true;
    write_ready(a);
    pthread_mutex_unlock(&a->lock);
}

/* ---- while a series takes long ---- */
/* On a server, a thread that says every third of a claim's time that we are still at our series. */
struct heartbeat {
    struct adding *a;
    pthread_t thread;
    pthread_cond_t ended;
    bool beats, end;
};

static void *beat(void *ctx) {
    struct heartbeat *h = ctx;
    double every = catalog_claim_lasts(h->a->c) / 3;
    pthread_mutex_lock(&h->a->lock);
    while (!h->end) {
        struct buf ignored = BUF_INIT; /* a lost connection is reported when next needed */
        clock_cond_wait(&h->ended, &h->a->lock, every);
        if (!h->end && !h->a->st) (void)!catalog_renew(h->a->c, &ignored);
        buf_release(&ignored);
    }
    pthread_mutex_unlock(&h->a->lock);
    return NULL;
}

static void begin_beating(struct heartbeat *h, const char *path) {
    clock_cond_init(&h->ended);
    h->beats = !catalog_is_file(path) && pthread_create(&h->thread, NULL, beat, h) == 0;
}

static void end_beating(struct heartbeat *h) {
    pthread_mutex_lock(&h->a->lock);
    h->end = true;
    pthread_cond_signal(&h->ended);
    pthread_mutex_unlock(&h->a->lock);
    if (h->beats) pthread_join(h->thread, NULL);
    pthread_cond_destroy(&h->ended);
}

/* What others were at when we came by: it is there by now, or comes to us when they are gone. */
static void run_left(struct adding *a) {
    for (size_t left = 1; left && !a->st && !stop_asked(a->o->stop);) {
        size_t moved = left = 0;
        for (size_t i = 0; i < a->job.n && !a->st && !stop_asked(a->o->stop); i++) {
            struct job *j = &a->job.at[i];
            if (!j->elsewhere) continue;
            j->elsewhere = false;
            free_outcome(j);
            work(a, j);
            left += j->elsewhere;
            if (j->elsewhere || !came_out(j)) continue;
            moved++;
            pthread_mutex_lock(&a->lock);
            write_jobs(a, i, i + 1);
            pthread_mutex_unlock(&a->lock);
        }
        pthread_mutex_lock(&a->lock);
        if (left && !moved) catalog_wait(a->c, 1);
        pthread_mutex_unlock(&a->lock);
    }
}

static void release_job(struct job *j) {
    mem_free(j->name);
    mem_free(j->source);
    mem_free(j->why);
    if (j->series) series_release(j->series);
    mem_free(j->series);
    free_outcome(j);
}

/* Of every `shards` jobs, those of one number. */
static void keep_shard(struct adding *a) {
    size_t n = 0, shards = a->o->shards;
    for (size_t i = 0; i < a->job.n && shards > 1; i++)
        if (i % shards == a->o->shard)
            a->job.at[n++] = a->job.at[i];
        else
            release_job(&a->job.at[i]);
    if (shards > 1) a->job.n = n;
}

/* From the files of all jobs, before a shard is chosen: shards learn the same. */
static enum gpm_status take_priors(struct adding *a, struct hyper_priors *out, char **text) {
    const char **source = NEW_ARRAY(const char *, a->job.n + 1);
    size_t n = 0;
    for (size_t i = 0; i < a->job.n; i++)
        if (!a->job.at[i].why && !a->job.at[i].series) source[n++] = a->job.at[i].source;
    enum gpm_status st = index_priors(a->c, a->o, source, n, out, text, a->err);
    mem_free(source);
    return st;
}

enum gpm_status index_add(const char *path, const char *const *files, size_t n,
                          const struct index_options *o, struct index_report *report,
                          struct buf *err) {
    struct adding a = {.o = o, .report = report, .err = err};
    memset(report, 0, sizeof *report);
    buf_init(&report->refusals);
    a.st = catalog_open(&a.c, path, CATALOG_CREATE, err);
    if (a.st) return a.st;
    if (o->claim > 0) catalog_set_claim(a.c, o->claim);
    pthread_mutex_init(&a.lock, NULL);
    struct work_limits limits = {.stop = o->stop}, *before = work_set_limits(&limits);
    for (size_t i = 0; i < n; i++) add_path(&a, files[i]);
    work_set_limits(before);
    struct index_options with = *o;
    struct hyper_priors priors;
    char *kept = NULL;
    a.st = take_priors(&a, &priors, &kept);
    with.priors = priors.n ? &priors : NULL;
    a.o = &with;
    keep_shard(&a);
    struct heartbeat heart = {.a = &a};
    begin_beating(&heart, path);
    index_parallel(o, a.job.n, run_job, &a);
    run_left(&a);
    end_beating(&heart);
    struct catalog_maker maker = index_maker(a.c);
    if (!a.st) a.st = catalog_settle(a.c, &maker, err);
    if (!a.st && stop_asked(o->stop)) a.st = buf_fail(err, GPM_E_INTERRUPT, "stopped");
    for (size_t i = 0; i < a.job.n; i++) release_job(&a.job.at[i]);
    mem_free(kept);
    vec_release(&a.job);
    map_release(&a.names);
    pthread_mutex_destroy(&a.lock);
    catalog_close(a.c);
    return a.st;
}

/* ---- merging ---- */
struct merging {
    struct catalog *from, *to;
    struct index_report *report;
    const char *path;
    struct buf *err;
};

/* A row with the numbers that its structures have in the other index. */
static enum gpm_status merge_row(struct merging *m, const struct catalog_row *r, struct buf *err) {
    struct index_names from = {m->from, err}, to = {m->to, err};
    struct sketch_names read = index_names(&from), write = index_names(&to);
    struct sketch p;
    struct buf posting = BUF_INIT, bytes = BUF_INIT;
    struct catalog_row row = *r;
    if (sketch_read(&p, &read, r->sketch, r->n_sketch) != GPM_OK)
        return index_damaged(r->name, err);
    enum gpm_status st = index_posting(&p, m->to, &posting, err);
    if (!st) st = sketch_renumber(r->sketch, r->n_sketch, &read, &write, &bytes);
    row.posting = posting.data;
    row.n_posting = posting.len;
    row.sketch = bytes.data;
    row.n_sketch = bytes.len;
    if (!st) st = catalog_put(m->to, &row, err);
    sketch_release(&p);
    buf_release(&posting);
    buf_release(&bytes);
    return st;
}

static enum gpm_status merge_one(void *ctx, const struct catalog_row *r, struct buf *err) {
    struct merging *m = ctx;
    struct buf hash = BUF_INIT, source = BUF_INIT;
    bool found;
    enum gpm_status st = catalog_find(m->to, r->name, &found, &hash, &source, err);
    if (!st && found && !strcmp(hash.data, r->hash))
        m->report->unchanged++;
    else if (!st && found) {
        m->report->refused++;
        buf_printf(&m->report->refusals,
                   "%s\t%s\t"
                   "the index has another series of this name, from %s\n",
                   r->name, m->path, source.data);
    } else if (!st) {
        st = merge_row(m, r, err);
        m->report->added += !st;
    }
    buf_release(&hash);
    buf_release(&source);
    return st;
}

static void merge_refused(void *ctx, const char *name, const char *source, const char *why) {
    struct merging *m = ctx;
    int64_t id = 0;
    struct buf ignored = BUF_INIT; /* a failed transaction fails again at its end */
    if (!catalog_number(m->to, name, &id, &ignored) && !id)
        (void)!catalog_refuse(m->to, name, source, why, &ignored);
    buf_release(&ignored);
}

enum gpm_status index_merge(const char *path, const char *const *from, size_t n,
                            struct index_report *report, struct buf *err) {
    struct merging m = {.report = report, .err = err};
    memset(report, 0, sizeof *report);
    buf_init(&report->refusals);
    enum gpm_status st = catalog_open(&m.to, path, CATALOG_CREATE, err);
    if (st) return st;
    for (size_t i = 0; i < n && !st; i++) {
        m.path = from[i];
        st = catalog_open(&m.from, from[i], CATALOG_READ, err);
        if (st) break;
        st = catalog_begin(m.to, err);
        if (!st) st = catalog_each(m.from, 0, merge_one, &m, err);
        if (!st) st = catalog_refused(m.from, merge_refused, &m, err);
        st = catalog_end(m.to, st, err);
        catalog_close(m.from);
    }
    struct catalog_maker maker = index_maker(m.to);
    if (!st) st = catalog_settle(m.to, &maker, err);
    catalog_close(m.to);
    return st;
}

void index_report_release(struct index_report *r) {
    buf_release(&r->refusals);
}
