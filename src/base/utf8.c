/* SPDX-License-Identifier: Apache-2.0
 *
 * See utf8.h. Overlong forms, surrogates and code points above 10FFFF are malformed.
 */
#include "base/utf8.h"

uint32_t utf8_decode(const char *s, size_t n, uint32_t *code) {
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    const unsigned char *p = (const unsigned char *)s;
    if (n == 0) return 0;
    uint32_t c = p[0], len = c < 0x80       ? 1
                             : c >> 5 == 6  ? 2
                             : c >> 4 == 14 ? 3
                             : c >> 3 == 30 ? 4
                                            : 0;
    if (len == 0 || len > n) return 0;
    if (len > 1) c &= 0xFFU >> (len + 1);
    for (uint32_t i = 1; i < len; i++) {
        if ((p[i] & 0xC0) != 0x80) return 0;
        c = c << 6 | (p[i] & 0x3FU);
    }
    if (c < least[len] || c > 0x10FFFF || (c >= 0xD800 && c <= 0xDFFF)) return 0;
    *code = c;
    return len;
}

size_t utf8_check(const char *s, size_t len) {
    size_t i = 0;
    while (i < len) {
        unsigned char c = (unsigned char)s[i];
        uint32_t code;
        if (c == 0) return i;
        uint32_t k = c < 0x80 ? 1 : utf8_decode(s + i, len - i, &code);
        if (k == 0) return i;
        i += k;
    }
    return len;
}

bool utf8_steers(uint32_t c) {
    return c < 0x20 || (c >= 0x7F && c < 0xA0) || c == 0x61C || c == 0x200E || c == 0x200F ||
           (c >= 0x2028 && c <= 0x202E) || (c >= 0x2066 && c <= 0x2069);
}

bool utf8_invisible(uint32_t code) {
    static const uint32_t ranges[][2] = {
        {0xa0, 0xa0},     {0xad, 0xad},     {0x180e, 0x180e}, {0x200b, 0x200f}, {0x202f, 0x202f},
        {0x205f, 0x206f}, {0xfe00, 0xfe0f}, {0xfeff, 0xfeff}, {0xfff9, 0xfffb}, {0xe0000, 0xe0fff}};
    for (size_t i = 0; i < sizeof ranges / sizeof ranges[0]; i++)
        if (code >= ranges[i][0] && code <= ranges[i][1]) return true;
    return false;
}

static void put_code(uint32_t c, struct buf *out) {
    if (c < 0x80) {
        buf_putc(out, (char)c);
        return;
    }
    int more = c < 0x800 ? 1 : c < 0x10000 ? 2 : 3;
    buf_putc(out, (char)((0xF0U << (3 - more) & 0xFF) | c >> (6 * more)));
    while (more-- > 0) buf_putc(out, (char)(0x80 | (c >> (6 * more) & 0x3F)));
}

void utf8_from_utf16(const char *text, size_t n, struct buf *out) {
    const unsigned char *p = (const unsigned char *)text, *end = p + n;
    int high = n > 1 && p[0] == 0xFE ? 0 : 1; /* which of two bytes is the greater one */
    for (p += n > 1 ? 2 : n; end - p > 1; p += 2) {
        uint32_t c = (uint32_t)p[high] << 8 | p[1 - high], low = 0;
        if (c >= 0xD800 && c < 0xDC00 && end - p > 3)
            low = (uint32_t)p[2 + high] << 8 | p[3 - high];
        if (low >= 0xDC00 && low < 0xE000) {
            c = 0x10000 + ((c - 0xD800) << 10) + (low - 0xDC00);
            p += 2;
        } else if (c >= 0xD800 && c < 0xE000) {
            c = 0xFFFD;
        }
        put_code(c, out);
    }
}

void utf8_from_windows(const char *text, size_t n, struct buf *out) {
    static const uint16_t upper[32] = {
        /* 0x80 to 0x9F; 0: none */
        0x20AC, 0,      0x201A, 0x0192, 0x201E, 0x2026, 0x2020, 0x2021, 0x02C6, 0x2030, 0x0160,
        0x2039, 0x0152, 0,      0x017D, 0,      0,      0x2018, 0x2019, 0x201C, 0x201D, 0x2022,
        0x2013, 0x2014, 0x02DC, 0x2122, 0x0161, 0x203A, 0x0153, 0,      0x017E, 0x0178};
    for (size_t i = 0; i < n; i++) {
        uint32_t c = (unsigned char)text[i];
        if (c >= 0x80 && c < 0xA0) c = upper[c - 0x80] ? upper[c - 0x80] : 0xFFFD;
        put_code(c, out);
    }
}
