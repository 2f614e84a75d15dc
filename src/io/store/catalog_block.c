/* SPDX-License-Identifier: Apache-2.0
 *
 * Blocks of a catalog: columns of what a search reads of every series, in stretches of
 * CATALOG_BLOCK numbers. Part p of block b has the number b CATALOG_PARTS + p, so that those of a
 * block lie together and go together. */
#include "base/mem.h"
#include "io/store/catalog_priv.h"

static int64_t part_number(int64_t first, int part) {
    return first / CATALOG_BLOCK * CATALOG_PARTS + part;
}

enum gpm_status catalog_drop(struct catalog *c, int64_t id, struct buf *err) {
    int64_t first = part_number(id - 1, 0);
    return memo_do(&c->m, "write to it", "DELETE FROM block WHERE id>=?1 AND id<?2", NULL, err,
                   "ii", first, first + CATALOG_PARTS);
}

/* The largest number of a series. */
static enum gpm_status largest_of(struct catalog *c, int64_t *largest, struct buf *err) {
    enum gpm_status s =
        memo_do(&c->m, "read it",
                "SELECT CASE WHEN min(id) < 1 THEN -1 ELSE coalesce(max(id), 0) END FROM series",
                largest, err, "");
    return s || !*largest ? s : catalog_check_number(c, *largest, err);
}

/* ---- making one ---- */
struct making {
    const struct catalog_maker *maker;
    struct buf part[CATALOG_PARTS];
    int64_t next;
};

static enum gpm_status make_row(void *ctx, const struct catalog_row *r, struct buf *err) {
    struct making *m = ctx;
    enum gpm_status s = GPM_OK;
    for (; m->next < r->id && !s; m->next++) s = m->maker->make(m->maker->ctx, NULL, m->part, err);
    m->next++;
    return s ? s : m->maker->make(m->maker->ctx, r, m->part, err);
}

/* From the rows themselves. */
static enum gpm_status make_block(struct catalog *c, const struct catalog_maker *maker,
                                  int64_t first, struct making *m, struct buf *err) {
    static const char sql[] =
        "SELECT " CATALOG_COLUMNS " FROM series WHERE id>?1 AND id<=?2 ORDER BY id";
    struct memo_answer st = {0};
    *m = (struct making){.maker = maker, .next = first + 1};
    for (int i = 0; i < maker->parts; i++) buf_init(&m->part[i]);
    enum gpm_status s =
        memo_query(&c->m, "read it", sql, &st, err, "ii", first, first + CATALOG_BLOCK);
    if (!s) s = catalog_rows(c, &st, make_row, m, err);
    memo_done(&c->m, &st);
    return s;
}

static void release_making(struct making *m) {
    for (int i = 0; i < m->maker->parts; i++) buf_release(&m->part[i]);
}

/* ---- reading ---- */
/* One part, borrowed until the answer is done; *found: it is there. */
static enum gpm_status read_part(struct catalog *c, struct catalog_block *b, int part,
                                 struct memo_answer *st, bool *found, struct buf *err) {
    enum gpm_status s = memo_query(&c->m, "read it", "SELECT data FROM block WHERE id=?1", st, err,
                                   "i", part_number(b->first, part));
    *found = false;
    if (!s) s = memo_next(&c->m, st, found, err);
    struct memo_cells cell = {.m = &c->m, .a = st};
    if (!s && *found) b->part[part] = cell_blob(&cell, 0, &b->bytes[part], "is no block");
    if (cell.wrong)
        s = memo_fault(&c->m, GPM_E_FORMAT, err,
                       "a block is damaged; gpmem index compact mends it");
    return s;
}

static enum gpm_status one_block(struct catalog *c, const struct catalog_maker *maker,
                                 uint64_t wanted, int64_t first, catalog_block_fn each, void *ctx,
                                 struct buf *err) {
    struct catalog_block b = {.first = first};
    struct memo_answer st[CATALOG_PARTS] = {{0}};
    struct making made = {.maker = maker};
    enum gpm_status s = GPM_OK;
    bool found = c->m.version >= 2; /* older blocks are of another kind */
    for (int i = 0; i < maker->parts && found && !s; i++)
        if (wanted >> i & 1) s = read_part(c, &b, i, &st[i], &found, err);
    if (!s && !found) {
        s = make_block(c, maker, first, &made, err);
        for (int i = 0; i < maker->parts; i++) {
            b.part[i] = wanted >> i & 1 ? made.part[i].data : NULL;
            b.bytes[i] = made.part[i].len;
        }
    }
    if (!s) s = each(ctx, &b, err);
    if (s == GPM_E_FORMAT && !err->len)
        s = memo_fault(&c->m, s, err, "a block is damaged; gpmem index compact mends it");
    for (int i = 0; i < maker->parts; i++) memo_done(&c->m, &st[i]);
    release_making(&made);
    return s;
}

enum gpm_status catalog_blocks(struct catalog *c, const struct catalog_maker *maker,
                               uint64_t wanted, catalog_block_fn each, void *ctx, struct buf *err) {
    int64_t largest;
    enum gpm_status s = largest_of(c, &largest, err);
    for (int64_t first = 0; first < largest && !s; first += CATALOG_BLOCK)
        s = one_block(c, maker, wanted, first, each, ctx, err);
    return s;
}

/* ---- storing ---- */
static enum gpm_status store_block(struct catalog *c, const struct catalog_maker *maker,
                                   int64_t first, struct buf *err) {
    struct making made;
    enum gpm_status s = make_block(c, maker, first, &made, err);
    for (int i = 0; i < maker->parts && !s; i++)
        s = memo_do(&c->m, "write to it", "INSERT INTO block VALUES(?1, ?2)", NULL, err, "ib",
                    part_number(first, i), (const void *)made.part[i].data, made.part[i].len);
    release_making(&made);
    return s;
}

static enum gpm_status settle_block(struct catalog *c, const struct catalog_maker *maker,
                                    int64_t first, struct buf *err) {
    int64_t there = 0;
    enum gpm_status s =
        memo_do(&c->m, "read it", "SELECT count(*) FROM block WHERE id>=?1 AND id<?2", &there, err,
                "ii", part_number(first, 0), part_number(first, 0) + CATALOG_PARTS);
    if (s || there == maker->parts) return s;
    s = catalog_drop(c, first + 1, err); /* of another version of the parts, or none */
    return s ? s : store_block(c, maker, first, err);
}

/* A transaction for each: others need not wait for all. */
enum gpm_status catalog_settle(struct catalog *c, const struct catalog_maker *maker,
                               struct buf *err) {
    int64_t largest;
    enum gpm_status s = largest_of(c, &largest, err);
    for (int64_t first = 0; first < largest && !s; first += CATALOG_BLOCK) {
        s = memo_begin(&c->m, err);
        if (!s) s = settle_block(c, maker, first, err);
        s = memo_end(&c->m, s, err);
    }
    return s;
}

enum gpm_status catalog_forget(struct catalog *c, struct buf *err) {
    return memo_do(&c->m, "write to it", "DELETE FROM block", NULL, err, "");
}
