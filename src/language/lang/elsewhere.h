/* SPDX-License-Identifier: Apache-2.0
 *
 * What people write who come from other languages and libraries.
 */
#ifndef LANG_ELSEWHERE_H
#define LANG_ELSEWHERE_H
#include <stddef.h>

/* How what this word begins elsewhere is written here; NULL: nothing is known of it. */
const char *foreign_word(const char *word, size_t len);
/* What the procedure is called here that has this name elsewhere; NULL: none. */
const char *foreign_name(const char *name);
/* Names of the language that have a syntax of their own, i = 0, 1, ...; NULL: no more. */
const char *special_name(size_t i);
#endif
