/* SPDX-License-Identifier: Apache-2.0
 * What the files of the catalog share. */
#ifndef STORE_CATALOG_PRIV_H
#define STORE_CATALOG_PRIV_H
#include "base/count.h"
#include "base/map.h"
#include "base/vec.h"
#include "io/store/catalog.h"
#include "io/store/memo_priv.h"

struct catalog {
    struct memo m;
    VEC(char *) text;  /* of structures, by number - 1; NULL: none */
    struct map number; /* hash of the text -> number */
    size_t stored;     /* numbers that were there before the transaction */
};
/* Rows of a statement that selects CATALOG_COLUMNS. */
#define CATALOG_COLUMNS "id, name, n, hash, source, made, words, posting, sketch"
enum gpm_status catalog_rows(struct catalog *c, struct memo_answer *a, catalog_fn each, void *ctx,
                             struct buf *err);
/* Searches hold a row of numbers as long as the largest of them: what no index has is damage. */
enum gpm_status catalog_check_number(struct catalog *c, int64_t id, struct buf *err);
/* The block of a series is not that of its rows any more. */
enum gpm_status catalog_drop(struct catalog *c, int64_t id, struct buf *err);
#endif
