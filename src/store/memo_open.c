/* SPDX-License-Identifier: Apache-2.0
 * Opening a memo table: the file, its version, whose function it belongs to. */
#include "store/memo_priv.h"
#include "base/mem.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <sys/stat.h>
#include <unistd.h>

#define APPLICATION_ID 0x67706d31 /* "gpm1" */
#define MAX_INPUTS     100000
#define OLDEST_READ    2  /* version that can be read without writing to the file */
#define BUSY_SECONDS   30 /* that another writer is waited for */

/* Step v takes a file of version v to version v+1; a new file takes all of them. */
static const char *const schema_steps[MEMO_VERSION] = {
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

static enum gpm_status read_int(struct memo *m, const char *sql, int *out, struct buf *err) {
    sqlite3_stmt *st = NULL;
    bool row;
    enum gpm_status s = memo_query(m, "read the header", sql, &st, err, "");
    if (!s) s = memo_next(m, st, &row, err);
    struct memo_cells c = {.st = st};
    if (!s) *out = row ? (int)cell_int(&c, 0, INT_MIN, INT_MAX, "") : 0;
    sqlite3_reset(st);
    return s;
}

static enum gpm_status meta_get(struct memo *m, const char *key, char **out, struct buf *err) {
    return memo_text(m, "SELECT value FROM meta WHERE key=?", key, out, err);
}

static enum gpm_status create_meta(struct memo *m, const struct memo_options *opt,
                                   struct buf *err) {
    struct buf names = BUF_INIT;
    for (int j = 0; j < opt->dim && !opt->names; j++)
        buf_printf(&names, "%sx%d", j ? "," : "", j + 1);
    enum gpm_status s = memo_do(
        m, "create the table", "INSERT INTO meta VALUES('function',?1),('inputs',?2),('names',?3)",
        err, "sis", opt->function, (int64_t)opt->dim, opt->names ? opt->names : names.data);
    buf_release(&names);
    return s;
}

/* Under the write lock: brings the file from version `from` to the current one. */
static enum gpm_status upgrade(struct memo *m, int from, const struct memo_options *opt,
                               struct buf *err) {
    enum gpm_status s = GPM_OK;
    for (int v = from; v < MEMO_VERSION && !s; v++)
        s = memo_exec(m, schema_steps[v], from ? "migrate the table" : "create the table", err);
    if (!s && from == 0) s = create_meta(m, opt, err);
    struct buf sql = BUF_INIT;
    buf_printf(&sql, "PRAGMA user_version=%d; PRAGMA application_id=%d;", MEMO_VERSION,
               APPLICATION_ID);
    if (!s) s = memo_exec(m, sql.data, "write the header", err);
    buf_release(&sql);
    return s;
}

static enum gpm_status check_version(struct memo *m, int *version, struct buf *err) {
    /* one statement sees one state of the file, while another process may be creating the table */
    static const char foreign_sql[] =
        "SELECT application_id <> 0x67706d31 AND (user_version <> 0 OR "
        "EXISTS(SELECT * FROM sqlite_schema)) FROM pragma_application_id, pragma_user_version";
    int foreign = 0;
    enum gpm_status s = read_int(m, "PRAGMA user_version", version, err);
    if (!s) s = read_int(m, foreign_sql, &foreign, err);
    if (s) return s;
    if (foreign)
        return memo_fault(m, GPM_E_FORMAT, err,
                          "the file is an SQLite database of another program; "
                          "name another store");
    if (*version < 0)
        return memo_fault(m, GPM_E_FORMAT, err, "there is no file version %d; the file is damaged",
                          *version);
    if (*version > MEMO_VERSION)
        return memo_fault(m, GPM_E_FORMAT, err,
                          "made by a newer gpmem (file version %d, this one reads "
                          "up to %d); upgrade gpmem",
                          *version, MEMO_VERSION);
    return GPM_OK;
}

/* What a file of this version holds: three tables, each with the columns that are read. Views,
 * triggers, virtual tables and computed columns are code of whoever made the file. A plain table
 * has a root page, the others have none. */
static enum gpm_status check_objects(struct memo *m, struct buf *err) {
    static const struct {
        const char *sql, *wrong;
    } checks[] = {
        {"SELECT count(*) FROM sqlite_schema WHERE type NOT IN ('table', 'index') OR rootpage < 1",
         "it holds views, triggers or virtual tables, which gpmem does not make"},
        {"SELECT 3 - count(*) FROM sqlite_schema WHERE type = 'table' AND "
         "name IN ('meta', 'point', 'state')",
         "a table is missing; the file is damaged"},
        {"SELECT 22 - count(*) FROM (SELECT * FROM pragma_table_xinfo('point') WHERE name IN "
         "('id', 'key', 'rep', 'x', 'status', 'y', 'error', 'seconds', 'started', 'finished', "
         "'host', 'pid', 'pid_start', 'expires', 'attempts', 'seq', 'tag', 'outputs') UNION ALL "
         "SELECT * FROM pragma_table_xinfo('state') WHERE name IN ('key', 'value') UNION ALL "
         "SELECT * FROM pragma_table_xinfo('meta') WHERE name IN ('key', 'value')) "
         "WHERE hidden = 0",
         "a column is missing or computed; the file is damaged"},
    };
    int absent = m->version < 3; /* the column of outputs */
    for (size_t i = 0; i < COUNT_OF(checks); i++) {
        int n = 0;
        enum gpm_status s = read_int(m, checks[i].sql, &n, err);
        if (s) return s;
        if (n == (i == 2 ? absent : 0)) continue;
        return memo_fault(m, GPM_E_FORMAT, err, "%s", checks[i].wrong);
    }
    return GPM_OK;
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

/* Creates the tables in an empty file, migrates older ones, checks identity. */
static enum gpm_status settle_schema(struct memo *m, const struct memo_options *opt,
                                     struct buf *err) {
    int version = 0;
    enum gpm_status s = check_version(m, &version, err);
    if (s) return s;
    if (version == 0 && (m->read_only || !opt->function || opt->dim < 1))
        return memo_fault(m, GPM_E_FORMAT, err, "the file is empty");
    if (version < OLDEST_READ && m->read_only)
        return memo_fault(m, GPM_E_FORMAT, err,
                          "file version %d must be migrated to %d first; open it "
                          "once with write permission",
                          version, MEMO_VERSION);
    if (version < MEMO_VERSION && !m->read_only) {
        s = memo_begin(m, err);
        if (!s) s = check_version(m, &version, err); /* another process may have been first */
        if (!s && version < MEMO_VERSION) s = upgrade(m, version, opt, err);
        s = memo_end(m, s, err);
        version = MEMO_VERSION;
    }
    m->version = version;
    if (!s) s = check_objects(m, err);
    return s ? s : check_identity(m, opt, err);
}

/* WAL needs a shared-memory file beside the table; in a folder that cannot be written a table
 * without a pending log can still be read when SQLite is told that nothing will change. */
static int open_immutable(struct memo *m) {
    if (memo_bytes(m, "-wal") > 0) return SQLITE_CANTOPEN;
    struct buf uri = BUF_INIT;
    sqlite3_close(m->db);
    m->db = NULL;
    buf_puts(&uri, "file:");
    for (const char *p = m->path; *p; p++) {
        if (strchr("%?#", *p))
            buf_printf(&uri, "%%%02x", (unsigned char)*p);
        else
            buf_putc(&uri, *p);
    }
    buf_puts(&uri, "?immutable=1");
    int rc = sqlite3_open_v2(uri.data, &m->db, SQLITE_OPEN_READONLY | SQLITE_OPEN_URI, NULL);
    if (rc == SQLITE_OK) memo_harden(m);
    buf_release(&uri);
    return rc;
}

/* The change to WAL needs the file for itself, and SQLite does not wait for that: processes that
 * create one table together try again. */
static int use_wal(struct memo *m) {
    double end = memo_now() + BUSY_SECONDS;
    for (;;) {
        int rc = sqlite3_exec(m->db, "PRAGMA journal_mode=WAL", NULL, NULL, NULL);
        if ((rc & 0xff) != SQLITE_BUSY || memo_now() > end) return rc;
        nanosleep(&(struct timespec){.tv_nsec = 2000000}, NULL);
    }
}

static enum gpm_status open_file(struct memo *m, const struct memo_options *opt, struct buf *err) {
    int flags = opt->read_only ? SQLITE_OPEN_READONLY
                               : SQLITE_OPEN_READWRITE | (opt->function ? SQLITE_OPEN_CREATE : 0);
    struct stat sb;
    if (stat(m->path, &sb) == 0) {
        if (!S_ISREG(sb.st_mode)) /* SQLite would wait for the writer of a pipe without end */
            return memo_fault(m, GPM_E_IO, err, "%s; name a file",
                              S_ISDIR(sb.st_mode) ? "is a folder" : "is no regular file");
    } else if (!opt->function || opt->read_only)
        return memo_fault(m, GPM_E_IO, err, "%s", strerror(errno));
    int rc = sqlite3_open_v2(m->path, &m->db, flags, NULL);
    if (rc != SQLITE_OK) return memo_sql_error(m, rc, "open it", err);
    memo_harden(m);
    sqlite3_busy_timeout(m->db, 1000 * BUSY_SECONDS);
    if (opt->read_only) {
        rc = sqlite3_exec(m->db, "SELECT count(*) FROM sqlite_schema", NULL, NULL, NULL);
        if ((rc & 0xff) == SQLITE_CANTOPEN || (rc & 0xff) == SQLITE_READONLY)
            rc = open_immutable(m);
        return rc == SQLITE_OK ? GPM_OK : memo_sql_error(m, rc, "read it", err);
    }
    if (sqlite3_db_readonly(m->db, "main") == 1)
        return memo_sql_error(m, SQLITE_READONLY, "write to it", err);
    rc = use_wal(m);
    if (rc != SQLITE_OK) return memo_sql_error(m, rc, "open it", err);
    /* FULL: a value is on the disk before it is used, even when the power fails. */
    return memo_exec(m, "PRAGMA synchronous=FULL;", "open it", err);
}

enum gpm_status memo_open(struct memo **out, const char *path, const struct memo_options *opt,
                          struct buf *err) {
    struct memo *m = NEW(struct memo);
    char host[256] = "";
    gethostname(host, sizeof host - 1);
    m->path = mem_strdup(path);
    m->host = mem_strdup(host);
    m->pid = (long)getpid();
    m->pid_start = memo_pid_start(m->pid);
    m->read_only = opt->read_only;
    m->claim_seconds = opt->claim_seconds != 0 ? opt->claim_seconds : 600;
    m->stop = opt->stop;
    enum gpm_status s = open_file(m, opt, err);
    if (!s) s = settle_schema(m, opt, err);
    if (s) {
        memo_close(m);
        return s;
    }
    m->key = NEW_ARRAY(unsigned char, 8 * (size_t)m->dim);
    *out = m;
    return GPM_OK;
}

void memo_close(struct memo *m) {
    if (!m) return;
    for (sqlite3_stmt *st; m->db && (st = sqlite3_next_stmt(m->db, NULL));) sqlite3_finalize(st);
    sqlite3_close(m->db);
    mem_free(m->path);
    mem_free(m->function);
    mem_free(m->names);
    mem_free(m->host);
    mem_free(m->key);
    mem_free(m);
}
