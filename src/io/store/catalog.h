/* SPDX-License-Identifier: Apache-2.0
 *
 * An index of series on disk: one SQLite file, or tables on a PostgreSQL server. A series has a
 * unique name, a source, a hash of its input, and a sketch, whose bytes are opaque here. Structures
 * are numbered in a dictionary. The data a search reads of every series are separate, in blocks of
 * CATALOG_BLOCK series with several parts. Writing a series drops its block; catalog_settle makes
 * missing ones.
 *
 * Rows are numbered in the order of writing, so the same series in the same order give the same
 * rows. Calls append one line to `err` when they fail.
 * A handle is used by one thread at a time. */
#ifndef STORE_CATALOG_H
#define STORE_CATALOG_H
#include "base/buf.h"
#include <gpmem/status.h>
#include <stdbool.h>
#include <stdint.h>

#define CATALOG_VERSION 3 /* of the file; older ones are read, and migrated on writing */
#define CATALOG_BLOCK   4096

struct catalog;
enum catalog_mode { CATALOG_READ, CATALOG_WRITE, CATALOG_CREATE };
GPM_MUST_USE enum gpm_status catalog_open(struct catalog **out, const char *path,
                                          enum catalog_mode mode, struct buf *err);
void catalog_close(struct catalog *c);

/* Stores everything between the two calls, or nothing. */
GPM_MUST_USE enum gpm_status catalog_begin(struct catalog *c, struct buf *err);
GPM_MUST_USE enum gpm_status catalog_end(struct catalog *c, enum gpm_status s, struct buf *err);

/* ---- structures ---- */
/* The number of a structure, from 1 on; a new one is added. 0: it could not be stored. */
uint32_t catalog_structure(struct catalog *c, const char *text, struct buf *err);
const char *catalog_structure_text(const struct catalog *c, uint32_t number); /* NULL: none */
uint32_t catalog_structures(const struct catalog *c);                         /* the largest */

/* ---- texts beside the tables ---- */
/* *value owned, or NULL if missing. */
GPM_MUST_USE enum gpm_status catalog_text(struct catalog *c, const char *key, char **value,
                                          struct buf *err);
GPM_MUST_USE enum gpm_status catalog_set_text(struct catalog *c, const char *key, const char *value,
                                              struct buf *err);

/* ---- series ---- */
/* Texts and bytes are borrowed: by catalog_put, or from the rows being read until the callback
 * returns. */
struct catalog_row {
    int64_t id;
    const char *name, *source, *hash, *words, *made; /* made: seed, version, what was searched */
    int64_t n;                                       /* values */
    const void *posting, *sketch;                    /* posting: structures, probabilities */
    size_t n_posting, n_sketch;
};
/* Adds a series, or replaces the one of the same name. */
GPM_MUST_USE enum gpm_status catalog_put(struct catalog *c, const struct catalog_row *r,
                                         struct buf *err);
/* *found: a series of this name exists; its hash and source go into the buffers. */
GPM_MUST_USE enum gpm_status catalog_find(struct catalog *c, const char *name, bool *found,
                                          struct buf *hash, struct buf *source, struct buf *err);
/* The number of a name; 0 if missing. */
GPM_MUST_USE enum gpm_status catalog_number(struct catalog *c, const char *name, int64_t *id,
                                            struct buf *err);
GPM_MUST_USE enum gpm_status catalog_remove(struct catalog *c, const char *name, bool *found,
                                            struct buf *err);
/* Every row in order of its number, or the one with this number (0: all). A failure of the callback
 * ends it. */
typedef enum gpm_status (*catalog_fn)(void *ctx, const struct catalog_row *r, struct buf *err);
GPM_MUST_USE enum gpm_status catalog_each(struct catalog *c, int64_t id, catalog_fn each, void *ctx,
                                          struct buf *err);
/* The sketch of one series; *found: the number exists. */
GPM_MUST_USE enum gpm_status catalog_sketch(struct catalog *c, int64_t id, bool *found,
                                            struct buf *sketch, struct buf *err);

/* ---- work shared by several processes on a server ---- */
/* *ours: no other process works on this series, or its claim has expired; always true for a
 * file. */
GPM_MUST_USE enum gpm_status catalog_claim(struct catalog *c, const char *name, bool *ours,
                                           struct buf *err);
void catalog_set_claim(struct catalog *c, double seconds); /* how long a claim lasts; default 300 */
double catalog_claim_lasts(const struct catalog *c);
/* Renews all claims of this process. */
GPM_MUST_USE enum gpm_status catalog_renew(struct catalog *c, struct buf *err);
GPM_MUST_USE enum gpm_status catalog_unclaim(struct catalog *c, const char *name, struct buf *err);
void catalog_wait(struct catalog *c, double seconds); /* until a process stored a value */
/* After a failure outside of a transaction: is there a new connection for another try? */
GPM_MUST_USE bool catalog_again(struct catalog *c, enum gpm_status s, size_t said, struct buf *err);
bool catalog_is_file(const char *path); /* otherwise the name of a server's: postgresql://... */

/* ---- series that could not be indexed ---- */
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
/* The series first + 1 ... first + CATALOG_BLOCK, or fewer at the end. */
struct catalog_block {
    int64_t first;
    const void *part[CATALOG_PARTS]; /* NULL: not wanted */
    size_t bytes[CATALOG_PARTS];
};
/* Every block in order with the wanted parts, one bit each; missing ones are made but not
 * stored. */
typedef enum gpm_status (*catalog_block_fn)(void *ctx, const struct catalog_block *b,
                                            struct buf *err);
GPM_MUST_USE enum gpm_status catalog_blocks(struct catalog *c, const struct catalog_maker *maker,
                                            uint64_t wanted, catalog_block_fn each, void *ctx,
                                            struct buf *err);
GPM_MUST_USE enum gpm_status catalog_settle(struct catalog *c, const struct catalog_maker *maker,
                                            struct buf *err);
/* Drops all blocks. */
GPM_MUST_USE enum gpm_status catalog_forget(struct catalog *c, struct buf *err);

/* Runs SQLite's check of the file; reports problems in err. */
GPM_MUST_USE enum gpm_status catalog_check(struct catalog *c, struct buf *err);
bool catalog_summed(struct catalog *c); /* do its pages have checksums? */
/* Removes gaps, in place or in a copy to a new file. Copies of equal contents are equal byte for
 * byte; in place the file's change counter continues. */
GPM_MUST_USE enum gpm_status catalog_compact(struct catalog *c, const char *copy, struct buf *err);
#endif
