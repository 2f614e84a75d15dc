/* SPDX-License-Identifier: Apache-2.0
 * Shared by the files of the catalog. */
#ifndef STORE_CATALOG_PRIV_H
#define STORE_CATALOG_PRIV_H
#include "base/count.h"
#include "base/map.h"
#include "base/vec.h"
#include "io/store/catalog.h"
#include "io/store/memo_priv.h"

struct catalog {
    struct memo m;
    VEC(char *) text;  /* of structures, by number - 1; NULL: unused */
    struct map number; /* hash of the text -> number */
    size_t stored;     /* numbers that existed before the transaction */
};
/* Reads rows of a statement that selects CATALOG_COLUMNS. */
#define CATALOG_COLUMNS "id, name, n, hash, source, made, words, posting, sketch"
enum gpm_status catalog_rows(struct catalog *c, struct memo_answer *a, catalog_fn each, void *ctx,
                             struct buf *err);
/* A search holds arrays as long as the largest number, so a number beyond any real index counts as
 * damage. */
enum gpm_status catalog_check_number(struct catalog *c, int64_t id, struct buf *err);
/* Drops the block of a series that no longer matches its rows. */
enum gpm_status catalog_drop(struct catalog *c, int64_t id, struct buf *err);
#endif
