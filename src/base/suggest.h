/* SPDX-License-Identifier: Apache-2.0
 *
 * "Did you mean".
 */
#ifndef BASE_SUGGEST_H
#define BASE_SUGGEST_H
#include <stddef.h>

/* Edit distance (insert, delete, replace, swap of neighbours), ignoring case; only the first 64
 * bytes of longer words count. */
unsigned edit_distance(const char *a, const char *b);
/* The candidate nearest to `word` by edit distance over lower-cased names, the first among equals;
 * NULL if none is near enough. */
const char *suggest_nearest(const char *word, const char *const *candidates, size_t n);
#endif
