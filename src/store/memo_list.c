/* SPDX-License-Identifier: Apache-2.0
 * Reading the memo table row by row, deleting rows, and the named texts beside it. */
#include "base/mem.h"
#include "store/memo_priv.h"

#include <limits.h>
#include <math.h>

#define ROW_COLUMNS                                                                                \
    "SELECT id, key, rep, status, y, error, seconds, started, finished, host, pid, attempts, "     \
    "tag, seq FROM point "

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
    };
    cell_inputs(&c, 1, x, m->dim);
    if (!c.wrong && r->status == MEMO_DONE && isnan(r->y)) c.wrong = "has no finite value";
    return c.wrong;
}

enum gpm_status memo_damaged(struct memo *m, int64_t id, const char *what, struct buf *err) {
    return memo_fault(m, GPM_E_FORMAT, err, "row %lld %s; the file is damaged", (long long)id,
                      what);
}

/* Rows of the statement, which is finalized; *seen: how many. */
static enum gpm_status visit(struct memo *m, sqlite3_stmt *st, memo_row_fn *fn, void *user,
                             int64_t *seen, struct buf *err) {
    double *x = NEW_ARRAY(double, (size_t)m->dim); /* fn may call back into the table */
    struct memo_row row;
    bool more = true;
    enum gpm_status s = GPM_OK;
    while (more && !(s = memo_next(m, st, &more, err)) && more) {
        const char *what = read_row(m, st, x, &row);
        ++*seen;
        if (what) s = memo_damaged(m, row.id, what, err);
        more = !s && fn(&row, user);
    }
    mem_free(x);
    sqlite3_finalize(st);
    return s;
}

enum gpm_status memo_each(struct memo *m, int64_t after, memo_row_fn *fn, void *user,
                          struct buf *err) {
    sqlite3_stmt *st = NULL;
    int64_t seen = 0;
    const char *sql =
        after < 0 ? ROW_COLUMNS "ORDER BY id" : ROW_COLUMNS "WHERE seq>? ORDER BY seq";
    enum gpm_status s = memo_query(m, "read it", sql, &st, err, after < 0 ? "" : "i", after);
    return s ? s : visit(m, st, fn, user, &seen, err);
}

static enum gpm_status not_found(struct memo *m, int64_t id, struct buf *err) {
    return memo_fault(m, GPM_E_NOT_FOUND, err, "there is no row %lld", (long long)id);
}

enum gpm_status memo_row_by_id(struct memo *m, int64_t id, memo_row_fn *fn, void *user,
                               struct buf *err) {
    sqlite3_stmt *st = NULL;
    int64_t seen = 0;
    enum gpm_status s = memo_query(m, "read it", ROW_COLUMNS "WHERE id=?", &st, err, "i", id);
    if (!s) s = visit(m, st, fn, user, &seen, err);
    return !s && !seen ? not_found(m, id, err) : s;
}

enum gpm_status memo_delete(struct memo *m, int64_t id, struct buf *err) {
    enum gpm_status s = memo_do(m, "delete a row", "DELETE FROM point WHERE id=?", err, "i", id);
    return !s && sqlite3_changes(m->db) == 0 ? not_found(m, id, err) : s;
}

enum gpm_status memo_get(struct memo *m, const char *key, char **value, struct buf *err) {
    enum gpm_status s = memo_text(m, "SELECT value FROM state WHERE key=?", key, value, err);
    return !s && !*value ? GPM_E_NOT_FOUND : s;
}

enum gpm_status memo_set(struct memo *m, const char *key, const char *value, struct buf *err) {
    return memo_do(m, "write to it", "INSERT OR REPLACE INTO state VALUES(?,?)", err, "ss", key,
                   value);
}
