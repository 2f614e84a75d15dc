/* SPDX-License-Identifier: Apache-2.0
 * Numbers as text; see number.h. */
#include "base/number.h"

#include <math.h>
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

int number_compare(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}
