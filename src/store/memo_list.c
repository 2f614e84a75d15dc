/* SPDX-License-Identifier: Apache-2.0
 * Reading the memo table row by row, deleting rows, and the named texts beside it. */
#include "base/mem.h"
#include "store/memo_priv.h"

#include <limits.h>
#include <math.h>

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
    };
    cell_inputs(&c, 1, x, m->dim);
    if (!c.wrong && r->status == MEMO_DONE && isnan(r->y)) c.wrong = "has no finite value";
    return c.wrong;
}

enum gpm_status memo_rows(struct memo *m, const char *which, memo_row_fn *fn, void *user,
                          struct buf *err, const char *kinds, int64_t id) {
    struct buf sql = BUF_INIT;
    sqlite3_stmt *st = NULL;
    buf_puts(&sql, "SELECT id, key, rep, status, y, error, seconds, started, finished, host, pid, "
                   "attempts, tag, seq, expires, pid_start FROM point ");
    buf_puts(&sql, which);
    enum gpm_status s = memo_query(m, "read it", sql.data, &st, err, kinds, id);
    double *x = NEW_ARRAY(double, (size_t)m->dim); /* fn may call back into the table */
    struct memo_row row;
    bool more = true;
    while (!s && more && !(s = memo_next(m, st, &more, err)) && more) {
        const char *what = read_row(m, st, x, &row);
        if (what)
            s = memo_fault(m, GPM_E_FORMAT, err, "row %lld %s; the file is damaged",
                           (long long)row.id, what);
        more = !s && fn(&row, user);
    }
    mem_free(x);
    sqlite3_reset(st);
    buf_release(&sql);
    return s;
}

enum gpm_status memo_each(struct memo *m, int64_t after, memo_row_fn *fn, void *user,
                          struct buf *err) {
    return after < 0 ? memo_rows(m, "ORDER BY id", fn, user, err, "", 0)
                     : memo_rows(m, "WHERE seq>? ORDER BY seq", fn, user, err, "i", after);
}

static enum gpm_status no_row(struct memo *m, int64_t id, struct buf *err) {
    return memo_fault(m, GPM_E_NOT_FOUND, err, "there is no row %lld", (long long)id);
}

struct only {
    memo_row_fn *fn;
    void *user;
    bool seen;
};

static bool see_row(const struct memo_row *r, void *user) {
    struct only *o = user;
    o->seen = true;
    return o->fn(r, o->user);
}

enum gpm_status memo_row_by_id(struct memo *m, int64_t id, memo_row_fn *fn, void *user,
                               struct buf *err) {
    struct only o = {fn, user, false};
    enum gpm_status s = memo_rows(m, "WHERE id=?", see_row, &o, err, "i", id);
    return s || o.seen ? s : no_row(m, id, err);
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
