/* SPDX-License-Identifier: Apache-2.0
 *
 * Open documents of the language server, and positions in them. The protocol counts lines from 0
 * and characters in UTF-16 units; everything here counts bytes.
 */
#ifndef CLI_LSP_TEXT_H
#define CLI_LSP_TEXT_H
#include "gpmem/outline.h"
#include <jansson.h>
#include <stddef.h>

struct lsp_name { /* one occurrence of a name the document defines */
    char *name;
    enum gpm_name_kind kind;
    size_t start, end, def_start, def_end, whole_start, whole_end;
};

struct lsp_document {
    struct lsp_document *next;
    char *uri, *text;
    size_t len;
    struct lsp_name *names; /* of the last version that parsed; offsets within `text` are checked */
    size_t n_names, cap_names;
};

struct lsp_document *lsp_document_find(struct lsp_document *list, const char *uri);
/* Opens or replaces; takes copies. */
void lsp_document_set(struct lsp_document **list, const char *uri, const char *text);
void lsp_document_close(struct lsp_document **list, const char *uri);

/* Byte offset of a protocol position; past the end of a line: its end. */
size_t lsp_offset(const struct lsp_document *d, size_t line, size_t character);
/* Protocol position and range of bytes; the caller owns the result. */
json_t *lsp_position(const struct lsp_document *d, size_t offset);
json_t *lsp_range(const struct lsp_document *d, size_t start, size_t end);
/* Byte offset of a diagnostic's 1-based line and column (code points). */
size_t lsp_offset_of_column(const struct lsp_document *d, size_t line, size_t column);
/* The word around `offset`; empty: start == end. */
void lsp_word(const struct lsp_document *d, size_t offset, size_t *start, size_t *end);
/* The name occurrence at `offset`, or NULL. */
const struct lsp_name *lsp_name_at(const struct lsp_document *d, size_t offset);
#endif
