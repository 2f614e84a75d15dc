/* SPDX-License-Identifier: Apache-2.0
 *
 * Classes and case of characters, for ASCII alone: those of <ctype.h> and <strings.h> follow the
 * locale of the host process (in Turkish, I is not the capital of i). Bytes above 127 belong to no
 * class and have no case.
 */
#ifndef BASE_ASCII_H
#define BASE_ASCII_H
#include <stdbool.h>
#include <stddef.h>

static inline bool ascii_digit(char c) {
    return c >= '0' && c <= '9';
}
static inline char ascii_lower(char c) {
    return c >= 'A' && c <= 'Z' ? (char)(c + 'a' - 'A') : c;
}
static inline char ascii_upper(char c) {
    return c >= 'a' && c <= 'z' ? (char)(c + 'A' - 'a') : c;
}
static inline bool ascii_alpha(char c) {
    return ascii_lower(c) >= 'a' && ascii_lower(c) <= 'z';
}
static inline bool ascii_alnum(char c) {
    return ascii_alpha(c) || ascii_digit(c);
}
/* In a name: letters, digits and _. */
static inline bool ascii_name(char c) {
    return ascii_alnum(c) || c == '_';
}
#define ASCII_SPACES " \t\n\v\f\r"
static inline bool ascii_space(char c) {
    return c == ' ' || (c >= '\t' && c <= '\r');
}
/* As strncasecmp: 0 when they agree but for case. */
static inline int ascii_ncasecmp(const char *a, const char *b, size_t n) {
    for (size_t i = 0; i < n; i++) {
        int d = (unsigned char)ascii_lower(a[i]) - (unsigned char)ascii_lower(b[i]);
        if (d || !a[i]) return d;
    }
    return 0;
}
static inline int ascii_casecmp(const char *a, const char *b) {
    return ascii_ncasecmp(a, b, (size_t)-1);
}
#endif
