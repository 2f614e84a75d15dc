/* SPDX-License-Identifier: Apache-2.0
 *
 * "Did you mean": edit distance (insert, delete, replace, swap of neighbours) over lower-cased
 * names. A candidate is near when the distance is at most a third of the longer length, at least 1.
 */
#include "base/suggest.h"
#include "base/ascii.h"
#include <stdint.h>
#include <string.h>

enum { MAX_WORD = 64 };

static unsigned min2(unsigned a, unsigned b) {
    return a < b ? a : b;
}

/* Optimal string alignment distance. */
unsigned edit_distance(const char *a, const char *b) {
    size_t n = strnlen(a, MAX_WORD), m = strnlen(b, MAX_WORD);
    unsigned rows[3][MAX_WORD + 1];
    unsigned *before = rows[0], *prev = rows[1], *cur = rows[2];
    for (size_t j = 0; j <= m; j++) prev[j] = (unsigned)j;
    for (size_t i = 1; i <= n; i++) {
        cur[0] = (unsigned)i;
        for (size_t j = 1; j <= m; j++) {
            unsigned cost = ascii_lower(a[i - 1]) != ascii_lower(b[j - 1]);
            cur[j] = min2(min2(prev[j] + 1, cur[j - 1] + 1), prev[j - 1] + cost);
            if (i > 1 && j > 1 && ascii_lower(a[i - 1]) == ascii_lower(b[j - 2]) &&
                ascii_lower(a[i - 2]) == ascii_lower(b[j - 1]))
                cur[j] = min2(cur[j], before[j - 2] + 1);
        }
        unsigned *t = before;
        before = prev;
        prev = cur;
        cur = t;
    }
    return prev[m];
}

const char *suggest_nearest(const char *word, const char *const *candidates, size_t n) {
    size_t len = strlen(word);
    const char *best = NULL;
    unsigned best_d = UINT32_MAX;
    if (len < 2 || len > MAX_WORD) return NULL;
    for (size_t i = 0; i < n; i++) {
        const char *c = candidates[i];
        if (!c) continue;
        size_t m = strlen(c);
        if (m < 2 || m > MAX_WORD || strcmp(c, word) == 0) continue;
        size_t longer = m > len ? m : len, diff = m > len ? m - len : len - m;
        unsigned limit = longer < 6 ? 1 : (unsigned)(longer / 3);
        if (diff > limit) continue;
        unsigned d = edit_distance(word, c);
        if (d <= limit && d < best_d) {
            best = c;
            best_d = d;
        }
    }
    return best;
}
