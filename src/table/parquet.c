/* SPDX-License-Identifier: Apache-2.0
 *
 * See parquet.h. The format: "PAR1"; the groups, each of them a page per column; a description of
 * everything in Thrift's compact protocol, its length, "PAR1" (github.com/apache/parquet-format,
 * README.md and parquet.thrift, whose field numbers stand below).
 */
#include "table/parquet.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "base/vec.h"
#include <string.h>

/* A group ends with either: the size of a page is a number of 31 bits. */
#define GROUP_ROWS  65536
#define GROUP_BYTES ((size_t)16 << 20)

/* Numbers of the format. */
enum { REQUIRED = 0, REPEATED = 2, UTF8 = 0, LIST = 3, PLAIN = 0, RLE = 3 };
enum { THRIFT_I32 = 5, THRIFT_I64 = 6, THRIFT_BINARY = 8, THRIFT_LIST = 9, THRIFT_STRUCT = 12 };

struct filled_column {
    struct parquet_column is;
    struct buf values;        /* of the group that is being written */
    VEC(bool) starts, exists; /* lists: whether a value begins a row; whether there is one */
    size_t n, row;            /* values; those of the row */
};

/* A page that was written. */
struct chunk {
    size_t at, size, n;
};

struct parquet {
    struct filled_column *column;
    size_t columns, rows;
    size_t group_rows; /* of the group that is being written */
    struct buf out;
    VEC(struct chunk) chunk; /* column by column, group by group */
    VEC(size_t) group;       /* rows of each */
};

/* ---- Thrift's compact protocol ---- */

static void varint(struct buf *b, uint64_t v) {
    for (; v >= 128; v >>= 7) buf_putc(b, (char)(v | 128));
    buf_putc(b, (char)v);
}

static void zigzag(struct buf *b, int64_t v) {
    varint(b, (uint64_t)v << 1 ^ (uint64_t)(v >> 63));
}

/* The field `id` after the field `last` of its struct (at most 15 on). */
static void field(struct buf *b, int last, int id, int type) {
    buf_putc(b, (char)((id - last) << 4 | type));
}

static void int_field(struct buf *b, int last, int id, int type, int64_t v) {
    field(b, last, id, type);
    zigzag(b, v);
}

static void bytes(struct buf *b, const char *s) {
    varint(b, strlen(s));
    buf_puts(b, s);
}

static void text_field(struct buf *b, int last, int id, const char *s) {
    field(b, last, id, THRIFT_BINARY);
    bytes(b, s);
}

static void list_field(struct buf *b, int last, int id, int type, size_t n) {
    field(b, last, id, THRIFT_LIST);
    buf_putc(b, (char)((n < 15 ? n : 15) << 4 | (size_t)type));
    if (n >= 15) varint(b, n);
}

static void struct_end(struct buf *b) {
    buf_putc(b, 0);
}

/* ---- values ---- */

static struct filled_column *one_more(struct parquet *p, size_t column) {
    struct filled_column *c = &p->column[column];
    if (c->is.list) {
        vec_push(&c->starts, c->row == 0);
        vec_push(&c->exists, true);
    }
    c->row++;
    c->n++;
    return c;
}

void parquet_int(struct parquet *p, size_t column, int64_t v) {
    buf_put_bits(&one_more(p, column)->values, (uint64_t)v, 8);
}

void parquet_number(struct parquet *p, size_t column, double v) {
    uint64_t bits;
    memcpy(&bits, &v, sizeof bits);
    buf_put_bits(&one_more(p, column)->values, bits, 8);
}

/* Readers refuse a file for one byte that is no text: U+FFFD stands for each, as in JSON. */
void parquet_text(struct parquet *p, size_t column, const char *s) {
    struct buf *to = &one_more(p, column)->values, text = BUF_INIT;
    size_t n = strlen(s);
    for (size_t good; n; s += good, n -= good) {
        good = utf8_check(s, n);
        buf_add(&text, s, good);
        if (good == n) break;
        buf_puts(&text, UTF8_REPLACEMENT);
        good++;
    }
    buf_put_bits(to, text.len, 4);
    buf_add(to, text.data, text.len);
    buf_release(&text);
}

/* ---- pages ---- */

/* Levels of one bit: repetition is 0 where a row begins, definition 0 where its list is empty. In
 * groups of eight, as bits; their length before them. */
static void levels(struct buf *b, const bool *v, size_t n, bool inverted) {
    struct buf packed = BUF_INIT;
    varint(&packed, (n + 7) / 8 << 1 | 1);
    for (size_t i = 0; i < n; i += 8) {
        unsigned byte = 0;
        for (size_t k = 0; k < 8 && i + k < n; k++) byte |= (unsigned)(v[i + k] != inverted) << k;
        buf_putc(&packed, (char)byte);
    }
    buf_put_bits(b, packed.len, 4);
    buf_add(b, packed.data, packed.len);
    buf_release(&packed);
}

static void write_page(struct parquet *p, struct filled_column *c) {
    struct buf page = BUF_INIT;
    size_t n = c->is.list ? c->starts.n : c->n, at = p->out.len;
    if (c->is.list) {
        levels(&page, c->starts.at, n, true);
        levels(&page, c->exists.at, n, false);
    }
    buf_add(&page, c->values.data, c->values.len);
    int_field(&p->out, 0, 1, THRIFT_I32, 0); /* PageHeader: type DATA_PAGE, */
    int_field(&p->out, 1, 2, THRIFT_I32, (int64_t)page.len);
    int_field(&p->out, 2, 3, THRIFT_I32, (int64_t)page.len);
    field(&p->out, 3, 5, THRIFT_STRUCT); /* DataPageHeader */
    int_field(&p->out, 0, 1, THRIFT_I32, (int64_t)n);
    int_field(&p->out, 1, 2, THRIFT_I32, PLAIN);
    int_field(&p->out, 2, 3, THRIFT_I32, RLE);
    int_field(&p->out, 3, 4, THRIFT_I32, RLE);
    struct_end(&p->out);
    struct_end(&p->out);
    buf_add(&p->out, page.data, page.len);
    vec_push(&p->chunk, ((struct chunk){at, p->out.len - at, n}));
    buf_release(&page);
    buf_reset(&c->values);
    c->starts.n = c->exists.n = c->n = 0;
}

static void write_group(struct parquet *p) {
    if (!p->group_rows) return;
    for (size_t i = 0; i < p->columns; i++) write_page(p, &p->column[i]);
    vec_push(&p->group, p->group_rows);
    p->group_rows = 0;
}

void parquet_row(struct parquet *p) {
    size_t held = 0;
    for (size_t i = 0; i < p->columns; i++) {
        struct filled_column *c = &p->column[i];
        held += c->values.len;
        if (c->is.list && c->row == 0) {
            vec_push(&c->starts, true);
            vec_push(&c->exists, false);
        }
        c->row = 0;
    }
    p->rows++;
    if (++p->group_rows == GROUP_ROWS || held >= GROUP_BYTES) write_group(p);
}

/* ---- the description ---- */

static void leaf(struct buf *b, const struct parquet_column *c, const char *name) {
    int_field(b, 0, 1, THRIFT_I32, c->type);
    int_field(b, 1, 3, THRIFT_I32, REQUIRED);
    text_field(b, 3, 4, name);
    if (c->type == PARQUET_TEXT) int_field(b, 4, 6, THRIFT_I32, UTF8);
    struct_end(b);
}

static void group(struct buf *b, const char *name, int repetition, int children, int kind) {
    if (repetition >= 0) int_field(b, 0, 3, THRIFT_I32, repetition);
    text_field(b, repetition >= 0 ? 3 : 0, 4, name);
    int_field(b, 4, 5, THRIFT_I32, children);
    if (kind >= 0) int_field(b, 5, 6, THRIFT_I32, kind);
    struct_end(b);
}

static void describe_schema(const struct parquet *p, struct buf *b) {
    size_t elements = 1;
    for (size_t i = 0; i < p->columns; i++) elements += p->column[i].is.list ? 3 : 1;
    list_field(b, 1, 2, THRIFT_STRUCT, elements);
    group(b, "table", -1, (int)p->columns, -1);
    for (size_t i = 0; i < p->columns; i++) {
        const struct parquet_column *c = &p->column[i].is;
        if (c->list) {
            group(b, c->name, REQUIRED, 1, LIST);
            group(b, "list", REPEATED, 1, -1);
        }
        leaf(b, c, c->list ? "element" : c->name);
    }
}

static void describe_chunk(struct buf *b, const struct parquet_column *c, const struct chunk *k) {
    int_field(b, 0, 2, THRIFT_I64, (int64_t)k->at);
    field(b, 2, 3, THRIFT_STRUCT); /* ColumnMetaData */
    int_field(b, 0, 1, THRIFT_I32, c->type);
    list_field(b, 1, 2, THRIFT_I32, 2);
    zigzag(b, PLAIN);
    zigzag(b, RLE);
    list_field(b, 2, 3, THRIFT_BINARY, c->list ? 3 : 1);
    bytes(b, c->name);
    if (c->list) bytes(b, "list"), bytes(b, "element");
    int_field(b, 3, 4, THRIFT_I32, 0); /* not compressed */
    int_field(b, 4, 5, THRIFT_I64, (int64_t)k->n);
    int_field(b, 5, 6, THRIFT_I64, (int64_t)k->size);
    int_field(b, 6, 7, THRIFT_I64, (int64_t)k->size);
    int_field(b, 7, 9, THRIFT_I64, (int64_t)k->at);
    struct_end(b);
    struct_end(b);
}

static void describe_groups(const struct parquet *p, struct buf *b) {
    list_field(b, 3, 4, THRIFT_STRUCT, p->group.n);
    for (size_t g = 0; g < p->group.n; g++) {
        size_t size = 0;
        list_field(b, 0, 1, THRIFT_STRUCT, p->columns);
        for (size_t i = 0; i < p->columns; i++) {
            const struct chunk *k = &p->chunk.at[g * p->columns + i];
            describe_chunk(b, &p->column[i].is, k);
            size += k->size;
        }
        int_field(b, 1, 2, THRIFT_I64, (int64_t)size);
        int_field(b, 2, 3, THRIFT_I64, (int64_t)p->group.at[g]);
        struct_end(b);
    }
}

struct parquet *parquet_new(const struct parquet_column *columns, size_t n) {
    struct parquet *p = NEW(struct parquet);
    p->column = mem_zalloc(n * sizeof *p->column);
    p->columns = n;
    buf_init(&p->out);
    buf_puts(&p->out, "PAR1");
    for (size_t i = 0; i < n; i++) {
        p->column[i].is = columns[i];
        buf_init(&p->column[i].values);
    }
    return p;
}

void parquet_finish(struct parquet *p, struct buf *out) {
    write_group(p);
    size_t at = p->out.len;
    int_field(&p->out, 0, 1, THRIFT_I32, 1); /* FileMetaData: version */
    describe_schema(p, &p->out);
    int_field(&p->out, 2, 3, THRIFT_I64, (int64_t)p->rows);
    describe_groups(p, &p->out);
    text_field(&p->out, 4, 6, "gpmem");
    struct_end(&p->out);
    buf_put_bits(&p->out, p->out.len - at, 4);
    buf_puts(&p->out, "PAR1");
    buf_add(out, p->out.data, p->out.len);
    for (size_t i = 0; i < p->columns; i++) {
        buf_release(&p->column[i].values);
        vec_release(&p->column[i].starts);
        vec_release(&p->column[i].exists);
    }
    buf_release(&p->out);
    vec_release(&p->chunk);
    vec_release(&p->group);
    mem_free(p->column);
    mem_free(p);
}
