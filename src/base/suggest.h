/* SPDX-License-Identifier: Apache-2.0
 *
 * "Did you mean".
 */
#ifndef BASE_SUGGEST_H
#define BASE_SUGGEST_H
#include <stddef.h>

/* Edit distance (insert, delete, replace, swap of neighbours) without regard to case; of words
 * longer than 64 bytes the beginnings. */
unsigned edit_distance(const char *a, const char *b);
/* The candidate nearest to `word` by edit distance over lower-cased names, the first of equals, or
 * NULL when none is near enough. */
const char *suggest_nearest(const char *word, const char *const *candidates, size_t n);
#endif
