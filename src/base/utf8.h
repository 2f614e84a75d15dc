/* SPDX-License-Identifier: Apache-2.0
 *
 * UTF-8: one sequence, and a whole text.
 */
#ifndef BASE_UTF8_H
#define BASE_UTF8_H
#include "base/buf.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define UTF8_REPLACEMENT "\xEF\xBF\xBD" /* U+FFFD: what cannot be shown */

/* Length of the UTF-8 sequence at s (n bytes are there) and its code point; 0 when malformed. */
uint32_t utf8_decode(const char *s, size_t n, uint32_t *code);
/* The offset of the first byte that is not valid UTF-8 or is NUL; otherwise len. */
size_t utf8_check(const char *s, size_t len);
/* Controls (C0, DEL, C1), separators of lines and paragraphs, and the marks and overrides of
 * direction (Unicode's Bidi_Control): what steers a terminal, or turns text around on it. */
bool utf8_steers(uint32_t code);
/* Takes no ink of its own: blanks other than the space, joiners, selectors, tags. */
bool utf8_invisible(uint32_t code);
/* Appends a text of n bytes in UTF-16, whose byte order its first two tell; what is no character
 * becomes the replacement. */
void utf8_from_utf16(const char *text, size_t n, struct buf *out);
/* Appends a text in the code of Windows for western Europe (1252, of which Latin-1 is a part). */
void utf8_from_windows(const char *text, size_t n, struct buf *out);
#endif
