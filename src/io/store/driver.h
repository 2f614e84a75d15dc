/* SPDX-License-Identifier: Apache-2.0
 *
 * The database under a memo table, which runs SQL. The statements are written once, in SQLite's
 * dialect; a driver translates the few that differ. SQLite (io/store/sqlite.c) is a file and the
 * default, PostgreSQL (io/store/postgres.c) a server that many machines share. */
#ifndef STORE_DRIVER_H
#define STORE_DRIVER_H
#include "io/store/memo.h"

/* A parameter of a statement. */
struct memo_param {
    enum { PARAM_INT, PARAM_NUMBER, PARAM_TEXT, PARAM_BYTES } kind;
    int64_t i;
    double d;      /* NaN: NULL */
    const void *p; /* a text, or n bytes; lives as long as the statement */
    size_t n;
};
enum { MEMO_PARAMS = 12 };

/* A running statement. Its rows are read one after the other; `done` ends it. */
struct memo_answer {
    void *at; /* the driver's, or NULL */
    int row;  /* the driver's */
};
enum cell_kind { CELL_NULL, CELL_INT, CELL_NUMBER, CELL_TEXT, CELL_BYTES };

/* The purpose of a transaction. A claim lost with the machine is offered again, but a result must
 * be safe before use, and rows are numbered in order (seq). */
enum memo_intent { MEMO_TO_CLAIM, MEMO_TO_STORE };

/* The contents of a store, for any database. */
struct store_table {
    const char *name, *columns; /* columns that are read: 'id', 'key', .. */
    int n;                      /* number of columns */
    int added;                  /* the version that added the last column */
    bool whole;                 /* or the table */
};
struct store_kind {
    const char *noun;         /* its name in messages: "memo table" */
    int application_id;       /* of an SQLite file */
    int version, oldest;      /* what is written; what can be read without migration. The last step
                                 migrates nothing: pages of such a file have checksums */
    const char *const *steps; /* step v migrates v to v + 1; a new store runs all */
    const struct store_table *table; /* of the latest version; the last one has no name */
};
/* If `make` is set, creates the tables of a new store (then calls `made`, which may be NULL).
 * Migrates tables of an older version, and checks them. */
GPM_MUST_USE enum gpm_status store_settle(struct memo *m, bool make,
                                          enum gpm_status (*made)(struct memo *m, const void *ctx,
                                                                  struct buf *err),
                                          const void *ctx, struct buf *err);
int store_newest(struct memo *m); /* the highest version possible for this store */
/* The names of the tables, as 'a', 'b', and their number. */
int store_tables(const struct store_kind *k, struct buf *names);

enum store_sums { STORE_SUMS_NONE, STORE_SUMS_MOST, STORE_SUMS_ALL };

struct memo_driver {
    const char *prefix; /* of the names of its stores */
    /* Connects; reads nothing yet. */
    enum gpm_status (*open)(struct memo *m, const struct memo_options *opt, struct buf *err);
    void (*close)(struct memo *m);
    /* version: of the tables, 0: none. check: are they as that version requires? stamp: writes
     * marks after the tables are made. */
    enum gpm_status (*version)(struct memo *m, int *version, struct buf *err);
    enum gpm_status (*prepare)(struct memo *m, struct buf *err); /* before making the tables */
    enum gpm_status (*check)(struct memo *m, struct buf *err);
    enum gpm_status (*stamp)(struct memo *m, struct buf *err);
    enum store_sums (*sums)(struct memo *m); /* do its pages have checksums, or will they? */
    /* After rows were added with given ids; or NULL. */
    enum gpm_status (*counted)(struct memo *m, struct buf *err);
    /* Statements without parameters or answers. */
    enum gpm_status (*exec)(struct memo *m, const char *sql, const char *doing, struct buf *err);
    enum gpm_status (*query)(struct memo *m, const char *doing, const char *sql,
                             const struct memo_param *p, int n, struct memo_answer *out,
                             struct buf *err);
    enum gpm_status (*next)(struct memo *m, struct memo_answer *a, bool *row, struct buf *err);
    void (*done)(struct memo_answer *a);
    /* A cell of the row. Texts and bytes are borrowed until the next row. */
    enum cell_kind (*kind)(const struct memo_answer *a, int col);
    int64_t (*integer)(const struct memo_answer *a, int col);
    double (*number)(const struct memo_answer *a, int col);
    const void *(*bytes)(const struct memo_answer *a, int col, size_t *n);
    enum gpm_status (*begin)(struct memo *m, enum memo_intent to, struct buf *err);
    enum gpm_status (*commit)(struct memo *m, struct buf *err);
    void (*rollback)(struct memo *m); /* does nothing without an open transaction */
    double (*now)(struct memo *m);    /* seconds since 1970, by a server's clock if there is one */
    /* Waits until a process has stored a value, or for so many seconds; may return early. */
    void (*wait)(struct memo *m, double seconds);
    /* After a failure: was the connection lost, and is there a new one? Then uncommitted work can
     * be retried. NULL: connections are never lost. */
    bool (*again)(struct memo *m);
};
extern const struct memo_driver memo_sqlite, memo_postgres;
/* The driver for a store of this name. */
const struct memo_driver *memo_driver_of(const char *path);
#endif
