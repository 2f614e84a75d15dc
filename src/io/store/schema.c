/* SPDX-License-Identifier: Apache-2.0
 * The tables of a store: made, migrated from version to version, checked. */
#include "io/store/memo_priv.h"

int store_tables(const struct store_kind *k, struct buf *names) {
    int n = 0;
    for (; k->table[n].name; n++) buf_printf(names, "%s'%s'", n ? ", " : "", k->table[n].name);
    return n;
}

/* A file that was made without checksums stays so until it is copied or compacted. */
int store_newest(struct memo *m) {
    bool sums = memo_is_file(m->path) && m->driver->sums(m) != STORE_SUMS_NONE;
    return sums ? m->kind->version : m->kind->version - 1;
}

/* Under the write lock: brings the store from version `from` to the current one. */
static enum gpm_status upgrade(struct memo *m, int from, struct buf *err) {
    enum gpm_status s = m->driver->prepare && !from ? m->driver->prepare(m, err) : GPM_OK;
    for (int v = from; v < m->kind->version - 1 && !s; v++)
        s = memo_exec(m, m->kind->steps[v], from ? "migrate the tables" : "create the tables", err);
    return s ? s : m->driver->stamp(m, err);
}

static enum gpm_status check_version(struct memo *m, int *version, struct buf *err) {
    enum gpm_status s = m->driver->version(m, version, err);
    if (s) return s;
    if (*version < 0)
        return memo_fault(m, GPM_E_FORMAT, err, "there is no file version %d; the file is damaged",
                          *version);
    if (*version > m->kind->version)
        return memo_fault(m, GPM_E_FORMAT, err,
                          "made by a newer gpmem (file version %d, this one reads "
                          "up to %d); upgrade gpmem",
                          *version, m->kind->version);
    if (*version == m->kind->version && store_newest(m) < *version)
        return memo_fault(m, GPM_E_FORMAT, err,
                          "its pages have no checksums, as they should; the file is damaged. If "
                          "another program made it from what was left of a damaged one, PRAGMA "
                          "user_version=%d there says that it has none",
                          m->kind->version - 1);
    return GPM_OK;
}

enum gpm_status store_settle(struct memo *m, bool make,
                             enum gpm_status (*made)(struct memo *m, const void *ctx,
                                                     struct buf *err),
                             const void *ctx, struct buf *err) {
    int version = 0;
    enum gpm_status s = check_version(m, &version, err);
    if (s) return s;
    if (version == 0 && (m->read_only || !make))
        return memo_is_file(m->path) ? memo_fault(m, GPM_E_FORMAT, err, "the file is empty")
                                     : memo_fault(m, GPM_E_IO, err, "No such store on the server");
    if (version < m->kind->oldest && m->read_only)
        return memo_fault(m, GPM_E_FORMAT, err,
                          "file version %d must be migrated to %d first; open it "
                          "once with write permission",
                          version, store_newest(m));
    if (version < store_newest(m) && !m->read_only) {
        s = memo_begin(m, err);
        if (!s) s = check_version(m, &version, err); /* another process may have been first */
        int from = version;
        if (!s && from < store_newest(m)) s = upgrade(m, from, err);
        if (!s && from == 0 && made) s = made(m, ctx, err);
        s = memo_end(m, s, err);
        version = store_newest(m);
    }
    m->version = version;
    return s ? s : m->driver->check(m, err);
}
