/* SPDX-License-Identifier: Apache-2.0
 * Looking at an index and keeping it in order. */
#include "base/file.h"
#include "base/json.h"
#include "base/mem.h"
#include "table/parquet.h"
#include "apps/index/index.h"
#include <stdio.h>
#include <string.h>

struct listing {
    struct catalog *c;
    struct buf *out;
    bool json;
    size_t n;
};

static enum gpm_status list_one(void *ctx, const struct catalog_row *r, struct buf *err) {
    struct listing *l = ctx;
    const uint8_t *p = r->posting;
    const char *top = r->n_posting >= 6 ? catalog_structure_text(l->c, p[0] | (uint32_t)p[1] << 8 |
                                                                           (uint32_t)p[2] << 16 |
                                                                           (uint32_t)p[3] << 24)
                                        : NULL;
    double share = r->n_posting >= 6 ? (p[4] | (unsigned)p[5] << 8) / 65535.0 : 0;
    if (!l->json) {
        buf_printf(l->out, "%s\t%lld\t%s\t%.3f\t%s\n", r->name, (long long)r->n, top ? top : "?",
                   share, r->words);
        return GPM_OK;
    }
    buf_puts(l->out, l->n++ ? ",\n {" : "{");
    JSON(l->out, FIELD("name", r->name), FIELD("values", (size_t)r->n),
         FIELD("structure", top ? top : "?"), FIELD("probability", share), FIELD("words", r->words),
         FIELD("source", r->source), FIELD("hash", r->hash), FIELD("made", r->made),
         FIELD("bytes", r->n_sketch + r->n_posting));
    buf_putc(l->out, '}');
    return GPM_OK;
}

static void list_refused(void *ctx, const char *name, const char *source, const char *why) {
    struct listing *l = ctx;
    if (!l->json) {
        buf_printf(l->out, "%s\t-\trefused\t-\t%s\n", name, why);
        return;
    }
    buf_puts(l->out, l->n++ ? ",\n {" : "{");
    JSON(l->out, FIELD("name", name), FIELD("refused", why), FIELD("source", source));
    buf_putc(l->out, '}');
}

enum gpm_status index_list(const char *path, bool json, struct buf *out, struct buf *err) {
    struct listing l = {.out = out, .json = json};
    enum gpm_status st = catalog_open(&l.c, path, CATALOG_READ, err);
    if (st) return st;
    if (json) buf_putc(out, '[');
    st = catalog_each(l.c, 0, list_one, &l, err);
    if (!st) st = catalog_refused(l.c, list_refused, &l, err);
    if (json) buf_puts(out, "]\n");
    catalog_close(l.c);
    return st;
}

static enum gpm_status read_sketch(struct catalog *c, const struct catalog_row *r, struct sketch *p,
                                   struct buf *err) {
    struct index_names who = {c, err};
    struct sketch_names names = index_names(&who);
    enum gpm_status st = sketch_read(p, &names, r->sketch, r->n_sketch);
    return st ? buf_fail(err, st, "the sketch of '%s' is damaged", r->name) : GPM_OK;
}

static enum gpm_status export_one(void *ctx, const struct catalog_row *r, struct buf *err) {
    struct listing *l = ctx;
    struct sketch p;
    enum gpm_status st = read_sketch(l->c, r, &p, err);
    if (st) return st;
    struct buf hex = BUF_INIT;
    for (size_t i = 0; i < r->n_sketch; i++)
        buf_printf(&hex, "%02x", ((const uint8_t *)r->sketch)[i]);
    buf_putc(l->out, '{');
    JSON(l->out, FIELD("name", r->name), FIELD("values", (size_t)r->n), FIELD("source", r->source),
         FIELD("hash", r->hash), FIELD("made", r->made), FIELD("words", r->words));
    buf_puts(l->out, ", \"structures\": [");
    for (size_t i = 0; i < p.n_structures; i++) {
        buf_puts(l->out, i ? ", {" : "{");
        JSON(l->out, FIELD("structure", p.structure[i].text),
             FIELD("probability", (double)p.structure[i].p));
        buf_putc(l->out, '}');
    }
    buf_putc(l->out, ']');
    index_forecast(&p, l->out);
    buf_printf(l->out, ", \"sketch\": \"%s\"}\n", hex.data);
    buf_release(&hex);
    sketch_release(&p);
    return GPM_OK;
}

enum gpm_status index_export(const char *path, struct buf *out, struct buf *err) {
    struct listing l = {.out = out};
    enum gpm_status st = catalog_open(&l.c, path, CATALOG_READ, err);
    if (st) return st;
    st = catalog_each(l.c, 0, export_one, &l, err);
    catalog_close(l.c);
    return st;
}

/* ---- as a table ---- */

enum {
    NAME,
    VALUES,
    SOURCE,
    HASH,
    MADE,
    WORDS,
    STRUCTURE,
    PROBABILITY,
    STRUCTURES,
    PROBABILITIES,
    AHEAD_AT,
    AHEAD_LO,
    AHEAD_MEDIAN,
    AHEAD_HI
};
static const struct parquet_column columns[] = {
    [NAME] = {"name", PARQUET_TEXT, false},
    [VALUES] = {"values", PARQUET_INT, false},
    [SOURCE] = {"source", PARQUET_TEXT, false},
    [HASH] = {"hash", PARQUET_TEXT, false},
    [MADE] = {"made", PARQUET_TEXT, false},
    [WORDS] = {"words", PARQUET_TEXT, false},
    [STRUCTURE] = {"structure", PARQUET_TEXT, false},
    [PROBABILITY] = {"probability", PARQUET_NUMBER, false},
    [STRUCTURES] = {"structures", PARQUET_TEXT, true},
    [PROBABILITIES] = {"probabilities", PARQUET_NUMBER, true},
    [AHEAD_AT] = {"forecast_at", PARQUET_NUMBER, true},
    [AHEAD_LO] = {"forecast_lo", PARQUET_NUMBER, true},
    [AHEAD_MEDIAN] = {"forecast_median", PARQUET_NUMBER, true},
    [AHEAD_HI] = {"forecast_hi", PARQUET_NUMBER, true},
};

struct table {
    struct catalog *c;
    struct parquet *to;
};

static enum gpm_status table_row(void *ctx, const struct catalog_row *r, struct buf *err) {
    struct table *t = ctx;
    struct sketch p;
    enum gpm_status st = read_sketch(t->c, r, &p, err);
    if (st) return st;
    const char *const texts[] = {[NAME] = r->name,
                                 [SOURCE] = r->source,
                                 [HASH] = r->hash,
                                 [MADE] = r->made,
                                 [WORDS] = r->words};
    for (size_t i = 0; i < COUNT_OF(texts); i++)
        if (i != VALUES) parquet_text(t->to, i, texts[i]);
    parquet_int(t->to, VALUES, r->n);
    parquet_text(t->to, STRUCTURE, p.n_structures ? p.structure[0].text : "");
    parquet_number(t->to, PROBABILITY, p.n_structures ? (double)p.structure[0].p : 0);
    for (size_t i = 0; i < p.n_structures; i++) {
        parquet_text(t->to, STRUCTURES, p.structure[i].text);
        parquet_number(t->to, PROBABILITIES, (double)p.structure[i].p);
    }
    for (size_t i = 0; i < p.n_ahead; i++) {
        parquet_number(t->to, AHEAD_AT, p.x0 + p.span * p.ahead[i].t);
        parquet_number(t->to, AHEAD_LO, (double)p.ahead[i].lo);
        parquet_number(t->to, AHEAD_MEDIAN, (double)p.ahead[i].median);
        parquet_number(t->to, AHEAD_HI, (double)p.ahead[i].hi);
    }
    parquet_row(t->to);
    sketch_release(&p);
    return GPM_OK;
}

enum gpm_status index_export_parquet(const char *path, const char *file, struct buf *err) {
    struct table t;
    enum gpm_status st = catalog_open(&t.c, path, CATALOG_READ, err);
    if (st) return st;
    struct buf out = BUF_INIT;
    t.to = parquet_new(columns, COUNT_OF(columns));
    st = catalog_each(t.c, 0, table_row, &t, err);
    parquet_finish(t.to, &out);
    catalog_close(t.c);
    if (!st && (st = file_write(file, FILE_GIVEN, out.data, out.len)))
        buf_fail(err, st, "cannot write '%s': %s", file, file_why());
    buf_release(&out);
    return st;
}

enum gpm_status index_remove(const char *path, const char *name, struct buf *err) {
    struct catalog *c;
    bool found = false;
    enum gpm_status st = catalog_open(&c, path, CATALOG_WRITE, err);
    if (st) return st;
    st = catalog_begin(c, err);
    if (!st) st = catalog_remove(c, name, &found, err);
    st = catalog_end(c, st, err);
    struct catalog_maker maker = index_maker(c);
    if (!st) st = catalog_settle(c, &maker, err);
    if (!st && !found)
        st = buf_fail(err, GPM_E_NOT_FOUND, "the index '%s' has no series '%s'", path, name);
    catalog_close(c);
    return st;
}

/* Reads what a search would read. */
static enum gpm_status verify_one(void *ctx, const struct catalog_row *r, struct buf *err) {
    struct listing *l = ctx;
    struct sketch p;
    struct buf posting = BUF_INIT;
    enum gpm_status st = read_sketch(l->c, r, &p, err);
    if (st) return st;
    st = index_posting(&p, l->c, &posting, err);
    if (!st && (posting.len != r->n_posting || memcmp(posting.data, r->posting, posting.len)))
        st = buf_fail(err, GPM_E_FORMAT, "the structures of '%s' are not those of its sketch",
                      r->name);
    l->n++;
    buf_release(&posting);
    sketch_release(&p);
    return st;
}

enum gpm_status index_verify(const char *path, size_t *n, bool *summed, struct buf *err) {
    struct listing l = {0};
    enum gpm_status st = catalog_open(&l.c, path, CATALOG_READ, err);
    if (st) return st;
    st = catalog_check(l.c, err);
    if (!st) st = catalog_each(l.c, 0, verify_one, &l, err);
    *n = l.n;
    *summed = catalog_summed(l.c);
    catalog_close(l.c);
    return st;
}

enum gpm_status index_compact(const char *path, const char *copy, struct buf *err) {
    struct catalog *c;
    if (copy && file_there(copy))
        return buf_fail(err, GPM_E_ARG, "'%s' is there already; name a new file", copy);
    if (copy && !(catalog_is_file(path) && catalog_is_file(copy)))
        return buf_fail(err, GPM_E_ARG,
                        "a copy from or to a server is made by gpmem index merge '%s' '%s'", copy,
                        path);
    enum gpm_status st = catalog_open(&c, path, CATALOG_WRITE, err);
    if (st) return st;
    struct catalog_maker maker = index_maker(c);
    st = catalog_begin(c, err);
    if (!st) st = catalog_forget(c, err); /* rebuilds the blocks, whatever was wrong with them */
    if (!st) st = catalog_settle(c, &maker, err);
    st = catalog_end(c, st, err);
    if (!st) st = catalog_compact(c, copy, err);
    catalog_close(c);
    return st;
}
