/* SPDX-License-Identifier: Apache-2.0
 *
 * Adding series: a list of jobs in a fixed order, done by several threads, written in that order,
 * a transaction each time that the next ones are there. A killed process leaves the first of them;
 * started again, it finds them by name and hash and goes on.
 */
#include "index/index.h"
#include "base/ascii.h"
#include "base/file.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/stop.h"
#include "base/vec.h"
#include "base/version.h"
#include "discover/panel.h"
#include "la/parallel.h"
#include <dirent.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

struct job {
    char *name, *source;
    struct series series; /* of a file of several; n 0: read by the job */
    bool read;            /* it was */
    /* the outcome */
    bool done, unchanged, replaces;
    char *why; /* it is refused */
    char *hash, *words;
    size_t n;
    struct sketch sketch;
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
    uint64_t h = hash_bytes(name, strlen(name), 0);
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
        if (!p.at[i].error) j->series = series[i];
        j->read = !p.at[i].error;
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
    return buf_take(&b);
}

/* Logarithms are worth a second search where values differ by factors. */
static bool wide_range(const struct series *s) {
    double lo = INFINITY, hi = -INFINITY;
    for (size_t i = 0; i < s->n; i++) lo = fmin(lo, s->y[i]), hi = fmax(hi, s->y[i]);
    return lo > 0 && hi > 3 * lo;
}

/* The components of the most probable structure, as noun phrases. */
static char *words_of(const struct discovery *d, const struct sketch *p) {
    struct buf b = BUF_INIT;
    const struct smodel *m = smodel_of(discovery_top(d));
    double rise = 0;
    for (size_t i = 0; i < p->n_draws; i++) rise += p->draw[i].line;
    for (int k = 0; k < m->n_terms; k++) {
        if (m->term[k].mask == factors_of(KERN_ROLE_TREND)) /* what it says needs a decomposition */
            buf_puts(&b, rise < 0 ? "a linear decrease" : "a linear increase");
        else
            describe_headline(d, k, &b);
        buf_puts(&b, k + 1 < m->n_terms ? ", " : " and ");
    }
    describe_headline(d, -1, &b);
    return buf_take(&b);
}

/* Is this very series there already, or another one of its name? */
static enum gpm_status look_up(struct adding *a, struct job *j) {
    struct buf hash = BUF_INIT, source = BUF_INIT;
    bool found = false;
    pthread_mutex_lock(&a->lock);
    enum gpm_status st = a->st;
    if (!st) st = catalog_find(a->c, j->name, &found, &hash, &source, a->err);
    a->st = st;
    pthread_mutex_unlock(&a->lock);
    j->unchanged = found && !strcmp(hash.data, j->hash);
    j->replaces = found;
    if (found && !j->unchanged && strcmp(source.data, j->source)) {
        struct buf why = BUF_INIT;
        buf_printf(&why, "the index has another series of this name, from %s", source.data);
        j->why = buf_take(&why);
    }
    buf_release(&hash);
    buf_release(&source);
    return st;
}

/* The posterior of a series, which it takes over. */
static enum gpm_status search_series(struct discovery *d, struct series *s,
                                     const struct index_options *o, struct buf *why) {
    struct discovery_options how = DISCOVERY_OPTIONS_INIT;
    how.series = o->series;
    how.seed = o->seed;
    how.threads = 1;
    how.brief = !o->thorough;
    how.stop = o->stop;
    how.logs = wide_range(s) || o->thorough ? LOG_AUTO : LOG_NEVER;
    enum gpm_status st = discovery_start(d, &how, s, why);
    return st == GPM_OK ? discovery_search(d, why) : st;
}

static void work(struct adding *a, struct job *j) {
    struct buf why = BUF_INIT;
    struct discovery d;
    enum gpm_status st = GPM_OK;
    bool kept = discovery_is_kept(j->source);
    if (kept)
        st = discovery_load(&d, j->source, &why);
    else if (!j->read)
        st = series_read(&j->series, j->source, NULL, 0, &a->o->series, &why);
    j->read = st == GPM_OK && !kept;
    bool loaded = st == GPM_OK && kept;
    if (st == GPM_OK) j->hash = hash_of(kept ? &d.series : &j->series, a->o);
    bool go = st == GPM_OK && look_up(a, j) == GPM_OK && !j->unchanged && !j->why;
    if (go && !kept) {
        j->read = false; /* the discovery owns it now */
        loaded = true;
        st = search_series(&d, &j->series, a->o, &why);
    }
    if (go && st == GPM_OK) {
        j->n = d.series.n;
        st = sketch_make(&j->sketch, &d, SKETCH_DRAWS, &why);
        if (st == GPM_OK) j->words = words_of(&d, &j->sketch);
    }
    if (loaded) discovery_release(&d);
    if (j->read) series_release(&j->series);
    if (st == GPM_E_INTERRUPT) return buf_release(&why); /* nothing became of it */
    if (st != GPM_OK) j->why = why.len ? buf_take(&why) : mem_strdup(gpm_status_text(st));
    buf_release(&why);
}

enum gpm_status index_sketch(const char *path, const struct index_options *o, struct sketch *out,
                             struct buf *err) {
    struct series s;
    struct discovery d;
    bool kept = discovery_is_kept(path);
    enum gpm_status st =
        kept ? discovery_load(&d, path, err) : series_read(&s, path, NULL, 0, &o->series, err);
    if (st) return st;
    if (!kept) st = search_series(&d, &s, o, err);
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
        for (int b = 0; b < 4; b++) buf_putc(out, (char)(id >> (8 * b) & 255));
        for (int b = 0; b < 2; b++) buf_putc(out, (char)(share >> (8 * b) & 255));
    }
    return GPM_OK;
}

static enum gpm_status write_series(struct adding *a, struct job *j) {
    struct index_names who = {a->c, a->err};
    struct sketch_names names = index_names(&who);
    struct buf posting = BUF_INIT, bytes = BUF_INIT, made = BUF_INIT;
    enum gpm_status st = index_posting(&j->sketch, a->c, &posting, a->err);
    sketch_write(&j->sketch, &names, &bytes);
    buf_printf(&made, "gpmem %s, seed %llu, %s search", version_text(),
               (unsigned long long)a->o->seed, a->o->thorough ? "thorough" : "brief");
    struct catalog_row row = {.name = j->name,
                              .source = j->source,
                              .hash = j->hash,
                              .words = j->words,
                              .made = made.data,
                              .n = (int64_t)j->n,
                              .posting = posting.data,
                              .n_posting = posting.len,
                              .sketch = bytes.data,
                              .n_sketch = bytes.len};
    if (!st) st = catalog_put(a->c, &row, a->err);
    a->report->added += !j->replaces;
    a->report->replaced += j->replaces;
    buf_release(&posting);
    buf_release(&bytes);
    buf_release(&made);
    return st;
}

static enum gpm_status write_job(struct adding *a, struct job *j) {
    enum gpm_status st = GPM_OK;
    if (j->why) {
        struct buf line = BUF_INIT;
        buf_line(&line, j->why);
        st = catalog_refuse(a->c, j->name, j->source, line.data, a->err);
        a->report->refused++;
        buf_printf(&a->report->refusals, "%s\t%s\t%s\n", j->name, j->source, line.data);
        buf_release(&line);
    } else if (j->unchanged)
        a->report->unchanged++;
    else
        st = write_series(a, j);
    mem_free(j->hash);
    mem_free(j->words);
    sketch_release(&j->sketch);
    j->hash = j->words = NULL;
    return st;
}

/* Everything that is ready, in order; under the lock. */
static void write_ready(struct adding *a) {
    if (a->st || a->next >= a->job.n || !a->job.at[a->next].done) return;
    a->st = catalog_begin(a->c, a->err);
    if (a->st) return;
    while (!a->st && a->next < a->job.n && a->job.at[a->next].done)
        a->st = write_job(a, &a->job.at[a->next++]);
    a->st = catalog_end(a->c, a->st, a->err);
    if (a->o->progress) a->o->progress(a->o->progress_ctx, a->next, a->job.n);
}

static void run_job(void *ctx, size_t i, int thread) {
    struct adding *a = ctx;
    struct job *j = &a->job.at[i];
    if (a->st || stop_asked(a->o->stop)) return;
    if (!j->why) work(a, j);
    if (stop_asked(a->o->stop)) return;
    pthread_mutex_lock(&a->lock);
    j->done = true;
    write_ready(a);
    pthread_mutex_unlock(&a->lock);
}

static void release_job(struct job *j) {
    mem_free(j->name);
    mem_free(j->source);
    mem_free(j->why);
    mem_free(j->hash);
    mem_free(j->words);
    sketch_release(&j->sketch);
}

enum gpm_status index_add(const char *path, const char *const *files, size_t n,
                          const struct index_options *o, struct index_report *report,
                          struct buf *err) {
    struct adding a = {.o = o, .report = report, .err = err};
    memset(report, 0, sizeof *report);
    buf_init(&report->refusals);
    a.st = catalog_open(&a.c, path, CATALOG_CREATE, err);
    if (a.st) return a.st;
    pthread_mutex_init(&a.lock, NULL);
    for (size_t i = 0; i < n; i++) add_path(&a, files[i]);
    la_parallel(search_threads(o->threads), a.job.n, run_job, &a);
    if (!a.st && stop_asked(o->stop)) a.st = buf_fail(err, GPM_E_INTERRUPT, "stopped");
    if (!a.st) a.st = catalog_begin(a.c, err);
    struct catalog_maker maker = index_maker(a.c);
    if (!a.st) a.st = catalog_end(a.c, catalog_settle(a.c, &maker, err), err);
    for (size_t i = 0; i < a.job.n; i++) release_job(&a.job.at[i]);
    vec_release(&a.job);
    map_release(&a.names);
    pthread_mutex_destroy(&a.lock);
    catalog_close(a.c);
    return a.st;
}

void index_report_release(struct index_report *r) {
    buf_release(&r->refusals);
}
