/* SPDX-License-Identifier: Apache-2.0
 * See catalog.h. The file is opened and its columns are read by the functions of the memo table. */
#include "io/store/catalog_priv.h"
#include "base/mem.h"
#include <string.h>

/* The block table of version 1 held something else; a server had no version 1. */
static const char *const schema_steps[CATALOG_VERSION - 1] = {
    "CREATE TABLE structure(id INTEGER PRIMARY KEY, text TEXT NOT NULL);"
    "CREATE TABLE series(id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, n INTEGER NOT NULL,"
    " hash TEXT NOT NULL, source TEXT NOT NULL, made TEXT NOT NULL, words TEXT NOT NULL,"
    " posting BLOB NOT NULL, sketch BLOB NOT NULL);"
    "CREATE TABLE refused(name TEXT PRIMARY KEY, source TEXT NOT NULL, why TEXT NOT NULL)"
    " WITHOUT ROWID;"
    "CREATE TABLE block(first INTEGER PRIMARY KEY, data BLOB NOT NULL);",
    "DROP TABLE block; CREATE TABLE block(id INTEGER PRIMARY KEY, data BLOB NOT NULL);"
    "CREATE TABLE meta(key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;"
    "CREATE TABLE claim(name TEXT PRIMARY KEY, owner TEXT NOT NULL, expires REAL NOT NULL)"
    " WITHOUT ROWID;",
};
static const struct store_table tables[] = {
    {"structure", "'id', 'text'", 2, 0, false},
    {"series", "'id', 'name', 'n', 'hash', 'source', 'made', 'words', 'posting', 'sketch'", 9, 0,
     false},
    {"refused", "'name', 'source', 'why'", 3, 0, false},
    {"block", "'id', 'data'", 2, 2, false}, /* `first` and data before */
    {"meta", "'key', 'value'", 2, 2, true},
    {"claim", "'name', 'owner', 'expires'", 3, 2, true},
    {0},
};
static const struct store_kind catalog_kind = {
    "index", 0x67706d69 /* "gpmi" */, CATALOG_VERSION, 1, schema_steps, tables};

/* ---- opening ---- */
static uint64_t text_hash(const char *s) {
    return hash_key(s, strlen(s), 0);
}

static void know(struct catalog *c, uint32_t number, const char *text) {
    while (c->text.n < number) vec_push(&c->text, NULL);
    mem_free(c->text.at[number - 1]);
    c->text.at[number - 1] = mem_strdup(text);
    map_put(&c->number, text_hash(text), (void *)(uintptr_t)number);
}

/* Those that are not known yet. */
static enum gpm_status read_structures(struct catalog *c, struct buf *err) {
    struct memo_answer st = {0};
    bool row = true;
    enum gpm_status s =
        memo_query(&c->m, "read it", "SELECT id, text FROM structure WHERE id>?1 ORDER BY id", &st,
                   err, "i", (int64_t)c->text.n);
    while (!s && !(s = memo_next(&c->m, &st, &row, err)) && row) {
        struct memo_cells cell = {.m = &c->m, .a = &st};
        int64_t id = cell_int(&cell, 0, 1, 1 << 24, "has no number");
        const char *text = cell_text(&cell, 1, "has no text");
        if (cell.wrong)
            s = memo_fault(&c->m, GPM_E_FORMAT, err, "a structure %s; the file is damaged",
                           cell.wrong);
        else
            know(c, (uint32_t)id, text);
    }
    memo_done(&c->m, &st);
    return s;
}

enum gpm_status catalog_open(struct catalog **out, const char *path, enum catalog_mode mode,
                             struct buf *err) {
    struct catalog *c = NEW(struct catalog);
    c->m = (struct memo){.kind = &catalog_kind,
                         .path = mem_strdup(path),
                         .driver = memo_driver_of(path),
                         .claim_seconds = 300,
                         .read_only = mode == CATALOG_READ};
    memo_who(&c->m);
    struct memo_options o = {.function = mode == CATALOG_CREATE ? "index" : NULL,
                             .read_only = mode == CATALOG_READ,
                             .page = 16384}; /* a search reads whole blocks */
    enum gpm_status s = c->m.driver->open(&c->m, &o, err);
    if (!s) s = store_settle(&c->m, mode == CATALOG_CREATE, NULL, NULL, err);
    if (!s) s = read_structures(c, err);
    if (s) {
        catalog_close(c);
        return s;
    }
    *out = c;
    return GPM_OK;
}

void catalog_close(struct catalog *c) {
    if (!c) return;
    if (c->m.db) c->m.driver->close(&c->m);
    mem_free(c->m.path);
    mem_free(c->m.host);
    for (size_t i = 0; i < c->text.n; i++) mem_free(c->text.at[i]);
    vec_release(&c->text);
    map_release(&c->number);
    mem_free(c);
}

/* Others may have added structures since. */
enum gpm_status catalog_begin(struct catalog *c, struct buf *err) {
    enum gpm_status s = memo_begin(&c->m, err);
    if (!s) s = read_structures(c, err);
    if (!s && c->m.depth == 1) c->stored = c->text.n;
    return s && c->m.depth ? memo_end(&c->m, s, err) : s;
}

/* Numbers of structures that were given within it are not there: others may get them. */
static void forget_structures(struct catalog *c) {
    while (c->text.n > c->stored) {
        char *text = c->text.at[--c->text.n];
        if (text) map_del(&c->number, text_hash(text));
        mem_free(text);
    }
}

enum gpm_status catalog_end(struct catalog *c, enum gpm_status s, struct buf *err) {
    s = memo_end(&c->m, s, err);
    if (s) forget_structures(c);
    return s;
}

/* ---- structures ---- */
uint32_t catalog_structure(struct catalog *c, const char *text, struct buf *err) {
    uint32_t known = (uint32_t)(uintptr_t)map_get(&c->number, text_hash(text));
    if (known && !strcmp(c->text.at[known - 1], text)) return known;
    uint32_t number = (uint32_t)c->text.n + 1;
    if (memo_do(&c->m, "store a structure", "INSERT INTO structure VALUES(?1, ?2)", NULL, err, "is",
                (int64_t)number, text))
        return 0;
    know(c, number, text);
    return number;
}

const char *catalog_structure_text(const struct catalog *c, uint32_t number) {
    return number >= 1 && number <= c->text.n ? c->text.at[number - 1] : NULL;
}

uint32_t catalog_structures(const struct catalog *c) {
    return (uint32_t)c->text.n;
}

/* ---- texts ---- */
enum gpm_status catalog_text(struct catalog *c, const char *key, char **value, struct buf *err) {
    return memo_text(&c->m, "SELECT value FROM meta WHERE key=?1", key, value, err);
}

enum gpm_status catalog_set_text(struct catalog *c, const char *key, const char *value,
                                 struct buf *err) {
    return memo_do(&c->m, "write to it",
                   "INSERT INTO meta VALUES(?1, ?2) ON CONFLICT(key) DO UPDATE SET "
                   "value=excluded.value",
                   NULL, err, "ss", key, value);
}

/* ---- series ---- */
enum gpm_status catalog_number(struct catalog *c, const char *name, int64_t *id, struct buf *err) {
    struct memo_answer st = {0};
    bool row = false;
    enum gpm_status s =
        memo_query(&c->m, "read it", "SELECT id FROM series WHERE name=?1", &st, err, "s", name);
    if (!s) s = memo_next(&c->m, &st, &row, err);
    struct memo_cells cell = {.m = &c->m, .a = &st};
    *id = !s && row ? cell_int(&cell, 0, 1, INT64_MAX, "") : 0;
    memo_done(&c->m, &st);
    return s;
}

enum gpm_status catalog_check_number(struct catalog *c, int64_t id, struct buf *err) {
    if (count_fits(COUNT_SERIES, (uint64_t)id)) return GPM_OK;
    struct buf range = BUF_INIT;
    count_put_range(COUNT_SERIES, &range);
    enum gpm_status s = memo_fault(&c->m, GPM_E_FORMAT, err,
                                   "the number %lld of a series is not %s; gpmem index merge into "
                                   "a new index numbers them again",
                                   (long long)id, range.data);
    buf_release(&range);
    return s;
}

enum gpm_status catalog_put(struct catalog *c, const struct catalog_row *r, struct buf *err) {
    int64_t id = 0;
    enum gpm_status s = catalog_number(c, r->name, &id, err);
    if (!s && !id)
        s = memo_do(&c->m, "read it", "SELECT coalesce(max(id), 0) + 1 FROM series", &id, err, "");
    if (!s) s = catalog_check_number(c, id, err);
    if (!s)
        s = memo_do(&c->m, "store a series",
                    "INSERT INTO series VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9) ON CONFLICT(id) "
                    "DO UPDATE SET n=excluded.n, hash=excluded.hash, source=excluded.source, "
                    "made=excluded.made, words=excluded.words, posting=excluded.posting, "
                    "sketch=excluded.sketch",
                    NULL, err, "isissssbb", id, r->name, r->n, r->hash, r->source, r->made,
                    r->words, r->posting, r->n_posting, r->sketch, r->n_sketch);
    if (!s)
        s = memo_do(&c->m, "write to it", "DELETE FROM refused WHERE name=?1", NULL, err, "s",
                    r->name);
    return s ? s : catalog_drop(c, id, err);
}

enum gpm_status catalog_find(struct catalog *c, const char *name, bool *found, struct buf *hash,
                             struct buf *source, struct buf *err) {
    struct memo_answer st = {0};
    enum gpm_status s = memo_query(
        &c->m, "read it", "SELECT hash, source FROM series WHERE name=?1", &st, err, "s", name);
    *found = false;
    if (!s) s = memo_next(&c->m, &st, found, err);
    struct memo_cells cell = {.m = &c->m, .a = &st};
    if (!s && *found) {
        buf_puts(hash, cell_text(&cell, 0, ""));
        buf_puts(source, cell_text(&cell, 1, ""));
    }
    memo_done(&c->m, &st);
    return s;
}

enum gpm_status catalog_remove(struct catalog *c, const char *name, bool *found, struct buf *err) {
    int64_t id = 0;
    enum gpm_status s = catalog_number(c, name, &id, err);
    *found = id > 0;
    if (!s && id)
        s = memo_do(&c->m, "remove a series", "DELETE FROM series WHERE id=?1", NULL, err, "i", id);
    if (!s && id) s = catalog_drop(c, id, err);
    return s;
}

enum gpm_status catalog_rows(struct catalog *c, struct memo_answer *st, catalog_fn each, void *ctx,
                             struct buf *err) {
    bool row = true;
    enum gpm_status s = GPM_OK;
    while (!s && !(s = memo_next(&c->m, st, &row, err)) && row) {
        struct memo_cells cell = {.m = &c->m, .a = st};
        struct catalog_row r = {.id = cell_int(&cell, 0, 1, INT64_MAX, "has no number"),
                                .name = cell_text(&cell, 1, "has no name"),
                                .n = cell_int(&cell, 2, 0, INT64_MAX, "has no length"),
                                .hash = cell_text(&cell, 3, "has no hash"),
                                .source = cell_text(&cell, 4, "has no source"),
                                .made = cell_text(&cell, 5, "has no provenance"),
                                .words = cell_text(&cell, 6, "has no words")};
        r.posting = cell_blob(&cell, 7, &r.n_posting, "has no structures");
        r.sketch = cell_blob(&cell, 8, &r.n_sketch, "has no sketch");
        s = cell.wrong ? memo_fault(&c->m, GPM_E_FORMAT, err, "a series %s; the file is damaged",
                                    cell.wrong)
                       : each(ctx, &r, err);
    }
    return s;
}

/* Passes a row on and remembers its number. */
struct follow {
    catalog_fn each;
    void *ctx;
    int64_t last;
};
static enum gpm_status follow(void *ctx, const struct catalog_row *r, struct buf *err) {
    struct follow *f = ctx;
    f->last = r->id;
    return f->each(f->ctx, r, err);
}

/* A few at a time: a server sends an answer as a whole. */
enum gpm_status catalog_each(struct catalog *c, int64_t id, catalog_fn each, void *ctx,
                             struct buf *err) {
    static const char one[] = "SELECT " CATALOG_COLUMNS " FROM series WHERE id=?1",
                      some[] = "SELECT " CATALOG_COLUMNS
                               " FROM series WHERE id>?1 ORDER BY id LIMIT 1000";
    struct follow f = {each, ctx, 0};
    int64_t last = -1;
    enum gpm_status s = GPM_OK;
    while (!s && f.last != last) {
        struct memo_answer st = {0};
        last = f.last;
        s = memo_query(&c->m, "read it", id ? one : some, &st, err, "i", id ? id : last);
        if (!s) s = catalog_rows(c, &st, follow, &f, err);
        memo_done(&c->m, &st);
        if (id) break;
    }
    return s;
}

enum gpm_status catalog_sketch(struct catalog *c, int64_t id, bool *found, struct buf *sketch,
                               struct buf *err) {
    struct memo_answer st = {0};
    enum gpm_status s =
        memo_query(&c->m, "read it", "SELECT sketch FROM series WHERE id=?1", &st, err, "i", id);
    *found = false;
    if (!s) s = memo_next(&c->m, &st, found, err);
    struct memo_cells cell = {.m = &c->m, .a = &st};
    size_t n = 0;
    const void *data = !s && *found ? cell_blob(&cell, 0, &n, "has no sketch") : NULL;
    if (cell.wrong)
        s = memo_fault(&c->m, GPM_E_FORMAT, err, "a series %s; the file is damaged", cell.wrong);
    if (data) buf_add(sketch, data, n);
    memo_done(&c->m, &st);
    return s;
}

/* ---- refused ---- */
enum gpm_status catalog_refuse(struct catalog *c, const char *name, const char *source,
                               const char *why, struct buf *err) {
    return memo_do(&c->m, "write to it",
                   "INSERT INTO refused VALUES(?1, ?2, ?3) ON CONFLICT(name) DO UPDATE SET "
                   "source=excluded.source, why=excluded.why",
                   NULL, err, "sss", name, source, why);
}

enum gpm_status catalog_refused(struct catalog *c, catalog_refused_fn each, void *ctx,
                                struct buf *err) {
    struct memo_answer st = {0};
    bool row = true;
    enum gpm_status s = memo_query(
        &c->m, "read it", "SELECT name, source, why FROM refused ORDER BY name", &st, err, "");
    while (!s && !(s = memo_next(&c->m, &st, &row, err)) && row) {
        struct memo_cells cell = {.m = &c->m, .a = &st};
        each(ctx, cell_text(&cell, 0, ""), cell_text(&cell, 1, ""), cell_text(&cell, 2, ""));
    }
    memo_done(&c->m, &st);
    return s;
}

/* ---- claims on series ---- */
/* On a server, by its clock. */
enum gpm_status catalog_claim(struct catalog *c, const char *name, bool *ours, struct buf *err) {
    int64_t got = 0;
    double now = memo_now(&c->m);
    *ours = true;
    if (memo_is_file(c->m.path)) return GPM_OK;
    size_t said = err->len;
    enum gpm_status s;
    do
        s = memo_do(&c->m, "claim a series",
                    "INSERT INTO claim VALUES(?1, ?2, ?3) ON CONFLICT(name) DO UPDATE SET "
                    "owner=excluded.owner, expires=excluded.expires WHERE claim.expires<?4 OR "
                    "claim.owner=excluded.owner RETURNING 1::bigint",
                    &got, err, "ssdd", name, c->m.host, now + c->m.claim_seconds, now);
    while (memo_again(&c->m, s, said, err));
    *ours = got == 1;
    return s;
}

void catalog_set_claim(struct catalog *c, double seconds) {
    c->m.claim_seconds = seconds;
}

double catalog_claim_lasts(const struct catalog *c) {
    return c->m.claim_seconds;
}

enum gpm_status catalog_renew(struct catalog *c, struct buf *err) {
    if (memo_is_file(c->m.path)) return GPM_OK;
    return memo_do(&c->m, "renew claims", "UPDATE claim SET expires=?1 WHERE owner=?2", NULL, err,
                   "ds", memo_now(&c->m) + c->m.claim_seconds, c->m.host);
}

enum gpm_status catalog_unclaim(struct catalog *c, const char *name, struct buf *err) {
    if (memo_is_file(c->m.path)) return GPM_OK;
    return memo_do(&c->m, "give a series back", "DELETE FROM claim WHERE name=?1 AND owner=?2",
                   NULL, err, "ss", name, c->m.host);
}

void catalog_wait(struct catalog *c, double seconds) {
    memo_wait(&c->m, seconds);
}

bool catalog_again(struct catalog *c, enum gpm_status s, size_t said, struct buf *err) {
    return memo_again(&c->m, s, said, err);
}

bool catalog_is_file(const char *path) {
    return memo_is_file(path);
}

/* ---- the whole file ---- */
enum gpm_status catalog_check(struct catalog *c, struct buf *err) {
    return memo_check(&c->m, err);
}

enum gpm_status catalog_compact(struct catalog *c, const char *copy, struct buf *err) {
    if (copy) return memo_do(&c->m, "copy it", "VACUUM INTO ?1", NULL, err, "s", copy);
    const char *sql = memo_is_file(c->m.path) ? "VACUUM; PRAGMA wal_checkpoint" : "VACUUM";
    enum gpm_status s = memo_exec(&c->m, sql, "compact it", err);
    return s ? s : store_settle(&c->m, false, NULL, NULL, err); /* it may have checksums now */
}

bool catalog_summed(struct catalog *c) {
    return memo_summed(&c->m);
}
