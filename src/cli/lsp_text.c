/* SPDX-License-Identifier: Apache-2.0
 *
 * See lsp_text.h.
 */
#include "cli/lsp_text.h"
#include <ctype.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

struct lsp_document *lsp_document_find(struct lsp_document *list, const char *uri) {
    for (; list; list = list->next) {
        if (strcmp(list->uri, uri) == 0) return list;
    }
    return NULL;
}

static void drop_names(struct lsp_document *d) {
    for (size_t i = 0; i < d->n_names; i++) free(d->names[i].name);
    d->n_names = 0;
}

static void keep_name(void *user, const struct gpm_name_place *p) {
    struct lsp_document *d = user;
    if (d->n_names == d->cap_names) {
        size_t cap = d->cap_names ? d->cap_names * 2 : 64;
        struct lsp_name *more = realloc(d->names, cap * sizeof *more);
        if (!more) return;
        d->names = more;
        d->cap_names = cap;
    }
    struct lsp_name n = {strdup(p->name), p->kind,    p->start,       p->end,
                         p->def_start,    p->def_end, p->whole_start, p->whole_end};
    if (n.name) d->names[d->n_names++] = n;
}

/* Keeps the names of the last good version when the new text does not parse: while one types, most
 * texts do not. */
static void refresh_names(struct lsp_document *d) {
    struct lsp_document fresh = {0};
    if (gpm_outline(d->text, d->len, keep_name, &fresh) != GPM_OK) {
        drop_names(&fresh);
        free(fresh.names);
        return;
    }
    drop_names(d);
    free(d->names);
    d->names = fresh.names;
    d->n_names = fresh.n_names;
    d->cap_names = fresh.cap_names;
}

void lsp_document_set(struct lsp_document **list, const char *uri, const char *text) {
    struct lsp_document *d = lsp_document_find(*list, uri);
    if (!d) {
        d = calloc(1, sizeof *d);
        if (!d) return;
        d->uri = strdup(uri);
        d->next = *list;
        *list = d;
    }
    free(d->text);
    d->text = strdup(text);
    d->len = d->text ? strlen(d->text) : 0;
    refresh_names(d);
}

void lsp_document_close(struct lsp_document **list, const char *uri) {
    for (struct lsp_document **at = list; *at; at = &(*at)->next) {
        struct lsp_document *d = *at;
        if (strcmp(d->uri, uri) != 0) continue;
        *at = d->next;
        drop_names(d);
        free(d->names);
        free(d->uri);
        free(d->text);
        free(d);
        return;
    }
}

/* Bytes of the UTF-8 sequence at `offset`; 1 for a stray byte. */
static size_t sequence(const struct lsp_document *d, size_t offset) {
    unsigned char c = (unsigned char)d->text[offset];
    size_t n = c >= 0xf0 ? 4 : c >= 0xe0 ? 3 : c >= 0xc0 ? 2 : 1;
    return offset + n <= d->len ? n : 1;
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

json_t *lsp_position(const struct lsp_document *d, size_t offset) {
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
    return json_pack("{s:o, s:o}", "start", lsp_position(d, start), "end", lsp_position(d, end));
}

static bool word_byte(char c) {
    return isalnum((unsigned char)c) || c == '_';
}

void lsp_word(const struct lsp_document *d, size_t offset, size_t *start, size_t *end) {
    *start = *end = offset < d->len ? offset : d->len;
    while (*start > 0 && word_byte(d->text[*start - 1])) --*start;
    while (*end < d->len && word_byte(d->text[*end])) ++*end;
}

/* The names may be those of an older text: the bytes must still spell the name. */
static bool still_there(const struct lsp_document *d, const struct lsp_name *n) {
    size_t len = strlen(n->name);
    return n->end <= d->len && n->def_end <= d->len && n->whole_end <= d->len &&
           memcmp(d->text + n->start, n->name, len) == 0 &&
           memcmp(d->text + n->def_start, n->name, len) == 0;
}

const struct lsp_name *lsp_name_at(const struct lsp_document *d, size_t offset) {
    for (size_t i = 0; i < d->n_names; i++) {
        const struct lsp_name *n = &d->names[i];
        if (n->start <= offset && offset <= n->end && still_there(d, n)) return n;
    }
    return NULL;
}
