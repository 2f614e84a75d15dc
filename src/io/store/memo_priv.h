/* SPDX-License-Identifier: Apache-2.0
 * Shared by the files of the memo table: error texts, small SQL helpers. */
#ifndef STORE_MEMO_PRIV_H
#define STORE_MEMO_PRIV_H
#include "io/store/driver.h"

enum gpm_status memo_exec(struct memo *m, const char *sql, const char *doing, struct buf *err);
/* Writes "memo table 'runs.db': " and the problem; returns the given status. */
enum gpm_status memo_fault(struct memo *m, enum gpm_status s, struct buf *err, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));
/* A statement with its parameters, one letter of `kinds` each: i int64_t, d double (NaN: NULL), s
 * text and b bytes (pointer, size_t) that live as long as the statement; without an argument k: the
 * key in m->key, and o: our identity (started, expires, host, pid, pid_start). Ended by memo_done,
 * also after a failure. */
enum gpm_status memo_query(struct memo *m, const char *doing, const char *sql,
                           struct memo_answer *a, struct buf *err, const char *kinds, ...);
/* Runs a statement that gives at most one row. *id (may be NULL): the number in its first cell, 0
 * without a row. */
enum gpm_status memo_do(struct memo *m, const char *doing, const char *sql, int64_t *id,
                        struct buf *err, const char *kinds, ...);
/* *row: another row is available. */
enum gpm_status memo_next(struct memo *m, struct memo_answer *a, bool *row, struct buf *err);
void memo_done(struct memo *m, struct memo_answer *a);

/* The columns of one row. A file may hold any values whatever its schema, so these are the only
 * readers of a column (a test checks that). They check type, NULL and range, and keep the first
 * fault in `wrong`. Values of a row with a fault must not be used. */
struct memo_cells {
    struct memo *m;
    const struct memo_answer *a;
    const char *wrong; /* "has no such state", or NULL */
};
int64_t cell_int(struct memo_cells *c, int col, int64_t lo, int64_t hi, const char *wrong);
double cell_number(struct memo_cells *c, int col, double absent, const char *wrong); /* finite */
const char *cell_text(struct memo_cells *c, int col, const char *wrong); /* borrowed, never NULL */
/* Bytes, borrowed; *n of them. */
const void *cell_blob(struct memo_cells *c, int col, size_t *n, const char *wrong);
void cell_inputs(struct memo_cells *c, int col, double *x, int dim);

/* Writes a row unchanged, with its number; a claim becomes void. */
enum gpm_status memo_put_row(struct memo *m, const struct memo_row *r, struct buf *err);
/* Stores the value of a row kept elsewhere, unless its point has one. */
enum gpm_status memo_take_value(struct memo *m, const struct memo_row *r, bool *taken,
                                struct buf *err);
enum gpm_status memo_bring_in(struct memo *m, struct buf *err);

void memo_who(struct memo *m); /* this process: host, pid, pid_start */
/* Key of an input: big-endian bits of each coordinate, -0 as 0. */
void memo_key(unsigned char *key, const double *x, int dim);

double memo_now(struct memo *m);    /* seconds since 1970; for a file by this machine's clock */
long long memo_pid_start(long pid); /* start time of a process in ticks, 0 unknown, -1 gone */
/* A text beside the table, from `meta` or `state`; *out owned, NULL if missing. */
enum gpm_status memo_text(struct memo *m, const char *sql, const char *key, char **out,
                          struct buf *err);
#endif
