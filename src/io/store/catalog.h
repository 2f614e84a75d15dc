/* SPDX-License-Identifier: Apache-2.0
 *
 * An index of series on disk: one SQLite file, or tables on a PostgreSQL server. A series has a
 * name of its own, where it came from, a hash of what it was made of, and a sketch, whose bytes
 * mean nothing here. Structures are numbered in a dictionary. What a search reads of every series
 * lies apart, in blocks of CATALOG_BLOCK series with several parts: writing a series drops its
 * block, catalog_settle makes the missing ones.
 *
 * Rows are numbered in the order in which they are written, so the same series in the same order
 * make the same rows, whatever happened between. Calls append one line to `err` when they fail.
 * A handle is used by one thread at a time.
 */
#ifndef STORE_CATALOG_H
#define STORE_CATALOG_H
#include "base/buf.h"
#include <gpmem/status.h>
#include <stdbool.h>
#include <stdint.h>

#define CATALOG_VERSION 3 /* of the file; older ones are read, and migrated when written to */
#define CATALOG_BLOCK   4096

struct catalog;
enum catalog_mode { CATALOG_READ, CATALOG_WRITE, CATALOG_CREATE };
GPM_MUST_USE enum gpm_status catalog_open(struct catalog **out, const char *path,
                                          enum catalog_mode mode, struct buf *err);
void catalog_close(struct catalog *c);

/* Everything between them is stored, or nothing is. */
GPM_MUST_USE enum gpm_status catalog_begin(struct catalog *c, struct buf *err);
GPM_MUST_USE enum gpm_status catalog_end(struct catalog *c, enum gpm_status s, struct buf *err);

/* ---- structures ---- */
/* The number of a structure, from 1 on, made where it is new; 0: it could not be stored. */
uint32_t catalog_structure(struct catalog *c, const char *text, struct buf *err);
const char *catalog_structure_text(const struct catalog *c, uint32_t number); /* NULL: none */
uint32_t catalog_structures(const struct catalog *c);                         /* the largest */

/* ---- texts beside it ---- */
/* *value owned, or NULL if missing. */
GPM_MUST_USE enum gpm_status catalog_text(struct catalog *c, const char *key, char **value,
                                          struct buf *err);
GPM_MUST_USE enum gpm_status catalog_set_text(struct catalog *c, const char *key, const char *value,
                                              struct buf *err);

/* ---- series ---- */
/* Texts and bytes are borrowed: by catalog_put, and from rows that are read until the callback
 * returns. */
struct catalog_row {
    int64_t id;
    const char *name, *source, *hash, *words, *made; /* made: seed, version, what was searched */
    int64_t n;                                       /* values */
    const void *posting, *sketch;                    /* posting: structures, probabilities */
    size_t n_posting, n_sketch;
};
/* A new series, or another one in the place of that of its name. */
GPM_MUST_USE enum gpm_status catalog_put(struct catalog *c, const struct catalog_row *r,
                                         struct buf *err);
/* *found: there is one of this name; hash and source of it into buffers. */
GPM_MUST_USE enum gpm_status catalog_find(struct catalog *c, const char *name, bool *found,
                                          struct buf *hash, struct buf *source, struct buf *err);
/* The number of a name; 0 if missing. */
GPM_MUST_USE enum gpm_status catalog_number(struct catalog *c, const char *name, int64_t *id,
                                            struct buf *err);
GPM_MUST_USE enum gpm_status catalog_remove(struct catalog *c, const char *name, bool *found,
                                            struct buf *err);
/* Every row in the order of their numbers, or the one with this number (0: all). The callback's
 * failure ends it. */
typedef enum gpm_status (*catalog_fn)(void *ctx, const struct catalog_row *r, struct buf *err);
GPM_MUST_USE enum gpm_status catalog_each(struct catalog *c, int64_t id, catalog_fn each, void *ctx,
                                          struct buf *err);
/* The sketch of one series; *found: there is one of this number. */
GPM_MUST_USE enum gpm_status catalog_sketch(struct catalog *c, int64_t id, bool *found,
                                            struct buf *sketch, struct buf *err);

/* ---- work that several processes share on a server ---- */
/* *ours: no other process works on this series, or its claim has expired; always true for a
 * file. */
GPM_MUST_USE enum gpm_status catalog_claim(struct catalog *c, const char *name, bool *ours,
                                           struct buf *err);
void catalog_set_claim(struct catalog *c, double seconds); /* that a claim lasts; 300 */
double catalog_claim_lasts(const struct catalog *c);
/* All that this process has last from now on. */
GPM_MUST_USE enum gpm_status catalog_renew(struct catalog *c, struct buf *err);
GPM_MUST_USE enum gpm_status catalog_unclaim(struct catalog *c, const char *name, struct buf *err);
void catalog_wait(struct catalog *c, double seconds); /* until a process stored a value */
/* After a failure outside of a transaction: is there a new connection, to try again? */
GPM_MUST_USE bool catalog_again(struct catalog *c, enum gpm_status s, size_t said, struct buf *err);
bool catalog_is_file(const char *path); /* else the name of a server's: postgresql://... */

/* ---- what could not be indexed ---- */
GPM_MUST_USE enum gpm_status catalog_refuse(struct catalog *c, const char *name, const char *source,
                                            const char *why, struct buf *err);
typedef void (*catalog_refused_fn)(void *ctx, const char *name, const char *source,
                                   const char *why);
GPM_MUST_USE enum gpm_status catalog_refused(struct catalog *c, catalog_refused_fn each, void *ctx,
                                             struct buf *err);

/* ---- blocks ---- */
#define CATALOG_PARTS 64
/* A maker with knowledge of the parts' contents appends the records of a row, or of a number
 * without a row (NULL), to each of them. */
struct catalog_maker {
    int parts;
    enum gpm_status (*make)(void *ctx, const struct catalog_row *r, struct buf *part,
                            struct buf *err);
    void *ctx;
};
/* Of the series first + 1 ... first + CATALOG_BLOCK or the last one. */
struct catalog_block {
    int64_t first;
    const void *part[CATALOG_PARTS]; /* NULL: not wanted */
    size_t bytes[CATALOG_PARTS];
};
/* Every block in order with the wanted parts, a bit each; what is missing is made, not stored. */
typedef enum gpm_status (*catalog_block_fn)(void *ctx, const struct catalog_block *b,
                                            struct buf *err);
GPM_MUST_USE enum gpm_status catalog_blocks(struct catalog *c, const struct catalog_maker *maker,
                                            uint64_t wanted, catalog_block_fn each, void *ctx,
                                            struct buf *err);
GPM_MUST_USE enum gpm_status catalog_settle(struct catalog *c, const struct catalog_maker *maker,
                                            struct buf *err);
/* Drops all of them. */
GPM_MUST_USE enum gpm_status catalog_forget(struct catalog *c, struct buf *err);

/* Checks the file as SQLite does; a complaint into err. */
GPM_MUST_USE enum gpm_status catalog_check(struct catalog *c, struct buf *err);
bool catalog_summed(struct catalog *c); /* have its pages checksums? */
/* Without gaps: in place, or as a copy to a file that is not there yet. Copies of equal contents
 * are equal byte for byte; in place the file's own count of changes goes on. */
GPM_MUST_USE enum gpm_status catalog_compact(struct catalog *c, const char *copy, struct buf *err);
#endif
