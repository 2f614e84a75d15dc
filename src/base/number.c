/* SPDX-License-Identifier: Apache-2.0
 * Numbers as text; see number.h. */
#include "base/number.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* No allocation: the C libraries keep this one as a constant, which is why nobody frees it. */
static locale_t c_locale(void) {
    return newlocale(LC_ALL_MASK, "C", (locale_t)0);
}

locale_t number_locale_enter(void) {
    return uselocale(c_locale());
}

void number_locale_leave(locale_t before) {
    uselocale(before);
}

/* ---- reading ---- */

double number_read(const char *text, char **end) {
    return strtod_l(text, end, c_locale());
}

bool number_parse(const char *text, size_t n, double *x) {
    char word[512], *end; /* %f of the largest number has 316 characters */
    if (n == 0 || n >= sizeof word) return false;
    memcpy(word, text, n);
    word[n] = 0;
    *x = number_read(word, &end);
    return end == word + n; /* a NUL inside ends the number, too */
}

/* ---- printing ---- */

int number_vsnprintf(char *text, size_t size, const char *fmt, va_list ap) {
    locale_t before = number_locale_enter();
    int n = vsnprintf(text, size, fmt, ap);
    number_locale_leave(before);
    return n;
}

int number_snprintf(char *text, size_t size, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    int n = number_vsnprintf(text, size, fmt, ap);
    va_end(ap);
    return n;
}

void number_shortest(char text[NUMBER_TEXT], double x) {
    if (!isfinite(x)) {
        strcpy(text, isnan(x) ? "nan" : x < 0 ? "-inf" : "inf");
        return;
    }
    if (x == 0) x = 0; /* no negative zero */
    if (x == floor(x) && fabs(x) < 1e15) {
        number_snprintf(text, NUMBER_TEXT, "%.0f", x);
        return;
    }
    int digits = fabs(x) < 2.3e-308 ? 1 : 15; /* subnormal numbers have fewer */
    for (; digits <= 17; digits++) {
        number_snprintf(text, NUMBER_TEXT, "%.*g", digits, x);
        if (number_read(text, NULL) == x) break;
    }
}

/* x 10^p as a whole number of 17 digits, p = 16 - exponent, rounded half to even: with x = m 2^e
 * the product m 5^p 2^(e + p) is exact in 128 bits for 0 <= p <= 27. */
typedef unsigned __int128 wide;

static uint64_t digits17(uint64_t m, int e, int p) {
    uint64_t five = 1;
    for (int i = 0; i < p; i++) five *= 5;
    wide all = (wide)m * five;
    int cut = -(e + p);
    if (cut <= 0) return (uint64_t)(all << -cut);
    uint64_t whole = (uint64_t)(all >> cut);
    wide rest = all & (((wide)1 << cut) - 1), half = (wide)1 << (cut - 1);
    return whole + (rest > half || (rest == half && (whole & 1)));
}

/* The digits of %.17g with the point behind the first, or in their midst, and no zeros at the end.
 */
static void write17(char *text, bool minus, uint64_t digits, int exponent) {
    char d[17];
    int last = 16;
    for (int i = 16; i >= 0; i--, digits /= 10) d[i] = (char)('0' + digits % 10);
    while (last > 0 && d[last] == '0') last--;
    if (minus) *text++ = '-';
    int point = exponent < -4 ? 0 : exponent; /* digit after which it stands */
    if (exponent < 0 && exponent >= -4) {
        *text++ = '0';
        *text++ = '.';
        for (int i = exponent + 1; i < 0; i++) *text++ = '0';
    }
    for (int i = 0; i <= last || i <= point; i++) {
        *text++ = d[i];
        if (i == point && i < last && point >= 0) *text++ = '.';
    }
    if (exponent < -4) {
        *text++ = 'e';
        *text++ = '-';
        *text++ = (char)('0' - exponent / 10);
        *text++ = (char)('0' + (-exponent) % 10);
    }
    *text = 0;
}

void number_exact(char text[NUMBER_TEXT], double x) {
    int e, exponent;
    double size = fabs(x);
    if (!(size >= 1e-10 && size < 1e15)) {
        number_snprintf(text, NUMBER_TEXT, "%.17g", x);
        return;
    }
    uint64_t m = (uint64_t)ldexp(frexp(size, &e), 53);
    e -= 53;
    exponent =
        (int)floor((e + 52) * 0.30102999566398120); /* of the power of two below: at most 1 off */
    uint64_t digits = digits17(m, e, 16 - exponent);
    if (digits >= 100000000000000000u) digits = digits17(m, e, 16 - ++exponent);
    if (digits >= 100000000000000000u) digits /= 10, exponent++; /* rounded up to the next power */
    write17(text, x < 0, digits, exponent);
}

int number_compare(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}
