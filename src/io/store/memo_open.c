/* SPDX-License-Identifier: Apache-2.0
 * Opening a memo table: its version, whose function it belongs to. */
#include "io/store/memo_priv.h"
#include "base/file.h"
#include "base/mem.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MAX_INPUTS  100000
#define OLDEST_READ 2 /* version that can be read without writing to the file */

/* Step v takes a file of version v to version v+1; a new file takes all of them. */
static const char *const schema_steps[MEMO_VERSION - 1] = {
    "CREATE TABLE meta(key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;"
    "CREATE TABLE point("
    " id INTEGER PRIMARY KEY, key BLOB NOT NULL, rep INTEGER NOT NULL DEFAULT 0,"
    " x TEXT NOT NULL," /* the inputs for people; key has the exact bits */
    " status INTEGER NOT NULL, y REAL, error TEXT NOT NULL DEFAULT '', seconds REAL,"
    " started REAL, finished REAL, host TEXT NOT NULL DEFAULT '', pid INTEGER, pid_start INTEGER,"
    " expires REAL, attempts INTEGER NOT NULL DEFAULT 0, seq INTEGER NOT NULL DEFAULT 0,"
    " UNIQUE(key, rep));"
    "CREATE INDEX point_seq ON point(seq);",
    "ALTER TABLE point ADD COLUMN tag TEXT NOT NULL DEFAULT '';"
    "CREATE TABLE state(key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;",
    "ALTER TABLE point ADD COLUMN outputs TEXT NOT NULL DEFAULT '';", /* a JSON object */
};
static const struct store_table tables[] = {
    {"meta", "'key', 'value'", 2, 0, false},
    {"state", "'key', 'value'", 2, 0, false},
    {"point",
     "'id', 'key', 'rep', 'x', 'status', 'y', 'error', 'seconds', 'started', 'finished', 'host', "
     "'pid', 'pid_start', 'expires', 'attempts', 'seq', 'tag', 'outputs'",
     18, 3, false},
    {0},
};
static const struct store_kind memo_kind = {
    "memo table", 0x67706d31 /* "gpm1" */, MEMO_VERSION, OLDEST_READ, schema_steps, tables};

static enum gpm_status meta_get(struct memo *m, const char *key, char **out, struct buf *err) {
    return memo_text(m, "SELECT value FROM meta WHERE key=?1", key, out, err);
}

static enum gpm_status create_meta(struct memo *m, const void *ctx, struct buf *err) {
    const struct memo_options *opt = ctx;
    struct buf names = BUF_INIT;
    char dim[24];
    snprintf(dim, sizeof dim, "%d", opt->dim);
    for (int j = 0; j < opt->dim && !opt->names; j++)
        buf_printf(&names, "%sx%d", j ? "," : "", j + 1);
    enum gpm_status s = memo_do(
        m, "create the table", "INSERT INTO meta VALUES('function',?1),('inputs',?2),('names',?3)",
        NULL, err, "sss", opt->function, dim, opt->names ? opt->names : names.data);
    buf_release(&names);
    return s;
}

static enum gpm_status check_identity(struct memo *m, const struct memo_options *opt,
                                      struct buf *err) {
    char *dim = NULL;
    enum gpm_status s = meta_get(m, "function", &m->function, err);
    if (!s) s = meta_get(m, "names", &m->names, err);
    if (!s) s = meta_get(m, "inputs", &dim, err);
    char *end = NULL;
    long inputs = !s && dim ? strtol(dim, &end, 10) : 0;
    bool counted = end && !*end && inputs >= 1 && inputs <= MAX_INPUTS;
    m->dim = counted ? (int)inputs : 0;
    mem_free(dim);
    if (s) return s;
    if (!m->function || !m->names || !counted)
        return memo_fault(m, GPM_E_FORMAT, err, "the header is incomplete; the file is damaged");
    if (opt->function && strcmp(opt->function, m->function) != 0)
        return buf_fail(err, GPM_E_CONFLICT,
                        "memo table '%s' belongs to the function '%s', not to '%s'; name another "
                        "store, or delete the file if its values are of no use",
                        m->path, m->function, opt->function);
    if (opt->dim && opt->dim != m->dim)
        return buf_fail(err, GPM_E_CONFLICT,
                        "memo table '%s' holds a function of %d input%s, this one has %d; name "
                        "another store",
                        m->path, m->dim, m->dim == 1 ? "" : "s", opt->dim);
    return GPM_OK;
}

static enum gpm_status settle(struct memo *m, const struct memo_options *opt, struct buf *err) {
    enum gpm_status s = store_settle(m, opt->function && opt->dim >= 1, create_meta, opt, err);
    return s ? s : check_identity(m, opt, err);
}

void memo_who(struct memo *m) {
    char host[256] = "";
    gethostname(host, sizeof host - 1);
    m->host = mem_strdup(host);
    m->pid = (long)getpid();
    m->pid_start = memo_pid_start(m->pid);
}

enum gpm_status memo_open(struct memo **out, const char *path, const struct memo_options *opt,
                          struct buf *err) {
    struct memo *m = NEW(struct memo);
    m->kind = &memo_kind;
    m->path = mem_strdup(path);
    memo_who(m);
    m->read_only = opt->read_only;
    double claim = memo_is_file(path) ? 600 : 60;
    m->claim_seconds = opt->claim_seconds != 0 ? opt->claim_seconds : claim;
    m->stop = opt->stop;
    m->say = opt->say;
    m->say_user = opt->say_user;
    m->kept = opt->kept;
    m->driver = memo_driver_of(path);
    enum gpm_status s = m->driver->open(m, opt, err);
    size_t said = err->len;
    if (!s) do {
            s = settle(m, opt, err);
        } while (memo_again(m, s, said, err));
    if (!s) {
        m->key = NEW_ARRAY(unsigned char, 8 * (size_t)m->dim);
        s = memo_bring_in(m, err);
    }
    if (s) {
        memo_close(m);
        return s;
    }
    *out = m;
    return GPM_OK;
}

bool memo_there(const char *path) {
    if (memo_is_file(path)) return file_there(path);
    struct memo *m = NULL;
    struct buf ignored = BUF_INIT;
    bool there = memo_open(&m, path, &(struct memo_options){.read_only = true}, &ignored) == GPM_OK;
    memo_close(m);
    buf_release(&ignored);
    return there;
}

void memo_close(struct memo *m) {
    if (!m) return;
    m->driver->close(m);
    for (size_t i = 0; i < m->watched.cap; i++) mem_free(m->watched.slots[i].val);
    map_release(&m->watched);
    mem_free(m->path);
    mem_free(m->function);
    mem_free(m->names);
    mem_free(m->host);
    mem_free(m->key);
    mem_free(m);
}
