/* SPDX-License-Identifier: Apache-2.0
 * A memo table as a whole. Copies from one kind of store to another: rows with their ids and the
 * order of their finishing, and the texts beside them. */
#include "base/mem.h"
#include "io/store/memo_priv.h"
#include <math.h>
#include <string.h>

struct copying {
    struct memo *to;
    struct buf *err;
    enum gpm_status st;
    size_t n;
};

enum gpm_status memo_put_row(struct memo *m, const struct memo_row *r, struct buf *err) {
    static const char sql[] =
        "INSERT INTO point(id, key, rep, x, status, y, error, seconds, started, finished, expires, "
        "attempts) VALUES(?1,?2,?3,?4,?5,?6,?7,?8,?9,?10,?11,?12)";
    struct buf text = BUF_INIT;
    for (int j = 0; j < r->dim; j++) {
        if (j) buf_putc(&text, ' ');
        buf_number(&text, r->x[j]);
    }
    memo_key(m->key, r->x, r->dim);
    enum gpm_status s =
        memo_do(m, "add a row", sql, NULL, err, "ikisidsddddi", r->id, (int64_t)r->rep, text.data,
                (int64_t)r->status, r->y, r->error, r->seconds, r->started, r->finished,
                r->status == MEMO_CLAIMED ? 1.0 : (double)NAN, (int64_t)r->attempts);
    if (!s)
        s = memo_do(m, "add a row",
                    "UPDATE point SET seq=?1, tag=?2, outputs=?3, host=?4 WHERE id=?5", NULL, err,
                    "isssi", r->seq, r->tag, r->outputs, r->host, r->id);
    buf_release(&text);
    return s;
}

/* Claims are not copied: processes working on the copy are offered these points. */
static bool copy_row(const struct memo_row *r, void *user) {
    struct copying *c = user;
    c->st = memo_put_row(c->to, r, c->err);
    c->n += !c->st;
    return !c->st;
}

static enum gpm_status copy_texts(struct memo *from, struct memo *to, struct buf *err) {
    struct memo_answer a = {0};
    bool row = true;
    enum gpm_status s =
        memo_query(from, "read it", "SELECT key, value FROM state ORDER BY key", &a, err, "");
    while (!s && !(s = memo_next(from, &a, &row, err)) && row) {
        struct memo_cells c = {.m = from, .a = &a};
        char *key = mem_strdup(cell_text(&c, 0, "is no text"));
        const char *value = cell_text(&c, 1, "is no text");
        s = c.wrong ? memo_fault(from, GPM_E_FORMAT, err, "a text beside the table %s", c.wrong)
                    : memo_set(to, key, value, err);
        mem_free(key);
    }
    memo_done(from, &a);
    return s;
}

enum gpm_status memo_copy(struct memo *from, const char *path, size_t *rows, struct buf *err) {
    struct memo *to = NULL;
    int64_t there = 0;
    const struct memo_options opt = {
        .function = from->function, .names = from->names, .dim = from->dim};
    enum gpm_status s = memo_open(&to, path, &opt, err);
    if (s) return s;
    struct copying c = {.to = to, .err = err};
    s = memo_begin(to, err);
    if (!s) s = memo_do(to, "read it", "SELECT count(*) FROM point", &there, err, "");
    if (!s && there)
        s = memo_fault(to, GPM_E_CONFLICT, err, "holds rows already; copy to a new store");
    if (!s) s = memo_each(from, -1, copy_row, &c, err);
    if (!s) s = c.st;
    if (!s) s = copy_texts(from, to, err);
    if (!s && to->driver->counted) s = to->driver->counted(to, err);
    s = memo_end(to, s, err);
    memo_close(to);
    *rows = s ? 0 : c.n;
    return s;
}

/* ---- is it whole? ---- */

bool memo_summed(struct memo *m) {
    return m->driver->sums(m) == STORE_SUMS_ALL;
}

enum gpm_status memo_check(struct memo *m, struct buf *err) {
    struct memo_answer a = {0};
    bool row = false;
    if (!memo_is_file(m->path)) return GPM_OK; /* a server checks its pages itself */
    enum gpm_status s = memo_query(m, "check it", "PRAGMA quick_check(1)", &a, err, "");
    if (!s) s = memo_next(m, &a, &row, err);
    struct memo_cells cell = {.m = m, .a = &a};
    const char *said = !s && row ? cell_text(&cell, 0, "") : "";
    if (!s && strcmp(said, "ok"))
        s = memo_fault(m, GPM_E_FORMAT, err, "the file is damaged: %s", said);
    memo_done(m, &a);
    return s;
}
