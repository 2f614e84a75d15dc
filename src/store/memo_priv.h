/* SPDX-License-Identifier: Apache-2.0
 * What the files of the memo table share: the handle, error texts, small SQL helpers. */
#ifndef STORE_MEMO_PRIV_H
#define STORE_MEMO_PRIV_H
#include "store/memo.h"
#include <sqlite3.h>

struct memo {
    sqlite3 *db;
    char *path, *function, *names, *host;
    int dim;
    int depth;               /* of memo_begin */
    bool read_only, durable; /* durable: synchronous=FULL is on */
    double claim_seconds;
    long pid;
    long long pid_start;
    unsigned char *key; /* scratch: 8 dim bytes */
    double *x;          /* scratch: dim inputs */
};

/* The status for an SQLite result code, with the reason in err ("runs.db: cannot store ..."). */
enum gpm_status memo_sql_error(struct memo *m, int rc, const char *doing, struct buf *err);
enum gpm_status memo_exec(struct memo *m, const char *sql, const char *doing, struct buf *err);
enum gpm_status memo_prepare(struct memo *m, const char *sql, sqlite3_stmt **st, const char *doing,
                             struct buf *err);
/* Steps a statement that gives no row, finalizes it. */
enum gpm_status memo_step_done(struct memo *m, sqlite3_stmt *st, const char *doing,
                               struct buf *err);
/* Schema: creates the tables in an empty file, migrates older ones, checks identity. */
enum gpm_status memo_schema(struct memo *m, const struct memo_options *opt, struct buf *err);

/* Key of an input: big-endian bits of each coordinate, -0 as 0. */
void memo_key(unsigned char *key, const double *x, int dim);
void memo_unkey(double *x, const unsigned char *key, int dim);

double memo_now(void);              /* seconds since 1970 */
long long memo_pid_start(long pid); /* start time of a process in ticks, 0 unknown, -1 gone */
/* A row that this program did not write: GPM_E_FORMAT and what is wrong with it. */
enum gpm_status memo_damaged(struct memo *m, int64_t id, const char *what, struct buf *err);
#endif
