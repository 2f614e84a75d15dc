/* SPDX-License-Identifier: Apache-2.0
 * Small SQL helpers of the memo table, and the words for SQLite's errors. */
#include "store/memo_priv.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/stop.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

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

enum gpm_status memo_sql_error(struct memo *m, int rc, const char *doing, struct buf *err) {
    const char *text = m->db ? sqlite3_errmsg(m->db) : sqlite3_errstr(rc);
    enum gpm_status st = GPM_E_IO;
    int sys = m->db ? sqlite3_system_errno(m->db) : 0;
    if (rc == SQLITE_INTERRUPT && m->steps > m->max_steps) rc = SQLITE_CORRUPT;
    for (size_t i = 0; i < COUNT_OF(sql_errors); i++)
        if (sql_errors[i].code == (rc & 0xff)) {
            text = sql_errors[i].text;
            st = sql_errors[i].status;
        }
    buf_printf(err, "memo table '%s': cannot %s: %s", m->path, doing, text);
    if ((rc & 0xff) == SQLITE_IOERR && sys) buf_printf(err, " (%s)", strerror(sys));
    return st;
}

enum gpm_status memo_exec(struct memo *m, const char *sql, const char *doing, struct buf *err) {
    m->steps = 0;
    int rc = sqlite3_exec(m->db, sql, NULL, NULL, NULL);
    return rc == SQLITE_OK ? GPM_OK : memo_sql_error(m, rc, doing, err);
}

enum gpm_status memo_fault(struct memo *m, enum gpm_status s, struct buf *err, const char *fmt,
                           ...) {
    va_list ap;
    va_start(ap, fmt);
    buf_printf(err, "memo table '%s': ", m->path);
    buf_vprintf(err, fmt, ap);
    va_end(ap);
    return s;
}

static void bind_owner(struct memo *m, sqlite3_stmt *st, int at) {
    double now = memo_now();
    sqlite3_bind_double(st, at, now);
    sqlite3_bind_double(st, at + 1, now + m->claim_seconds);
    sqlite3_bind_text(st, at + 2, m->host, -1, SQLITE_STATIC);
    sqlite3_bind_int64(st, at + 3, m->pid);
    sqlite3_bind_int64(st, at + 4, m->pid_start);
}

/* Statements stay with the connection until it closes: reading their words anew costs more than
 * running them. One that nobody is at, or NULL. */
static sqlite3_stmt *idle_statement(struct memo *m, const char *sql) {
    sqlite3_stmt *st = sqlite3_next_stmt(m->db, NULL);
    while (st && (sqlite3_stmt_busy(st) || strcmp(sqlite3_sql(st), sql) != 0))
        st = sqlite3_next_stmt(m->db, st);
    return st;
}

static enum gpm_status query(struct memo *m, const char *doing, const char *sql, sqlite3_stmt **st,
                             struct buf *err, const char *kinds, va_list ap) {
    m->steps = 0;
    *st = idle_statement(m, sql);
    int rc = *st ? SQLITE_OK : sqlite3_prepare_v2(m->db, sql, -1, st, NULL), at = 1;
    if (rc != SQLITE_OK) return memo_sql_error(m, rc, doing, err);
    for (; *kinds; kinds++, at++) switch (*kinds) {
        case 'i': sqlite3_bind_int64(*st, at, va_arg(ap, int64_t)); break;
        case 'd': sqlite3_bind_double(*st, at, va_arg(ap, double)); break;
        case 's': sqlite3_bind_text(*st, at, va_arg(ap, const char *), -1, SQLITE_STATIC); break;
        case 'k': sqlite3_bind_blob(*st, at, m->key, 8 * m->dim, SQLITE_STATIC); break;
        default: bind_owner(m, *st, at), at += 4;
        }
    return GPM_OK;
}

enum gpm_status memo_query(struct memo *m, const char *doing, const char *sql, sqlite3_stmt **st,
                           struct buf *err, const char *kinds, ...) {
    va_list ap;
    va_start(ap, kinds);
    enum gpm_status s = query(m, doing, sql, st, err, kinds, ap);
    va_end(ap);
    return s;
}

enum gpm_status memo_do(struct memo *m, const char *doing, const char *sql, struct buf *err,
                        const char *kinds, ...) {
    sqlite3_stmt *st = NULL;
    va_list ap;
    va_start(ap, kinds);
    enum gpm_status s = query(m, doing, sql, &st, err, kinds, ap);
    va_end(ap);
    int rc = s ? SQLITE_DONE : sqlite3_step(st);
    if (rc != SQLITE_DONE && rc != SQLITE_ROW) s = memo_sql_error(m, rc, doing, err);
    sqlite3_reset(st);
    return s;
}

enum gpm_status memo_next(struct memo *m, sqlite3_stmt *st, bool *row, struct buf *err) {
    int rc = sqlite3_step(st);
    *row = rc == SQLITE_ROW;
    return *row || rc == SQLITE_DONE ? GPM_OK : memo_sql_error(m, rc, "read it", err);
}

/* ---- the columns of a row ---- */

int64_t cell_int(struct memo_cells *c, int col, int64_t lo, int64_t hi, const char *wrong) {
    int type = sqlite3_column_type(c->st, col);
    int64_t v = type == SQLITE_INTEGER ? sqlite3_column_int64(c->st, col) : 0;
    bool good = (type == SQLITE_INTEGER || type == SQLITE_NULL) && v >= lo && v <= hi;
    if (!good && !c->wrong) c->wrong = wrong;
    return good ? v : lo;
}

double cell_number(struct memo_cells *c, int col, double absent, const char *wrong) {
    int type = sqlite3_column_type(c->st, col);
    if (type == SQLITE_NULL) return absent;
    double v = type == SQLITE_FLOAT || type == SQLITE_INTEGER ? sqlite3_column_double(c->st, col)
                                                              : INFINITY;
    if (!isfinite(v) && !c->wrong) c->wrong = wrong;
    return isfinite(v) ? v : absent;
}

const char *cell_text(struct memo_cells *c, int col, const char *wrong) {
    const char *s = NULL;
    if (sqlite3_column_type(c->st, col) == SQLITE_TEXT)
        s = (const char *)sqlite3_column_text(c->st, col);
    if (s && strlen(s) == (size_t)sqlite3_column_bytes(c->st, col)) return s;
    if (!c->wrong) c->wrong = wrong;
    return "";
}

static void unkey(double *x, const unsigned char *key, int dim) {
    for (int j = 0; j < dim; j++) {
        uint64_t bits = 0;
        for (int b = 0; b < 8; b++) bits = bits << 8 | key[8 * j + b];
        memcpy(&x[j], &bits, sizeof bits);
    }
}

void cell_inputs(struct memo_cells *c, int col, double *x, int dim) {
    const void *key = NULL;
    if (sqlite3_column_type(c->st, col) == SQLITE_BLOB) key = sqlite3_column_blob(c->st, col);
    if (key && sqlite3_column_bytes(c->st, col) == 8 * dim) {
        unkey(x, key, dim);
    } else {
        for (int j = 0; j < dim; j++) x[j] = 0;
        if (!c->wrong) c->wrong = "has the wrong number of inputs";
    }
    for (int j = 0; j < dim; j++)
        if (!isfinite(x[j]) && !c->wrong) c->wrong = "has an input that is no number";
}

enum gpm_status memo_text(struct memo *m, const char *sql, const char *key, char **out,
                          struct buf *err) {
    sqlite3_stmt *st = NULL;
    bool row;
    *out = NULL;
    enum gpm_status s = memo_query(m, "read it", sql, &st, err, "s", key);
    if (!s) s = memo_next(m, st, &row, err);
    struct memo_cells c = {.st = st};
    if (!s && row) {
        const char *text = cell_text(&c, 0, "is no text");
        if (!c.wrong) *out = mem_strdup(text);
    }
    if (c.wrong) s = memo_fault(m, GPM_E_FORMAT, err, "'%s' %s; the file is damaged", key, c.wrong);
    sqlite3_reset(st);
    return s;
}

/* ---- a file of anybody's ---- */

enum { STEPS_PER_LOOK = 20000, STEPS_AT_LEAST = 2000000, STEPS_PER_BYTE = 20 };
enum { MAX_CELL = 64 << 20 }; /* bytes; the longest text of ours is an optimiser's state */

int64_t memo_bytes(const struct memo *m, const char *suffix) {
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
            STEPS_AT_LEAST + STEPS_PER_BYTE * (memo_bytes(m, "") + memo_bytes(m, "-wal"));
    return m->steps > m->max_steps || stop_asked(m->stop);
}

void memo_harden(struct memo *m) {
    static const struct {
        int option, on;
    } config[] = {{SQLITE_DBCONFIG_DEFENSIVE, 1},
                  {SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0},
                  {SQLITE_DBCONFIG_ENABLE_TRIGGER, 0},
                  {SQLITE_DBCONFIG_ENABLE_VIEW, 0}};
    for (size_t i = 0; i < COUNT_OF(config); i++)
        sqlite3_db_config(m->db, config[i].option, config[i].on, NULL);
    sqlite3_extended_result_codes(m->db, 1);
    sqlite3_limit(m->db, SQLITE_LIMIT_LENGTH, MAX_CELL);
    m->max_steps = strcmp(m->path, ":memory:") == 0 ? INT64_MAX : 0;
    sqlite3_progress_handler(m->db, STEPS_PER_LOOK, look, m);
}

/* ---- keys, clocks, processes ---- */

void memo_key(unsigned char *key, const double *x, int dim) {
    for (int j = 0; j < dim; j++) {
        double v = x[j] == 0 ? 0 : x[j];
        uint64_t bits;
        memcpy(&bits, &v, sizeof bits);
        for (int b = 0; b < 8; b++) key[8 * j + b] = (unsigned char)(bits >> (56 - 8 * b));
    }
}

double memo_now(void) {
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Field 22 of /proc/PID/stat; the command name before it may hold spaces and brackets. */
long long memo_pid_start(long pid) {
    char path[64], state = 0;
    struct buf text = BUF_INIT;
    long long start = 0;
    snprintf(path, sizeof path, "/proc/%ld/stat", pid);
    enum gpm_status st = file_read(path, FILE_GIVEN, 4096, &text);
    const char *p = st ? NULL : strrchr(text.data, ')');
    bool known = p && sscanf(p + 1,
                             " %c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d "
                             "%*d %*d %lld",
                             &state, &start) == 2;
    if (st && !file_there(path) && file_there("/proc/self/stat"))
        start = -1;
    else if (!known)
        start = 0;
    else if (state == 'Z' || state == 'X')
        start = -1;
    buf_release(&text);
    return start;
}
