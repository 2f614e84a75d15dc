/* SPDX-License-Identifier: Apache-2.0
 *
 * Programs in the style of the house: see format.c.
 */
#ifndef LANG_FORMAT_H
#define LANG_FORMAT_H
#include "base/buf.h"

/* Appends a text that parses, laid out anew: the same tokens and comments on the same lines. */
void format_text(const char *text, size_t len, struct buf *out);
#endif
