/* SPDX-License-Identifier: Apache-2.0
 * Evaluated values that could not be stored, because the disk was full or the server away. A
 * separate memo table keeps them until the store is next opened for writing. It is beside the
 * store, or for a server in the user's state folder, and only this user could have written it. */
#include "base/file.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/sum.h"
#include "io/store/memo_priv.h"

#include <limits.h>
#include <string.h>

/* false: there is no place for it. */
static bool kept_path(const struct memo *m, struct buf *path) {
    if (!strcmp(m->path, ":memory:") || m->kept) return false;
    if (!memo_is_file(m->path)) {
        if (!own_path(path, "kept/")) return false;
        buf_printf(path, "%016llx.db", (unsigned long long)sum_bytes(0, m->path, strlen(m->path)));
    } else
        buf_printf(path, "%s.kept", m->path);
    return true;
}

static enum gpm_status open_kept(struct memo *m, const char *path, struct memo **out,
                                 struct buf *err) {
    const struct memo_options opt = {
        .function = m->function, .names = m->names, .dim = m->dim, .kept = true};
    return memo_open(out, path, &opt, err);
}

/* The process that imports the values removes the file; then it is written again. */
static enum gpm_status put_row(struct memo *m, const char *path, const struct memo_row *row,
                               struct buf *err) {
    enum gpm_status s = GPM_OK;
    do {
        struct memo *kept = NULL;
        (void)!file_new(path, FILE_PRIVATE, "", 0); /* it may be there */
        s = open_kept(m, path, &kept, err);
        if (!s) s = memo_begin(kept, err);
        if (!s)
            s = memo_do(kept, "delete a row", "DELETE FROM point WHERE id=?1", NULL, err, "i",
                        row->id);
        if (!s) s = memo_put_row(kept, row, err);
        if (kept) s = memo_end(kept, s, err);
        memo_close(kept);
    } while (!s && !file_there(path));
    return s;
}

void memo_keep_value(struct memo *m, int64_t id, const double *x, double y, const char *outputs,
                     double seconds, struct buf *err) {
    const struct memo_row row = {.id = id,
                                 .x = x,
                                 .dim = m->dim,
                                 .rep = (int)(id & INT_MAX), /* replicates have the same inputs */
                                 .status = MEMO_DONE,
                                 .y = y,
                                 .outputs = outputs ? outputs : "",
                                 .error = "",
                                 .host = "",
                                 .tag = "kept",
                                 .seconds = seconds};
    struct buf path = BUF_INIT, why = BUF_INIT;
    bool place = kept_path(m, &path);
    if (place && !memo_is_file(m->path)) (void)!file_folders_above(path.data);
    bool done = place && put_row(m, path.data, &row, &why) == GPM_OK;
    buf_puts(err, "; the value ");
    buf_number(err, y);
    buf_printf(err, " of row %lld (%s =", (long long)id, m->names);
    for (int j = 0; j < m->dim; j++) {
        buf_putc(err, ' ');
        buf_number(err, x[j]);
    }
    if (done)
        buf_printf(err,
                   ") is kept in '%s'; the next start with this store that can write to it brings "
                   "it in",
                   path.data);
    else
        buf_printf(err, ") could not be kept either%s%s; note it", why.len ? ": " : "",
                   why.len ? why.data : "");
    buf_release(&path);
    buf_release(&why);
}

/* ---- bringing them in ---- */

struct bringing {
    struct memo *to;
    struct buf *err;
    enum gpm_status st;
    size_t n;
};

static bool bring_row(const struct memo_row *r, void *user) {
    struct bringing *b = user;
    bool brought = false;
    b->st = memo_take_value(b->to, r, &brought, b->err);
    b->n += brought;
    return !b->st;
}

/* Done twice it changes nothing: a row that has its value keeps it. */
enum gpm_status memo_bring_in(struct memo *m, struct buf *err) {
    struct buf path = BUF_INIT, ignored = BUF_INIT;
    struct memo *kept = NULL;
    struct bringing b = {.to = m, .err = err};
    enum gpm_status s = GPM_OK;
    bool there = !m->read_only && kept_path(m, &path) && file_there(path.data) &&
                 file_read(path.data, FILE_PRIVATE, FILE_TEXT_MAX, &ignored) == GPM_OK;
    if (there) s = open_kept(m, path.data, &kept, err);
    if (there && !s) s = memo_begin(kept, err); /* others that keep a value wait */
    if (there && !s) {
        s = memo_begin(m, err);
        if (!s) s = memo_each(kept, -1, bring_row, &b, err);
        if (!s) s = b.st;
        s = memo_end(m, s, err);
        if (!s) file_remove(path.data);
        m->brought = s ? 0 : b.n;
    }
    if (kept && kept->depth) s = memo_end(kept, s, err);
    memo_close(kept);
    buf_release(&path);
    buf_release(&ignored);
    return s;
}
