/* SPDX-License-Identifier: Apache-2.0
 *
 * Growable byte string, always NUL-terminated. BUF_INIT or buf_init, then buf_release.
 */
#ifndef BASE_BUF_H
#define BASE_BUF_H
#include <gpmem/status.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

struct buf {
    char *data; /* NUL-terminated; points at a static empty string before the first write */
    size_t len, cap;
};
extern char buf_empty[1];
#define BUF_INIT                                                                                   \
    { buf_empty, 0, 0 }

void buf_init(struct buf *b);
void buf_release(struct buf *b);
void buf_reset(struct buf *b);
void buf_add(struct buf *b, const void *p, size_t n);
/* Room for n more bytes; the caller adds the number written to `len`. */
char *buf_room(struct buf *b, size_t n);
void buf_puts(struct buf *b, const char *s);
void buf_putc(struct buf *b, char c);
/* The low bytes of an integer, or the bits of a float or double, little-endian. */
void buf_put_bits(struct buf *b, uint64_t v, int bytes);
void buf_put_float(struct buf *b, float v);
void buf_put_double(struct buf *b, double v);
void buf_printf(struct buf *b, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void buf_vprintf(struct buf *b, const char *fmt, va_list ap);
/* Appends the reason of a failure and returns the status: return buf_fail(err, GPM_E_ARG,
 * "..."). */
enum gpm_status buf_fail(struct buf *b, enum gpm_status st, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
/* Foreign text for output (escape.c). For a terminal or a message: control characters and marks
 * that reverse text become \u{1b}, \u{202e}, invalid bytes \x9b; newline and tab stay. */
void buf_visible(struct buf *b, const char *s, size_t n);
void buf_drawn(struct buf *b, const char *s, size_t n); /* the same; colours stay */
void buf_line(struct buf *b, const char *s); /* the same; newline and tab become blanks */
/* For a question, on a single line: also escapes invisible characters and the backslash. So the
 * text can neither hide a part nor imitate the tool. */
void buf_shown(struct buf *b, const char *s);
void buf_json_string(struct buf *b, const char *s, size_t n); /* quoted and escaped */
void buf_markup(struct buf *b, const char *s); /* HTML, XML; without controls, which XML lacks */
/* The same, between two pieces of a page. */
void buf_html(struct buf *b, const char *open, const char *text, const char *close);
void buf_markdown(struct buf *b, const char *s); /* in one line, with escaped punctuation */

void buf_number(struct buf *b,
                double x);     /* shortest decimal that reads back as x; inf, -inf, nan */
char *buf_take(struct buf *b); /* caller frees with mem_free; b is empty again */
#endif
