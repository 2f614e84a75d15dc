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

#define UTF8_REPLACEMENT "\xEF\xBF\xBD" /* U+FFFD: not displayable */

/* Length of the UTF-8 sequence at s (n bytes available) and its code point; 0 if malformed. */
uint32_t utf8_decode(const char *s, size_t n, uint32_t *code);
/* The offset of the first byte that is not valid UTF-8 or is NUL; otherwise len. */
size_t utf8_check(const char *s, size_t len);
/* Controls (C0, DEL, C1), separators of lines and paragraphs, and the marks and overrides of
 * direction (Unicode's Bidi_Control): characters that control a terminal, or reverse text on it. */
bool utf8_steers(uint32_t code);
/* Is it invisible: a blank other than the space, a joiner, selector or tag? */
bool utf8_invisible(uint32_t code);
/* Appends a text of n bytes in UTF-16; its first two bytes give the byte order. Invalid units
 * become the replacement character. */
void utf8_from_utf16(const char *text, size_t n, struct buf *out);
/* Appends a text in Windows-1252 (western Europe; includes Latin-1). */
void utf8_from_windows(const char *text, size_t n, struct buf *out);
#endif
