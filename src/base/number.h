/* SPDX-License-Identifier: Apache-2.0
 *
 * Numbers as text: the one place that reads them and the one place that formats them. The decimal
 * sign is a point whatever the host process asked of setlocale or uselocale; strtod, printf and
 * their kin follow the locale, so nothing else calls them on a floating-point number
 * (tests/conform holds that). Whole numbers read and print alike in every locale.
 */
#ifndef BASE_NUMBER_H
#define BASE_NUMBER_H
#include <locale.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* As strtod. */
double number_read(const char *text, char **end);
/* Whether text[0..n) is one number as programs and JSON have them, or inf or nan: no hexadecimal
 * one and none that is too large. Blanks before it allowed as in strtod; reads no byte beyond. */
bool number_parse(const char *text, size_t n, double *x);

/* The shortest decimal that reads back as x; inf, -inf, nan. */
enum { NUMBER_TEXT = 40 }; /* 24 are needed; the rest is scratch */
void number_shortest(char text[NUMBER_TEXT], double x);

/* So many digits, as a person reads them in words and tables: whole from 1000 on, and powers of ten
 * only beyond ten millions. FIGURE(digits, x) is for a %s in the same expression. */
const char *number_figure(char text[NUMBER_TEXT], int digits, double x);
#define FIGURE(digits, x) number_figure((char[NUMBER_TEXT]){0}, digits, x)

/* All 17 digits, byte for byte as %.17g, which reads back as x; a thirtieth of its work. How many
 * characters. */
size_t number_exact(char text[NUMBER_TEXT], double x);

/* As the functions of stdio that they are named after. */
int number_vsnprintf(char *text, size_t size, const char *fmt, va_list ap);
int number_snprintf(char *text, size_t size, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* For qsort: doubles, or structs that begin with one, the smallest first. */
int number_compare(const void *a, const void *b);

/* Around calls into other libraries that read or write numbers: this thread is in the locale "C"
 * from enter to leave. No callback of the host may run in between. */
locale_t number_locale_enter(void);
void number_locale_leave(locale_t before);
#endif
