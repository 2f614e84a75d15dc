/* SPDX-License-Identifier: Apache-2.0
 *
 * The memo table on disk: one SQLite file that remembers every evaluation of one source function,
 * shared by any number of processes. A point goes absent -> claimed -> done or failed; a claim is
 * offered again if its owner died, or did not renew it in time. A server's clock decides; for a
 * file the waiting process measures, since the clocks of machines differ. A result is on the disk
 * (WAL, synchronous=FULL) before memo_finish returns, so a value that was used is never lost.
 *
 * Use: memo_open, then for each input memo_claim; on MEMO_OURS evaluate and memo_finish or
 * memo_fail; on MEMO_BUSY look again later. Keys are the exact bits of the inputs (-0 is 0).
 *
 * Conventions: every call that can fail returns a status and appends one line to `err` that says
 * what happened, why, and what to do. GPM_E_IO: the disk (full, read-only, missing); GPM_E_FORMAT:
 * not a memo table, damaged, or made by a newer version; GPM_E_CONFLICT: the table of another
 * function or another number of inputs; GPM_E_BUSY: locked by others past the time-out.
 * A handle is used by one thread at a time, and must not be used on both sides of a fork. */
#ifndef STORE_MEMO_H
#define STORE_MEMO_H
#include "base/buf.h"
#include "base/map.h"
#include <gpmem/status.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

#define MEMO_VERSION 4 /* of the file; older ones are migrated, newer ones refused */

#define MEMO_GIVEN "given" /* tag of rows with values evaluated elsewhere */

enum memo_status {
    MEMO_ABSENT, /* no row */
    MEMO_CLAIMED,
    MEMO_DONE,
    MEMO_FAILED,
    MEMO_ASKED, /* given to an external evaluator; waits for a tell, never expires */
};

struct memo_options {
    const char *function; /* identity of the source function; NULL: as in the file */
    const char *names;    /* names of the inputs, separated by commas, for display; NULL: x1,x2.. */
    int dim;              /* number of inputs; 0: as in the file */
    bool read_only;
    double claim_seconds; /* how long a claim lasts without memo_renew; 0: 600, server 60 */
    const volatile sig_atomic_t *stop; /* ends a long statement; may be NULL */
    int page;                          /* page size of a new file; 0: the database's default */
    void (*say)(void *user, const char *text); /* called when waiting for a server; may be NULL */
    void *say_user;
    bool kept; /* it holds values that could not be stored (memo_keep_value) */
};

/* A handle. Other code may read the file's properties; the other fields belong to this folder. */
struct memo {
    char *path, *function; /* owned */
    const struct store_kind *kind;
    char *names; /* owned; comma separated */
    int dim;
    int version; /* of the file; lower than its kind's if read-only */
    double claim_seconds;
    const struct memo_driver *driver;
    void *db;          /* the driver's connection */
    const char *doing; /* purpose of the present statement, for messages */
    char *host;
    int lost_times;          /* consecutive losses of the connection */
    int depth;               /* of memo_begin */
    size_t seen;             /* number of rows in the last listing */
    size_t brought;          /* values kept beside it and imported when it was opened */
    bool read_only, durable; /* durable: synchronous=FULL is on */
    bool kept;
    struct map watched; /* others' claims in a file, by id: since when unchanged */
    void (*say)(void *user, const char *text);
    void *say_user;
    long pid;
    long long pid_start;
    unsigned char *key; /* scratch: 8 dim bytes */
    const volatile sig_atomic_t *stop;
    int64_t steps, max_steps; /* of SQLite's machine in this statement (sqlite.c) */
};

/* One row. Pointers are borrowed and valid only during the callback. */
struct memo_row {
    int64_t id, seq; /* seq: 1, 2, .. in the order of finishing; 0 while not finished */
    const double *x; /* dim inputs */
    int dim, rep;    /* rep: 0, 1, .. number of the replicate at this input */
    enum memo_status status;
    double y;                 /* NaN unless done */
    const char *outputs;      /* JSON of all numbers, if an evaluation gives several; or "" */
    const char *error;        /* of a failure, "" otherwise */
    double seconds;           /* wall time of the evaluation */
    double started, finished; /* seconds since 1970, 0 unknown; a claim: when it was renewed */
    double expires;           /* a claim: its duration; 0: never expires, 1: abandoned */
    const char *host;
    long pid;
    long long pid_start; /* ticks, 0 unknown */
    int attempts;
    const char *tag;
};

/* The outcome of memo_claim. `id` names the row for memo_finish and memo_fail. */
struct memo_claim {
    enum memo_claim_state {
        MEMO_OURS,         /* evaluate it, then memo_finish or memo_fail */
        MEMO_KNOWN,        /* y holds the stored value */
        MEMO_KNOWN_FAILED, /* failed before; the failure's text was appended to err */
        MEMO_BUSY,         /* another process works on it */
    } state;
    int64_t id;
    double y;
};

/* Makes the file if it does not exist and the function is given. */
GPM_MUST_USE enum gpm_status memo_open(struct memo **out, const char *path,
                                       const struct memo_options *opt, struct buf *err);
void memo_close(struct memo *m); /* m may be NULL */

/* Claims x atomically. */
GPM_MUST_USE enum gpm_status memo_claim(struct memo *m, const double *x, struct memo_claim *out,
                                        struct buf *err);
/* Adds a row at x regardless of existing ones: claimed by us, or asked, for an external
 * evaluation. */
GPM_MUST_USE enum gpm_status memo_new_row(struct memo *m, const double *x, bool asked, int64_t *id,
                                          struct buf *err);
/* Extends our claim on the row (heartbeat of a long evaluation). */
GPM_MUST_USE enum gpm_status memo_renew(struct memo *m, int64_t id, struct buf *err);
/* Takes over any void claim (owner dead, or expired); *found is false if there is no such claim. x:
 * dim inputs, as originally requested. */
GPM_MUST_USE enum gpm_status memo_reclaim(struct memo *m, bool *found, int64_t *id, double *x,
                                          struct buf *err);
/* Makes our claim void at once, so that memo_reclaim can take it. */
GPM_MUST_USE enum gpm_status memo_abandon(struct memo *m, int64_t id, struct buf *err);
/* Returns a claim without a result: deletes the row. */
GPM_MUST_USE enum gpm_status memo_unclaim(struct memo *m, int64_t id, struct buf *err);
/* Stores y (finite) and, as a JSON object, all numbers where there are several (outputs, else
 * NULL); or a failure with its text. *stored (may be NULL) gets the value that now
 * counts: y, or the one another process stored first after our claim ran out. Durable on return. */
GPM_MUST_USE enum gpm_status memo_finish(struct memo *m, int64_t id, double y, const char *outputs,
                                         const char *error, double seconds, double *stored,
                                         struct buf *err);
/* After memo_finish failed: keeps an evaluated value in a file beside the store (for a server in
 * the user's state folder), and reports in err where. The next memo_open with write access imports
 * it. */
void memo_keep_value(struct memo *m, int64_t id, const double *x, double y, const char *outputs,
                     double seconds, struct buf *err);
/* Adds a finished row (error NULL) or a failed one, tagged MEMO_GIVEN; as a replicate if x exists
 * and `replicate` is set. Otherwise an existing done row with the same y is kept, and one with
 * another y gives GPM_E_CONFLICT. *added: a row was added. */
GPM_MUST_USE enum gpm_status memo_add(struct memo *m, const double *x, double y,
                                      const char *outputs, const char *error, double seconds,
                                      bool replicate, bool *added, struct buf *err);

/* Calls fn for the rows with seq > after (finished ones, in that order), or for all rows in order
 * of creation if after is -1; fn returns false to stop. */
typedef bool memo_row_fn(const struct memo_row *row, void *user);
GPM_MUST_USE enum gpm_status memo_each(struct memo *m, int64_t after, memo_row_fn *fn, void *user,
                                       struct buf *err);
GPM_MUST_USE enum gpm_status memo_row_by_id(struct memo *m, int64_t id, memo_row_fn *fn, void *user,
                                            struct buf *err);
/* Deletes one row; GPM_E_NOT_FOUND if missing. */
GPM_MUST_USE enum gpm_status memo_delete(struct memo *m, int64_t id, struct buf *err);

/* Named texts beside the table (the search space, the state of an optimiser). get: caller frees
 * *value with mem_free; GPM_E_NOT_FOUND (without a message) when absent. */
GPM_MUST_USE enum gpm_status memo_get(struct memo *m, const char *key, char **value,
                                      struct buf *err);
GPM_MUST_USE enum gpm_status memo_set(struct memo *m, const char *key, const char *value,
                                      struct buf *err);
/* Several calls as one atomic step. begin takes the write lock. end commits if s (the status so
 * far, begin included) is GPM_OK, otherwise rolls back; returns the first failure. The calls above
 * nest inside. */
GPM_MUST_USE enum gpm_status memo_begin(struct memo *m, struct buf *err);
GPM_MUST_USE enum gpm_status memo_end(struct memo *m, enum gpm_status s, struct buf *err);

const char *memo_status_name(enum memo_status s); /* "done", "failed", .. */
/* Waits until another process may have stored a value, at most that long. */
void memo_wait(struct memo *m, double seconds);
/* Copies all rows and texts to a new store. */
GPM_MUST_USE enum gpm_status memo_copy(struct memo *from, const char *path, size_t *rows,
                                       struct buf *err);
/* Reads all pages of a file. */
GPM_MUST_USE enum gpm_status memo_check(struct memo *m, struct buf *err);
/* Do the pages of the server, or those read of the file, have checksums? */
bool memo_summed(struct memo *m);
/* After status s, outside of memo_begin: the connection to a server was lost and there is a new
 * one, so the call can be repeated. Removes what err got beyond `said` bytes. memo_claim,
 * memo_reclaim, memo_renew, memo_finish, memo_set and all reading calls retry themselves.
 * memo_new_row, memo_add and memo_delete do not, since their effect may have been stored. */
GPM_MUST_USE bool memo_again(struct memo *m, enum gpm_status s, size_t said, struct buf *err);
bool memo_there(const char *path);   /* is there a store that can be opened? */
bool memo_is_file(const char *path); /* otherwise the name of a server's store: postgresql://... */
#endif
