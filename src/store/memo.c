/* SPDX-License-Identifier: Apache-2.0
 * Rows of the memo table: claim, finish, fail, list; the named texts beside it. Every change is one
 * transaction that takes the write lock first (BEGIN IMMEDIATE), so what it read is still true when
 * it writes. */
#include "store/memo.h"
#include "store/memo_priv.h"
#include "base/mem.h"

#include <limits.h>
#include <math.h>
#include <string.h>

const char *memo_status_name(enum memo_status s) {
    static const char *const names[] = {"absent", "claimed", "done", "failed", "asked"};
    return names[s];
}

enum gpm_status memo_begin(struct memo *m, struct buf *err) {
    if (m->depth == 0) {
        enum gpm_status s = memo_do(m, "lock it", "BEGIN IMMEDIATE", err, "");
        if (s) return s;
    }
    m->depth++;
    return GPM_OK;
}

enum gpm_status memo_end(struct memo *m, enum gpm_status s, struct buf *err) {
    if (!s && m->depth > 1) {
        m->depth--;
        return GPM_OK;
    }
    if (!s) s = memo_do(m, "store the result", "COMMIT", err, "");
    if (m->depth && !sqlite3_get_autocommit(m->db))
        sqlite3_exec(m->db, "ROLLBACK", NULL, NULL, NULL);
    m->depth = 0;
    return s;
}

/* memo_begin where something is to be stored. Results must reach the disk before they are used;
 * claims need not (a lost claim is offered again). Only possible outside a transaction. */
static enum gpm_status begin_with(struct memo *m, bool durable, struct buf *err) {
    enum gpm_status s = GPM_OK;
    if (!m->depth && m->durable != durable) {
        m->durable = durable;
        /* not memo_do: SQLite sets this while it reads the words, which are read once there */
        s = memo_exec(m, durable ? "PRAGMA synchronous=FULL" : "PRAGMA synchronous=NORMAL",
                      "set it up", err);
    }
    return s ? s : memo_begin(m, err);
}

static enum gpm_status check_x(struct memo *m, const double *x, struct buf *err) {
    for (int j = 0; j < m->dim; j++)
        if (!isfinite(x[j]))
            return memo_fault(m, GPM_E_ARG, err, "input %d is not a finite number", j + 1);
    return GPM_OK;
}

/* ---- reading ---- */

/* What is wrong with a row that this program did not write; NULL: nothing. */
static const char *read_row(struct memo *m, sqlite3_stmt *st, double *x, struct memo_row *r) {
    static const char time[] = "has a time that is no number",
                      number[] = "has a count that is none", text[] = "has a text that is none";
    struct memo_cells c = {.st = st};
    *r = (struct memo_row){
        .id = cell_int(&c, 0, INT64_MIN, INT64_MAX, number),
        .x = x,
        .dim = m->dim,
        .rep = (int)cell_int(&c, 2, 0, INT_MAX, number),
        .status = (enum memo_status)cell_int(&c, 3, MEMO_CLAIMED, MEMO_ASKED, "has no such state"),
        .y = cell_number(&c, 4, NAN, "has no finite value"),
        .error = cell_text(&c, 5, text),
        .seconds = cell_number(&c, 6, 0, time),
        .started = cell_number(&c, 7, 0, time),
        .finished = cell_number(&c, 8, 0, time),
        .host = cell_text(&c, 9, text),
        .pid = (long)cell_int(&c, 10, 0, LONG_MAX, number),
        .attempts = (int)cell_int(&c, 11, 0, INT_MAX, number),
        .tag = cell_text(&c, 12, text),
        .seq = cell_int(&c, 13, 0, INT64_MAX, number),
        .expires = cell_number(&c, 14, 0, time),
        .pid_start = cell_int(&c, 15, INT64_MIN, INT64_MAX, number),
        .outputs = cell_text(&c, 16, text),
    };
    cell_inputs(&c, 1, x, m->dim);
    if (!c.wrong && r->status == MEMO_DONE && isnan(r->y)) c.wrong = "has no finite value";
    return c.wrong;
}

/* Calls fn for rows of the table: `which` are the words after SELECT .. FROM point, `kinds` and id
 * their parameter (memo_query). The only reader of them: GPM_E_FORMAT says what is wrong with one
 * that this program did not write. */
static enum gpm_status read_rows(struct memo *m, const char *which, memo_row_fn *fn, void *user,
                                 struct buf *err, const char *kinds, int64_t id) {
    struct buf sql = BUF_INIT;
    sqlite3_stmt *st = NULL;
    buf_printf(&sql,
               "SELECT id, key, rep, status, y, error, seconds, started, finished, host, pid, "
               "attempts, tag, seq, expires, pid_start, %s FROM point %s",
               m->version < 3 ? "''" : "outputs", which);
    enum gpm_status s = memo_query(m, "read it", sql.data, &st, err, kinds, id);
    double *x = NEW_ARRAY(double, (size_t)m->dim); /* fn may call back into the table */
    struct memo_row row;
    bool more = true;
    size_t seen = 0;
    while (!s && more && !(s = memo_next(m, st, &more, err)) && more) {
        const char *what = read_row(m, st, x, &row);
        if (what)
            s = memo_fault(m, GPM_E_FORMAT, err, "row %lld %s; the file is damaged",
                           (long long)row.id, what);
        seen++;
        more = !s && fn(&row, user);
    }
    m->seen = seen; /* not those that fn asked for */
    mem_free(x);
    sqlite3_reset(st);
    buf_release(&sql);
    return s;
}

/* What is kept of a row that was looked for. */
struct found {
    struct memo *m;
    int64_t id;
    enum memo_status status; /* MEMO_ABSENT: there is no such row */
    double y;
    bool idle;       /* a claim that is void */
    struct buf *why; /* gets the text of a failure; NULL: not asked for */
    double *x;       /* the inputs; NULL: not asked for */
};

/* A claim is void when it was abandoned, when its owner was a process of this machine that is gone
 * (or another process has its number now), or when its time is over. A process of this machine
 * that still lives is at a long evaluation: it has a day more. */
static bool claim_is_void(const struct memo *m, const struct memo_row *r) {
    bool here = strcmp(r->host, m->host) == 0 && r->pid_start;
    double over = r->expires ? memo_now() - r->expires : -INFINITY;
    if (r->expires && r->expires <= 1) return true;
    if (!here || (r->pid == m->pid && r->pid_start == m->pid_start)) return over > 0;
    long long now = memo_pid_start(r->pid);
    if (now == -1 || (now && now != r->pid_start)) return true;
    return over > (now ? 86400 : 0);
}

static bool note_found(const struct memo_row *r, void *user) {
    struct found *f = user;
    f->id = r->id;
    f->status = r->status;
    f->y = r->y;
    f->idle = r->status == MEMO_CLAIMED && claim_is_void(f->m, r);
    if (f->why && r->status == MEMO_FAILED) buf_puts(f->why, r->error);
    if (f->x) memcpy(f->x, r->x, (size_t)r->dim * sizeof *f->x);
    return !f->idle;
}

/* The row to answer with: a done one if there is any, else the first. */
static enum gpm_status find(struct memo *m, const double *x, struct found *f, struct buf *why,
                            struct buf *err) {
    *f = (struct found){.m = m, .y = NAN, .why = why};
    memo_key(m->key, x, m->dim);
    return read_rows(m, "WHERE key=? ORDER BY status=2 DESC, rep LIMIT 1", note_found, f, err, "k",
                     0);
}

/* ---- claiming ---- */

static enum gpm_status insert_row(struct memo *m, const double *x, enum memo_status status,
                                  const char *tag, int64_t *id, struct buf *err) {
    static const char sql[] =
        "INSERT INTO point(started, expires, host, pid, pid_start, key, x, status, tag, rep, "
        "attempts) VALUES(?1,CASE ?8 WHEN 4 THEN NULL ELSE ?2 END,?3,?4,?5,?6,?7,?8,?9,"
        "(SELECT coalesce(max(rep)+1, 0) FROM point WHERE key=?6), 1)";
    struct buf text = BUF_INIT;
    for (int j = 0; j < m->dim; j++) {
        if (j) buf_putc(&text, ' ');
        buf_number(&text, x[j]);
    }
    memo_key(m->key, x, m->dim);
    enum gpm_status s = memo_do(m, "add a row", sql, err, "oksis", text.data, (int64_t)status, tag);
    if (!s) *id = sqlite3_last_insert_rowid(m->db);
    buf_release(&text);
    return s;
}

static enum gpm_status take_row(struct memo *m, int64_t id, struct buf *err) {
    return memo_do(m, "claim a point",
                   "UPDATE point SET started=?1, expires=?2, host=?3, pid=?4, pid_start=?5, "
                   "status=1, error='', seq=0, attempts=attempts+1 WHERE id=?6",
                   err, "oi", id);
}

static enum gpm_status claim(struct memo *m, const double *x, struct memo_claim *out,
                             struct buf *err) {
    static const enum memo_claim_state states[] = {[MEMO_ABSENT] = MEMO_OURS,
                                                   [MEMO_CLAIMED] = MEMO_BUSY,
                                                   [MEMO_DONE] = MEMO_KNOWN,
                                                   [MEMO_FAILED] = MEMO_KNOWN_FAILED,
                                                   [MEMO_ASKED] = MEMO_BUSY};
    struct found f;
    enum gpm_status s = find(m, x, &f, err, err);
    if (s) return s;
    *out = (struct memo_claim){.state = states[f.status], .id = f.id, .y = f.y};
    if (f.status == MEMO_ABSENT) return insert_row(m, x, MEMO_CLAIMED, "", &out->id, err);
    if (!f.idle) return GPM_OK;
    out->state = MEMO_OURS;
    return take_row(m, f.id, err);
}

enum gpm_status memo_claim(struct memo *m, const double *x, struct memo_claim *out,
                           struct buf *err) {
    struct found f = {.y = NAN};
    enum gpm_status s = check_x(m, x, err);
    if (!s) s = find(m, x, &f, NULL, err);
    *out = (struct memo_claim){.state = MEMO_KNOWN, .id = f.id, .y = f.y};
    if (s || f.status == MEMO_DONE) return s; /* known: without a lock */
    s = begin_with(m, false, err);
    if (!s) s = claim(m, x, out, err);
    return memo_end(m, s, err);
}

enum gpm_status memo_new_row(struct memo *m, const double *x, bool asked, int64_t *id,
                             struct buf *err) {
    enum gpm_status s = check_x(m, x, err);
    if (!s) s = begin_with(m, asked, err);
    if (!s && asked) s = insert_row(m, x, MEMO_ASKED, "ask", id, err);
    if (!s && !asked) s = insert_row(m, x, MEMO_CLAIMED, "", id, err);
    return memo_end(m, s, err);
}

enum gpm_status memo_renew(struct memo *m, int64_t id, struct buf *err) {
    return memo_do(m, "renew a claim", "UPDATE point SET expires=? WHERE id=? AND status=1", err,
                   "di", memo_now() + m->claim_seconds, id);
}

enum gpm_status memo_unclaim(struct memo *m, int64_t id, struct buf *err) {
    return memo_do(m, "give a claim back", "DELETE FROM point WHERE id=? AND status=1 AND pid=?",
                   err, "ii", id, (int64_t)m->pid);
}

enum gpm_status memo_abandon(struct memo *m, int64_t id, struct buf *err) {
    return memo_do(m, "abandon a claim", "UPDATE point SET expires=1 WHERE id=? AND status=1", err,
                   "i", id);
}

enum gpm_status memo_reclaim(struct memo *m, bool *found, int64_t *id, double *x, struct buf *err) {
    struct found f = {.m = m, .x = x};
    enum gpm_status s = begin_with(m, false, err);
    if (!s) s = read_rows(m, "WHERE status=1 ORDER BY id", note_found, &f, err, "", 0);
    *found = !s && f.idle; /* the first that is void ends the search */
    *id = f.id;
    if (*found) s = take_row(m, f.id, err);
    return memo_end(m, s, err);
}

/* ---- results ---- */

/* The outcome of a row: *y, or a failure with its text. A done row stays as it is: the first value
 * stored is the one everybody uses, and *y becomes it. */
static enum gpm_status put_result(struct memo *m, int64_t id, double *y, const char *outputs,
                                  const char *error, double seconds, struct buf *err) {
    enum gpm_status s = memo_do(
        m, "store the result",
        "UPDATE point SET status=?1, y=?2, error=?3, seconds=?4, finished=?5, expires=NULL, "
        "outputs=?7, seq=(SELECT coalesce(max(seq),0)+1 FROM point) WHERE id=?6 AND status<>2",
        err, "idsddis", (int64_t)(error ? MEMO_FAILED : MEMO_DONE), error ? NAN : *y,
        error ? error : "", seconds, memo_now(), id, outputs && !error ? outputs : "");
    if (s || sqlite3_changes(m->db) == 1) return s;
    struct found f = {.m = m};
    s = read_rows(m, "WHERE id=? AND status=2", note_found, &f, err, "i", id);
    *y = f.y;
    if (s || f.status == MEMO_DONE) return s;
    return memo_fault(m, GPM_E_NOT_FOUND, err, "row %lld is not there any more", (long long)id);
}

enum gpm_status memo_finish(struct memo *m, int64_t id, double y, const char *outputs,
                            const char *error, double seconds, double *stored, struct buf *err) {
    if (!error && !isfinite(y))
        return memo_fault(m, GPM_E_ARG, err, "the value to store is not finite; record a failure");
    enum gpm_status s = begin_with(m, true, err);
    if (!s) s = put_result(m, id, &y, outputs, error, seconds, err);
    s = memo_end(m, s, err);
    if (!s && stored) *stored = y;
    return s;
}

static enum gpm_status add(struct memo *m, const double *x, double y, const char *outputs,
                           const char *error, double seconds, bool replicate, bool *added,
                           struct buf *err) {
    struct found f;
    enum gpm_status s = find(m, x, &f, NULL, err);
    if (s) return s;
    *added = replicate || f.status == MEMO_ABSENT;
    if (f.status == MEMO_DONE && !replicate) {
        if (error || f.y == y) return GPM_OK;
        memo_fault(m, GPM_E_CONFLICT, err, "another value, ");
        buf_number(err, f.y);
        buf_puts(err, ", is stored for this input already; remove it first, or add a replicate");
        return GPM_E_CONFLICT;
    }
    if (*added) s = insert_row(m, x, MEMO_CLAIMED, MEMO_GIVEN, &f.id, err);
    return s ? s : put_result(m, f.id, &y, outputs, error, seconds, err);
}

enum gpm_status memo_add(struct memo *m, const double *x, double y, const char *outputs,
                         const char *error, double seconds, bool replicate, bool *added,
                         struct buf *err) {
    enum gpm_status s = check_x(m, x, err);
    if (!s && !error && !isfinite(y))
        s = memo_fault(m, GPM_E_ARG, err, "the value to store is not finite");
    if (!s) s = begin_with(m, true, err);
    if (!s) s = add(m, x, y, outputs, error, seconds, replicate, added, err);
    return memo_end(m, s, err);
}

/* ---- lists, and the named texts beside the table ---- */

enum gpm_status memo_each(struct memo *m, int64_t after, memo_row_fn *fn, void *user,
                          struct buf *err) {
    return after < 0 ? read_rows(m, "ORDER BY id", fn, user, err, "", 0)
                     : read_rows(m, "WHERE seq>? ORDER BY seq", fn, user, err, "i", after);
}

static enum gpm_status no_row(struct memo *m, int64_t id, struct buf *err) {
    return memo_fault(m, GPM_E_NOT_FOUND, err, "there is no row %lld", (long long)id);
}

enum gpm_status memo_row_by_id(struct memo *m, int64_t id, memo_row_fn *fn, void *user,
                               struct buf *err) {
    enum gpm_status s = read_rows(m, "WHERE id=?", fn, user, err, "i", id);
    return s || m->seen ? s : no_row(m, id, err);
}

enum gpm_status memo_delete(struct memo *m, int64_t id, struct buf *err) {
    enum gpm_status s = memo_do(m, "delete a row", "DELETE FROM point WHERE id=?", err, "i", id);
    return !s && sqlite3_changes(m->db) == 0 ? no_row(m, id, err) : s;
}

enum gpm_status memo_get(struct memo *m, const char *key, char **value, struct buf *err) {
    enum gpm_status s = memo_text(m, "SELECT value FROM state WHERE key=?", key, value, err);
    return !s && !*value ? GPM_E_NOT_FOUND : s;
}

enum gpm_status memo_set(struct memo *m, const char *key, const char *value, struct buf *err) {
    return memo_do(m, "write to it", "INSERT OR REPLACE INTO state VALUES(?,?)", err, "ss", key,
                   value);
}
