/* SPDX-License-Identifier: Apache-2.0
 * See catalog.h. The file is opened and its columns are read by the functions of the memo table. */
#include "store/catalog_priv.h"
#include "base/mem.h"
#include <limits.h>
#include <string.h>

#define APPLICATION_ID 0x67706d69 /* "gpmi" */

/* Step v takes a file of version v to version v+1; a new file takes all of them. */
static const char *const schema_steps[CATALOG_VERSION] = {
    "CREATE TABLE structure(id INTEGER PRIMARY KEY, text TEXT NOT NULL);"
    "CREATE TABLE series(id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, n INTEGER NOT NULL,"
    " hash TEXT NOT NULL, source TEXT NOT NULL, made TEXT NOT NULL, words TEXT NOT NULL,"
    " posting BLOB NOT NULL, sketch BLOB NOT NULL);"
    "CREATE TABLE refused(name TEXT PRIMARY KEY, source TEXT NOT NULL, why TEXT NOT NULL)"
    " WITHOUT ROWID;"
    "CREATE TABLE block(first INTEGER PRIMARY KEY, data BLOB NOT NULL);",
    "DROP TABLE block; CREATE TABLE block(id INTEGER PRIMARY KEY, data BLOB NOT NULL);",
};

/* ---- opening ---- */
/* A number from the first row; 0: there is none. */
static enum gpm_status read_int(struct memo *m, const char *sql, int *out, struct buf *err) {
    int64_t v = 0;
    enum gpm_status s = memo_do(m, "read it", sql, &v, err, "");
    *out = v > INT_MAX ? INT_MAX : v < INT_MIN ? INT_MIN : (int)v;
    return s;
}

static enum gpm_status stamp(struct memo *m, struct buf *err) {
    struct buf sql = BUF_INIT;
    buf_printf(&sql, "PRAGMA user_version=%d; PRAGMA application_id=%d;", CATALOG_VERSION,
               APPLICATION_ID);
    enum gpm_status s = memo_exec(m, sql.data, "write the header", err);
    buf_release(&sql);
    return s;
}

static enum gpm_status settle_schema(struct catalog *c, struct buf *err) {
    struct memo *m = &c->m;
    int version = 0, foreign = 0, tables = 0;
    enum gpm_status s = read_int(m, "PRAGMA user_version", &version, err);
    if (!s)
        s = read_int(m,
                     "SELECT application_id <> 0x67706d69 AND (user_version <> 0 OR "
                     "EXISTS(SELECT * FROM sqlite_schema)) FROM pragma_application_id, "
                     "pragma_user_version",
                     &foreign, err);
    if (s) return s;
    if (foreign)
        return memo_fault(m, GPM_E_FORMAT, err, "the file is an SQLite database of another kind");
    if (version > CATALOG_VERSION)
        return memo_fault(m, GPM_E_FORMAT, err,
                          "made by a newer gpmem (file version %d, this one reads up to %d)",
                          version, CATALOG_VERSION);
    if (version == 0 && m->read_only) return memo_fault(m, GPM_E_FORMAT, err, "the file is empty");
    if (version < CATALOG_VERSION && !m->read_only) {
        s = memo_begin(m, err);
        if (!s) s = read_int(m, "PRAGMA user_version", &version, err);
        for (; !s && version < CATALOG_VERSION; version++)
            s = memo_exec(m, schema_steps[version], "create the index", err);
        if (!s) s = stamp(m, err);
        s = memo_end(m, s, err);
    }
    m->version = version;
    if (!s)
        s = read_int(m,
                     "SELECT (SELECT count(*) FROM sqlite_schema WHERE type='table' AND rootpage > "
                     "0 AND name IN ('structure', 'series', 'refused', 'block')) - (SELECT "
                     "count(*) FROM sqlite_schema WHERE type NOT IN ('table', 'index') OR rootpage "
                     "< 1)",
                     &tables, err);
    if (!s && tables != 4)
        return memo_fault(m, GPM_E_FORMAT, err,
                          "tables are missing or foreign; the file is damaged");
    return s;
}

static uint64_t text_hash(const char *s) {
    return hash_bytes(s, strlen(s), 0);
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
    c->m = (struct memo){.noun = "index",
                         .path = mem_strdup(path),
                         .driver = &memo_sqlite,
                         .read_only = mode == CATALOG_READ};
    struct memo_options o = {.function = mode == CATALOG_CREATE ? "index" : NULL,
                             .read_only = mode == CATALOG_READ,
                             .page = 16384}; /* a search reads whole blocks */
    enum gpm_status s = c->m.driver->open(&c->m, &o, err);
    if (!s) s = settle_schema(c, err);
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
    for (size_t i = 0; i < c->text.n; i++) mem_free(c->text.at[i]);
    vec_release(&c->text);
    map_release(&c->number);
    mem_free(c);
}

/* Others may have added structures since. */
enum gpm_status catalog_begin(struct catalog *c, struct buf *err) {
    enum gpm_status s = memo_begin(&c->m, err);
    if (!s) s = read_structures(c, err);
    return s && c->m.depth ? memo_end(&c->m, s, err) : s;
}

enum gpm_status catalog_end(struct catalog *c, enum gpm_status s, struct buf *err) {
    return memo_end(&c->m, s, err);
}

/* ---- structures ---- */
uint32_t catalog_structure(struct catalog *c, const char *text, struct buf *err) {
    uint32_t known = (uint32_t)(uintptr_t)map_get(&c->number, text_hash(text));
    if (known && !strcmp(c->text.at[known - 1], text)) return known;
    uint32_t number = (uint32_t)c->text.n + 1;
    if (memo_do(&c->m, "store a structure", "INSERT INTO structure VALUES(?, ?)", NULL, err, "is",
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

/* ---- series ---- */
enum gpm_status catalog_number(struct catalog *c, const char *name, int64_t *id, struct buf *err) {
    struct memo_answer st = {0};
    bool row = false;
    enum gpm_status s =
        memo_query(&c->m, "read it", "SELECT id FROM series WHERE name=?", &st, err, "s", name);
    if (!s) s = memo_next(&c->m, &st, &row, err);
    struct memo_cells cell = {.m = &c->m, .a = &st};
    *id = !s && row ? cell_int(&cell, 0, 1, INT64_MAX, "") : 0;
    memo_done(&c->m, &st);
    return s;
}

enum gpm_status catalog_put(struct catalog *c, const struct catalog_row *r, struct buf *err) {
    int64_t id = 0;
    int next = 0;
    enum gpm_status s = catalog_number(c, r->name, &id, err);
    if (!s && !id) s = read_int(&c->m, "SELECT coalesce(max(id), 0) + 1 FROM series", &next, err);
    if (!s && !id) id = next;
    if (!s)
        s = memo_do(&c->m, "store a series",
                    "INSERT OR REPLACE INTO series VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?)", NULL, err,
                    "isissssbb", id, r->name, r->n, r->hash, r->source, r->made, r->words,
                    r->posting, r->n_posting, r->sketch, r->n_sketch);
    if (!s)
        s = memo_do(&c->m, "write to it", "DELETE FROM refused WHERE name=?", NULL, err, "s",
                    r->name);
    return s ? s : catalog_drop(c, id, err);
}

enum gpm_status catalog_find(struct catalog *c, const char *name, bool *found, struct buf *hash,
                             struct buf *source, struct buf *err) {
    struct memo_answer st = {0};
    enum gpm_status s = memo_query(&c->m, "read it", "SELECT hash, source FROM series WHERE name=?",
                                   &st, err, "s", name);
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
        s = memo_do(&c->m, "remove a series", "DELETE FROM series WHERE id=?", NULL, err, "i", id);
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

enum gpm_status catalog_each(struct catalog *c, int64_t id, catalog_fn each, void *ctx,
                             struct buf *err) {
    static const char all[] = "SELECT " CATALOG_COLUMNS " FROM series ORDER BY id",
                      one[] = "SELECT " CATALOG_COLUMNS " FROM series WHERE id=?1";
    struct memo_answer st = {0};
    enum gpm_status s = memo_query(&c->m, "read it", id ? one : all, &st, err, id ? "i" : "", id);
    if (!s) s = catalog_rows(c, &st, each, ctx, err);
    memo_done(&c->m, &st);
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
    return memo_do(&c->m, "write to it", "INSERT OR REPLACE INTO refused VALUES(?, ?, ?)", NULL,
                   err, "sss", name, source, why);
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

/* ---- the whole file ---- */
enum gpm_status catalog_check(struct catalog *c, struct buf *err) {
    struct memo_answer st = {0};
    bool row = false;
    enum gpm_status s = memo_query(&c->m, "check it", "PRAGMA quick_check(1)", &st, err, "");
    if (!s) s = memo_next(&c->m, &st, &row, err);
    struct memo_cells cell = {.m = &c->m, .a = &st};
    const char *said = !s && row ? cell_text(&cell, 0, "") : "";
    if (!s && strcmp(said, "ok"))
        s = memo_fault(&c->m, GPM_E_FORMAT, err, "the file is damaged: %s", said);
    memo_done(&c->m, &st);
    return s;
}

enum gpm_status catalog_compact(struct catalog *c, const char *copy, struct buf *err) {
    if (!copy) return memo_do(&c->m, "compact it", "VACUUM", NULL, err, "");
    return memo_do(&c->m, "copy it", "VACUUM INTO ?", NULL, err, "s", copy);
}
