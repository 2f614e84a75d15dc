/* SPDX-License-Identifier: Apache-2.0
 *
 * Habits from other languages and libraries, with their equivalents here. */
#ifndef LANG_ELSEWHERE_H
#define LANG_ELSEWHERE_H
#include <stddef.h>

/* The equivalent of a construct that begins with this word in other languages; NULL: unknown. */
const char *foreign_word(const char *word, size_t len);
/* The name here of a procedure with this name elsewhere; NULL: unknown. */
const char *foreign_name(const char *name);
/* Names with a syntax of their own, i = 0, 1, ...; NULL: past the last. */
const char *special_name(size_t i);
#endif
