/* SPDX-License-Identifier: Apache-2.0
 * Growable byte string; see buf.h. */
#include "base/buf.h"
#include "base/mem.h"
#include "base/number.h"

#include <string.h>

char buf_empty[1];

void buf_init(struct buf *b) {
    *b = (struct buf)BUF_INIT;
}

void buf_release(struct buf *b) {
    if (b->cap) mem_free(b->data);
    buf_init(b);
}

void buf_reset(struct buf *b) {
    b->len = 0;
    if (b->cap) b->data[0] = 0;
}

static void reserve(struct buf *b, size_t extra) {
    size_t need = b->len + extra + 1;
    if (need <= b->cap) return;
    size_t cap = b->cap ? b->cap * 2 : 64;
    if (cap < need) cap = need;
    b->data = mem_realloc(b->cap ? b->data : NULL, cap);
    b->cap = cap;
}

char *buf_room(struct buf *b, size_t n) {
    reserve(b, n);
    return b->data + b->len;
}

void buf_add(struct buf *b, const void *p, size_t n) {
    reserve(b, n);
    if (n) memcpy(b->data + b->len, p, n); /* nothing may be at NULL */
    b->len += n;
    b->data[b->len] = 0;
}

void buf_puts(struct buf *b, const char *s) {
    buf_add(b, s, strlen(s));
}

void buf_putc(struct buf *b, char c) {
    buf_add(b, &c, 1);
}

void buf_vprintf(struct buf *b, const char *fmt, va_list ap) {
    va_list again;
    va_copy(again, ap);
    int n = number_vsnprintf(NULL, 0, fmt, again);
    va_end(again);
    if (n < 0) return;
    reserve(b, (size_t)n);
    number_vsnprintf(b->data + b->len, (size_t)n + 1, fmt, ap);
    b->len += (size_t)n;
}

void buf_put_bits(struct buf *b, uint64_t v, int bytes) {
    char *to = buf_room(b, (size_t)bytes);
    for (int i = 0; i < bytes; i++) to[i] = (char)(v >> (8 * i) & 255);
    b->len += (size_t)bytes;
    b->data[b->len] = 0;
}

void buf_put_float(struct buf *b, float v) {
    uint32_t u;
    memcpy(&u, &v, sizeof u);
    buf_put_bits(b, u, sizeof u);
}

void buf_put_double(struct buf *b, double v) {
    uint64_t u;
    memcpy(&u, &v, sizeof u);
    buf_put_bits(b, u, sizeof u);
}

void buf_printf(struct buf *b, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    buf_vprintf(b, fmt, ap);
    va_end(ap);
}

enum gpm_status buf_fail(struct buf *b, enum gpm_status st, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    buf_vprintf(b, fmt, ap);
    va_end(ap);
    return st;
}

void buf_number(struct buf *b, double x) {
    char text[NUMBER_TEXT];
    number_shortest(text, x);
    buf_puts(b, text);
}

char *buf_take(struct buf *b) {
    char *p = b->cap ? b->data : mem_strdup("");
    buf_init(b);
    return p;
}
