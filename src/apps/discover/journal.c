/* SPDX-License-Identifier: Apache-2.0
 *
 * See journal.h. A record: the code of what follows; size, step, job, key; the bytes. The head is
 * the record of step 0, under the user's key (base/own.h); those of jobs are under a key made of
 * the head and the user's, which stands nowhere: they are good for their head alone.
 */
#include "apps/discover/journal.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/sha256.h"
#include "base/stop.h"
#include "base/version.h"
#include "base/work.h"
#include <pthread.h>
#include <string.h>

#define SYNC_SECONDS 10 /* what a machine that loses its power may forget */

struct journal_record {
    char code[OWN_CODE + 7];       /* and zeros: no byte of a record is left to chance */
    uint64_t size, step, job, key; /* from here on what the code is of */
};
enum { CODED = offsetof(struct journal_record, size) };
_Static_assert(CODED == OWN_CODE + 7, "a record without holes");

struct journal {
    char *dir, *path;
    int fd, lock;
    bool writing; /* false after a failure: what is there stays good */
    bool hurry;   /* a step was begun in one: so are all that follow */
    bool spared;  /* it holds results that were not asked for, for that */
    char jobs_key[OWN_CODE];
    const volatile sig_atomic_t *finish;
    struct buf file; /* as it was read */
    size_t at, end;  /* of it: the next record, the end of the last good one */
    uint64_t step;
    double synced;
    pthread_mutex_t one; /* for writers */
};

static char *path_in(const char *dir) {
    struct buf path = BUF_INIT;
    buf_printf(&path, "%s/" JOURNAL_NAME, dir);
    return buf_take(&path);
}

/* What did not reach the file is computed again. A journal that could not be opened has no file. */
static void close_file(struct journal *j) {
    int fd = j->fd;
    j->fd = -1;
    if (fd < 0 || file_close(fd) != GPM_OK) return;
}

/* The record at `at` in the file, by any author; false: incomplete. */
static bool record_at(const struct buf *file, size_t at, struct journal_record *r,
                      const char **data) {
    if (file->len < at || file->len - at < sizeof *r) return false;
    memcpy(r, file->data + at, sizeof *r);
    *data = file->data + at + sizeof *r;
    return r->size <= file->len - at - sizeof *r;
}

/* The code of a record as it stands in the file; NULL key: that of a head. */
static bool code_of(const char *record, size_t size, const char *jobs_key, char code[OWN_CODE]) {
    const char *data = record + CODED;
    size_t n = sizeof(struct journal_record) - CODED + size;
    if (!jobs_key) return own_code(data, n, code);
    hmac_sha256_hex(jobs_key, OWN_CODE - 1, data, n, code);
    return true;
}

/* That at `at`, where we wrote it. */
static bool own_record_at(const struct buf *file, size_t at, const char *jobs_key,
                          struct journal_record *r, const char **data) {
    char code[OWN_CODE];
    return record_at(file, at, r, data) && code_of(file->data + at, r->size, jobs_key, code) &&
           !memcmp(code, r->code, OWN_CODE);
}

/* ---- the head ---- */
/* Counts the ways in which what was computed is written (evidence_pack and others); another way is
 * another version, also of builds with the same name. */
enum { JOURNAL_FORMAT = 3 };

static void head_pack(struct pack *p, struct buf *head) {
    size_t n = head->len;
    char *by = (char *)(uintptr_t)version_text();
    uint32_t format = JOURNAL_FORMAT;
    pack_u32(p, &format);
    pack_text(p, &by);
    bool same = by && !strcmp(by, version_text());
    if (p->reading && (format != JOURNAL_FORMAT || !same))
        pack_fail(p, "its search was begun by another %s (%s)", same ? "build" : "version",
                  by ? by : "unknown");
    if (p->reading) mem_free(by);
    pack_count(p, &n, 1);
    if (p->reading)
        buf_add(head, p->at, n);
    else
        pack_raw(p, head->data, n);
}

static bool head_of(const struct buf *file, struct buf *head, struct buf *why) {
    struct journal_record r;
    const char *data;
    struct pack p;
    if (!own_record_at(file, 0, NULL, &r, &data) || r.step || r.job) {
        buf_puts(why, JOURNAL_NAME " is damaged, or another user or machine wrote it");
        return false;
    }
    pack_begin_read(&p, data, r.size);
    head_pack(&p, head);
    bool good = pack_ok(&p);
    if (!good) buf_puts(why, p.why.data);
    pack_release(&p);
    return good;
}

/* A limit for foreign input, such as a pipe, does not apply to our own file: a journal that seems
 * missing would be started again. */
static enum gpm_status read_whole(const char *path, struct buf *out) {
    struct work_limits *before = work_set_limits(NULL);
    enum gpm_status st = file_read(path, FILE_OURS, SIZE_MAX / 4, out);
    work_set_limits(before);
    return st;
}

bool journal_head(const char *dir, struct buf *head, struct buf *why) {
    struct buf file = BUF_INIT;
    char *path = path_in(dir);
    bool good = file_there(path);
    if (good && read_whole(path, &file) != GPM_OK) {
        buf_puts(why, file_why());
        good = false;
    }
    good = good && head_of(&file, head, why);
    buf_release(&file);
    mem_free(path);
    return good;
}

bool journal_there(const char *dir) {
    char *path = path_in(dir);
    bool there = file_there(path);
    mem_free(path);
    return there;
}

void journal_remove(const char *dir) {
    char *path = path_in(dir);
    file_remove(path);
    mem_free(path);
}

/* ---- opening ---- */
/* The end of the last record that is whole and ours; 0: the file is not of this search. */
static size_t good_part(const struct journal *j, const struct buf *head) {
    struct buf there = BUF_INIT, why = BUF_INIT;
    struct journal_record r;
    const char *data;
    size_t at = 0;
    bool same = head_of(&j->file, &there, &why) && there.len == head->len &&
                !memcmp(there.data, head->data, head->len) && record_at(&j->file, 0, &r, &data);
    if (same) at = sizeof r + r.size;
    while (same && own_record_at(&j->file, at, j->jobs_key, &r, &data)) at += sizeof r + r.size;
    buf_release(&there);
    buf_release(&why);
    return at;
}

static enum gpm_status put_record(int fd, struct journal_record r, const struct pack *p,
                                  const char *jobs_key) {
    struct buf out = BUF_INIT;
    r.size = p->out.len;
    buf_add(&out, &r, sizeof r);
    buf_add(&out, p->out.data, p->out.len);
    enum gpm_status st = code_of(out.data, r.size, jobs_key, out.data) ? GPM_OK : GPM_E_ARG;
    if (st == GPM_OK) st = file_put(fd, out.data, out.len); /* at once: others read whole records */
    buf_release(&out);
    return st;
}

static enum gpm_status begin(struct journal *j, const struct buf *head) {
    struct pack p;
    enum gpm_status st = file_begin(j->path, "", 0, &j->fd);
    if (st != GPM_OK) return st;
    pack_begin_write(&p);
    head_pack(&p, (struct buf *)(uintptr_t)head);
    st = put_record(j->fd, (struct journal_record){0}, &p, NULL);
    if (st != GPM_OK) close_file(j);
    pack_release(&p);
    return st;
}

/* The key of the jobs' records: of the head and what the file's codes do not say. */
static bool make_jobs_key(struct journal *j, const struct buf *head) {
    struct buf text = BUF_INIT;
    buf_puts(&text, "jobs of ");
    buf_add(&text, head->data, head->len);
    bool made = own_code(text.data, text.len, j->jobs_key);
    buf_release(&text);
    return made;
}

/* Past the head, to the first record of a job. */
static void skip_head(struct journal *j) {
    struct journal_record r;
    const char *data;
    if (record_at(&j->file, 0, &r, &data)) j->at = sizeof r + r.size;
}

/* What stands after its first n bytes goes. */
static enum gpm_status go_on(struct journal *j, size_t n) {
    enum gpm_status st = file_go_on(j->path, &j->fd);
    return st == GPM_OK ? file_cut(j->fd, n) : st;
}

static enum gpm_status open_file(struct journal *j, const struct buf *head) {
    if (!make_jobs_key(j, head)) return GPM_OK; /* without a key it could not be verified */
    if (file_there(j->path) && read_whole(j->path, &j->file) == GPM_OK) j->end = good_part(j, head);
    skip_head(j);
    enum gpm_status st = j->end ? go_on(j, j->end) : begin(j, head);
    j->writing = st == GPM_OK;
    return st;
}

enum gpm_status journal_open(struct journal **out, const char *dir, const struct buf *head,
                             const volatile sig_atomic_t *finish, struct buf *err) {
    struct journal *j = NEW(struct journal);
    *j = (struct journal){.dir = mem_strdup(dir),
                          .path = path_in(dir),
                          .fd = -1,
                          .finish = finish,
                          .file = BUF_INIT,
                          .synced = clock_seconds()};
    pthread_mutex_init(&j->one, NULL);
    enum gpm_status st = file_folder(dir, FILE_GIVEN);
    bool made = st == GPM_OK, locked = made && (st = file_lock(dir, &j->lock)) == GPM_OK;
    if (locked) st = open_file(j, head);
    if (st != GPM_OK) {
        buf_printf(err, "cannot %s '%s': %s", !made ? "make the folder" : "write to the folder",
                   dir, file_why());
        if (locked) file_unlock(dir, j->lock);
        j->dir[0] = 0;
        journal_close(j);
        return st;
    }
    *out = j;
    return GPM_OK;
}

void journal_close(struct journal *j) {
    if (!j) return;
    if (j->dir[0]) {
        close_file(j);
        file_unlock(j->dir, j->lock);
    }
    pthread_mutex_destroy(&j->one);
    buf_release(&j->file);
    mem_free(j->dir);
    mem_free(j->path);
    mem_free(j);
}

enum gpm_status journal_gone_through(const struct journal *j, enum gpm_status st, struct buf *err) {
    if (st != GPM_OK || !j || stop_asked(j->finish)) return st;
    if (!j->spared && j->at >= j->end) return GPM_OK;
    return buf_fail(err, GPM_E_INTERRUPT,
                    "the time was over before the search in '%s' had come to where it was ended; "
                    "what it had found stays",
                    j->dir);
}

/* ---- steps ---- */
struct work {
    struct journal *j;
    const struct journal_step *s;
    void *ctx;
    size_t *known; /* start of each job's record; 0: missing */
};

/* Results of a hurried search are not final. */
static bool hurried(const struct work *w) {
    return w->j->hurry || stop_asked(w->j->finish) || (w->s->late && w->s->late(w->ctx));
}

/* The step is another one than that of the journal, which ends here. Where the hurry made it
 * another one, the journal stays as it is for a run with more time: nothing is read or written any
 * more. */
static void cut(const struct work *w, size_t from) {
    struct journal *j = w->j;
    if (hurried(w)) {
        j->writing = false;
        j->spared = true;
        j->at = j->end;
        return;
    }
    close_file(j);
    j->writing &= go_on(j, from) == GPM_OK;
    j->end = j->at = from;
}

/* The records of this step. */
static void look_up(struct work *w, size_t n) {
    struct journal *j = w->j;
    struct journal_record r;
    const char *data;
    size_t from = j->at;
    uint64_t name = hash_bytes(w->s->name, strlen(w->s->name), n);
    bool same = true;
    while (same && j->at < j->end && record_at(&j->file, j->at, &r, &data) && r.step == j->step) {
        same = r.job < n && r.key == (w->s->key(w->ctx, r.job) ^ name);
        if (same) w->known[r.job] = j->at;
        j->at += sizeof r + r.size;
    }
    if (same) return;
    memset(w->known, 0, n * sizeof *w->known);
    cut(w, from);
}

/* The result of the job, from the journal. */
static bool recall(const struct work *w, size_t job) {
    struct journal_record r;
    const char *data;
    struct pack p;
    if (!w->known[job] || !record_at(&w->j->file, w->known[job], &r, &data)) return false;
    pack_begin_read(&p, data, r.size);
    w->s->pack(&p, w->ctx, job);
    bool good = pack_ok(&p);
    pack_release(&p);
    return good;
}

static void note(const struct work *w, size_t n, size_t job) {
    struct journal *j = w->j;
    struct pack p;
    if (hurried(w)) return;
    pack_begin_write(&p);
    w->s->pack(&p, w->ctx, job);
    struct journal_record r = {.step = j->step,
                               .job = job,
                               .key = w->s->key(w->ctx, job) ^
                                      hash_bytes(w->s->name, strlen(w->s->name), n)};
    pthread_mutex_lock(&j->one);
    if (j->writing) j->writing = put_record(j->fd, r, &p, j->jobs_key) == GPM_OK;
    if (j->writing && clock_seconds() > j->synced + SYNC_SECONDS) {
        j->writing = file_sync(j->fd) == GPM_OK;
        j->synced = clock_seconds();
    }
    pthread_mutex_unlock(&j->one);
    pack_release(&p);
}

struct job_of {
    struct work *w;
    size_t n;
};

static void run_job(void *ctx, size_t job, int thread) {
    const struct job_of *x = ctx;
    struct work *w = x->w;
    if (recall(w, job)) return;
    w->s->run(w->ctx, job, thread);
    note(w, x->n, job);
}

void journal_step(struct journal *j, int threads, size_t n, const struct journal_step *s,
                  void *ctx) {
    if (!j) {
        la_parallel(threads, n, s->run, ctx);
        return;
    }
    struct work w = {j, s, ctx, mem_zalloc((n + 1) * sizeof *w.known)};
    struct job_of x = {&w, n};
    j->step++;
    j->hurry = hurried(&w);
    look_up(&w, n);
    la_parallel(threads, n, run_job, &x);
    mem_free(w.known);
}
