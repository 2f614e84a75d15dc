/* SPDX-License-Identifier: Apache-2.0
 *
 * See chain_rows.h.
 */
#include "front/cli/chain_rows.h"
#include "base/ascii.h"
#include "base/mem.h"
#include "base/number.h"
#include <string.h>

void chain_rows_release(struct chain_rows *r) {
    column_names_free(&r->columns);
    column_names_free(&r->spelled);
}

/* What CSV cannot hold becomes _. */
static void spell(const char *name, struct buf *b) {
    for (; *name; name++) {
        bool plain = ascii_name(*name) || *name == '.';
        if (*name == ']') continue;
        buf_putc(b, plain ? *name : *name == '[' || *name == ',' ? '.' : '_');
    }
}

/* Spells columns from `from` on; one that looks like another gets a number. */
static void spell_new(struct chain_rows *r, size_t from) {
    for (size_t k = from; k < r->columns.names.n; k++) {
        struct buf b = BUF_INIT;
        spell(r->columns.names.at[k], &b);
        size_t len = b.len;
        for (int i = 2; column_names_has(&r->spelled, b.data ? b.data : ""); i++) {
            b.len = len;
            buf_printf(&b, "_%d", i);
        }
        (void)column_names_take(&r->spelled, b.data ? b.data : "", k);
        buf_release(&b);
    }
}

void chain_rows_know(struct chain_rows *r, const char *const *names, size_t n) {
    column_names_begin_row(&r->columns);
    for (size_t k = 0; k < n; k++) (void)column_names_take(&r->columns, names[k], k);
    spell_new(r, 0);
}

static void put_names(const struct chain_rows *r, size_t from, struct buf *out) {
    for (size_t k = from; k < r->spelled.names.n; k++) {
        buf_puts(out, r->spelled.names.at[k]);
        buf_putc(out, ',');
    }
    out->data[out->len - 1] = '\n';
}

void chain_row_text(const double *row, size_t n, struct buf *out) {
    char *to = buf_room(out, n * NUMBER_TEXT + 2);
    if (n == 1 && number_is_absent(row[0])) {
        *to++ = '"';
        *to++ = '"';
    }
    for (size_t i = 0; i < n; i++) {
        if (!number_is_absent(row[i])) to += number_exact(to, row[i]);
        *to++ = i + 1 < n ? ',' : '\n';
    }
    out->len = (size_t)(to - out->data);
}

void chain_rows_add(struct chain_rows *r, const char *const *names, const double *row, size_t n,
                    struct buf *out) {
    size_t had = r->columns.names.n, few[64],
           *places = n > COUNT_OF(few) ? NEW_ARRAY(size_t, n) : few;
    column_names_begin_row(&r->columns);
    for (size_t k = 0, at = 0; k < n; k++, at++)
        places[k] = at = column_names_take(&r->columns, names[k], at);
    size_t all = r->columns.names.n;
    double *cells = NEW_ARRAY(double, all + 1);
    for (size_t k = 0; k < all; k++) cells[k] = number_absent();
    spell_new(r, had);
    if (all > had && had) buf_puts(out, "#+");
    if (all > had) put_names(r, had, out);
    for (r->before += !all; all && r->before; r->before--) chain_row_text(cells, all, out);
    for (size_t k = 0; k < n; k++) cells[places[k]] = row[k];
    if (all) chain_row_text(cells, all, out);
    if (places != few) mem_free(places);
    mem_free(cells);
}

static bool is_blank(const char *cells, size_t n) {
    return n == 2 && !memcmp(cells, "\"\"", 2);
}

bool chain_rows_same(const char *old, size_t old_len, const char *line, size_t len, bool names,
                     bool *skip) {
    *skip = len > 0 && line[0] == '#' && (old_len == 0 || old[0] != '#');
    if (*skip) return true;
    if (is_blank(line, len)) len = 0;
    if (is_blank(old, old_len)) old_len = 0;
    if (len > old_len || memcmp(old, line, len) != 0) return false;
    if (names) return len == old_len || old[len] == ',';
    while (len < old_len && old[len] == ',') len++;
    return len == old_len;
}

bool chain_rows_whole(const struct chain_rows *r, const struct buf *file, struct buf *out) {
    size_t all = r->spelled.names.n, width = 0;
    const char *p = file->data, *end = p + file->len, *nl;
    if (!file->len || !strstr(p, "\n#+")) return false;
    for (; p < end && (nl = memchr(p, '\n', (size_t)(end - p))); p = nl + 1) {
        size_t n = (size_t)(nl - p), cells = 1;
        for (size_t i = 0; i < n; i++) cells += p[i] == ',';
        if (!width) put_names(r, 0, out);
        if (width && *p != '#') {
            buf_add(out, p, is_blank(p, n) && width < all ? 0 : n);
            for (size_t k = width; k < all; k++) buf_putc(out, ',');
            buf_putc(out, '\n');
        }
        width += !width || *p == '#' ? cells : 0;
    }
    return true;
}
