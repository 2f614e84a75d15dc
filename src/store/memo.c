/* SPDX-License-Identifier: Apache-2.0
 * Rows of the memo table: claim, finish, fail, list. Every change is one transaction that takes
 * the write lock first (BEGIN IMMEDIATE), so what it read is still true when it writes. */
#include "store/memo.h"
#include "base/mem.h"
#include "store/memo_priv.h"

#include <limits.h>
#include <math.h>
#include <string.h>

const char *memo_status_name(enum memo_status s) {
    static const char *const names[] = {"absent", "claimed", "done", "failed", "asked"};
    return names[s];
}

enum gpm_status memo_begin(struct memo *m, struct buf *err) {
    if (m->depth == 0) {
        enum gpm_status s = memo_exec(m, "BEGIN IMMEDIATE", "lock it", err);
        if (s) return s;
    }
    m->depth++;
    return GPM_OK;
}

enum gpm_status memo_commit(struct memo *m, struct buf *err) {
    if (m->depth > 1) {
        m->depth--;
        return GPM_OK;
    }
    enum gpm_status s = memo_exec(m, "COMMIT", "store the result", err);
    if (!s) m->depth = 0;
    return s;
}

void memo_rollback(struct memo *m) {
    if (m->depth == 0) return;
    m->depth = 0;
    if (!sqlite3_get_autocommit(m->db)) sqlite3_exec(m->db, "ROLLBACK", NULL, NULL, NULL);
}

/* Results must reach the disk before they are used; claims need not (a lost claim is offered
 * again). Only possible outside a transaction. */
static enum gpm_status set_durable(struct memo *m, bool on, struct buf *err) {
    if (m->depth || m->durable == on) return GPM_OK;
    m->durable = on;
    return memo_exec(m, on ? "PRAGMA synchronous=FULL" : "PRAGMA synchronous=NORMAL", "set it up",
                     err);
}

/* Runs body inside begin/commit; rolls back on failure. */
typedef enum gpm_status step_fn(struct memo *m, void *arg, struct buf *err);
static enum gpm_status transaction(struct memo *m, bool durable, step_fn *body, void *arg,
                                   struct buf *err) {
    enum gpm_status s = set_durable(m, durable, err);
    if (!s) s = memo_begin(m, err);
    if (s) return s;
    s = body(m, arg, err);
    if (!s) s = memo_commit(m, err);
    if (s) memo_rollback(m);
    return s;
}

static enum gpm_status check_x(struct memo *m, const double *x, struct buf *err) {
    for (int j = 0; j < m->dim; j++)
        if (!isfinite(x[j])) {
            buf_printf(err, "memo table '%s': input %d is not a finite number", m->path, j + 1);
            return GPM_E_ARG;
        }
    return GPM_OK;
}

/* ---- finding ---- */

struct found {
    int64_t id;
    enum memo_status status;
    double y, expires;
    long pid;
    long long pid_start;
    char *error, *host; /* owned */
};

static void found_release(struct found *f) {
    mem_free(f->error);
    mem_free(f->host);
}

/* The columns expires, pid, pid_start, host, from `at` on. */
static void read_owner(struct memo_cells *c, int at, struct found *f) {
    static const char fault[] = "has an owner that is none";
    f->expires = cell_number(c, at, 0, fault);
    f->pid = (long)cell_int(c, at + 1, 0, LONG_MAX, fault);
    f->pid_start = cell_int(c, at + 2, INT64_MIN, INT64_MAX, fault);
    f->host = mem_strdup(cell_text(c, at + 3, fault));
}

/* The row to answer with: a done one if there is any, else the first. */
static enum gpm_status find(struct memo *m, const double *x, struct found *f, struct buf *err) {
    static const char sql[] =
        "SELECT id, status, y, expires, pid, pid_start, host, error FROM point WHERE key=? "
        "ORDER BY status=2 DESC, rep LIMIT 1";
    sqlite3_stmt *st = NULL;
    *f = (struct found){.status = MEMO_ABSENT, .y = NAN};
    enum gpm_status s = memo_prepare(m, sql, &st, "read it", err);
    if (s) return s;
    memo_key(m->key, x, m->dim);
    sqlite3_bind_blob(st, 1, m->key, 8 * m->dim, SQLITE_STATIC);
    bool row;
    s = memo_next(m, st, &row, err);
    struct memo_cells c = {.st = st};
    if (!s && row) {
        f->id = cell_int(&c, 0, INT64_MIN, INT64_MAX, "has no number");
        f->status =
            (enum memo_status)cell_int(&c, 1, MEMO_CLAIMED, MEMO_ASKED, "has no such state");
        f->y = cell_number(&c, 2, NAN, "has no finite value");
        read_owner(&c, 3, f);
        f->error = mem_strdup(cell_text(&c, 7, "has a text that is none"));
        if (!c.wrong && f->status == MEMO_DONE && isnan(f->y)) c.wrong = "has no finite value";
        if (c.wrong) s = memo_damaged(m, f->id, c.wrong, err);
        if (s) found_release(f);
    }
    sqlite3_finalize(st);
    return s;
}

enum gpm_status memo_lookup(struct memo *m, const double *x, enum memo_status *status, double *y,
                            struct buf *err) {
    struct found f;
    enum gpm_status s = check_x(m, x, err);
    if (!s) s = find(m, x, &f, err);
    if (s) return s;
    *status = f.status;
    if (f.status == MEMO_DONE) *y = f.y;
    found_release(&f);
    return GPM_OK;
}

/* A claim is void when it was abandoned, when its owner was a process of this machine that is gone
 * (or another process has its number now), or when its time is over. A process of this machine that
 * still lives is at a long evaluation: it has a day more. */
static bool claim_is_void(const struct memo *m, const struct found *f) {
    double over = f->expires ? memo_now() - f->expires : -INFINITY;
    if (f->expires && f->expires <= 1) return true;
    bool known = strcmp(f->host, m->host) == 0 && f->pid_start;
    if (!known || (f->pid == m->pid && f->pid_start == m->pid_start)) return over > 0;
    long long start = memo_pid_start(f->pid);
    if (start == -1 || (start && start != f->pid_start)) return true;
    return over > (start ? 86400 : 0);
}

/* ---- claiming ---- */

static void bind_owner(struct memo *m, sqlite3_stmt *st, int at) {
    double now = memo_now();
    sqlite3_bind_double(st, at, now);
    sqlite3_bind_double(st, at + 1, now + m->claim_seconds);
    sqlite3_bind_text(st, at + 2, m->host, -1, SQLITE_STATIC);
    sqlite3_bind_int64(st, at + 3, m->pid);
    sqlite3_bind_int64(st, at + 4, m->pid_start);
}

static enum gpm_status insert_row(struct memo *m, const double *x, int status, const char *tag,
                                  int64_t *id, struct buf *err) {
    static const char sql[] =
        "INSERT INTO point(started, expires, host, pid, pid_start, key, x, status, tag, rep, "
        "attempts) VALUES(?1,?2,?3,?4,?5,?6,?7,?8,?9,"
        "(SELECT coalesce(max(rep)+1, 0) FROM point WHERE key=?6), 1)";
    sqlite3_stmt *st = NULL;
    enum gpm_status s = memo_prepare(m, sql, &st, "add a row", err);
    if (s) return s;
    struct buf text = BUF_INIT;
    for (int j = 0; j < m->dim; j++) {
        if (j) buf_putc(&text, ' ');
        buf_number(&text, x[j]);
    }
    memo_key(m->key, x, m->dim);
    bind_owner(m, st, 1);
    if (status == MEMO_ASKED) sqlite3_bind_null(st, 2);
    sqlite3_bind_blob(st, 6, m->key, 8 * m->dim, SQLITE_STATIC);
    sqlite3_bind_text(st, 7, text.data, -1, SQLITE_STATIC);
    sqlite3_bind_int(st, 8, status);
    sqlite3_bind_text(st, 9, tag ? tag : "", -1, SQLITE_STATIC);
    s = memo_step_done(m, st, "add a row", err);
    if (!s) *id = sqlite3_last_insert_rowid(m->db);
    buf_release(&text);
    return s;
}

static enum gpm_status take_row(struct memo *m, int64_t id, struct buf *err) {
    static const char sql[] =
        "UPDATE point SET started=?1, expires=?2, host=?3, pid=?4, pid_start=?5, status=1, "
        "error='', seq=0, attempts=attempts+1 WHERE id=?6";
    sqlite3_stmt *st = NULL;
    enum gpm_status s = memo_prepare(m, sql, &st, "claim a point", err);
    if (s) return s;
    bind_owner(m, st, 1);
    sqlite3_bind_int64(st, 6, id);
    return memo_step_done(m, st, "claim a point", err);
}

struct claim_arg {
    const double *x;
    bool retry_failed;
    struct memo_claim *out;
};

static enum gpm_status claim_body(struct memo *m, void *arg, struct buf *err) {
    struct claim_arg *a = arg;
    struct found f;
    enum gpm_status s = find(m, a->x, &f, err);
    if (s) return s;
    *a->out = (struct memo_claim){.state = MEMO_OURS, .id = f.id, .y = NAN};
    switch (f.status) {
    case MEMO_DONE:
        a->out->state = MEMO_KNOWN;
        a->out->y = f.y;
        break;
    case MEMO_FAILED:
        if (a->retry_failed) {
            s = take_row(m, f.id, err);
        } else {
            a->out->state = MEMO_KNOWN_FAILED;
            buf_puts(err, f.error);
        }
        break;
    case MEMO_CLAIMED:
        if (claim_is_void(m, &f))
            s = take_row(m, f.id, err);
        else
            a->out->state = MEMO_BUSY;
        break;
    case MEMO_ASKED: a->out->state = MEMO_BUSY; break;
    case MEMO_ABSENT: s = insert_row(m, a->x, MEMO_CLAIMED, NULL, &a->out->id, err); break;
    }
    found_release(&f);
    return s;
}

enum gpm_status memo_claim(struct memo *m, const double *x, bool retry_failed,
                           struct memo_claim *out, struct buf *err) {
    enum gpm_status s = check_x(m, x, err);
    if (s) return s;
    double y;
    enum memo_status status;
    s = memo_lookup(m, x, &status, &y, err); /* known values need no lock */
    if (s) return s;
    if (status == MEMO_DONE) {
        *out = (struct memo_claim){.state = MEMO_KNOWN, .y = y};
        return GPM_OK;
    }
    struct claim_arg a = {x, retry_failed, out};
    return transaction(m, false, claim_body, &a, err);
}

struct insert_arg {
    const double *x;
    const char *tag;
    int status;
    int64_t *id;
};
static enum gpm_status insert_body(struct memo *m, void *arg, struct buf *err) {
    struct insert_arg *a = arg;
    return insert_row(m, a->x, a->status, a->tag, a->id, err);
}

enum gpm_status memo_claim_replicate(struct memo *m, const double *x, int64_t *id,
                                     struct buf *err) {
    enum gpm_status s = check_x(m, x, err);
    struct insert_arg a = {x, NULL, MEMO_CLAIMED, id};
    return s ? s : transaction(m, false, insert_body, &a, err);
}

enum gpm_status memo_ask(struct memo *m, const double *x, const char *tag, int64_t *id,
                         struct buf *err) {
    enum gpm_status s = check_x(m, x, err);
    struct insert_arg a = {x, tag, MEMO_ASKED, id};
    return s ? s : transaction(m, true, insert_body, &a, err);
}

enum gpm_status memo_renew(struct memo *m, int64_t id, struct buf *err) {
    sqlite3_stmt *st = NULL;
    enum gpm_status s =
        memo_prepare(m, "UPDATE point SET expires=? WHERE id=? AND status=1", &st, "renew", err);
    if (s) return s;
    sqlite3_bind_double(st, 1, memo_now() + m->claim_seconds);
    sqlite3_bind_int64(st, 2, id);
    return memo_step_done(m, st, "renew a claim", err);
}

enum gpm_status memo_unclaim(struct memo *m, int64_t id, struct buf *err) {
    sqlite3_stmt *st = NULL;
    enum gpm_status s = memo_prepare(m, "DELETE FROM point WHERE id=? AND status=1 AND pid=?", &st,
                                     "give a claim back", err);
    if (s) return s;
    sqlite3_bind_int64(st, 1, id);
    sqlite3_bind_int64(st, 2, m->pid);
    return memo_step_done(m, st, "give a claim back", err);
}

enum gpm_status memo_abandon(struct memo *m, int64_t id, struct buf *err) {
    sqlite3_stmt *st = NULL;
    enum gpm_status s =
        memo_prepare(m, "UPDATE point SET expires=1 WHERE id=? AND status=1", &st, "abandon", err);
    if (s) return s;
    sqlite3_bind_int64(st, 1, id);
    return memo_step_done(m, st, "abandon a claim", err);
}

struct reclaim_arg {
    bool *found;
    int64_t *id;
    double *x;
};
static enum gpm_status reclaim_body(struct memo *m, void *arg, struct buf *err) {
    static const char sql[] =
        "SELECT id, expires, pid, pid_start, host, key FROM point WHERE status=1 ORDER BY id";
    struct reclaim_arg *a = arg;
    sqlite3_stmt *st = NULL;
    enum gpm_status s = memo_prepare(m, sql, &st, "read it", err);
    if (s) return s;
    bool row = true;
    *a->found = false;
    while (!s && !*a->found && !(s = memo_next(m, st, &row, err)) && row) {
        struct memo_cells c = {.st = st};
        struct found f = {.id = cell_int(&c, 0, INT64_MIN, INT64_MAX, "has no number")};
        read_owner(&c, 1, &f);
        cell_inputs(&c, 5, a->x, m->dim);
        if (c.wrong)
            s = memo_damaged(m, f.id, c.wrong, err);
        else if (claim_is_void(m, &f))
            *a->found = true, *a->id = f.id;
        found_release(&f);
    }
    sqlite3_finalize(st);
    return !s && *a->found ? take_row(m, *a->id, err) : s;
}

enum gpm_status memo_reclaim(struct memo *m, bool *found, int64_t *id, double *x, struct buf *err) {
    struct reclaim_arg a = {found, id, x};
    return transaction(m, false, reclaim_body, &a, err);
}

/* ---- results ---- */

struct result_arg {
    int64_t id;
    double y, seconds;
    const char *error; /* NULL: done with y */
    double *stored;
};

static enum gpm_status stored_value(struct memo *m, int64_t id, double *y, struct buf *err) {
    sqlite3_stmt *st = NULL;
    enum gpm_status s =
        memo_prepare(m, "SELECT y FROM point WHERE id=? AND status=2", &st, "read it", err);
    if (s) return s;
    sqlite3_bind_int64(st, 1, id);
    bool row;
    s = memo_next(m, st, &row, err);
    struct memo_cells c = {.st = st};
    if (!s && row) {
        *y = cell_number(&c, 0, NAN, "has no finite value");
        if (isnan(*y)) s = memo_damaged(m, id, "has no finite value", err);
    } else if (!s) {
        buf_printf(err, "memo table '%s': row %lld is not there any more", m->path, (long long)id);
        s = GPM_E_NOT_FOUND;
    }
    sqlite3_finalize(st);
    return s;
}

/* A done row stays as it is: the first value stored is the one everybody uses. */
static enum gpm_status result_body(struct memo *m, void *arg, struct buf *err) {
    static const char sql[] =
        "UPDATE point SET status=?1, y=?2, error=?3, seconds=?4, finished=?5, expires=NULL, "
        "seq=(SELECT coalesce(max(seq),0)+1 FROM point) WHERE id=?6 AND status<>2";
    struct result_arg *a = arg;
    sqlite3_stmt *st = NULL;
    enum gpm_status s = memo_prepare(m, sql, &st, "store the result", err);
    if (s) return s;
    sqlite3_bind_int(st, 1, a->error ? MEMO_FAILED : MEMO_DONE);
    if (!a->error) sqlite3_bind_double(st, 2, a->y);
    sqlite3_bind_text(st, 3, a->error ? a->error : "", -1, SQLITE_STATIC);
    sqlite3_bind_double(st, 4, a->seconds);
    sqlite3_bind_double(st, 5, memo_now());
    sqlite3_bind_int64(st, 6, a->id);
    s = memo_step_done(m, st, "store the result", err);
    if (s || sqlite3_changes(m->db) == 1) return s;
    return stored_value(m, a->id, a->stored, err);
}

enum gpm_status memo_finish(struct memo *m, int64_t id, double y, double seconds, double *stored,
                            struct buf *err) {
    if (!isfinite(y)) {
        buf_printf(err, "memo table '%s': the value to store is not finite; record a failure",
                   m->path);
        return GPM_E_ARG;
    }
    double value = y;
    struct result_arg a = {id, y, seconds, NULL, &value};
    enum gpm_status s = transaction(m, true, result_body, &a, err);
    if (!s && stored) *stored = value;
    return s;
}

enum gpm_status memo_fail(struct memo *m, int64_t id, const char *error, double seconds,
                          struct buf *err) {
    double ignored;
    struct result_arg a = {id, NAN, seconds, error, &ignored};
    return transaction(m, true, result_body, &a, err);
}

struct add_arg {
    const double *x;
    struct result_arg result;
    bool replicate;
};
static enum gpm_status add_body(struct memo *m, void *arg, struct buf *err) {
    struct add_arg *a = arg;
    struct found f;
    enum gpm_status s = find(m, a->x, &f, err);
    if (s) return s;
    bool done = f.status == MEMO_DONE && !a->replicate;
    found_release(&f);
    if (done && (a->result.error || f.y == a->result.y)) return GPM_OK;
    if (done) {
        buf_printf(err, "memo table '%s': another value, ", m->path);
        buf_number(err, f.y);
        buf_puts(err, ", is stored for this input already; remove it first, or add a replicate");
        return GPM_E_CONFLICT;
    }
    a->result.id = f.id;
    if (f.status == MEMO_ABSENT || a->replicate)
        s = insert_row(m, a->x, MEMO_CLAIMED, MEMO_GIVEN, &a->result.id, err);
    return s ? s : result_body(m, &a->result, err);
}

enum gpm_status memo_add(struct memo *m, const double *x, double y, const char *error,
                         double seconds, bool replicate, struct buf *err) {
    double value = y;
    enum gpm_status s = check_x(m, x, err);
    if (!s && !error && !isfinite(y)) {
        buf_printf(err, "memo table '%s': the value to store is not finite", m->path);
        s = GPM_E_ARG;
    }
    struct add_arg a = {x, {0, y, seconds, error, &value}, replicate};
    return s ? s : transaction(m, true, add_body, &a, err);
}
