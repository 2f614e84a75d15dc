/* SPDX-License-Identifier: Apache-2.0
 * What the files of the memo table share: the handle, error texts, small SQL helpers. */
#ifndef STORE_MEMO_PRIV_H
#define STORE_MEMO_PRIV_H
#include "store/memo.h"
#include <sqlite3.h>

/* The status for an SQLite result code, with the reason in err ("runs.db: cannot store ..."). */
enum gpm_status memo_sql_error(struct memo *m, int rc, const char *doing, struct buf *err);
enum gpm_status memo_exec(struct memo *m, const char *sql, const char *doing, struct buf *err);
/* "memo table 'runs.db': " and what is wrong; the status given. */
enum gpm_status memo_fault(struct memo *m, enum gpm_status s, struct buf *err, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));
/* A statement with its parameters, one letter of `kinds` each: i int64_t, d double (NaN: NULL), s
 * text that lives as long as the statement; without an argument k: the key in m->key, and o: who we
 * are (started, expires, host, pid, pid_start). Reset by the caller, on failure NULL. */
enum gpm_status memo_query(struct memo *m, const char *doing, const char *sql, sqlite3_stmt **st,
                           struct buf *err, const char *kinds, ...);
/* The same for one that gives no row, run. */
enum gpm_status memo_do(struct memo *m, const char *doing, const char *sql, struct buf *err,
                        const char *kinds, ...);
/* *row: there is one more row to read. */
enum gpm_status memo_next(struct memo *m, sqlite3_stmt *st, bool *row, struct buf *err);
/* Before anything is read: the file may come from anybody, so no code of its schema runs, and no
 * statement takes longer than a file of its size can need. */
void memo_harden(struct memo *m);

/* The columns of one row. A file may hold anything, whatever its schema says, so these are the only
 * readers of a column (a test looks for others): they check type, NULL and range, and keep the
 * first fault in `wrong`. Values of a row with a fault are not to be used. */
struct memo_cells {
    sqlite3_stmt *st;
    const char *wrong; /* "has no such state"; NULL: nothing is wrong */
};
int64_t cell_int(struct memo_cells *c, int col, int64_t lo, int64_t hi, const char *wrong);
double cell_number(struct memo_cells *c, int col, double absent, const char *wrong); /* finite */
const char *cell_text(struct memo_cells *c, int col, const char *wrong); /* borrowed, never NULL */
void cell_inputs(struct memo_cells *c, int col, double *x, int dim);

/* Key of an input: big-endian bits of each coordinate, -0 as 0. */
void memo_key(unsigned char *key, const double *x, int dim);

double memo_now(void);              /* seconds since 1970 */
long long memo_pid_start(long pid); /* start time of a process in ticks, 0 unknown, -1 gone */
int64_t memo_bytes(const struct memo *m, const char *suffix); /* of the file; "-wal": its log */
/* A text beside the table, from `meta` or `state`; *out owned, NULL when there is none. */
enum gpm_status memo_text(struct memo *m, const char *sql, const char *key, char **out,
                          struct buf *err);
#endif
