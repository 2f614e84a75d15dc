/* SPDX-License-Identifier: Apache-2.0
 *
 * Memo tables in a file, by SQLite (WAL; synchronous=FULL where results are stored). The file is
 * untrusted: no code of its schema runs, and no statement takes longer than a file of its size can
 * need. */
#include "base/mem.h"
#include "base/stop.h"
#include "io/store/memo_priv.h"
#include "io/store/sqlite_files.h"

#include <errno.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define BUSY_SECONDS 30 /* that another writer is waited for */

static sqlite3 *db_of(const struct memo *m) {
    return m->db;
}

/* One row per result code that a user can do something about. */
static const struct {
    int code;
    enum gpm_status status;
    const char *text;
} sql_errors[] = {
    {SQLITE_FULL, GPM_E_IO,
     "the disk is full; free some space and run again, what was stored is safe"},
    {SQLITE_READONLY, GPM_E_IO,
     "the file or its folder is read-only; give write permission or use another store"},
    {SQLITE_PERM, GPM_E_IO, "permission denied"},
    {SQLITE_CANTOPEN, GPM_E_IO,
     "the file cannot be opened; check that the folder exists and can be written"},
    {SQLITE_IOERR, GPM_E_IO, "reading or writing the file failed"},
    {SQLITE_NOTADB, GPM_E_FORMAT,
     "the file is not a memo table (not an SQLite file); name another store"},
    {SQLITE_CORRUPT, GPM_E_FORMAT,
     "the file is damaged; restore it from a copy, or rescue rows with sqlite3's .recover"},
    {SQLITE_BUSY, GPM_E_BUSY, "another process keeps the file locked; run again when it is done"},
    {SQLITE_LOCKED, GPM_E_BUSY, "the file is locked"},
    {SQLITE_NOMEM, GPM_E_NOMEM, "out of memory"},
    {SQLITE_TOOBIG, GPM_E_LIMIT, "a value is too large"},
    {SQLITE_INTERRUPT, GPM_E_INTERRUPT, "interrupted"},
};

static enum gpm_status sql_error(struct memo *m, int rc, const char *doing, struct buf *err) {
    const char *text = m->db ? sqlite3_errmsg(db_of(m)) : sqlite3_errstr(rc);
    enum gpm_status st = GPM_E_IO;
    int sys = m->db ? sqlite3_system_errno(db_of(m)) : 0;
    if (rc == SQLITE_INTERRUPT && m->steps > m->max_steps) rc = SQLITE_CORRUPT;
    for (size_t i = 0; i < COUNT_OF(sql_errors); i++)
        if (sql_errors[i].code == (rc & 0xff)) {
            text = sql_errors[i].text;
            st = sql_errors[i].status;
        }
    buf_printf(err, "%s '%s': cannot %s: ", m->kind->noun, m->path, doing);
    bool told = (rc & 0xff) == SQLITE_CANTOPEN || (rc & 0xff) == SQLITE_CORRUPT;
    if (!told || !sqlite_files_why(err)) buf_puts(err, text);
    if ((rc & 0xff) == SQLITE_IOERR && sys) buf_printf(err, " (%s)", strerror(sys));
    return st;
}

static enum gpm_status exec(struct memo *m, const char *sql, const char *doing, struct buf *err) {
    m->steps = 0;
    int rc = sqlite3_exec(db_of(m), sql, NULL, NULL, NULL);
    return rc == SQLITE_OK ? GPM_OK : sql_error(m, rc, doing, err);
}

/* ---- statements ---- */

/* Statements stay with the connection until it closes, because preparing them costs more than
 * running them. Returns an idle one, or NULL. */
static sqlite3_stmt *idle_statement(struct memo *m, const char *sql) {
    sqlite3_stmt *st = sqlite3_next_stmt(db_of(m), NULL);
    while (st && (sqlite3_stmt_busy(st) || strcmp(sqlite3_sql(st), sql) != 0))
        st = sqlite3_next_stmt(db_of(m), st);
    return st;
}

static void bind(sqlite3_stmt *st, int at, const struct memo_param *p) {
    switch (p->kind) {
    case PARAM_INT: sqlite3_bind_int64(st, at, p->i); break;
    case PARAM_NUMBER: sqlite3_bind_double(st, at, p->d); break;
    case PARAM_TEXT: sqlite3_bind_text(st, at, p->p, -1, SQLITE_STATIC); break;
    case PARAM_BYTES: sqlite3_bind_blob(st, at, p->p, (int)p->n, SQLITE_STATIC); break;
    }
}

static enum gpm_status query(struct memo *m, const char *doing, const char *sql,
                             const struct memo_param *p, int n, struct memo_answer *out,
                             struct buf *err) {
    m->steps = 0;
    sqlite3_stmt *st = idle_statement(m, sql);
    int rc = st ? SQLITE_OK : sqlite3_prepare_v2(db_of(m), sql, -1, &st, NULL);
    if (rc != SQLITE_OK) return sql_error(m, rc, doing, err);
    for (int i = 0; i < n; i++) bind(st, i + 1, &p[i]);
    *out = (struct memo_answer){.at = st};
    m->doing = doing;
    return GPM_OK;
}

static enum gpm_status next(struct memo *m, struct memo_answer *a, bool *row, struct buf *err) {
    int rc = sqlite3_step(a->at);
    *row = rc == SQLITE_ROW;
    return *row || rc == SQLITE_DONE ? GPM_OK : sql_error(m, rc, m->doing, err);
}

static void done(struct memo_answer *a) {
    sqlite3_reset(a->at);
}

static enum cell_kind kind(const struct memo_answer *a, int col) {
    switch (sqlite3_column_type(a->at, col)) {
    case SQLITE_INTEGER: return CELL_INT;
    case SQLITE_FLOAT: return CELL_NUMBER;
    case SQLITE_TEXT: return CELL_TEXT;
    case SQLITE_BLOB: return CELL_BYTES;
    default: return CELL_NULL;
    }
}

static int64_t integer(const struct memo_answer *a, int col) {
    return sqlite3_column_int64(a->at, col);
}

static double number(const struct memo_answer *a, int col) {
    return sqlite3_column_double(a->at, col);
}

static const void *bytes(const struct memo_answer *a, int col, size_t *n) {
    const void *p = sqlite3_column_type(a->at, col) == SQLITE_TEXT
                        ? (const void *)sqlite3_column_text(a->at, col)
                        : sqlite3_column_blob(a->at, col);
    *n = (size_t)sqlite3_column_bytes(a->at, col);
    return p;
}

/* ---- transactions ---- */

/* Results must reach the disk before they are used; claims need not. Not by `query`: SQLite sets
 * this while it reads the words, which are read once there. */
static enum gpm_status begin(struct memo *m, enum memo_intent to, struct buf *err) {
    enum gpm_status s = GPM_OK;
    bool durable = to == MEMO_TO_STORE;
    if (m->durable != durable) {
        m->durable = durable;
        s = exec(m, durable ? "PRAGMA synchronous=FULL" : "PRAGMA synchronous=NORMAL", "set it up",
                 err);
    }
    return s ? s : memo_do(m, "lock it", "BEGIN IMMEDIATE", NULL, err, "");
}

static enum gpm_status commit(struct memo *m, struct buf *err) {
    return memo_do(m, "store the result", "COMMIT", NULL, err, "");
}

static void rollback(struct memo *m) {
    if (!sqlite3_get_autocommit(db_of(m))) sqlite3_exec(db_of(m), "ROLLBACK", NULL, NULL, NULL);
}

static double now(struct memo *m) {
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Without notifications, a waiting process looks again soon. */
static void pause_a_little(struct memo *m, double seconds) {
    double s = seconds < 0.1 ? seconds : 0.1;
    nanosleep(&(struct timespec){.tv_nsec = (long)(1e9 * s)}, NULL);
}

/* ---- untrusted files ---- */

enum { STEPS_PER_LOOK = 20000, STEPS_AT_LEAST = 2000000, STEPS_PER_BYTE = 20 };
enum { MAX_CELL = 64 << 20 }; /* bytes; the longest text of ours is an optimiser's state */

static int64_t file_bytes(const struct memo *m, const char *suffix) {
    struct buf name = BUF_INIT;
    struct stat sb;
    buf_printf(&name, "%s%s", m->path, suffix);
    int64_t bytes = stat(name.data, &sb) == 0 ? sb.st_size : 0;
    buf_release(&name);
    return bytes;
}

/* Every so often while a statement runs; not 0 ends it. A statement of ours visits each row once
 * or twice and sorts at most once, and a row takes tens of bytes: more steps than this per byte of
 * the file mean pages that are met again and again. */
static int look(void *arg) {
    struct memo *m = arg;
    m->steps += STEPS_PER_LOOK;
    if (m->steps > m->max_steps) /* the file may have grown since */
        m->max_steps =
            STEPS_AT_LEAST + STEPS_PER_BYTE * (file_bytes(m, "") + file_bytes(m, "-wal"));
    return m->steps > m->max_steps || stop_asked(m->stop);
}

static void harden(struct memo *m) {
    static const struct {
        int option, on;
    } config[] = {{SQLITE_DBCONFIG_DEFENSIVE, 1},
                  {SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0},
                  {SQLITE_DBCONFIG_ENABLE_TRIGGER, 0},
                  {SQLITE_DBCONFIG_ENABLE_VIEW, 0}};
    for (size_t i = 0; i < COUNT_OF(config); i++)
        sqlite3_db_config(db_of(m), config[i].option, config[i].on, NULL);
    sqlite3_extended_result_codes(db_of(m), 1);
    sqlite3_limit(db_of(m), SQLITE_LIMIT_LENGTH, MAX_CELL);
    m->max_steps = strcmp(m->path, ":memory:") == 0 ? INT64_MAX : 0;
    sqlite3_progress_handler(db_of(m), STEPS_PER_LOOK, look, m);
}

/* ---- the file ---- */

static enum gpm_status read_int(struct memo *m, const char *sql, int *out, struct buf *err) {
    int64_t v = 0;
    enum gpm_status s = memo_do(m, "read the header", sql, &v, err, "");
    *out = v > INT_MAX ? INT_MAX : v < INT_MIN ? INT_MIN : (int)v;
    return s;
}

static enum gpm_status version(struct memo *m, int *version, struct buf *err) {
    /* one statement sees one state of the file, while another process may be creating the table */
    struct buf sql = BUF_INIT;
    buf_printf(&sql,
               "SELECT application_id <> %d AND (user_version <> 0 OR EXISTS(SELECT * FROM "
               "sqlite_schema)) FROM pragma_application_id, pragma_user_version",
               m->kind->application_id);
    int foreign = 0;
    enum gpm_status s = read_int(m, "PRAGMA user_version", version, err);
    if (!s) s = read_int(m, sql.data, &foreign, err);
    buf_release(&sql);
    if (s || !foreign) return s;
    return memo_fault(m, GPM_E_FORMAT, err,
                      "the file is an SQLite database of another program or kind; "
                      "name another file");
}

/* What a file of this version holds: tables, each with the columns that are read. Views,
 * triggers, virtual tables and computed columns are code from the file's author. A plain table has
 * a root page, the others do not. */
static enum gpm_status check(struct memo *m, struct buf *err) {
    int n = 0;
    enum gpm_status s = read_int(
        m,
        "SELECT count(*) FROM sqlite_schema WHERE type NOT IN ('table', 'index') OR rootpage < 1",
        &n, err);
    if (!s && n)
        s = memo_fault(m, GPM_E_FORMAT, err,
                       "it holds views, triggers or virtual tables, which gpmem does not make");
    if (m->version < m->kind->oldest || s) return s;
    for (const struct store_table *t = m->kind->table; t->name && !s; t++) {
        struct buf sql = BUF_INIT;
        buf_printf(
            &sql, "SELECT count(*) FROM pragma_table_xinfo('%s') WHERE hidden = 0 AND name IN (%s)",
            t->name, t->columns);
        s = read_int(m, sql.data, &n, err);
        buf_release(&sql);
        int absent = m->version >= t->added ? 0 : t->whole ? t->n : 1;
        if (!s && n == 0 && !absent)
            s = memo_fault(m, GPM_E_FORMAT, err, "a table is missing; the file is damaged");
        else if (!s && n != t->n - absent)
            s = memo_fault(m, GPM_E_FORMAT, err,
                           "a column is missing or computed; the file is damaged");
    }
    return s;
}

static enum store_sums sums(struct memo *m) {
    return sqlite_files_sums(db_of(m));
}

static enum gpm_status stamp(struct memo *m, struct buf *err) {
    struct buf sql = BUF_INIT;
    buf_printf(&sql, "PRAGMA user_version=%d; PRAGMA application_id=%d;", store_newest(m),
               m->kind->application_id);
    enum gpm_status s = exec(m, sql.data, "write the header", err);
    buf_release(&sql);
    return s;
}

/* WAL needs a shared-memory file beside the table; in a folder that cannot be written a table
 * without a pending log can still be read if SQLite is opened in immutable mode. */
static int open_immutable(struct memo *m) {
    if (file_bytes(m, "-wal") > 0) return SQLITE_CANTOPEN;
    struct buf uri = BUF_INIT;
    sqlite3_close(db_of(m));
    m->db = NULL;
    buf_puts(&uri, "file:");
    for (const char *p = m->path; *p; p++) {
        if (strchr("%?#", *p))
            buf_printf(&uri, "%%%02x", (unsigned char)*p);
        else
            buf_putc(&uri, *p);
    }
    buf_puts(&uri, "?immutable=1");
    sqlite3 *db = NULL;
    int rc = sqlite_files_open(uri.data, &db, SQLITE_OPEN_READONLY | SQLITE_OPEN_URI);
    m->db = db;
    if (rc == SQLITE_OK) harden(m);
    buf_release(&uri);
    return rc;
}

/* The change to WAL needs the file for itself, and SQLite does not wait for that: processes that
 * create one table together try again. */
static int use_wal(struct memo *m) {
    double end = clock_seconds() + BUSY_SECONDS;
    for (;;) {
        int rc = sqlite3_exec(db_of(m), "PRAGMA journal_mode=WAL", NULL, NULL, NULL);
        if ((rc & 0xff) != SQLITE_BUSY || clock_seconds() > end) return rc;
        nanosleep(&(struct timespec){.tv_nsec = 2000000}, NULL);
    }
}

static enum gpm_status open_store(struct memo *m, const struct memo_options *opt, struct buf *err) {
    int flags = opt->read_only ? SQLITE_OPEN_READONLY
                               : SQLITE_OPEN_READWRITE | (opt->function ? SQLITE_OPEN_CREATE : 0);
    struct stat sb;
    if (stat(m->path, &sb) == 0) {
        if (!S_ISREG(sb.st_mode)) /* SQLite would wait for the writer of a pipe without end */
            return memo_fault(m, GPM_E_IO, err, "%s; name a file",
                              S_ISDIR(sb.st_mode) ? "is a folder" : "is no regular file");
    } else if (!opt->function || opt->read_only)
        return memo_fault(m, GPM_E_IO, err, "%s", strerror(errno));
    sqlite3 *db = NULL;
    int rc = sqlite_files_open(m->path, &db, flags);
    m->db = db;
    if (rc != SQLITE_OK) return sql_error(m, rc, "open it", err);
    harden(m);
    sqlite3_busy_timeout(db_of(m), 1000 * BUSY_SECONDS);
    if (opt->read_only) {
        rc = sqlite3_exec(db_of(m), "SELECT count(*) FROM sqlite_schema", NULL, NULL, NULL);
        if (((rc & 0xff) == SQLITE_CANTOPEN && !sqlite_files_odd()) ||
            (rc & 0xff) == SQLITE_READONLY)
            rc = open_immutable(m);
        return rc == SQLITE_OK ? GPM_OK : sql_error(m, rc, "read it", err);
    }
    if (sqlite3_db_readonly(db_of(m), "main") == 1)
        return sql_error(m, SQLITE_READONLY, "write to it", err);
    struct buf sql = BUF_INIT; /* means nothing where there is a page already */
    buf_printf(&sql, "PRAGMA page_size=%d", opt->page);
    enum gpm_status s = opt->page ? exec(m, sql.data, "open it", err) : GPM_OK;
    buf_release(&sql);
    if (s) return s;
    sqlite_files_sum(db_of(m));    /* after the size, which would take it back */
    if (!m->kept) rc = use_wal(m); /* a file that goes when it was read has none beside it */
    if (rc != SQLITE_OK) return sql_error(m, rc, "open it", err);
    /* FULL: a value is on the disk before it is used, even when the power fails. */
    return exec(m, "PRAGMA synchronous=FULL;", "open it", err);
}

static void close_store(struct memo *m) {
    for (sqlite3_stmt *st; m->db && (st = sqlite3_next_stmt(db_of(m), NULL));) sqlite3_finalize(st);
    sqlite3_close(db_of(m));
}

const struct memo_driver memo_sqlite = {
    .prefix = "",
    .open = open_store,
    .close = close_store,
    .version = version,
    .check = check,
    .stamp = stamp,
    .sums = sums,
    .exec = exec,
    .query = query,
    .next = next,
    .done = done,
    .kind = kind,
    .integer = integer,
    .number = number,
    .bytes = bytes,
    .begin = begin,
    .commit = commit,
    .rollback = rollback,
    .now = now,
    .wait = pause_a_little,
};
