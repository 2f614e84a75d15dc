/* SPDX-License-Identifier: Apache-2.0
 *
 * Fuzz target of memo stores: a sound table is spoilt by the input, then opened, listed, exported,
 * joined by the optimiser, told a value, asked for run times. An input that starts with 'S' is SQL
 * run on the table (wrong types, NULL, other spaces, missing columns, views, triggers, a schema
 * written by hand); any other is a list of (offset, byte) patches of the file.
 * Nothing may crash, and a refusal says why. Run: fuzz_memo corpus/memo
 */
#include "fuzz/scratch.h"
#include "gpmem/optimize.h"
#include <sqlite3.h>
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char *image; /* of a sound table */
static size_t image_size;

static int bowl(void *user, const double *x, double *y) {
    (void)user;
    *y = x[0] * x[0];
    return 0;
}

static gpm_optimizer *optimizer(const char *path, bool join) {
    struct gpm_optimize_options o;
    gpm_optimize_options_init(&o);
    o.store = path;
    o.budget = join ? 0 : 3;
    o.join = join;
    return gpm_optimizer_new(&o);
}

/* Three points of x=-1:2 and c=a,b,c in a table whose log was written back. */
static void make_image(void) {
    const char *path = scratch("sound.db");
    gpm_optimizer *b = optimizer(path, false);
    if (gpm_optimizer_variable(b, "x=-1:2") || gpm_optimizer_variable(b, "c=u,v,w")) abort();
    gpm_optimizer_function(b, "bowl", bowl, NULL);
    if (gpm_optimizer_open(b) || gpm_optimizer_run(b)) abort();
    gpm_optimizer_free(b);
    FILE *f = fopen(path, "r");
    if (!f) abort();
    image = malloc(1 << 20);
    image_size = fread(image, 1, 1 << 20, f);
    fclose(f);
}

static int stop_long_sql(void *user) {
    (void)user;
    return 1;
}

/* Only the table itself is in reach, with its schema and its header. */
static int allow(void *user, int what, const char *a, const char *b, const char *c, const char *d) {
    (void)user, (void)b, (void)c, (void)d;
    if (what == SQLITE_PRAGMA)
        return strcmp(a, "writable_schema") == 0 || strcmp(a, "user_version") == 0 ||
                       strcmp(a, "application_id") == 0
                   ? SQLITE_OK
                   : SQLITE_DENY;
    return what == SQLITE_ATTACH || what == SQLITE_DETACH ? SQLITE_DENY : SQLITE_OK;
}

static void spoil_by_sql(const char *path, const uint8_t *data, size_t size) {
    sqlite3 *db;
    char *sql = strndup((const char *)data, size);
    if (sqlite3_open_v2(path, &db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, "gpmem-files") ==
        SQLITE_OK) {
        sqlite3_limit(db, SQLITE_LIMIT_LENGTH, 1 << 20);
        sqlite3_progress_handler(db, 20000, stop_long_sql, NULL);
        sqlite3_set_authorizer(db, allow, NULL);
        sqlite3_exec(db, sql, NULL, NULL, NULL);
    }
    sqlite3_close(db);
    free(sql);
}

static void spoil_bytes(const uint8_t *data, size_t size) {
    char *copy = malloc(image_size);
    memcpy(copy, image, image_size);
    for (size_t i = 0; i + 3 < size; i += 4) {
        size_t at = (size_t)data[i] << 16 | (size_t)data[i + 1] << 8 | data[i + 2];
        copy[at % image_size] = (char)data[i + 3];
    }
    for (size_t at = 0; copy[20] == 8 && at + 4096 <= image_size; at += 4096)
        memset(copy + at + 4096 - 8, 0, 8); /* no checksums: nothing is refused for them */
    scratch_write("spoilt.db", copy, image_size);
    free(copy);
}

/* A refusal says why. */
static void memo_said(enum gpm_status st, const gpm_memo *m) {
    if (st && !*gpm_memo_error(m)) abort();
}

static void optimizer_said(enum gpm_status st, const gpm_optimizer *o) {
    if (st && !*gpm_optimizer_error(o)) abort();
}

static void use(const char *path) {
    const char *text;
    gpm_memo *m = gpm_memo_new();
    enum gpm_status st = gpm_memo_open(m, path, false);
    memo_said(st, m);
    if (!st) {
        memo_said(gpm_memo_list(m, GPM_FORMAT_JSON, &text), m);
        memo_said(gpm_memo_list(m, GPM_FORMAT_TEXT, &text), m);
        memo_said(gpm_memo_show(m, 0, GPM_FORMAT_TEXT, &text), m);
        memo_said(gpm_memo_show(m, 1, GPM_FORMAT_TEXT, &text), m);
        memo_said(gpm_memo_export(m, &text), m);
    }
    gpm_memo_free(m);
    gpm_optimizer *b = optimizer(path, true);
    double x[64], y;
    int64_t id;
    st = gpm_optimizer_open(b);
    optimizer_said(st, b);
    if (!st && gpm_optimizer_dim(b) <= 64) {
        gpm_optimizer_best(b, x, &y);
        for (size_t j = 0; j < gpm_optimizer_dim(b); j++) x[j] = 0.5;
        optimizer_said(gpm_optimizer_tell_at(b, x, 1), b);
        optimizer_said(gpm_optimizer_ask(b, x, &id), b);
        gpm_optimizer_report(b, GPM_OPTIMIZE_HTML);
    }
    gpm_optimizer_free(b);
    const char *names[] = {"x", "c"};
    double at[] = {0.5, 1}, q[3];
    size_t runs;
    gpm_timer *t = gpm_timer_new(path);
    if (gpm_timer_predict(t, 2, names, at, 0.9, &q[0], &q[1], &q[2], &runs) && !*gpm_timer_error(t))
        abort();
    gpm_timer_free(t);
    m = gpm_memo_new();
    if (!gpm_memo_open(m, path, true)) memo_said(gpm_memo_remove(m, 2), m);
    gpm_memo_free(m);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (!image) make_image();
    if (size == 0 || size > 4096) return 0;
    char path[192];
    snprintf(path, sizeof path, "%s", scratch("spoilt.db-wal"));
    unlink(path);
    unlink(scratch("spoilt.db-shm"));
    snprintf(path, sizeof path, "%s", scratch("spoilt.db"));
    if (data[0] == 'S') {
        scratch_write("spoilt.db", image, image_size);
        spoil_by_sql(path, data + 1, size - 1);
    } else {
        spoil_bytes(data, size);
    }
    use(path);
    return 0;
}
