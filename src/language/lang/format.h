/* SPDX-License-Identifier: Apache-2.0
 *
 * Formats programs in the standard style; see format.c. */
#ifndef LANG_FORMAT_H
#define LANG_FORMAT_H
#include "base/buf.h"

/* Appends a text that parses, with a new layout: the same tokens and comments on the same lines. */
void format_text(const char *text, size_t len, struct buf *out);
#endif
