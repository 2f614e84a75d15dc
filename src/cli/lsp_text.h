/* SPDX-License-Identifier: Apache-2.0
 *
 * Open documents of the language server, and positions in them. The protocol counts lines from 0
 * and characters in UTF-16 units; everything here counts bytes.
 */
#ifndef CLI_LSP_TEXT_H
#define CLI_LSP_TEXT_H
#include "base/vec.h"
#include "gpmem/outline.h"
#include <jansson.h>
#include <stddef.h>

struct lsp_document {
    struct lsp_document *next;
    char *uri, *text;
    size_t len;
    VEC(struct gpm_name_place) names; /* of the last version that parsed; their texts are owned */
};

struct lsp_document *lsp_document_find(struct lsp_document *list, const char *uri);
/* Opens or replaces; takes copies. */
struct lsp_document *lsp_document_set(struct lsp_document **list, const char *uri,
                                      const char *text);
void lsp_document_close(struct lsp_document **list, const char *uri);

/* Byte offset of a protocol position; past the end of a line: its end. */
size_t lsp_offset(const struct lsp_document *d, size_t line, size_t character);
/* Protocol range of bytes; the caller owns the result. */
json_t *lsp_range(const struct lsp_document *d, size_t start, size_t end);
/* Byte offset of a diagnostic's 1-based line and column (code points). */
size_t lsp_offset_of_column(const struct lsp_document *d, size_t line, size_t column);
/* The word around `offset`; empty: start == end. */
void lsp_word(const struct lsp_document *d, size_t offset, size_t *start, size_t *end);
/* The name occurrence at `offset`, or NULL. */
const struct gpm_name_place *lsp_name_at(const struct lsp_document *d, size_t offset);
#endif
