/* SPDX-License-Identifier: Apache-2.0
 *
 * gpmem lsp: a language server (Language Server Protocol 3.17, JSON-RPC over standard input and
 * output). Diagnostics come from gpm_check_text, hover from gpm_help, names from gpm_outline; no
 * program is run. Documents are sent whole (TextDocumentSyncKind.Full).
 */
#include "base/ascii.h"
#include "base/utf8.h"
#include "cli/command.h"
#include "gpmem/outline.h"
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

enum { PARSE_ERROR = -32700, INVALID_REQUEST = -32600, METHOD_NOT_FOUND = -32601 };
enum { MESSAGE_MAX = 256 << 20 }; /* bytes of one message */

/* An open document. The protocol counts lines from 0 and characters in UTF-16 units; everything
 * here counts bytes. */
struct document {
    struct document *next;
    char *uri, *text;
    size_t len;
    VEC(struct gpm_name_place) names; /* of the last version that parsed; their texts are owned */
};

static struct {
    gpm_session *session;
    struct document *documents;
    bool stopping; /* shutdown was asked for */
} server;

/* ---- documents, and positions in them ---- */

static struct document *document_find(const char *uri) {
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

/* Opens or replaces; takes copies. */
static struct document *document_set(const char *uri, const char *text) {
    struct document *d = document_find(uri);
    if (!d) {
        d = NEW(struct document);
        d->uri = mem_strdup(uri);
        d->next = server.documents;
        server.documents = d;
    }
    mem_free(d->text);
    d->text = mem_strdup(text);
    d->len = strlen(text);
    refresh_names(d);
    return d;
}

static void document_close(const char *uri) {
    for (struct document **at = &server.documents; *at; at = &(*at)->next) {
        struct document *d = *at;
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
static size_t sequence(const struct document *d, size_t offset) {
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

/* Byte offset of what comes `units` after the start of a line, counted from 0; past its end: its
 * end. Positions of the protocol count UTF-16 units, diagnostics code points. */
static size_t offset_at(const struct document *d, size_t line, size_t units, bool utf16) {
    size_t at = line_start(d, line);
    while (units > 0 && at < d->len && d->text[at] != '\n') {
        size_t n = sequence(d, at), width = utf16 && n == 4 ? 2 : 1;
        at += n;
        units -= width < units ? width : units;
    }
    return at;
}

static json_t *position(const struct document *d, size_t offset) {
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

/* Protocol range of bytes; the caller owns the result. */
static json_t *range(const struct document *d, size_t start, size_t end) {
    return json_pack("{s:o, s:o}", "start", position(d, start), "end", position(d, end));
}

/* The word around `offset`; empty: start == end. */
static void word(const struct document *d, size_t offset, size_t *start, size_t *end) {
    *start = *end = offset < d->len ? offset : d->len;
    while (*start > 0 && ascii_name(d->text[*start - 1])) --*start;
    while (*end < d->len && ascii_name(d->text[*end])) ++*end;
}

/* The names may be those of an older text: the bytes must still spell the name. */
static bool still_there(const struct document *d, const struct gpm_name_place *n) {
    size_t len = strlen(n->name);
    return n->end <= d->len && n->def_end <= d->len && n->whole_end <= d->len &&
           memcmp(d->text + n->start, n->name, len) == 0 &&
           memcmp(d->text + n->def_start, n->name, len) == 0;
}

/* The name occurrence at `offset`, or NULL. */
static const struct gpm_name_place *name_at(const struct document *d, size_t offset) {
    for (size_t i = 0; i < d->names.n; i++) {
        const struct gpm_name_place *n = &d->names.at[i];
        if (n->start <= offset && offset <= n->end && still_there(d, n)) return n;
    }
    return NULL;
}

/* ---- messages ---- */

static void send_message(json_t *message) {
    char *text = json_dumps(message, JSON_COMPACT);
    if (text) printf("Content-Length: %zu\r\n\r\n%s", strlen(text), text);
    fflush(stdout);
    free(text);
    json_decref(message);
}

static void reply(json_t *id, json_t *result) {
    send_message(json_pack("{s:s, s:O, s:o}", "jsonrpc", "2.0", "id", id, "result", result));
}

static void reply_error(json_t *id, int code, const char *text) {
    send_message(json_pack("{s:s, s:O, s:{s:i, s:s}}", "jsonrpc", "2.0", "id", id, "error", "code",
                           code, "message", text));
}

/* Reads the headers; the length of the body, or -1 at the end of input or without a length. */
static long read_headers(void) {
    char line[512];
    long length = -1;
    while (fgets(line, sizeof line, stdin)) {
        if (strcmp(line, "\r\n") == 0 || strcmp(line, "\n") == 0) return length;
        if (strncasecmp(line, "Content-Length:", 15) == 0) length = strtol(line + 15, NULL, 10);
    }
    return -1;
}

/* The next message, JSON null when it is none; NULL: there are no more. */
static json_t *read_message(void) {
    long length = read_headers();
    if (length < 0 || length > MESSAGE_MAX) return NULL;
    char *body = mem_alloc((size_t)length + 1);
    json_t *message = NULL;
    if (fread(body, 1, (size_t)length, stdin) == (size_t)length) {
        message = json_loadb(body, (size_t)length, 0, NULL);
        if (!message) message = json_null();
    }
    mem_free(body);
    return message;
}

/* ---- diagnostics ---- */

/* Their lines and columns begin with 1; 0: not known. */
static json_t *diagnostic_range(const struct document *d, json_t *x) {
    json_int_t line = 1, column = 1, end_line = 0, end_column = 1;
    json_unpack(x, "{s?I, s?I, s?I, s?I}", "line", &line, "column", &column, "end_line", &end_line,
                "end_column", &end_column);
    size_t start =
        offset_at(d, line ? (size_t)line - 1 : 0, column ? (size_t)column - 1 : 0, false);
    size_t end =
        end_line ? offset_at(d, (size_t)end_line - 1, (size_t)end_column - 1, false) : start;
    return range(d, start, end);
}

static json_t *make_diagnostic(const struct document *d, json_t *x) {
    const char *severity = "error", *code = "", *message = "error", *help = NULL;
    json_t *notes = NULL, *labels = NULL, *related = json_array(), *one;
    size_t i;
    json_unpack(x, "{s?s, s?s, s?s, s?s, s?o, s?o}", "severity", &severity, "code", &code,
                "message", &message, "help", &help, "notes", &notes, "labels", &labels);
    struct buf text = BUF_INIT; /* message, notes and help as one text */
    buf_puts(&text, message);
    json_array_foreach(notes, i, one) buf_printf(&text, "\nnote: %s", json_string_value(one));
    if (help) buf_printf(&text, "\nhelp: %s", help);
    json_array_foreach(labels, i, one) {
        json_t *item = json_pack("{s:{s:s, s:o}, s:O}", "location", "uri", d->uri, "range",
                                 diagnostic_range(d, one), "message", json_object_get(one, "text"));
        if (item) json_array_append_new(related, item);
    }
    json_t *out = json_pack("{s:o, s:i, s:s, s:s, s:s, s:o}", "range", diagnostic_range(d, x),
                            "severity", strcmp(severity, "warning") == 0 ? 2 : 1, "code", code,
                            "source", "gpmem", "message", text.data, "relatedInformation", related);
    buf_release(&text);
    return out;
}

static void publish(const char *uri, json_t *list) {
    send_message(json_pack("{s:s, s:s, s:{s:s, s:o}}", "jsonrpc", "2.0", "method",
                           "textDocument/publishDiagnostics", "params", "uri", uri, "diagnostics",
                           list));
}

static void check_document(const struct document *d) {
    json_t *list = json_array();
    /* warnings are there after success, too */
    (void)!gpm_check_text(server.session, d->uri, d->text, d->len, false);
    for (const char *line = gpm_last_error(server.session); *line;) {
        size_t n = strcspn(line, "\n");
        json_t *x = json_loadb(line, n, 0, NULL);
        if (x) json_array_append_new(list, make_diagnostic(d, x));
        json_decref(x);
        line += n + (line[n] == '\n');
    }
    publish(d->uri, list);
}

/* ---- requests about a place ---- */

static const char *uri_of(json_t *params) {
    const char *uri = "";
    json_unpack(params, "{s:{s:s}}", "textDocument", "uri", &uri);
    return uri;
}

static struct document *place_of(json_t *params, size_t *offset) {
    struct document *d = document_find(uri_of(params));
    json_int_t line = 0, character = 0;
    json_unpack(params, "{s:{s?I, s?I}}", "position", "line", &line, "character", &character);
    if (d)
        *offset =
            offset_at(d, line > 0 ? (size_t)line : 0, character > 0 ? (size_t)character : 0, true);
    return d;
}

static const char *kind_text(enum gpm_name_kind k) {
    static const char *const text[] = {"assumed in the model", "defined", "local", "parameter"};
    return text[k];
}

static json_t *do_hover(json_t *params) {
    size_t at = 0, start, end;
    struct document *d = place_of(params, &at);
    if (!d) return NULL;
    word(d, at, &start, &end);
    char *word = mem_strndup(d->text + start, end - start);
    struct buf text = BUF_INIT;
    const struct gpm_name_place *n = name_at(d, at);
    const char *help = n || !*word ? NULL : gpm_help(server.session, word);
    if (n) {
        int len = (int)(n->whole_end - n->whole_start);
        buf_printf(&text, "`%s`, %s\n```gpmem\n%.*s\n```", n->name, kind_text(n->kind),
                   len < 400 ? len : 400, d->text + n->whole_start);
    } else if (help) {
        buf_printf(&text, "```\n%s\n```", help);
    }
    json_t *result = NULL;
    if (text.len)
        result = json_pack("{s:{s:s, s:s}, s:o}", "contents", "kind", "markdown", "value",
                           text.data, "range", range(d, start, end));
    buf_release(&text);
    mem_free(word);
    return result;
}

static json_t *do_definition(json_t *params) {
    size_t at = 0;
    struct document *d = place_of(params, &at);
    const struct gpm_name_place *n = d ? name_at(d, at) : NULL;
    if (!n) return NULL;
    return json_pack("{s:s, s:o}", "uri", d->uri, "range", range(d, n->def_start, n->def_end));
}

enum { ITEM_FUNCTION = 3, ITEM_VARIABLE = 6 };

static void add_item(json_t *items, const char *label, int kind, const char *detail) {
    json_array_append_new(
        items, json_pack("{s:s, s:i, s:s}", "label", label, "kind", kind, "detail", detail));
}

static void add_known(void *items, const char *name) {
    add_item(items, name, ITEM_FUNCTION, "gpmem");
}

static json_t *do_completion(json_t *params) {
    size_t at = 0, start, end;
    struct document *d = place_of(params, &at);
    json_t *items = json_array();
    if (d) {
        word(d, at, &start, &end);
        char *prefix = mem_strndup(d->text + start, at - start);
        for (size_t i = 0; i < d->names.n; i++) {
            const struct gpm_name_place *n = &d->names.at[i];
            bool definition = n->start == n->def_start;
            if (definition && strncmp(n->name, prefix, strlen(prefix)) == 0)
                add_item(items, n->name, ITEM_VARIABLE, kind_text(n->kind));
        }
        gpm_complete(server.session, prefix, add_known, items);
        mem_free(prefix);
    }
    return json_pack("{s:b, s:o}", "isIncomplete", 0, "items", items);
}

static json_t *do_symbols(json_t *params) {
    struct document *d = document_find(uri_of(params));
    json_t *list = json_array();
    for (size_t i = 0; d && i < d->names.n; i++) {
        const struct gpm_name_place *n = &d->names.at[i];
        if (n->start != n->def_start || n->kind > GPM_NAME_DEFINE || n->whole_end > d->len)
            continue;
        json_array_append_new(list, json_pack("{s:s, s:i, s:s, s:o, s:o}", "name", n->name, "kind",
                                              13, "detail", kind_text(n->kind), "range",
                                              range(d, n->whole_start, n->whole_end),
                                              "selectionRange", range(d, n->start, n->end)));
    }
    return list;
}

static json_t *do_initialize(json_t *params) {
    return json_pack("{s:{s:i, s:b, s:b, s:b, s:{s:[s]}}, s:{s:s, s:s}}", "capabilities",
                     "textDocumentSync", 1, "hoverProvider", 1, "definitionProvider", 1,
                     "documentSymbolProvider", 1, "completionProvider", "triggerCharacters", "_",
                     "serverInfo", "name", "gpmem", "version", gpm_version());
}

static json_t *do_shutdown(json_t *params) {
    server.stopping = true;
    return NULL;
}

/* ---- notifications ---- */

/* didOpen has the text in textDocument, didChange in its last change. */
static json_t *did_set(json_t *params) {
    json_t *changes = json_object_get(params, "contentChanges");
    json_t *from = changes ? json_array_get(changes, json_array_size(changes) - 1)
                           : json_object_get(params, "textDocument");
    const char *text = json_string_value(json_object_get(from, "text"));
    if (text) check_document(document_set(uri_of(params), text));
    return NULL;
}

static json_t *did_close(json_t *params) {
    document_close(uri_of(params));
    publish(uri_of(params), json_array());
    return NULL;
}

/* ---- dispatch ---- */

/* What a method answers; NULL: null, which is all there is to say after a notification. */
static const struct method {
    const char *name;
    json_t *(*run)(json_t *params);
} methods[] = {
    {"initialize", do_initialize},
    {"shutdown", do_shutdown},
    {"textDocument/hover", do_hover},
    {"textDocument/definition", do_definition},
    {"textDocument/completion", do_completion},
    {"textDocument/documentSymbol", do_symbols},
    {"textDocument/didOpen", did_set},
    {"textDocument/didChange", did_set},
    {"textDocument/didClose", did_close},
};

/* A notification, which has no id, gets no answer, and is ignored when it is not known. */
static void answer(const char *name, json_t *id, json_t *params) {
    size_t i = 0;
    while (i < COUNT_OF(methods) && strcmp(methods[i].name, name) != 0) i++;
    json_t *result = i < COUNT_OF(methods) ? methods[i].run(params) : NULL;
    if (id && i == COUNT_OF(methods))
        reply_error(id, METHOD_NOT_FOUND, name);
    else if (id)
        reply(id, result ? result : json_null());
    else
        json_decref(result);
}

/* False: the client said exit. */
static bool handle(json_t *message) {
    const char *method = json_string_value(json_object_get(message, "method"));
    json_t *id = json_object_get(message, "id"), *params = json_object_get(message, "params");
    if (!method) {
        if (id && !json_object_get(message, "result") && !json_object_get(message, "error")) {
            reply_error(id, INVALID_REQUEST, "a message without a method");
        }
        return true;
    }
    if (strcmp(method, "exit") == 0) return false;
    answer(method, id, params);
    return true;
}

static int run(int argc, char **argv) {
    struct gpm_options o;
    gpm_options_init(&o);
    o.diagnostics_json = true;
    server.session = gpm_session_new(&o);
    server.stopping = false;
    bool more = true;
    for (json_t *message; more && (message = read_message()); json_decref(message)) {
        if (json_is_null(message))
            reply_error(message, PARSE_ERROR, "the message is not JSON");
        else
            more = handle(message);
    }
    while (server.documents) document_close(server.documents->uri);
    gpm_session_free(server.session);
    return server.stopping ? EXIT_FINE : EXIT_FAILED; /* the client said exit, or just went away */
}

COMMAND(lsp, 190) = {
    .args = "",
    .summary = "Serves editors: diagnostics, hover, completion, go to definition",
    .text =
        "Speaks the Language Server Protocol on standard input and output. Programs are parsed, "
        "never\nrun. Exit status: 0 after shutdown and exit, 1 when the client just went away.",
    .run = run,
};
