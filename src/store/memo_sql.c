/* SPDX-License-Identifier: Apache-2.0
 * Small SQL helpers of the memo table, and the words for SQLite's errors. */
#include "store/memo_priv.h"
#include "base/mem.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
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
    {SQLITE_TOOBIG, GPM_E_LIMIT, "a value is too large to store"},
};

enum gpm_status memo_sql_error(struct memo *m, int rc, const char *doing, struct buf *err) {
    const char *text = m->db ? sqlite3_errmsg(m->db) : sqlite3_errstr(rc);
    enum gpm_status st = GPM_E_IO;
    int sys = m->db ? sqlite3_system_errno(m->db) : 0;
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
    int rc = sqlite3_exec(m->db, sql, NULL, NULL, NULL);
    return rc == SQLITE_OK ? GPM_OK : memo_sql_error(m, rc, doing, err);
}

enum gpm_status memo_prepare(struct memo *m, const char *sql, sqlite3_stmt **st, const char *doing,
                             struct buf *err) {
    int rc = sqlite3_prepare_v2(m->db, sql, -1, st, NULL);
    return rc == SQLITE_OK ? GPM_OK : memo_sql_error(m, rc, doing, err);
}

enum gpm_status memo_step_done(struct memo *m, sqlite3_stmt *st, const char *doing,
                               struct buf *err) {
    int rc = sqlite3_step(st);
    enum gpm_status status = GPM_OK;
    if (rc != SQLITE_DONE && rc != SQLITE_ROW) status = memo_sql_error(m, rc, doing, err);
    sqlite3_finalize(st);
    return status;
}

void memo_key(unsigned char *key, const double *x, int dim) {
    for (int j = 0; j < dim; j++) {
        double v = x[j] == 0 ? 0 : x[j];
        uint64_t bits;
        memcpy(&bits, &v, sizeof bits);
        for (int b = 0; b < 8; b++) key[8 * j + b] = (unsigned char)(bits >> (56 - 8 * b));
    }
}

void memo_unkey(double *x, const unsigned char *key, int dim) {
    for (int j = 0; j < dim; j++) {
        uint64_t bits = 0;
        for (int b = 0; b < 8; b++) bits = bits << 8 | key[8 * j + b];
        memcpy(&x[j], &bits, sizeof bits);
    }
}

double memo_now(void) {
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Field 22 of /proc/PID/stat; the command name before it may hold spaces and brackets. */
long long memo_pid_start(long pid) {
    char path[64], text[1024];
    snprintf(path, sizeof path, "/proc/%ld/stat", pid);
    FILE *f = fopen(path, "r");
    if (!f) return errno == ENOENT && access("/proc/self/stat", R_OK) == 0 ? -1 : 0;
    size_t n = fread(text, 1, sizeof text - 1, f);
    fclose(f);
    text[n] = 0;
    char *p = strrchr(text, ')'), state = 0;
    long long start = 0;
    if (!p || sscanf(p + 1,
                     " %c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d "
                     "%*d %*d %lld",
                     &state, &start) != 2)
        return 0;
    return state == 'Z' || state == 'X' ? -1 : start;
}
