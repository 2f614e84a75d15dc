/* SPDX-License-Identifier: Apache-2.0
 * Numbers as text; see number.h. */
#include "base/number.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* No allocation: C libraries keep this locale as a constant, so it is never freed. */
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

typedef unsigned __int128 wide;

/* 5^p, 0 <= p <= 27. */
static uint64_t power_of_five(int p) {
#define SEVEN(x) x, x * 5, x * 25, x * 125, x * 625, x * 3125, x * 15625
    static const uint64_t powers[] = {SEVEN(1u), SEVEN(78125u), SEVEN(6103515625u),
                                      SEVEN(476837158203125u)};
#undef SEVEN
    return powers[p];
}

/* D / 10^p rounded half to even, 0 < D < 2^63, 0 <= p <= 27: with s so that q = D 2^s / 5^p has 55
 * bits or more, q and whether anything is left over say how to round to 53. */
static double decimal(uint64_t d, int p) {
    uint64_t five = power_of_five(p);
    int s = 55 + (64 - __builtin_clzll(five)) - (64 - __builtin_clzll(d));
    if (s < 0) s = 0;
    wide all = (wide)d << s, quotient = all / five;
    uint64_t q = (uint64_t)quotient;
    bool rest = (wide)q * five != all;
    int cut = (64 - __builtin_clzll(q)) - 53;
    uint64_t below = q & (((uint64_t)1 << cut) - 1), half = (uint64_t)1 << (cut - 1);
    q >>= cut;
    if (below > half || (below == half && (rest || (q & 1)))) q++;
    return ldexp((double)q, cut - s - p);
}

/* What nearly all numbers in files are: digits, at most 18, and a point. False: something else. */
static bool read_plain(const char *text, size_t n, double *x) {
    uint64_t d = 0;
    int digits = 0, behind = -1; /* digits, and those behind the point */
    bool minus = n && *text == '-';
    for (size_t i = minus; i < n; i++) {
        bool digit = text[i] >= '0' && text[i] <= '9';
        if (!digit && (text[i] != '.' || behind >= 0)) return false;
        if (!digit)
            behind = 0;
        else {
            d = 10 * d + (uint64_t)(text[i] - '0');
            digits += d > 0;
            behind += behind >= 0;
        }
        if (digits > 18 || behind > 27) return false;
    }
    if (d == 0) return false;
    *x = decimal(d, behind > 0 ? behind : 0);
    if (minus) *x = -*x;
    return true;
}

double number_read(const char *text, char **end) {
    return strtod_l(text, end, c_locale());
}

bool number_parse(const char *text, size_t n, double *x) {
    char word[512], *end; /* %f of the largest number has 316 characters */
    if (n == 0 || n >= sizeof word) return false;
    if (read_plain(text, n, x)) return true;
    memcpy(word, text, n);
    word[n] = 0;
    *x = number_read(word, &end);
    bool decimal = !strpbrk(word, "xX") && (isfinite(*x) || !strpbrk(word, "0123456789"));
    return decimal && end == word + n; /* a NUL inside ends the number, too */
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
static uint64_t digits17(uint64_t m, int e, int p) {
    wide all = (wide)m * power_of_five(p);
    int cut = -(e + p);
    if (cut <= 0) return (uint64_t)(all << -cut);
    uint64_t whole = (uint64_t)(all >> cut);
    wide rest = all & (((wide)1 << cut) - 1), half = (wide)1 << (cut - 1);
    return whole + (rest > half || (rest == half && (whole & 1)));
}

/* Eight digits, two at a time. */
static void put8(char *to, uint32_t x) {
    static const char pairs[] =
        "0001020304050607080910111213141516171819202122232425262728293031323334353637383940414243"
        "4445464748495051525354555657585960616263646566676869707172737475767778798081828384858687"
        "888990919293949596979899";
    for (int i = 0; i < 2; i++) {
        uint32_t four = i ? x % 10000 : x / 10000;
        memcpy(to + 4 * i, pairs + 2 * (four / 100), 2);
        memcpy(to + 4 * i + 2, pairs + 2 * (four % 100), 2);
    }
}

/* The digits of %.17g with the point behind the first, or in their midst, and no zeros at the end;
 * how many characters. Copies are of one length whatever is needed, which `text` has room for. */
static size_t write17(char *text, bool minus, uint64_t digits, int exponent) {
    char d[33] = {0}, *to = text;
    int last = 16, point = exponent < -4 ? 0 : exponent; /* digit after which the point stands */
    d[0] = (char)('0' + digits / 10000000000000000);
    put8(d + 1, (uint32_t)(digits / 100000000 % 100000000));
    put8(d + 9, (uint32_t)(digits % 100000000));
    while (last > 0 && d[last] == '0') last--;
    if (minus) *to++ = '-';
    if (point < 0) {
        memcpy(to, "0.000", 5);
        to += 1 - point;
    }
    memcpy(to, d, 17);
    if (point >= 0 && last > point) {
        to[point + 1] = '.';
        memcpy(to + point + 2, d + point + 1, 16);
        to++;
    }
    to += last > point ? last + 1 : point + 1;
    if (exponent < -4) {
        memcpy(to, "e-", 2);
        to[2] = (char)('0' - exponent / 10);
        to[3] = (char)('0' + (-exponent) % 10);
        to += 4;
    }
    *to = 0;
    return (size_t)(to - text);
}

const char *number_figure(char text[NUMBER_TEXT], int digits, double x) {
    bool whole = fabs(x) >= 1000 && fabs(x) < 1e7;
    number_snprintf(text, NUMBER_TEXT, whole ? "%.*f" : "%.*g", whole ? 0 : digits, x);
    return text;
}

size_t number_exact(char text[NUMBER_TEXT], double x) {
    double size = fabs(x);
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    bool minus = bits >> 63;
    if (size == 0) {
        strcpy(text, minus ? "-0" : "0");
        return 1 + (size_t)minus;
    }
    if (!(size >= 1e-10 && size < 1e15))
        return (size_t)number_snprintf(text, NUMBER_TEXT, "%.17g", x);
    uint64_t m = (bits & 0xfffffffffffffu) | (uint64_t)1 << 52;
    int e = (int)(bits >> 52 & 0x7ff) - 1075;
    /* of the power of two below, at most 1 off: the factor is log10(2) 2^20 */
    int exponent = (e + 52) * 315653 >> 20;
    uint64_t digits = digits17(m, e, 16 - exponent);
    if (digits >= 100000000000000000u) digits = digits17(m, e, 16 - ++exponent);
    if (digits >= 100000000000000000u) digits /= 10, exponent++; /* rounded up to the next power */
    return write17(text, minus, digits, exponent);
}

int number_compare(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}
