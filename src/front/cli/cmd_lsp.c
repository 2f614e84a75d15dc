/* SPDX-License-Identifier: Apache-2.0
 *
 * gpmem lsp: a language server (Language Server Protocol 3.17, JSON-RPC over standard input and
 * output). Diagnostics come from gpm_check_text, hover from gpm_help, names from gpm_outline; no
 * program is run. Documents are sent whole (TextDocumentSyncKind.Full).
 */
#include "front/cli/lsp.h"
#include <stdlib.h>
#include <string.h>

enum { PARSE_ERROR = -32700, INVALID_REQUEST = -32600, METHOD_NOT_FOUND = -32601 };
#define UNUSED_NAME "E0224"
enum { MESSAGE_MAX = 256 << 20 }; /* bytes of one message */

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

/* The next message, JSON null if it is invalid; NULL after the last. */
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

static bool is_here(const struct document *d, json_t *place) {
    const char *file = json_string_value(json_object_get(place, "file"));
    return !file || strcmp(file, d->path) == 0;
}

/* What is wrong in another file is shown where that is loaded. */
static json_t *place_here(const struct document *d, json_t *x) {
    json_t *labels = json_object_get(x, "labels"), *one;
    size_t i;
    if (is_here(d, x)) return x;
    json_array_foreach(labels, i, one) {
        if (is_here(d, one)) return one;
    }
    return NULL;
}

static json_t *make_diagnostic(const struct document *d, json_t *x) {
    const char *severity = "error", *code = "", *message = "error", *help = NULL;
    json_t *notes = NULL, *labels = NULL, *related = json_array(), *one, *at = place_here(d, x);
    size_t i;
    json_unpack(x, "{s?s, s?s, s?s, s?s, s?o, s?o}", "severity", &severity, "code", &code,
                "message", &message, "help", &help, "notes", &notes, "labels", &labels);
    struct buf text = BUF_INIT; /* message, notes and help as one text */
    if (at && at != x) buf_printf(&text, "%s: ", json_string_value(json_object_get(x, "file")));
    buf_puts(&text, message);
    json_array_foreach(notes, i, one) buf_printf(&text, "\nnote: %s", json_string_value(one));
    if (help) buf_printf(&text, "\nhelp: %s", help);
    json_array_foreach(labels, i, one) {
        if (!is_here(d, one)) continue;
        json_t *item = json_pack("{s:{s:s, s:o}, s:O}", "location", "uri", d->uri, "range",
                                 diagnostic_range(d, one), "message", json_object_get(one, "text"));
        if (item) json_array_append_new(related, item);
    }
    json_t *out =
        json_pack("{s:o, s:i, s:s, s:s, s:s, s:o}", "range", diagnostic_range(d, at ? at : x),
                  "severity", strcmp(severity, "warning") == 0 ? 2 : 1, "code", code, "source",
                  "gpmem", "message", text.data, "relatedInformation", related);
    buf_release(&text);
    if (strcmp(code, UNUSED_NAME) == 0) /* editors draw it pale */
        json_object_set_new(out, "tags", json_pack("[i]", 1));
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
    (void)!gpm_check_text(server.session, d->path, d->text, d->len, false);
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
    json_t *can = json_pack(
        "{s:i, s:b, s:b, s:b, s:b, s:b, s:{s:b}, s:{s:[s]}, s:{s:[s, s]}, s:{s:[s]}, s:{s:o, s:b}}",
        "textDocumentSync", 1, "hoverProvider", 1, "definitionProvider", 1,
        "documentSymbolProvider", 1, "referencesProvider", 1, "documentFormattingProvider", 1,
        "renameProvider", "prepareProvider", 1, "completionProvider", "triggerCharacters", "_",
        "signatureHelpProvider", "triggerCharacters", "(", ",", "codeActionProvider",
        "codeActionKinds", "quickfix", "semanticTokensProvider", "legend", semantic_legend(),
        "full", 1);
    return json_pack("{s:o, s:{s:s, s:s}}", "capabilities", can, "serverInfo", "name", "gpmem",
                     "version", gpm_version());
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
    {"textDocument/references", do_references},
    {"textDocument/prepareRename", do_prepare_rename},
    {"textDocument/rename", do_rename},
    {"textDocument/codeAction", do_code_action},
    {"textDocument/formatting", do_formatting},
    {"textDocument/signatureHelp", do_signature},
    {"textDocument/semanticTokens/full", do_semantic_tokens},
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

static int lsp_run(int argc, char **argv) {
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
    .summary = "Serves editors: diagnostics, help, completion, names, formatting",
    .text = "Speaks the Language Server Protocol on standard input and output: what `gpmem check` "
            "says, "
            "hover, signatures, completion, definitions, references, renaming, quick fixes, `gpmem "
            "fmt`, colours. Programs are never run.\n\nExit status: 0 after shutdown and exit, 1 "
            "when the client just went away.",
    .run = lsp_run,
};
