/* SPDX-License-Identifier: Apache-2.0
 * Reading the memo table row by row, deleting rows, and the named texts beside it. */
#include "base/mem.h"
#include "store/memo_priv.h"

#include <math.h>
#include <string.h>

#define ROW_COLUMNS                                                                                \
    "SELECT id, key, rep, status, y, error, seconds, started, finished, host, pid, attempts, "     \
    "tag, seq FROM point "

static const char *text_of(sqlite3_stmt *st, int col) {
    const char *s = (const char *)sqlite3_column_text(st, col);
    return s ? s : "";
}

static void read_row(struct memo *m, sqlite3_stmt *st, double *x, struct memo_row *r) {
    memo_unkey(x, sqlite3_column_blob(st, 1), m->dim);
    *r = (struct memo_row){
        .id = sqlite3_column_int64(st, 0),
        .x = x,
        .dim = m->dim,
        .rep = sqlite3_column_int(st, 2),
        .status = (enum memo_status)sqlite3_column_int(st, 3),
        .y = sqlite3_column_type(st, 4) == SQLITE_NULL ? NAN : sqlite3_column_double(st, 4),
        .error = text_of(st, 5),
        .seconds = sqlite3_column_double(st, 6),
        .started = sqlite3_column_double(st, 7),
        .finished = sqlite3_column_double(st, 8),
        .host = text_of(st, 9),
        .pid = (long)sqlite3_column_int64(st, 10),
        .attempts = sqlite3_column_int(st, 11),
        .tag = text_of(st, 12),
        .seq = sqlite3_column_int64(st, 13),
    };
}

/* What is wrong with a row that this program did not write; NULL: nothing. */
static const char *damage(const struct memo_row *r) {
    if (r->status <= MEMO_ABSENT || r->status > MEMO_ASKED) return "has no such state";
    if (r->status == MEMO_DONE && !isfinite(r->y)) return "has no finite value";
    for (int i = 0; i < r->dim; i++)
        if (!isfinite(r->x[i])) return "has an input that is no number";
    if (!isfinite(r->seconds) || !isfinite(r->started) || !isfinite(r->finished))
        return "has a time that is no number";
    return NULL;
}

enum gpm_status memo_damaged(struct memo *m, int64_t id, const char *what, struct buf *err) {
    buf_printf(err, "memo table '%s': row %lld %s; the file is damaged", m->path, (long long)id,
               what);
    return GPM_E_FORMAT;
}

static enum gpm_status visit(struct memo *m, sqlite3_stmt *st, memo_row_fn *fn, void *user,
                             int64_t *seen, struct buf *err) {
    enum gpm_status s = GPM_OK;
    double *x = NEW_ARRAY(double, (size_t)m->dim); /* fn may call back into the table */
    bool more = true;
    while (more && !s) {
        int rc = sqlite3_step(st);
        struct memo_row row;
        if (rc == SQLITE_DONE) break;
        if (rc != SQLITE_ROW) {
            s = memo_sql_error(m, rc, "read it", err);
        } else if (sqlite3_column_bytes(st, 1) != 8 * m->dim) {
            s = memo_damaged(m, sqlite3_column_int64(st, 0), "has the wrong number of inputs", err);
        } else {
            read_row(m, st, x, &row);
            ++*seen;
            const char *what = damage(&row);
            if (what)
                s = memo_damaged(m, row.id, what, err);
            else
                more = fn(&row, user);
        }
    }
    mem_free(x);
    sqlite3_finalize(st);
    return s;
}

enum gpm_status memo_each(struct memo *m, int64_t after, memo_row_fn *fn, void *user,
                          struct buf *err) {
    sqlite3_stmt *st = NULL;
    int64_t seen = 0;
    enum gpm_status s = memo_prepare(
        m, after < 0 ? ROW_COLUMNS "ORDER BY id" : ROW_COLUMNS "WHERE seq>? ORDER BY seq", &st,
        "read it", err);
    if (s) return s;
    if (after >= 0) sqlite3_bind_int64(st, 1, after);
    return visit(m, st, fn, user, &seen, err);
}

static enum gpm_status not_found(struct memo *m, int64_t id, struct buf *err) {
    buf_printf(err, "memo table '%s': there is no row %lld", m->path, (long long)id);
    return GPM_E_NOT_FOUND;
}

enum gpm_status memo_row_by_id(struct memo *m, int64_t id, memo_row_fn *fn, void *user,
                               struct buf *err) {
    sqlite3_stmt *st = NULL;
    int64_t seen = 0;
    enum gpm_status s = memo_prepare(m, ROW_COLUMNS "WHERE id=?", &st, "read it", err);
    if (s) return s;
    sqlite3_bind_int64(st, 1, id);
    s = visit(m, st, fn, user, &seen, err);
    return !s && !seen ? not_found(m, id, err) : s;
}

enum gpm_status memo_delete(struct memo *m, int64_t id, struct buf *err) {
    sqlite3_stmt *st = NULL;
    enum gpm_status s = memo_prepare(m, "DELETE FROM point WHERE id=?", &st, "delete", err);
    if (s) return s;
    sqlite3_bind_int64(st, 1, id);
    s = memo_step_done(m, st, "delete a row", err);
    return !s && sqlite3_changes(m->db) == 0 ? not_found(m, id, err) : s;
}

enum gpm_status memo_get(struct memo *m, const char *key, char **value, struct buf *err) {
    sqlite3_stmt *st = NULL;
    enum gpm_status s = memo_prepare(m, "SELECT value FROM state WHERE key=?", &st, "read it", err);
    if (s) return s;
    sqlite3_bind_text(st, 1, key, -1, SQLITE_STATIC);
    int rc = sqlite3_step(st);
    if (rc == SQLITE_ROW)
        *value = mem_strdup(text_of(st, 0));
    else
        s = rc == SQLITE_DONE ? GPM_E_NOT_FOUND : memo_sql_error(m, rc, "read it", err);
    sqlite3_finalize(st);
    return s;
}

enum gpm_status memo_set(struct memo *m, const char *key, const char *value, struct buf *err) {
    sqlite3_stmt *st = NULL;
    enum gpm_status s =
        memo_prepare(m, "INSERT OR REPLACE INTO state VALUES(?,?)", &st, "write", err);
    if (s) return s;
    sqlite3_bind_text(st, 1, key, -1, SQLITE_STATIC);
    sqlite3_bind_text(st, 2, value, -1, SQLITE_STATIC);
    return memo_step_done(m, st, "write to it", err);
}
