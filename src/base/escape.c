/* SPDX-License-Identifier: Apache-2.0
 *
 * Text on its way out, one function per destination: terminals and messages, HTML and SVG,
 * Markdown, JSON. Names, cells, paths and messages come from untrusted files and programs. Their
 * contents must neither control a terminal (escape sequences, and characters that reverse the order
 * of text) nor become markup. Output is valid UTF-8 for any input. */
#include "base/ascii.h"
#include "base/buf.h"
#include "base/utf8.h"
#include <string.h>

/* One character of s[0..n): its length, 1 for a byte that begins none, then *code is BAD. */
#define BAD UINT32_MAX
static size_t step(const char *s, size_t n, uint32_t *code) {
    size_t len = utf8_decode(s, n, code);
    if (len == 0) *code = BAD;
    return len ? len : 1;
}

static void put_code(struct buf *b, const char *s, uint32_t code) {
    if (code == BAD)
        buf_printf(b, "\\x%02x", (unsigned char)*s);
    else
        buf_printf(b, "\\u{%x}", (unsigned)code);
}

/* `one_line`: as buf_shown, else as buf_visible. */
static void put_visible(struct buf *b, const char *s, size_t n, bool one_line) {
    uint32_t code;
    for (size_t i = 0, len; i < n; i += len) {
        len = step(s + i, n - i, &code);
        bool plain = code != BAD && !utf8_steers(code) && !(one_line && utf8_invisible(code));
        if (one_line && code == '\\')
            buf_puts(b, "\\\\");
        else if (plain || (!one_line && (code == '\n' || code == '\t')))
            buf_add(b, s + i, len);
        else
            put_code(b, s + i, code);
    }
}

void buf_visible(struct buf *b, const char *s, size_t n) {
    put_visible(b, s, n, false);
}

void buf_drawn(struct buf *b, const char *s, size_t n) {
    for (size_t i = 0, from = 0; i <= n; i++) {
        size_t end = i + 2;
        if (i < n && (s[i] != '\033' || end >= n || s[i + 1] != '[')) continue;
        while (end < n && (ascii_digit(s[end]) || s[end] == ';')) end++;
        if (i < n && (end >= n || s[end] != 'm')) continue;
        put_visible(b, s + from, i - from, false);
        if (i == n) break;
        buf_add(b, s + i, end + 1 - i);
        from = end + 1;
        i = end;
    }
}

void buf_line(struct buf *b, const char *s) {
    size_t from = b->len;
    buf_visible(b, s, strlen(s));
    for (; from < b->len; from++)
        if (b->data[from] == '\n' || b->data[from] == '\t') b->data[from] = ' ';
}

void buf_shown(struct buf *b, const char *s) {
    put_visible(b, s, strlen(s), true);
}

/* What would end a script of a page, or begin a comment in it, is escaped, too. */
void buf_json_string(struct buf *b, const char *s, size_t n) {
    uint32_t code;
    buf_putc(b, '"');
    for (size_t i = 0, len; i < n; i += len) {
        len = step(s + i, n - i, &code);
        bool ends = code == '<' && i + 1 < n && strchr("/!", s[i + 1]);
        switch (ends ? 0 : code) {
        case '"': buf_puts(b, "\\\""); break;
        case '\\': buf_puts(b, "\\\\"); break;
        case '\n': buf_puts(b, "\\n"); break;
        case '\r': buf_puts(b, "\\r"); break;
        case '\t': buf_puts(b, "\\t"); break;
        case BAD: buf_puts(b, UTF8_REPLACEMENT); break;
        default:
            if (ends || utf8_steers(code))
                buf_printf(b, "\\u%04x", code);
            else
                buf_add(b, s + i, len);
        }
    }
    buf_putc(b, '"');
}

void buf_markup(struct buf *b, const char *s) {
    uint32_t code;
    for (size_t n = strlen(s), len; n > 0; s += len, n -= len) {
        len = step(s, n, &code);
        switch (code) {
        case '<': buf_puts(b, "&lt;"); break;
        case '>': buf_puts(b, "&gt;"); break;
        case '&': buf_puts(b, "&amp;"); break;
        case '"': buf_puts(b, "&quot;"); break;
        case '\'': buf_puts(b, "&#39;"); break;
        case '\t':
        case '\n': buf_putc(b, *s); break;
        default:
            if (code >= 0x20 && (utf8_steers(code) || (code & 0xFFFE) == 0xFFFE || code == BAD))
                buf_puts(b, UTF8_REPLACEMENT);
            else if (code >= 0x20)
                buf_add(b, s, len);
        }
    }
}

void buf_html(struct buf *b, const char *open, const char *text, const char *close) {
    buf_puts(b, open);
    buf_markup(b, text);
    buf_puts(b, close);
}

/* A line break would begin a block; ASCII's punctuation may be written with a \. What means
 * something in one place alone (a list's mark at the start, the colon of an address) is left as it
 * is elsewhere, so that sentences, times and names of options stay readable. */
void buf_markdown(struct buf *b, const char *s) {
    struct buf clean = BUF_INIT;
    buf_line(&clean, s);
    for (const char *p = clean.data; *p; p++) {
        bool first = p == clean.data, again = !first && p[-1] == *p;
        if (strchr("\\`*_{}[]<>#|&~$@", *p) || (first && strchr("+-=!", *p)) ||
            (again && strchr("+=", *p)) || (*p == ':' && (p[1] == '/' || ascii_alpha(p[1]))))
            buf_putc(b, '\\');
        buf_putc(b, *p);
    }
    buf_release(&clean);
}
