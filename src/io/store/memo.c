/* SPDX-License-Identifier: Apache-2.0
 * Rows of the memo table: claim, finish, fail, list; the named texts beside it. Every change is one
 * transaction that takes the write lock first (BEGIN IMMEDIATE), so what it read is still true when
 * it writes. */
#include "io/store/memo.h"
#include "io/store/memo_priv.h"
#include "base/clock.h"
#include "base/mem.h"

#include <limits.h>
#include <math.h>
#include <string.h>

const char *memo_status_name(enum memo_status s) {
    static const char *const names[] = {"absent", "claimed", "done", "failed", "asked"};
    return names[s];
}

bool memo_again(struct memo *m, enum gpm_status s, size_t said, struct buf *err) {
    enum { TIMES = 8 };
    bool again = s && !m->depth && m->driver->again && m->lost_times < TIMES && m->driver->again(m);
    m->lost_times = again ? m->lost_times + 1 : 0;
    if (again) {
        err->len = said;
        err->data[said] = 0;
    }
    return again;
}

/* Does it until the connection holds; for what may be done twice. */
#define PERSIST(m, err, s, call)                                                                   \
    for (size_t said_ = (err)->len;;) {                                                            \
        (s) = (call);                                                                              \
        if (!memo_again(m, s, said_, err)) break;                                                  \
    }

static enum gpm_status begin_to(struct memo *m, enum memo_intent to, struct buf *err) {
    enum gpm_status s = GPM_OK;
    if (!m->depth) PERSIST(m, err, s, m->driver->begin(m, to, err));
    if (!s) m->depth++;
    return s;
}

enum gpm_status memo_begin(struct memo *m, struct buf *err) {
    return begin_to(m, MEMO_TO_STORE, err);
}

enum gpm_status memo_end(struct memo *m, enum gpm_status s, struct buf *err) {
    if (!s && m->depth > 1) {
        m->depth--;
        return GPM_OK;
    }
    if (!s) s = m->driver->commit(m, err);
    if (s && m->depth) m->driver->rollback(m);
    m->depth = 0;
    return s;
}

static enum gpm_status check_x(struct memo *m, const double *x, struct buf *err) {
    for (int j = 0; j < m->dim; j++)
        if (!isfinite(x[j]))
            return memo_fault(m, GPM_E_ARG, err, "input %d is not a finite number", j + 1);
    return GPM_OK;
}

/* ---- reading ---- */

/* What is wrong with a row that this program did not write; NULL: nothing. */
static const char *read_row(struct memo *m, struct memo_answer *a, double *x, struct memo_row *r) {
    static const char time[] = "has a time that is no number",
                      number[] = "has a count that is none", text[] = "has a text that is none";
    struct memo_cells c = {.m = m, .a = a};
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
    struct memo_answer a = {0};
    buf_printf(&sql,
               "SELECT id, key, rep, status, y, error, seconds, started, finished, host, pid, "
               "attempts, tag, seq, expires, pid_start, %s FROM point %s",
               m->version < 3 ? "''" : "outputs", which);
    enum gpm_status s = memo_query(m, "read it", sql.data, &a, err, kinds, id);
    double *x = NEW_ARRAY(double, (size_t)m->dim); /* fn may call back into the table */
    struct memo_row row;
    bool more = true;
    size_t seen = 0;
    while (!s && more && !(s = memo_next(m, &a, &more, err)) && more) {
        const char *what = read_row(m, &a, x, &row);
        if (what)
            s = memo_fault(m, GPM_E_FORMAT, err, "row %lld %s; the file is damaged",
                           (long long)row.id, what);
        seen++;
        more = !s && fn(&row, user);
    }
    m->seen = seen; /* not those that fn asked for */
    mem_free(x);
    memo_done(m, &a);
    buf_release(&sql);
    return s;
}

/* What is kept of a row that was looked for. */
struct found {
    struct memo *m;
    int64_t id;
    enum memo_status status; /* MEMO_ABSENT: there is no such row */
    double y;
    bool idle;      /* a claim that is void */
    double expires; /* of the claim; NaN: it has no end */
    int attempts;
    struct buf *why; /* gets the text of a failure; NULL: not asked for */
    double *x;       /* the inputs; NULL: not asked for */
};

/* A claim of a file as it was seen. */
struct watched {
    double expires, since; /* since: clock_seconds() */
    int attempts;
};

/* How long this handle has seen the claim unchanged; its owner's renewals change it. */
static double seen_silent(struct memo *m, const struct memo_row *r) {
    struct watched *w = map_get(&m->watched, (uint64_t)r->id);
    double now = clock_seconds();
    if (w && same_number(w->expires, r->expires) && w->attempts == r->attempts)
        return now - w->since;
    if (!w) map_put(&m->watched, (uint64_t)r->id, w = NEW(struct watched));
    *w = (struct watched){.expires = r->expires, .since = now, .attempts = r->attempts};
    return 0;
}

/* How long the claim is overdue for renewal. The owner's clock may differ from ours, except on a
 * server. For a file only the difference of the claim's two times is used. */
static double overdue(struct memo *m, const struct memo_row *r) {
    if (!r->expires) return -INFINITY;
    if (!memo_is_file(m->path)) return memo_now(m) - r->expires;
    return seen_silent(m, r) - (r->started ? r->expires - r->started : m->claim_seconds);
}

/* A claim is void when it was abandoned, when its owner was a process of this machine that is gone
 * (or another process has its number now), or when it is overdue. A process of this machine that
 * still lives is at a long evaluation: it has a day more. */
static bool claim_is_void(struct memo *m, const struct memo_row *r) {
    bool here = strcmp(r->host, m->host) == 0 && r->pid_start;
    double over = overdue(m, r);
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
    f->expires = r->expires ? r->expires : NAN;
    f->attempts = r->attempts;
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
    return read_rows(m, "WHERE key=?1 ORDER BY status=2 DESC, rep LIMIT 1", note_found, f, err, "k",
                     0);
}

/* ---- claiming ---- */

enum { MOST_TRIES = 1000 }; /* in a store that something keeps from growing */

/* The first row of its inputs, or, `more`, one more beside those that are there; *id 0: another
 * process has put it there. A server shows each statement what others have committed by then, so a
 * first row must not ask how many there are: it would become the second. */
static enum gpm_status insert_row(struct memo *m, const double *x, bool more,
                                  enum memo_status status, const char *tag, int64_t *id,
                                  struct buf *err) {
    static const char sql[] =
        "INSERT INTO point(started, expires, host, pid, pid_start, key, x, status, tag, rep, "
        "attempts) VALUES(?1,CASE ?8 WHEN 4 THEN NULL ELSE ?2 END,?3,?4,?5,?6,?7,?8,?9,"
        "CASE ?10 WHEN 0 THEN 0 ELSE (SELECT coalesce(max(rep)+1, 0) FROM point WHERE key=?6) "
        "END, 1) ON CONFLICT(key, rep) DO NOTHING RETURNING id";
    struct buf text = BUF_INIT;
    for (int j = 0; j < m->dim; j++) {
        if (j) buf_putc(&text, ' ');
        buf_number(&text, x[j]);
    }
    memo_key(m->key, x, m->dim);
    enum gpm_status s = memo_do(m, "add a row", sql, id, err, "oksisi", text.data, (int64_t)status,
                                tag, (int64_t)more);
    buf_release(&text);
    return s;
}

/* Takes over a void claim, unless another process was faster: *taken. */
static enum gpm_status take_row(struct memo *m, const struct found *f, bool *taken,
                                struct buf *err) {
    int64_t id;
    enum gpm_status s =
        memo_do(m, "claim a point",
                "UPDATE point SET started=?1, expires=?2, host=?3, pid=?4, pid_start=?5, "
                "status=1, error='', seq=0, attempts=attempts+1 WHERE id=?6 AND status=1 AND "
                "expires IS NOT DISTINCT FROM ?7 AND attempts=?8 RETURNING id",
                &id, err, "oidi", f->id, f->expires, (int64_t)f->attempts);
    *taken = !s && id;
    return s;
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
    bool taken = false;
    if (f.status == MEMO_ABSENT) {
        s = insert_row(m, x, false, MEMO_CLAIMED, "", &out->id, err);
        taken = out->id;
    } else if (f.idle)
        s = take_row(m, &f, &taken, err);
    else
        return GPM_OK;
    out->state = taken ? MEMO_OURS : MEMO_BUSY; /* another process was faster */
    return s;
}

static enum gpm_status claim_once(struct memo *m, const double *x, struct memo_claim *out,
                                  struct buf *err) {
    struct found f = {.y = NAN};
    enum gpm_status s = check_x(m, x, err);
    if (!s) s = find(m, x, &f, NULL, err);
    *out = (struct memo_claim){.state = MEMO_KNOWN, .id = f.id, .y = f.y};
    if (s || f.status == MEMO_DONE) return s; /* known: without a lock */
    s = begin_to(m, MEMO_TO_CLAIM, err);
    if (!s) s = claim(m, x, out, err);
    return memo_end(m, s, err);
}

enum gpm_status memo_claim(struct memo *m, const double *x, struct memo_claim *out,
                           struct buf *err) {
    enum gpm_status s;
    PERSIST(m, err, s, claim_once(m, x, out, err));
    return s;
}

enum gpm_status memo_new_row(struct memo *m, const double *x, bool asked, int64_t *id,
                             struct buf *err) {
    enum gpm_status s = check_x(m, x, err);
    if (!s) s = begin_to(m, asked ? MEMO_TO_STORE : MEMO_TO_CLAIM, err);
    *id = 0; /* if another process's replicate takes the number, ours is the next */
    for (int left = MOST_TRIES; !s && !*id; left--)
        s = left ? insert_row(m, x, true, asked ? MEMO_ASKED : MEMO_CLAIMED, asked ? "ask" : "", id,
                              err)
                 : buf_fail(err, GPM_E_FORMAT,
                            "the store takes no new row; gpmem memo verify reads it");
    return memo_end(m, s, err);
}

enum gpm_status memo_renew(struct memo *m, int64_t id, struct buf *err) {
    enum gpm_status s;
    PERSIST(m, err, s,
            memo_do(m, "renew a claim",
                    "UPDATE point SET started=?1, expires=?2 WHERE id=?3 AND status=1", NULL, err,
                    "ddi", memo_now(m), memo_now(m) + m->claim_seconds, id));
    return s;
}

enum gpm_status memo_unclaim(struct memo *m, int64_t id, struct buf *err) {
    enum gpm_status s;
    PERSIST(m, err, s,
            memo_do(m, "give a claim back",
                    "DELETE FROM point WHERE id=?1 AND status=1 AND pid=?2 AND host=?3", NULL, err,
                    "iis", id, (int64_t)m->pid, m->host));
    return s;
}

enum gpm_status memo_abandon(struct memo *m, int64_t id, struct buf *err) {
    enum gpm_status s;
    PERSIST(m, err, s,
            memo_do(m, "abandon a claim", "UPDATE point SET expires=1 WHERE id=?1 AND status=1",
                    NULL, err, "i", id));
    return s;
}

static enum gpm_status reclaim_once(struct memo *m, bool *found, int64_t *id, double *x,
                                    struct buf *err) {
    struct found f = {.m = m, .x = x};
    enum gpm_status s = begin_to(m, MEMO_TO_CLAIM, err);
    if (!s) s = read_rows(m, "WHERE status=1 ORDER BY id", note_found, &f, err, "", 0);
    *found = !s && f.idle; /* the first that is void ends the search */
    *id = f.id;
    if (*found) s = take_row(m, &f, found, err);
    return memo_end(m, s, err);
}

enum gpm_status memo_reclaim(struct memo *m, bool *found, int64_t *id, double *x, struct buf *err) {
    enum gpm_status s;
    PERSIST(m, err, s, reclaim_once(m, found, id, x, err));
    return s;
}

/* ---- results ---- */

/* Stores the outcome of a row: *y, or a failure with its text. A finished row stays unchanged: all
 * processes use the first value stored, and *y becomes that value. */
static enum gpm_status put_result(struct memo *m, int64_t id, double *y, const char *outputs,
                                  const char *error, double seconds, struct buf *err) {
    int64_t put;
    enum gpm_status s = memo_do(
        m, "store the result",
        "UPDATE point SET status=?1, y=?2, error=?3, seconds=?4, started=?5-?4, finished=?5, "
        "expires=NULL, "
        "outputs=?7, seq=(SELECT coalesce(max(seq),0)+1 FROM point) WHERE id=?6 AND status<>2 "
        "RETURNING id",
        &put, err, "idsddis", (int64_t)(error ? MEMO_FAILED : MEMO_DONE), error ? NAN : *y,
        error ? error : "", seconds, memo_now(m), id, outputs && !error ? outputs : "");
    if (s || put) return s;
    struct found f = {.m = m};
    s = read_rows(m, "WHERE id=?1 AND status=2", note_found, &f, err, "i", id);
    *y = f.y;
    if (s || f.status == MEMO_DONE) return s;
    return memo_fault(m, GPM_E_NOT_FOUND, err, "row %lld is not there any more", (long long)id);
}

/* May be done twice: a row that is done stays as it is. */
static enum gpm_status finish_once(struct memo *m, int64_t id, double *y, const char *outputs,
                                   const char *error, double seconds, struct buf *err) {
    enum gpm_status s = begin_to(m, MEMO_TO_STORE, err);
    if (!s) s = put_result(m, id, y, outputs, error, seconds, err);
    return memo_end(m, s, err);
}

enum gpm_status memo_finish(struct memo *m, int64_t id, double y, const char *outputs,
                            const char *error, double seconds, double *stored, struct buf *err) {
    if (!error && !isfinite(y))
        return memo_fault(m, GPM_E_ARG, err, "the value to store is not finite; record a failure");
    enum gpm_status s;
    PERSIST(m, err, s, finish_once(m, id, &y, outputs, error, seconds, err));
    if (!s && stored) *stored = y;
    return s;
}

enum gpm_status memo_take_value(struct memo *m, const struct memo_row *r, bool *taken,
                                struct buf *err) {
    struct found f = {.m = m};
    double y = r->y;
    memo_key(m->key, r->x, m->dim);
    enum gpm_status s = read_rows(m, "WHERE id=?1 AND key=?2", note_found, &f, err, "ik", r->id);
    if (!s && f.status == MEMO_ABSENT) s = find(m, r->x, &f, NULL, err);
    *taken = f.status != MEMO_DONE;
    if (!s && f.status == MEMO_ABSENT) s = insert_row(m, r->x, false, MEMO_CLAIMED, "", &f.id, err);
    if (!s && *taken) s = put_result(m, f.id, &y, r->outputs, NULL, r->seconds, err);
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
    if (*added) s = insert_row(m, x, replicate, MEMO_CLAIMED, MEMO_GIVEN, &f.id, err);
    if (!s && !f.id) /* another process was faster: look again */
        return add(m, x, y, outputs, error, seconds, replicate, added, err);
    return s ? s : put_result(m, f.id, &y, outputs, error, seconds, err);
}

enum gpm_status memo_add(struct memo *m, const double *x, double y, const char *outputs,
                         const char *error, double seconds, bool replicate, bool *added,
                         struct buf *err) {
    enum gpm_status s = check_x(m, x, err);
    if (!s && !error && !isfinite(y))
        s = memo_fault(m, GPM_E_ARG, err, "the value to store is not finite");
    if (!s) s = begin_to(m, MEMO_TO_STORE, err);
    if (!s) s = add(m, x, y, outputs, error, seconds, replicate, added, err);
    return memo_end(m, s, err);
}

/* ---- lists, and the named texts beside the table ---- */

enum gpm_status memo_each(struct memo *m, int64_t after, memo_row_fn *fn, void *user,
                          struct buf *err) {
    enum gpm_status s; /* a server answers whole or not at all: no row is shown twice */
    PERSIST(m, err, s,
            after < 0 ? read_rows(m, "ORDER BY id", fn, user, err, "", 0)
                      : read_rows(m, "WHERE seq>?1 ORDER BY seq", fn, user, err, "i", after));
    return s;
}

static enum gpm_status no_row(struct memo *m, int64_t id, struct buf *err) {
    return memo_fault(m, GPM_E_NOT_FOUND, err, "there is no row %lld", (long long)id);
}

enum gpm_status memo_row_by_id(struct memo *m, int64_t id, memo_row_fn *fn, void *user,
                               struct buf *err) {
    enum gpm_status s;
    PERSIST(m, err, s, read_rows(m, "WHERE id=?1", fn, user, err, "i", id));
    return s || m->seen ? s : no_row(m, id, err);
}

enum gpm_status memo_delete(struct memo *m, int64_t id, struct buf *err) {
    int64_t gone;
    enum gpm_status s = memo_do(m, "delete a row", "DELETE FROM point WHERE id=?1 RETURNING id",
                                &gone, err, "i", id);
    return !s && !gone ? no_row(m, id, err) : s;
}

enum gpm_status memo_get(struct memo *m, const char *key, char **value, struct buf *err) {
    enum gpm_status s;
    PERSIST(m, err, s, memo_text(m, "SELECT value FROM state WHERE key=?1", key, value, err));
    return !s && !*value ? GPM_E_NOT_FOUND : s;
}

enum gpm_status memo_set(struct memo *m, const char *key, const char *value, struct buf *err) {
    enum gpm_status s;
    PERSIST(m, err, s,
            memo_do(m, "write to it",
                    "INSERT INTO state VALUES(?1,?2) "
                    "ON CONFLICT(key) DO UPDATE SET value=excluded.value",
                    NULL, err, "ss", key, value));
    return s;
}
