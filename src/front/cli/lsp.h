/* SPDX-License-Identifier: Apache-2.0
 *
 * Inside the language server: open documents, positions in them, and the requests that lsp_edit.c
 * answers.
 */
#ifndef CLI_LSP_H
#define CLI_LSP_H
#include "front/cli/command.h"
#include "gpmem/outline.h"
#include <jansson.h>

/* An open document. The protocol counts lines from 0 and characters in UTF-16 units; everything
 * here counts bytes. */
struct document {
    struct document *next;
    char *uri, *path, *text; /* path: of a file: address, else the address */
    size_t len;
    VEC(struct gpm_name_place) names; /* of the last version that parsed; their texts are owned */
};

struct lsp_server {
    gpm_session *session;
    struct document *documents;
    bool stopping; /* shutdown was asked for */
};
extern struct lsp_server server;

struct document *document_find(const char *uri);
struct document *document_set(const char *uri, const char *text); /* opens or replaces */
void document_close(const char *uri);
/* Bytes of the UTF-8 sequence at `offset`; 1 for a stray byte. */
size_t document_sequence(const struct document *d, size_t offset);
/* Byte offset of what comes `units` after the start of a line, counted from 0; past its end: its
 * end. Positions of the protocol count UTF-16 units, diagnostics code points. */
size_t offset_at(const struct document *d, size_t line, size_t units, bool utf16);
json_t *position(const struct document *d, size_t offset);
/* Protocol range of bytes; the caller owns the result. */
json_t *range(const struct document *d, size_t start, size_t end);
/* The bytes of a range of the protocol; false: invalid. */
bool range_bytes(const struct document *d, json_t *range, size_t *start, size_t *end);
/* The word around `offset`; empty: start == end. */
void word(const struct document *d, size_t offset, size_t *start, size_t *end);
/* The names may be those of an older text: the bytes must still spell the name. */
bool still_there(const struct document *d, const struct gpm_name_place *n);
/* The name occurrence at `offset`, or NULL. */
const struct gpm_name_place *name_at(const struct document *d, size_t offset);
const char *uri_of(json_t *params);
/* The document and offset that a request speaks of; NULL: it is not open. */
struct document *place_of(json_t *params, size_t *offset);

/* lsp_edit.c */
json_t *do_references(json_t *params);
json_t *do_prepare_rename(json_t *params);
json_t *do_rename(json_t *params);
json_t *do_code_action(json_t *params);
json_t *do_formatting(json_t *params);
json_t *do_signature(json_t *params);
json_t *do_semantic_tokens(json_t *params);
json_t *semantic_legend(void);
#endif
