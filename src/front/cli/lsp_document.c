/* SPDX-License-Identifier: Apache-2.0
 *
 * The open documents of the language server, and positions in them.
 */
#include "front/cli/lsp.h"

#include "base/ascii.h"
#include "base/utf8.h"
#include <stdio.h>
#include <string.h>

struct lsp_server server;

struct document *document_find(const char *uri) {
    struct document *d = server.documents;
    while (d && strcmp(d->uri, uri) != 0) d = d->next;
    return d;
}

static void drop_names(struct document *d) {
    for (size_t i = 0; i < d->names.n; i++) mem_free((char *)d->names.at[i].name);
    vec_release(&d->names);
}

static void keep_name(void *user, const struct gpm_name_place *p) {
    struct document *d = user;
    vec_push(&d->names, *p);
    vec_last(&d->names).name = mem_strdup(p->name);
}

/* Keeps the names of the last good version when the new text does not parse: while one types, most
 * texts do not. */
static void refresh_names(struct document *d) {
    struct document fresh = {0}, old = *d;
    if (gpm_outline(d->text, d->len, keep_name, &fresh) == GPM_OK)
        d->names = fresh.names;
    else
        old = fresh;
    drop_names(&old);
}

/* file:///a%20b is /a b. */
static char *path_of(const char *uri) {
    struct buf b = BUF_INIT;
    unsigned code;
    const char *s = strncmp(uri, "file://", 7) == 0 ? uri + 7 : uri;
    for (; *s; s++) {
        bool coded = s != uri && s[0] == '%' && s[1] && s[2] && sscanf(s + 1, "%2x", &code) == 1;
        buf_putc(&b, coded && code ? (char)code : *s);
        if (coded && code) s += 2;
    }
    return buf_take(&b);
}

struct document *document_set(const char *uri, const char *text) {
    struct document *d = document_find(uri);
    if (!d) {
        d = NEW(struct document);
        d->uri = mem_strdup(uri);
        d->path = path_of(uri);
        d->next = server.documents;
        server.documents = d;
    }
    mem_free(d->text);
    d->text = mem_strdup(text);
    d->len = strlen(text);
    refresh_names(d);
    return d;
}

void document_close(const char *uri) {
    for (struct document **at = &server.documents; *at; at = &(*at)->next) {
        struct document *d = *at;
        if (strcmp(d->uri, uri) != 0) continue;
        *at = d->next;
        drop_names(d);
        mem_free(d->uri);
        mem_free(d->path);
        mem_free(d->text);
        mem_free(d);
        return;
    }
}

size_t document_sequence(const struct document *d, size_t offset) {
    uint32_t code, n = utf8_decode(d->text + offset, d->len - offset, &code);
    return n ? n : 1;
}

static size_t line_start(const struct document *d, size_t line) {
    size_t at = 0;
    for (; line > 0; line--) {
        const char *nl = memchr(d->text + at, '\n', d->len - at);
        if (!nl) return d->len;
        at = (size_t)(nl - d->text) + 1;
    }
    return at;
}

size_t offset_at(const struct document *d, size_t line, size_t units, bool utf16) {
    size_t at = line_start(d, line);
    while (units > 0 && at < d->len && d->text[at] != '\n') {
        size_t n = document_sequence(d, at), width = utf16 && n == 4 ? 2 : 1;
        at += n;
        units -= width < units ? width : units;
    }
    return at;
}

json_t *position(const struct document *d, size_t offset) {
    json_int_t line = 0, character = 0;
    if (offset > d->len) offset = d->len;
    size_t start = offset;
    while (start > 0 && d->text[start - 1] != '\n') start--;
    for (size_t i = 0; i < start; i++) line += d->text[i] == '\n';
    for (size_t i = start; i < offset;) {
        size_t n = document_sequence(d, i);
        character += n == 4 ? 2 : 1;
        i += n;
    }
    return json_pack("{s:I, s:I}", "line", line, "character", character);
}

json_t *range(const struct document *d, size_t start, size_t end) {
    return json_pack("{s:o, s:o}", "start", position(d, start), "end", position(d, end));
}

void word(const struct document *d, size_t offset, size_t *start, size_t *end) {
    *start = *end = offset < d->len ? offset : d->len;
    while (*start > 0 && ascii_name(d->text[*start - 1])) --*start;
    while (*end < d->len && ascii_name(d->text[*end])) ++*end;
}

bool still_there(const struct document *d, const struct gpm_name_place *n) {
    size_t len = strlen(n->name);
    return n->end <= d->len && n->def_end <= d->len && n->whole_end <= d->len &&
           memcmp(d->text + n->start, n->name, len) == 0 &&
           memcmp(d->text + n->def_start, n->name, len) == 0;
}

const struct gpm_name_place *name_at(const struct document *d, size_t offset) {
    for (size_t i = 0; i < d->names.n; i++) {
        const struct gpm_name_place *n = &d->names.at[i];
        if (n->start <= offset && offset <= n->end && still_there(d, n)) return n;
    }
    return NULL;
}

const char *uri_of(json_t *params) {
    const char *uri = "";
    json_unpack(params, "{s:{s:s}}", "textDocument", "uri", &uri);
    return uri;
}

struct document *place_of(json_t *params, size_t *offset) {
    struct document *d = document_find(uri_of(params));
    json_int_t line = 0, character = 0;
    json_unpack(params, "{s:{s?I, s?I}}", "position", "line", &line, "character", &character);
    if (d)
        *offset =
            offset_at(d, line > 0 ? (size_t)line : 0, character > 0 ? (size_t)character : 0, true);
    return d;
}

bool range_bytes(const struct document *d, json_t *range, size_t *start, size_t *end) {
    json_int_t line = 0, character = 0, end_line = 0, end_character = 0;
    if (json_unpack(range, "{s:{s:I, s:I}, s:{s:I, s:I}}", "start", "line", &line, "character",
                    &character, "end", "line", &end_line, "character", &end_character) ||
        line < 0 || character < 0 || end_line < 0 || end_character < 0)
        return false;
    *start = offset_at(d, (size_t)line, (size_t)character, true);
    *end = offset_at(d, (size_t)end_line, (size_t)end_character, true);
    return *start <= *end;
}
