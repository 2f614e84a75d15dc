/* SPDX-License-Identifier: Apache-2.0
 *
 * See lsp_text.h.
 */
#include "cli/lsp_text.h"
#include "base/ascii.h"
#include "base/utf8.h"
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

struct lsp_document *lsp_document_find(struct lsp_document *list, const char *uri) {
    while (list && strcmp(list->uri, uri) != 0) list = list->next;
    return list;
}

static void drop_names(struct lsp_document *d) {
    for (size_t i = 0; i < d->names.n; i++) mem_free((char *)d->names.at[i].name);
    vec_release(&d->names);
}

static void keep_name(void *user, const struct gpm_name_place *p) {
    struct lsp_document *d = user;
    vec_push(&d->names, *p);
    vec_last(&d->names).name = mem_strdup(p->name);
}

/* Keeps the names of the last good version when the new text does not parse: while one types, most
 * texts do not. */
static void refresh_names(struct lsp_document *d) {
    struct lsp_document fresh = {0}, old = *d;
    if (gpm_outline(d->text, d->len, keep_name, &fresh) == GPM_OK)
        d->names = fresh.names;
    else
        old = fresh;
    drop_names(&old);
}

struct lsp_document *lsp_document_set(struct lsp_document **list, const char *uri,
                                      const char *text) {
    struct lsp_document *d = lsp_document_find(*list, uri);
    if (!d) {
        d = NEW(struct lsp_document);
        d->uri = mem_strdup(uri);
        d->next = *list;
        *list = d;
    }
    mem_free(d->text);
    d->text = mem_strdup(text);
    d->len = strlen(text);
    refresh_names(d);
    return d;
}

void lsp_document_close(struct lsp_document **list, const char *uri) {
    for (struct lsp_document **at = list; *at; at = &(*at)->next) {
        struct lsp_document *d = *at;
        if (strcmp(d->uri, uri) != 0) continue;
        *at = d->next;
        drop_names(d);
        mem_free(d->uri);
        mem_free(d->text);
        mem_free(d);
        return;
    }
}

/* Bytes of the UTF-8 sequence at `offset`; 1 for a stray byte. */
static size_t sequence(const struct lsp_document *d, size_t offset) {
    uint32_t code, n = utf8_decode(d->text + offset, d->len - offset, &code);
    return n ? n : 1;
}

static size_t line_start(const struct lsp_document *d, size_t line) {
    size_t at = 0;
    for (; line > 0; line--) {
        const char *nl = memchr(d->text + at, '\n', d->len - at);
        if (!nl) return d->len;
        at = (size_t)(nl - d->text) + 1;
    }
    return at;
}

size_t lsp_offset(const struct lsp_document *d, size_t line, size_t character) {
    size_t at = line_start(d, line);
    while (character > 0 && at < d->len && d->text[at] != '\n') {
        size_t n = sequence(d, at), units = n == 4 ? 2 : 1;
        at += n;
        character -= units < character ? units : character;
    }
    return at;
}

size_t lsp_offset_of_column(const struct lsp_document *d, size_t line, size_t column) {
    size_t at = line_start(d, line ? line - 1 : 0);
    for (; column > 1 && at < d->len && d->text[at] != '\n'; column--) at += sequence(d, at);
    return at;
}

static json_t *position(const struct lsp_document *d, size_t offset) {
    json_int_t line = 0, character = 0;
    if (offset > d->len) offset = d->len;
    size_t start = offset;
    while (start > 0 && d->text[start - 1] != '\n') start--;
    for (size_t i = 0; i < start; i++) line += d->text[i] == '\n';
    for (size_t i = start; i < offset;) {
        size_t n = sequence(d, i);
        character += n == 4 ? 2 : 1;
        i += n;
    }
    return json_pack("{s:I, s:I}", "line", line, "character", character);
}

json_t *lsp_range(const struct lsp_document *d, size_t start, size_t end) {
    return json_pack("{s:o, s:o}", "start", position(d, start), "end", position(d, end));
}

void lsp_word(const struct lsp_document *d, size_t offset, size_t *start, size_t *end) {
    *start = *end = offset < d->len ? offset : d->len;
    while (*start > 0 && ascii_name(d->text[*start - 1])) --*start;
    while (*end < d->len && ascii_name(d->text[*end])) ++*end;
}

/* The names may be those of an older text: the bytes must still spell the name. */
static bool still_there(const struct lsp_document *d, const struct gpm_name_place *n) {
    size_t len = strlen(n->name);
    return n->end <= d->len && n->def_end <= d->len && n->whole_end <= d->len &&
           memcmp(d->text + n->start, n->name, len) == 0 &&
           memcmp(d->text + n->def_start, n->name, len) == 0;
}

const struct gpm_name_place *lsp_name_at(const struct lsp_document *d, size_t offset) {
    for (size_t i = 0; i < d->names.n; i++) {
        const struct gpm_name_place *n = &d->names.at[i];
        if (n->start <= offset && offset <= n->end && still_there(d, n)) return n;
    }
    return NULL;
}
